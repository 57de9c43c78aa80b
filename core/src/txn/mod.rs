//! The transaction coordinator: one pure machine for every partition of `__transaction_state`
//! that this node leads.
//!
//! Calls go in, [`TxnEffect`]s come out; it touches no partition, store or group. Kafka's
//! `TransactionCoordinator`, `TransactionStateManager` and `TransactionMarkerChannelManager`;
//! spec sections 3, 4.2-4.4, 5, 6.1-6.3, 8.6, 8.7, 9.2.
//!
//! # Rules
//!
//! * Memory changes only when its record is persisted ([`TxnCoordinator::appended`]); until then
//!   the transition is pending, and a failed write clears it (KAFKA-5351, KAFKA-7519, P27).
//! * A persisted decision never flips. Its markers are tried until every partition answered;
//!   Complete* is written only then (P09, P18).
//! * The answer to EndTxn leaves when the decision is persisted, before the markers.
//! * The eight states and who may follow whom are one table: [`state::LEGAL_PREDECESSORS`].

mod add;
mod append;
mod confirm;
mod describe;
mod end;
mod error;
mod expiry;
pub mod fuzz;
mod gone;
mod init;
mod list;
mod markers;
mod metadata;
mod pids;
mod records;
mod recovery;
mod shard;
pub mod state;
#[cfg(test)]
mod tests;
mod timeout;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

pub use self::describe::TxnDescription;
pub use self::error::{LogAppendError, TxnError};
pub use self::init::{InitProducerId, Initialized};
pub use self::list::{ListFilters, ListedTxn, TxnListing};
pub use self::records::{TxnRecordError, decode_key};
pub use self::state::TxnState;

use self::append::InFlight;
use self::markers::{MarkerTask, Timer};
use self::pids::ProducerIds;
use self::shard::{Entry, Shard};
use crate::io::RequestId;
use crate::time::{Now, Timestamp};
use crate::types::{Marker, ProducerEpoch, ProducerId, TopicPartition, partition_for};

