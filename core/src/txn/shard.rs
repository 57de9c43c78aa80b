//! What one partition of `__transaction_state` holds in memory, with the indexes of its sweeps.
//!
//! The metadata of an id is only ever changed through [`Shard::put`], which keeps the indexes
//! right, so that a sweep costs what is due and not what exists.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::AppendId;
use super::MarkerToken;
use super::metadata::Metadata;
use crate::types::{TopicName, TopicPartition};

/// A transition that was begun and is not persisted yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pending {
    /// The record of `target` is on its way to the log.
    Appending { target: Metadata, append: AppendId },
    /// The decision is persisted and markers are owed; then `complete` is written.
    Markers { complete: Metadata, owed: BTreeMap<TopicPartition, MarkerToken> },
    /// The tombstone is on its way to the log (Kafka: pending Dead).
    Expiring { append: AppendId },
}

/// One transactional id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) metadata: Metadata,
    pub(crate) pending: Option<Pending>,
    /// Partitions that were deleted while the pending record that has them was on its way.
    gone: Vec<TopicPartition>,
}

/// One partition of the transaction log that this node leads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shard {
    /// The leader epoch of the partition; every marker carries it.
    pub(crate) coordinator_epoch: i32,
    /// Which load of this node it is; told apart even if the leader epoch is the same.
    pub(crate) generation: u64,
    pub(crate) loading: bool,
    /// Topics that were created while it is loading.
    pub(super) recreated: BTreeSet<TopicName>,
    entries: BTreeMap<Arc<str>, Entry>,
    /// Open transactions by the wall clock time they are due at.
    deadlines: BTreeSet<(i64, Arc<str>)>,
    /// Ids that may expire, by their last update.
    idle: BTreeSet<(i64, Arc<str>)>,
    /// Ids that may have partitions in a transaction or in a pending one: all that have, and some
    /// that had. Looking for a topic's transactions costs what was busy since the last look.
    busy: BTreeSet<Arc<str>>,
}

