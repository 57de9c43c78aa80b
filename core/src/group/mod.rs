//! The group coordinator: members of classic and of consumer groups, and committed offsets, kept
//! in `__consumer_offsets`.
//!
//! Calls go in, [`GroupEffect`]s come out; the coordinator never touches a partition itself.
//! Membership is in [`classic`] and in [`consumer`] (KIP-848); a group without members (Kafka's
//! simple group) accepts offsets of whoever names no generation.
//!
//! # Rules
//! * Offsets change only when the record is persisted: in [`GroupCoordinator::appended`] with
//!   `Ok`, in [`GroupCoordinator::marker`], and while loading. All three go through the same
//!   replay, so memory equals a replay of the log (spec 9.4). A failed append leaves nothing
//!   behind (P27).
//! * Members of classic groups come and go in memory only, as in Kafka; what was assigned to them
//!   counts when it is persisted. Those of consumer groups are in the log with all they do.
//! * The caller reports persisted appends and markers of one partition in the order of the log.
//! * Offsets of a transaction become visible at its marker, unless the log holds a newer commit.

mod classic;
mod commit;
mod consumer;
mod delete;
mod error;
mod expiry;
mod fetch;
pub mod fuzz;
mod metadata_record;
#[cfg(test)]
mod model_tests;
mod offsets;
pub mod records;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use self::classic::{Assignment, Classic, Replacing, Timers};
use self::consumer::{ConsumerRecord, Topics};
use self::metadata_record::GroupMetadata;
use self::offsets::{Group, Shard};
use self::records::{GroupKey, OffsetValue};
use crate::batch::BatchHeader;
use crate::codec::RecordFault;
use crate::error::ErrorCode;
use crate::io::RequestId;
use crate::meta::IdSource;
use crate::time::Now;
use crate::types::{
    Decision, Offset, ProducerId, TopicId, TopicName, TopicPartition, partition_for,
};

pub use self::classic::{
    DescribedGroup, DescribedMember, Heartbeat, JoinGroup, JoinReply, JoinedMember, LeaveReply,
    LeavingMember, ListedGroup, MemberId, Protocol, SyncGroup, Synced,
};
pub use self::commit::{CommitPartition, OffsetCommit, TxnOffsets};
pub use self::consumer::{
    ConsumerBeat, ConsumerConfig, ConsumerHeartbeat, ConsumerKey, ConsumerState, DescribedConsumer,
    DescribedConsumerGroup, OwnSettings, Partitions,
};
pub use self::error::GroupError;
pub use self::fetch::{Fetched, FetchedOffset};

/// A group's id. OffsetCommit and OffsetFetch accept "", TxnOffsetCommit does not.
pub type GroupId = Arc<str>;

/// Names an append of the group coordinator until its result comes back; never reused in one
/// life of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppendId(pub u64);

/// What the coordinator reads of the broker's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupConfig {
    /// `offsets.topic.num.partitions`; must not change once the topic exists.
    pub partitions: i32,
    /// `offset.metadata.max.bytes`, which Kafka counts in UTF-16 units.
    pub offset_metadata_units_max: usize,
    /// `offsets.retention.minutes`, in ms: how long an offset without an expire timestamp of its
    /// own is kept after its commit.
    pub offsets_retention_ms: i64,
    /// `group.initial.rebalance.delay.ms`: how long an empty group's first members are waited
    /// for, in ms.
    pub initial_rebalance_delay_ms: i32,
    /// `group.min.session.timeout.ms`, in ms.
    pub session_timeout_min_ms: i32,
    /// `group.max.session.timeout.ms`, in ms.
    pub session_timeout_max_ms: i32,
    /// `group.max.size`: most members of a group.
    pub members_max: usize,
    /// Of consumer groups.
    pub consumer: ConsumerConfig,
    /// What member ids are drawn from; differs in each life of a node.
    pub entropy: u128,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            partitions: 50,
            offset_metadata_units_max: 4096,
            offsets_retention_ms: 10_080 * 60_000,
            initial_rebalance_delay_ms: 3_000,
            session_timeout_min_ms: 6_000,
            session_timeout_max_ms: 1_800_000,
            members_max: i32::MAX as usize,
            consumer: ConsumerConfig::default(),
            entropy: 0,
        }
    }
}

