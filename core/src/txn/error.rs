//! Why the transaction coordinator refuses, and what the log answered it.

/// Why a request to the coordinator was refused. [`crate::error`] turns it into a Kafka code.
///
/// Older request versions know fewer codes; the API layer translates the final answer:
/// [`ProducerFenced`](Self::ProducerFenced) becomes INVALID_PRODUCER_EPOCH for InitProducerId
/// before v4 and for AddPartitionsToTxn, AddOffsetsToTxn and EndTxn before v2 (spec 3.1, 4.2-4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TxnError {
    /// A missing or empty transactional id, or half of a producer identity.
    #[error("the request is malformed")]
    InvalidRequest,
    /// The id's partition is still being read.
    #[error("the coordinator is loading")]
    LoadInProgress,
    /// The id's partition is not led here, or no longer, or its log has failed.
    #[error("this is not the coordinator of the transactional id")]
    NotCoordinator,
    /// The transaction log did not take the record; a later attempt may work.
    #[error("the transaction log cannot be written at the moment")]
    NotAvailable,
    /// No block of producer ids is at hand yet.
    #[error("no producer id is at hand yet")]
    ProducerIdsNotAvailable,
    /// The id is unknown (never used, or expired) or belongs to another producer id.
    #[error("the producer id does not belong to the transactional id")]
    InvalidProducerIdMapping,
    /// A newer producer, or the coordinator itself, has taken over.
    #[error("the producer is fenced")]
    ProducerFenced,
    /// A transition is under way; the same request later will be decided.
    #[error("another transition of the transactional id is under way")]
    ConcurrentTransactions,
    /// The request does not fit the transaction's state.
    #[error("the request does not fit the state of the transaction")]
    InvalidTxnState,
    /// The timeout is not within 1 ms and `transaction.max.timeout.ms`.
    #[error("the transaction timeout is out of bounds")]
    InvalidTransactionTimeout,
    /// `transaction.two.phase.commit.enable` is off.
    #[error("two-phase commit is not enabled")]
    TwoPhaseCommitDisabled,
    /// A TV2 request, or `keep_prepared_txn`, on a cluster whose transaction.version is below 2
    /// (report P30).
    #[error("the cluster's transaction.version is below 2")]
    VersionNotEnabled,
    /// Verification: the partition is not part of the transaction; it must be aborted.
    #[error("the partition is not part of the transaction")]
    TransactionAbortable,
    /// DescribeTransactions of an id that is not known.
    #[error("there is no such transactional id")]
    TransactionalIdNotFound,
    /// The pattern of ListTransactions is not a regular expression, or too big a one.
    #[error("the pattern is not a regular expression")]
    InvalidRegularExpression,
    /// A case that Kafka answers with an internal error.
    #[error("internal error of the coordinator")]
    Unknown,
}

/// Why an append to `__transaction_state` failed (spec 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum LogAppendError {
    /// The storage failed; nothing of the batch is in the log.
    #[error("the storage failed")]
    Storage,
    /// The partition is not led here any more.
    #[error("the partition is not led here")]
    NotLeader,
    /// The batch does not fit the topic's limits.
    #[error("the batch is too large")]
    TooLarge,
    /// Unknown partition, too few replicas, or a timeout: worth another attempt.
    #[error("the partition is not available at the moment")]
    NotAvailable,
}

impl From<LogAppendError> for TxnError {
    fn from(error: LogAppendError) -> Self {
        match error {
            LogAppendError::NotAvailable => Self::NotAvailable,
            LogAppendError::NotLeader | LogAppendError::Storage => Self::NotCoordinator,
            LogAppendError::TooLarge => Self::Unknown,
        }
    }
}

impl From<crate::pattern::InvalidPattern> for TxnError {
    fn from(_: crate::pattern::InvalidPattern) -> Self {
        Self::InvalidRegularExpression
    }
}
