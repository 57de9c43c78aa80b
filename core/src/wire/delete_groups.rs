//! The answer to DeleteGroups, v0 to v3: v3 adds messages, which the generated schema lacks.

use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::Result;
use kacrab_protocol::primitives::{
    array_read_capacity, read_array_length, read_compact_array_length, read_i16, read_i32,
    write_array_length, write_compact_array_length, write_i16, write_i32,
};
use kacrab_protocol::string::{
    read_compact_nullable_string, read_compact_string, read_string, write_compact_nullable_string,
    write_compact_string, write_string,
};
use kacrab_protocol::tagged::{read_tagged_fields, write_tagged_fields};

use super::{DeleteGroupsResponse, DeletedGroup};

/// The last version of the generated messages.
pub(super) const GENERATED: i16 = 2;

const FLEXIBLE: i16 = 2;
const MESSAGES: i16 = 3;

impl DeleteGroupsResponse {
    pub(super) fn read(body: &mut Bytes, version: i16) -> Result<Self> {
        let throttle_time_ms = read_i32(body)?;
        let flexible = version >= FLEXIBLE;
        let length =
            if flexible { read_compact_array_length(body)? } else { read_array_length(body)? };
        let mut results = Vec::with_capacity(array_read_capacity(length, body.len()));
        for _ in 0..length {
            results.push(DeletedGroup::read(body, version)?);
        }
        if flexible {
            read_tagged_fields(body)?;
        }
        Ok(Self { throttle_time_ms, results })
    }

    pub(super) fn write(&self, out: &mut BytesMut, version: i16) -> Result<()> {
        write_i32(out, self.throttle_time_ms);
        let length = i32::try_from(self.results.len()).unwrap_or(i32::MAX);
        if version < FLEXIBLE {
            write_array_length(out, length);
            return self.results.iter().try_for_each(|one| one.write(out, version));
        }
        write_compact_array_length(out, length);
        self.results.iter().try_for_each(|one| one.write(out, version))?;
        Ok(write_tagged_fields(out, &[])?)
    }
}

impl DeletedGroup {
    fn read(body: &mut Bytes, version: i16) -> Result<Self> {
        let flexible = version >= FLEXIBLE;
        let group_id = if flexible { read_compact_string(body)? } else { read_string(body)? };
        let error_code = read_i16(body)?;
        let error_message =
            if version >= MESSAGES { read_compact_nullable_string(body)? } else { None };
        if flexible {
            read_tagged_fields(body)?;
        }
        Ok(Self { group_id, error_code, error_message })
    }

    fn write(&self, out: &mut BytesMut, version: i16) -> Result<()> {
        if version < FLEXIBLE {
            write_string(out, &self.group_id)?;
            write_i16(out, self.error_code);
            return Ok(());
        }
        write_compact_string(out, &self.group_id)?;
        write_i16(out, self.error_code);
        if version >= MESSAGES {
            write_compact_nullable_string(out, self.error_message.as_ref())?;
        }
        Ok(write_tagged_fields(out, &[])?)
    }
}
