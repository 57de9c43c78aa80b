<<<<<<< HEAD
//! What recovery found of one log: enough to rebuild its partition's state.
=======
//! What recovery hands to a partition: what the store knows without looking into records.
>>>>>>> store

use alloc::vec::Vec;

use bytes::Bytes;

use crate::batch::BatchHeader;
<<<<<<< HEAD
use crate::partition::AbortedTxn;
use crate::types::{Decision, Offset, PartitionId, TopicPartition};

/// One batch of a log, without its records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BatchSummary {
    /// Its header.
    pub header: BatchHeader,
    /// For a transaction marker, its decision and coordinator epoch (`batch::parse_marker`).
    pub marker: Option<(Decision, i32)>,
}

/// One log as its files hold it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecoveredLog {
    /// Its identity.
    pub id: PartitionId,
    /// Its name.
    pub topic: TopicPartition,
    /// First offset.
    pub log_start: Offset,
    /// Offset behind the last durable record.
    pub log_end: Offset,
    /// The newest snapshot that is whole, undamaged and not above `log_end`, with its offset.
    pub snapshot: Option<(Offset, Bytes)>,
    /// The batches from the snapshot's offset on, or all without one.
    pub tail: Vec<BatchSummary>,
    /// The entries of the `.txnindex` files, ascending by marker.
    pub aborted: Vec<AbortedTxn>,
    /// The leader epochs with their first offsets.
    pub leader_epochs: Vec<(i32, Offset)>,
=======
use crate::types::{Decision, Offset, PartitionId, ProducerId, TopicPartition};

/// A log as it was found on disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecoveredLog {
    /// The partition's id.
    pub id: PartitionId,
    /// The partition's name.
    pub topic: TopicPartition,
    /// First offset that may be read.
    pub log_start: Offset,
    /// Offset of the next record.
    pub log_end: Offset,
    /// The newest good producer snapshot, and the offset below which it describes the log.
    pub snapshot: Option<(Offset, Bytes)>,
    /// Every batch from the snapshot's offset on (from the log's start when there is none).
    pub tail: Vec<BatchSummary>,
    /// Aborted transactions whose marker lies below the snapshot's offset.
    pub aborted: Vec<AbortedTxn>,
    /// Leader epochs and where they begin, ascending; the tail may add to them.
    pub leader_epochs: Vec<(i32, Offset)>,
}

/// What a partition needs to know of a batch to rebuild its producers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchSummary {
    /// The batch's header.
    pub header: BatchHeader,
    /// For a transaction marker: its decision and the coordinator's epoch.
    pub marker: Option<(Decision, i32)>,
}

/// An aborted transaction, as `.txnindex` holds it (spec 8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AbortedTxn {
    /// Whose transaction.
    pub producer_id: ProducerId,
    /// Offset of its first record.
    pub first_offset: Offset,
    /// Offset of its marker.
    pub last_offset: Offset,
    /// The last stable offset as of the marker.
    pub last_stable_offset: Offset,
>>>>>>> store
}
