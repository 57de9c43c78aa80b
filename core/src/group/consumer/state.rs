//! A consumer group as its records say.
//!
//! There is one way in, [`Consumer::replay`], for what is decided now and for what is loaded, so
//! memory equals a replay of the log.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::counts::Counts;
use super::member::{Holding, LEFT, Member, Partitions};
use super::record::{ConsumerKey, ConsumerRecord, Resolved};
use super::topics::Topics;
use crate::group::MemberId;
use crate::types::{TopicId, TopicName};

/// The state of a consumer group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConsumerState {
    /// It has no members.
    Empty,
    /// Its target assignment is behind its epoch.
    Assigning,
    /// Members are on their way to the target assignment.
    Reconciling,
    /// All members have what they are to have.
    Stable,
}

impl ConsumerState {
    /// The state's name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Assigning => "Assigning",
            Self::Reconciling => "Reconciling",
            Self::Stable => "Stable",
        }
    }
}

/// A consumer group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) struct Consumer {
    /// Grows with everything that asks for a new assignment.
    pub(in crate::group) epoch: i32,
    pub(in crate::group) topics_hash: i64,
    pub(in crate::group) members: BTreeMap<MemberId, Arc<Member>>,
    /// The group epoch that the target assignment was computed for.
    pub(in crate::group) target_epoch: i32,
    /// When it was computed, in ms of the wall clock; 0 for never.
    pub(in crate::group) target_at_ms: i64,
    pub(in crate::group) targets: BTreeMap<MemberId, Arc<Partitions>>,
    pub(in crate::group) regexes: BTreeMap<Arc<str>, Arc<Resolved>>,
    /// There is a record of Kafka before 4.1, to be taken away.
    pub(in crate::group) has_topics_record: bool,
    counts: Counts,
    /// Static members by instance id.
    statics: BTreeMap<Arc<str>, MemberId>,
    /// Who has a partition, or is to let go of it.
    owners: BTreeMap<(TopicId, i32), MemberId>,
}

impl Default for Consumer {
    fn default() -> Self {
        Self {
            epoch: 1,
            topics_hash: 0,
            members: BTreeMap::new(),
            target_epoch: 1,
            target_at_ms: 0,
            targets: BTreeMap::new(),
            regexes: BTreeMap::new(),
            has_topics_record: false,
            counts: Counts::default(),
            statics: BTreeMap::new(),
            owners: BTreeMap::new(),
        }
    }
}

impl Consumer {
    /// Takes a record. The tombstone of the group itself takes the whole group: the caller's.
    pub(in crate::group) fn replay(&mut self, key: &ConsumerKey, value: Option<&ConsumerRecord>) {
        match (key, value) {
            (_, Some(ConsumerRecord::Group { epoch, topics_hash })) => {
                self.epoch = *epoch;
                self.topics_hash = *topics_hash;
            }
            (ConsumerKey::Topics, value) => self.has_topics_record = value.is_some(),
            (_, Some(ConsumerRecord::TargetEpoch { epoch, at_ms })) => {
                self.target_epoch = *epoch;
                self.target_at_ms = *at_ms;
            }
            (ConsumerKey::TargetEpoch, _) => {
                self.target_epoch = LEFT;
                self.target_at_ms = 0;
            }
            (ConsumerKey::Member(id), Some(ConsumerRecord::Member(about))) => {
                let mut member = self.member_or_new(id);
                member.about = (**about).clone();
                self.put_member(id, member);
            }
            (ConsumerKey::Member(id), _) => self.remove_member(id),
            (ConsumerKey::Current(id), Some(ConsumerRecord::Current(holding))) => {
                let mut member = self.member_or_new(id);
                member.holding = (**holding).clone();
                self.put_member(id, member);
            }
            (ConsumerKey::Current(id), _) => {
                if let Some(member) = self.members.get(id) {
                    let holding = Holding { epoch: LEFT, ..Holding::default() };
                    let member = Member { about: member.about.clone(), holding };
                    self.put_member(id, member);
                }
            }
            (ConsumerKey::Target(id), Some(ConsumerRecord::Target(partitions))) => {
                self.targets.insert(id.clone(), partitions.clone());
            }
            (ConsumerKey::Target(id), _) => {
                self.targets.remove(id);
            }
            (ConsumerKey::Regex(regex), Some(ConsumerRecord::Regex(resolved))) => {
                self.regexes.insert(regex.clone(), resolved.clone());
            }
            (ConsumerKey::Regex(regex), _) => {
                self.regexes.remove(regex);
            }
            (ConsumerKey::Group, _) => {}
        }
    }

