//! The answer to a Produce: spec 2.3 and 2.4.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::produce_response::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse,
    ProduceResponseData, TopicProduceResponse,
};

use super::{BatchFault, Part, PendingProduce, cancel};
use crate::api::waiting::Pending;
use crate::cluster::Leader;
use crate::error::ErrorCode;
use crate::io::{Output, RequestId};
use crate::mark;
use crate::node::{Node, Refused};
use crate::partition::{AppendError, Appended};
use crate::types::Offset;
use crate::wire::Response;

/// What one partition's answer says.
#[derive(Clone, Debug)]
pub(super) struct PartResult {
    code: ErrorCode,
    base_offset: Offset,
    log_append_time_ms: i64,
    log_start: Offset,
    message: Option<String>,
    record_errors: Vec<(i32, String)>,
}

impl PartResult {
    pub(super) fn code(code: ErrorCode) -> Self {
        Self {
            code,
            base_offset: -1,
            log_append_time_ms: -1,
            log_start: -1,
            message: None,
            record_errors: Vec::new(),
        }
    }

    pub(super) fn message(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::code(code) }
    }

    /// A faulty batch. Kafka names single records only for what it refuses by the topic's
    /// settings.
    pub(super) fn fault(fault: &BatchFault) -> Self {
        Self::message(fault.into(), alloc::format!("{fault}"))
    }

    /// A refused append. Which refusals carry the log start is Kafka's choice (spec 2.4).
    pub(super) fn refused(refused: &Refused, log_start: Option<Offset>) -> Self {
        let code = ErrorCode::from(refused);
        let bare = matches!(
            code,
            ErrorCode::MessageTooLarge
                | ErrorCode::RecordListTooLarge
                | ErrorCode::CorruptMessage
                | ErrorCode::NotLeaderOrFollower
                | ErrorCode::UnknownTopicOrPartition
                | ErrorCode::UnknownTopicId
                | ErrorCode::KafkaStorageError
        );
        let record_errors = match refused {
            Refused::Partition(AppendError::InvalidRecords { errors, .. }) => {
                errors.iter().map(|error| (error.index, String::from(&*error.message))).collect()
            }
            _ => Vec::new(),
        };
        Self {
            log_start: if bare { -1 } else { log_start.unwrap_or(-1) },
            message: (!bare).then(|| refused.text()),
            record_errors,
            ..Self::code(code)
        }
    }

    fn of_append(appended: &Appended, log_start: Offset) -> Self {
        let (base_offset, log_append_time_ms) = match appended {
            Appended::New(new) => (new.base_offset, new.log_append_time_ms),
            Appended::Duplicate { base_offset, timestamp_ms, .. } => (*base_offset, *timestamp_ms),
        };
        Self { base_offset, log_append_time_ms, log_start, ..Self::code(ErrorCode::None) }
    }
}

/// One partition's append is on disk (or what it duplicates is).
pub(crate) fn persisted(node: &mut Node, id: RequestId, part: usize) {
    let Some(Pending::Produce(pending)) = node.waiting.get(id) else { return };
    let Some(appended) = pending.parts.get(part).and_then(|part| part.appended.as_ref()) else {
        return;
    };
    let log_start = pending.parts[part]
        .id
        .and_then(|partition| node.partitions.get(&partition))
        .map_or(-1, crate::partition::Partition::log_start);
    let result = PartResult::of_append(appended, log_start);
    set_result(node, id, part, result);
}

/// One partition's append is taken back.
pub(crate) fn failed(node: &mut Node, id: RequestId, part: usize, code: ErrorCode) {
    set_result(node, id, part, PartResult::code(code));
}

/// The answer may wait no longer. The batches stay; a retry is answered as a duplicate.
pub(crate) fn timed_out(node: &mut Node, id: RequestId) {
    mark!(ProduceTimedOut);
    let Some(Pending::Produce(pending)) = node.waiting.get_mut(id) else { return };
    for part in pending.open_parts() {
        pending.set_result(part, PartResult::code(ErrorCode::RequestTimedOut));
    }
    finish_if_done(node, id);
}

