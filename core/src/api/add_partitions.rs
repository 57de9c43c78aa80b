//! AddPartitionsToTxn: of clients (v0 to v3, one transaction) and of brokers (v4 and v5, several,
//! maybe only verifying). Spec 4.2.

use alloc::vec::Vec;

use kacrab_protocol::generated::add_partitions_to_txn_request::{
    AddPartitionsToTxnRequestData, AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use kacrab_protocol::generated::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResponseData, AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
};

use super::Context;
use super::transactions::before;
use super::waiting::Pending;
use crate::error::ErrorCode;
use crate::io::{ConnId, RequestId};
use crate::mark;
use crate::node::Node;
use crate::txn::{TxnReply, TxnReplyTo};
use crate::types::TopicPartition;
use crate::wire::Response;

/// An AddPartitionsToTxn that waits: one transaction after the other is decided.
#[derive(Clone, Debug)]
pub(crate) struct PendingAddPartitions {
    context: Context,
    transactions: Vec<AddPartitionsToTxnTransaction>,
    results: Vec<Vec<(TopicPartition, ErrorCode)>>,
}

impl PendingAddPartitions {
    pub(super) const fn connection(&self) -> ConnId {
        self.context.conn
    }
}

pub(crate) fn handle(node: &mut Node, context: Context, request: AddPartitionsToTxnRequestData) {
    let transactions = if context.version < 4 {
        alloc::vec![AddPartitionsToTxnTransaction {
            transactional_id: request.v3_and_below_transactional_id,
            producer_id: request.v3_and_below_producer_id,
            producer_epoch: request.v3_and_below_producer_epoch,
            verify_only: false,
            topics: request.v3_and_below_topics,
            ..Default::default()
        }]
    } else {
        request.transactions
    };
    let (conn, id) = (context.conn, context.id);
    let pending = PendingAddPartitions { context, transactions, results: Vec::new() };
    node.waiting.insert(conn, id, Pending::AddPartitions(pending));
    next(node, id);
}

/// Takes up the next transaction of the request, or answers.
fn next(node: &mut Node, id: RequestId) {
    loop {
        let Some(Pending::AddPartitions(pending)) = node.waiting.get(id) else { return };
        let Some(transaction) = pending.transactions.get(pending.results.len()) else {
            return respond(node, id);
        };
        let transaction = transaction.clone();
        let version = pending.context.version;
        let partitions = partitions_of(&transaction.topics);
        if let Some(results) = refused(node, version, &partitions) {
            let Some(Pending::AddPartitions(pending)) = node.waiting.get_mut(id) else { return };
            pending.results.push(results);
            continue;
        }
        let to = TxnReplyTo::Client(id);
        let name = transaction.transactional_id.as_str();
        let (pid, epoch) = (transaction.producer_id, transaction.producer_epoch);
        if transaction.verify_only {
            node.txn.verify_partitions(to, name, pid, epoch, partitions);
        } else {
            let client_version = if version < 4 { 0 } else { 2 };
            let now = node.now;
            node.txn.add_partitions(now, to, name, pid, epoch, partitions, client_version);
        }
        return;
    }
}

/// Partitions that may not be added: one bad one spoils the rest (KAFKA-5322, report P31).
fn refused(
    node: &Node,
    version: i16,
    partitions: &[TopicPartition],
) -> Option<Vec<(TopicPartition, ErrorCode)>> {
    let code = |to: &TopicPartition| {
        if version < 4 && to.topic.is_internal() {
            ErrorCode::TopicAuthorizationFailed
        } else if node.meta.partition_id(to).is_none() {
            ErrorCode::UnknownTopicOrPartition
        } else {
            ErrorCode::None
        }
    };
    let codes: Vec<_> = partitions.iter().map(code).collect();
    if codes.iter().all(|code| *code == ErrorCode::None) {
        return None;
    }
    mark!(AddPartitionsNotAttempted);
    let spoiled =
        |code| if code == ErrorCode::None { ErrorCode::OperationNotAttempted } else { code };
    Some(partitions.iter().cloned().zip(codes.into_iter().map(spoiled)).collect())
}

fn partitions_of(topics: &[AddPartitionsToTxnTopic]) -> Vec<TopicPartition> {
    topics
        .iter()
        .flat_map(|topic| {
            topic
                .partitions
                .iter()
                .map(|&partition| TopicPartition::new(topic.name.as_str(), partition))
        })
        .collect()
}

/// The coordinator's word for the transaction in hand.
pub(super) fn reply(node: &mut Node, id: RequestId, reply: &TxnReply) {
    let Some(Pending::AddPartitions(pending)) = node.waiting.get_mut(id) else { return };
    let Some(transaction) = pending.transactions.get(pending.results.len()) else { return };
    let version = pending.context.version;
    let results = match reply {
        TxnReply::Verify(results) => results
            .iter()
            .map(|(to, result)| {
                (to.clone(), result.as_ref().map_or_else(ErrorCode::from, |()| ErrorCode::None))
            })
            .collect(),
        TxnReply::AddPartitions(result) => {
            let code = result.as_ref().map_or_else(ErrorCode::from, |()| ErrorCode::None);
            let code = before(2, version, code);
            partitions_of(&transaction.topics).into_iter().map(|to| (to, code)).collect()
        }
        _ => return,
    };
    pending.results.push(results);
    next(node, id);
}

fn respond(node: &mut Node, id: RequestId) {
    let Some(Pending::AddPartitions(pending)) = node.waiting.take(id) else { return };
    let version = pending.context.version;
    let mut results = pending
        .transactions
        .into_iter()
        .zip(pending.results)
        .map(|(transaction, results)| AddPartitionsToTxnResult {
            topic_results: topic_results(&transaction.topics, results),
            transactional_id: transaction.transactional_id,
            ..Default::default()
        })
        .collect::<Vec<_>>();
    let mut data = AddPartitionsToTxnResponseData::default();
    if version < 4 {
        data.results_by_topic_v3_and_below =
            results.pop().map(|result| result.topic_results).unwrap_or_default();
    } else {
        data.results_by_transaction = results;
    }
    node.respond(id, Response::AddPartitionsToTxn(data));
}

/// The results by topic, in the order of the request; a topic without partitions is there too.
fn topic_results(
    topics: &[AddPartitionsToTxnTopic],
    results: Vec<(TopicPartition, ErrorCode)>,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let mut results = results.into_iter();
    topics
        .iter()
        .map(|topic| AddPartitionsToTxnTopicResult {
            name: topic.name.clone(),
            results_by_partition: results
                .by_ref()
                .take(topic.partitions.len())
                .map(|(to, code)| AddPartitionsToTxnPartitionResult {
                    partition_index: to.partition,
                    partition_error_code: code.code(),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        })
        .collect()
}
