//! From one generation to the next (`prepareRebalance`, `completeClassicGroupJoin`).

use alloc::vec::Vec;

use bytes::Bytes;

use super::join::JoinWait;
use super::state::Classic;
use super::{MemberId, TimerKey, Turn};
use crate::group::{GroupError, GroupState, Purpose};

impl Classic {
    /// Something has changed that the next generation is to know of.
    pub(super) fn rebalance_or_complete(&mut self, turn: &mut Turn<'_>) {
        if self.state == GroupState::PreparingRebalance {
            self.complete_if_all_joined(turn);
        } else {
            self.prepare(turn);
        }
    }

    /// Begins a rebalance: the members are to join again. An empty group's first members are
    /// waited for.
    pub(in crate::group) fn prepare(&mut self, turn: &mut Turn<'_>) {
        if self.state == GroupState::CompletingRebalance {
            self.fail_assignment(turn, GroupError::RebalanceInProgress);
        }
        self.set_sync_timer(turn, None);
        self.is_first_rebalance = self.state == GroupState::Empty;
        self.transition(turn, GroupState::PreparingRebalance);
        let timeout_ms = self.rebalance_timeout_ms();
        if self.is_first_rebalance {
            let delay_ms = turn.config.initial_rebalance_delay_ms.max(0);
            let left_ms = timeout_ms.saturating_sub(delay_ms).max(0);
            self.set_join_timer(turn, Some((delay_ms, JoinWait::First { delay_ms, left_ms })));
        } else if self.all_joined() {
            self.complete_join(turn);
        } else {
            self.set_join_timer(turn, Some((timeout_ms, JoinWait::Members)));
        }
    }

    /// Ends the joining when everybody is there, except in a first rebalance, which has its time.
    pub(super) fn complete_if_all_joined(&mut self, turn: &mut Turn<'_>) {
        let waits_for_members =
            self.state == GroupState::PreparingRebalance && !self.is_first_rebalance;
        if waits_for_members && self.all_joined() {
            self.complete_join(turn);
        }
    }

    fn all_joined(&self) -> bool {
        self.members.len() == self.joins_waiting && self.pending_joins.is_empty()
    }

    /// The time for joining is over. A first rebalance goes on while members keep coming, for no
    /// longer than the rebalance timeout.
    pub(super) fn join_time_over(&mut self, turn: &mut Turn<'_>) {
        self.join_at = None;
        match self.join_wait {
            JoinWait::First { delay_ms, left_ms } if self.new_member_added && left_ms != 0 => {
                crate::mark!(GroupFirstRebalanceExtended);
                self.new_member_added = false;
                let next_ms = turn.config.initial_rebalance_delay_ms.max(0).min(left_ms);
                let left_ms = left_ms.saturating_sub(delay_ms).max(0);
                let wait = JoinWait::First { delay_ms: next_ms, left_ms };
                self.set_join_timer(turn, Some((next_ms, wait)));
            }
            JoinWait::First { .. } | JoinWait::Members => self.complete_join(turn),
        }
    }

    /// Ends the joining: who has not come is out, unless it is static; the generation begins.
    pub(super) fn complete_join(&mut self, turn: &mut Turn<'_>) {
        self.set_join_timer(turn, None);
        let absent = self.members.iter().filter(|(_, one)| one.join.is_none());
        let absent = absent.filter(|(_, one)| one.instance.is_none());
        for id in absent.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            crate::mark!(GroupMemberDidNotRejoin);
            self.remove(turn, &id, GroupError::UnknownMember);
        }
        if !self.elect_leader() && !self.members.is_empty() {
            // Only static members are left and none has come: their sessions will tell.
            crate::mark!(GroupNobodyRejoined);
            let timeout_ms = self.rebalance_timeout_ms();
            return self.set_join_timer(turn, Some((timeout_ms, JoinWait::Members)));
        }
        self.generation = self.generation.checked_add(1).unwrap_or(1);
        self.pending_syncs.clear();
        self.new_member_added = false;
        if self.members.is_empty() {
            return self.emptied(turn);
        }
        self.protocol = self.select_protocol();
        self.read_subscriptions();
        self.transition(turn, GroupState::CompletingRebalance);
        for id in self.members.keys().cloned().collect::<Vec<MemberId>>() {
            self.answer_join(turn, &id);
        }
        let timeout_ms = self.rebalance_timeout_ms();
        self.set_sync_timer(turn, Some(timeout_ms));
    }

    fn emptied(&mut self, turn: &mut Turn<'_>) {
        self.protocol = None;
        self.read_subscriptions();
        self.transition(turn, GroupState::Empty);
        let record = self.record(|_, _| Bytes::new());
        turn.write(record, Purpose::Emptied { leaving: None });
    }

    fn answer_join(&mut self, turn: &mut Turn<'_>, id: &MemberId) {
        let waiting = self.members.get_mut(id).and_then(|member| {
            member.is_new = false;
            member.join.take()
        });
        if let Some(to) = waiting {
            self.joins_waiting -= 1;
            let reply = self.joined(id);
            turn.reply_join(to, reply);
        }
        self.refresh_session(turn, id);
        self.pending_syncs.insert(id.clone());
    }

    /// The leader stays while it has come; else it is one of those that have.
    fn elect_leader(&mut self) -> bool {
        let Some(leader) = &self.leader else { return false };
        let has_come = |id: &MemberId| self.members.get(id).is_some_and(|one| one.join.is_some());
        if has_come(leader) {
            return true;
        }
        let next = self.members.keys().find(|id| has_come(id)).cloned();
        if let Some(next) = next {
            crate::mark!(GroupLeaderReplaced);
            self.leader = Some(next);
            return true;
        }
        false
    }

    /// There is no assignment: who waits for it is told why.
    pub(super) fn fail_assignment(&mut self, turn: &mut Turn<'_>, error: GroupError) {
        for member in self.members.values_mut() {
            member.assignment = Bytes::new();
        }
        for id in self.members.keys().cloned().collect::<Vec<MemberId>>() {
            let waiting = self.members.get_mut(&id).and_then(|member| member.sync.take());
            if let Some(to) = waiting {
                turn.reply_sync(to, Err(error));
                self.refresh_session(turn, &id);
            }
        }
    }

    /// A member gave a sign of life.
    pub(in crate::group) fn refresh_session(&mut self, turn: &mut Turn<'_>, id: &MemberId) {
        if let Some(member) = self.members.get_mut(id) {
            let ms = Some(member.session_timeout_ms);
            turn.set_timer(&mut member.session_at, TimerKey::Session(id.clone()), ms);
        }
    }

    fn set_join_timer(&mut self, turn: &mut Turn<'_>, timer: Option<(i32, JoinWait)>) {
        if let Some((_, wait)) = timer {
            self.join_wait = wait;
        }
        turn.set_timer(&mut self.join_at, TimerKey::Join, timer.map(|(ms, _)| ms));
    }

    pub(super) fn set_sync_timer(&mut self, turn: &mut Turn<'_>, ms: Option<i32>) {
        turn.set_timer(&mut self.sync_at, TimerKey::Sync, ms);
    }
}
