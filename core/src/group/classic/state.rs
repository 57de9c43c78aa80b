//! A classic group: its members, and what is counted of them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::join::JoinWait;
use super::member::Member;
use super::{JoinReply, JoinedMember, MemberId, Protocol, TimerKey, Turn};
use crate::codec::Reader;
use crate::group::consumer::CONSUMER;
use crate::group::metadata_record::{GroupMetadata, MemberMetadata};
use crate::group::{GroupError, GroupState};
use crate::time::Timestamp;
use crate::types::TopicName;

/// A classic group. One that only ever held offsets is Empty and has no protocol type: Kafka's
/// simple group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) struct Classic {
    /// Never Dead: that is a deletion under way, which the coordinator knows of.
    pub(in crate::group) state: GroupState,
    /// It was Empty before it prepared its rebalance: members are given time to come.
    pub(in crate::group) is_first_rebalance: bool,
    /// When it came into its state, in ms of the wall clock; unknown of groups from old records.
    pub(in crate::group) state_since_ms: Option<i64>,
    /// Never goes back in the life of a group.
    pub(in crate::group) generation: i32,
    pub(in crate::group) protocol_type: Option<Arc<str>>,
    pub(in crate::group) protocol: Option<Arc<str>>,
    pub(in crate::group) leader: Option<MemberId>,
    pub(in crate::group) members: BTreeMap<MemberId, Member>,
    /// Static members by instance id.
    pub(in crate::group) statics: BTreeMap<Arc<str>, MemberId>,
    /// Ids that were given out and not joined with yet, and when they lapse.
    pub(in crate::group) pending_joins: BTreeMap<MemberId, Option<Timestamp>>,
    /// Members that have not asked for their assignment.
    pub(in crate::group) pending_syncs: BTreeSet<MemberId>,
    /// How many members support each protocol.
    pub(super) supported: BTreeMap<Arc<str>, usize>,
    /// How many members have a Join waiting.
    pub(in crate::group) joins_waiting: usize,
    /// A member came while the first rebalance was delayed: it is delayed further.
    pub(in crate::group) new_member_added: bool,
    /// Topics that a consumer group's members subscribe to; `None` when that is not known.
    pub(in crate::group) subscribed: Option<BTreeSet<TopicName>>,
    pub(in crate::group) join_at: Option<Timestamp>,
    pub(in crate::group) join_wait: JoinWait,
    pub(in crate::group) sync_at: Option<Timestamp>,
}

impl Default for Classic {
    fn default() -> Self {
        Self {
            state: GroupState::Empty,
            is_first_rebalance: false,
            state_since_ms: None,
            generation: 0,
            protocol_type: None,
            protocol: None,
            leader: None,
            members: BTreeMap::new(),
            statics: BTreeMap::new(),
            pending_joins: BTreeMap::new(),
            pending_syncs: BTreeSet::new(),
            supported: BTreeMap::new(),
            joins_waiting: 0,
            new_member_added: false,
            subscribed: None,
            join_at: None,
            join_wait: JoinWait::Members,
            sync_at: None,
        }
    }
}

impl Classic {
    /// Nobody is in it, nor on the way into it.
    pub(in crate::group) fn is_idle(&self) -> bool {
        self.state == GroupState::Empty && self.pending_joins.is_empty()
    }

    pub(super) fn is_leader(&self, member: &str) -> bool {
        self.leader.as_deref() == Some(member)
    }

    pub(super) fn transition(&mut self, turn: &Turn<'_>, state: GroupState) {
        self.state = state;
        self.state_since_ms = Some(turn.now.wall_ms);
    }

