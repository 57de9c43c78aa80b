//! Reading committed offsets (spec 9.5). Answered at once: memory holds exactly what is
//! persisted, and only what is persisted was ever acknowledged, so no answer is staler than an
//! acknowledgement. With `require_stable`, an offset staged in a transaction counts from its
//! append on, before it is persisted (P20).

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::types::{Offset, TopicId, TopicName, TopicPartition};

use super::offsets::Group;
use super::records::{GroupKey, OffsetValue};
use super::{GroupCoordinator, GroupError, Phase};

/// What an OffsetFetch finds for one partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FetchedOffset {
    /// A committed offset.
    Committed {
        /// The offset.
        offset: Offset,
        /// Leader epoch of the last consumed record, or -1.
        leader_epoch: i32,
        /// What the client kept beside it.
        metadata: Arc<str>,
    },
    /// No offset: -1, leader epoch -1, metadata "", and no error.
    None,
    /// An open transaction holds an offset: UNSTABLE_OFFSET_COMMIT, only with `require_stable`.
    Unstable,
}

impl FetchedOffset {
    fn of(value: &OffsetValue) -> Self {
        Self::Committed {
            offset: value.offset,
            leader_epoch: value.leader_epoch,
            metadata: value.metadata.clone(),
        }
    }
}

/// A partition and what was found for it.
pub type Fetched = (TopicPartition, FetchedOffset);

impl GroupCoordinator {
    /// The offsets of the partitions asked for, in their order; each comes with its topic's
    /// current id (zero when unknown), since an offset of a deleted namesake is none.
    ///
    /// # Errors
    /// When the group's partition is loading or not here.
    pub fn fetch(
        &self,
        group: &str,
        asked: &[(TopicPartition, TopicId)],
        require_stable: bool,
    ) -> Result<Vec<Fetched>, GroupError> {
        let found = self.find(group)?;
        let staged = self.being_staged(group, require_stable);
        let fetch = |(tp, id): &(TopicPartition, TopicId)| {
            let one = fetch_one(found, tp, *id, require_stable, &staged);
            (tp.clone(), one)
        };
        Ok(asked.iter().map(fetch).collect())
    }

    /// Whether who names a member of a consumer group may fetch; classic groups do not ask.
    ///
    /// # Errors
    /// When there is no such member, or it is in another epoch.
    pub fn check_fetch(
        &self,
        group: &str,
        member: Option<&str>,
        epoch: i32,
    ) -> Result<(), GroupError> {
        let found = self.find(group)?;
        match found.and_then(Group::persisted_consumer) {
            Some(consumer) => consumer.check_fetch(member, epoch),
            None => Ok(()),
        }
    }

    /// All offsets of a group, by partition. `topic_id` gives a topic's current id, zero when
    /// unknown. A partition without a committed offset is not listed, also when an open
    /// transaction holds one (conformance `offsets-fetch-all`).
    ///
    /// # Errors
    /// When the group's partition is loading or not here.
    pub fn fetch_all(
        &self,
        group: &str,
        topic_id: impl Fn(&TopicName) -> TopicId,
        require_stable: bool,
    ) -> Result<Vec<Fetched>, GroupError> {
        let found = self.find(group)?;
        let staged = self.being_staged(group, require_stable);
        let partitions = found.into_iter().flat_map(|found| found.committed.keys());
        let fetch = |tp: &TopicPartition| {
            (tp.clone(), fetch_one(found, tp, topic_id(&tp.topic), require_stable, &staged))
        };
        let all = partitions.map(fetch);
        Ok(all.filter(|(_, offset)| *offset != FetchedOffset::None).collect())
    }

    fn find(&self, group: &str) -> Result<Option<&Group>, GroupError> {
        let partition = self.coordinator_for(group)?;
        match self.shards.get(&partition) {
            Some(Phase::Active(shard)) => Ok(shard.group(group)),
            _ => Err(GroupError::NotCoordinator),
        }
    }

    /// Partitions of the group whose transactional offsets are appended, not yet persisted.
    fn being_staged(&self, group: &str, require_stable: bool) -> BTreeSet<&TopicPartition> {
        let entries = self
            .in_flight
            .values()
            .filter(|in_flight| require_stable && in_flight.txn.is_some())
            .flat_map(|in_flight| &in_flight.entries);
        let of_group = entries.filter_map(|entry| match &entry.key {
            GroupKey::Offset { group: other, tp } if **other == *group => Some(tp),
            _ => None,
        });
        of_group.collect()
    }
}

fn fetch_one(
    group: Option<&Group>,
    tp: &TopicPartition,
    current_id: TopicId,
    require_stable: bool,
    staged: &BTreeSet<&TopicPartition>,
) -> FetchedOffset {
    if staged.contains(tp) {
        crate::mark!(GroupFetchSeesUnpersistedStage);
        return FetchedOffset::Unstable;
    }
    let Some(group) = group else { return FetchedOffset::None };
    if require_stable && group.open.contains_key(tp) {
        return FetchedOffset::Unstable;
    }
    let Some(stored) = group.committed.get(tp) else { return FetchedOffset::None };
    let kept_id = stored.value.topic_id;
    if !kept_id.is_zero() && !current_id.is_zero() && kept_id != current_id {
        crate::mark!(GroupFetchOtherTopicId);
        return FetchedOffset::None;
    }
    FetchedOffset::of(&stored.value)
}
