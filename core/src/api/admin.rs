//! What operators ask: DescribeProducers, DescribeTransactions, ListTransactions (spec 8.5 to 8.7).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::describe_producers_response::{
    DescribeProducersResponseData, PartitionResponse, ProducerState, TopicResponse,
};
use kacrab_protocol::generated::describe_transactions_response::{
    DescribeTransactionsResponseData, TopicData, TransactionState,
};
use kacrab_protocol::generated::list_transactions_response::{
    ListTransactionsResponseData, TransactionState as ListedState,
};
use kacrab_protocol::generated::{
    DescribeProducersRequestData, DescribeTransactionsRequestData, ListTransactionsRequestData,
};

use super::Context;
use crate::error::ErrorCode;
use crate::node::Node;
use crate::txn::{ListFilters, TxnDescription, TxnError};
use crate::types::TopicPartition;
use crate::wire::Response;

pub(crate) fn describe_producers(
    node: &mut Node,
    context: &Context,
    request: &DescribeProducersRequestData,
) {
    let topics = request
        .topics
        .iter()
        .map(|topic| TopicResponse {
            name: topic.name.clone(),
            partitions: topic
                .partition_indexes
                .iter()
                .map(|&partition| producers_of(node, topic.name.as_str(), partition))
                .collect(),
            ..Default::default()
        })
        .collect();
    let data = DescribeProducersResponseData { topics, ..Default::default() };
    node.respond(context.id, Response::DescribeProducers(data));
}

fn producers_of(node: &Node, topic: &str, partition_index: i32) -> PartitionResponse {
    let refused = |code: ErrorCode| PartitionResponse {
        partition_index,
        error_code: code.code(),
        error_message: Some(KafkaString::from(alloc::format!("{code}"))),
        ..Default::default()
    };
    if crate::meta::check_topic_name(topic).is_err() {
        return refused(ErrorCode::InvalidTopicException);
    }
    let Some(id) = node.meta.partition_id(&TopicPartition::new(topic, partition_index)) else {
        return refused(ErrorCode::UnknownTopicOrPartition);
    };
    let Some(partition) = node.partitions.get(&id) else {
        return refused(ErrorCode::NotLeaderOrFollower);
    };
    let active_producers = partition
        .producers()
        .map(|producer| ProducerState {
            producer_id: producer.producer_id,
            producer_epoch: producer.producer_epoch,
            last_sequence: producer.last_sequence,
            last_timestamp: producer.last_timestamp_ms,
            coordinator_epoch: producer.coordinator_epoch,
            current_txn_start_offset: producer.current_txn_start_offset,
            ..Default::default()
        })
        .collect();
    PartitionResponse { partition_index, active_producers, ..Default::default() }
}

pub(crate) fn describe_transactions(
    node: &mut Node,
    context: &Context,
    request: &DescribeTransactionsRequestData,
) {
    let transaction_states = request
        .transactional_ids
        .iter()
        .map(|id| described(id.clone(), node.txn.describe(id.as_str())))
        .collect();
    let data = DescribeTransactionsResponseData { transaction_states, ..Default::default() };
    node.respond(context.id, Response::DescribeTransactions(data));
}

fn described(
    transactional_id: KafkaString,
    found: Result<TxnDescription, TxnError>,
) -> TransactionState {
    match found {
        Err(error) => TransactionState {
            error_code: ErrorCode::from(&error).code(),
            transactional_id,
            ..Default::default()
        },
        Ok(found) => {
            let mut topics: BTreeMap<_, Vec<i32>> = BTreeMap::new();
            for to in found.partitions {
                topics.entry(to.topic).or_default().push(to.partition);
            }
            TransactionState {
                transactional_id,
                transaction_state: KafkaString::from_static(found.state.name()),
                transaction_timeout_ms: found.timeout_ms,
                transaction_start_time_ms: found.start_ms,
                producer_id: found.producer_id,
                producer_epoch: found.producer_epoch,
                topics: topics
                    .into_iter()
                    .map(|(topic, partitions)| TopicData {
                        topic: topic.to_kafka(),
                        partitions,
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            }
        }
    }
}

pub(crate) fn list_transactions(
    node: &mut Node,
    context: &Context,
    request: &ListTransactionsRequestData,
) {
    let filters = ListFilters {
        states: request.state_filters.iter().map(|state| String::from(state.as_str())).collect(),
        producer_ids: request.producer_id_filters.clone(),
        duration_ms: (context.version >= 1 && request.duration_filter >= 0)
            .then_some(request.duration_filter),
        transactional_id_pattern: request
            .transactional_id_pattern
            .as_ref()
            .map(|pattern| pattern.as_str().into())
            .unwrap_or_default(),
    };
    let data = match node.txn.list(node.now.wall_ms, &filters) {
        Err(error) => ListTransactionsResponseData {
            error_code: ErrorCode::from(&error).code(),
            ..Default::default()
        },
        Ok(listing) => ListTransactionsResponseData {
            unknown_state_filters: listing
                .unknown_states
                .into_iter()
                .map(KafkaString::from)
                .collect(),
            transaction_states: listing
                .transactions
                .into_iter()
                .map(|txn| ListedState {
                    transactional_id: KafkaString::from(String::from(&*txn.transactional_id)),
                    producer_id: txn.producer_id,
                    transaction_state: KafkaString::from_static(txn.state.name()),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        },
    };
    node.respond(context.id, Response::ListTransactions(data));
}