/// What the coordinator wants done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GroupEffect {
    /// Append one batch to a partition of `__consumer_offsets`, origin coordinator; the result
    /// comes back through [`GroupCoordinator::appended`].
    Append {
        /// Comes back with the result.
        id: AppendId,
        /// The partition of `__consumer_offsets`.
        partition: i32,
        /// Keys and values; a null value is a tombstone.
        records: Vec<(Bytes, Option<Bytes>)>,
        /// For offsets of a transaction, whose: the batch is transactional, with sequence -1.
        txn: Option<TxnOffsets>,
    },
    /// Answer a request.
    Reply {
        /// The request.
        to: RequestId,
        /// Its answer.
        reply: GroupReply,
    },
}

/// How it went for each partition, in the order of the request.
pub type PartitionResults = Vec<(TopicPartition, Result<(), GroupError>)>;

/// An answer of the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GroupReply {
    /// To [`GroupCoordinator::commit`] and [`GroupCoordinator::commit_txn`]: one result for each
    /// partition asked for, in the order of the request.
    Commit(PartitionResults),
    /// To [`GroupCoordinator::delete_group`]: which group, and how it went.
    Deleted(GroupId, Result<(), GroupError>),
    /// To [`GroupCoordinator::delete_offsets`]: one result for each partition asked for.
    OffsetsDeleted(Result<PartitionResults, GroupError>),
    /// To [`GroupCoordinator::join`].
    Join(Box<JoinReply>),
    /// To [`GroupCoordinator::sync`].
    Sync(Result<Synced, GroupError>),
    /// To [`GroupCoordinator::leave`].
    Leave(Box<LeaveReply>),
    /// To [`GroupCoordinator::consumer_heartbeat`].
    ConsumerHeartbeat(Box<Result<ConsumerBeat, GroupError>>),
}

impl GroupReply {
    /// What is answered instead, when this cannot be.
    fn refused(self, error: GroupError) -> Self {
        match self {
            Self::Join(reply) => Self::Join(Box::new(JoinReply::refused(reply.member, error))),
            Self::Sync(_) => Self::Sync(Err(error)),
            Self::Leave(_) => {
                Self::Leave(Box::new(LeaveReply { result: Err(error), members: Vec::new() }))
            }
            Self::ConsumerHeartbeat(_) => Self::ConsumerHeartbeat(Box::new(Err(error))),
            Self::Commit(_) | Self::Deleted(..) | Self::OffsetsDeleted(_) => self,
        }
    }
}

/// The state of a group, by Kafka's names. A group that never was has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupState {
    /// It has no members.
    Empty,
    /// Its members are to join.
    PreparingRebalance,
    /// They have joined and wait for their leader's assignment.
    CompletingRebalance,
    /// They have their assignment.
    Stable,
    /// Its deletion is being written.
    Dead,
}

impl GroupState {
    /// The state's name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        }
    }
}

/// One batch of a partition as it is loaded.
#[derive(Clone, Copy, Debug)]
pub enum LoadedBatch<'a> {
    /// A data batch: offset, key and value of each record. Records without key are skipped.
    Records(&'a [(Offset, Option<Bytes>, Option<Bytes>)]),
    /// A control batch with a transaction marker.
    Marker(Decision),
}

/// Where a partition of `__consumer_offsets` is with this node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Loading(Shard),
    Active(Shard),
    /// A record could not be read: answered as not coordinated here, never in part.
    Failed,
}

