//! The records of the metadata log, byte for byte in Kafka's KRaft schemas: a frame of three
//! unsigned varints (frame version 1, api key, version), then the flexible message.
//!
//! Persisted: never renumber. Records of other api keys are read as [`MetaRecord::Other`].

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use bytes::{BufMut, Bytes, BytesMut};

use crate::codec::{
    Reader, RecordFault, put_compact_length, put_compact_nullable_string, put_compact_string,
    put_uvarint,
};
use crate::types::{ProducerId, TopicId, TopicName};

const FRAME_VERSION: u32 = 1;
const REGISTER_BROKER: u32 = 0;
const TOPIC: u32 = 2;
const PARTITION: u32 = 3;
const CONFIG: u32 = 4;
const REMOVE_TOPIC: u32 = 9;
const FEATURE_LEVEL: u32 = 12;
const PRODUCER_IDS: u32 = 15;

/// One record of the metadata log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MetaRecord {
    /// A node boots (version 4).
    RegisterBroker(RegisterBroker),
    /// A topic comes to be (version 0).
    Topic {
        /// Its name.
        name: TopicName,
        /// Its id.
        id: TopicId,
    },
    /// A partition of a topic comes to be (version 2).
    Partition(PartitionRecord),
    /// A setting of a topic or of the broker changes (version 0).
    Config {
        /// Kafka's `ConfigResource.Type`: 2 topic, 4 broker.
        resource_type: i8,
        /// The topic's name, or "" for all brokers.
        resource: Arc<str>,
        /// The setting.
        name: Arc<str>,
        /// Its value; null takes it back to the default.
        value: Option<Arc<str>>,
    },
    /// A topic goes, with its partitions (version 0).
    RemoveTopic {
        /// Its id.
        id: TopicId,
    },
    /// A feature is finalized at a level (version 0).
    FeatureLevel {
        /// The feature.
        name: Arc<str>,
        /// The level, 0 for off.
        level: i16,
    },
    /// A block of producer ids is given out (version 0).
    ProducerIds {
        /// Whom to.
        broker_id: i32,
        /// Its epoch.
        broker_epoch: i64,
        /// The first id that is not given out yet.
        next: ProducerId,
    },
    /// A record this release has no use for, by its api key.
    Other(u32),
}

/// Kafka's `RegisterBrokerRecord`. Verdict's broker epoch is the number of the boot, from 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegisterBroker {
    /// The node's id.
    pub broker_id: i32,
    /// Identifies the process.
    pub incarnation: u128,
    /// The number of the boot.
    pub broker_epoch: i64,
    /// Where clients reach it: name, host, port, security protocol.
    pub endpoints: Vec<(Arc<str>, Arc<str>, u16, i16)>,
    /// Supported features: name, lowest and highest level.
    pub features: Vec<(Arc<str>, i16, i16)>,
    /// Whether it is kept from leading; written as false.
    pub fenced: bool,
    /// Its log directories.
    pub log_dirs: Vec<u128>,
}

/// Kafka's `PartitionRecord`, as far as one replica needs it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionRecord {
    /// The topic.
    pub topic_id: TopicId,
    /// The partition's index.
    pub partition: i32,
    /// The nodes that hold it; the in-sync set is the same.
    pub replicas: Vec<i32>,
    /// The node that leads it.
    pub leader: i32,
    /// The leader's epoch when it was created.
    pub leader_epoch: i32,
    /// One log directory for each replica.
    pub directories: Vec<u128>,
}

