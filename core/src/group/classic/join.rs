//! JoinGroup (spec 14.1; `classicGroupJoinToClassicGroup`).

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use bytes::Bytes;

use super::member::Member;
use super::state::Classic;
use super::{JoinGroup, JoinReply, MemberId, NEW_MEMBER_JOIN_TIMEOUT_MS, TimerKey, Turn};
use crate::codec::STRING_BYTES_MAX;
use crate::group::{GroupCoordinator, GroupError, GroupReply, GroupState, Phase, Purpose};
use crate::io::RequestId;
use crate::time::Now;

/// Longest name in a Join, in bytes, so that with a uuid behind it it still is a string that can
/// be kept.
const NAME_BYTES_MAX: usize = STRING_BYTES_MAX - UUID_BYTES - 1;
const UUID_BYTES: usize = 36;

/// What the time for joining is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) enum JoinWait {
    /// The first members of an empty group come in
    /// (`group.initial.rebalance.delay.ms`); `left_ms` is what may be added to the delay.
    First { delay_ms: i32, left_ms: i32 },
    /// All known members are to join again.
    Members,
}

impl GroupCoordinator {
    /// A member joins. The answer comes as [`GroupReply::Join`] when the generation begins.
    pub fn join(&mut self, now: Now, to: RequestId, mut join: JoinGroup) {
        let checked = self.check_join(&mut join);
        let partition = match checked {
            Ok(partition) => partition,
            Err(error) => return self.refuse_join(to, &join.member, error),
        };
        let group = join.group.clone();
        self.drop_empty_consumer_group(now, partition, &group);
        if self.is_consumer_group(partition, &group) {
            return self.join_consumer_group(now, partition, to, &join);
        }
        let id = self.id_for(&join);
        let Some(Phase::Active(shard)) = self.shards.get_mut(&partition) else { return };
        let created = shard.create(&group, now.wall_ms);
        let in_vain = self.in_group(now, partition, &group, |classic, turn| {
            classic.join(turn, to, join, id);
            let in_vain = classic.is_idle();
            if created && !in_vain && turn.writes.is_empty() {
                let record = classic.record(|_, _| Bytes::new());
                turn.write(record, Purpose::Created);
            }
            in_vain
        });
        if created
            && in_vain == Some(true)
            && let Some(Phase::Active(shard)) = self.shards.get_mut(&partition)
        {
            shard.drop_unused(&group);
        }
    }

    fn refuse_join(&mut self, to: RequestId, member: &MemberId, error: GroupError) {
        let reply = JoinReply::refused(member.clone(), error);
        self.reply(to, GroupReply::Join(Box::new(reply)));
    }

    fn check_join(&self, join: &mut JoinGroup) -> Result<i32, GroupError> {
        if join.group.is_empty() || join.group.len() > STRING_BYTES_MAX {
            return Err(GroupError::InvalidGroupId);
        }
        let allowed = self.config.session_timeout_min_ms..=self.config.session_timeout_max_ms;
        if !allowed.contains(&join.session_timeout_ms) {
            return Err(GroupError::InvalidSessionTimeout);
        }
        let names = [&join.client_id, &join.client_host, &join.protocol_type];
        let more = join.protocols.iter().map(|one| &one.name).chain(&join.instance);
        if names.into_iter().chain(more).any(|name| name.len() > NAME_BYTES_MAX) {
            return Err(GroupError::InvalidRequest);
        }
        let partition = self.members_partition(&join.group)?;
        if !join.member.is_empty() && !self.knows(partition, &join.group) {
            return Err(GroupError::UnknownMember);
        }
        // A protocol counts once for its member, as in Kafka's collection.
        let mut seen = alloc::collections::BTreeSet::new();
        join.protocols.retain(|one| seen.insert(one.name.clone()));
        Ok(partition)
    }

    fn id_for(&mut self, join: &JoinGroup) -> MemberId {
        if !join.member.is_empty() {
            return join.member.clone();
        }
        let name = join.instance.as_ref().unwrap_or(&join.client_id);
        Arc::from(format!("{name}-{}", uuid_text(self.ids.next_id().0)))
    }

    /// The static member that took over is persisted, or is not.
    pub(in crate::group) fn replaced(
        &mut self,
        now: Now,
        to: RequestId,
        join: JoinGroup,
        replacing: &Replacing,
    ) {
        let Ok(partition) = self.members_partition(&join.group) else {
            return self.refuse_join(to, &join.member, GroupError::NotCoordinator);
        };
        let group = join.group.clone();
        let gone = join.member.clone();
        let done = self.in_group(now, partition, &group, |classic, turn| {
            classic.replaced(turn, to, join, replacing);
        });
        if done.is_none() {
            self.refuse_join(to, &gone, GroupError::UnknownMember);
        }
    }

    /// The static member that took over was not persisted.
    pub(in crate::group) fn not_replaced(&mut self, now: Now, replacing: &Replacing) {
        let group = &replacing.before.group;
        if let Ok(partition) = self.members_partition(group) {
            self.in_group(now, partition, group, |classic, turn| {
                classic.not_replaced(turn, replacing);
            });
        }
    }
}

