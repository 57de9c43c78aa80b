//! What the coordinator knows about one transactional id, and how each transition changes it.
//!
//! Kafka's `TransactionMetadata`, spec 5.2 (fields per transition) and 5.3 (what must hold when a
//! transition is completed). A `prepare_*` makes the *next* metadata and changes nothing: it
//! becomes the current one when its record is persisted.
//!
//! Different from Kafka on purpose: with transaction versions 0 and 1 Kafka raises the epoch in
//! memory before the abort of a fenced transaction is written, and remembers a failed write in
//! `hasFailedEpochFence` so as not to raise it twice (KAFKA-9666, report P26). Here a fence is
//! part of the prepared metadata in every version, so that a failed write changes nothing.

use alloc::collections::BTreeSet;

use super::{TxnError, TxnState};
use crate::types::{
    Decision, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ProducerEpoch, ProducerId, TopicPartition,
};

/// The start timestamp of an id without a transaction.
pub(crate) const NO_TIMESTAMP: i64 = -1;
/// From this epoch on the producer id has to be replaced (`isEpochExhausted`).
pub(crate) const EXHAUSTED_EPOCH: ProducerEpoch = ProducerEpoch::MAX - 1;
/// The timeout of a transaction that never times out (two-phase commit).
pub(crate) const NO_TIMEOUT_MS: i32 = i32::MAX;
/// The transaction version from which every transaction has an epoch of its own (KIP-890).
pub(crate) const TV2: i16 = 2;

/// The state of one transactional id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Metadata {
    /// The producer id in force.
    pub(crate) producer_id: ProducerId,
    /// The producer id before the last transition.
    pub(crate) previous_producer_id: ProducerId,
    /// The producer id that Complete* switches to; -1 if it keeps the current one. Of a kept
    /// transaction the producer id of its owner, see [`client`](Self::client).
    pub(crate) next_producer_id: ProducerId,
    /// The epoch in force; -1 for an id whose first record was not written yet.
    pub(crate) producer_epoch: ProducerEpoch,
    /// Of a kept transaction (KIP-939) the epoch of its owner, else -1.
    pub(crate) next_producer_epoch: ProducerEpoch,
    /// The owner's epoch before the last bump, to recognise a repeated request. Apache Kafka
    /// 4.4.0 forgets it at a reload (KAFKA-20357).
    pub(crate) last_producer_epoch: ProducerEpoch,
    /// After how many milliseconds an open transaction is aborted; `i32::MAX` means never.
    pub(crate) timeout_ms: i32,
    /// The state.
    pub(crate) state: TxnState,
    /// The partitions of the transaction; while prepared, those whose marker is still owed.
    pub(crate) partitions: BTreeSet<TopicPartition>,
    /// Wall clock of the last transaction's start; -1 if there was none since InitProducerId.
    pub(crate) start_ms: i64,
    /// Wall clock of the last transition.
    pub(crate) last_update_ms: i64,
    /// The transaction version of the last client, 0 or 2; the markers carry it.
    pub(crate) client_version: i16,
    /// Whether the coordinator itself aborted the last transaction (report P33).
    pub(crate) aborted_by_coordinator: bool,
}

impl Metadata {
    /// An id that has no record yet.
    pub(crate) fn new(producer_id: ProducerId, timeout_ms: i32, now_ms: i64) -> Self {
        Self {
            producer_id,
            previous_producer_id: NO_PRODUCER_ID,
            next_producer_id: NO_PRODUCER_ID,
            producer_epoch: NO_PRODUCER_EPOCH,
            next_producer_epoch: NO_PRODUCER_EPOCH,
            last_producer_epoch: NO_PRODUCER_EPOCH,
            timeout_ms,
            state: TxnState::Empty,
            partitions: BTreeSet::new(),
            start_ms: NO_TIMESTAMP,
            last_update_ms: now_ms,
            client_version: 0,
            aborted_by_coordinator: false,
        }
    }

    /// Whether the transaction was kept by an InitProducerId (KIP-939): its records have the
    /// producer id and epoch in force, its owner has the next ones.
    pub(crate) const fn is_kept(&self) -> bool {
        self.next_producer_epoch != NO_PRODUCER_EPOCH
    }

    /// The producer id and epoch that a client must name to act.
    pub(crate) const fn client(&self) -> (ProducerId, ProducerEpoch) {
        if self.is_kept() {
            (self.next_producer_id, self.next_producer_epoch)
        } else {
            (self.producer_id, self.producer_epoch)
        }
    }

