//! Why a partition refuses something; `crate::error` gives each its Kafka code.

use alloc::string::String;
use alloc::vec::Vec;

use crate::types::{ProducerEpoch, ProducerId};

/// What is wrong with one record of a refused batch (`record_errors`, Produce v8 and newer).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordError {
    /// The record's index in the batch.
    pub index: i32,
    /// What is wrong, in Kafka's words.
    pub message: String,
}

/// Why a batch or a marker was not appended. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum AppendError {
    /// The batch is above `max.message.bytes`.
    #[error("the batch has {size} bytes, more than max.message.bytes = {max}")]
    MessageTooLarge {
        /// Bytes of the batch.
        size: usize,
        /// The topic's limit.
        max: i32,
    },
    /// The batch does not fit into a segment.
    #[error("the batch has {size} bytes, more than segment.bytes = {segment_bytes}")]
    RecordListTooLarge {
        /// Bytes of the batch.
        size: usize,
        /// The topic's segment size.
        segment_bytes: u32,
    },
    /// Records that the topic's settings forbid. The text is the answer's error message.
    #[error("One or more records have been rejected due to {}", reason(*timestamp))]
    InvalidRecords {
        /// Whether one of them is refused for its timestamp, which decides the code.
        timestamp: bool,
        /// The records.
        errors: Vec<RecordError>,
    },
    /// A control batch that is no marker of the coordinator's.
    #[error("only a coordinator writes control records")]
    ControlBatch,
    /// An epoch below the one the partition knows: a zombie.
    #[error("producer {producer_id} has epoch {producer_epoch}, the partition knows {current}")]
    InvalidProducerEpoch {
        /// Who wrote.
        producer_id: ProducerId,
        /// The epoch it wrote with.
        producer_epoch: ProducerEpoch,
        /// The epoch in the partition.
        current: ProducerEpoch,
    },
    /// A gap, an overlap, or a batch too old to be remembered.
    #[error("producer {producer_id} sent sequence {sequence}, the partition expects {expected}")]
    OutOfOrderSequence {
        /// Who wrote.
        producer_id: ProducerId,
        /// The first sequence of the batch.
        sequence: i32,
        /// What would have been taken.
        expected: i32,
    },
    /// The batch begins a transaction here that nobody has verified.
    #[error("the partition was not added to the transaction of producer {producer_id}")]
    NotVerified {
        /// Who wrote.
        producer_id: ProducerId,
    },
    /// A batch outside the transaction that its producer has open.
    #[error("producer {producer_id} has a transaction open and sent a batch outside it")]
    NotTransactional {
        /// Who wrote.
        producer_id: ProducerId,
    },
    /// A marker of a coordinator that another one has replaced.
    #[error("coordinator epoch {coordinator_epoch} is below {current}")]
    CoordinatorFenced {
        /// The epoch of the marker.
        coordinator_epoch: i32,
        /// The newest epoch the partition knows.
        current: i32,
    },
    /// A marker without a producer, or without its epoch: it can end nobody's transaction.
    #[error("a marker of producer {producer_id} with epoch {producer_epoch}, which nobody has")]
    MarkerOfNobody {
        /// The producer id of the marker.
        producer_id: ProducerId,
        /// Its epoch.
        producer_epoch: ProducerEpoch,
    },
    /// The records could not be put into the codec of `compression.type`.
    #[error("the records could not be compressed as the topic wants")]
    Recompression,
    /// There are no offsets left.
    #[error("the log has no offsets left")]
    OffsetsExhausted,
}

const fn reason(timestamp: bool) -> &'static str {
    if timestamp { "invalid timestamp" } else { "record errors" }
}
