//! One error type per culprit, and the only place that maps them to Kafka's error codes.
//!
//! Each machine has its own error enum beside it; this module turns each of them into the code
//! that Apache Kafka 4.4.0 answers for it.

pub use kacrab_protocol::generated::ErrorCode;

// ---- batch (spec 2.1) ----

impl From<&crate::batch::BatchFault> for ErrorCode {
    fn from(fault: &crate::batch::BatchFault) -> Self {
        use crate::batch::FaultReason as Reason;
        match fault.reason {
            Reason::BadLength(_)
            | Reason::UnknownMagic(_)
            | Reason::DamagedSecond
            | Reason::TooShort(_)
            | Reason::Crc => Self::CorruptMessage,
            // Kafka meets these as exceptions that no rule foresaw and answers
            // UNKNOWN_SERVER_ERROR; what a client sent is the client's error (decision 0005).
            Reason::LengthOverflow(_) => Self::CorruptMessage,
            Reason::UnknownCodec(_) | Reason::ZstdTooOld => Self::UnsupportedCompressionType,
            Reason::Undecodable => Self::InvalidRecord,
            _ => Self::InvalidRecord,
        }
    }
}

// ---- partition (spec 2.1, 2.2, 6.4, 8.3) ----

impl From<&crate::partition::AppendError> for ErrorCode {
    fn from(error: &crate::partition::AppendError) -> Self {
        use crate::partition::AppendError as Error;
        match error {
            Error::MessageTooLarge { .. } => Self::MessageTooLarge,
            Error::RecordListTooLarge { .. } => Self::RecordListTooLarge,
            Error::InvalidRecords { timestamp: true, .. } => Self::InvalidTimestamp,
            Error::InvalidRecords { timestamp: false, .. } | Error::ControlBatch => {
                Self::InvalidRecord
            }
            Error::InvalidProducerEpoch { .. } => Self::InvalidProducerEpoch,
            Error::OutOfOrderSequence { .. } => Self::OutOfOrderSequenceNumber,
            Error::NotVerified { .. } | Error::NotTransactional { .. } => Self::InvalidTxnState,
            Error::CoordinatorFenced { .. } => Self::TransactionCoordinatorFenced,
            Error::Recompression => Self::CorruptMessage,
            Error::OffsetsExhausted => Self::KafkaStorageError,
            // As Kafka, whose marker cannot be built then.
            Error::MarkerOfNobody { .. } => Self::UnknownServerError,
        }
    }
}

// ---- txn ----

impl From<&crate::txn::TxnError> for ErrorCode {
    fn from(error: &crate::txn::TxnError) -> Self {
        (*error).into()
    }
}

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
            TxnError::VersionNotEnabled => Self::UnsupportedVersion,
            TxnError::TransactionAbortable => Self::TransactionAbortable,
            TxnError::TransactionalIdNotFound => Self::TransactionalIdNotFound,
            TxnError::InvalidRegularExpression => Self::InvalidRegularExpression,
            TxnError::Unknown => Self::UnknownServerError,
        }
    }
}

// ---- group and meta ----

impl From<&crate::group::GroupError> for ErrorCode {
    fn from(error: &crate::group::GroupError) -> Self {
        use crate::group::GroupError;
        match error {
            GroupError::Loading => Self::CoordinatorLoadInProgress,
            GroupError::NotCoordinator => Self::NotCoordinator,
            GroupError::Dead => Self::CoordinatorNotAvailable,
            GroupError::InvalidGroupId => Self::InvalidGroupId,
            GroupError::IllegalGeneration => Self::IllegalGeneration,
            GroupError::GroupIdNotFound => Self::GroupIdNotFound,
            GroupError::UnknownMember => Self::UnknownMemberId,
            GroupError::NonEmptyGroup => Self::NonEmptyGroup,
            GroupError::InvalidSessionTimeout => Self::InvalidSessionTimeout,
            GroupError::InconsistentProtocol => Self::InconsistentGroupProtocol,
            GroupError::MemberIdRequired => Self::MemberIdRequired,
            GroupError::FencedInstance => Self::FencedInstanceId,
            GroupError::RebalanceInProgress => Self::RebalanceInProgress,
            GroupError::MaxSizeReached => Self::GroupMaxSizeReached,
            GroupError::SubscribedToTopic => Self::GroupSubscribedToTopic,
            GroupError::InvalidRequest => Self::InvalidRequest,
            GroupError::FencedMemberEpoch => Self::FencedMemberEpoch,
            GroupError::StaleMemberEpoch => Self::StaleMemberEpoch,
            GroupError::UnreleasedInstance => Self::UnreleasedInstanceId,
            GroupError::UnsupportedAssignor(_) => Self::UnsupportedAssignor,
            GroupError::InvalidRegularExpression => Self::InvalidRegularExpression,
            GroupError::UnsupportedVersion => Self::UnsupportedVersion,
            GroupError::MetadataTooLarge => Self::OffsetMetadataTooLarge,
            GroupError::Log(code) => offsets_write_code(*code),
        }
    }
}

/// What a client of the group coordinator sees of a failed verification or append (spec 4.5,
/// Kafka's `CoordinatorOperationExceptionHelper`).
fn offsets_write_code(code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::NetworkException => ErrorCode::CoordinatorLoadInProgress,
        ErrorCode::UnknownTopicOrPartition
        | ErrorCode::NotEnoughReplicas
        | ErrorCode::RequestTimedOut => ErrorCode::CoordinatorNotAvailable,
        ErrorCode::NotLeaderOrFollower | ErrorCode::KafkaStorageError => ErrorCode::NotCoordinator,
        ErrorCode::MessageTooLarge
        | ErrorCode::RecordListTooLarge
        | ErrorCode::InvalidFetchSize => ErrorCode::UnknownServerError,
        other => other,
    }
}

// meta
impl From<&crate::meta::MetaError> for ErrorCode {
    fn from(error: &crate::meta::MetaError) -> Self {
        use crate::meta::MetaError;
        match error {
            MetaError::InvalidName(_) | MetaError::NameCollision(_) => Self::InvalidTopicException,
            MetaError::TopicExists => Self::TopicAlreadyExists,
            MetaError::DuplicateInRequest
            | MetaError::Internal
            | MetaError::AssignmentWithCounts => Self::InvalidRequest,
            MetaError::UnknownTopic => Self::UnknownTopicOrPartition,
            MetaError::UnknownTopicId => Self::UnknownTopicId,
            MetaError::InvalidPartitions | MetaError::PartitionCount(_) => Self::InvalidPartitions,
            MetaError::TooManyPartitions => Self::PolicyViolation,
            MetaError::InvalidReplicationFactor => Self::InvalidReplicationFactor,
            MetaError::InvalidAssignment(_) | MetaError::PartitionAssignment(_) => {
                Self::InvalidReplicaAssignment
            }
            MetaError::InvalidConfig { .. } | MetaError::Config(_) => Self::InvalidConfig,
            MetaError::ProducerIdsExhausted | MetaError::Damaged(_) => Self::UnknownServerError,
        }
    }
}