fn set_result(node: &mut Node, id: RequestId, part: usize, result: PartResult) {
    if let Some(Pending::Produce(pending)) = node.waiting.get_mut(id) {
        pending.set_result(part, result);
    }
    finish_if_done(node, id);
}

/// The same code for every partition, whatever else was found (spec 2.4, last but three).
pub(super) fn fail_request(node: &mut Node, mut pending: PendingProduce, code: ErrorCode) {
    for part in &mut pending.parts {
        part.result = Some(PartResult::message(code, alloc::format!("{code}")));
    }
    respond(node, pending);
}

/// Answers when no part is open.
pub(super) fn finish_if_done(node: &mut Node, id: RequestId) {
    match node.waiting.get(id) {
        Some(Pending::Produce(pending)) if pending.open == 0 => {}
        _ => return,
    }
    if let Some(Pending::Produce(pending)) = node.waiting.take(id) {
        cancel(node, id, &pending);
        respond(node, pending);
    }
}

fn respond(node: &mut Node, pending: PendingProduce) {
    let id = pending.context.id;
    if pending.acks == 0 {
        let failed = pending
            .parts
            .iter()
            .any(|part| part.result.as_ref().is_some_and(|result| result.code != ErrorCode::None));
        return node.output(if failed {
            mark!(UnacknowledgedProduceFailed);
            Output::Disconnect { id, reason: "a Produce with acks=0 failed" }
        } else {
            Output::Silent { id }
        });
    }
    let version = pending.context.version;
    let node_endpoints = if version >= 10 { endpoints(node, &pending.parts) } else { Vec::new() };
    let mut parts = pending.parts.into_iter();
    let responses = pending
        .topics
        .into_iter()
        .map(|(name, topic_id, partitions)| TopicProduceResponse {
            name: name.to_kafka(),
            topic_id: topic_id.to_kafka(),
            partition_responses: parts
                .by_ref()
                .take(partitions)
                .map(|part| partition_response(node, part, version))
                .collect(),
            ..Default::default()
        })
        .collect();
    let data = ProduceResponseData { responses, node_endpoints, ..Default::default() };
    node.respond(id, Response::Produce(data));
}

fn is_not_leader(part: &Part) -> bool {
    part.result.as_ref().is_some_and(|result| result.code == ErrorCode::NotLeaderOrFollower)
}

fn leader_of(node: &Node, part: &Part) -> Option<Leader> {
    node.leader_of(part.id?)
}

/// Where those are found who lead what this node does not.
fn endpoints(node: &Node, parts: &[Part]) -> Vec<NodeEndpoint> {
    let parts = parts.iter().filter(|part| is_not_leader(part));
    let leaders = parts.filter_map(|part| leader_of(node, part)).map(|leader| leader.node);
    let leaders: BTreeSet<_> = leaders.collect();
    leaders
        .into_iter()
        .filter_map(|id| node.member_of(id))
        .map(|member| NodeEndpoint {
            node_id: member.id,
            host: KafkaString::from(member.host),
            port: member.port,
            ..Default::default()
        })
        .collect()
}

fn partition_response(node: &Node, part: Part, version: i16) -> PartitionProduceResponse {
    let leader = if is_not_leader(&part) { leader_of(node, &part) } else { None };
    let result = part.result.unwrap_or_else(|| PartResult::code(ErrorCode::UnknownServerError));
    let mut response = PartitionProduceResponse {
        index: part.index,
        error_code: result.code.code(),
        base_offset: result.base_offset,
        log_append_time_ms: result.log_append_time_ms,
        log_start_offset: result.log_start,
        ..Default::default()
    };
    if version >= 8 {
        response.error_message = result.message.map(KafkaString::from);
        response.record_errors = result
            .record_errors
            .into_iter()
            .map(|(batch_index, text)| BatchIndexAndErrorMessage {
                batch_index,
                batch_index_error_message: Some(KafkaString::from(text)),
                ..Default::default()
            })
            .collect();
    }
    if let Some(Leader { node: leader_id, epoch: leader_epoch }) = leader
        && version >= 10
    {
        response.current_leader =
            LeaderIdAndEpoch { leader_id, leader_epoch, ..Default::default() };
    }
    response
}
