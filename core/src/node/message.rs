//! What the machines say to each other.
//!
//! Each message is a turn of its own, so that a crash fits between any two; between nodes the
//! same conversations are Kafka's inter-broker requests (AddPartitionsToTxn v4+,
//! WriteTxnMarkers).

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::ErrorCode;
use crate::io::RequestId;
use crate::txn::{MarkerToken, VerifyId};
use crate::types::{Marker, ProducerEpoch, ProducerId, TopicPartition};

/// Whom the result of a marker goes to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MarkerReply {
    /// The transaction coordinator of this node.
    Coordinator(MarkerToken),
    /// A WriteTxnMarkers request: its marker's place in it, and the partition.
    Request { id: RequestId, marker: usize, to: TopicPartition },
}

/// A message between machines.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// Leader to coordinator: are these partitions in the transaction, or: add them (KIP-890).
    Verify {
        verify: VerifyId,
        transactional_id: String,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        partitions: Vec<TopicPartition>,
        /// Add them (transaction version 2) instead of only looking.
        add: bool,
    },
    /// Coordinator to leader: the answer.
    /// `whole` is an error that all of the partitions asked about share.
    Verified { verify: VerifyId, whole: ErrorCode, results: Vec<(TopicPartition, ErrorCode)> },
    /// Coordinator, or an admin client, to leader: end the transaction in this partition.
    WriteMarker { to: TopicPartition, marker: Marker, reply: MarkerReply },
    /// Leader to coordinator: how that went.
    MarkerWritten { reply: MarkerReply, result: Result<(), ErrorCode> },
}
