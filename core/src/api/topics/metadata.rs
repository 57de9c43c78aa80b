//! Metadata: who leads what. A topic that is unknown and may be created is created first; the
//! answer waits for it.

use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::MetadataRequestData;
use kacrab_protocol::generated::metadata_response::{
    MetadataResponseBroker, MetadataResponseData, MetadataResponsePartition, MetadataResponseTopic,
};

use crate::api::Context;
use crate::api::operations;
use crate::error::ErrorCode;
use crate::meta::{MetaError, Topic, TopicSpec};
use crate::node::Node;
use crate::types::{
    CONSUMER_OFFSETS_TOPIC, PartitionId, TRANSACTION_STATE_TOPIC, TopicId, TopicName,
};
use crate::wire::{Request, Response};

/// From this version a request says whether unknown topics are to be created.
const ASKS_FOR_CREATION: i16 = 4;

pub(crate) fn metadata(node: &mut Node, context: Context, request: MetadataRequestData) {
    let may_create = node.config.auto_create_topics_enable
        && node.cluster.is_none()
        && !context.resumed
        && (context.version < ASKS_FOR_CREATION || request.allow_auto_topic_creation);
    let created = if may_create { create_unknown(node, &request) } else { Vec::new() };
    if !created.is_empty() {
        return node.after_creation(context, Request::Metadata(request), created);
    }
    answer(node, &context, &request);
}

/// Plans the unknown topics of a request; the names whose creation is under way.
fn create_unknown(node: &mut Node, request: &MetadataRequestData) -> Vec<TopicName> {
    let mut under_way = Vec::new();
    if asks_by_id(request) {
        return under_way;
    }
    for topic in request.topics.iter().flatten() {
        let Some(name) = topic.name.as_ref().map(KafkaString::as_str) else { continue };
        if node.meta.topic(name).is_some() {
            continue;
        }
        if create_one(node, name).is_ok() {
            under_way.push(TopicName::from(name));
        }
    }
    under_way
}

fn create_one(node: &mut Node, name: &str) -> Result<(), MetaError> {
    if node.meta.is_being_created(name) {
        return Ok(());
    }
    if matches!(name, TRANSACTION_STATE_TOPIC | CONSUMER_OFFSETS_TOPIC) {
        return node.create_internal_topic(name);
    }
    let plan = node.meta.plan_create(&TopicSpec::named(name), false)?;
    // A refusal has taken the plan back; the answer will say that there is no such topic.
    let _ = node.append_creation(&plan);
    Ok(())
}

/// Whether topics are named by id: then what names there are do not count. Clients send an empty
/// name beside the id (`KafkaApis.handleTopicMetadataRequest`).
fn asks_by_id(request: &MetadataRequestData) -> bool {
    request.topics.iter().flatten().any(|topic| !TopicId::from(topic.topic_id).is_zero())
}

pub(super) fn answer(node: &mut Node, context: &Context, request: &MetadataRequestData) {
    let all = match &request.topics {
        None => true,
        Some(topics) => topics.is_empty() && context.version == 0,
    };
    let by_ids = asks_by_id(request);
    let mut topics: Vec<MetadataResponseTopic> = if all {
        node.meta.topics().map(|topic| described(node, topic)).collect()
    } else {
        request
            .topics
            .iter()
            .flatten()
            .filter_map(|asked| {
                let id = TopicId::from(asked.topic_id);
                match &asked.name {
                    _ if by_ids => (!id.is_zero()).then(|| by_id(node, id)),
                    Some(name) => Some(by_name(node, name)),
                    None => Some(by_id(node, id)),
                }
            })
            .collect()
    };
    if request.include_topic_authorized_operations {
        // Not of an id that there is no topic of.
        for topic in topics.iter_mut().filter(|topic| topic.name.is_some()) {
            topic.topic_authorized_operations = operations::OF_TOPICS;
        }
    }
    let data = MetadataResponseData {
        brokers: node
            .members()
            .into_iter()
            .map(|member| MetadataResponseBroker {
                node_id: member.id,
                host: KafkaString::from(member.host),
                port: member.port,
                rack: None,
                ..Default::default()
            })
            .collect(),
        cluster_id: node
            .meta
            .cluster_id()
            .map(|id| KafkaString::from(alloc::string::String::from(id))),
        controller_id: node.config.node_id,
        topics,
        cluster_authorized_operations: operations::if_asked(
            request.include_cluster_authorized_operations,
            operations::OF_CLUSTERS,
        ),
        ..Default::default()
    };
    node.respond(context.id, Response::Metadata(data));
}

fn by_name(node: &Node, name: &KafkaString) -> MetadataResponseTopic {
    if let Some(topic) = node.meta.topic(name.as_str()) {
        return described(node, topic);
    }
    let code = match crate::meta::check_topic_name(name.as_str()) {
        Ok(()) => ErrorCode::UnknownTopicOrPartition,
        Err(_) => ErrorCode::InvalidTopicException,
    };
    MetadataResponseTopic {
        error_code: code.code(),
        name: Some(name.clone()),
        topic_authorized_operations: operations::NOT_ASKED,
        ..Default::default()
    }
}

fn by_id(node: &Node, id: TopicId) -> MetadataResponseTopic {
    if let Some(topic) = node.meta.topic_by_id(id) {
        return described(node, topic);
    }
    MetadataResponseTopic {
        error_code: ErrorCode::UnknownTopicId.code(),
        name: None,
        topic_id: id.to_kafka(),
        topic_authorized_operations: operations::NOT_ASKED,
        ..Default::default()
    }
}

fn described(node: &Node, topic: &Topic) -> MetadataResponseTopic {
    MetadataResponseTopic {
        name: Some(topic.name.to_kafka()),
        topic_id: topic.id.to_kafka(),
        is_internal: topic.name.is_internal(),
        partitions: (0..topic.partitions)
            .map(|partition| described_partition(node, topic.id, partition))
            .collect(),
        topic_authorized_operations: operations::NOT_ASKED,
        ..Default::default()
    }
}

fn described_partition(
    node: &Node,
    topic_id: TopicId,
    partition: i32,
) -> MetadataResponsePartition {
    let Some(leader) = node.leader_of(PartitionId { topic_id, partition }) else {
        return MetadataResponsePartition {
            error_code: ErrorCode::LeaderNotAvailable.code(),
            partition_index: partition,
            leader_id: -1,
            ..Default::default()
        };
    };
    MetadataResponsePartition {
        partition_index: partition,
        leader_id: leader.node,
        leader_epoch: leader.epoch,
        replica_nodes: alloc::vec![leader.node],
        isr_nodes: alloc::vec![leader.node],
        ..Default::default()
    }
}
