//! Appending data and markers: the checks in Kafka's order, then the change (spec 2.1 rows 12 and
//! 19 to 25, 2.2, 2.3, 2.5, 6.4; `UnifiedLog.append`).

use super::error::AppendError;
use super::producers::ProducerEntry;
use super::undo::{ProducerUndo, TxnChange, Undo};
use super::verification::{Guard, Verification};
use super::{AbortedTxn, Partition, TimestampType, markers, records};
use crate::batch::{BatchHeader, CheckedBatch, StoredBatch, control_batch, recompressed};
use crate::mark;
use crate::types::{Decision, Marker, Offset, ProducerEpoch, ProducerId};

/// Who appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A client's Produce.
    Client,
    /// A coordinator of this node: no sequences, no duplicates.
    Coordinator,
}

/// A batch that has got its place and is to be written there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NewBatch {
    /// What to write.
    pub batch: StoredBatch,
    /// Offset of its first record.
    pub base_offset: Offset,
    /// Offset of its last record.
    pub last_offset: Offset,
    /// The time the broker gave the records, in ms; -1 on CreateTime.
    pub log_append_time_ms: i64,
}

/// What became of a data batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Appended {
    /// It is new.
    New(NewBatch),
    /// It is in the log already, though perhaps not persisted yet; the answer waits for
    /// `last_offset` as the first one did.
    Duplicate {
        /// Offset of its first record.
        base_offset: Offset,
        /// Offset of its last record.
        last_offset: Offset,
        /// Its largest timestamp, in ms, which Kafka answers as the log append time, on
        /// CreateTime topics too.
        timestamp_ms: i64,
    },
}

impl Appended {
    /// Offset of its first record.
    #[must_use]
    pub const fn base_offset(&self) -> Offset {
        match self {
            Self::New(new) => new.base_offset,
            Self::Duplicate { base_offset, .. } => *base_offset,
        }
    }
}

impl Partition {
    /// Judges a data batch and gives it its place at the end of the log.
    ///
    /// # Errors
    ///
    /// An [`AppendError`] when it is refused; nothing has changed then.
    pub fn append(
        &mut self,
        now_ms: i64,
        batch: &CheckedBatch,
        origin: Origin,
        guard: Option<Guard>,
    ) -> Result<Appended, AppendError> {
        let header = batch.header();
        self.judge_size(batch.size())?;
        if header.is_control() {
            return Err(AppendError::ControlBatch);
        }
        if origin == Origin::Client {
            records::judge(&self.config, &self.topic, now_ms, batch)?;
        }
        self.judge_segment(batch.size())?;
        let entry = self.producers.get(&header.producer_id).filter(|_| header.has_producer());
        if let Some(known) = entry.filter(|_| origin == Origin::Client)
            && let Some(same) = known.duplicate_of(header)
        {
            mark!(DedupHit);
            return Ok(Appended::Duplicate {
                base_offset: same.first_offset(),
                last_offset: same.last_offset,
                timestamp_ms: same.timestamp_ms,
            });
        }
        if header.has_producer() {
            let entry = entry.unwrap_or(&ProducerEntry::UNKNOWN);
            self.judge_transaction(header, entry, guard)?;
            self.judge_sequence(header, entry, origin)?;
        }
        let batch = self.in_topics_codec(batch)?;
        let new = self.place(now_ms, batch)?;
        self.take_data(new.batch.header());
        Ok(Appended::New(new))
    }

