//! CreatePartitions: planned on what is persisted, answered when the partitions exist.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::create_partitions_request::CreatePartitionsTopic;
use kacrab_protocol::generated::create_partitions_response::CreatePartitionsTopicResult;
use kacrab_protocol::generated::{CreatePartitionsRequestData, CreatePartitionsResponseData};

use crate::api::Context;
use crate::api::changes::PendingChange;
use crate::api::repeated;
use crate::error::ErrorCode;
use crate::meta::{MetaError, NewPartitions, PARTITIONS_PER_REQUEST_MAX};
use crate::node::Node;
use crate::wire::{Request, Response};

pub(crate) fn create_partitions(
    node: &mut Node,
    context: Context,
    request: CreatePartitionsRequestData,
) {
    if node.is_changing() {
        return node.after_the_change(context, Request::CreatePartitions(request));
    }
    let twice = repeated(request.topics.iter().map(|topic| topic.name.as_str()));
    let mut left = PARTITIONS_PER_REQUEST_MAX;
    let planned: Vec<(KafkaString, Result<Vec<Bytes>, MetaError>)> = request
        .topics
        .iter()
        .map(|topic| {
            let plan = if twice.contains(topic.name.as_str()) {
                Err(MetaError::DuplicateInRequest)
            } else {
                node.meta.plan_partitions(&wish(topic), &mut left)
            };
            (topic.name.clone(), plan)
        })
        .collect();
    let answer = |code: ErrorCode| {
        let results = planned.iter().map(|(name, plan)| result(name, plan, code)).collect();
        let data = CreatePartitionsResponseData { results, ..Default::default() };
        Response::CreatePartitions(data)
    };
    let pending = PendingChange {
        persisted: answer(ErrorCode::None),
        failed: answer(ErrorCode::KafkaStorageError),
    };
    let plans = planned.iter().filter_map(|(_, plan)| plan.as_ref().ok());
    let validate_only = request.validate_only;
    let records = if validate_only { Vec::new() } else { plans.flatten().cloned().collect() };
    node.append_change(&context, records, pending);
}

fn wish(topic: &CreatePartitionsTopic) -> NewPartitions {
    NewPartitions {
        topic: String::from(topic.name.as_str()),
        count: topic.count,
        assignments: topic
            .assignments
            .as_ref()
            .map(|all| all.iter().map(|one| one.broker_ids.clone()).collect()),
    }
}

fn result(
    name: &KafkaString,
    plan: &Result<Vec<Bytes>, MetaError>,
    planned: ErrorCode,
) -> CreatePartitionsTopicResult {
    let (code, message) = match plan {
        Ok(_) => (planned, None),
        Err(error) => (ErrorCode::from(error), Some(KafkaString::from(alloc::format!("{error}")))),
    };
    CreatePartitionsTopicResult {
        name: name.clone(),
        error_code: code.code(),
        error_message: message,
        ..Default::default()
    }
}
