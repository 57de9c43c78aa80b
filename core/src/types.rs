//! The small names that every machine shares: topics, partitions, producers, markers.

use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;

use kacrab_protocol::{KafkaString, KafkaUuid};

/// A producer id (pid); [`NO_PRODUCER_ID`] where there is none.
pub type ProducerId = i64;
/// A producer epoch; [`NO_PRODUCER_EPOCH`] where there is none.
pub type ProducerEpoch = i16;
/// A record offset in a partition.
pub type Offset = i64;

/// What the wire and the log carry in place of a missing producer id.
pub const NO_PRODUCER_ID: ProducerId = -1;
/// What the wire and the log carry in place of a missing producer epoch.
pub const NO_PRODUCER_EPOCH: ProducerEpoch = -1;
/// What the wire and the log carry in place of a missing sequence.
pub const NO_SEQUENCE: i32 = -1;

/// The internal topic that holds transactional ids (Kafka's record schemas).
pub const TRANSACTION_STATE_TOPIC: &str = "__transaction_state";
/// The internal topic that holds committed offsets and groups (Kafka's record schemas).
pub const CONSUMER_OFFSETS_TOPIC: &str = "__consumer_offsets";
/// The log of cluster metadata; not a topic that clients see.
pub const METADATA_TOPIC: &str = "__cluster_metadata";

/// A topic's name: cheap to clone, ordered by its bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicName(Arc<str>);

impl TopicName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether clients may not write to it except as `__admin_client`.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        matches!(&*self.0, TRANSACTION_STATE_TOPIC | CONSUMER_OFFSETS_TOPIC)
    }

    /// The name as the wire's string.
    #[must_use]
    pub fn to_kafka(&self) -> KafkaString {
        KafkaString::from(alloc::string::String::from(&*self.0))
    }
}

impl From<&str> for TopicName {
    fn from(name: &str) -> Self {
        Self(Arc::from(name))
    }
}

impl Borrow<str> for TopicName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A topic's identity: a recreated topic has the same name and another id (KIP-516).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub u128);

impl TopicId {
    /// The id of [`METADATA_TOPIC`], the one Kafka reserves for it.
    pub const METADATA: Self = Self(1);

    /// The id in the wire's form.
    #[must_use]
    pub fn to_kafka(self) -> KafkaUuid {
        KafkaUuid::from_parts((self.0 >> 64) as u64, self.0 as u64)
    }

    /// Whether this is the all-zero id, which stands for "none".
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl From<KafkaUuid> for TopicId {
    fn from(id: KafkaUuid) -> Self {
        Self(u128::from_be_bytes(id.to_bytes()))
    }
}

impl fmt::Debug for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A partition by its topic's name, as clients and coordinators speak of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: TopicName,
    /// The partition's index in the topic.
    pub partition: i32,
}

impl TopicPartition {
    /// Names a partition.
    pub fn new(topic: impl Into<TopicName>, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

impl fmt::Debug for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A partition by its topic's id, as logs, the journal and the node's tables know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PartitionId {
    /// The topic's id.
    pub topic_id: TopicId,
    /// The partition's index in the topic.
    pub partition: i32,
}

impl PartitionId {
    /// The one partition of the metadata log.
    pub const METADATA: Self = Self { topic_id: TopicId::METADATA, partition: 0 };
}

/// How a transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Decision {
    /// Its records become visible.
    Commit,
    /// Its records are never shown to a read_committed reader.
    Abort,
}

/// A transaction marker as the coordinator sends it and the leader judges it (KIP-98, KIP-1228).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Marker {
    /// Whose transaction ends.
    pub producer_id: ProducerId,
    /// Under transaction version 2 one above the epoch of the data.
    pub producer_epoch: ProducerEpoch,
    /// Commit or abort.
    pub decision: Decision,
    /// The epoch of the coordinator that decided; fences older coordinators.
    pub coordinator_epoch: i32,
    /// 2 asks for the strict epoch rule of KIP-1228; 0 and 1 for the legacy one.
    pub transaction_version: i8,
}

/// Which records a reader may see.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Isolation {
    /// Everything below the high watermark.
    ReadUncommitted,
    /// Everything below the last stable offset, with the list of aborted transactions.
    ReadCommitted,
}

/// The partition of an internal topic that a group or transactional id belongs to: Java's
/// `String.hashCode` over UTF-16 units, made non-negative, modulo the number of partitions
/// (`Utils.abs`: the smallest integer counts as 0).
#[must_use]
pub fn partition_for(key: &str, partitions: i32) -> i32 {
    // Of ASCII the bytes are the units; nearly every id is ASCII, and this is asked often.
    let next = |h: i32, unit: u16| h.wrapping_mul(31).wrapping_add(i32::from(unit));
    let hash = if key.is_ascii() {
        let (fours, rest) = key.as_bytes().as_chunks::<4>();
        let next_four = |h: i32, &[a, b, c, d]: &[u8; 4]| {
            let four = |unit: u8, power: i32| i32::from(unit) * power;
            let sum = four(a, 29_791) + four(b, 961) + four(c, 31) + i32::from(d);
            h.wrapping_mul(923_521).wrapping_add(sum)
        };
        let hash = fours.iter().fold(0_i32, next_four);
        rest.iter().fold(hash, |h, &byte| next(h, byte.into()))
    } else {
        key.encode_utf16().fold(0_i32, next)
    };
    let positive = if hash == i32::MIN { 0 } else { hash.abs() };
    positive % partitions.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_the_same_byte_by_byte_for_every_length() {
        for length in 0..20 {
            let key: alloc::string::String = "a-transactional-id-z".chars().take(length).collect();
            let next = |h: i32, byte: u8| h.wrapping_mul(31).wrapping_add(i32::from(byte));
            let hash = key.bytes().fold(0, next);
            assert_eq!(partition_for(&key, i32::MAX), hash.abs() % i32::MAX, "{key}");
        }
    }

    #[test]
    fn u12_txn_lands_on_partition_23_of_50() {
        assert_eq!(partition_for("u12-txn", 50), 23);
    }

    #[test]
    fn a_hash_of_the_smallest_integer_counts_as_zero() {
        // "polygenelubricants" is the classic String whose Java hash is Integer.MIN_VALUE.
        assert_eq!(partition_for("polygenelubricants", 50), 0);
    }
}
