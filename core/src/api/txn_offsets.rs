//! TxnOffsetCommit: offsets that become visible with their transaction (spec 4.5).
//!
//! Topic checks → verification of the group's partition of the offsets topic with the transaction
//! coordinator (KAFKA-15449), from v5 on adding it → the group's checks → append → answer when
//! persisted. One attempt: a transaction that is still ending is the client's to retry.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Context;
use super::offsets::{check_partition, resolve, text};
use super::waiting::Pending;
use crate::error::ErrorCode;
use crate::group::{CommitPartition, GroupError, OffsetCommit, TxnOffsets};
use crate::io::RequestId;
use crate::node::{Message, Node};
use crate::partition::{Guard, Verification};
use crate::types::{CONSUMER_OFFSETS_TOPIC, NO_SEQUENCE, TopicId, TopicName, TopicPartition};
use crate::wire::{
    Response, TxnOffsetCommitRequest, TxnOffsetCommitResponse, TxnOffsetCommitTopicResult,
};

/// From this version a TxnOffsetCommit adds the group's partition to the transaction.
const ADDS_PARTITION: i16 = 5;
/// From this version a client knows TRANSACTION_ABORTABLE.
const KNOWS_ABORTABLE: i16 = 4;
/// Below this version loading is answered as not available.
const KNOWS_LOADING: i16 = 2;

/// A TxnOffsetCommit that waits.
#[derive(Clone, Debug)]
pub(crate) struct PendingTxnOffsets {
    context: Context,
    topics: Vec<Topic>,
    commit: OffsetCommit,
    txn: TxnOffsets,
}

#[derive(Clone, Debug)]
struct Topic {
    name: TopicName,
    topic_id: TopicId,
    partitions: Vec<(i32, ErrorCode)>,
}

pub(crate) fn handle(node: &mut Node, context: Context, request: TxnOffsetCommitRequest) {
    let (conn, id) = (context.conn, context.id);
    let transactional_id = request.transactional_id.clone();
    let pending = prepare(node, context, &request);
    if pending.commit.partitions.is_empty() {
        return respond(node, id, pending);
    }
    let partition = match node.group.txn_coordinator_for(&pending.commit.group) {
        Ok(partition) => partition,
        Err(error) => return fail(node, id, pending, (&error).into()),
    };
    let to = TopicPartition::new(CONSUMER_OFFSETS_TOPIC, partition);
    let adds = pending.context.version >= ADDS_PARTITION;
    if !adds && !node.config.transaction_partition_verification_enable {
        node.waiting.insert(conn, id, Pending::TxnOffsets(pending));
        return commit(node, id, None);
    }
    let verification =
        node.meta.partition_id(&to).and_then(|id| node.partitions.get_mut(&id)).map(|partition| {
            let TxnOffsets { producer_id, producer_epoch, .. } = pending.txn;
            let now_ms = node.now.wall_ms;
            partition.begin_verification(now_ms, producer_id, producer_epoch, NO_SEQUENCE, adds)
        });
    match verification {
        None => fail(node, id, pending, ErrorCode::NotCoordinator),
        Some(Err(error)) => {
            let code = client_code((&error).into());
            fail(node, id, pending, code);
        }
        Some(Ok(Verification::NotNeeded)) => {
            node.waiting.insert(conn, id, Pending::TxnOffsets(pending));
            commit(node, id, None);
        }
        Some(Ok(Verification::Needed(guard))) => {
            let mut pending = pending;
            pending.txn.guard = Some(guard.0);
            let (producer_id, producer_epoch) =
                (pending.txn.producer_id, pending.txn.producer_epoch);
            node.waiting.insert(conn, id, Pending::TxnOffsets(pending));
            let verify = node.next_verify_id();
            node.waiting.verify(verify, id);
            node.send(Message::Verify {
                verify,
                transactional_id: transactional_id.as_str().into(),
                producer_id,
                producer_epoch,
                partitions: alloc::vec![to],
                add: adds,
            });
        }
    }
}