    /// Whether the owner's epoch has to be replaced by a new producer id.
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.client().1 >= EXHAUSTED_EPOCH
    }

    /// Whether a producer's epoch is the owner's. None is while the id's first record was not
    /// written: only InitProducerId may go on with such an id.
    pub(crate) const fn is_current(&self, epoch: ProducerEpoch) -> bool {
        epoch == self.client().1 && epoch != NO_PRODUCER_EPOCH
    }

    /// Whether the transaction waits for a coordinator outside, however long (KIP-939).
    pub(crate) const fn is_two_phase(&self) -> bool {
        self.timeout_ms == NO_TIMEOUT_MS || self.is_kept()
    }

    /// Whether a request comes from the owner, and else why not.
    pub(crate) fn check_owner(
        &self,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
    ) -> Result<(), TxnError> {
        if self.client().0 != producer_id {
            Err(self.stranger(producer_id))
        } else if self.is_current(producer_epoch) {
            Ok(())
        } else {
            Err(TxnError::ProducerFenced)
        }
    }

    /// What is told to a producer id that is not the owner's. The one that a kept transaction began
    /// under was the owner's until it was kept.
    pub(crate) const fn stranger(&self, producer_id: ProducerId) -> TxnError {
        if self.is_kept() && self.producer_id == producer_id {
            TxnError::ProducerFenced
        } else {
            TxnError::InvalidProducerIdMapping
        }
    }

    /// When an open transaction is due to be aborted; it is overdue *after* this wall clock time.
    pub(crate) fn deadline_ms(&self) -> Option<i64> {
        (self.state == TxnState::Ongoing && self.timeout_ms != NO_TIMEOUT_MS)
            .then(|| self.start_ms.saturating_add(i64::from(self.timeout_ms)))
    }

    /// The decision of a prepared transaction.
    pub(crate) const fn decision(&self) -> Option<Decision> {
        match self.state {
            TxnState::PrepareCommit => Some(Decision::Commit),
            TxnState::PrepareAbort => Some(Decision::Abort),
            _ => None,
        }
    }

    /// The next metadata in `state`, with what every transition sets.
    fn next(&self, state: TxnState, now_ms: i64) -> Self {
        state.assert_may_follow(self.state);
        Self {
            state,
            previous_producer_id: self.producer_id,
            last_update_ms: now_ms,
            aborted_by_coordinator: false,
            ..self.clone()
        }
    }

    /// InitProducerId: to Empty, under this producer id, epoch and last epoch.
    pub(crate) fn prepare_init(
        &self,
        producer_id: ProducerId,
        (epoch, last_epoch): (ProducerEpoch, ProducerEpoch),
        timeout_ms: i32,
        now_ms: i64,
    ) -> Self {
        // A repeat changes nothing, so that the next repeat is recognised as well. Apache Kafka
        // forgets the id before the rotation with the first repeat.
        let repeat = (producer_id, epoch) == (self.producer_id, self.producer_epoch);
        Self {
            previous_producer_id: if repeat { self.previous_producer_id } else { self.producer_id },
            producer_id,
            producer_epoch: epoch,
            last_producer_epoch: last_epoch,
            timeout_ms,
            partitions: BTreeSet::new(),
            start_ms: NO_TIMESTAMP,
            ..self.next(TxnState::Empty, now_ms)
        }
    }

    /// InitProducerId that keeps an open transaction: to Ongoing under another owner. An open
    /// transaction may lose its timeout by that, and never get one.
    pub(crate) fn prepare_keep(
        &self,
        (next_producer_id, next_producer_epoch): (ProducerId, ProducerEpoch),
        timeout_ms: i32,
        now_ms: i64,
    ) -> Self {
        let waits = timeout_ms == NO_TIMEOUT_MS;
        Self {
            next_producer_id,
            next_producer_epoch,
            timeout_ms: if waits { NO_TIMEOUT_MS } else { self.timeout_ms },
            ..self.next(TxnState::Ongoing, now_ms)
        }
    }

    /// AddPartitionsToTxn: to Ongoing with these partitions as well.
    pub(crate) fn prepare_add(
        &self,
        partitions: impl IntoIterator<Item = TopicPartition>,
        client_version: i16,
        now_ms: i64,
    ) -> Self {
        let mut next = self.next(TxnState::Ongoing, now_ms);
        if self.state != TxnState::Ongoing {
            next.start_ms = now_ms;
        }
        next.partitions.extend(partitions);
        next.client_version = client_version;
        next
    }

    /// EndTxn v0-4: the decision under the same epoch.
    pub(crate) fn prepare_end_classic(&self, decision: Decision, now_ms: i64) -> Self {
        Self {
            next_producer_id: NO_PRODUCER_ID,
            client_version: 0,
            ..self.next(prepared(decision), now_ms)
        }
    }

    /// EndTxn v5, and the coordinator's own abort under TV2: the decision with the next epoch.
    /// `after` is the owner's producer id and epoch when the transaction is over, as the record
    /// has them: -1 and -1 unless the epoch is exhausted or the transaction is kept.
    pub(crate) fn prepare_end_bumped(
        &self,
        decision: Decision,
        after: (ProducerId, ProducerEpoch),
        client_version: i16,
        now_ms: i64,
    ) -> Self {
        let empty = self.state != TxnState::Ongoing;
        let mut next = self.next(prepared(decision), now_ms);
        // KAFKA-20090: an abort at the very last epoch goes through without a bump.
        next.producer_epoch = self.producer_epoch.saturating_add(1);
        (next.next_producer_id, next.next_producer_epoch) = after;
        // What a repeat is told by once the transaction is over.
        (next.previous_producer_id, next.last_producer_epoch) = self.client();
        next.client_version = client_version;
        if empty {
            next.partitions = BTreeSet::new();
            next.start_ms = now_ms;
        }
        next
    }

    /// The coordinator aborts an open transaction so that its producer is fenced (spec 3.4).
    pub(crate) fn prepare_fence(
        &self,
        after: (ProducerId, ProducerEpoch),
        cluster_version: i16,
        now_ms: i64,
    ) -> Self {
        // Pending as PrepareEpochFence for the length of this call, then PrepareAbort.
        TxnState::PrepareEpochFence.assert_may_follow(self.state);
        let fenced = Self { state: TxnState::PrepareEpochFence, ..self.clone() };
        let mut next = if cluster_version >= TV2 {
            Self {
                start_ms: self.start_ms,
                partitions: self.partitions.clone(),
                ..fenced.prepare_end_bumped(Decision::Abort, after, cluster_version, now_ms)
            }
        } else {
            Self {
                producer_epoch: self.producer_epoch.saturating_add(1),
                last_producer_epoch: NO_PRODUCER_EPOCH,
                ..fenced.prepare_end_classic(Decision::Abort, now_ms)
            }
        };
        next.aborted_by_coordinator = true;
        next
    }

    /// Every marker is written: to Complete*.
    pub(crate) fn prepare_complete(&self, now_ms: i64) -> Self {
        let state = match self.state {
            TxnState::PrepareCommit => TxnState::CompleteCommit,
            _ => TxnState::CompleteAbort,
        };
        state.assert_may_follow(self.state);
        let rotates = self.client_version == TV2 && self.next_producer_id != NO_PRODUCER_ID;
        Self {
            producer_id: if rotates { self.next_producer_id } else { self.producer_id },
            producer_epoch: match (rotates, self.is_kept()) {
                (true, true) => self.next_producer_epoch,
                (true, false) => 0,
                (false, _) => self.producer_epoch,
            },
            // Of a kept transaction the id that its owner ended it with.
            previous_producer_id: if self.is_kept() {
                self.previous_producer_id
            } else {
                self.producer_id
            },
            next_producer_id: NO_PRODUCER_ID,
            next_producer_epoch: NO_PRODUCER_EPOCH,
            last_producer_epoch: self.last_producer_epoch,
            timeout_ms: self.timeout_ms,
            state,
            partitions: BTreeSet::new(),
            start_ms: self.start_ms,
            last_update_ms: now_ms,
            client_version: self.client_version,
            aborted_by_coordinator: self.aborted_by_coordinator,
        }
    }

    /// Panics unless `next` may become the current metadata (Kafka's `completeTransitionTo`,
    /// spec 5.3). `self` may have lost partitions to markers since `next` was prepared.
    pub(crate) fn assert_completes_to(&self, next: &Self) {
        let same_producer = next.producer_id == self.producer_id;
        let bump = i32::from(next.producer_epoch) - i32::from(self.producer_epoch);
        let holds = match next.state {
            TxnState::Empty => {
                (if same_producer { (0..=1).contains(&bump) } else { next.producer_epoch == 0 })
                    && next.partitions.is_empty()
                    && next.start_ms == NO_TIMESTAMP
            }
            TxnState::Ongoing => {
                same_producer
                    && bump == 0
                    && (next.timeout_ms == self.timeout_ms || next.is_kept())
                    && next.partitions.is_superset(&self.partitions)
            }
            TxnState::PrepareCommit | TxnState::PrepareAbort => {
                same_producer
                    && (0..=1).contains(&bump)
                    && next.timeout_ms == self.timeout_ms
                    && next.partitions == self.partitions
                    && (next.client_version != TV2 || next.last_producer_epoch == self.client().1)
                    && (next.is_kept() == self.is_kept())
            }
            TxnState::CompleteCommit | TxnState::CompleteAbort => {
                next.timeout_ms == self.timeout_ms
                    && next.start_ms == self.start_ms
                    && next.partitions.is_empty()
                    && ((same_producer && bump == 0)
                        || (self.is_kept()
                            && (next.producer_id, next.producer_epoch) == self.client())
                        || (next.client_version == TV2
                            && next.producer_epoch == 0
                            && next.previous_producer_id == self.producer_id))
            }
            TxnState::Dead | TxnState::PrepareEpochFence => false,
        };
        assert!(holds, "spec 5.3: {self:?} cannot be completed to {next:?}");
    }
}

/// The state that says this decision.
pub(crate) const fn prepared(decision: Decision) -> TxnState {
    match decision {
        Decision::Commit => TxnState::PrepareCommit,
        Decision::Abort => TxnState::PrepareAbort,
    }
}
