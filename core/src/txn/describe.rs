//! DescribeTransactions (spec 8.6).

use alloc::vec::Vec;

use super::{TxnCoordinator, TxnError, TxnState};
use crate::types::{ProducerEpoch, ProducerId, TopicPartition};

/// What is in force for a transactional id, whatever is pending.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TxnDescription {
    /// The state.
    pub state: TxnState,
    /// The producer id.
    pub producer_id: ProducerId,
    /// The producer epoch.
    pub producer_epoch: ProducerEpoch,
    /// The transaction timeout in milliseconds.
    pub timeout_ms: i32,
    /// Wall clock of the last transaction's start; -1 for none.
    pub start_ms: i64,
    /// The transaction's partitions; while markers are written, those that still wait.
    pub partitions: Vec<TopicPartition>,
}

impl TxnCoordinator {
    /// Describes a transactional id.
    ///
    /// # Errors
    ///
    /// The rows of spec 8.6: an empty id, a partition that is loading or not led here, an id that
    /// is not known.
    pub fn describe(&self, transactional_id: &str) -> Result<TxnDescription, TxnError> {
        if transactional_id.is_empty() {
            return Err(TxnError::InvalidRequest);
        }
        let (_, shard) = self.owned(transactional_id)?;
        let entry = shard.get(transactional_id).ok_or(TxnError::TransactionalIdNotFound)?;
        let metadata = &entry.metadata;
        Ok(TxnDescription {
            state: metadata.state,
            producer_id: metadata.producer_id,
            producer_epoch: metadata.producer_epoch,
            timeout_ms: metadata.timeout_ms,
            start_ms: metadata.start_ms,
            partitions: metadata.partitions.iter().cloned().collect(),
        })
    }
}
