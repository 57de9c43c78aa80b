//! CreateTopics: planned, appended to the metadata log, answered when the topics exist.

use alloc::string::String;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::CreateTopicsRequestData;
use kacrab_protocol::generated::create_topics_request::CreatableTopic;
use kacrab_protocol::generated::create_topics_response::{
    CreatableTopicConfigs, CreatableTopicResult, CreateTopicsResponseData,
};

use crate::api::Context;
use crate::api::waiting::Pending;
use crate::error::ErrorCode;
use crate::io::RequestId;
use crate::mark;
use crate::meta::{MetaError, TOPIC_CONFIGS, TopicPlan, TopicSpec};
use crate::node::Node;
use crate::types::{TopicId, TopicName};
use crate::wire::{Request, Response};

/// A CreateTopics whose topics are being written.
#[derive(Clone, Debug)]
pub(crate) struct PendingCreateTopics {
    topics: Vec<(KafkaString, Result<TopicPlan, MetaError>)>,
}

/// From this version the answer tells the topic's settings (KIP-525).
const TELLS_CONFIGS: i16 = 5;

pub(crate) fn create(node: &mut Node, context: Context, request: CreateTopicsRequestData) {
    // "It exists" is an answer only once that is durable: whoever meets a creation that is still
    // being written waits for its end.
    let under_way: Vec<TopicName> = request
        .topics
        .iter()
        .filter(|topic| node.meta.is_being_created(topic.name.as_str()))
        .map(|topic| TopicName::from(topic.name.as_str()))
        .collect();
    if !under_way.is_empty() {
        mark!(CreationMetAnother);
        return node.after_creation(context, Request::CreateTopics(request), under_way);
    }
    let specs: Vec<TopicSpec> = request.topics.iter().map(spec).collect();
    let plans = node.meta.plan_create_all(&specs, request.validate_only);
    let mut names = Vec::new();
    for plan in plans.iter().flatten() {
        if !plan.records.is_empty() {
            names.push(plan.name.clone());
            // A refusal has taken the plan back, which the answer sees.
            let _ = node.append_creation(plan);
        }
    }
    let topics = request.topics.into_iter().map(|topic| topic.name).zip(plans).collect();
    let id = context.id;
    let pending = PendingCreateTopics { topics };
    if names.is_empty() {
        return respond(node, id, context.version, &pending);
    }
    node.waiting.insert(context.conn, id, Pending::CreateTopics(pending));
    node.when_created(context, names);
}

fn spec(topic: &CreatableTopic) -> TopicSpec {
    TopicSpec {
        name: topic.name.as_str().into(),
        partitions: topic.num_partitions,
        replication_factor: topic.replication_factor,
        assignments: topic
            .assignments
            .iter()
            .map(|assignment| (assignment.partition_index, assignment.broker_ids.clone()))
            .collect(),
        configs: topic
            .configs
            .iter()
            .map(|config| {
                (
                    String::from(config.name.as_str()),
                    config.value.as_ref().map(|value| String::from(value.as_str())),
                )
            })
            .collect(),
    }
}

/// Every topic is decided.
pub(crate) fn created(node: &mut Node, context: &Context) {
    if let Some(Pending::CreateTopics(pending)) = node.waiting.take(context.id) {
        respond(node, context.id, context.version, &pending);
    }
}

fn respond(node: &mut Node, id: RequestId, version: i16, pending: &PendingCreateTopics) {
    let topics = pending
        .topics
        .iter()
        .map(|(name, plan)| match plan {
            Err(error) => refused(name, error.into(), alloc::format!("{error}")),
            Ok(plan) if plan.id.is_zero() || exists(node, &plan.name, plan.id) => {
                made(node, name, plan, version)
            }
            Ok(_) => refused(
                name,
                ErrorCode::KafkaStorageError,
                "the topic could not be written to the metadata log".into(),
            ),
        })
        .collect();
    let data = CreateTopicsResponseData { topics, ..Default::default() };
    node.respond(id, Response::CreateTopics(data));
}

fn exists(node: &Node, name: &TopicName, id: TopicId) -> bool {
    node.meta.topic(name.as_str()).is_some_and(|topic| topic.id == id)
}

fn refused(name: &KafkaString, code: ErrorCode, message: String) -> CreatableTopicResult {
    CreatableTopicResult {
        name: name.clone(),
        error_code: code.code(),
        error_message: Some(KafkaString::from(message)),
        num_partitions: -1,
        replication_factor: -1,
        configs: None,
        ..Default::default()
    }
}

fn made(node: &Node, name: &KafkaString, plan: &TopicPlan, version: i16) -> CreatableTopicResult {
    CreatableTopicResult {
        name: name.clone(),
        topic_id: plan.id.to_kafka(),
        num_partitions: plan.partitions,
        replication_factor: plan.replication_factor,
        configs: (version >= TELLS_CONFIGS).then(|| configs(node, plan)),
        ..Default::default()
    }
}

fn configs(node: &Node, plan: &TopicPlan) -> Vec<CreatableTopicConfigs> {
    TOPIC_CONFIGS
        .iter()
        .map(|config| {
            let described = node.meta.describe_topic_config(&plan.configs, config);
            CreatableTopicConfigs {
                name: KafkaString::from_static(described.name),
                value: described.value.map(KafkaString::from),
                config_source: described.source as i8,
                ..Default::default()
            }
        })
        .collect()
}
