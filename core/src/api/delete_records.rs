//! DeleteRecords: moves a log's start; bounded by the high watermark, not by the last stable
//! offset (spec 8.8).

use alloc::vec::Vec;

use kacrab_protocol::generated::DeleteRecordsRequestData;
use kacrab_protocol::generated::delete_records_response::{
    DeleteRecordsPartitionResult, DeleteRecordsResponseData, DeleteRecordsTopicResult,
};

use super::Context;
use super::waiting::Pending;
use crate::error::ErrorCode;
use crate::io::RequestId;
use crate::node::{Completion, Node};
use crate::types::{Offset, PartitionId, TopicName, TopicPartition};
use crate::wire::Response;

/// What DeleteRecords sends for "everything".
const TO_HIGH_WATERMARK: Offset = -1;

/// A DeleteRecords that waits to be persisted.
#[derive(Clone, Debug)]
pub(crate) struct PendingDeleteRecords {
    topics: Vec<(TopicName, usize)>,
    parts: Vec<(i32, Option<Result<Offset, ErrorCode>>)>,
}

pub(crate) fn handle(node: &mut Node, context: Context, request: DeleteRecordsRequestData) {
    let mut pending = PendingDeleteRecords { topics: Vec::new(), parts: Vec::new() };
    let mut moves = Vec::new();
    for topic in request.topics {
        let name = TopicName::from(topic.name.as_str());
        pending.topics.push((name.clone(), topic.partitions.len()));
        for part in topic.partitions {
            let to = TopicPartition { topic: name.clone(), partition: part.partition_index };
            let result = check(node, &to, part.offset);
            let index = pending.parts.len();
            pending.parts.push((part.partition_index, result.err().map(Err)));
            if let Ok((id, offset)) = result {
                moves.push((index, id, offset));
            }
        }
    }
    let id = context.id;
    node.waiting.insert(context.conn, id, Pending::DeleteRecords(pending));
    for (part, partition, offset) in moves {
        node.move_log_start(partition, offset);
        let request = Some((id, part));
        node.when_persisted(Completion::LogStart { partition, offset, request });
    }
    respond_if_done(node, id);
}

fn check(
    node: &Node,
    to: &TopicPartition,
    offset: Offset,
) -> Result<(PartitionId, Offset), ErrorCode> {
    let id = node.meta.partition_id(to).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    if to.topic.is_internal() {
        return Err(ErrorCode::InvalidTopicException);
    }
    let partition = node.partitions.get(&id).ok_or(ErrorCode::NotLeaderOrFollower)?;
    let compact_only = node.meta.topic(to.topic.as_str()).is_some_and(|topic| {
        let settings = node.meta.settings(topic);
        settings.compact && !settings.delete
    });
    if compact_only {
        return Err(ErrorCode::PolicyViolation);
    }
    let high_watermark = partition.high_watermark();
    let target = if offset == TO_HIGH_WATERMARK { high_watermark } else { offset };
    if target < 0 || target > high_watermark {
        return Err(ErrorCode::OffsetOutOfRange);
    }
    Ok((id, target.max(partition.log_start())))
}

/// One partition's new start is on disk, or is not.
pub(crate) fn done(node: &mut Node, id: RequestId, part: usize, result: Result<Offset, ErrorCode>) {
    if let Some(Pending::DeleteRecords(pending)) = node.waiting.get_mut(id)
        && let Some((_, slot)) = pending.parts.get_mut(part)
    {
        *slot = Some(result);
    }
    respond_if_done(node, id);
}

fn respond_if_done(node: &mut Node, id: RequestId) {
    match node.waiting.get(id) {
        Some(Pending::DeleteRecords(pending))
            if pending.parts.iter().all(|(_, result)| result.is_some()) => {}
        _ => return,
    }
    let Some(Pending::DeleteRecords(pending)) = node.waiting.take(id) else { return };
    let mut parts = pending.parts.into_iter();
    let topics = pending
        .topics
        .into_iter()
        .map(|(name, count)| DeleteRecordsTopicResult {
            name: name.to_kafka(),
            partitions: parts.by_ref().take(count).map(partition_result).collect(),
            ..Default::default()
        })
        .collect();
    let data = DeleteRecordsResponseData { topics, ..Default::default() };
    node.respond(id, Response::DeleteRecords(data));
}

fn partition_result(
    (partition_index, result): (i32, Option<Result<Offset, ErrorCode>>),
) -> DeleteRecordsPartitionResult {
    let (low_watermark, code) = match result {
        Some(Ok(offset)) => (offset, ErrorCode::None),
        Some(Err(code)) => (-1, code),
        None => (-1, ErrorCode::UnknownServerError),
    };
    DeleteRecordsPartitionResult {
        partition_index,
        low_watermark,
        error_code: code.code(),
        ..Default::default()
    }
}