    /// Judges a marker (spec 6.4) and gives its control batch its place at the end of the log.
    ///
    /// # Errors
    ///
    /// [`AppendError::InvalidProducerEpoch`] or [`AppendError::CoordinatorFenced`] when it is
    /// refused; nothing has changed then.
    pub fn append_marker(&mut self, now_ms: i64, marker: &Marker) -> Result<NewBatch, AppendError> {
        let known = self.producers.get(&marker.producer_id).copied();
        let mut entry = known.unwrap_or(ProducerEntry::UNKNOWN);
        markers::judge(marker, &entry)?;
        let base_offset = self.log_end;
        let log_end = base_offset.checked_add(1).ok_or(AppendError::OffsetsExhausted)?;
        let batch = control_batch(marker, now_ms).store_at(base_offset, self.leader_epoch, None);
        let first = entry.add_marker(marker.producer_epoch, marker.coordinator_epoch, now_ms);
        let verification =
            self.verifications.remove_for_marker(marker.producer_id, marker.producer_epoch);
        self.log_end = log_end;
        self.complete(marker.producer_id, first, base_offset, marker.decision);
        self.producers.insert(marker.producer_id, entry);
        let producer = Some(ProducerUndo {
            producer_id: marker.producer_id,
            entry: known,
            verification,
            transaction: first.map_or(TxnChange::None, TxnChange::Completed),
        });
        self.undo.push_back(Undo { last_offset: base_offset, producer });
        Ok(NewBatch { batch, base_offset, last_offset: base_offset, log_append_time_ms: -1 })
    }

    /// Begins the verification of a transaction before its first write here (spec 7.2).
    ///
    /// `supports_epoch_bump` says that the client speaks transaction version 2, for which the
    /// coordinator is asked even when verification is off: asking is how the partition is added.
    ///
    /// # Errors
    ///
    /// [`AppendError::InvalidProducerEpoch`] when the producer was fenced here.
    pub fn begin_verification(
        &mut self,
        now_ms: i64,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        base_sequence: i32,
        supports_epoch_bump: bool,
    ) -> Result<Verification, AppendError> {
        if !self.config.verification_enabled && !supports_epoch_bump {
            return Ok(Verification::NotNeeded);
        }
        if let Some(entry) = self.producers.get(&producer_id) {
            judge_epoch(producer_id, producer_epoch, entry)?;
            if entry.has_open_transaction(producer_epoch) {
                return Ok(Verification::NotNeeded);
            }
        }
        Ok(Verification::Needed(self.verifications.begin(
            now_ms,
            producer_id,
            producer_epoch,
            base_sequence,
            supports_epoch_bump,
        )))
    }

    /// The batch in the codec that the topic wants; its size is judged again, as in Kafka.
    fn in_topics_codec(&self, batch: &CheckedBatch) -> Result<CheckedBatch, AppendError> {
        match self.config.compression {
            Some(codec) if batch.header().compression() != Some(codec) => {
                mark!(BatchRecompressed);
                let packed = recompressed(batch, codec).ok_or(AppendError::Recompression)?;
                self.judge_size(packed.size())?;
                self.judge_segment(packed.size())?;
                Ok(packed)
            }
            _ => Ok(batch.clone()),
        }
    }

    fn judge_size(&self, size: usize) -> Result<(), AppendError> {
        let max = self.config.max_message_bytes;
        if size > usize::try_from(max).unwrap_or(0) {
            return Err(AppendError::MessageTooLarge { size, max });
        }
        Ok(())
    }

    fn judge_segment(&self, size: usize) -> Result<(), AppendError> {
        let segment_bytes = self.config.segment_bytes;
        if size > segment_bytes as usize {
            return Err(AppendError::RecordListTooLarge { size, segment_bytes });
        }
        Ok(())
    }

    /// Spec 2.1, row 24: outside a transaction of its epoch a transactional batch must be verified.
    fn judge_transaction(
        &self,
        header: &BatchHeader,
        entry: &ProducerEntry,
        guard: Option<Guard>,
    ) -> Result<(), AppendError> {
        if !header.is_transactional() || entry.has_open_transaction(header.producer_epoch) {
            return Ok(());
        }
        judge_epoch(header.producer_id, header.producer_epoch, entry)?;
        let verified = self.verifications.get(header.producer_id).map(|state| state.guard);
        if self.config.verification_enabled && (guard.is_none() || guard != verified) {
            mark!(GuardRefused);
            return Err(AppendError::NotVerified { producer_id: header.producer_id });
        }
        Ok(())
    }

