//! Log cleaning: which records of a compacted partition stay (`Cleaner`, `CleanedTransactionMetadata`;
//! spec 8.9, KIP-534; report P34).
//!
//! A cleaning reads a range of whole segments twice. [`Cleaner::collect`] learns the last offset
//! of every key in its dirty part; [`Cleaner::filter`] gives the batches that stay. Both see the
//! bytes in pieces, so memory is bounded by a piece and by [`CleanPlan::map_bytes_max`].
//!
//! Each piece is a [`Job`]: a pure function of its bytes and of what the cleaner has seen before.
//! The core's thread does none of it; the driver runs jobs on a worker, the simulator in line.
//!
//! Rules:
//! * Of every key the newest record stays, unless it is a tombstone whose time is over. A record
//!   of an aborted transaction is no record of its key.
//! * A marker stays as long as a record of its transaction is left, and then until its delete
//!   horizon has passed. Control records are no keys.
//! * Every batch that a producer's entry remembers stays, if need be without records, so that
//!   sequences are known when the log is read again. Kafka keeps the last one of five.
//! * The last batch of the range stays, if need be without records: every offset below the end of
//!   the range lies at or before a batch's.

mod job;
mod keys;
#[cfg(test)]
mod tests;
mod transactions;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use bytes::Bytes;

pub use self::job::{Job, JobDone, Piece};
use self::keys::Keys;
use self::transactions::Transactions;
use crate::batch::{self, BatchHeader, CheckedBatch, Order, Record};
use crate::mark;
use crate::partition::AbortedTxn;
use crate::types::{Offset, ProducerEpoch, ProducerId};

/// What a cleaning is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CleanPlan {
    /// The wall clock in ms.
    pub now_ms: i64,
    /// How long tombstones and markers stay once they could go, in ms (`delete.retention.ms`).
    pub delete_retention_ms: i64,
    /// Everything below was cleaned before.
    pub first_dirty: Offset,
    /// Start of the range; the base offset of the first segment.
    pub start: Offset,
    /// End of the range; the base offset of a segment.
    pub end: Offset,
    /// Earlier cleanings have left holes below this offset only.
    pub holes_end: Offset,
    /// The partition's aborted transactions that reach into the range.
    pub aborted: Vec<AbortedTxn>,
    /// Last offsets of the batches that producers are remembered by.
    pub remembered: BTreeSet<Offset>,
    /// Producers without such a batch, with the epoch that their last marker gave them.
    pub fenced: BTreeMap<ProducerId, ProducerEpoch>,
    /// Bytes that the keys may take.
    pub map_bytes_max: usize,
}

/// The bytes are not batches of this log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("a batch could not be read")]
pub struct Unreadable;

/// One cleaning as far as it has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cleaner {
    plan: CleanPlan,
    keys: Keys,
    transactions: Transactions,
    order: Order,
}

impl Cleaner {
    /// A cleaning that has seen nothing yet.
    #[must_use]
    pub fn new(plan: CleanPlan) -> Self {
        Self {
            keys: Keys::new(plan.map_bytes_max, plan.first_dirty),
            transactions: Transactions::new(&plan.aborted, plan.first_dirty),
            order: Order::new(plan.start, false, plan.holes_end, plan.end),
            plan,
        }
    }

    /// The second reading begins, from the start of the range. A transaction whose marker went with
    /// the segments before it is over: nothing here would end it, and what its producer has written
    /// since would go as aborted (seed 190231).
    pub fn begin_filter(&mut self) {
        let plan = &self.plan;
        self.transactions = Transactions::new(&plan.aborted, plan.start);
        self.order = Order::new(plan.start, true, plan.holes_end, plan.end);
    }

