//! A group as its record says, when a coordinator starts again.

use alloc::vec;
use alloc::vec::Vec;

use super::member::Member;
use super::state::Classic;
use super::{MemberId, Protocol, Turn};
use crate::group::consumer::CONSUMER;
use crate::group::metadata_record::GroupMetadata;
use crate::group::{GroupCoordinator, GroupError, GroupId, GroupState, Phase};
use crate::time::Now;

impl Classic {
    /// The group that a record describes: Stable when it has members, else Empty. Members without
    /// a leader are to join again.
    pub(in crate::group) fn from_record(record: GroupMetadata) -> Self {
        let protocol_type = Some(record.protocol_type).filter(|one| !one.is_empty());
        let mut group = Self {
            state: if record.members.is_empty() { GroupState::Empty } else { GroupState::Stable },
            state_since_ms: Some(record.state_timestamp_ms).filter(|at| *at != -1),
            generation: record.generation,
            protocol: record.protocol.clone(),
            ..Self::default()
        };
        for member in record.members {
            let name = record.protocol.clone().unwrap_or_else(|| "".into());
            let loaded = Member {
                instance: member.instance,
                client_id: member.client_id,
                client_host: member.client_host,
                rebalance_timeout_ms: member.rebalance_timeout_ms,
                session_timeout_ms: member.session_timeout_ms,
                protocols: vec![Protocol { name, metadata: member.subscription }],
                assignment: member.assignment,
                join: None,
                sync: None,
                is_new: false,
                session_at: None,
            };
            let kind = protocol_type.clone().unwrap_or_else(|| "".into());
            group.insert(member.id, &kind, loaded);
        }
        group.leader = record.leader;
        group.protocol_type = protocol_type;
        group.read_subscriptions();
        group
    }

    pub(in crate::group) fn loaded(&mut self, turn: &mut Turn<'_>) {
        for id in self.members.keys().cloned().collect::<Vec<MemberId>>() {
            self.refresh_session(turn, &id);
        }
        let is_led = self.members.is_empty() || self.leader.is_some();
        if !is_led {
            crate::mark!(GroupLoadedToRebalance);
            self.leader = self.members.keys().next().cloned();
        }
        let is_too_large = self.members.len() > turn.config.members_max;
        if is_too_large {
            crate::mark!(GroupLoadedTooLarge);
        }
        if !is_led || is_too_large {
            self.prepare(turn);
        }
    }

    /// The group is classic still: it was to become a consumer group, and that could not be written.
    /// Whoever waited was told to join again, and is waited for.
    pub(in crate::group) fn taken_back(&mut self, turn: &mut Turn<'_>) {
        self.loaded(turn);
        let rebalances =
            matches!(self.state, GroupState::PreparingRebalance | GroupState::CompletingRebalance);
        if rebalances {
            self.prepare(turn);
        }
    }

    /// Nothing here coordinates the group any more: whoever waits is told so.
    fn resigned(&mut self, turn: &mut Turn<'_>) {
        for id in self.members.keys().cloned().collect::<Vec<MemberId>>() {
            self.remove(turn, &id, GroupError::NotCoordinator);
        }
        self.dropped(turn);
    }

    /// Nobody waits for the group any more.
    fn dropped(&mut self, turn: &mut Turn<'_>) {
        self.drop_pending(turn);
        turn.set_timer(&mut self.join_at, super::TimerKey::Join, None);
        self.set_sync_timer(turn, None);
        for (id, member) in &mut self.members {
            let key = super::TimerKey::Session(id.clone());
            turn.set_timer(&mut member.session_at, key, None);
        }
    }

    /// The group becomes a consumer group: whoever waits is to join that.
    pub(in crate::group) fn retire(&mut self, turn: &mut Turn<'_>) {
        let error = GroupError::RebalanceInProgress;
        for id in self.members.keys().cloned().collect::<Vec<MemberId>>() {
            if let Some(mut member) = self.members.remove(&id) {
                self.refuse_waiting(turn, &id, &mut member, error);
                self.members.insert(id, member);
            }
        }
        self.dropped(turn);
    }

    /// The group of these members, who have what they are assigned.
    pub(in crate::group) fn of_consumers(
        generation: i32,
        members: Vec<(MemberId, Member)>,
        now_ms: i64,
    ) -> Self {
        let mut group = Self {
            state: GroupState::Stable,
            state_since_ms: Some(now_ms),
            generation,
            ..Self::default()
        };
        let kind = CONSUMER.into();
        for (id, member) in members {
            group.insert(id, &kind, member);
        }
        group.protocol = group.select_protocol();
        group.read_subscriptions();
        group
    }

    /// Ids that were given out are forgotten.
    pub(in crate::group) fn drop_pending(&mut self, turn: &mut Turn<'_>) {
        for id in self.pending_joins.keys().cloned().collect::<Vec<MemberId>>() {
            self.remove_pending_join(turn, &id);
        }
    }
}

impl GroupCoordinator {
    /// The sessions of members that were loaded begin again.
    pub(in crate::group) fn start_sessions(&mut self, now: Now, partition: i32) {
        for group in self.groups_with_members(partition) {
            self.in_group(now, partition, &group, Classic::loaded);
            self.restart_sessions(now, partition, &group);
        }
    }

    /// Lets go of everybody who waits or is waited for in a partition.
    pub(in crate::group) fn drop_members(&mut self, partition: i32) {
        for group in self.groups_with_members(partition) {
            self.in_group(Now::default(), partition, &group, Classic::resigned);
            self.drop_alarms(partition, &group);
        }
    }

    fn groups_with_members(&self, partition: i32) -> Vec<GroupId> {
        let Some(Phase::Active(shard)) = self.shards.get(&partition) else { return Vec::new() };
        let with_members = shard.groups().filter(|(_, found)| {
            !found.classic.members.is_empty()
                || !found.classic.pending_joins.is_empty()
                || found.consumer.is_some()
        });
        with_members.map(|(id, _)| id.clone()).collect()
    }
}
