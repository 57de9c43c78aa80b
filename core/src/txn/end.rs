//! EndTxn: classic (v0-4, spec 4.4.1), with the epoch bump of KIP-890 (v5, spec 4.4.2), and what
//! follows a persisted decision (spec 4.4.3).

use alloc::sync::Arc;

use super::append::Then;
use super::metadata::{EXHAUSTED_EPOCH, Metadata, TV2};
use super::{TransactionalId, TxnCoordinator, TxnError, TxnReply, TxnReplyTo, TxnState};
use crate::io::RequestId;
use crate::mark;
use crate::time::Now;
use crate::types::{Decision, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ProducerEpoch, ProducerId};

/// No producer id and no epoch.
const NOBODY: (ProducerId, ProducerEpoch) = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH);

/// For whom a transaction is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EndFor {
    /// A producer's EndTxn.
    Client(RequestId),
    /// An InitProducerId that found the transaction open; its client is to try again.
    Fence(RequestId),
    /// The timeout sweep; nobody waits.
    Sweep,
}

/// What the state table says about an EndTxn that got that far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndRow {
    /// The decision is to be written.
    Append,
    /// A repeat of what was done: the same answer again.
    Done,
}

impl TxnCoordinator {
    /// Ends a producer's transaction. `v5` is EndTxn v5 and later. The answer is a
    /// [`TxnReply::EndTxn`], once the decision is persisted and before any marker.
    pub fn end_txn(
        &mut self,
        now: Now,
        to: RequestId,
        transactional_id: &str,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        decision: Decision,
        v5: bool,
    ) {
        let producer = (producer_id, producer_epoch);
        match self.try_end(now, to, transactional_id, producer, decision, v5) {
            Ok(None) => {}
            Ok(Some(answer)) => {
                mark!(TxnEndRetryAnswered);
                let reply = TxnReply::EndTxn(Ok(answer));
                self.answer_known(TxnReplyTo::Client(to), transactional_id, reply);
            }
            Err(error) => self.reply(TxnReplyTo::Client(to), TxnReply::EndTxn(Err(error))),
        }
    }

    /// `Ok(None)`: an append is under way and will answer.
    fn try_end(
        &mut self,
        now: Now,
        to: RequestId,
        transactional_id: &str,
        producer: (ProducerId, ProducerEpoch),
        decision: Decision,
        v5: bool,
    ) -> Result<Option<(ProducerId, ProducerEpoch)>, TxnError> {
        let (partition, entry) = self.known(transactional_id)?;
        let pending = entry.pending.is_some();
        let metadata = entry.metadata.clone();
        let row = if v5 {
            end_bumped(&metadata, pending, producer, decision)?
        } else {
            end_classic(&metadata, pending, producer, decision)?
        };
        if row == EndRow::Done {
            return Ok(Some((metadata.producer_id, metadata.producer_epoch)));
        }
        let target = if v5 {
            if !self.admits_tv2(&metadata) {
                mark!(TxnVersionNotEnabled);
                return Err(TxnError::VersionNotEnabled);
            }
            if metadata.state != TxnState::Ongoing {
                mark!(TxnEndEmptyAbort);
            }
            if metadata.producer_epoch == ProducerEpoch::MAX && decision == Decision::Commit {
                // Kafka refuses to count on from the last epoch; only an abort goes through.
                return Err(TxnError::Unknown);
            }
            let after = self.owner_after(&metadata)?;
            metadata.prepare_end_bumped(decision, after, TV2, now.wall_ms)
        } else {
            metadata.prepare_end_classic(decision, now.wall_ms)
        };
        let id: TransactionalId = Arc::from(transactional_id);
        self.append_transition(partition, &id, target, Then::SendMarkers(EndFor::Client(to)));
        Ok(None)
    }

    /// Aborts an open transaction on the coordinator's own account, so that its producer is
    /// fenced (spec 3.4). The id has no transition pending.
    pub(super) fn fence(
        &mut self,
        now: Now,
        partition: i32,
        id: &TransactionalId,
        whom: EndFor,
    ) -> Result<(), TxnError> {
        let (_, entry) = self.known(id)?;
        let metadata = entry.metadata.clone();
        // A kept transaction has two epochs, and only the records of version 2 hold them.
        let level = if metadata.is_kept() { TV2 } else { self.config.transaction_version };
        let after = if level >= TV2 { self.owner_after(&metadata)? } else { NOBODY };
        let target = metadata.prepare_fence(after, level, now.wall_ms);
        self.append_transition(partition, id, target, Then::SendMarkers(whom));
        Ok(())
    }

    /// Who the owner is once the transaction is over, as a record of the decision has it: a new
    /// producer id when the epoch is exhausted, and -1 and -1 for the same id at the next epoch.
    /// Of a kept transaction it is written out, and the epoch moves once more: a late EndTxn under
    /// the one before must not end the transaction that comes after.
    fn owner_after(
        &mut self,
        metadata: &Metadata,
    ) -> Result<(ProducerId, ProducerEpoch), TxnError> {
        match (metadata.is_exhausted(), metadata.is_kept()) {
            (true, kept) => {
                mark!(TxnPidRotated);
                Ok((self.take_producer_id()?, if kept { 0 } else { NO_PRODUCER_EPOCH }))
            }
            (false, true) => {
                let (producer_id, epoch) = metadata.client();
                Ok((producer_id, epoch + 1))
            }
            (false, false) => Ok(NOBODY),
        }
    }