/// A group of a partition that is served here. Of the shards alone, so that the caller has the rest
/// of the coordinator for itself.
fn group_in<'s>(
    shards: &'s mut BTreeMap<i32, Phase>,
    partition: i32,
    id: &str,
) -> Option<&'s mut Group> {
    let Some(Phase::Active(shard)) = shards.get_mut(&partition) else { return None };
    shard.group_mut(id)
}

/// A record, decoded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry {
    key: GroupKey,
    value: Option<Value>,
}

/// A record's value, decoded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Value {
    Offset(OffsetValue),
    Group(Box<GroupMetadata>),
    Consumer(Box<ConsumerRecord>),
}

impl Entry {
    fn is_of(&self, group: &str) -> bool {
        match &self.key {
            GroupKey::Offset { group: other, .. }
            | GroupKey::Classic(other)
            | GroupKey::Consumer { group: other, .. } => **other == *group,
            GroupKey::Other(_) => false,
        }
    }
}

/// What an append in flight is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Purpose {
    Commit {
        to: RequestId,
        answer: PartitionResults,
    },
    Delete {
        to: RequestId,
        group: GroupId,
    },
    DeleteOffsets {
        to: RequestId,
        answer: PartitionResults,
    },
    Cleanup,
    /// A group that came to be with a Join.
    Created,
    /// A group whose last member is gone; the Leave that took it, if one did.
    Emptied {
        leaving: Option<(RequestId, Box<LeaveReply>)>,
    },
    /// A generation's assignment.
    Assigned {
        group: GroupId,
        assignment: Assignment,
    },
    /// A decision about a consumer group, already taken in memory; who waits for it.
    Consumer {
        group: GroupId,
        waiting: Vec<(RequestId, GroupReply)>,
    },
    /// A static member that came back.
    Replaced {
        to: RequestId,
        join: Box<JoinGroup>,
        replacing: Replacing,
    },
}

/// Most bytes of members' metadata and assignments in one record: more could not be written.
const RECORD_BYTES_MAX: usize = 64 << 20;

/// An append whose result is not known yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct InFlight {
    partition: i32,
    txn: Option<TxnOffsets>,
    entries: Vec<Entry>,
    purpose: Purpose,
}

impl InFlight {
    /// Whether it holds a decision about this consumer group.
    fn decides(&self, partition: i32, id: &GroupId) -> bool {
        let of_group = matches!(&self.purpose, Purpose::Consumer { group, .. } if group == id);
        of_group && self.partition == partition
    }
}

/// The coordinator of every group whose partition of `__consumer_offsets` this node leads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupCoordinator {
    config: GroupConfig,
    shards: BTreeMap<i32, Phase>,
    in_flight: BTreeMap<AppendId, InFlight>,
    next_append: u64,
    effects: VecDeque<GroupEffect>,
    timers: Timers,
    /// Groups whose deletion is being written.
    dying: BTreeSet<GroupId>,
    ids: IdSource,
    topics: Topics,
    /// Groups with settings of their own.
    own_settings: BTreeMap<GroupId, OwnSettings>,
}

impl GroupCoordinator {
    /// A coordinator that owns nothing yet.
    #[must_use]
    pub const fn new(config: GroupConfig) -> Self {
        Self {
            config,
            shards: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            next_append: 0,
            effects: VecDeque::new(),
            timers: Timers::new(),
            dying: BTreeSet::new(),
            // Apart from the ids of topics, which are drawn from the same entropy.
            ids: IdSource::new(config.entropy ^ 0x6d65_6d62_6572_6964),
            topics: Topics::new(),
            own_settings: BTreeMap::new(),
        }
    }

    /// The next thing to be done, in order.
    pub fn poll_effect(&mut self) -> Option<GroupEffect> {
        self.effects.pop_front()
    }

    /// Begins loading a partition; until [`Self::loaded`], requests for it are told so.
    pub fn load(&mut self, partition: i32) {
        self.resign(partition);
        self.shards.insert(partition, Phase::Loading(Shard::default()));
    }

