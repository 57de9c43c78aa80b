//! DeleteTopics, by name and by id: answered when the removal is persisted.

use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::DeleteTopicsRequestData;
use kacrab_protocol::generated::delete_topics_response::{
    DeletableTopicResult, DeleteTopicsResponseData,
};

use crate::api::Context;
use crate::api::waiting::Pending;
use crate::error::ErrorCode;
use crate::io::RequestId;
use crate::node::Node;
use crate::types::TopicId;
use crate::wire::Response;

/// A DeleteTopics whose removals are being written.
#[derive(Clone, Debug)]
pub(crate) struct PendingDeleteTopics {
    topics: Vec<Asked>,
}

#[derive(Clone, Debug)]
struct Asked {
    name: Option<KafkaString>,
    id: TopicId,
    code: ErrorCode,
}

pub(crate) fn delete(node: &mut Node, context: Context, request: DeleteTopicsRequestData) {
    let named = request.topic_names.into_iter().map(|name| (Some(name), TopicId::default()));
    let stated =
        request.topics.into_iter().map(|state| (state.name, TopicId::from(state.topic_id)));
    let asked: Vec<_> = if context.version < 6 { named.collect() } else { stated.collect() };
    let mut pending = PendingDeleteTopics { topics: Vec::new() };
    let mut waits = Vec::new();
    for (name, id) in asked {
        let under_way = being_deleted(node, name.as_ref(), id);
        let one = plan(node, name, id);
        if one.code == ErrorCode::None {
            waits.push(one.id);
        }
        waits.extend(under_way);
        pending.topics.push(one);
    }
    let id = context.id;
    if waits.is_empty() {
        return respond(node, id, &pending);
    }
    node.waiting.insert(context.conn, id, Pending::DeleteTopics(pending));
    node.when_deleted(context, waits);
}

/// "There is no such topic" is an answer only once that is durable: a deletion that is still being
/// written is waited for.
fn being_deleted(node: &Node, name: Option<&KafkaString>, id: TopicId) -> Option<TopicId> {
    let topic = match name {
        Some(name) => node.meta.topic(name.as_str()),
        None => node.meta.topic_by_id(id),
    }?;
    node.meta.is_being_deleted(topic.id).then_some(topic.id)
}

fn plan(node: &mut Node, name: Option<KafkaString>, id: TopicId) -> Asked {
    if !node.config.delete_topic_enable {
        return Asked { name, id, code: ErrorCode::TopicDeletionDisabled };
    }
    let planned = match &name {
        Some(name) => node.meta.plan_delete(name.as_str()),
        None => node.meta.plan_delete_by_id(id),
    };
    let known = match &name {
        Some(name) => node.meta.topic(name.as_str()),
        None => node.meta.topic_by_id(id),
    };
    let (name, id) = match known {
        Some(topic) => (Some(topic.name.to_kafka()), topic.id),
        None => (name, id),
    };
    let code = match planned {
        Ok(records) => match node.append_metadata(records) {
            Ok(()) => ErrorCode::None,
            Err(refused) => (&refused).into(),
        },
        Err(error) => (&error).into(),
    };
    Asked { name, id, code }
}

/// Every removal is decided.
pub(crate) fn deleted(node: &mut Node, context: &Context) {
    if let Some(Pending::DeleteTopics(pending)) = node.waiting.take(context.id) {
        respond(node, context.id, &pending);
    }
}

fn respond(node: &mut Node, id: RequestId, pending: &PendingDeleteTopics) {
    let responses = pending
        .topics
        .iter()
        .map(|asked| {
            let still_there = node.meta.topic_by_id(asked.id).is_some();
            let code = if asked.code == ErrorCode::None && still_there {
                ErrorCode::KafkaStorageError
            } else {
                asked.code
            };
            DeletableTopicResult {
                name: asked.name.clone(),
                topic_id: asked.id.to_kafka(),
                error_code: code.code(),
                error_message: None,
                ..Default::default()
            }
        })
        .collect();
    let data = DeleteTopicsResponseData { responses, ..Default::default() };
    node.respond(id, Response::DeleteTopics(data));
}
