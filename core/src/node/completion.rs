//! What is waiting for an append to be persisted.

use alloc::vec::Vec;

use bytes::Bytes;

use super::message::MarkerReply;
use crate::group;
use crate::io::RequestId;
use crate::txn;
use crate::types::{Marker, Offset, PartitionId};

/// Runs when its turn is persisted, in the order of the appends; or fails with its turn.
#[derive(Clone, Debug)]
pub(crate) enum Completion {
    /// The high watermark of a partition passes an append. First of every append's completions.
    HighWatermark { partition: PartitionId, last_offset: Offset },
    /// One partition of a Produce is on disk.
    Produce { request: RequestId, part: usize, partition: PartitionId },
    /// A record of the transaction log is on disk: memory may follow.
    TxnLog { append: txn::AppendId, key: Bytes, partition: PartitionId },
    /// Records of the offsets log are on disk: memory may follow.
    GroupLog { append: group::AppendId, base_offset: Offset, partition: PartitionId },
    /// Records of the metadata log are on disk: the image may follow.
    Metadata { records: Vec<Bytes>, base_offset: Offset },
    /// A change of settings or partition counts is on disk; behind its `Metadata`.
    Change { request: RequestId },
    /// A marker is on disk.
    Marker { partition: PartitionId, marker: Marker, reply: MarkerReply },
    /// A new log exists on disk.
    LogCreated { partition: PartitionId },
    /// A log start is on disk that retention set, or a part of a DeleteRecords.
    LogStart { partition: PartitionId, offset: Offset, request: Option<(RequestId, usize)> },
    /// A piece of a log that this member is to lead is on disk.
    Import { partition: PartitionId, epoch: i32 },
}

impl Completion {
    /// The partition that has to be led here for this to come true.
    pub(crate) const fn partition(&self) -> Option<PartitionId> {
        match self {
            Self::HighWatermark { partition, .. }
            | Self::Produce { partition, .. }
            | Self::TxnLog { partition, .. }
            | Self::GroupLog { partition, .. }
            | Self::Marker { partition, .. }
            | Self::LogCreated { partition }
            | Self::LogStart { partition, .. } => Some(*partition),
            Self::Metadata { .. } | Self::Change { .. } | Self::Import { .. } => None,
        }
    }
}

/// Why what waited does not come true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The disk refused it.
    Storage,
    /// This node leads the partition no longer.
    Lost,
}
