//! One error type per culprit, and the only place that maps them to Kafka's error codes.
//!
//! Each machine has its own error enum beside it; this module turns each of them into the code
//! that Apache Kafka 4.4.0 answers for it.

pub use kacrab_protocol::generated::ErrorCode;

// txn
impl From<crate::txn::TxnError> for ErrorCode {
    fn from(error: crate::txn::TxnError) -> Self {
        use crate::txn::TxnError;
        match error {
            TxnError::InvalidRequest => Self::InvalidRequest,
            TxnError::LoadInProgress | TxnError::ProducerIdsNotAvailable => {
                Self::CoordinatorLoadInProgress
            }
            TxnError::NotCoordinator => Self::NotCoordinator,
            TxnError::NotAvailable => Self::CoordinatorNotAvailable,
            TxnError::InvalidProducerIdMapping => Self::InvalidProducerIdMapping,
            TxnError::ProducerFenced => Self::ProducerFenced,
            TxnError::ConcurrentTransactions => Self::ConcurrentTransactions,
            TxnError::InvalidTxnState => Self::InvalidTxnState,
            TxnError::InvalidTransactionTimeout => Self::InvalidTransactionTimeout,
            TxnError::TwoPhaseCommitDisabled => Self::TransactionalIdAuthorizationFailed,
            TxnError::KeepPreparedUnsupported | TxnError::VersionNotEnabled => {
                Self::UnsupportedVersion
            }
            TxnError::TransactionAbortable => Self::TransactionAbortable,
            TxnError::TransactionalIdNotFound => Self::TransactionalIdNotFound,
            TxnError::InvalidRegularExpression => Self::InvalidRegularExpression,
            TxnError::Unknown => Self::UnknownServerError,
        }
    }
}
