//! One error type per culprit, and the only place that maps them to Kafka's error codes.
//!
//! Each machine has its own error enum beside it; this module turns each of them into the code
//! that Apache Kafka 4.4.0 answers for it.

pub use kacrab_protocol::generated::ErrorCode;

// group
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
            MetaError::InvalidPartitions => Self::InvalidPartitions,
            MetaError::TooManyPartitions => Self::PolicyViolation,
            MetaError::InvalidReplicationFactor => Self::InvalidReplicationFactor,
            MetaError::InvalidAssignment(_) => Self::InvalidReplicaAssignment,
            MetaError::InvalidConfig { .. } => Self::InvalidConfig,
            MetaError::ProducerIdsExhausted | MetaError::Damaged(_) => Self::UnknownServerError,
        }
    }
}