    /// Takes one batch of a partition that is loading, in the order of the log.
    ///
    /// # Errors
    /// When a record is not what its type says. The partition then stays unserved: an offset
    /// that cannot be read is never taken for one that is not there.
    pub fn load_batch(
        &mut self,
        partition: i32,
        header: &BatchHeader,
        batch: LoadedBatch<'_>,
    ) -> Result<(), RecordFault> {
        let Some(Phase::Loading(shard)) = self.shards.get_mut(&partition) else {
            return Ok(());
        };
        let loaded = load_into(shard, header, batch);
        if loaded.is_err() {
            crate::mark!(GroupLoadFailed);
            self.shards.insert(partition, Phase::Failed);
        }
        loaded
    }

    /// The last batch was loaded: the partition is served from here on.
    /// Its members' sessions begin again.
    pub fn loaded(&mut self, now: Now, partition: i32) {
        if let Some(phase) = self.shards.get_mut(&partition)
            && let Phase::Loading(shard) = phase
        {
            *phase = Phase::Active(core::mem::take(shard));
            self.start_sessions(now, partition);
        }
    }

    /// The partition is another node's now: its memory goes, whoever waits is told.
    pub fn resign(&mut self, partition: i32) {
        self.drop_members(partition);
        self.shards.remove(&partition);
        let ids = self.in_flight.iter().filter(|(_, one)| one.partition == partition);
        let ids: Vec<AppendId> = ids.map(|(id, _)| *id).collect();
        for id in ids {
            if let Some(in_flight) = self.in_flight.remove(&id) {
                self.refuse(in_flight.purpose, GroupError::NotCoordinator);
            }
        }
    }

    /// The partition of `__consumer_offsets` that `group` belongs to.
    ///
    /// # Errors
    /// When that partition is loading or not here.
    pub fn coordinator_for(&self, group: &str) -> Result<i32, GroupError> {
        let partition = partition_for(group, self.config.partitions);
        match self.shards.get(&partition) {
            Some(Phase::Active(_)) => Ok(partition),
            Some(Phase::Loading(_)) => Err(GroupError::Loading),
            Some(Phase::Failed) | None => Err(GroupError::NotCoordinator),
        }
    }

    /// The state of a classic group; `None` when there is none (or it is not coordinated here).
    #[must_use]
    pub fn state(&self, group: &str) -> Option<GroupState> {
        let partition = partition_for(group, self.config.partitions);
        let Some(Phase::Active(shard)) = self.shards.get(&partition) else { return None };
        let found = shard.group(group).filter(|found| found.consumer.is_none());
        found.map(|found| self.state_of(group, found))
    }

    /// A topic is there, or has this many partitions now, as of an offset of the metadata log.
    pub fn topic_changed(&mut self, name: &TopicName, id: TopicId, partitions: i32, at: Offset) {
        self.topics.put(name, id, partitions, u64::try_from(at).unwrap_or(0));
    }

    /// A topic is gone, as of an offset of the metadata log.
    pub fn topic_gone(&mut self, id: TopicId, at: Offset) {
        self.topics.remove(id, u64::try_from(at).unwrap_or(0));
    }

    /// A group has these settings of its own from here on. Timers that are running keep theirs.
    pub fn settings_changed(&mut self, group: &GroupId, own: OwnSettings) {
        if own == OwnSettings::default() {
            self.own_settings.remove(group);
        } else {
            self.own_settings.insert(group.clone(), own);
        }
    }

    /// What holds for a consumer group.
    fn consumer_config(&self, group: &str) -> ConsumerConfig {
        let own = self.own_settings.get(group);
        own.map_or(self.config.consumer, |own| self.config.consumer.with(own))
    }

    fn state_of(&self, group: &str, found: &Group) -> GroupState {
        if self.dying.contains(group) { GroupState::Dead } else { found.classic.state }
    }

    fn knows(&self, partition: i32, group: &str) -> bool {
        matches!(self.shards.get(&partition), Some(Phase::Active(shard)) if shard.group(group).is_some())
    }

