//! Why a change of the metadata is refused; `crate::error` maps it to Kafka's codes.

use alloc::sync::Arc;

use crate::codec::RecordFault;

/// Why a change of the metadata is refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum MetaError {
    /// The name breaks Kafka's rules for topic names.
    #[error("topic name is invalid: {0}")]
    InvalidName(&'static str),
    /// Metrics could not tell the name from another topic's: `.` and `_` collide.
    #[error("topic name collides with existing topic: {0}")]
    NameCollision(Arc<str>),
    /// The topic exists, or its creation is being written.
    #[error("topic already exists")]
    TopicExists,
    /// The name is there more than once in one request.
    #[error("duplicate topic name")]
    DuplicateInRequest,
    /// Topics of this name are not created or deleted by clients.
    #[error("the topic is internal")]
    Internal,
    /// There is no topic of this name, or it is being deleted.
    #[error("This server does not host this topic-partition.")]
    UnknownTopic,
    /// There is no topic of this id, or it is being deleted.
    #[error("there is no topic of this id")]
    UnknownTopicId,
    /// The number of partitions is neither positive nor -1.
    #[error("number of partitions was set to an invalid non-positive value")]
    InvalidPartitions,
    /// More partitions than one request may create.
    #[error("excessively large number of partitions per request")]
    TooManyPartitions,
    /// The replication factor is neither -1 nor one this node can give.
    #[error("replication factor must be 1, or -1 to use the default value")]
    InvalidReplicationFactor,
    /// A manual assignment that this node cannot give.
    #[error("replica assignment is invalid: {0}")]
    InvalidAssignment(&'static str),
    /// A manual assignment beside a number of partitions or a replication factor.
    #[error("a manual assignment was given together with counts")]
    AssignmentWithCounts,
    /// A topic setting that is unknown, or whose value is not one of its type.
    #[error("invalid value for configuration {name}: {reason}")]
    InvalidConfig {
        /// The setting.
        name: Arc<str>,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A change of settings that does not go together with what they are; the words are Kafka's.
    #[error("{0}")]
    Config(Arc<str>),
    /// A number of partitions that is no increase; the words are Kafka's.
    #[error("{0}")]
    PartitionCount(Arc<str>),
    /// Other assignments than partitions; the words are Kafka's.
    #[error("{0}")]
    PartitionAssignment(Arc<str>),
    /// All producer ids were given out.
    #[error("there are no producer ids left")]
    ProducerIdsExhausted,
    /// A record of the metadata log could not be read.
    #[error("the metadata log holds a record that cannot be read: {0}")]
    Damaged(#[from] RecordFault),
}
