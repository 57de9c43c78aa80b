//! Committing offsets, in a transaction and outside of one: the checks of spec 4.5 and 14.1, and
//! the batch that is to be appended.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::codec::STRING_BYTES_MAX;
use crate::io::RequestId;
use crate::time::Now;
use crate::types::{Offset, ProducerEpoch, ProducerId, TopicId, TopicPartition};

use super::records::{GroupKey, OffsetValue};
use super::{
    Entry, GroupCoordinator, GroupError, GroupId, GroupReply, GroupState, InFlight, Phase, Purpose,
    Value,
};

/// Offsets to commit, as OffsetCommit and TxnOffsetCommit ask for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OffsetCommit {
    /// The group.
    pub group: GroupId,
    /// Generation or member epoch, -1 for none.
    pub generation: i32,
    /// The member, "" for none.
    pub member: Arc<str>,
    /// The static member, if any.
    pub instance: Option<Arc<str>>,
    /// How long to keep the offsets, in ms; -1 counts as none. Only OffsetCommit v2 to v4.
    pub retention_ms: Option<i64>,
    /// The request's version: newer ones get GROUP_ID_NOT_FOUND (TxnOffsetCommit from v6,
    /// OffsetCommit from v9) where older ones get ILLEGAL_GENERATION.
    pub version: i16,
    /// The partitions; the caller has checked that they exist.
    pub partitions: Vec<CommitPartition>,
}

/// One partition of an [`OffsetCommit`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommitPartition {
    /// The partition.
    pub tp: TopicPartition,
    /// Its topic's current id, zero when unknown.
    pub topic_id: TopicId,
    /// The offset to go on from.
    pub offset: Offset,
    /// Leader epoch of the last consumed record, or -1.
    pub leader_epoch: i32,
    /// What to keep beside the offset.
    pub metadata: Option<Arc<str>>,
}

/// The transaction that offsets are committed in, verified by the caller (spec 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TxnOffsets {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: ProducerEpoch,
    /// The number of the verification's guard, handed through to the append.
    pub guard: Option<u64>,
}

/// First version of TxnOffsetCommit that knows GROUP_ID_NOT_FOUND (KIP-1319).
const TXN_VERSION_GROUP_NOT_FOUND: i16 = 6;
/// First version of TxnOffsetCommit that knows STALE_MEMBER_EPOCH (KIP-1319).
const TXN_VERSION_STALE_EPOCH: i16 = 6;
/// First version of OffsetCommit that knows GROUP_ID_NOT_FOUND (KIP-848).
const VERSION_GROUP_NOT_FOUND: i16 = 9;

/// Who was a member and is none any more, or was one in another generation (P21).
fn mark_zombie(error: &GroupError) {
    if matches!(
        error,
        GroupError::IllegalGeneration
            | GroupError::StaleMemberEpoch
            | GroupError::UnknownMember
            | GroupError::FencedInstance
    ) {
        crate::mark!(GroupTxnCommitOfZombie);
    }
}

impl GroupCoordinator {
    /// Commits offsets outside of a transaction (OffsetCommit). The answer comes as
    /// [`GroupReply::Commit`] when what it promises is persisted.
    pub fn commit(&mut self, now: Now, to: RequestId, commit: &OffsetCommit) {
        let checked = self.coordinator_for(&commit.group).and_then(|partition| {
            self.check_commit(partition, commit, false)?;
            self.committed_by(now, partition, &commit.group, &commit.member);
            Ok(partition)
        });
        self.write_or_refuse(now, to, commit, None, checked);
    }

    /// Stages offsets in a transaction (TxnOffsetCommit), after its verification. The answer
    /// comes as [`GroupReply::Commit`] when the staged offsets are persisted.
    pub fn commit_txn(&mut self, now: Now, to: RequestId, commit: &OffsetCommit, txn: TxnOffsets) {
        let checked = self.txn_coordinator_for(&commit.group).and_then(|partition| {
            self.check_commit(partition, commit, true).map_err(|error| {
                mark_zombie(&error);
                match error {
                    GroupError::StaleMemberEpoch if commit.version < TXN_VERSION_STALE_EPOCH => {
                        GroupError::IllegalGeneration
                    }
                    error => error,
                }
            })?;
            Ok(partition)
        });
        self.write_or_refuse(now, to, commit, Some(txn), checked);
    }

