//! The record that keeps a classic group's members: Kafka's `GroupMetadataValue`, versions 0 to 4.
//!
//! Persisted: never renumber. Version 3 is written, as Apache Kafka 4.4.0 does; version 4, its
//! first flexible one, is read.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::{BufMut, Bytes, BytesMut};

use crate::codec::{Reader, RecordFault, put_string};

const VERSION_WRITTEN: i16 = 3;
const VERSION_FLEXIBLE: i16 = 4;

/// A classic group as it is persisted: at each assignment, when it is created, when its last
/// member is gone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct GroupMetadata {
    /// `consumer`, `connect`, or whatever its clients agreed on; "" when it never had a member.
    pub(super) protocol_type: Arc<str>,
    /// The generation.
    pub(super) generation: i32,
    /// The protocol that was voted for; none when there are no members.
    pub(super) protocol: Option<Arc<str>>,
    /// The member that computes the assignment.
    pub(super) leader: Option<Arc<str>>,
    /// When the group came into its state, in ms of the wall clock; -1 when unknown.
    pub(super) state_timestamp_ms: i64,
    /// Its members.
    pub(super) members: Vec<MemberMetadata>,
}

/// A member as it is persisted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct MemberMetadata {
    /// The member's id.
    pub(super) id: Arc<str>,
    /// The instance id of a static member.
    pub(super) instance: Option<Arc<str>>,
    /// The client's name for itself.
    pub(super) client_id: Arc<str>,
    /// Where it was connected from, as Kafka writes it: `/127.0.0.1`.
    pub(super) client_host: Arc<str>,
    /// How long it may take to join again, in ms.
    pub(super) rebalance_timeout_ms: i32,
    /// How long it may be silent, in ms.
    pub(super) session_timeout_ms: i32,
    /// What it said when it joined, for the protocol that was voted for.
    pub(super) subscription: Bytes,
    /// What the leader assigned to it.
    pub(super) assignment: Bytes,
}

impl GroupMetadata {
    /// Bytes of what clients sent that is in the record: a bound for its size, less the names.
    #[must_use]
    pub(super) fn payload_bytes(&self) -> usize {
        let sizes = self.members.iter().map(|one| one.subscription.len() + one.assignment.len());
        sizes.fold(0, usize::saturating_add)
    }

    /// Writes the value. Strings longer than 32767 bytes were refused before.
    #[must_use]
    pub(super) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_i16(VERSION_WRITTEN);
        put_string(&mut out, &self.protocol_type);
        out.put_i32(self.generation);
        put_nullable_string(&mut out, self.protocol.as_deref());
        put_nullable_string(&mut out, self.leader.as_deref());
        out.put_i64(self.state_timestamp_ms);
        put_length(&mut out, self.members.len());
        for member in &self.members {
            put_string(&mut out, &member.id);
            put_nullable_string(&mut out, member.instance.as_deref());
            put_string(&mut out, &member.client_id);
            put_string(&mut out, &member.client_host);
            out.put_i32(member.rebalance_timeout_ms);
            out.put_i32(member.session_timeout_ms);
            put_bytes(&mut out, &member.subscription);
            put_bytes(&mut out, &member.assignment);
        }
        out.freeze()
    }

    /// Reads a value of version 0 to 4.
    ///
    /// # Errors
    /// When the version is unknown or the bytes do not hold it.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, RecordFault> {
        let mut reader = Reader::new(bytes);
        let version = reader.i16()?;
        if !(0..=VERSION_FLEXIBLE).contains(&version) {
            return Err(RecordFault::UnknownVersion(i32::from(version)));
        }
        let flexible = version >= VERSION_FLEXIBLE;
        let protocol_type = text(&mut reader, flexible)?;
        let generation = reader.i32()?;
        let protocol = nullable_text(&mut reader, flexible)?;
        let leader = nullable_text(&mut reader, flexible)?;
        let state_timestamp_ms = if version >= 2 { reader.i64()? } else { -1 };
        let members = if flexible {
            reader.compact_array(|reader| MemberMetadata::read(reader, version))?
        } else {
            let count = reader.i32()?;
            // One at a time: a claimed count reserves nothing.
            let mut members = Vec::new();
            for _ in 0..count {
                members.push(MemberMetadata::read(&mut reader, version)?);
            }
            members
        };
        Ok(Self { protocol_type, generation, protocol, leader, state_timestamp_ms, members })
    }
}