    /// Whether there is no room for further keys: what follows is for the next cleaning.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.keys.is_full()
    }

    /// Everything below this offset is clean once the cleaning is done.
    #[must_use]
    pub fn clean_end(&self) -> Offset {
        if self.keys.is_full() {
            self.keys.latest().saturating_add(1).max(self.plan.first_dirty)
        } else {
            self.plan.end
        }
    }

    /// Learns the keys of a batch of the dirty part.
    fn collect(&mut self, batch: &CheckedBatch) -> Result<(), Unreadable> {
        let header = batch.header();
        self.is_in_order(header)?;
        if header.is_control() {
            self.transactions.marker(batch);
        } else if !self.transactions.data(header) {
            for record in batch::records(batch) {
                let record = record.map_err(|_| Unreadable)?;
                let offset = offset_of(header, &record);
                if let Some(key) = &record.key
                    && offset >= self.plan.first_dirty
                    && !self.keys.put(key, offset)
                {
                    return Ok(());
                }
            }
        }
        self.keys.passed(header.last_offset());
        Ok(())
    }

    /// What is left of a batch; `None` when nothing is.
    fn filter(&mut self, batch: CheckedBatch) -> Result<Option<CheckedBatch>, Unreadable> {
        let header = *batch.header();
        self.is_in_order(&header)?;
        let needless = if header.is_control() {
            self.transactions.marker(&batch)
        } else {
            self.transactions.data(&header)
        };
        let overdue = header.delete_horizon_ms().is_some_and(|at| at <= self.plan.now_ms);
        let dropped = needless && (!header.is_control() || overdue);
        let mut kept: Vec<Record> = Vec::new();
        if !dropped {
            for record in batch::records(&batch) {
                let record = record.map_err(|_| Unreadable)?;
                if header.is_control() || self.stays(&header, &record) {
                    kept.push(record);
                }
            }
        }
        if kept.is_empty() {
            return if self.must_stay(&header) {
                if header.is_control() && header.record_count > 0 {
                    mark!(CleanedMarkerStays);
                }
                batch::emptied(&header).ok_or(Unreadable).map(Some)
            } else {
                Ok(None)
            };
        }
        let tombstones = kept.iter().any(|record| record.value.is_none());
        let horizon = ((tombstones || (needless && header.is_control()))
            && header.delete_horizon_ms().is_none())
        .then(|| self.plan.now_ms.saturating_add(self.plan.delete_retention_ms));
        if horizon.is_none() && kept.len() == usize::try_from(header.record_count).unwrap_or(0) {
            return Ok(Some(batch));
        }
        batch::rewrite(&header, &kept, horizon).ok_or(Unreadable).map(Some)
    }

    /// Whether a data record that was not aborted is its key's newest, and not a tombstone whose
    /// time is over. Records without a key go, as in Kafka.
    fn stays(&self, header: &BatchHeader, record: &Record) -> bool {
        let offset = offset_of(header, record);
        if offset > self.keys.latest() {
            return true;
        }
        let Some(key) = &record.key else { return false };
        let newest = self.keys.get(key).is_none_or(|last| offset >= last);
        let expired = header.delete_horizon_ms().is_some_and(|at| at <= self.plan.now_ms);
        newest && (record.value.is_some() || !expired)
    }

    /// A batch in another place would end up in, or end, a transaction that is not its own
    /// (seed 4317).
    fn is_in_order(&mut self, header: &BatchHeader) -> Result<(), Unreadable> {
        if self.order.admits(header) { Ok(()) } else { Err(Unreadable) }
    }

    fn must_stay(&self, header: &BatchHeader) -> bool {
        let fences = header.is_control()
            && self.plan.fenced.get(&header.producer_id) == Some(&header.producer_epoch);
        self.plan.remembered.contains(&header.last_offset())
            || fences
            || header.last_offset().saturating_add(1) == self.plan.end
    }

    /// The aborted transactions of which something is left, among those whose markers were read
    /// since the last call, in the order of the markers.
    pub fn take_aborted(&mut self) -> Vec<AbortedTxn> {
        self.transactions.take_aborted()
    }
}

fn offset_of(header: &BatchHeader, record: &Record) -> Offset {
    header.base_offset.saturating_add(i64::from(record.offset_delta))
}

/// The next batch of `bytes`; `None` when not all of it is there.
fn next_batch(bytes: &mut Bytes) -> Result<Option<CheckedBatch>, Unreadable> {
    let mut all = batch::batches(bytes.clone());
    match all.next() {
        Some(Ok(batch)) => {
            *bytes = all.rest().clone();
            Ok(Some(batch))
        }
        Some(Err(_)) => Err(Unreadable),
        None => Ok(None),
    }
}
