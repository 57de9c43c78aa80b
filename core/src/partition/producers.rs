//! What a partition remembers of one producer, and the rules that judge its next batch.
//!
//! Kafka: `ProducerStateEntry`, `ProducerAppendInfo`; spec 2.1 row 23, 2.2. Reports P01 to P04.
//! Sequences have 31 bits and wrap to 0; a batch may straddle the wrap.

use crate::batch::BatchHeader;
use crate::mark;
use crate::types::{NO_SEQUENCE, Offset, ProducerEpoch};

use super::verification::VerificationState;

/// How many batches of a producer are remembered (`ProducerStateEntry.NUM_BATCHES_TO_RETAIN`).
pub const REMEMBERED_BATCHES_MAX: usize = 5;

/// A remembered data batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BatchMeta {
    /// Sequence of its last record.
    pub last_sequence: i32,
    /// Offset of its last record.
    pub last_offset: Offset,
    /// Last offset less first offset.
    pub offset_delta: i32,
    /// Its largest timestamp, in ms.
    pub timestamp_ms: i64,
}

impl BatchMeta {
    /// Sequence of its first record.
    #[must_use]
    pub const fn first_sequence(&self) -> i32 {
        if self.last_sequence < 0 {
            self.last_sequence
        } else {
            self.last_sequence.wrapping_sub(self.offset_delta) & i32::MAX
        }
    }

    /// Offset of its first record.
    #[must_use]
    pub const fn first_offset(&self) -> Offset {
        self.last_offset.saturating_sub(self.offset_delta as i64)
    }
}

/// The newest batches of a producer, oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Window {
    // Unused places are always the default, so that equal windows are equal values.
    batches: [BatchMeta; REMEMBERED_BATCHES_MAX],
    length: u8,
}

impl Window {
    /// The remembered batches, oldest first.
    #[must_use]
    pub fn batches(&self) -> &[BatchMeta] {
        self.batches.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// The newest batch.
    #[must_use]
    pub fn last(&self) -> Option<&BatchMeta> {
        self.batches().last()
    }

    /// Remembers a batch, and forgets the oldest when there are more than five.
    pub(super) fn push(&mut self, batch: BatchMeta) {
        let length = usize::from(self.length);
        if length < REMEMBERED_BATCHES_MAX {
            self.batches[length] = batch;
            self.length += 1;
        } else {
            self.batches.rotate_left(1);
            self.batches[REMEMBERED_BATCHES_MAX - 1] = batch;
        }
    }

    /// The remembered batch with exactly these sequences.
    #[must_use]
    pub fn find(&self, first_sequence: i32, last_sequence: i32) -> Option<&BatchMeta> {
        self.batches().iter().find(|batch| {
            batch.last_sequence == last_sequence && batch.first_sequence() == first_sequence
        })
    }
}

/// What a partition knows of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProducerEntry {
    /// Its current epoch in this partition.
    pub producer_epoch: ProducerEpoch,
    /// Epoch of the coordinator that wrote the last marker, or -1.
    pub coordinator_epoch: i32,
    /// Time of the last batch or marker, in ms; what expiry counts from.
    pub last_timestamp_ms: i64,
    /// First offset of its open transaction.
    pub current_txn_first_offset: Option<Offset>,
    /// Its newest batches in this epoch.
    pub window: Window,
}

impl ProducerEntry {
    /// "No entry" behaves as this one.
    pub(super) const UNKNOWN: Self = Self {
        producer_epoch: -1,
        coordinator_epoch: -1,
        last_timestamp_ms: -1,
        current_txn_first_offset: None,
        window: Window {
            batches: [BatchMeta {
                last_sequence: 0,
                last_offset: 0,
                offset_delta: 0,
                timestamp_ms: 0,
            }; REMEMBERED_BATCHES_MAX],
            length: 0,
        },
    };

    /// Whether a transaction of exactly this epoch is open.
    pub(super) fn has_open_transaction(&self, epoch: ProducerEpoch) -> bool {
        self.current_txn_first_offset.is_some() && self.producer_epoch == epoch
    }

    /// Sequence of the newest batch, -1 without one.
    #[must_use]
    pub fn last_sequence(&self) -> i32 {
        self.window.last().map_or(NO_SEQUENCE, |batch| batch.last_sequence)
    }

    /// The remembered batch that this one repeats (spec 2.1, row 23).
    pub(super) fn duplicate_of(&self, batch: &BatchHeader) -> Option<&BatchMeta> {
        if self.producer_epoch != batch.producer_epoch {
            return None;
        }
        self.window.find(batch.base_sequence, batch.last_sequence())
    }

    /// The sequence a batch of this epoch must begin with.
    #[must_use]
    pub fn next_sequence(&self) -> i32 {
        match self.last_sequence() {
            i32::MAX => 0,
            last => last + 1,
        }
    }

    /// Rows 3 to 9 of spec 2.2, for a client's batch whose epoch is not below the entry's.
    /// `never_written` says that the log has never held a record.
    pub(super) fn accepts_sequence(
        &self,
        batch: &BatchHeader,
        verification: Option<&VerificationState>,
        never_written: bool,
    ) -> bool {
        let first = batch.base_sequence;
        if let Some(verification) = verification {
            if verification.supports_epoch_bump && first != 0 && self.window.last().is_none() {
                mark!(SequenceUnknownTv2);
                return false;
            }
            if first > verification.lowest_sequence {
                mark!(SequenceAboveVerified);
                return false;
            }
        }
        if self.producer_epoch == -1 {
            // KAFKA-15591, better than 4.4.0: on a log that never held a record nothing can have
            // been lost, so a sequence above 0 has overtaken another batch.
            if never_written && first != 0 {
                mark!(SequenceOvertookOnNewLog);
            }
            return first == 0 || !never_written;
        }
        if self.producer_epoch != batch.producer_epoch {
            return first == 0;
        }
        first == self.next_sequence()
    }

    /// Takes a data batch that is at its place in the log.
    pub(super) fn add_batch(&mut self, stored: &BatchHeader) {
        if self.producer_epoch != stored.producer_epoch {
            self.producer_epoch = stored.producer_epoch;
            self.window = Window::default();
        }
        self.window.push(BatchMeta {
            last_sequence: stored.last_sequence(),
            last_offset: stored.last_offset(),
            offset_delta: stored.last_offset_delta,
            timestamp_ms: stored.max_timestamp,
        });
        self.last_timestamp_ms = stored.max_timestamp;
        if stored.is_transactional() && self.current_txn_first_offset.is_none() {
            self.current_txn_first_offset = Some(stored.base_offset);
        }
    }

    /// Takes a marker; gives the first offset of the transaction it ends. A marker of the same
    /// epoch keeps the remembered batches (spec 2.5).
    pub(super) fn add_marker(
        &mut self,
        epoch: ProducerEpoch,
        coordinator_epoch: i32,
        timestamp_ms: i64,
    ) -> Option<Offset> {
        if self.producer_epoch != epoch {
            self.producer_epoch = epoch;
            self.window = Window::default();
        }
        self.coordinator_epoch = coordinator_epoch;
        self.last_timestamp_ms = timestamp_ms;
        self.current_txn_first_offset.take()
    }

    /// Whether the producer has been idle for too long (spec 2.6, P22).
    pub(super) const fn is_expired(&self, now_ms: i64, expiration_ms: i64) -> bool {
        self.current_txn_first_offset.is_none()
            && now_ms.saturating_sub(self.last_timestamp_ms) >= expiration_ms
    }
}
