//! InitProducerId (spec 3.1 row 4, 3.2, 3.3), with the two-phase commit of KIP-939.
//!
//! # Two-phase commit
//!
//! * With `enable_2pc` the transactions have no timeout, recorded as `i32::MAX` ms.
//! * `keep_prepared` leaves an open transaction as it is. It goes on being open under the producer
//!   id and epoch of its records; its owner, who alone can end it, gets the next epoch, so that the
//!   instance before is fenced. Both are in one record (`next_producer_id`, `next_producer_epoch`),
//!   each further `keep_prepared` moves the owner once more, and EndTxn v5 ends it.
//! * Without `keep_prepared` the open transaction is aborted, also a kept one: that is how an
//!   administrator gives up on a coordinator that will never come back.
//!
//! Apache Kafka 4.4.0 answers `keep_prepared` UNSUPPORTED_VERSION; the rules here are those of the
//! KIP.

use super::append::Then;
use super::end::EndFor;
use super::metadata::{EXHAUSTED_EPOCH, Metadata, NO_TIMEOUT_MS, TV2};
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
    /// KIP-939: leave an open transaction as it is, and take over the right to end it.
    pub keep_prepared: bool,
}

/// The answer to InitProducerId.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Initialized {
    /// The producer id from here on.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: ProducerEpoch,
    /// The producer id and epoch that the records of a kept transaction have: what the outer
    /// coordinator knows it by. `None` if no transaction was open.
    pub ongoing: Option<(ProducerId, ProducerEpoch)>,
}

type Producer = (ProducerId, ProducerEpoch);

/// What a request wants beyond a producer id and epoch.
#[derive(Clone, Copy)]
struct Wish {
    /// The producer that it names, to go on with.
    expected: Option<Producer>,
    timeout_ms: i32,
    keep: bool,
}

impl TxnCoordinator {
    /// Gives a producer its id and epoch. The answer is a [`TxnReply::InitProducerId`], once the
    /// record is persisted.
    pub fn init_producer_id(&mut self, now: Now, to: RequestId, request: InitProducerId) {
        match self.try_init(now, to, request) {
            Ok(None) => {}
            Ok(Some(producer_id)) => {
                let fresh = Initialized { producer_id, producer_epoch: 0, ongoing: None };
                self.reply(TxnReplyTo::Client(to), TxnReply::InitProducerId(Ok(fresh)));
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
    ) -> Result<Option<ProducerId>, TxnError> {
        let expected = match (request.producer_id, request.producer_epoch) {
            (NO_PRODUCER_ID, NO_PRODUCER_EPOCH) => None,
            (NO_PRODUCER_ID, _) | (_, NO_PRODUCER_EPOCH) => return Err(TxnError::InvalidRequest),
            producer => Some(producer),
        };
        let Some(id) = request.transactional_id else {
            return self.take_producer_id().map(Some);
        };
        if id.is_empty() {
            return Err(TxnError::InvalidRequest);
        }
        if request.enable_2pc && !self.config.two_phase_commit {
            return Err(TxnError::TwoPhaseCommitDisabled);
        }
        if request.keep_prepared {
            self.check_keep(expected)?;
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
        let wish = Wish { expected, timeout_ms, keep: request.keep_prepared };
        self.init_known(now, to, &id, wish).map(|()| None)
    }

    /// Whether a transaction may be kept at all. Only a new instance keeps one, so it names no
    /// producer; and only EndTxn v5 can end what was kept.
    fn check_keep(&self, expected: Option<Producer>) -> Result<(), TxnError> {
        if expected.is_some() {
            Err(TxnError::InvalidRequest)
        } else if self.config.transaction_version < TV2 {
            mark!(TxnVersionNotEnabled);
            Err(TxnError::VersionNotEnabled)
        } else {
            Ok(())
        }
    }

    /// The branch on the current metadata, spec 3.3. An append is under way then and will answer.
    fn init_known(
        &mut self,
        now: Now,
        to: RequestId,
        id: &TransactionalId,
        wish: Wish,
    ) -> Result<(), TxnError> {
        let (partition, entry) = self.known(id)?;
        if entry.pending.is_some() {
            return Err(TxnError::ConcurrentTransactions);
        }
        let metadata = entry.metadata.clone();
        if wish.expected.is_some_and(|producer| !may_resume(&metadata, producer)) {
            return Err(TxnError::ProducerFenced);
        }
        match metadata.state {
            TxnState::PrepareCommit | TxnState::PrepareAbort => {
                Err(TxnError::ConcurrentTransactions)
            }
            TxnState::Ongoing if wish.keep => {
                mark!(TxnInitKeepsOpen);
                let owner = self.next_owner(&metadata)?;
                let target = metadata.prepare_keep(owner, wish.timeout_ms, now.wall_ms);
                self.append_transition(partition, id, target, Then::AnswerInit(to));
                Ok(())
            }
            TxnState::Ongoing => {
                mark!(TxnInitFencesOpen);
                self.fence(now, partition, id, EndFor::Fence(to))
            }
            TxnState::Empty | TxnState::CompleteCommit | TxnState::CompleteAbort => {
                let (producer_id, epochs) = self.next_producer(&metadata, wish.expected)?;
                let target =
                    metadata.prepare_init(producer_id, epochs, wish.timeout_ms, now.wall_ms);
                self.append_transition(partition, id, target, Then::AnswerInit(to));
                Ok(())
            }
            TxnState::Dead | TxnState::PrepareEpochFence => Err(TxnError::Unknown),
        }
    }

    /// The producer id, epoch and last epoch that follow where no transaction is open.
    fn next_producer(
        &mut self,
        metadata: &Metadata,
        expected: Option<Producer>,
    ) -> Result<(ProducerId, (ProducerEpoch, ProducerEpoch)), TxnError> {
        let epoch = metadata.producer_epoch;
        let rotates = metadata.is_exhausted()
            && expected.is_none_or(|(_, expected_epoch)| expected_epoch == epoch);
        if rotates {
            mark!(TxnPidRotated);
            let last = if expected.is_some() { epoch } else { NO_PRODUCER_EPOCH };
            Ok((self.take_producer_id()?, (0, last)))
        } else {
            Ok((metadata.producer_id, increment(metadata, expected)?))
        }
    }

    /// The owner that follows the one of an open transaction.
    fn next_owner(&mut self, metadata: &Metadata) -> Result<Producer, TxnError> {
        if metadata.is_exhausted() {
            mark!(TxnPidRotated);
            Ok((self.take_producer_id()?, 0))
        } else {
            let (producer_id, epoch) = metadata.client();
            Ok((producer_id, epoch + 1))
        }
    }
}

/// Spec 3.3 row 2: whether a producer that names itself may go on. Where a coordinator outside
/// waits for the open transaction only its owner may: for Apache Kafka any epoch of the producer id
/// will do, and a fenced owner would abort what was promised to commit.
fn may_resume(metadata: &Metadata, (producer_id, epoch): Producer) -> bool {
    if metadata.state == TxnState::Ongoing && metadata.is_two_phase() {
        return metadata.client() == (producer_id, epoch);
    }
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