/// The coordinator's settings, Kafka's names and defaults (spec 10).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TxnConfig {
    /// `transaction.state.log.num.partitions`; must not change once the topic exists.
    pub partitions: i32,
    /// `transaction.max.timeout.ms`.
    pub max_timeout_ms: i32,
    /// `transactional.id.expiration.ms`.
    pub id_expiration_ms: i64,
    /// `transaction.abort.timed.out.transaction.cleanup.interval.ms`.
    pub abort_sweep_ms: u64,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`.
    pub expiry_sweep_ms: u64,
    /// `transaction.two.phase.commit.enable`.
    pub two_phase_commit: bool,
    /// The cluster's finalized transaction.version, 0 to 2.
    pub transaction_version: i16,
    /// How large a batch of expiry tombstones may get, in bytes: the smaller of 16384 and
    /// `max.message.bytes`. A batch holds at least one.
    pub max_tombstone_batch_bytes: usize,
}

impl Default for TxnConfig {
    fn default() -> Self {
        Self {
            partitions: 50,
            max_timeout_ms: 900_000,
            id_expiration_ms: 604_800_000,
            abort_sweep_ms: 10_000,
            expiry_sweep_ms: 3_600_000,
            two_phase_commit: false,
            transaction_version: 2,
            max_tombstone_batch_bytes: 16_384,
        }
    }
}

/// One append to `__transaction_state`, numbered by the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppendId(pub u64);

/// One attempt to write one marker, numbered by the coordinator. A repeated attempt has another
/// token, so that a late answer to the first is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarkerToken(pub u64);

/// One question of a partition leader or group coordinator (KIP-890), numbered by the asker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VerifyId(pub u64);

/// Who waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TxnReplyTo {
    /// A client's request.
    Client(RequestId),
    /// A leader that verifies or adds a partition on behalf of a producer.
    Verify(VerifyId),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TxnReply {
    /// To InitProducerId: the producer id and epoch, and what was kept.
    InitProducerId(Result<Initialized, TxnError>),
    /// To AddPartitionsToTxn and AddOffsetsToTxn: one result for all partitions.
    AddPartitions(Result<(), TxnError>),
    /// To a verification: one result for each partition asked for.
    Verify(Vec<(TopicPartition, Result<(), TxnError>)>),
    /// To EndTxn: the producer id and epoch from here on (only EndTxn v5 shows them).
    EndTxn(Result<(ProducerId, ProducerEpoch), TxnError>),
}

/// What the coordinator wants done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TxnEffect {
    /// Write one batch to a partition of `__transaction_state`; the outcome comes back through
    /// [`TxnCoordinator::appended`].
    Append {
        /// Comes back with the outcome.
        id: AppendId,
        /// The partition of `__transaction_state`.
        partition: i32,
        /// Keys and values; a missing value is a tombstone.
        records: Vec<(Bytes, Option<Bytes>)>,
    },
    /// Answer a request.
    Reply {
        /// Who waits.
        to: TxnReplyTo,
        /// The answer.
        reply: TxnReply,
    },
    /// Have a partition's leader write a marker; the outcome comes back through
    /// [`TxnCoordinator::marker_done`].
    Marker {
        /// The partition of the transaction.
        to: TopicPartition,
        /// What to write.
        marker: Marker,
        /// Comes back with the outcome.
        token: MarkerToken,
    },
    /// Reserve a block of producer ids; it comes back through
    /// [`TxnCoordinator::producer_ids_allocated`] or
    /// [`TxnCoordinator::producer_ids_not_allocated`].
    AllocateProducerIds,
}

/// The transaction coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TxnCoordinator {
    config: TxnConfig,
    /// Whether a partition may be another node's without this one having heard of it.
    replaceable: bool,
    shards: BTreeMap<i32, Shard>,
    pids: ProducerIds,
    effects: VecDeque<TxnEffect>,
    appends: BTreeMap<AppendId, InFlight>,
    markers: BTreeMap<MarkerToken, MarkerTask>,
    timers: BTreeSet<(Timestamp, Timer)>,
    abort_sweep_at: Option<Timestamp>,
    expiry_sweep_at: Option<Timestamp>,
    next_append: u64,
    next_token: u64,
    next_generation: u64,
}

impl TxnCoordinator {
    /// A coordinator that leads nothing yet.
    #[must_use]
    pub fn new(config: TxnConfig) -> Self {
        Self {
            config,
            replaceable: false,
            shards: BTreeMap::new(),
            pids: ProducerIds::default(),
            effects: VecDeque::new(),
            appends: BTreeMap::new(),
            markers: BTreeMap::new(),
            timers: BTreeSet::new(),
            abort_sweep_at: None,
            expiry_sweep_at: None,
            next_append: 0,
            next_token: 0,
            next_generation: 0,
        }
    }

    /// The settings.
    #[must_use]
    pub const fn config(&self) -> &TxnConfig {
        &self.config
    }

    /// Sets the cluster's finalized transaction.version. Records written from here on have its
    /// format; what is under way goes on as it began.
    pub fn set_transaction_version(&mut self, level: i16) {
        self.config.transaction_version = level;
    }

    /// Asks for a first block of producer ids, so that the first client need not be put off.
    pub fn prefetch_producer_ids(&mut self) {
        if self.pids.wants_block() {
            self.effects.push_back(TxnEffect::AllocateProducerIds);
        }
    }

    /// A block of `count` producer ids from `first` on is reserved, durably and for this node.
    pub fn producer_ids_allocated(&mut self, first: ProducerId, count: i64) {
        self.pids.add_block(first, count);
    }

    /// No block could be reserved; the next request that needs an id asks again.
    pub fn producer_ids_not_allocated(&mut self) {
        self.pids.block_failed();
    }

    /// The next thing to do.
    pub fn poll_effect(&mut self) -> Option<TxnEffect> {
        self.effects.pop_front()
    }

    /// When [`tick`](Self::tick) is wanted, if at all.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Timestamp> {
        let open = self.shards.values().any(Shard::has_deadlines);
        let idle = self.shards.values().any(Shard::has_idle);
        [
            self.timers.first().map(|(at, _)| *at),
            self.abort_sweep_at.filter(|_| open),
            self.expiry_sweep_at.filter(|_| idle),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Does what is due: marker retries, Complete* retries, the two sweeps.
    pub fn tick(&mut self, now: Now) {
        self.fire_timers(now);
        self.sweep_timeouts(now);
        self.sweep_expired(now);
    }

    /// The partition of `__transaction_state` that a transactional id belongs to.
    #[must_use]
    pub fn partition_of(&self, transactional_id: &str) -> i32 {
        partition_for(transactional_id, self.config.partitions)
    }

    /// The rows that begin every table: empty id, loading, not owned.
    fn owned(&self, transactional_id: &str) -> Result<(i32, &Shard), TxnError> {
        if transactional_id.is_empty() {
            return Err(TxnError::InvalidRequest);
        }
        let partition = self.partition_of(transactional_id);
        match self.shards.get(&partition) {
            None => Err(TxnError::NotCoordinator),
            Some(shard) if shard.loading => Err(TxnError::LoadInProgress),
            Some(shard) => Ok((partition, shard)),
        }
    }

    /// As [`owned`](Self::owned), then: id unknown.
    fn known(&self, transactional_id: &str) -> Result<(i32, &Entry), TxnError> {
        let (partition, shard) = self.owned(transactional_id)?;
        let entry = shard.get(transactional_id).ok_or(TxnError::InvalidProducerIdMapping)?;
        Ok((partition, entry))
    }

    fn take_producer_id(&mut self) -> Result<ProducerId, TxnError> {
        let id = self.pids.take();
        self.prefetch_producer_ids();
        id
    }

    fn reply(&mut self, to: TxnReplyTo, reply: TxnReply) {
        self.effects.push_back(TxnEffect::Reply { to, reply });
    }

    /// Makes sure the sweeps that something may be due for have a time. One that has a time keeps
    /// it, though it may have passed: only the sweep itself moves on, so that a stream of requests
    /// cannot put it off.
    fn arm_sweeps(&mut self, now: Now) {
        if self.abort_sweep_at.is_none() && self.shards.values().any(Shard::has_deadlines) {
            self.abort_sweep_at = Some(now.at.after_ms(self.config.abort_sweep_ms));
        }
        if self.expiry_sweep_at.is_none() && self.shards.values().any(Shard::has_idle) {
            self.expiry_sweep_at = Some(now.at.after_ms(self.config.expiry_sweep_ms));
        }
    }
}

/// A transactional id as the machine's tables hold it.
type TransactionalId = Arc<str>;
