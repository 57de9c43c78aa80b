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
    Produce { request: RequestId, part: usize },
    /// A record of the transaction log is on disk: memory may follow.
    TxnLog { append: txn::AppendId, key: Bytes },
    /// Records of the offsets log are on disk: memory may follow.
    GroupLog { append: group::AppendId, base_offset: Offset },
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
}
