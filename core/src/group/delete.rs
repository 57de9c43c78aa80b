//! Taking offsets away: a group that is deleted, partitions whose topic was deleted. Both write
//! tombstones; memory changes when those are persisted.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::io::RequestId;
use crate::types::TopicPartition;

use super::records::GroupKey;
use super::{
    Entry, GroupCoordinator, GroupError, GroupId, GroupReply, GroupState, InFlight, Phase, Purpose,
};

impl GroupCoordinator {
    /// Deletes a group with its offsets. While that is being written the group is Dead. The
    /// answer comes as [`GroupReply::Deleted`]. A group with offsets of open transactions, also
    /// those that are still being written, is not empty.
    pub fn delete_group(&mut self, to: RequestId, group: &GroupId) {
        match self.check_delete(group) {
            Ok((partition, entries)) => {
                let purpose = Purpose::Delete { to, group: group.clone() };
                self.append(InFlight { partition, txn: None, entries, purpose });
            }
            Err(error) => self.reply(to, GroupReply::Deleted(Err(error))),
        }
    }

    fn check_delete(&self, group: &GroupId) -> Result<(i32, Vec<Entry>), GroupError> {
        let partition = self.coordinator_for(group)?;
        match self.state(group) {
            None => return Err(GroupError::GroupIdNotFound),
            Some(GroupState::Dead) => return Err(GroupError::Dead),
            Some(GroupState::Empty) => {}
        }
        let Some(Phase::Active(shard)) = self.shards.get(&partition) else {
            return Err(GroupError::NotCoordinator);
        };
        let found = shard.group(group).ok_or(GroupError::GroupIdNotFound)?;
        if !found.open.is_empty() || self.is_being_written(group) {
            return Err(GroupError::NonEmptyGroup);
        }
        let offsets = found.committed.keys().map(|tp| Entry {
            key: GroupKey::Offset { group: group.clone(), tp: tp.clone() },
            value: None,
        });
        let whole = Entry { key: GroupKey::Classic(group.clone()), value: None };
        Ok((partition, offsets.chain([whole]).collect()))
    }

    /// Forgets the offsets of partitions that were deleted, in every group of this node,
    /// committed and pending ones. Nobody waits for it; a failed write leaves the offsets, which
    /// the topic id keeps from being served for a namesake.
    pub fn partitions_deleted(&mut self, deleted: &[TopicPartition]) {
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
            self.append(InFlight { partition, txn: None, entries, purpose: Purpose::Cleanup });
        }
    }
}
