//! The records of `__consumer_offsets` that offsets are kept in, byte for byte as Kafka's
//! `OffsetCommitKey` (types 0 and 1), `OffsetCommitValue` (versions 0 to 4) and
//! `GroupMetadataKey` (type 2). Spec 9.3. Those of consumer groups are in [`super::consumer`].
//!
//! Persisted: never renumber. Keys of other types belong to share and streams groups;
//! they are read as [`GroupKey::Other`] and left alone.

use alloc::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use crate::codec::{Reader, RecordFault, put_compact_string, put_string, put_uvarint};
use crate::types::{Offset, TopicId, TopicPartition};

use super::GroupId;
use super::consumer::ConsumerKey;

/// Key type of an offset commit as old brokers wrote it; the fields are those of type 1.
const OFFSET_COMMIT_LEGACY: i16 = 0;
/// Key type of an offset commit.
const OFFSET_COMMIT: i16 = 1;
/// Key type of a classic group's metadata.
const GROUP_METADATA: i16 = 2;
/// The version that is written, unless the commit names a retention time.
const VALUE_VERSION: i16 = 4;
/// The only version with an expire timestamp; without leader epoch and topic id.
const VALUE_VERSION_RETENTION: i16 = 1;

/// What a record of `__consumer_offsets` is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupKey {
    /// A group's offset for a partition.
    Offset {
        /// The group.
        group: GroupId,
        /// The partition.
        tp: TopicPartition,
    },
    /// A classic group's members; a null value says that the group is gone.
    Classic(GroupId),
    /// Something about a consumer group.
    Consumer {
        /// The group.
        group: GroupId,
        /// What.
        what: ConsumerKey,
    },
    /// Something this release keeps no memory of, with its type.
    Other(i16),
}

impl GroupKey {
    /// Writes the key. Strings longer than 32767 bytes were refused before.
    ///
    /// [`GroupKey::Other`] is never written; its type alone is what comes out.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::Offset { group, tp } => {
                out.put_i16(OFFSET_COMMIT);
                put_string(&mut out, group);
                put_string(&mut out, tp.topic.as_str());
                out.put_i32(tp.partition);
            }
            Self::Classic(group) => {
                out.put_i16(GROUP_METADATA);
                put_string(&mut out, group);
            }
            Self::Consumer { group, what } => {
                out.put_i16(what.kind());
                put_string(&mut out, group);
                if let Some(text) = what.text() {
                    put_string(&mut out, text);
                }
            }
            Self::Other(kind) => out.put_i16(*kind),
        }
        out.freeze()
    }

    /// Reads a key.
    ///
    /// # Errors
    /// When the bytes do not hold a key of their type.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordFault> {
        let mut reader = Reader::new(bytes);
        Ok(match reader.i16()? {
            OFFSET_COMMIT_LEGACY | OFFSET_COMMIT => Self::Offset {
                group: Arc::from(reader.string()?),
                tp: TopicPartition::new(reader.string()?, reader.i32()?),
            },
            GROUP_METADATA => Self::Classic(Arc::from(reader.string()?)),
            kind if ConsumerKey::is_kind(kind) => {
                let group = Arc::from(reader.string()?);
                Self::Consumer { group, what: ConsumerKey::read(kind, &mut reader)? }
            }
            other => Self::Other(other),
        })
    }
}

/// An offset as it is committed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OffsetValue {
    /// The offset the group goes on from.
    pub offset: Offset,
    /// Leader epoch of the last consumed record, or -1.
    pub leader_epoch: i32,
    /// What the client keeps beside it; "" when it gave none.
    pub metadata: Arc<str>,
    /// When it was committed, in ms of the wall clock.
    pub commit_timestamp_ms: i64,
    /// When it goes, in ms of the wall clock; only when the commit named a retention time.
    pub expire_timestamp_ms: Option<i64>,
    /// The topic's id at the time, zero when unknown.
    pub topic_id: TopicId,
}

impl OffsetValue {
    /// The value as a reader of its record will see it: version 1, which an expire timestamp
    /// asks for, has no room for the leader epoch and the topic id.
    #[must_use]
    pub fn as_written(mut self) -> Self {
        if self.expire_timestamp_ms.is_some() {
            self.leader_epoch = -1;
            self.topic_id = TopicId::default();
        }
        self
    }

