//! OffsetForLeaderEpoch: where a leader epoch ended, for consumers that look for truncation.

use kacrab_protocol::generated::offset_for_leader_epoch_request::OffsetForLeaderPartition;
use kacrab_protocol::generated::offset_for_leader_epoch_response::{
    EpochEndOffset, OffsetForLeaderTopicResult,
};
use kacrab_protocol::generated::{
    OffsetForLeaderEpochRequestData, OffsetForLeaderEpochResponseData,
};

use super::Context;
use super::fetch::check_epoch;
use crate::error::ErrorCode;
use crate::node::Node;
use crate::types::{Offset, TopicPartition};
use crate::wire::Response;

pub(crate) fn handle(
    node: &mut Node,
    context: &Context,
    request: &OffsetForLeaderEpochRequestData,
) {
    let topics = request
        .topics
        .iter()
        .map(|topic| {
            let partitions = topic.partitions.iter().map(|asked| {
                let end = end_of(node, topic.topic.as_str(), asked);
                let (code, (leader_epoch, end_offset)) = match end {
                    Ok(end) => (ErrorCode::None, end),
                    Err(code) => (code, (-1, -1)),
                };
                EpochEndOffset {
                    error_code: code.code(),
                    partition: asked.partition,
                    leader_epoch,
                    end_offset,
                    ..Default::default()
                }
            });
            OffsetForLeaderTopicResult {
                topic: topic.topic.clone(),
                partitions: partitions.collect(),
                ..Default::default()
            }
        })
        .collect();
    let data = OffsetForLeaderEpochResponseData { topics, ..Default::default() };
    node.respond(context.id, Response::OffsetForLeaderEpoch(data));
}

fn end_of(
    node: &Node,
    topic: &str,
    asked: &OffsetForLeaderPartition,
) -> Result<(i32, Offset), ErrorCode> {
    let to = TopicPartition::new(topic, asked.partition);
    let id = node.meta.partition_id(&to).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let partition = node.partitions.get(&id).ok_or(ErrorCode::NotLeaderOrFollower)?;
    check_epoch(partition, asked.current_leader_epoch)?;
    // What is not persisted may be taken back: no reader has seen it, and none is told of it.
    let (epoch, end) = partition.epoch_end(asked.leader_epoch);
    Ok((epoch, end.min(partition.high_watermark())))
}