    /// An append is persisted, its batch beginning at the given offset, or has failed with the
    /// log's code. An id that is not known any more (the partition was resigned) is no error.
    pub fn appended(&mut self, now: Now, id: AppendId, result: Result<Offset, ErrorCode>) {
        let Some(in_flight) = self.in_flight.remove(&id) else { return };
        let outcome = match result {
            Ok(base_offset) => {
                if let Purpose::Delete { group, .. } = &in_flight.purpose {
                    self.in_group(now, in_flight.partition, group, Classic::drop_pending);
                }
                let producer = in_flight.txn.map(|txn| txn.producer_id);
                let is_decided = matches!(in_flight.purpose, Purpose::Consumer { .. });
                if !is_decided
                    && let Some(Phase::Active(shard)) = self.shards.get_mut(&in_flight.partition)
                {
                    for (offset, entry) in (base_offset..).zip(&in_flight.entries) {
                        match &entry.value {
                            // Members are ahead of their record.
                            Some(Value::Group(_) | Value::Consumer(_)) => {}
                            Some(Value::Offset(value)) => {
                                shard.replay(offset, producer, &entry.key, Some(value));
                            }
                            None => shard.replay(offset, producer, &entry.key, None),
                        }
                    }
                }
                Ok(())
            }
            Err(code) => {
                crate::mark!(GroupAppendFailed);
                Err(GroupError::Log(code))
            }
        };
        if let Purpose::Consumer { group, .. } = &in_flight.purpose {
            let (partition, entries) = (in_flight.partition, &in_flight.entries);
            self.decision_written(now, partition, group, (id, entries), outcome);
        }
        self.answer(now, in_flight.partition, in_flight.purpose, outcome);
    }

    /// A transaction marker is persisted in a partition of `__consumer_offsets`.
    pub fn marker(&mut self, partition: i32, producer_id: ProducerId, decision: Decision) {
        if let Some(Phase::Active(shard)) = self.shards.get_mut(&partition) {
            shard.marker(producer_id, decision);
        }
    }

    fn append(&mut self, now: Now, in_flight: InFlight) {
        let id = AppendId(self.next_append);
        self.next_append += 1;
        let too_large = in_flight.entries.iter().any(|entry| {
            let bytes = match &entry.value {
                Some(Value::Group(group)) => group.payload_bytes(),
                Some(Value::Consumer(record)) => record.payload_bytes(),
                Some(Value::Offset(_)) | None => 0,
            };
            bytes > RECORD_BYTES_MAX
        });
        if too_large {
            self.in_flight.insert(id, in_flight);
            return self.appended(now, id, Err(ErrorCode::RecordListTooLarge));
        }
        let encode = |entry: &Entry| {
            let value = entry.value.as_ref().map(|value| match value {
                Value::Offset(offset) => offset.encode(),
                Value::Group(group) => group.encode(),
                Value::Consumer(record) => record.encode(),
            });
            (entry.key.encode(), value)
        };
        self.effects.push_back(GroupEffect::Append {
            id,
            partition: in_flight.partition,
            records: in_flight.entries.iter().map(encode).collect(),
            txn: in_flight.txn,
        });
        if let Purpose::Delete { group, .. } = &in_flight.purpose {
            self.dying.insert(group.clone());
        }
        self.in_flight.insert(id, in_flight);
    }

