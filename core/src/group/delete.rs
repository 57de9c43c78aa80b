//! Taking offsets away: those of a group that is deleted, single ones, those of partitions whose
//! topic was deleted. All write tombstones; memory changes when those are persisted.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::io::RequestId;
use crate::time::Now;
use crate::types::TopicPartition;

use super::offsets::Group;
use super::records::GroupKey;
use super::{
    Entry, GroupCoordinator, GroupError, GroupId, GroupReply, GroupState, InFlight,
    PartitionResults, Phase, Purpose,
};

impl GroupCoordinator {
    /// Deletes a group with its offsets. While that is being written the group is Dead. The
    /// answer comes as [`GroupReply::Deleted`]. A group with members is not empty, nor is one
    /// with offsets of open transactions, also those that are still being written.
    pub fn delete_group(&mut self, now: Now, to: RequestId, group: &GroupId) {
        match self.check_delete(group) {
            Ok((partition, entries)) => {
                let purpose = Purpose::Delete { to, group: group.clone() };
                self.append(now, InFlight { partition, txn: None, entries, purpose });
            }
            Err(error) => self.reply(to, GroupReply::Deleted(group.clone(), Err(error))),
        }
    }

    fn check_delete(&self, group: &GroupId) -> Result<(i32, Vec<Entry>), GroupError> {
        let (partition, found) = self.found(group)?;
        let is_idle = found.classic.state == GroupState::Empty;
        let is_left = found.consumer.as_ref().is_none_or(|one| one.members.is_empty());
        if !is_idle || !is_left || !found.open.is_empty() || self.is_being_written(group) {
            return Err(GroupError::NonEmptyGroup);
        }
        let offsets = found.committed.keys().map(|tp| Entry {
            key: GroupKey::Offset { group: group.clone(), tp: tp.clone() },
            value: None,
        });
        let whole: Vec<GroupKey> = match &found.consumer {
            None => alloc::vec![GroupKey::Classic(group.clone())],
            Some(consumer) => {
                let keys = consumer.keys().into_iter();
                keys.map(|what| GroupKey::Consumer { group: group.clone(), what }).collect()
            }
        };
        let whole = whole.into_iter().map(|key| Entry { key, value: None });
        Ok((partition, offsets.chain(whole).collect()))
    }

    /// A group that is there and is not being deleted.
    fn found(&self, group: &GroupId) -> Result<(i32, &Group), GroupError> {
        let partition = self.coordinator_for(group)?;
        let Some(Phase::Active(shard)) = self.shards.get(&partition) else {
            return Err(GroupError::NotCoordinator);
        };
        match shard.group(group) {
            Some(found) if !self.dying.contains(group) => Ok((partition, found)),
            _ => Err(GroupError::GroupIdNotFound),
        }
    }

    /// Deletes offsets of a group (OffsetDelete). The answer comes as
    /// [`GroupReply::OffsetsDeleted`]. Offsets of topics that a member subscribes to stay; a
    /// group with members that are no consumers is refused as a whole.
    pub fn delete_offsets(
        &mut self,
        now: Now,
        to: RequestId,
        group: &GroupId,
        partitions: Vec<TopicPartition>,
    ) {
        let (partition, answer, entries) = match self.check_delete_offsets(group, partitions) {
            Ok(checked) => checked,
            Err(error) => return self.reply(to, GroupReply::OffsetsDeleted(Err(error))),
        };
        if entries.is_empty() {
            return self.reply(to, GroupReply::OffsetsDeleted(Ok(answer)));
        }
        let purpose = Purpose::DeleteOffsets { to, answer };
        self.append(now, InFlight { partition, txn: None, entries, purpose });
    }

    fn check_delete_offsets(
        &self,
        group: &GroupId,
        partitions: Vec<TopicPartition>,
    ) -> Result<(i32, PartitionResults, Vec<Entry>), GroupError> {
        if group.is_empty() {
            return Err(GroupError::InvalidGroupId);
        }
        let (partition, found) = self.found(group)?;
        let classic = &found.classic;
        if classic.state != GroupState::Empty && !classic.is_of_consumers() {
            return Err(GroupError::NonEmptyGroup);
        }
        let mut answer = Vec::with_capacity(partitions.len());
        let mut entries = Vec::new();
        for tp in partitions {
            let is_subscribed = match &found.consumer {
                Some(consumer) => consumer.is_subscribed(&tp.topic),
                None => classic.is_subscribed(&tp.topic),
            };
            if is_subscribed {
                answer.push((tp, Err(GroupError::SubscribedToTopic)));
                continue;
            }
            if found.committed.contains_key(&tp) || found.open.contains_key(&tp) {
                let key = GroupKey::Offset { group: group.clone(), tp: tp.clone() };
                entries.push(Entry { key, value: None });
            }
            answer.push((tp, Ok(())));
        }
        Ok((partition, answer, entries))
    }

    /// Forgets the offsets of partitions that were deleted, in every group of this node,
    /// committed and pending ones. Nobody waits for it; a failed write leaves the offsets, which
    /// the topic id keeps from being served for a namesake.
    pub fn partitions_deleted(&mut self, now: Now, deleted: &[TopicPartition]) {
        let mut by_partition: BTreeMap<i32, Vec<Entry>> = BTreeMap::new();
        for (partition, phase) in &self.shards {
            let Phase::Active(shard) = phase else { continue };
            for (group, found) in shard.groups() {
                let held = deleted
                    .iter()
                    .filter(|tp| found.committed.contains_key(*tp) || found.open.contains_key(*tp));
                let tombstones = held.map(|tp| Entry {
                    key: GroupKey::Offset { group: group.clone(), tp: tp.clone() },
                    value: None,
                });
                by_partition.entry(*partition).or_default().extend(tombstones);
            }
        }
        for (partition, entries) in by_partition.into_iter().filter(|(_, list)| !list.is_empty()) {
            self.append(now, InFlight { partition, txn: None, entries, purpose: Purpose::Cleanup });
        }
    }
}
