//! Writing a transition to `__transaction_state`, and what becomes of it (spec 5.4).
//!
//! The outcome of an append decides everything: only then does memory change. A failed append
//! clears the pending transition and answers an error, so that the same request may be tried
//! again (KAFKA-5351, KAFKA-7519, report P27). The one exception is Complete*: its decision is
//! durable already, so it stays pending and is written again, for as long as the partition is
//! led here. Kafka does so for COORDINATOR_NOT_AVAILABLE and leaves a storage failure to the next
//! leader; a single node has none, so every failure is tried again.

use alloc::vec;
use alloc::vec::Vec;

use super::end::EndFor;
use super::markers::Timer;
use super::metadata::Metadata;
use super::shard::Pending;
use super::{
    AppendId, Initialized, LogAppendError, TransactionalId, TxnCoordinator, TxnEffect, TxnError,
    TxnReply, TxnReplyTo, TxnState, records,
};
use crate::io::RequestId;
use crate::mark;
use crate::time::Now;

/// An append whose outcome is not known yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InFlight {
    pub(crate) partition: i32,
    /// The load it belongs to: a load or resignation since then makes its outcome stale.
    pub(crate) generation: u64,
    pub(crate) what: Appending,
}

/// What an append writes, and what follows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Appending {
    Transition {
        id: TransactionalId,
        then: Then,
    },
    Tombstones(Vec<TransactionalId>),
    /// What is in force already, without partitions that are gone.
    Again(TransactionalId),
    /// What is in force already, so that an answer from memory is known to be one.
    Confirm {
        to: TxnReplyTo,
        reply: TxnReply,
    },
}

/// What follows a persisted transition, or its failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Then {
    AnswerInit(RequestId),
    AnswerAdd(TxnReplyTo),
    SendMarkers(EndFor),
    /// Complete* ends here; the number of failed attempts sets the back-off.
    Done {
        attempts: u32,
    },
}

impl TxnCoordinator {
    /// Hands a transition to the log. The id is known and has no other transition pending.
    pub(super) fn append_transition(
        &mut self,
        partition: i32,
        id: &TransactionalId,
        target: Metadata,
        then: Then,
    ) {
        let record = (
            records::encode_key(id),
            Some(records::encode_value(&target, self.config.transaction_version)),
        );
        let what = Appending::Transition { id: id.clone(), then };
        let Some(append) = self.emit_append(partition, vec![record], what) else { return };
        if let Some(pending) = self.shards.get_mut(&partition).and_then(|s| s.pending_mut(id)) {
            *pending = Some(Pending::Appending { target, append });
        }
    }

    /// Emits one append; `None` if the partition is not led here.
    pub(super) fn emit_append(
        &mut self,
        partition: i32,
        records: Vec<(bytes::Bytes, Option<bytes::Bytes>)>,
        what: Appending,
    ) -> Option<AppendId> {
        let generation = self.shards.get(&partition)?.generation;
        let id = AppendId(self.next_append);
        self.next_append += 1;
        self.appends.insert(id, InFlight { partition, generation, what });
        self.effects.push_back(TxnEffect::Append { id, partition, records });
        Some(id)
    }

    /// The outcome of an append. An id that was never given out is ignored.
    pub fn appended(&mut self, now: Now, id: AppendId, result: Result<(), LogAppendError>) {
        let Some(InFlight { partition, generation, what }) = self.appends.remove(&id) else {
            return;
        };
        let owned = match self.shards.get(&partition) {
            None => Err(TxnError::NotCoordinator),
            Some(shard) if shard.loading => Err(TxnError::LoadInProgress),
            Some(shard) if shard.generation != generation => Err(TxnError::NotCoordinator),
            Some(_) => Ok(()),
        };
        match what {
            Appending::Transition { id: txn, then } => match owned {
                Ok(()) => self.transition_appended(now, partition, &txn, id, then, result),
                Err(error) => {
                    mark!(TxnAppendOverlookedAfterMove);
                    self.answer_failure(then, error);
                }
            },
            Appending::Tombstones(ids) if owned.is_ok() => {
                self.tombstones_appended(partition, id, &ids, result.is_ok());
            }
            Appending::Again(txn) if owned.is_ok() => {
                if result.is_err() {
                    self.not_written_again(now, partition, txn);
                }
            }
            Appending::Confirm { to, reply } => {
                let confirmed = owned.and_then(|()| result.map_err(TxnError::from));
                let reply = match confirmed {
                    Ok(()) => reply,
                    Err(error) => reply.refused(error),
                };
                self.reply(to, reply);
            }
            // The partition moved: what it held was dropped, or is being read again.
            Appending::Tombstones(_) | Appending::Again(_) => {}
        }
        self.arm_sweeps(now);
    }