impl Shard {
    pub(crate) fn new(coordinator_epoch: i32, generation: u64) -> Self {
        Self {
            coordinator_epoch,
            generation,
            loading: true,
            recreated: BTreeSet::new(),
            entries: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            idle: BTreeSet::new(),
            busy: BTreeSet::new(),
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// Ids that may have partitions in a transaction or in a pending one.
    pub(crate) fn busy(&mut self) -> impl Iterator<Item = (&Arc<str>, &Entry)> {
        let entries = &self.entries;
        self.busy.retain(|id| {
            entries.get(id).is_some_and(|entry| {
                entry.pending.is_some() || !entry.metadata.partitions.is_empty()
            })
        });
        self.busy.iter().filter_map(|id| self.entries.get_key_value(id))
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Arc<str>, &Entry)> {
        self.entries.iter()
    }

    /// Replaces an id's metadata, creating the id when it is new. A pending transition stays.
    pub(crate) fn put(&mut self, id: &Arc<str>, metadata: Metadata) {
        self.unindex(id);
        if let Some(deadline_ms) = metadata.deadline_ms() {
            self.deadlines.insert((deadline_ms, id.clone()));
        }
        if metadata.state.expires() {
            self.idle.insert((metadata.last_update_ms, id.clone()));
        }
        if !metadata.partitions.is_empty() {
            self.busy.insert(id.clone());
        }
        match self.entries.get_mut(id) {
            Some(entry) => entry.metadata = metadata,
            None => {
                self.entries
                    .insert(id.clone(), Entry { metadata, pending: None, gone: Vec::new() });
            }
        }
    }

    pub(crate) fn remove(&mut self, id: &str) {
        self.unindex(id);
        self.busy.remove(id);
        self.entries.remove(id);
    }

    fn unindex(&mut self, id: &str) {
        let Some((id, entry)) = self.entries.get_key_value(id) else { return };
        if let Some(deadline_ms) = entry.metadata.deadline_ms() {
            self.deadlines.remove(&(deadline_ms, id.clone()));
        }
        if entry.metadata.state.expires() {
            self.idle.remove(&(entry.metadata.last_update_ms, id.clone()));
        }
    }

    /// Where an id's pending transition is kept; `None` for an unknown id.
    pub(crate) fn pending_mut(&mut self, id: &str) -> Option<&mut Option<Pending>> {
        if !self.busy.contains(id)
            && let Some((id, _)) = self.entries.get_key_value(id)
        {
            self.busy.insert(id.clone());
        }
        self.entries.get_mut(id).map(|entry| &mut entry.pending)
    }

    /// A partition's marker is written: it is not owed any more. Returns whether none is. Neither
    /// index depends on the partitions, so this does not go through [`put`](Self::put).
    pub(crate) fn marker_written(&mut self, id: &str, partition: &TopicPartition) -> bool {
        let Some(entry) = self.entries.get_mut(id) else { return false };
        let Some(Pending::Markers { owed, .. }) = &mut entry.pending else { return false };
        owed.remove(partition);
        entry.metadata.partitions.remove(partition);
        owed.is_empty()
    }

    /// Takes partitions out of an id's transaction; neither index depends on them.
    pub(crate) fn forget(&mut self, id: &str, partitions: &[TopicPartition]) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        entry.metadata.partitions.retain(|to| !partitions.contains(to));
    }

    /// As [`forget`](Self::forget), when the pending transition has ended.
    pub(crate) fn forget_later(&mut self, id: &str, partitions: Vec<TopicPartition>) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.gone.extend(partitions);
        }
    }

    /// Does what [`forget_later`](Self::forget_later) put off; whether there was anything.
    pub(crate) fn forget_left(&mut self, id: &str) -> bool {
        let Some(entry) = self.entries.get_mut(id) else { return false };
        let gone = core::mem::take(&mut entry.gone);
        let before = entry.metadata.partitions.len();
        entry.metadata.partitions.retain(|to| !gone.contains(to));
        entry.metadata.partitions.len() < before
    }

    /// Open transactions that are overdue, the oldest first.
    pub(crate) fn overdue(&self, now_ms: i64) -> impl Iterator<Item = &Arc<str>> {
        self.deadlines.iter().take_while(move |(due, _)| *due < now_ms).map(|(_, id)| id)
    }

    /// Ids whose last update is not after `bound_ms`, the oldest first.
    pub(crate) fn idle_since(&self, bound_ms: i64) -> impl Iterator<Item = &Arc<str>> {
        self.idle.iter().take_while(move |(at, _)| *at <= bound_ms).map(|(_, id)| id)
    }

    pub(crate) fn has_deadlines(&self) -> bool {
        !self.loading && !self.deadlines.is_empty()
    }

    pub(crate) fn has_idle(&self) -> bool {
        !self.loading && !self.idle.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::txn::TxnState;

    #[test]
    fn looking_for_the_transactions_of_a_topic_costs_what_is_busy_and_not_what_exists() {
        let mut shard = Shard::new(1, 1);
        for index in 0..1_000 {
            let id: Arc<str> = Arc::from(alloc::format!("idle-{index}"));
            shard.put(&id, Metadata::new(index, 60_000, 0));
            *shard.pending_mut(&id).unwrap() = None;
        }
        let busy: Arc<str> = Arc::from("busy");
        let mut metadata = Metadata::new(7, 60_000, 0);
        metadata.state = TxnState::Ongoing;
        metadata.partitions.insert(TopicPartition::new("t", 0));
        shard.put(&busy, metadata);
        assert!(shard.busy().map(|(id, _)| id).eq([&busy]));
        assert_eq!(shard.busy.len(), 1, "the idle ones are not looked at again");
        shard.forget("busy", &[TopicPartition::new("t", 0)]);
        assert_eq!(shard.busy().count(), 0);
    }
}