    /// Whether the group can take a member that supports these.
    pub(super) fn supports(&self, protocol_type: &str, protocols: &[Protocol]) -> bool {
        if self.state == GroupState::Empty {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        let all = self.members.len();
        self.protocol_type.as_deref() == Some(protocol_type)
            && protocols.iter().any(|one| self.supporters(&one.name) == all)
    }

    fn supporters(&self, protocol: &str) -> usize {
        self.supported.get(protocol).copied().unwrap_or(0)
    }

    /// Is this member the one that the request says it is?
    pub(in crate::group) fn check_member(
        &self,
        member: &str,
        instance: Option<&str>,
    ) -> Result<(), GroupError> {
        if let Some(instance) = instance {
            match self.statics.get(instance) {
                None => return Err(GroupError::UnknownMember),
                Some(known) if **known != *member => return Err(GroupError::FencedInstance),
                Some(_) => {}
            }
        }
        if self.members.contains_key(member) { Ok(()) } else { Err(GroupError::UnknownMember) }
    }

    /// Takes a member in. Its Join may be waiting.
    pub(super) fn insert(&mut self, id: MemberId, protocol_type: &Arc<str>, member: Member) {
        if let Some(instance) = &member.instance {
            self.statics.insert(instance.clone(), id.clone());
        }
        if self.members.is_empty() {
            self.protocol_type = Some(protocol_type.clone());
        }
        self.leader.get_or_insert_with(|| id.clone());
        self.count(&member.protocols);
        self.joins_waiting += usize::from(member.join.is_some());
        self.members.insert(id, member);
    }

    /// Takes a member out; whoever waits in its name is told `error`.
    pub(super) fn remove(&mut self, turn: &mut Turn<'_>, id: &MemberId, error: GroupError) {
        self.remove_pending_join(turn, id);
        self.pending_syncs.remove(id);
        let Some(mut member) = self.members.remove(id) else { return };
        self.discount(&member.protocols);
        turn.set_timer(&mut member.session_at, TimerKey::Session(id.clone()), None);
        if let Some(instance) = &member.instance
            && self.statics.get(instance) == Some(id)
        {
            self.statics.remove(instance);
        }
        if self.is_leader(id) {
            self.leader = self.members.keys().next().cloned();
        }
        self.refuse_waiting(turn, id, &mut member, error);
    }

    pub(super) fn remove_pending_join(&mut self, turn: &mut Turn<'_>, id: &MemberId) {
        if let Some(mut at) = self.pending_joins.remove(id) {
            turn.set_timer(&mut at, TimerKey::Session(id.clone()), None);
        }
    }

    /// Answers what waits in a member's name.
    pub(super) fn refuse_waiting(
        &mut self,
        turn: &mut Turn<'_>,
        id: &MemberId,
        member: &mut Member,
        error: GroupError,
    ) {
        if let Some(to) = member.join.take() {
            self.joins_waiting -= 1;
            turn.refuse_join(to, id, error);
        }
        if let Some(to) = member.sync.take() {
            turn.reply_sync(to, Err(error));
        }
    }

    /// Changes what a member supports.
    pub(super) fn set_protocols(&mut self, id: &MemberId, protocols: Vec<Protocol>) {
        let Some(member) = self.members.get_mut(id) else { return };
        let before = core::mem::replace(&mut member.protocols, protocols.clone());
        self.discount(&before);
        self.count(&protocols);
    }

    fn count(&mut self, protocols: &[Protocol]) {
        for one in protocols {
            *self.supported.entry(one.name.clone()).or_default() += 1;
        }
    }

    fn discount(&mut self, protocols: &[Protocol]) {
        for one in protocols {
            if let Some(count) = self.supported.get_mut(&one.name) {
                *count -= 1;
                if *count == 0 {
                    self.supported.remove(&one.name);
                }
            }
        }
    }

    /// The protocol that most members like best, of those that all support. A tie goes to the one
    /// that comes first by name (Kafka leaves ties to the order of a hash map).
    pub(super) fn select_protocol(&self) -> Option<Arc<str>> {
        let all = self.members.len();
        let mut votes: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        for member in self.members.values() {
            let best = member.protocols.iter().find(|one| self.supporters(&one.name) == all);
            if let Some(best) = best {
                *votes.entry(&best.name).or_default() += 1;
            }
        }
        let most = votes.values().copied().max()?;
        votes.into_iter().find(|(_, count)| *count == most).map(|(name, _)| name.clone())
    }

    /// The longest time that a member wants for joining again.
    pub(super) fn rebalance_timeout_ms(&self) -> i32 {
        self.members.values().map(|member| member.rebalance_timeout_ms).max().unwrap_or(0).max(0)
    }

    /// The answer to a member of this generation. Everybody is listed for the leader only.
    pub(super) fn joined(&self, id: &MemberId) -> JoinReply {
        let is_leader = self.is_leader(id);
        JoinReply {
            result: Ok(()),
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone().unwrap_or_else(|| Arc::from("")),
            skip_assignment: false,
            member: id.clone(),
            members: if is_leader { self.joined_members() } else { Vec::new() },
        }
    }

    fn joined_members(&self) -> Vec<JoinedMember> {
        let members = self.members.iter().map(|(id, member)| JoinedMember {
            id: id.clone(),
            instance: member.instance.clone(),
            metadata: member.metadata(self.protocol.as_deref()),
        });
        members.collect()
    }

    /// The group as it is persisted, with these assignments; one that has none gets nothing.
    pub(in crate::group) fn record(
        &self,
        assignment: impl Fn(&MemberId, &Member) -> Bytes,
    ) -> GroupMetadata {
        let members = self.members.iter().map(|(id, member)| MemberMetadata {
            id: id.clone(),
            instance: member.instance.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            rebalance_timeout_ms: member.rebalance_timeout_ms,
            session_timeout_ms: member.session_timeout_ms,
            subscription: member.metadata(self.protocol.as_deref()),
            assignment: assignment(id, member),
        });
        GroupMetadata {
            protocol_type: self.protocol_type.clone().unwrap_or_else(|| Arc::from("")),
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            state_timestamp_ms: self.state_since_ms.unwrap_or(-1),
            members: members.collect(),
        }
    }

    /// Whether it is one of consumers, whose subscriptions can be read.
    pub(in crate::group) fn is_of_consumers(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER)
    }

    /// Whether a member wants this topic. Of a group of consumers that cannot be read, yes.
    pub(in crate::group) fn is_subscribed(&self, topic: &TopicName) -> bool {
        match &self.subscribed {
            Some(topics) => topics.contains(topic),
            None => self.is_of_consumers(),
        }
    }

    /// Reads the members' subscriptions anew.
    pub(super) fn read_subscriptions(&mut self) {
        self.subscribed = self.subscriptions();
    }

    fn subscriptions(&self) -> Option<BTreeSet<TopicName>> {
        if !self.is_of_consumers() {
            return None;
        }
        if self.members.is_empty() {
            return Some(BTreeSet::new());
        }
        let protocol = self.protocol.as_deref()?;
        let mut topics = BTreeSet::new();
        for member in self.members.values() {
            topics.extend(subscribed_topics(&member.metadata(Some(protocol)))?);
        }
        Some(topics)
    }
}

/// The topics in a `ConsumerProtocolSubscription` of any version: they come first in all.
fn subscribed_topics(metadata: &Bytes) -> Option<Vec<TopicName>> {
    let mut reader = Reader::new(metadata);
    let version = reader.i16().ok()?;
    let count = reader.i32().ok()?;
    if version < 0 {
        return None;
    }
    (0..count).map(|_| reader.string().map(TopicName::from).ok()).collect()
}
