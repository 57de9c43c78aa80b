//! Classic groups: members that join, are given an assignment by their leader, and heartbeat
//! (spec 14.1, Kafka's `ClassicGroup` and the classic part of its `GroupMetadataManager`).
//!
//! # Rules
//! * Who is a member, and the rebalance under way, is soft state, as in Kafka: a coordinator that
//!   starts again knows what was persisted with the last assignment, and restarts the sessions.
//! * An assignment is given out when its record is persisted, never before.
//! * Every waiting Join and Sync is answered: with the generation, by whatever takes its member
//!   out of the group, or by a second one of the same member (Apache Kafka drops the first).
//! * Timers cost what is due. Each has one deadline at a time, kept where it belongs: a member's
//!   session with the member, those of joining and syncing with the group.

mod describe;
mod expiry;
mod heartbeat;
mod join;
mod leave;
mod load;
mod member;
mod rebalance;
mod reply;
mod requests;
mod state;
mod sync;
#[cfg(test)]
mod tests;
mod timers;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

pub use self::describe::{DescribedGroup, DescribedMember, ListedGroup};
pub(super) use self::join::Replacing;
pub use self::leave::LeavingMember;
pub(in crate::group) use self::member::Member as ClassicMember;
pub use self::member::Protocol;
pub use self::reply::{JoinReply, JoinedMember, LeaveReply, Synced};
pub use self::requests::{Heartbeat, JoinGroup, SyncGroup};
pub(super) use self::state::Classic;
pub(super) use self::sync::Assignment;
pub(super) use self::timers::{TimerKey, Timers};

use super::metadata_record::GroupMetadata;
use super::records::GroupKey;
use super::{
    Entry, GroupConfig, GroupCoordinator, GroupEffect, GroupError, GroupId, GroupReply, InFlight,
    Phase, Purpose, Value,
};
use crate::io::RequestId;
use crate::time::{Now, Timestamp};

/// A member's id: `<client id>-<uuid>`, or `<instance id>-<uuid>` of a static member.
pub type MemberId = Arc<str>;

/// How long a new member's Join may wait: it cannot heartbeat yet, so its session cannot tell
/// that it is gone (Kafka's `classicGroupNewMemberJoinTimeoutMs`).
const NEW_MEMBER_JOIN_TIMEOUT_MS: i32 = 5 * 60 * 1000;

/// What one call on a group may touch beside the group.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) now: Now,
    pub(super) group: &'a GroupId,
    pub(super) config: &'a GroupConfig,
    timers: &'a mut Timers,
    effects: &'a mut VecDeque<GroupEffect>,
    writes: Vec<(GroupMetadata, Purpose)>,
}

impl Turn<'_> {
    fn reply_join(&mut self, to: RequestId, reply: JoinReply) {
        let reply = GroupReply::Join(Box::new(reply));
        self.effects.push_back(GroupEffect::Reply { to, reply });
    }

    fn refuse_join(&mut self, to: RequestId, member: &MemberId, error: GroupError) {
        self.reply_join(to, JoinReply::refused(member.clone(), error));
    }

    fn reply_sync(&mut self, to: RequestId, result: Result<Synced, GroupError>) {
        self.effects.push_back(GroupEffect::Reply { to, reply: GroupReply::Sync(result) });
    }

    fn reply(&mut self, to: RequestId, reply: GroupReply) {
        self.effects.push_back(GroupEffect::Reply { to, reply });
    }

    /// Has the group's record written; `purpose` goes on when it is persisted or has failed.
    fn write(&mut self, record: GroupMetadata, purpose: Purpose) {
        self.writes.push((record, purpose));
    }

    /// Sets a timer to `ms` from now, or takes it away; `slot` holds its deadline.
    fn set_timer(&mut self, slot: &mut Option<Timestamp>, key: TimerKey, ms: Option<i32>) {
        if let Some(at) = slot.take() {
            self.timers.cancel(at, self.group, key.clone());
        }
        if let Some(ms) = ms {
            let at = self.now.at.after_ms(u64::try_from(ms).unwrap_or(0));
            self.timers.set(at, self.group, key);
            *slot = Some(at);
        }
    }
}

impl GroupCoordinator {
    /// Where a request about a group's members goes.
    ///
    /// # Errors
    /// The checks before any of the group's: its id, where its partition is, its deletion.
    pub(super) fn members_partition(&self, group: &str) -> Result<i32, GroupError> {
        if group.is_empty() {
            return Err(GroupError::InvalidGroupId);
        }
        let partition = self.coordinator_for(group)?;
        if self.dying.contains(group) {
            return Err(GroupError::Dead);
        }
        Ok(partition)
    }

    /// Runs `work` on a group that exists, then writes what it wants written.
    pub(super) fn in_group<R>(
        &mut self,
        now: Now,
        partition: i32,
        group: &GroupId,
        work: impl FnOnce(&mut Classic, &mut Turn<'_>) -> R,
    ) -> Option<R> {
        let Some(Phase::Active(shard)) = self.shards.get_mut(&partition) else { return None };
        let found = shard.group_mut(group)?;
        let mut turn = Turn {
            now,
            group,
            config: &self.config,
            timers: &mut self.timers,
            effects: &mut self.effects,
            writes: Vec::new(),
        };
        let result = work(&mut found.classic, &mut turn);
        for (record, purpose) in turn.writes {
            let value = Some(Value::Group(Box::new(record)));
            let entries = vec![Entry { key: GroupKey::Classic(group.clone()), value }];
            self.append(now, InFlight { partition, txn: None, entries, purpose });
        }
        Some(result)
    }
}