impl MemberMetadata {
    fn read(reader: &mut Reader<'_>, version: i16) -> Result<Self, RecordFault> {
        let flexible = version >= VERSION_FLEXIBLE;
        let id = text(reader, flexible)?;
        let instance = if version >= 3 { nullable_text(reader, flexible)? } else { None };
        let client_id = text(reader, flexible)?;
        let client_host = text(reader, flexible)?;
        let rebalance_timeout_ms = if version >= 1 { reader.i32()? } else { -1 };
        let session_timeout_ms = reader.i32()?;
        let member = Self {
            id,
            instance,
            client_id,
            client_host,
            // Kafka's rule for records of before there was a rebalance timeout.
            rebalance_timeout_ms: match rebalance_timeout_ms {
                -1 => session_timeout_ms,
                known => known,
            },
            session_timeout_ms,
            subscription: blob(reader, flexible)?,
            assignment: blob(reader, flexible)?,
        };
        if flexible {
            reader.tagged(|_, _| Ok(()))?;
        }
        Ok(member)
    }
}

fn text(reader: &mut Reader<'_>, flexible: bool) -> Result<Arc<str>, RecordFault> {
    nullable_text(reader, flexible)?.ok_or(RecordFault::UnexpectedNull)
}

fn nullable_text(reader: &mut Reader<'_>, flexible: bool) -> Result<Option<Arc<str>>, RecordFault> {
    let text = if flexible { reader.compact_nullable_string() } else { reader.nullable_string() }?;
    Ok(text.map(Arc::from))
}

fn blob(reader: &mut Reader<'_>, flexible: bool) -> Result<Bytes, RecordFault> {
    let length = if flexible {
        reader.uvarint()?.checked_sub(1).ok_or(RecordFault::UnexpectedNull)?
    } else {
        u32::try_from(reader.i32()?).map_err(|_| RecordFault::BadLength)?
    };
    reader.take(length as usize).map(Bytes::copy_from_slice)
}

fn put_nullable_string(out: &mut BytesMut, text: Option<&str>) {
    match text {
        Some(text) => put_string(out, text),
        None => out.put_i16(-1),
    }
}

fn put_length(out: &mut BytesMut, length: usize) {
    out.put_i32(i32::try_from(length).expect("the coordinator writes no record of 2 GiB"));
}

fn put_bytes(out: &mut BytesMut, bytes: &Bytes) {
    put_length(out, bytes.len());
    out.put_slice(bytes);
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    fn group() -> GroupMetadata {
        GroupMetadata {
            protocol_type: Arc::from("consumer"),
            generation: 3,
            protocol: Some(Arc::from("range")),
            leader: Some(Arc::from("m")),
            state_timestamp_ms: 9,
            members: vec![MemberMetadata {
                id: Arc::from("m"),
                instance: Some(Arc::from("i")),
                client_id: Arc::from("c"),
                client_host: Arc::from("/h"),
                rebalance_timeout_ms: 7,
                session_timeout_ms: 6,
                subscription: Bytes::from_static(b"su"),
                assignment: Bytes::from_static(b"a"),
            }],
        }
    }

    #[test]
    fn a_group_has_kafkas_bytes() {
        let golden = b"\x00\x03\x00\x08consumer\x00\x00\x00\x03\x00\x05range\x00\x01m\
            \x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x01\
            \x00\x01m\x00\x01i\x00\x01c\x00\x02/h\x00\x00\x00\x07\x00\x00\x00\x06\
            \x00\x00\x00\x02su\x00\x00\x00\x01a";
        assert_eq!(&group().encode()[..], &golden[..]);
        assert_eq!(GroupMetadata::decode(golden), Ok(group()));
    }

    #[test]
    fn an_emptied_group_has_nulls_for_protocol_and_leader() {
        let empty = GroupMetadata { protocol: None, leader: None, members: vec![], ..group() };
        let golden = b"\x00\x03\x00\x08consumer\x00\x00\x00\x03\xff\xff\xff\xff\
            \x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x00";
        assert_eq!(&empty.encode()[..], &golden[..]);
        assert_eq!(GroupMetadata::decode(golden), Ok(empty));
    }

    #[test]
    fn old_and_newer_versions_are_read() {
        let mut old = group();
        old.state_timestamp_ms = -1;
        old.members[0].instance = None;
        old.members[0].rebalance_timeout_ms = 6;
        let v0 = b"\x00\x00\x00\x08consumer\x00\x00\x00\x03\x00\x05range\x00\x01m\x00\x00\x00\x01\
            \x00\x01m\x00\x01c\x00\x02/h\x00\x00\x00\x06\x00\x00\x00\x02su\x00\x00\x00\x01a";
        assert_eq!(GroupMetadata::decode(v0), Ok(old));
        let v4 = b"\x00\x04\x09consumer\x00\x00\x00\x03\x06range\x02m\
            \x00\x00\x00\x00\x00\x00\x00\x09\x02\
            \x02m\x02i\x02c\x03/h\x00\x00\x00\x07\x00\x00\x00\x06\x03su\x02a\x00\x00";
        assert_eq!(GroupMetadata::decode(v4), Ok(group()));
        assert_eq!(GroupMetadata::decode(b"\x00\x05"), Err(RecordFault::UnknownVersion(5)));
    }

    proptest! {
        #[test]
        fn no_bytes_panic_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = GroupMetadata::decode(&bytes);
        }
    }
}
