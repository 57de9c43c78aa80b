//! The server side assignors of KIP-848: who is to have which partitions.
//!
//! # Rules
//! * Every partition of a topic that somebody subscribes to goes to exactly one of its subscribers.
//! * The same members, topics and former targets give the same assignment: members and topics are
//!   taken by id (Kafka's order is that of hash maps).

mod range;
#[cfg(test)]
mod tests;
mod uniform;
mod uniform_mixed;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use super::member::Partitions;
use crate::group::MemberId;
use crate::types::TopicId;

/// The assignor of a group whose members name none.
pub(super) const DEFAULT: &str = UNIFORM;
/// Everybody gets equally many partitions, and keeps what it has (`uniform`).
const UNIFORM: &str = "uniform";
/// Of each topic everybody gets a range (`range`).
const RANGE: &str = "range";

/// Whether there is an assignor of this name.
pub(super) fn is_supported(name: &str) -> bool {
    matches!(name, UNIFORM | RANGE)
}

/// The assignors there are, as an error message lists them.
pub(super) const SUPPORTED: &str = "uniform, range";

/// A member, as an assignor sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct Subscriber {
    pub(super) instance: Option<Arc<str>>,
    /// Topics that are there, only.
    pub(super) topics: BTreeSet<TopicId>,
    /// Its former target.
    pub(super) target: Partitions,
}

/// What is to be assigned, and to whom.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) members: BTreeMap<MemberId, Subscriber>,
    /// How many partitions each subscribed topic has.
    pub(super) partitions: BTreeMap<TopicId, i32>,
}

impl Group {
    fn partitions_of(&self, topic: TopicId) -> i32 {
        self.partitions.get(&topic).copied().unwrap_or(0).max(0)
    }

    /// Whether everybody subscribes to the same topics.
    fn is_homogeneous(&self) -> bool {
        let mut topics = self.members.values().map(|member| &member.topics);
        let first = topics.next();
        topics.all(|other| Some(other) == first)
    }
}

/// The new targets, one for each member. Assignors other than those supported are the default.
pub(super) fn assign(assignor: &str, group: &Group) -> BTreeMap<MemberId, Partitions> {
    match assignor {
        RANGE => range::assign(group),
        _ if group.is_homogeneous() => uniform::assign(group),
        _ => uniform_mixed::assign(group),
    }
}