    /// Whether a TV2 request may change this id: on a cluster below level 2 only if the open
    /// transaction is a TV2 one that began before the level was lowered, and level 0 cannot store
    /// it at all (report P30; Kafka leaves the id stuck there, P27). A kept one is always admitted:
    /// what was prepared must be able to end either way.
    pub(super) fn admits_tv2(&self, metadata: &Metadata) -> bool {
        let level = self.config.transaction_version;
        level >= TV2
            || metadata.is_kept()
            || (level == 1 && metadata.state == TxnState::Ongoing && metadata.client_version == TV2)
    }

    /// The decision is durable: answer, then the markers (spec 4.4.3). Its other rows cannot
    /// occur: the pending transition kept every request out, and the epochs were compared.
    pub(super) fn decision_persisted(
        &mut self,
        now: Now,
        partition: i32,
        id: &TransactionalId,
        whom: EndFor,
    ) {
        let Some(entry) = self.shards.get(&partition).and_then(|shard| shard.get(id)) else {
            return;
        };
        mark!(TxnPreparePersisted);
        let complete = entry.metadata.prepare_complete(now.wall_ms);
        match whom {
            EndFor::Client(to) => {
                let producer = (complete.producer_id, complete.producer_epoch);
                self.reply(TxnReplyTo::Client(to), TxnReply::EndTxn(Ok(producer)));
            }
            EndFor::Fence(to) => {
                let again = TxnReply::InitProducerId(Err(TxnError::ConcurrentTransactions));
                self.reply(TxnReplyTo::Client(to), again);
            }
            EndFor::Sweep => mark!(TxnTimeoutAbort),
        }
        self.send_markers(partition, id, complete);
    }
}

/// Spec 4.4.1 rows 4 to 7, for a client.
pub(crate) fn end_classic(
    metadata: &Metadata,
    pending: bool,
    (producer_id, producer_epoch): (ProducerId, ProducerEpoch),
    decision: Decision,
) -> Result<EndRow, TxnError> {
    use Decision::{Abort, Commit};
    metadata.check_owner(producer_id, producer_epoch)?;
    if metadata.is_kept() {
        // Only EndTxn v5 can end it: without a bump its two epochs cannot be told apart.
        return Err(TxnError::ProducerFenced);
    }
    if pending {
        return Err(TxnError::ConcurrentTransactions);
    }
    match (metadata.state, decision) {
        (TxnState::Ongoing, _) => Ok(EndRow::Append),
        (TxnState::CompleteCommit, Commit) | (TxnState::CompleteAbort, Abort) => Ok(EndRow::Done),
        (TxnState::PrepareCommit, Commit) | (TxnState::PrepareAbort, Abort) => {
            Err(TxnError::ConcurrentTransactions)
        }
        (
            TxnState::Empty
            | TxnState::PrepareCommit
            | TxnState::PrepareAbort
            | TxnState::CompleteCommit
            | TxnState::CompleteAbort,
            _,
        ) => Err(TxnError::InvalidTxnState),
        (TxnState::Dead | TxnState::PrepareEpochFence, _) => Err(TxnError::Unknown),
    }
}

/// Spec 4.4.2 rows 4 to 7, for a client.
pub(crate) fn end_bumped(
    metadata: &Metadata,
    pending: bool,
    (producer_id, producer_epoch): (ProducerId, ProducerEpoch),
    decision: Decision,
) -> Result<EndRow, TxnError> {
    use Decision::{Abort, Commit};
    if pending {
        return Err(TxnError::ConcurrentTransactions);
    }
    let (owner_id, owner_epoch) = metadata.client();
    let overflow_retry = metadata.previous_producer_id == producer_id
        && producer_epoch == EXHAUSTED_EPOCH
        && owner_epoch == 0
        && !metadata.is_kept();
    if owner_id != producer_id && !overflow_retry {
        return Err(metadata.stranger(producer_id));
    }
    let same = metadata.is_current(producer_epoch);
    // Only an end that raised the epoch has a repeat with the epoch below. Where an owner of old
    // (EndTxn v0 to v4) ended the transaction, one below is a fenced owner: Kafka 4.4.0 hands it
    // the live owner's epoch, and their sequences collide (found by verdict-sim, seed 163).
    let bump_retry =
        metadata.client_version >= 2 && i32::from(owner_epoch) == i32::from(producer_epoch) + 1;
    let retry = bump_retry || overflow_retry;
    let valid = match metadata.state {
        TxnState::Ongoing | TxnState::Empty => same,
        TxnState::PrepareCommit | TxnState::PrepareAbort => bump_retry,
        TxnState::CompleteCommit | TxnState::CompleteAbort => retry || same,
        TxnState::Dead | TxnState::PrepareEpochFence => return Err(TxnError::Unknown),
    };
    if !valid {
        return Err(TxnError::ProducerFenced);
    }
    match (metadata.state, decision) {
        (TxnState::Ongoing, _) | (TxnState::Empty, Abort) => Ok(EndRow::Append),
        (TxnState::CompleteCommit, Commit) | (TxnState::CompleteAbort, Abort) if retry => {
            Ok(EndRow::Done)
        }
        (TxnState::CompleteCommit | TxnState::CompleteAbort, Abort) if !retry => Ok(EndRow::Append),
        (TxnState::PrepareCommit, Commit) | (TxnState::PrepareAbort, Abort) => {
            Err(TxnError::ConcurrentTransactions)
        }
        // KAFKA-20785, report P33: the coordinator gave up on this producer. Kafka 4.4.0 says
        // INVALID_TXN_STATE, which clients take for a bug of their own; fenced is what it is.
        (TxnState::CompleteAbort | TxnState::PrepareAbort, Commit)
            if bump_retry && metadata.aborted_by_coordinator =>
        {
            mark!(TxnEndCommitAfterTimeout);
            Err(TxnError::ProducerFenced)
        }
        _ => Err(TxnError::InvalidTxnState),
    }
}
