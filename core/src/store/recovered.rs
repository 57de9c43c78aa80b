//! What recovery found of one log: enough to rebuild its partition's state.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::batch::{BatchHeader, StoredBatch};
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

/// What is kept of a batch that is at hand.
#[must_use]
pub fn summary_of(batch: &StoredBatch) -> BatchSummary {
    super::recover_log::summary(&batch.clone().into())
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
}