    /// Spec 2.2.
    fn judge_sequence(
        &self,
        header: &BatchHeader,
        entry: &ProducerEntry,
        origin: Origin,
    ) -> Result<(), AppendError> {
        let producer_id = header.producer_id;
        judge_epoch(producer_id, header.producer_epoch, entry)?;
        if origin == Origin::Client {
            let verification = self.verifications.get(producer_id);
            if !entry.accepts_sequence(header, verification, self.log_end == 0) {
                mark!(SequenceOutOfOrder);
                let same_epoch = entry.producer_epoch == header.producer_epoch;
                let expected = if same_epoch { entry.next_sequence() } else { 0 };
                let sequence = header.base_sequence;
                return Err(AppendError::OutOfOrderSequence { producer_id, sequence, expected });
            }
        }
        if entry.current_txn_first_offset.is_some() && !header.is_transactional() {
            mark!(PlainBatchInTransaction);
            return Err(AppendError::NotTransactional { producer_id });
        }
        Ok(())
    }

    fn place(&mut self, now_ms: i64, batch: CheckedBatch) -> Result<NewBatch, AppendError> {
        let base_offset = self.log_end;
        let last_offset = base_offset
            .checked_add(i64::from(batch.header().last_offset_delta))
            .ok_or(AppendError::OffsetsExhausted)?;
        let log_end = last_offset.checked_add(1).ok_or(AppendError::OffsetsExhausted)?;
        let append_time = match self.config.timestamp_type {
            TimestampType::CreateTime => None,
            TimestampType::LogAppendTime => Some(now_ms),
        };
        self.log_end = log_end;
        let batch = batch.store_at(base_offset, self.leader_epoch, append_time);
        Ok(NewBatch {
            batch,
            base_offset,
            last_offset,
            log_append_time_ms: append_time.unwrap_or(-1),
        })
    }

    fn take_data(&mut self, stored: &BatchHeader) {
        let producer = stored.has_producer().then(|| {
            let known = self.producers.get(&stored.producer_id).copied();
            let mut entry = known.unwrap_or(ProducerEntry::UNKNOWN);
            let transaction = self.add_data(&mut entry, stored);
            self.producers.insert(stored.producer_id, entry);
            let verification = if stored.is_transactional() {
                self.verifications.remove(stored.producer_id)
            } else {
                None
            };
            ProducerUndo {
                producer_id: stored.producer_id,
                entry: known,
                verification,
                transaction,
            }
        });
        self.undo.push_back(Undo { last_offset: stored.last_offset(), producer });
    }

    /// Adds a data batch to its producer's entry, and the transaction it opens.
    pub(super) fn add_data(
        &mut self,
        entry: &mut ProducerEntry,
        stored: &BatchHeader,
    ) -> TxnChange {
        let was_open = entry.current_txn_first_offset.is_some();
        entry.add_batch(stored);
        match entry.current_txn_first_offset {
            Some(first_offset) if !was_open => {
                self.transactions.open(first_offset, stored.producer_id);
                TxnChange::Opened(first_offset)
            }
            _ => TxnChange::None,
        }
    }

    /// A marker at `marker_offset` ends the transaction with this first offset, if there is one.
    pub(super) fn complete(
        &mut self,
        producer_id: ProducerId,
        first_offset: Option<Offset>,
        marker_offset: Offset,
        decision: Decision,
    ) {
        let Some(first_offset) = first_offset else {
            mark!(MarkerWithoutTransaction);
            return;
        };
        let last_stable_offset = self.transactions.complete(first_offset, marker_offset);
        if decision == Decision::Abort {
            self.aborted.push(AbortedTxn {
                producer_id,
                first_offset,
                last_offset: marker_offset,
                last_stable_offset,
            });
        }
    }
}

fn judge_epoch(
    producer_id: ProducerId,
    producer_epoch: ProducerEpoch,
    entry: &ProducerEntry,
) -> Result<(), AppendError> {
    if producer_epoch < entry.producer_epoch {
        mark!(ProducerEpochBelow);
        let current = entry.producer_epoch;
        return Err(AppendError::InvalidProducerEpoch { producer_id, producer_epoch, current });
    }
    Ok(())
}