fn prepare(node: &Node, context: Context, request: &TxnOffsetCommitRequest) -> PendingTxnOffsets {
    let by_id = context.version >= 6;
    let mut topics = Vec::new();
    let mut partitions = Vec::new();
    for topic in &request.topics {
        let known = resolve(node, by_id, topic.name.as_str(), topic.topic_id);
        let mut codes = Vec::new();
        for part in &topic.partitions {
            let code = check_partition(node, by_id, known.as_ref(), part.partition);
            if let (ErrorCode::None, Some((name, topic_id))) = (code, &known) {
                partitions.push(CommitPartition {
                    tp: TopicPartition { topic: name.clone(), partition: part.partition },
                    topic_id: *topic_id,
                    offset: part.committed_offset,
                    leader_epoch: part.committed_leader_epoch,
                    metadata: text(part.committed_metadata.as_ref()),
                });
            }
            codes.push((part.partition, code));
        }
        let name = known.map_or_else(|| topic.name.clone(), |(name, _)| name);
        topics.push(Topic { name, topic_id: topic.topic_id, partitions: codes });
    }
    let commit = OffsetCommit {
        group: Arc::from(request.group_id.as_str()),
        generation: request.generation_id,
        member: Arc::from(request.member_id.as_str()),
        instance: text(request.group_instance_id.as_ref()),
        retention_ms: None,
        version: context.version,
        partitions,
    };
    let txn = TxnOffsets {
        producer_id: request.producer_id,
        producer_epoch: request.producer_epoch,
        guard: None,
    };
    PendingTxnOffsets { context, topics, commit, txn }
}

/// The transaction coordinator's word.
pub(crate) fn verified(node: &mut Node, id: RequestId, code: ErrorCode) {
    let Some(Pending::TxnOffsets(pending)) = node.waiting.get(id) else { return };
    let version = pending.context.version;
    let guard = pending.txn.guard.map(Guard);
    let code = match code {
        ErrorCode::ProducerFenced => ErrorCode::InvalidProducerEpoch,
        ErrorCode::TransactionAbortable if version < KNOWS_ABORTABLE => ErrorCode::InvalidTxnState,
        other => other,
    };
    if code == ErrorCode::None {
        return commit(node, id, guard);
    }
    if let Some(Pending::TxnOffsets(pending)) = node.waiting.take(id) {
        fail(node, id, pending, client_code(code));
    }
}

fn commit(node: &mut Node, id: RequestId, guard: Option<Guard>) {
    let Some(Pending::TxnOffsets(pending)) = node.waiting.get(id) else { return };
    let (commit, mut txn) = (pending.commit.clone(), pending.txn);
    txn.guard = guard.map(|guard| guard.0);
    let now = node.now;
    node.group.commit_txn(now, id, &commit, txn);
}

/// The group coordinator's word.
pub(super) fn reply(
    node: &mut Node,
    id: RequestId,
    mut pending: PendingTxnOffsets,
    results: &[(TopicPartition, Result<(), GroupError>)],
) {
    for topic in &mut pending.topics {
        for (partition, code) in &mut topic.partitions {
            let result = results
                .iter()
                .find(|(to, _)| to.topic == topic.name && to.partition == *partition)
                .and_then(|(_, result)| result.as_ref().err());
            if let (ErrorCode::None, Some(error)) = (*code, result) {
                *code = error.into();
            }
        }
    }
    respond(node, id, pending);
}

fn fail(node: &mut Node, id: RequestId, mut pending: PendingTxnOffsets, error: ErrorCode) {
    for (_, code) in pending.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
        if *code == ErrorCode::None {
            *code = error;
        }
    }
    respond(node, id, pending);
}

fn respond(node: &mut Node, id: RequestId, mut pending: PendingTxnOffsets) {
    if pending.context.version < KNOWS_LOADING {
        for (_, code) in pending.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
            if *code == ErrorCode::CoordinatorLoadInProgress {
                *code = ErrorCode::CoordinatorNotAvailable;
            }
        }
    }
    let topics = pending
        .topics
        .into_iter()
        .map(|topic| TxnOffsetCommitTopicResult {
            name: topic.name,
            topic_id: topic.topic_id,
            partitions: topic.partitions,
        })
        .collect();
    node.respond(id, Response::TxnOffsetCommit(TxnOffsetCommitResponse { topics }));
}

/// What the client is told when verification or the log refuses (spec 4.5, last table).
fn client_code(code: ErrorCode) -> ErrorCode {
    (&GroupError::Log(code)).into()
}
