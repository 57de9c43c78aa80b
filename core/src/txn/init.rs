//! InitProducerId (spec 3.1 row 4, 3.2, 3.3).

use super::append::Then;
use super::end::EndFor;
use super::metadata::{EXHAUSTED_EPOCH, Metadata, NO_TIMEOUT_MS};
use super::{TransactionalId, TxnCoordinator, TxnError, TxnReply, TxnReplyTo, TxnState};
use crate::io::RequestId;
use crate::mark;
use crate::time::Now;
use crate::types::{NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ProducerEpoch, ProducerId};

/// The request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InitProducerId {
    /// The transactional id; `None` for a producer that is only idempotent.
    pub transactional_id: Option<TransactionalId>,
    /// The transaction timeout in milliseconds.
    pub timeout_ms: i32,
    /// The producer id to go on with; -1 for none.
    pub producer_id: ProducerId,
    /// Its epoch; -1 for none.
    pub producer_epoch: ProducerEpoch,
    /// KIP-939: the transaction is ended from outside and never times out.
    pub enable_2pc: bool,
    /// KIP-939: go on with a prepared transaction. Not served, as in Kafka 4.4.0.
    pub keep_prepared: bool,
}

type Producer = (ProducerId, ProducerEpoch);

impl TxnCoordinator {
    /// Gives a producer its id and epoch. The answer is a [`TxnReply::InitProducerId`], once the
    /// record is persisted.
    pub fn init_producer_id(&mut self, now: Now, to: RequestId, request: InitProducerId) {
        match self.try_init(now, to, request) {
            Ok(None) => {}
            Ok(Some(producer)) => {
                self.reply(TxnReplyTo::Client(to), TxnReply::InitProducerId(Ok(producer)));
            }
            Err(error) => {
                self.reply(TxnReplyTo::Client(to), TxnReply::InitProducerId(Err(error)));
            }
        }
        self.arm_sweeps(now);
    }

    /// `Ok(None)`: an append is under way and will answer.
    fn try_init(
        &mut self,
        now: Now,
        to: RequestId,
        request: InitProducerId,
    ) -> Result<Option<Producer>, TxnError> {
        let expected = match (request.producer_id, request.producer_epoch) {
            (NO_PRODUCER_ID, NO_PRODUCER_EPOCH) => None,
            (NO_PRODUCER_ID, _) | (_, NO_PRODUCER_EPOCH) => return Err(TxnError::InvalidRequest),
            producer => Some(producer),
        };
        let Some(id) = request.transactional_id else {
            return self.take_producer_id().map(|producer_id| Some((producer_id, 0)));
        };
        if id.is_empty() {
            return Err(TxnError::InvalidRequest);
        }
        if request.enable_2pc && !self.config.two_phase_commit {
            return Err(TxnError::TwoPhaseCommitDisabled);
        }
        if request.keep_prepared {
            return Err(TxnError::KeepPreparedUnsupported);
        }
        let timeout_ms = if request.enable_2pc {
            NO_TIMEOUT_MS
        } else if (1..=self.config.max_timeout_ms).contains(&request.timeout_ms) {
            request.timeout_ms
        } else {
            return Err(TxnError::InvalidTransactionTimeout);
        };
        let (partition, shard) = self.owned(&id)?;
        if shard.get(&id).is_none() {
            let metadata = Metadata::new(self.take_producer_id()?, timeout_ms, now.wall_ms);
            if let Some(shard) = self.shards.get_mut(&partition) {
                shard.put(&id, metadata);
            }
        }
        self.init_known(now, to, &id, expected, timeout_ms)
    }

    /// The branch on the current metadata, spec 3.3.
    fn init_known(
        &mut self,
        now: Now,
        to: RequestId,
        id: &TransactionalId,
        expected: Option<Producer>,
        timeout_ms: i32,
    ) -> Result<Option<Producer>, TxnError> {
        let (partition, entry) = self.known(id)?;
        if entry.pending.is_some() {
            return Err(TxnError::ConcurrentTransactions);
        }
        let metadata = entry.metadata.clone();
        if expected.is_some_and(|producer| !may_resume(&metadata, producer)) {
            return Err(TxnError::ProducerFenced);
        }
        match metadata.state {
            TxnState::PrepareCommit | TxnState::PrepareAbort => {
                Err(TxnError::ConcurrentTransactions)
            }
            TxnState::Ongoing => {
                mark!(TxnInitFencesOpen);
                self.fence(now, partition, id, EndFor::Fence(to)).map(|()| None)
            }
            TxnState::Empty | TxnState::CompleteCommit | TxnState::CompleteAbort => {
                let epoch = metadata.producer_epoch;
                let rotates = metadata.is_exhausted()
                    && expected.is_none_or(|(_, expected_epoch)| expected_epoch == epoch);
                let (producer_id, epochs) = if rotates {
                    mark!(TxnPidRotated);
                    let last = if expected.is_some() { epoch } else { NO_PRODUCER_EPOCH };
                    (self.take_producer_id()?, (0, last))
                } else {
                    (metadata.producer_id, increment(&metadata, expected)?)
                };
                let target = metadata.prepare_init(producer_id, epochs, timeout_ms, now.wall_ms);
                self.append_transition(partition, id, target, Then::AnswerInit(to));
                Ok(None)
            }
            TxnState::Dead | TxnState::PrepareEpochFence => Err(TxnError::Unknown),
        }
    }
}

/// Spec 3.3 row 2: whether a producer that names itself may go on.
fn may_resume(metadata: &Metadata, (producer_id, epoch): Producer) -> bool {
    metadata.producer_epoch == NO_PRODUCER_EPOCH
        || producer_id == metadata.producer_id
        || (producer_id == metadata.previous_producer_id && epoch >= EXHAUSTED_EPOCH)
}

/// The next epoch and last epoch (Kafka's `prepareIncrementProducerEpoch`).
fn increment(
    metadata: &Metadata,
    expected: Option<Producer>,
) -> Result<(ProducerEpoch, ProducerEpoch), TxnError> {
    let epoch = metadata.producer_epoch;
    if metadata.is_exhausted() {
        return Err(TxnError::Unknown);
    }
    match expected {
        None => Ok((epoch + 1, NO_PRODUCER_EPOCH)),
        Some(_) if epoch == NO_PRODUCER_EPOCH => Ok((0, NO_PRODUCER_EPOCH)),
        Some((_, expected)) if expected == epoch => Ok((epoch + 1, epoch)),
        Some((_, expected)) if expected == metadata.last_producer_epoch => {
            mark!(TxnInitRetryAnswered);
            Ok((epoch, metadata.last_producer_epoch))
        }
        Some(_) => Err(TxnError::ProducerFenced),
    }
}