    fn transition_appended(
        &mut self,
        now: Now,
        partition: i32,
        txn: &TransactionalId,
        append: AppendId,
        then: Then,
        result: Result<(), LogAppendError>,
    ) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        let Some(pending) = shard.pending_mut(txn) else {
            return self.answer_failure(then, TxnError::NotCoordinator);
        };
        match (result, then) {
            (Err(_), Then::Done { attempts }) => {
                mark!(TxnCompleteRetry);
                let failed =
                    Timer::Complete { partition, id: txn.clone(), failed: append, attempts };
                self.after_back_off(now, attempts, failed);
            }
            (Err(error), _) => {
                mark!(TxnAppendFailedPendingCleared);
                *pending = None;
                self.forget_now(partition, txn);
                self.answer_failure(then, error.into());
            }
            (Ok(()), _) => {
                let Some(Pending::Appending { target, append: expected }) = pending.take() else {
                    unreachable!("spec 5.4: a persisted transition is no longer pending: {txn}");
                };
                assert_eq!(expected, append, "spec 5.4: two transitions of {txn} at once");
                if let Some(entry) = shard.get(txn) {
                    entry.metadata.assert_completes_to(&target);
                }
                shard.put(txn, target);
                self.forget_now(partition, txn);
                self.follow(now, partition, txn, then);
            }
        }
    }

    /// What follows a transition that was persisted and is in force.
    fn follow(&mut self, now: Now, partition: i32, txn: &TransactionalId, then: Then) {
        let Some(entry) = self.shards.get(&partition).and_then(|shard| shard.get(txn)) else {
            return;
        };
        let metadata = &entry.metadata;
        match then {
            Then::AnswerInit(to) => {
                let (producer_id, producer_epoch) = metadata.client();
                let ongoing =
                    metadata.is_kept().then_some((metadata.producer_id, metadata.producer_epoch));
                let answer = Initialized { producer_id, producer_epoch, ongoing };
                self.reply(TxnReplyTo::Client(to), TxnReply::InitProducerId(Ok(answer)));
            }
            Then::AnswerAdd(to) => self.reply(to, TxnReply::AddPartitions(Ok(()))),
            Then::SendMarkers(whom) => self.decision_persisted(now, partition, txn, whom),
            Then::Done { .. } => match metadata.state {
                TxnState::CompleteCommit => mark!(TxnCompletedCommit),
                _ => mark!(TxnCompletedAbort),
            },
        }
    }

    fn answer_failure(&mut self, then: Then, error: TxnError) {
        match then {
            Then::AnswerInit(to) | Then::SendMarkers(EndFor::Fence(to)) => {
                self.reply(TxnReplyTo::Client(to), TxnReply::InitProducerId(Err(error)));
            }
            Then::AnswerAdd(to) => self.refuse_add(to, error),
            Then::SendMarkers(EndFor::Client(to)) => {
                self.reply(TxnReplyTo::Client(to), TxnReply::EndTxn(Err(error)));
            }
            // The next sweep tries again; a lost Complete* belongs to whoever leads now.
            Then::SendMarkers(EndFor::Sweep) | Then::Done { .. } => {}
        }
    }
}