impl MetaRecord {
    /// Writes the record with its frame. [`MetaRecord::Other`] is never written; its frame alone
    /// is what comes out.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(128);
        let (api_key, version) = self.frame();
        put_uvarint(&mut out, FRAME_VERSION);
        put_uvarint(&mut out, api_key);
        put_uvarint(&mut out, version);
        match self {
            // Its tagged section is never empty, so it writes its own.
            Self::RegisterBroker(record) => {
                record.encode(&mut out);
                return out.freeze();
            }
            Self::Topic { name, id } => {
                put_compact_string(&mut out, name.as_str());
                out.put_u128(id.0);
            }
            Self::Partition(record) => record.encode(&mut out),
            Self::Config { resource_type, resource, name, value } => {
                out.put_i8(*resource_type);
                put_compact_string(&mut out, resource);
                put_compact_string(&mut out, name);
                put_compact_nullable_string(&mut out, value.as_deref());
            }
            Self::RemoveTopic { id } => out.put_u128(id.0),
            Self::FeatureLevel { name, level } => {
                put_compact_string(&mut out, name);
                out.put_i16(*level);
            }
            Self::ProducerIds { broker_id, broker_epoch, next } => {
                out.put_i32(*broker_id);
                out.put_i64(*broker_epoch);
                out.put_i64(*next);
            }
            Self::Other(_) => {}
        }
        put_uvarint(&mut out, 0);
        out.freeze()
    }

    const fn frame(&self) -> (u32, u32) {
        match self {
            Self::RegisterBroker(_) => (REGISTER_BROKER, 4),
            Self::Topic { .. } => (TOPIC, 0),
            Self::Partition(_) => (PARTITION, 2),
            Self::Config { .. } => (CONFIG, 0),
            Self::RemoveTopic { .. } => (REMOVE_TOPIC, 0),
            Self::FeatureLevel { .. } => (FEATURE_LEVEL, 0),
            Self::ProducerIds { .. } => (PRODUCER_IDS, 0),
            Self::Other(api_key) => (*api_key, 0),
        }
    }

    /// Reads a record with its frame.
    ///
    /// # Errors
    /// When the frame or the version is unknown, or the bytes do not hold the record.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordFault> {
        let mut reader = Reader::new(bytes);
        let frame = reader.uvarint()?;
        let api_key = reader.uvarint()?;
        let version = reader.uvarint()?;
        let known = match api_key {
            REGISTER_BROKER => version <= 4,
            PARTITION => version <= 2,
            TOPIC | CONFIG | REMOVE_TOPIC | FEATURE_LEVEL | PRODUCER_IDS => version == 0,
            _ => return Ok(Self::Other(api_key)),
        };
        if frame != FRAME_VERSION || !known {
            return Err(RecordFault::UnknownVersion(version.cast_signed()));
        }
        let record = match api_key {
            REGISTER_BROKER => {
                return RegisterBroker::decode(&mut reader, version).map(Self::RegisterBroker);
            }
            TOPIC => Self::Topic {
                name: TopicName::from(reader.compact_string()?),
                id: TopicId(reader.uuid()?),
            },
            PARTITION => Self::Partition(PartitionRecord::decode(&mut reader, version)?),
            CONFIG => Self::Config {
                resource_type: reader.i8()?,
                resource: Arc::from(reader.compact_string()?),
                name: Arc::from(reader.compact_string()?),
                value: reader.compact_nullable_string()?.map(Arc::from),
            },
            REMOVE_TOPIC => Self::RemoveTopic { id: TopicId(reader.uuid()?) },
            FEATURE_LEVEL => Self::FeatureLevel {
                name: Arc::from(reader.compact_string()?),
                level: reader.i16()?,
            },
            _ => Self::ProducerIds {
                broker_id: reader.i32()?,
                broker_epoch: reader.i64()?,
                next: reader.i64()?,
            },
        };
        reader.tagged(|_, _| Ok(()))?;
        Ok(record)
    }
}

impl RegisterBroker {
    fn encode(&self, out: &mut BytesMut) {
        out.put_i32(self.broker_id);
        out.put_u8(0); // not migrating from ZooKeeper
        out.put_u128(self.incarnation);
        out.put_i64(self.broker_epoch);
        put_compact_length(out, self.endpoints.len());
        for (name, host, port, protocol) in &self.endpoints {
            put_compact_string(out, name);
            put_compact_string(out, host);
            out.put_u16(*port);
            out.put_i16(*protocol);
            put_uvarint(out, 0);
        }
        put_compact_length(out, self.features.len());
        for (name, min, max) in &self.features {
            put_compact_string(out, name);
            out.put_i16(*min);
            out.put_i16(*max);
            put_uvarint(out, 0);
        }
        put_compact_nullable_string(out, None); // no rack
        out.put_u8(u8::from(self.fenced));
        out.put_u8(0); // not shutting down
        if self.log_dirs.is_empty() {
            return put_uvarint(out, 0);
        }
        let mut field = BytesMut::new();
        put_uuids(&mut field, &self.log_dirs);
        put_uvarint(out, 1);
        put_uvarint(out, 0);
        put_uvarint(out, u32::try_from(field.len()).expect("a handful of log directories"));
        out.put_slice(&field);
    }

    fn decode(reader: &mut Reader<'_>, version: u32) -> Result<Self, RecordFault> {
        let broker_id = reader.i32()?;
        if version >= 2 {
            reader.bool()?;
        }
        let incarnation = reader.uuid()?;
        let broker_epoch = reader.i64()?;
        let endpoints = reader.compact_array(|reader| {
            let name = Arc::from(reader.compact_string()?);
            let host = Arc::from(reader.compact_string()?);
            let endpoint = (name, host, reader.u16()?, reader.i16()?);
            reader.tagged(|_, _| Ok(()))?;
            Ok(endpoint)
        })?;
        let features = reader.compact_array(|reader| {
            let feature = (Arc::from(reader.compact_string()?), reader.i16()?, reader.i16()?);
            reader.tagged(|_, _| Ok(()))?;
            Ok(feature)
        })?;
        reader.compact_nullable_string()?;
        let fenced = reader.bool()?;
        if version >= 1 {
            reader.bool()?;
        }
        let mut log_dirs = vec![];
        reader.tagged(|tag, mut field| {
            if tag == 0 {
                log_dirs = field.compact_array(Reader::uuid)?;
            }
            Ok(())
        })?;
        Ok(Self { broker_id, incarnation, broker_epoch, endpoints, features, fenced, log_dirs })
    }
}

