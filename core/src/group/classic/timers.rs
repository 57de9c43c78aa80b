//! All deadlines of all groups, ordered by time.

use alloc::collections::BTreeSet;

use super::MemberId;
use crate::group::GroupId;
use crate::group::consumer::Alarm;
use crate::time::Timestamp;

/// What is to happen at a deadline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::group) enum TimerKey {
    /// A member, or one that was only given an id, was silent for its session.
    Session(MemberId),
    /// The members had their time to join.
    Join,
    /// The members had their time to ask for their assignment.
    Sync,
    /// Of a member of a consumer group.
    Consumer(Alarm, MemberId),
}

/// The deadlines. Taking and changing one costs the logarithm of how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::group) struct Timers {
    due: BTreeSet<(Timestamp, GroupId, TimerKey)>,
}

impl Timers {
    pub(in crate::group) const fn new() -> Self {
        Self { due: BTreeSet::new() }
    }

    pub(in crate::group) fn set(&mut self, at: Timestamp, group: &GroupId, key: TimerKey) {
        self.due.insert((at, group.clone(), key));
    }

    pub(in crate::group) fn cancel(&mut self, at: Timestamp, group: &GroupId, key: TimerKey) {
        self.due.remove(&(at, group.clone(), key));
    }

    pub(in crate::group) fn next(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, ..)| *at)
    }

    /// Takes one that is due.
    pub(in crate::group) fn pop(&mut self, now: Timestamp) -> Option<(GroupId, TimerKey)> {
        if self.next()? > now {
            return None;
        }
        self.due.pop_first().map(|(_, group, key)| (group, key))
    }
}