    /// Writes the value: version 4, or 1 when there is an expire timestamp.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let version = match self.expire_timestamp_ms {
            Some(_) => VALUE_VERSION_RETENTION,
            None => VALUE_VERSION,
        };
        self.encode_version(version)
    }

    fn encode_version(&self, version: i16) -> Bytes {
        let flexible = version >= 4;
        let mut out = BytesMut::new();
        out.put_i16(version);
        out.put_i64(self.offset);
        if version >= 3 {
            out.put_i32(self.leader_epoch);
        }
        if flexible {
            put_compact_string(&mut out, &self.metadata);
        } else {
            put_string(&mut out, &self.metadata);
        }
        out.put_i64(self.commit_timestamp_ms);
        if version == VALUE_VERSION_RETENTION {
            out.put_i64(self.expire_timestamp_ms.unwrap_or(-1));
        }
        if flexible {
            if self.topic_id.is_zero() {
                put_uvarint(&mut out, 0);
            } else {
                put_uvarint(&mut out, 1);
                put_uvarint(&mut out, 0);
                put_uvarint(&mut out, 16);
                out.put_u128(self.topic_id.0);
            }
        }
        out.freeze()
    }

    /// Reads a value of version 0 to 4.
    ///
    /// # Errors
    /// When the version is unknown or the bytes do not hold it.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordFault> {
        let mut reader = Reader::new(bytes);
        let version = reader.i16()?;
        if !(0..=VALUE_VERSION).contains(&version) {
            return Err(RecordFault::UnknownVersion(i32::from(version)));
        }
        let offset = reader.i64()?;
        let leader_epoch = if version >= 3 { reader.i32()? } else { -1 };
        let metadata = if version >= 4 { reader.compact_string()? } else { reader.string()? };
        let commit_timestamp_ms = reader.i64()?;
        let expire_timestamp_ms = match version {
            VALUE_VERSION_RETENTION => Some(reader.i64()?).filter(|at| *at != -1),
            _ => None,
        };
        let mut topic_id = TopicId::default();
        if version >= 4 {
            reader.tagged(|tag, mut field| {
                if tag == 0 {
                    topic_id = TopicId(field.uuid()?);
                }
                Ok(())
            })?;
        }
        let metadata = Arc::from(metadata);
        Ok(Self {
            offset,
            leader_epoch,
            metadata,
            commit_timestamp_ms,
            expire_timestamp_ms,
            topic_id,
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn value() -> OffsetValue {
        OffsetValue {
            offset: 10,
            leader_epoch: 3,
            metadata: Arc::from("md"),
            commit_timestamp_ms: 0x0102_0304,
            expire_timestamp_ms: None,
            topic_id: TopicId(0x0f),
        }
    }

    #[test]
    fn an_offset_key_has_kafkas_bytes() {
        let key = GroupKey::Offset { group: Arc::from("g"), tp: TopicPartition::new("in", 7) };
        let golden = b"\x00\x01\x00\x01g\x00\x02in\x00\x00\x00\x07";
        assert_eq!(&key.encode()[..], golden);
        assert_eq!(GroupKey::decode(golden), Ok(key.clone()));
        let legacy = b"\x00\x00\x00\x01g\x00\x02in\x00\x00\x00\x07";
        assert_eq!(GroupKey::decode(legacy), Ok(key));
    }

    #[test]
    fn a_classic_group_key_and_those_of_other_groups_are_told_apart() {
        let key = GroupKey::Classic(Arc::from("g"));
        assert_eq!(&key.encode()[..], b"\x00\x02\x00\x01g");
        assert_eq!(GroupKey::decode(b"\x00\x02\x00\x01g"), Ok(key));
        assert_eq!(GroupKey::decode(b"\x00\x09whatever"), Ok(GroupKey::Other(9)));
    }

    #[test]
    fn every_version_of_a_value_has_kafkas_bytes() {
        const OFFSET: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 10];
        const TIME: &[u8] = &[0, 0, 0, 0, 1, 2, 3, 4];
        const EXPIRE: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 99];
        const EPOCH: &[u8] = &[0, 0, 0, 3];
        const ID: &[u8] = &[1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15];
        let plain = OffsetValue { leader_epoch: -1, topic_id: TopicId(0), ..value() };
        let expiring = OffsetValue { expire_timestamp_ms: Some(99), ..plain.clone() };
        let epoch = OffsetValue { topic_id: TopicId(0), ..value() };
        let table: [(i16, &OffsetValue, &[&[u8]]); 6] = [
            (0, &plain, &[&[0, 0], OFFSET, &[0, 2], b"md", TIME]),
            (1, &expiring, &[&[0, 1], OFFSET, &[0, 2], b"md", TIME, EXPIRE]),
            (2, &plain, &[&[0, 2], OFFSET, &[0, 2], b"md", TIME]),
            (3, &epoch, &[&[0, 3], OFFSET, EPOCH, &[0, 2], b"md", TIME]),
            (4, &epoch, &[&[0, 4], OFFSET, EPOCH, &[3], b"md", TIME, &[0]]),
            (4, &value(), &[&[0, 4], OFFSET, EPOCH, &[3], b"md", TIME, ID]),
        ];
        for (version, value, golden) in table {
            let golden: Vec<u8> = golden.concat();
            assert_eq!(&value.encode_version(version)[..], &golden[..], "version {version}");
            assert_eq!(OffsetValue::decode(&golden).as_ref(), Ok(value), "version {version}");
        }
    }

    #[test]
    fn version_4_is_written_unless_a_retention_time_asks_for_version_1() {
        assert_eq!(value().encode()[..2], [0, 4]);
        let expiring = OffsetValue { expire_timestamp_ms: Some(5), ..value() };
        assert_eq!(expiring.encode()[..2], [0, 1]);
        assert_eq!(OffsetValue::decode(&expiring.encode()), Ok(expiring.as_written()));
    }

    #[test]
    fn a_newer_version_is_refused() {
        assert_eq!(OffsetValue::decode(&[0, 5, 0]), Err(RecordFault::UnknownVersion(5)));
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(
            offset: i64, leader_epoch: i32, metadata in ".{0,40}", commit_timestamp_ms: i64,
            expire_timestamp_ms in proptest::option::of(0_i64..), id: u128,
        ) {
            let value = OffsetValue {
                offset, leader_epoch, metadata: Arc::from(metadata), commit_timestamp_ms,
                expire_timestamp_ms, topic_id: TopicId(id),
            };
            prop_assert_eq!(OffsetValue::decode(&value.encode()), Ok(value.as_written()));
        }

        #[test]
        fn no_bytes_panic_the_readers(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = GroupKey::decode(&bytes);
            let _ = OffsetValue::decode(&bytes);
        }
    }
}