    /// Goes on with what waited for an append.
    fn answer(
        &mut self,
        now: Now,
        partition: i32,
        purpose: Purpose,
        outcome: Result<(), GroupError>,
    ) {
        match (purpose, outcome) {
            (Purpose::Assigned { group, assignment }, outcome) => {
                self.assigned(now, partition, &group, &assignment, outcome);
            }
            (purpose, Err(error)) => {
                if let Purpose::Replaced { replacing, .. } = &purpose {
                    self.not_replaced(now, replacing);
                }
                self.refuse(purpose, error);
            }
            (Purpose::Consumer { waiting, .. }, Ok(())) => {
                for (to, reply) in waiting {
                    self.reply(to, reply);
                }
            }
            (Purpose::Commit { to, answer }, Ok(())) => self.reply(to, GroupReply::Commit(answer)),
            (Purpose::Delete { to, group }, Ok(())) => {
                self.dying.remove(&group);
                self.reply(to, GroupReply::Deleted(group, Ok(())));
            }
            (Purpose::DeleteOffsets { to, answer }, Ok(())) => {
                self.reply(to, GroupReply::OffsetsDeleted(Ok(answer)));
            }
            (Purpose::Emptied { leaving: Some((to, reply)) }, Ok(())) => {
                self.reply(to, GroupReply::Leave(reply));
            }
            (Purpose::Replaced { to, join, replacing }, Ok(())) => {
                self.replaced(now, to, *join, &replacing);
            }
            (Purpose::Cleanup | Purpose::Created | Purpose::Emptied { .. }, Ok(())) => {}
        }
    }

    /// What was to be written was not: whoever waits for it is told. Members stay as they are.
    fn refuse(&mut self, purpose: Purpose, error: GroupError) {
        match purpose {
            Purpose::Commit { to, mut answer } => {
                for (_, result) in &mut answer {
                    *result = result.and(Err(error));
                }
                self.reply(to, GroupReply::Commit(answer));
            }
            Purpose::Delete { to, group } => {
                self.dying.remove(&group);
                self.reply(to, GroupReply::Deleted(group, Err(error)));
            }
            Purpose::DeleteOffsets { to, .. } => {
                self.reply(to, GroupReply::OffsetsDeleted(Err(error)));
            }
            Purpose::Emptied { leaving: Some((to, mut reply)) } => {
                *reply = LeaveReply { result: Err(error), members: Vec::new() };
                self.reply(to, GroupReply::Leave(reply));
            }
            Purpose::Consumer { waiting, .. } => {
                for (to, reply) in waiting {
                    self.reply(to, reply.refused(error));
                }
            }
            Purpose::Replaced { to, join, .. } => {
                let reply = Box::new(JoinReply::refused(join.member, error));
                self.reply(to, GroupReply::Join(reply));
            }
            // The Join that founded the group goes on: what counts is written with its assignment.
            Purpose::Created
            | Purpose::Emptied { .. }
            | Purpose::Assigned { .. }
            | Purpose::Cleanup => {}
        }
    }

    fn reply(&mut self, to: RequestId, reply: GroupReply) {
        self.effects.push_back(GroupEffect::Reply { to, reply });
    }
}

fn load_into(
    shard: &mut Shard,
    header: &BatchHeader,
    batch: LoadedBatch<'_>,
) -> Result<(), RecordFault> {
    match batch {
        LoadedBatch::Marker(decision) => shard.marker(header.producer_id, decision),
        LoadedBatch::Records(records) => {
            let transactional = header.is_transactional() && header.has_producer();
            let producer = transactional.then_some(header.producer_id);
            for (offset, key, value) in records {
                let Some(key) = key else { continue };
                let key = GroupKey::decode(key)?;
                match (&key, value) {
                    (GroupKey::Offset { .. }, Some(value)) => {
                        let value = OffsetValue::decode(value)?;
                        shard.replay(*offset, producer, &key, Some(&value));
                    }
                    (GroupKey::Classic(group), Some(value)) => {
                        shard
                            .load_group(group, Classic::from_record(GroupMetadata::decode(value)?));
                    }
                    (GroupKey::Classic(group), None) => {
                        shard.load_group(group, Classic::default());
                        shard.replay(*offset, producer, &key, None);
                    }
                    (GroupKey::Consumer { group, what }, Some(value)) => {
                        let value = ConsumerRecord::decode(what, value)?;
                        shard.replay_consumer(group, what, Some(&value));
                    }
                    (_, None) => shard.replay(*offset, producer, &key, None),
                    (GroupKey::Other(_), Some(_)) => {}
                }
            }
        }
    }
    Ok(())
}