    fn member_or_new(&self, id: &MemberId) -> Member {
        self.members.get(id).map(|member| (**member).clone()).unwrap_or_default()
    }

    fn put_member(&mut self, id: &MemberId, member: Member) {
        self.disown(id);
        self.counts.add(&member.about);
        if let Some(instance) = &member.about.instance {
            self.statics.insert(instance.clone(), id.clone());
        }
        for at in member.holding.held() {
            self.owners.insert(at, id.clone());
        }
        self.members.insert(id.clone(), Arc::new(member));
    }

    fn remove_member(&mut self, id: &MemberId) {
        self.disown(id);
        self.members.remove(id);
    }

    /// What points to a member points to it no more.
    fn disown(&mut self, id: &MemberId) {
        let Some(member) = self.members.get(id) else { return };
        self.counts.remove(&member.about);
        if let Some(instance) = &member.about.instance
            && self.statics.get(instance) == Some(id)
        {
            self.statics.remove(instance);
        }
        for at in member.holding.held() {
            if self.owners.get(&at) == Some(id) {
                self.owners.remove(&at);
            }
        }
    }

    pub(in crate::group) fn state(&self) -> ConsumerState {
        if self.members.is_empty() {
            ConsumerState::Empty
        } else if self.epoch > self.target_epoch {
            ConsumerState::Assigning
        } else if self.members.values().all(|one| one.holding.is_reconciled_to(self.target_epoch)) {
            ConsumerState::Stable
        } else {
            ConsumerState::Reconciling
        }
    }

    pub(in crate::group) fn static_member(&self, instance: &str) -> Option<&MemberId> {
        self.statics.get(instance)
    }

    pub(in crate::group) fn owner(&self, topic: TopicId, partition: i32) -> Option<&MemberId> {
        self.owners.get(&(topic, partition))
    }

    pub(in crate::group) fn target(&self, id: &str) -> Partitions {
        self.targets.get(id).map(|target| (**target).clone()).unwrap_or_default()
    }

    /// How many members subscribe by a regular expression.
    pub(super) fn subscribers(&self, regex: &str) -> usize {
        self.counts.of_regex(regex)
    }

    /// The members' regular expressions.
    pub(super) fn patterns(&self) -> BTreeSet<Arc<str>> {
        self.counts.regexes()
    }

    pub(super) fn pattern_count(&self) -> usize {
        self.counts.regex_count()
    }

    pub(super) fn topics_of(&self, member: &Member) -> BTreeSet<TopicName> {
        let mut topics = member.about.topics.clone();
        let resolved = member.about.regex().and_then(|regex| self.regexes.get(regex));
        topics.extend(resolved.iter().flat_map(|one| &one.topics).cloned());
        topics
    }

    pub(super) fn topic_ids_of(&self, member: &Member, topics: &Topics) -> BTreeSet<TopicId> {
        topics.ids(&self.topics_of(member))
    }

    /// Every topic that a member subscribes to.
    pub(in crate::group) fn subscribed(&self) -> BTreeSet<TopicName> {
        let by_regex = self.regexes.values().flat_map(|resolved| &resolved.topics);
        self.counts.topics().chain(by_regex).cloned().collect()
    }

    pub(in crate::group) fn is_subscribed(&self, topic: &TopicName) -> bool {
        self.counts.has_topic(topic)
            || self.regexes.values().any(|resolved| resolved.topics.contains(topic))
    }

    /// The assignor of its members' choice.
    pub(super) fn assignor(&self) -> &str {
        self.counts.assignor().unwrap_or(super::assign::DEFAULT)
    }

    /// The keys of all records there are, in an order in which they can be taken away.
    pub(in crate::group) fn keys(&self) -> Vec<ConsumerKey> {
        let ids = || self.members.keys().cloned();
        let mut keys: Vec<ConsumerKey> = ids().map(ConsumerKey::Current).collect();
        keys.extend(ids().map(ConsumerKey::Target));
        keys.push(ConsumerKey::TargetEpoch);
        keys.extend(ids().map(ConsumerKey::Member));
        keys.extend(self.regexes.keys().cloned().map(ConsumerKey::Regex));
        keys.extend([ConsumerKey::Topics, ConsumerKey::Group]);
        keys
    }
}