/// A static member that came back while the group is Stable, being persisted. It has taken over
/// already: the record of another one's return, written meanwhile, must not bring the old id back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) struct Replacing {
    pub(in crate::group) new: MemberId,
    /// What it was before, as a Join that makes it that again.
    pub(in crate::group) before: Box<JoinGroup>,
    pub(in crate::group) leader_before: Option<MemberId>,
    pub(in crate::group) generation: i32,
}

impl Classic {
    /// `id` is the member's own, or the one it would be given.
    fn join(&mut self, turn: &mut Turn<'_>, to: RequestId, join: JoinGroup, id: MemberId) {
        if !self.has_room_for(turn, &join.member) {
            crate::mark!(GroupFull);
            self.remove(turn, &join.member, GroupError::UnknownMember);
            return turn.refuse_join(to, &join.member, GroupError::MaxSizeReached);
        }
        if !self.supports(&join.protocol_type, &join.protocols) {
            return turn.refuse_join(to, &join.member, GroupError::InconsistentProtocol);
        }
        if !join.member.is_empty() {
            return self.join_existing(turn, to, join);
        }
        let Some(instance) = &join.instance else {
            return self.join_dynamic(turn, to, join, id);
        };
        match self.statics.get(instance).cloned() {
            Some(old) => self.join_static_again(turn, to, join, old, id),
            None => self.add_joining(turn, to, join, id),
        }
    }

    fn has_room_for(&self, turn: &Turn<'_>, member: &str) -> bool {
        let limit = turn.config.members_max;
        let known = self.members.get(member);
        match self.state {
            GroupState::Empty | GroupState::Dead => true,
            GroupState::PreparingRebalance => {
                known.is_some_and(|known| known.join.is_some()) || self.joins_waiting < limit
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                known.is_some() || self.members.len() < limit
            }
        }
    }

    /// A member without an id is given one. Who can be asked to come again with it is asked to,
    /// so that a client whose answer is lost leaves no member behind (KIP-394).
    fn join_dynamic(&mut self, turn: &mut Turn<'_>, to: RequestId, join: JoinGroup, id: MemberId) {
        if !join.knows_member_id_required {
            return self.add_joining(turn, to, join, id);
        }
        let mut at = None;
        turn.set_timer(&mut at, TimerKey::Session(id.clone()), Some(join.session_timeout_ms));
        self.pending_joins.insert(id.clone(), at);
        turn.refuse_join(to, &id, GroupError::MemberIdRequired);
    }

    fn join_existing(&mut self, turn: &mut Turn<'_>, to: RequestId, join: JoinGroup) {
        let id = join.member.clone();
        if self.pending_joins.contains_key(&id) && join.instance.is_none() {
            return self.add_joining(turn, to, join, id);
        }
        if let Err(error) = self.check_member(&id, join.instance.as_deref()) {
            return turn.refuse_join(to, &id, error);
        }
        let Some(member) = self.members.get(&id) else { return };
        let unchanged = member.protocols == join.protocols;
        let again = match self.state {
            GroupState::PreparingRebalance => true,
            // The answer to its first Join may have been lost.
            GroupState::CompletingRebalance => !unchanged,
            // The leader joins again to have a new assignment.
            GroupState::Stable => !unchanged || self.is_leader(&id),
            GroupState::Empty | GroupState::Dead => {
                return turn.refuse_join(to, &id, GroupError::UnknownMember);
            }
        };
        if again {
            self.update(turn, to, &id, &join);
            return self.rebalance_or_complete(turn);
        }
        crate::mark!(GroupJoinAnsweredAgain);
        let reply = self.joined(&id);
        turn.reply_join(to, reply);
    }

    fn add_joining(&mut self, turn: &mut Turn<'_>, to: RequestId, join: JoinGroup, id: MemberId) {
        let mut member = Member {
            instance: join.instance,
            client_id: join.client_id,
            client_host: join.client_host,
            rebalance_timeout_ms: join.rebalance_timeout_ms,
            session_timeout_ms: join.session_timeout_ms,
            protocols: join.protocols,
            assignment: Bytes::new(),
            join: Some(to),
            sync: None,
            is_new: true,
            session_at: None,
        };
        if self.state == GroupState::PreparingRebalance && self.is_first_rebalance {
            self.new_member_added = true;
        }
        self.remove_pending_join(turn, &id);
        let key = TimerKey::Session(id.clone());
        turn.set_timer(&mut member.session_at, key, Some(NEW_MEMBER_JOIN_TIMEOUT_MS));
        self.insert(id, &join.protocol_type, member);
        self.rebalance_or_complete(turn);
    }

