//! DescribeTopicPartitions (KIP-966): topics by name, in pages.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::DescribeTopicPartitionsRequestData;
use kacrab_protocol::generated::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponseData, DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
};

use crate::api::Context;
use crate::api::operations;
use crate::error::ErrorCode;
use crate::meta::Topic;
use crate::node::Node;
use crate::wire::Response;

pub(crate) fn describe_partitions(
    node: &mut Node,
    context: &Context,
    request: &DescribeTopicPartitionsRequestData,
) {
    let (from, first) = match &request.cursor {
        Some(cursor) => (cursor.topic_name.as_str(), cursor.partition_index),
        None => ("", 0),
    };
    if first < 0 {
        let code = ErrorCode::InvalidRequest;
        let request = crate::wire::Request::DescribeTopicPartitions(request.clone());
        if let Some(answer) = crate::wire::error_response(&request, context.version, code) {
            node.respond(context.id, answer);
        }
        return;
    }
    let names: BTreeSet<&str> = if request.topics.is_empty() {
        node.meta.topics().map(|topic| topic.name.as_str()).filter(|name| *name >= from).collect()
    } else {
        let asked = request.topics.iter().map(|topic| topic.name.as_str());
        asked.filter(|name| *name >= from).collect()
    };
    let limit = node.config.max_request_partition_size_limit.min(request.response_partition_limit);
    let mut left = limit.max(1);
    let mut topics = Vec::new();
    let mut next_cursor = None;
    for name in names {
        let cursor = |partition_index| {
            let topic_name = KafkaString::from(alloc::string::String::from(name));
            Some(Box::new(Cursor { topic_name, partition_index, ..Default::default() }))
        };
        if left == 0 {
            next_cursor = cursor(0);
            break;
        }
        let Some(topic) = node.meta.topic(name) else {
            // Without names only what exists was meant.
            if !request.topics.is_empty() {
                topics.push(unknown(name));
            }
            continue;
        };
        let begin = if name == from { first.min(topic.partitions) } else { 0 };
        let end = topic.partitions.min(begin.saturating_add(left));
        left -= end - begin;
        topics.push(described(node, topic, begin..end));
        if end < topic.partitions {
            next_cursor = cursor(end);
            break;
        }
    }
    let data = DescribeTopicPartitionsResponseData { topics, next_cursor, ..Default::default() };
    node.respond(context.id, Response::DescribeTopicPartitions(data));
}

fn unknown(name: &str) -> DescribeTopicPartitionsResponseTopic {
    let code = match crate::meta::check_topic_name(name) {
        Ok(()) => ErrorCode::UnknownTopicOrPartition,
        Err(_) => ErrorCode::InvalidTopicException,
    };
    DescribeTopicPartitionsResponseTopic {
        error_code: code.code(),
        name: Some(KafkaString::from(alloc::string::String::from(name))),
        topic_authorized_operations: operations::OF_TOPICS,
        ..Default::default()
    }
}

fn described(
    node: &Node,
    topic: &Topic,
    partitions: core::ops::Range<i32>,
) -> DescribeTopicPartitionsResponseTopic {
    let node_id = node.config.node_id;
    let leader_epoch = node.meta.leader_epoch();
    DescribeTopicPartitionsResponseTopic {
        name: Some(topic.name.to_kafka()),
        topic_id: topic.id.to_kafka(),
        is_internal: topic.name.is_internal(),
        partitions: partitions
            .map(|partition_index| DescribeTopicPartitionsResponsePartition {
                partition_index,
                leader_id: node_id,
                leader_epoch,
                replica_nodes: alloc::vec![node_id],
                isr_nodes: alloc::vec![node_id],
                eligible_leader_replicas: Some(Vec::new()),
                last_known_elr: Some(Vec::new()),
                ..Default::default()
            })
            .collect(),
        topic_authorized_operations: operations::OF_TOPICS,
        ..Default::default()
    }
}
