//! Partitions that are gone for good while a transaction has them: their topic was deleted
//! (report P24).
//!
//! A record of `__transaction_state` names partitions, not topic ids. A topic that is created
//! again under the name must get no marker of a transaction of the old one, so the partitions of
//! the old one leave their transactions with the creation: the records without them are in the
//! same turn. That the old topic is gone for good makes this the one change that memory may make
//! before its record is written. Until then the partitions stay, as Apache Kafka describes them
//! (conformance `admin-delete-topic`).

use alloc::vec;
use alloc::vec::Vec;

use super::append::Appending;
use super::markers::Timer;
use super::shard::Pending;
use super::{TransactionalId, TxnCoordinator, records};
use crate::mark;
use crate::time::Now;
use crate::types::{TopicName, TopicPartition};

impl TxnCoordinator {
    /// Takes partitions of an older topic out of every transaction. To be called in the turn that
    /// writes the creation of a topic of the same name.
    pub fn forget_partitions(&mut self, topic: &TopicName) {
        let partitions: Vec<i32> = self.shards.keys().copied().collect();
        for partition in partitions {
            let Some(shard) = self.shards.get_mut(&partition) else { continue };
            if shard.loading {
                // What was read so far may be older than what is in force: nothing is to be
                // written of it.
                mark!(TxnPartitionGoneWhileLoading);
                shard.recreated.insert(topic.clone());
            } else {
                self.forget_in(partition, topic);
            }
        }
    }

    /// A partition was loaded: what it has of topics that were created meanwhile is of older ones.
    pub(super) fn forget_recreated(&mut self, partition: i32) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        for topic in core::mem::take(&mut shard.recreated) {
            self.forget_in(partition, &topic);
        }
    }

    fn forget_in(&mut self, partition: i32, topic: &TopicName) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        let mut found: Vec<(TransactionalId, Vec<TopicPartition>)> = Vec::new();
        for (id, entry) in shard.busy() {
            let pending = match &entry.pending {
                Some(Pending::Appending { target, .. }) => Some(&target.partitions),
                _ => None,
            };
            let all = entry.metadata.partitions.iter().chain(pending.into_iter().flatten());
            let mut missing: Vec<_> = all.filter(|to| to.topic == *topic).cloned().collect();
            missing.sort();
            missing.dedup();
            if !missing.is_empty() {
                found.push((id.clone(), missing));
            }
        }
        for (id, missing) in found {
            mark!(TxnPartitionGone);
            self.forget(partition, &id, missing);
        }
    }

    fn forget(&mut self, partition: i32, id: &TransactionalId, missing: Vec<TopicPartition>) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        let owed: Vec<_> = match shard.get(id).and_then(|entry| entry.pending.as_ref()) {
            // Its record has them; when it is written, or has failed, they go.
            Some(Pending::Appending { .. }) => return shard.forget_later(id, missing),
            Some(Pending::Markers { owed, .. }) => {
                missing.iter().filter_map(|to| owed.get(to).copied()).collect()
            }
            Some(Pending::Expiring { .. }) | None => Vec::new(),
        };
        shard.forget(id, &missing);
        self.write_again(partition, id);
        for token in owed {
            if let Some(task) = self.markers.remove(&token) {
                self.marker_written(&task);
            }
        }
        self.drop_stale_timers();
    }

    /// What [`forget`](Self::forget) left for the end of a transition.
    pub(super) fn forget_now(&mut self, partition: i32, id: &TransactionalId) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        if shard.forget_left(id) {
            self.write_again(partition, id);
        }
    }

    /// Writes what is in force once more. Nothing waits for it.
    fn write_again(&mut self, partition: i32, id: &TransactionalId) {
        let Some(entry) = self.shards.get(&partition).and_then(|shard| shard.get(id)) else {
            return;
        };
        let value = records::encode_value(&entry.metadata, self.config.transaction_version);
        let record = (records::encode_key(id), Some(value));
        self.emit_append(partition, vec![record], Appending::Again(id.clone()));
    }

    /// The record could not be written: later, unless another one is on its way, which lacks the
    /// partitions as well.
    pub(super) fn not_written_again(&mut self, now: Now, partition: i32, id: TransactionalId) {
        self.after_back_off(now, 0, Timer::Again { partition, id });
    }

    pub(super) fn again(&mut self, now: Now, partition: i32, id: TransactionalId) {
        let Some(entry) = self.shards.get(&partition).and_then(|shard| shard.get(&id)) else {
            return;
        };
        match entry.pending {
            Some(Pending::Appending { .. } | Pending::Expiring { .. }) => {
                self.not_written_again(now, partition, id);
            }
            Some(Pending::Markers { .. }) | None => self.write_again(partition, &id),
        }
    }
}