    /// A member joins again: its older Join, if one waits, is told to.
    fn update(&mut self, turn: &mut Turn<'_>, to: RequestId, id: &MemberId, join: &JoinGroup) {
        self.set_protocols(id, join.protocols.clone());
        let Some(member) = self.members.get_mut(id) else { return };
        member.rebalance_timeout_ms = join.rebalance_timeout_ms;
        member.session_timeout_ms = join.session_timeout_ms;
        match member.join.replace(to) {
            Some(older) => {
                crate::mark!(GroupJoinTwice);
                turn.refuse_join(older, id, GroupError::RebalanceInProgress);
            }
            None => self.joins_waiting += 1,
        }
    }

    /// A static member without its member id: it was restarted, and takes over from itself.
    fn join_static_again(
        &mut self,
        turn: &mut Turn<'_>,
        to: RequestId,
        join: JoinGroup,
        old: MemberId,
        new: MemberId,
    ) {
        if self.state == GroupState::Stable {
            let mut next = self.clone();
            next.swap(&old, &new, &join);
            if next.select_protocol() == self.protocol {
                let (leader_before, generation) = (self.leader.clone(), self.generation);
                let before = Box::new(self.as_join(&old, &join));
                self.take_over(turn, &old, &new, &join);
                let record = self.record(|_, member| member.assignment.clone());
                let replacing = Replacing { new, before, leader_before, generation };
                let join = Box::new(join);
                return turn.write(record, Purpose::Replaced { to, join, replacing });
            }
        }
        self.take_over(turn, &old, &new, &join);
        if let Some(member) = self.members.get_mut(&new) {
            member.join = Some(to);
            self.joins_waiting += 1;
        }
        // After the assignment was computed for the old id it cannot be used for the new one.
        self.rebalance_or_complete(turn);
    }

    /// The record of a static member's return is persisted: it is let in with its assignment,
    /// unless the group has moved on, in which case it joins like anybody.
    fn replaced(
        &mut self,
        turn: &mut Turn<'_>,
        to: RequestId,
        join: JoinGroup,
        replacing: &Replacing,
    ) {
        let Replacing { new, leader_before, generation, .. } = replacing;
        let known = join.instance.as_ref().and_then(|id| self.statics.get(id));
        if known.is_some_and(|known| known != new) {
            return turn.refuse_join(to, new, GroupError::FencedInstance);
        }
        if known.is_none() || self.state != GroupState::Stable || self.generation != *generation {
            crate::mark!(GroupMovedOnBeforeStaticReturn);
            let member = known.cloned().unwrap_or_else(|| join.member.clone());
            return self.join(turn, to, JoinGroup { member, ..join }, new.clone());
        }
        crate::mark!(GroupStaticReturned);
        let is_leader = self.is_leader(new);
        let mut reply = self.joined(new);
        if join.knows_skip_assignment {
            reply.skip_assignment = is_leader;
        } else {
            // Below v9 a leader cannot be told to keep the assignment: it is told another leads.
            reply.members.clear();
            reply.leader = leader_before.clone().unwrap_or(reply.leader);
        }
        turn.reply_join(to, reply);
    }

    fn as_join(&self, id: &MemberId, join: &JoinGroup) -> JoinGroup {
        let mut before = JoinGroup { member: id.clone(), ..join.clone() };
        if let Some(member) = self.members.get(id) {
            before.rebalance_timeout_ms = member.rebalance_timeout_ms;
            before.session_timeout_ms = member.session_timeout_ms;
            before.protocols.clone_from(&member.protocols);
        }
        before
    }

    /// The record of a static member's return was not written: it is what it was.
    fn not_replaced(&mut self, turn: &mut Turn<'_>, replacing: &Replacing) {
        let Replacing { new, before, .. } = replacing;
        let instance = before.instance.as_ref();
        if instance.and_then(|id| self.statics.get(id)) == Some(new) {
            crate::mark!(GroupStaticReturnUndone);
            self.take_over(turn, new, &before.member, before);
        }
    }

    /// The same member under a new id; whatever waits under the old one is fenced.
    fn take_over(&mut self, turn: &mut Turn<'_>, old: &MemberId, new: &MemberId, join: &JoinGroup) {
        if let Some(mut member) = self.members.remove(old) {
            self.refuse_waiting(turn, old, &mut member, GroupError::FencedInstance);
            let key = TimerKey::Session(old.clone());
            turn.set_timer(&mut member.session_at, key, None);
            self.members.insert(old.clone(), member);
        }
        self.pending_syncs.remove(old);
        self.swap(old, new, join);
        self.refresh_session(turn, new);
    }

    fn swap(&mut self, old: &MemberId, new: &MemberId, join: &JoinGroup) {
        let Some(mut member) = self.members.remove(old) else { return };
        member.rebalance_timeout_ms = join.rebalance_timeout_ms;
        member.session_timeout_ms = join.session_timeout_ms;
        if let Some(instance) = &member.instance {
            self.statics.insert(instance.clone(), new.clone());
        }
        if self.is_leader(old) {
            self.leader = Some(new.clone());
        }
        self.members.insert(new.clone(), member);
        self.set_protocols(new, join.protocols.clone());
    }
}

fn uuid_text(id: u128) -> String {
    let hex = format!("{id:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
