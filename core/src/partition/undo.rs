//! Taking back appends that were not persisted.
//!
//! A partition moves its log end and its producers at the append, so that the next batch of a
//! pipelining producer is judged rightly, and remembers how things were until the append is
//! durable. A failed write takes everything back; a snapshot looks through the same list, so it
//! never holds what a crash could still take away (P28).

use alloc::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::producers::ProducerEntry;
use super::verification::VerificationState;
use super::{Partition, snapshot};
use crate::mark;
use crate::types::{Offset, ProducerId};

/// What an append did to the transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TxnChange {
    None,
    /// It opened one, at this offset.
    Opened(Offset),
    /// It completed the one with this first offset.
    Completed(Offset),
}

/// How one append's producer was before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ProducerUndo {
    pub(super) producer_id: ProducerId,
    pub(super) entry: Option<ProducerEntry>,
    pub(super) verification: Option<VerificationState>,
    pub(super) transaction: TxnChange,
}

/// One append that is not persisted yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Undo {
    pub(super) last_offset: Offset,
    /// `None` for a batch without a producer.
    pub(super) producer: Option<ProducerUndo>,
}

impl Partition {
    /// Everything up to and including `last_offset` is durable: the high watermark moves behind
    /// it, and with it the last stable offset. An offset that was persisted before, or was taken
    /// back, changes nothing.
    pub fn persisted(&mut self, last_offset: Offset) {
        let reached = last_offset.saturating_add(1).min(self.log_end);
        if reached <= self.high_watermark {
            return;
        }
        self.high_watermark = reached;
        while self.undo.front().is_some_and(|undo| undo.last_offset < reached) {
            self.undo.pop_front();
        }
        self.transactions.replicated(reached);
    }

    /// Takes back the append that holds this offset and every later one, as far as they are not
    /// persisted: the partition is as if it had never seen them, save for verifications that began
    /// since. Appends before it may still become persisted (those of a member of a cluster, which
    /// are on its disk and not confirmed).
    pub fn roll_back(&mut self, from: Offset) {
        if self.log_end <= from.max(self.high_watermark) {
            return;
        }
        mark!(PartitionRolledBack);
        while let Some(undo) = self.undo.pop_back_if(|undo| undo.last_offset >= from) {
            let Some(undo) = undo.producer else { continue };
            match undo.transaction {
                TxnChange::None => {}
                TxnChange::Opened(first_offset) => self.transactions.cancel(first_offset),
                TxnChange::Completed(first_offset) => {
                    self.transactions.reopen(first_offset, undo.producer_id);
                }
            }
            match undo.entry {
                Some(entry) => self.producers.insert(undo.producer_id, entry),
                None => self.producers.remove(&undo.producer_id),
            };
            if let Some(state) = undo.verification {
                self.verifications.put_back(undo.producer_id, state);
            }
        }
        let before = self.undo.back().map(|undo| undo.last_offset.saturating_add(1));
        if before.is_some() {
            mark!(PartitionRolledBackInPart);
        }
        self.log_end = before.unwrap_or(self.high_watermark);
        self.aborted.truncate(self.log_end);
    }

    /// The producers as of the high watermark, in Kafka's snapshot format. The snapshot belongs
    /// to the offset [`Partition::high_watermark`].
    #[must_use]
    pub fn snapshot(&self) -> Bytes {
        let mut before: BTreeMap<ProducerId, Option<&ProducerEntry>> = BTreeMap::new();
        for undo in self.undo.iter().rev().filter_map(|undo| undo.producer.as_ref()) {
            before.insert(undo.producer_id, undo.entry.as_ref());
        }
        if before.is_empty() {
            return snapshot::encode(self.producers.iter().map(|(id, entry)| (*id, entry)));
        }
        mark!(SnapshotWithAppendsInFlight);
        // A producer in flight was not expired, so the live table has all of them.
        snapshot::encode(self.producers.iter().filter_map(|(id, entry)| match before.get(id) {
            Some(before) => before.map(|entry| (*id, entry)),
            None => Some((*id, entry)),
        }))
    }

    /// Forgets producers without an open transaction that have been idle for
    /// `producer.id.expiration.ms`, and verifications that began as long ago (spec 2.6). One with
    /// an append in flight stays.
    pub fn expire_producers(&mut self, now_ms: i64) {
        let expiration_ms = self.config.producer_id_expiration_ms;
        let in_flight: BTreeSet<ProducerId> =
            self.undo.iter().filter_map(|undo| Some(undo.producer.as_ref()?.producer_id)).collect();
        let before = self.producers.len();
        self.producers
            .retain(|id, entry| in_flight.contains(id) || !entry.is_expired(now_ms, expiration_ms));
        if self.producers.len() < before {
            mark!(ProducerExpired);
        }
        self.verifications.expire(now_ms, expiration_ms);
    }
}
