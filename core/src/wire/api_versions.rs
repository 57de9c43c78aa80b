//! ApiVersions v0 to v5. The generated reader ends at v4; v5 adds the cluster and node a client
//! means to reach (KIP-1242).

use bytes::{Bytes, BytesMut};
use kacrab_protocol::primitives::{read_i32, write_i32};
use kacrab_protocol::string::{
    read_compact_nullable_string, read_compact_string, write_compact_nullable_string,
    write_compact_string,
};
use kacrab_protocol::tagged::{read_tagged_fields, write_tagged_fields};

use super::ApiVersionsRequest;

impl ApiVersionsRequest {
    pub(super) fn read(body: &mut Bytes, version: i16) -> kacrab_protocol::Result<Self> {
        let mut request = Self { node_id: -1, ..Self::default() };
        if version >= 3 {
            request.client_software_name = read_compact_string(body)?;
            request.client_software_version = read_compact_string(body)?;
        }
        if version >= 5 {
            request.cluster_id = read_compact_nullable_string(body)?;
            request.node_id = read_i32(body)?;
        }
        if version >= 3 {
            read_tagged_fields(body)?;
        }
        Ok(request)
    }

    pub(super) fn write(&self, out: &mut BytesMut, version: i16) -> kacrab_protocol::Result<()> {
        if version >= 3 {
            write_compact_string(out, &self.client_software_name)?;
            write_compact_string(out, &self.client_software_version)?;
        }
        if version >= 5 {
            write_compact_nullable_string(out, self.cluster_id.as_ref())?;
            write_i32(out, self.node_id);
        }
        if version >= 3 {
            write_tagged_fields(out, &[])?;
        }
        Ok(())
    }
}
