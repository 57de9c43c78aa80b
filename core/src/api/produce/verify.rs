//! Verification of transactional batches with the transaction coordinator (KIP-890; spec 7).
//!
//! A leader appends no transactional batch that the coordinator does not know: below Produce v12
//! it asks, from v12 on it adds the partition. The guard taken before ties the append to this very
//! verification, so that a marker in between wins (KAFKA-15626).

use alloc::vec::Vec;

use super::{PartResult, PendingProduce, append_all, finish_if_done, retry_bound_ms};
use crate::api::waiting::Pending;
use crate::error::ErrorCode;
use crate::io::RequestId;
use crate::mark;
use crate::node::{Message, Node, Refused, Timer};
use crate::partition::Verification;
use crate::types::TopicPartition;

/// From this version a Produce adds its partitions to the transaction.
const ADDS_PARTITIONS: i16 = 12;
/// From this version a client knows TRANSACTION_ABORTABLE.
const KNOWS_ABORTABLE: i16 = 11;

/// Takes a guard for every transactional batch outside an open transaction, and asks the
/// coordinator about those partitions; without any, appends at once.
pub(super) fn begin(node: &mut Node, id: RequestId) {
    let Some(Pending::Produce(pending)) = node.waiting.get(id) else { return };
    let adds = pending.context.version >= ADDS_PARTITIONS;
    let skip = pending.transactional_id.is_none()
        || !(adds || node.config.transaction_partition_verification_enable);
    let mut asked = Vec::new();
    let mut producer = None;
    if !skip {
        for index in pending.open_parts() {
            let Some(Pending::Produce(pending)) = node.waiting.get(id) else { return };
            let part = &pending.parts[index];
            let Some(header) = part.header().copied() else { continue };
            if !header.is_transactional() || !header.has_producer() {
                continue;
            }
            producer = Some((header.producer_id, header.producer_epoch));
            let to = TopicPartition { topic: part.topic.clone(), partition: part.index };
            let now_ms = node.now.wall_ms;
            let started = match part.id.and_then(|partition| node.partitions.get_mut(&partition)) {
                None => Err(Refused::NotHere),
                Some(partition) => partition
                    .begin_verification(
                        now_ms,
                        header.producer_id,
                        header.producer_epoch,
                        header.base_sequence,
                        adds,
                    )
                    .map_err(Refused::Partition),
            };
            let Some(Pending::Produce(pending)) = node.waiting.get_mut(id) else { return };
            match started {
                Ok(Verification::NotNeeded) => {}
                Ok(Verification::Needed(guard)) => {
                    pending.parts[index].guard = Some(guard);
                    pending.parts[index].verifying = true;
                    asked.push(to);
                }
                Err(refused) => pending.set_result(index, PartResult::refused(&refused, None)),
            }
        }
    }
    match producer {
        Some((producer_id, producer_epoch)) if !asked.is_empty() => {
            let verify = node.next_verify_id();
            let now = node.now.at;
            let Some(Pending::Produce(pending)) = node.waiting.get_mut(id) else { return };
            pending.verifying_since.get_or_insert(now);
            let transactional_id = pending.transactional_id.clone().unwrap_or_default();
            node.waiting.verify(verify, id);
            node.send(Message::Verify {
                verify,
                transactional_id,
                producer_id,
                producer_epoch,
                partitions: asked,
                add: adds,
            });
        }
        _ => append_all(node, id),
    }
}

/// The coordinator has answered: retry, or append what it agreed to.
pub(crate) fn verified(node: &mut Node, id: RequestId, results: &[(TopicPartition, ErrorCode)]) {
    if may_retry(node, id, results) {
        return retry_later(node, id);
    }
    let Some(Pending::Produce(pending)) = node.waiting.get_mut(id) else { return };
    let version = pending.context.version;
    for index in pending.open_parts() {
        let part = &pending.parts[index];
        if !part.verifying {
            continue;
        }
        let code = results
            .iter()
            .find(|(to, _)| to.topic == part.topic && to.partition == part.index)
            .map_or(ErrorCode::None, |(_, code)| *code);
        match refusal(code, version) {
            None => pending.parts[index].verifying = false,
            Some(result) => pending.set_result(index, result),
        }
    }
    append_all(node, id);
}

/// What the client is told for the coordinator's answer; `None` to append (spec 7.3 and 7.4).
fn refusal(code: ErrorCode, version: i16) -> Option<PartResult> {
    let later = |code: ErrorCode| {
        PartResult::message(
            ErrorCode::NotEnoughReplicas,
            alloc::format!(
                "Unable to verify the partition has been added to the transaction. Underlying error: {code}"
            ),
        )
    };
    Some(match code {
        ErrorCode::None => return None,
        ErrorCode::ProducerFenced => PartResult::code(ErrorCode::InvalidProducerEpoch),
        ErrorCode::TransactionAbortable if version < KNOWS_ABORTABLE => not_added(),
        ErrorCode::InvalidTxnState => not_added(),
        ErrorCode::NetworkException
        | ErrorCode::CoordinatorLoadInProgress
        | ErrorCode::CoordinatorNotAvailable
        | ErrorCode::NotCoordinator => later(code),
        ErrorCode::ConcurrentTransactions if version < ADDS_PARTITIONS => later(code),
        other => PartResult::code(other),
    })
}

fn not_added() -> PartResult {
    mark!(ProduceNotAdded);
    PartResult::message(ErrorCode::InvalidTxnState, "Partition was not added to the transaction")
}

/// Whether the last transaction of this id is still ending and the broker may ask again itself.
fn may_retry(node: &Node, id: RequestId, results: &[(TopicPartition, ErrorCode)]) -> bool {
    let Some(Pending::Produce(pending)) = node.waiting.get(id) else { return false };
    let concurrent = results.iter().any(|(_, code)| *code == ErrorCode::ConcurrentTransactions);
    let waited_ms = pending.verifying_since.map_or(0, |since| node.now.at.ms_since(since));
    concurrent
        && pending.context.version >= ADDS_PARTITIONS
        && waited_ms < retry_bound_ms(&node.config)
}

fn retry_later(node: &mut Node, id: RequestId) {
    mark!(VerifyRetried);
    let backoff_ms = node.config.add_partitions_to_txn_retry_backoff_ms;
    let at = node.now.at.after_ms(u64::try_from(backoff_ms).unwrap_or(1));
    let Some(Pending::Produce(pending)) = node.waiting.get_mut(id) else { return };
    pending.retry_at = Some(at);
    let transactional_id = pending.transactional_id.clone().unwrap_or_default();
    node.timers.set(at, Timer::VerifyAgain(id));
    node.waiting.concurrent_insert(transactional_id, id);
}

/// The retry's time has come.
pub(crate) fn verify_again(node: &mut Node, id: RequestId) {
    let Some(Pending::Produce(pending)) = node.waiting.get_mut(id) else { return };
    if let Some(at) = pending.retry_at.take() {
        let transactional_id = pending.transactional_id.clone().unwrap_or_default();
        forget_guards(pending);
        node.timers.cancel(at, Timer::VerifyAgain(id));
        node.waiting.concurrent_remove(&transactional_id, id);
        begin(node, id);
        finish_if_done(node, id);
    }
}

fn forget_guards(pending: &mut PendingProduce) {
    for part in &mut pending.parts {
        part.guard = None;
        part.verifying = false;
    }
}

/// A transaction of this id moved on: those who met it ending need not wait for their timer.
pub(crate) fn retry_concurrent(node: &mut Node, transactional_id: &str) {
    for id in node.waiting.concurrent_take(transactional_id) {
        verify_again(node, id);
    }
}
