//! One partition of `__consumer_offsets` in memory: committed offsets, pending transactional
//! offsets per producer id, and which partitions have open ones (spec 9.4, Kafka's
//! `OffsetMetadataManager`).
//!
//! There are two ways in, [`Shard::replay`] and [`Shard::marker`], and both take what is in the
//! log. Loading and live operation use the same two, so memory equals a replay of the log.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use crate::time::Timestamp;
use crate::types::{Decision, Offset, ProducerId, TopicPartition};

use super::GroupId;
use super::classic::{Classic, MemberId};
use super::consumer::{Alarm, Consumer, ConsumerKey, ConsumerRecord, Unpersisted, apply};
use super::records::{GroupKey, OffsetValue};

/// An offset and the place of its record in `__consumer_offsets`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stored {
    pub(super) record_offset: Offset,
    pub(super) value: OffsetValue,
}

/// A group: its members, and its offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Group {
    /// Its members; one without is what Kafka calls a simple classic group.
    pub(super) classic: Classic,
    /// Its members, when it is a consumer group; with what is decided and not persisted yet.
    pub(super) consumer: Option<Arc<Consumer>>,
    /// What it was before that.
    pub(super) unpersisted: Option<Box<Unpersisted>>,
    /// Deadlines of the consumer group's members.
    pub(super) alarms: BTreeMap<(Alarm, MemberId), Timestamp>,
    /// Version of the topics when the consumer group last looked at them.
    pub(super) seen_topics: u64,
    /// Visible to everybody.
    pub(super) committed: BTreeMap<TopicPartition, Stored>,
    /// Producers whose open transactions hold an offset of the partition.
    pub(super) open: BTreeMap<TopicPartition, BTreeSet<ProducerId>>,
}

/// The pending offsets of one producer.
type Staged = BTreeMap<(GroupId, TopicPartition), Stored>;

/// The memory of one partition of `__consumer_offsets`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Shard {
    groups: BTreeMap<GroupId, Group>,
    pending: BTreeMap<ProducerId, Staged>,
}

impl Shard {
    pub(super) fn group(&self, group: &str) -> Option<&Group> {
        self.groups.get(group)
    }

    pub(super) fn group_mut(&mut self, group: &str) -> Option<&mut Group> {
        self.groups.get_mut(group)
    }

    /// Has a group be there; whether it was not.
    pub(super) fn create(&mut self, group: &GroupId, now_ms: i64) -> bool {
        let created = !self.groups.contains_key(group);
        if created {
            let mut new = Group::default();
            new.classic.state_since_ms = Some(now_ms);
            self.groups.insert(group.clone(), new);
        }
        created
    }

    /// Takes a group's members as a record has them, in the order of the log.
    pub(super) fn load_group(&mut self, group: &GroupId, classic: Classic) {
        self.groups.entry(group.clone()).or_default().classic = classic;
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = (&GroupId, &Group)> {
        self.groups.iter()
    }

    /// Takes one record of the log. `producer` is that of its batch when the batch is
    /// transactional. A group comes to be with its first offset, whether pending or not.
    pub(super) fn replay(
        &mut self,
        record_offset: Offset,
        producer: Option<ProducerId>,
        key: &GroupKey,
        value: Option<&OffsetValue>,
    ) {
        match (key, value) {
            (GroupKey::Offset { group, tp }, Some(value)) => {
                let stored = Stored { record_offset, value: value.clone() };
                self.put(producer, group, tp, stored);
            }
            (GroupKey::Offset { group, tp }, None) => self.forget(group, tp),
            (GroupKey::Classic(group), None) => self.forget_group(group),
            (GroupKey::Consumer { group, what }, None) => self.replay_consumer(group, what, None),
            (GroupKey::Classic(_) | GroupKey::Other(_) | GroupKey::Consumer { .. }, _) => {}
        }
    }

    /// Takes a record about a consumer group.
    pub(super) fn replay_consumer(
        &mut self,
        group: &GroupId,
        what: &ConsumerKey,
        value: Option<&ConsumerRecord>,
    ) {
        if value.is_some() {
            apply(&mut self.groups.entry(group.clone()).or_default().consumer, what, value);
        } else if let Some(found) = self.groups.get_mut(group) {
            apply(&mut found.consumer, what, None);
            self.drop_unused(group);
        }
    }

    fn put(
        &mut self,
        producer: Option<ProducerId>,
        group: &GroupId,
        tp: &TopicPartition,
        stored: Stored,
    ) {
        let entry = self.groups.entry(group.clone()).or_default();
        match producer {
            Some(producer) => {
                entry.open.entry(tp.clone()).or_default().insert(producer);
                let staged = self.pending.entry(producer).or_default();
                staged.insert((group.clone(), tp.clone()), stored);
            }
            None => {
                entry.committed.insert(tp.clone(), stored);
            }
        }
    }

    /// A tombstone takes the committed offset and every pending one.
    fn forget(&mut self, group: &GroupId, tp: &TopicPartition) {
        let Some(entry) = self.groups.get_mut(group) else { return };
        entry.committed.remove(tp);
        for producer in entry.open.remove(tp).unwrap_or_default() {
            if let Some(staged) = self.pending.get_mut(&producer) {
                staged.remove(&(group.clone(), tp.clone()));
                if staged.is_empty() {
                    self.pending.remove(&producer);
                }
            }
        }
    }

    /// A group's own tombstone takes no offsets: a deletion writes theirs before it, and Kafka
    /// writes it too when a classic group becomes a consumer group, which keeps its offsets.
    fn forget_group(&mut self, group: &GroupId) {
        let Some(found) = self.groups.get_mut(group) else { return };
        if found.classic.is_idle() {
            found.classic = Classic::default();
        }
        self.drop_unused(group);
    }

    /// Forgets a group that holds nothing and nobody.
    pub(super) fn drop_unused(&mut self, group: &GroupId) {
        let unused = |found: &Group| {
            let holds_nothing = found.committed.is_empty() && found.open.is_empty();
            let is_nobodys = found.consumer.is_none() && found.unpersisted.is_none();
            holds_nothing && is_nobodys && found.classic.is_idle()
        };
        if self.groups.get(group).is_some_and(unused) {
            self.groups.remove(group);
        }
    }

    /// Takes the marker that ends the transaction of `producer`: its pending offsets become
    /// committed unless the log holds a newer one, or are dropped.
    pub(super) fn marker(&mut self, producer: ProducerId, decision: Decision) {
        for ((group, tp), stored) in self.pending.remove(&producer).unwrap_or_default() {
            let Some(entry) = self.groups.get_mut(&group) else { continue };
            if let Some(open) = entry.open.get_mut(&tp) {
                open.remove(&producer);
                if open.is_empty() {
                    entry.open.remove(&tp);
                }
            }
            if decision == Decision::Abort {
                continue;
            }
            match entry.committed.get(&tp) {
                Some(newer) if newer.record_offset > stored.record_offset => {
                    crate::mark!(GroupPendingOlderThanCommitted);
                }
                _ => {
                    entry.committed.insert(tp, stored);
                }
            }
        }
    }
}
