//! Time is over: for a silent member, for joining, for asking for an assignment.

use alloc::vec::Vec;

use super::state::Classic;
use super::{MemberId, TimerKey, Turn};
use crate::group::{GroupCoordinator, GroupError, GroupState};
use crate::time::{Now, Timestamp};
use crate::types::partition_for;

impl GroupCoordinator {
    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Timestamp> {
        self.timers.next()
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Now) {
        while let Some((group, key)) = self.timers.pop(now.at) {
            let partition = partition_for(&group, self.config.partitions);
            if let TimerKey::Consumer(alarm, member) = &key {
                self.alarm_over(now, partition, &group, *alarm, member);
                continue;
            }
            self.in_group(now, partition, &group, |classic, turn| match key {
                TimerKey::Session(member) => classic.session_over(turn, &member),
                TimerKey::Join => classic.join_time_over(turn),
                TimerKey::Sync => classic.sync_time_over(turn),
                TimerKey::Consumer(..) => {}
            });
        }
    }
}

impl Classic {
    fn session_over(&mut self, turn: &mut Turn<'_>, id: &MemberId) {
        if self.pending_joins.remove(id).is_some() {
            crate::mark!(GroupPendingMemberExpired);
            return self.complete_if_all_joined(turn);
        }
        let Some(member) = self.members.get_mut(id) else { return };
        member.session_at = None;
        if member.is_gone_at_session_end() {
            crate::mark!(GroupMemberExpired);
            self.remove(turn, id, GroupError::UnknownMember);
            self.rebalance_or_complete(turn);
        }
    }

    /// Members that never asked for their assignment are out.
    fn sync_time_over(&mut self, turn: &mut Turn<'_>) {
        self.sync_at = None;
        let rebalances = matches!(self.state, GroupState::CompletingRebalance | GroupState::Stable);
        if !rebalances || self.pending_syncs.is_empty() {
            return;
        }
        crate::mark!(GroupMembersDidNotSync);
        for id in self.pending_syncs.iter().cloned().collect::<Vec<MemberId>>() {
            self.remove(turn, &id, GroupError::UnknownMember);
        }
        self.prepare(turn);
    }
}
