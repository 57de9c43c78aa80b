//! Why the group coordinator refuses something; `crate::error` maps it to Kafka's codes.

use crate::error::ErrorCode;

/// Why the coordinator refuses a request or one of its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum GroupError {
    /// The group's partition of `__consumer_offsets` is still being read.
    #[error("the offsets of the group are still being loaded")]
    Loading,
    /// The group's partition of `__consumer_offsets` is not this node's.
    #[error("this node does not coordinate the group")]
    NotCoordinator,
    /// The group is being deleted.
    #[error("the group is being deleted")]
    Dead,
    /// The group id is empty where it may not be, or too long to be kept.
    #[error("the group id is not valid")]
    InvalidGroupId,
    /// A generation was named and there is no such group (older clients).
    #[error("there is no such group, so the generation cannot be right")]
    IllegalGeneration,
    /// There is no such group.
    #[error("there is no such group")]
    GroupIdNotFound,
    /// The member is not in the group.
    #[error("the group has no such member")]
    UnknownMember,
    /// The group has members, or offsets of open transactions.
    #[error("the group is not empty")]
    NonEmptyGroup,
    /// A session timeout beyond `group.min.session.timeout.ms` and `group.max.session.timeout.ms`.
    #[error("the session timeout is not within the allowed range")]
    InvalidSessionTimeout,
    /// The member's protocols do not go with the group's.
    #[error("the member supports no protocol that all others do")]
    InconsistentProtocol,
    /// The member is to join again with the id it was given.
    #[error("the member is to join with the id it was given")]
    MemberIdRequired,
    /// Another member has taken over the instance id.
    #[error("the instance id belongs to another member")]
    FencedInstance,
    /// The members are to join again.
    #[error("the group is rebalancing")]
    RebalanceInProgress,
    /// `group.max.size` is reached.
    #[error("the group is full")]
    MaxSizeReached,
    /// A member subscribes to the topic.
    #[error("the group is subscribed to the topic")]
    SubscribedToTopic,
    /// A name in the request is longer than what can be kept.
    #[error("a name in the request is too long")]
    InvalidRequest,
    /// The member is in another epoch than it says.
    #[error("the member is in another epoch; it is to join again")]
    FencedMemberEpoch,
    /// The member has moved on from the epoch it commits in.
    #[error("the member's epoch is not the one it is in")]
    StaleMemberEpoch,
    /// The instance id belongs to a member that has not left.
    #[error("the instance id is still used by another member")]
    UnreleasedInstance,
    /// There is no such assignor; those there are.
    #[error("the assignor is not supported; supported are {0}")]
    UnsupportedAssignor(&'static str),
    /// The regular expression is none, or asks for too much.
    #[error("the regular expression is not valid")]
    InvalidRegularExpression,
    /// The request's version does not know what its member is.
    #[error("members of a consumer group use version 9 or above")]
    UnsupportedVersion,
    /// The metadata beside the offset is longer than `offset.metadata.max.bytes`.
    #[error("the metadata beside the offset is too long")]
    MetadataTooLarge,
    /// The log refused the batch, or the transaction's verification did; with the code it gave,
    /// which clients see translated.
    #[error("the offsets could not be written: {0:?}")]
    Log(ErrorCode),
}

impl From<crate::pattern::InvalidPattern> for GroupError {
    fn from(_: crate::pattern::InvalidPattern) -> Self {
        Self::InvalidRegularExpression
    }
}
