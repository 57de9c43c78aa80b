//! What members ask, what they are answered, and which requests are none.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::assign;
use super::member::{LEFT, LEFT_TO_RETURN, Partitions};
use crate::codec::STRING_BYTES_MAX;
use crate::group::{GroupError, GroupId, MemberId};
use crate::types::{TopicId, TopicName};

/// ConsumerGroupHeartbeat. What is `None` has not changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsumerHeartbeat {
    /// The request's version: from 1 on members bring their own id.
    pub version: i16,
    /// The group.
    pub group: GroupId,
    /// The member; "" only in version 0, of one that has no id yet.
    pub member: MemberId,
    /// The member's epoch; 0 to join, -1 to leave, -2 for a static member that will be back.
    pub epoch: i32,
    /// The instance id of a static member.
    pub instance: Option<Arc<str>>,
    /// Where it is.
    pub rack: Option<Arc<str>>,
    /// How long it may take to let go of partitions, in ms; -1 for unchanged.
    pub rebalance_timeout_ms: i32,
    /// The topics it wants.
    pub topics: Option<Vec<TopicName>>,
    /// A regular expression for those it wants, too; "" for none.
    pub regex: Option<Arc<str>>,
    /// The assignor it prefers.
    pub assignor: Option<Arc<str>>,
    /// The partitions it has.
    pub owned: Option<Vec<(TopicId, Vec<i32>)>>,
    /// The client's name for itself.
    pub client_id: Arc<str>,
    /// Where it is connected from, as Kafka writes it.
    pub client_host: Arc<str>,
}

/// The answer to a [`ConsumerHeartbeat`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsumerBeat {
    /// Who it is.
    pub member: MemberId,
    /// Its epoch.
    pub epoch: i32,
    /// How often it is to say that it is there, in ms.
    pub interval_ms: i32,
    /// What it may use, when that has changed.
    pub assignment: Option<Partitions>,
}

impl ConsumerHeartbeat {
    pub(super) const fn joins(&self) -> bool {
        self.epoch == 0
    }

    /// Whether everything is said anew: then everything is answered.
    pub(super) const fn is_full(&self) -> bool {
        self.rebalance_timeout_ms != -1
            && (self.topics.is_some() || self.regex.is_some())
            && self.owned.is_some()
    }

    /// What can be said of the request alone.
    pub(super) fn check(&self) -> Result<(), GroupError> {
        let is_blank = |text: &str| text.trim().is_empty();
        let needs_id = self.version >= 1 || self.epoch > 0 || self.epoch == LEFT;
        let texts = [&self.instance, &self.rack];
        if (needs_id && is_blank(&self.member))
            || is_blank(&self.group)
            || texts.into_iter().flatten().any(|text| is_blank(text))
        {
            return Err(GroupError::InvalidRequest);
        }
        let joins_wrongly = self.rebalance_timeout_ms == -1
            || self.owned.as_ref().is_none_or(|owned| !owned.is_empty())
            || (self.topics.is_none() && self.regex.is_none());
        let is_wrong = match self.epoch {
            0 => joins_wrongly,
            LEFT_TO_RETURN => self.instance.is_none(),
            epoch => epoch < LEFT_TO_RETURN,
        };
        // Keys of records: what is longer could not be kept.
        let keys = [Some(&self.group), Some(&self.member), self.regex.as_ref()];
        let is_long = |key: &&Arc<str>| key.len() > STRING_BYTES_MAX;
        if is_wrong || keys.into_iter().flatten().any(|key| is_long(&key)) {
            return Err(GroupError::InvalidRequest);
        }
        if self.assignor.as_deref().is_some_and(|name| !assign::is_supported(name)) {
            return Err(GroupError::UnsupportedAssignor(assign::SUPPORTED));
        }
        Ok(())
    }
}
