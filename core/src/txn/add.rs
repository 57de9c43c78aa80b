//! AddPartitionsToTxn, AddOffsetsToTxn, and the verification of KIP-890 (spec 4.2.1, 4.2.2, 4.3).
//!
//! A transaction that was kept (KIP-939) can only be ended: INVALID_TXN_STATE.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::append::Then;
use super::metadata::TV2;
use super::{TransactionalId, TxnCoordinator, TxnError, TxnReply, TxnReplyTo, TxnState};
use crate::mark;
use crate::time::Now;
use crate::types::{ProducerEpoch, ProducerId, TopicPartition};

impl TxnCoordinator {
    /// Adds partitions to a producer's transaction, opening it when need be. `client_version` is
    /// 0 for AddPartitionsToTxn v0-3 and AddOffsetsToTxn, 2 when a leader adds on behalf of a
    /// TV2 producer. The answer is a [`TxnReply::AddPartitions`].
    pub fn add_partitions(
        &mut self,
        now: Now,
        to: TxnReplyTo,
        transactional_id: &str,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        partitions: Vec<TopicPartition>,
        client_version: i16,
    ) {
        let producer = (producer_id, producer_epoch);
        match self.try_add(now, to, transactional_id, producer, partitions, client_version) {
            Ok(true) => {}
            Ok(false) => {
                self.answer_known(to, transactional_id, TxnReply::AddPartitions(Ok(())));
            }
            Err(error) => self.refuse_add(to, error),
        }
    }

    /// `Ok(true)`: an append is under way and will answer.
    fn try_add(
        &mut self,
        now: Now,
        to: TxnReplyTo,
        transactional_id: &str,
        (producer_id, producer_epoch): (ProducerId, ProducerEpoch),
        partitions: Vec<TopicPartition>,
        client_version: i16,
    ) -> Result<bool, TxnError> {
        let (partition, entry) = self.known(transactional_id)?;
        if entry.pending.is_some() {
            return Err(TxnError::ConcurrentTransactions);
        }
        let metadata = &entry.metadata;
        metadata.check_owner(producer_id, producer_epoch)?;
        if metadata.state.is_prepared() {
            return Err(TxnError::ConcurrentTransactions);
        }
        if metadata.is_kept() {
            return Err(TxnError::InvalidTxnState);
        }
        if metadata.state == TxnState::Ongoing
            && partitions.iter().all(|partition| metadata.partitions.contains(partition))
        {
            return Ok(false);
        }
        if client_version >= TV2 && !self.admits_tv2(metadata) {
            mark!(TxnVersionNotEnabled);
            return Err(TxnError::VersionNotEnabled);
        }
        let target = metadata.prepare_add(partitions, client_version, now.wall_ms);
        let id: TransactionalId = Arc::from(transactional_id);
        self.append_transition(partition, &id, target, Then::AnswerAdd(to));
        Ok(true)
    }

    pub(super) fn refuse_add(&mut self, to: TxnReplyTo, error: TxnError) {
        self.reply(to, TxnReply::AddPartitions(Err(error)));
    }

    /// Says for each partition whether it is part of the producer's transaction. Changes nothing
    /// and waits for nothing, not even a pending transition; only a member has a yes confirmed
    /// ([`confirm`](super::confirm)). The answer is a [`TxnReply::Verify`].
    pub fn verify_partitions(
        &mut self,
        to: TxnReplyTo,
        transactional_id: &str,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        partitions: Vec<TopicPartition>,
    ) {
        let verified = match self.known(transactional_id) {
            Err(error) => Err(error),
            Ok((_, entry)) => {
                let metadata = &entry.metadata;
                match metadata.check_owner(producer_id, producer_epoch) {
                    Err(error) => Err(error),
                    Ok(()) if metadata.state.is_prepared() => Err(TxnError::ConcurrentTransactions),
                    Ok(()) if metadata.is_kept() => Err(TxnError::InvalidTxnState),
                    Ok(()) => Ok(&metadata.partitions),
                }
            }
        };
        let results: Vec<_> = partitions
            .into_iter()
            .map(|partition| {
                let result = verified.and_then(|known| {
                    known.contains(&partition).then_some(()).ok_or(TxnError::TransactionAbortable)
                });
                (partition, result)
            })
            .collect();
        if results.iter().any(|(_, result)| result.is_ok()) {
            return self.answer_known(to, transactional_id, TxnReply::Verify(results));
        }
        self.reply(to, TxnReply::Verify(results));
    }
}
