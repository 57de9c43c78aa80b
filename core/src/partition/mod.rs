//! A partition as its leader sees it: what may be appended, and what may be read.
//!
//! The machine holds no record bytes; the store does. It judges batches and markers, gives them
//! their offsets, and knows how far readers of each isolation level may go. Everything it knows is
//! a fold over the log: [`Partition::recover`] gives the same from a snapshot and the log behind.
//!
//! An append takes effect at once, like Kafka's log end offset, and stands from
//! [`Partition::persisted`] on; [`Partition::roll_back`] takes back what never got there.
//! Kafka: `UnifiedLog`, `ProducerStateManager`; spec 2, 6.4, 7.2, 7.6, 8.

mod aborted_index;
mod append;
mod cleaning;
mod config;
mod describe;
mod error;
pub mod fuzz;
mod leader_epochs;
mod lso;
mod markers;
mod producers;
mod records;
mod recover;
pub mod snapshot;
mod undo;
mod verification;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use self::aborted_index::AbortedIndex;
use self::leader_epochs::LeaderEpochs;
use self::lso::Transactions;
use self::undo::Undo;
use self::verification::Verifications;
use crate::types::{Isolation, Offset, PartitionId, ProducerId, TopicPartition};

pub use self::aborted_index::AbortedTxn;
pub use self::append::{Appended, NewBatch, Origin};
pub use self::config::{LogConfig, TimestampType};
pub use self::describe::ProducerDescription;
pub use self::error::{AppendError, RecordError};
pub use self::producers::{BatchMeta, ProducerEntry, REMEMBERED_BATCHES_MAX, Window};
pub use self::verification::{Guard, Verification};

/// One partition, led by this node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partition {
    id: PartitionId,
    topic: TopicPartition,
    config: LogConfig,
    leader_epoch: i32,
    leader_epochs: LeaderEpochs,
    log_start: Offset,
    /// Up to where the log is gone for good; behind `log_start` while members are still to agree.
    deleted_to: Offset,
    log_end: Offset,
    high_watermark: Offset,
    producers: BTreeMap<ProducerId, ProducerEntry>,
    verifications: Verifications,
    transactions: Transactions,
    aborted: AbortedIndex,
    /// Appends at or above the high watermark, oldest first.
    undo: VecDeque<Undo>,
}

impl Partition {
    /// An empty log.
    #[must_use]
    pub fn new(
        id: PartitionId,
        topic: TopicPartition,
        config: LogConfig,
        leader_epoch: i32,
    ) -> Self {
        let mut leader_epochs = LeaderEpochs::default();
        leader_epochs.assign(leader_epoch, 0);
        Self {
            id,
            topic,
            config,
            leader_epoch,
            leader_epochs,
            log_start: 0,
            deleted_to: 0,
            log_end: 0,
            high_watermark: 0,
            producers: BTreeMap::new(),
            verifications: Verifications::new(leader_epoch),
            transactions: Transactions::default(),
            aborted: AbortedIndex::default(),
            undo: VecDeque::new(),
        }
    }

    /// Its identity.
    #[must_use]
    pub const fn id(&self) -> PartitionId {
        self.id
    }

    /// Its name.
    #[must_use]
    pub const fn topic(&self) -> &TopicPartition {
        &self.topic
    }

    /// Its settings.
    #[must_use]
    pub const fn config(&self) -> &LogConfig {
        &self.config
    }

    /// Changes its settings, for what comes from here on.
    pub fn set_config(&mut self, config: LogConfig) {
        self.config = config;
    }

    /// The epoch this node leads at.
    #[must_use]
    pub const fn leader_epoch(&self) -> i32 {
        self.leader_epoch
    }

    /// This node leads it at `epoch` from the log's end on.
    pub fn lead(&mut self, epoch: i32) {
        self.leader_epoch = epoch;
        self.leader_epochs.assign(epoch, self.log_end);
    }

    /// The leader epoch that a record's batch was appended in; -1 when that is unknown.
    #[must_use]
    pub fn epoch_of(&self, offset: Offset) -> i32 {
        let epochs = self.leader_epochs.entries();
        let after = epochs.partition_point(|(_, start)| *start <= offset);
        after.checked_sub(1).and_then(|at| epochs.get(at)).map_or(-1, |(epoch, _)| *epoch)
    }

    /// The leader epochs with their first offsets, ascending.
    #[must_use]
    pub fn leader_epochs(&self) -> &[(i32, Offset)] {
        self.leader_epochs.entries()
    }

    /// First offset of the log.
    #[must_use]
    pub const fn log_start(&self) -> Offset {
        self.log_start
    }

    /// Offset of the next record, persisted or not.
    #[must_use]
    pub const fn log_end(&self) -> Offset {
        self.log_end
    }

    /// Everything below is persisted.
    #[must_use]
    pub const fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    /// Everything below is persisted and decided (spec 8.1).
    #[must_use]
    pub fn last_stable_offset(&self) -> Offset {
        match self.transactions.first_unstable() {
            Some(first) => first.max(self.deleted_to).min(self.high_watermark),
            None => self.high_watermark,
        }
    }

    /// The offset that a reader's answer ends before (spec 8.3).
    #[must_use]
    pub fn fetch_bound(&self, isolation: Isolation) -> Offset {
        match isolation {
            Isolation::ReadUncommitted => self.high_watermark,
            Isolation::ReadCommitted => self.last_stable_offset(),
        }
    }

    /// The aborted transactions that an answer from `fetch_offset` up to `upper_bound` must name
    /// (spec 8.2), ascending by first offset.
    #[must_use]
    pub fn aborted_in(&self, fetch_offset: Offset, upper_bound: Offset) -> Vec<AbortedTxn> {
        self.aborted.overlapping(fetch_offset, upper_bound)
    }

    /// Aborted transactions whose markers became durable since the last call, ascending by
    /// marker, for the store's `.txnindex`. After a recovery: those the files did not have.
    pub fn drain_new_aborted(&mut self) -> Vec<AbortedTxn> {
        self.aborted.drain_below(self.high_watermark)
    }

    /// The newest leader epoch not above the one asked for, and the offset it ended at;
    /// (-1, -1) when unknown (OffsetForLeaderEpoch).
    #[must_use]
    pub fn epoch_end(&self, leader_epoch: i32) -> (i32, Offset) {
        self.leader_epochs.end_of(leader_epoch, self.log_end)
    }
}

#[cfg(test)]
mod tests;