    /// The partition of `__consumer_offsets` that a TxnOffsetCommit of `group` is to be verified
    /// against; what is checked before the verification (spec 4.5).
    ///
    /// # Errors
    /// When the group id is empty, or its partition is loading or not here.
    pub fn txn_coordinator_for(&self, group: &str) -> Result<i32, GroupError> {
        let partition = self.coordinator_for(group)?;
        if group.is_empty() {
            return Err(GroupError::InvalidGroupId);
        }
        Ok(partition)
    }

    /// The tables of spec 4.5, rows 1 to 9, and of 14.1 (P21): a group without members accepts
    /// whoever names no generation, one with members its members of this generation.
    fn check_commit(
        &self,
        partition: i32,
        commit: &OffsetCommit,
        transactional: bool,
    ) -> Result<(), GroupError> {
        if commit.group.len() > STRING_BYTES_MAX {
            return Err(GroupError::InvalidGroupId);
        }
        let found = match self.shards.get(&partition) {
            Some(Phase::Active(shard)) => shard.group(&commit.group),
            _ => return Err(GroupError::NotCoordinator),
        };
        let names_nobody = commit.member.is_empty() && commit.instance.is_none();
        let not_found_from =
            if transactional { TXN_VERSION_GROUP_NOT_FOUND } else { VERSION_GROUP_NOT_FOUND };
        let Some(found) = found else {
            return match commit.generation {
                ..0 => Ok(()),
                _ if commit.version >= not_found_from => Err(GroupError::GroupIdNotFound),
                _ => Err(GroupError::IllegalGeneration),
            };
        };
        if let Some(consumer) = &found.consumer {
            if self.dying.contains(&commit.group) {
                return Err(GroupError::Dead);
            }
            return consumer.check_commit(commit, transactional);
        }
        let group = &found.classic;
        match self.state_of(&commit.group, found) {
            GroupState::Dead => return Err(GroupError::Dead),
            GroupState::Empty if commit.generation < 0 => return Ok(()),
            _ => {}
        }
        if commit.generation >= 0 || !names_nobody {
            group.check_member(&commit.member, commit.instance.as_deref())?;
            if commit.generation != group.generation {
                return Err(GroupError::IllegalGeneration);
            }
        } else if !transactional {
            return Err(GroupError::UnknownMember);
        }
        // Old clients commit in a transaction without saying who they are: that is let through.
        if !transactional && group.state == GroupState::CompletingRebalance {
            return Err(GroupError::RebalanceInProgress);
        }
        Ok(())
    }

    fn write_or_refuse(
        &mut self,
        now: Now,
        to: RequestId,
        commit: &OffsetCommit,
        txn: Option<TxnOffsets>,
        checked: Result<i32, GroupError>,
    ) {
        let partition = match checked {
            Ok(partition) => partition,
            Err(error) => {
                let refused = commit.partitions.iter().map(|p| (p.tp.clone(), Err(error)));
                return self.reply(to, GroupReply::Commit(refused.collect()));
            }
        };
        let mut answer = Vec::with_capacity(commit.partitions.len());
        let mut entries = Vec::with_capacity(commit.partitions.len());
        for part in &commit.partitions {
            match self.entry(now, commit, part) {
                Ok(entry) => {
                    answer.push((part.tp.clone(), Ok(())));
                    entries.push(entry);
                }
                Err(error) => answer.push((part.tp.clone(), Err(error))),
            }
        }
        if entries.is_empty() {
            crate::mark!(GroupCommitNothingLeft);
            return self.reply(to, GroupReply::Commit(answer));
        }
        let purpose = Purpose::Commit { to, answer };
        self.append(now, InFlight { partition, txn, entries, purpose });
    }

    fn entry(
        &self,
        now: Now,
        commit: &OffsetCommit,
        part: &CommitPartition,
    ) -> Result<Entry, GroupError> {
        let metadata = part.metadata.clone().unwrap_or_default();
        let units = metadata.encode_utf16().count();
        if units > self.config.offset_metadata_units_max || metadata.len() > STRING_BYTES_MAX {
            return Err(GroupError::MetadataTooLarge);
        }
        let retention_ms = commit.retention_ms.filter(|retention_ms| *retention_ms != -1);
        let value = OffsetValue {
            offset: part.offset,
            leader_epoch: part.leader_epoch,
            metadata,
            commit_timestamp_ms: now.wall_ms,
            expire_timestamp_ms: retention_ms
                .map(|retention_ms| now.wall_ms.saturating_add(retention_ms)),
            topic_id: part.topic_id,
        };
        let key = GroupKey::Offset { group: commit.group.clone(), tp: part.tp.clone() };
        Ok(Entry { key, value: Some(Value::Offset(value.as_written())) })
    }
}