impl PartitionRecord {
    fn encode(&self, out: &mut BytesMut) {
        out.put_i32(self.partition);
        out.put_u128(self.topic_id.0);
        put_ints(out, &self.replicas);
        put_ints(out, &self.replicas); // all in sync
        put_ints(out, &[]); // none is being removed
        put_ints(out, &[]); // none is being added
        out.put_i32(self.leader);
        out.put_i32(self.leader_epoch);
        out.put_i32(0); // partition epoch
        put_uuids(out, &self.directories);
    }

    fn decode(reader: &mut Reader<'_>, version: u32) -> Result<Self, RecordFault> {
        let partition = reader.i32()?;
        let topic_id = TopicId(reader.uuid()?);
        let replicas = reader.compact_array(Reader::i32)?;
        for _isr_removing_adding in 0..3 {
            reader.compact_array(Reader::i32)?;
        }
        let leader = reader.i32()?;
        let leader_epoch = reader.i32()?;
        reader.i32()?;
        let directories = if version >= 1 { reader.compact_array(Reader::uuid)? } else { vec![] };
        Ok(Self { topic_id, partition, replicas, leader, leader_epoch, directories })
    }
}

fn put_ints(out: &mut BytesMut, items: &[i32]) {
    put_compact_length(out, items.len());
    for item in items {
        out.put_i32(*item);
    }
}

fn put_uuids(out: &mut BytesMut, items: &[u128]) {
    put_compact_length(out, items.len());
    for item in items {
        out.put_u128(*item);
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use proptest::prelude::*;

    use super::*;

    /// Records of an Apache Kafka 4.4.0 metadata log.
    #[rustfmt::skip]
    const GOLDEN: &[&str] = &[
        "01000400000001004c74ab9a92f14d7aa3aa8922db2b7b7e000000000000000c020a504c41494e544558540a\
         3132372e302e302e314a9400000008116d657461646174612e76657273696f6e00070021000e73686172652e\
         76657273696f6e00000002000e6b726166742e76657273696f6e00000001000e67726f75702e76657273696f\
         6e00000001001073747265616d732e76657273696f6e0000000100147472616e73616374696f6e2e76657273\
         696f6e000000020021656c696769626c652e6c65616465722e7265706c696361732e76657273696f6e000000\
         0100000100010011025ab6ffc0459584110913f87b37a55428",
        "01020019746f7069632d313865636230383035623430356264652d302fb408ce17cc421d80115b8094b6d95500",
        "010302000000012fb408ce17cc421d80115b8094b6d955020000000102000000010101000000010000000000\
         000000025ab6ffc0459584110913f87b37a5542800",
        "0104000401146d696e2e696e73796e632e7265706c69636173023100",
        "01040002135f5f636f6e73756d65725f6f6666736574730f636c65616e75702e706f6c69637908636f6d7061\
         637400",
        "010c00147472616e73616374696f6e2e76657273696f6e000200",
        "010f0000000001000000000000000c00000000000003e800",
    ];

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: String = hex.chars().filter(|c| !c.is_whitespace()).collect();
        (0..digits.len() / 2)
            .map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap())
            .collect()
    }

    #[test]
    fn kafkas_own_records_are_read_and_written_back_byte_for_byte() {
        for hex in GOLDEN {
            let golden = bytes(hex);
            let record = MetaRecord::decode(&golden).unwrap();
            assert_eq!(&record.encode()[..], &golden[..], "{record:?}");
        }
    }

    #[test]
    fn fields_are_where_kafka_puts_them() {
        let table = [
            (
                GOLDEN[3],
                MetaRecord::Config {
                    resource_type: 4,
                    resource: Arc::from(""),
                    name: Arc::from("min.insync.replicas"),
                    value: Some(Arc::from("1")),
                },
            ),
            (
                GOLDEN[5],
                MetaRecord::FeatureLevel { name: Arc::from("transaction.version"), level: 2 },
            ),
            (GOLDEN[6], MetaRecord::ProducerIds { broker_id: 1, broker_epoch: 12, next: 1000 }),
            (
                "0109000000000000000000000000000000000700",
                MetaRecord::RemoveTopic { id: TopicId(7) },
            ),
            ("01140000", MetaRecord::Other(20)),
        ];
        for (hex, record) in table {
            assert_eq!(MetaRecord::decode(&bytes(hex)), Ok(record));
        }
    }

    #[test]
    fn a_newer_version_or_frame_is_refused() {
        for hex in ["010201", "020200", "010303", "010005"] {
            assert!(matches!(MetaRecord::decode(&bytes(hex)), Err(RecordFault::UnknownVersion(_))));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic_the_reader(
            head in prop::sample::select(&[0_u8, 2, 3, 4, 9, 12, 15][..]),
            rest in prop::collection::vec(any::<u8>(), 0..120),
        ) {
            let mut bytes = vec![1, head, 0];
            bytes.extend(rest);
            let _ = MetaRecord::decode(&bytes);
        }
    }
}
