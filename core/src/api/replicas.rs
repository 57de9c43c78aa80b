//! Leaders, replicas and log directories, as a cluster of one node answers: every partition has
//! the one replica it can have, in the one directory there is.

use alloc::string::String;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::alter_partition_reassignments_response::{
    ReassignablePartitionResponse, ReassignableTopicResponse,
};
use kacrab_protocol::generated::alter_replica_log_dirs_response::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult,
};
use kacrab_protocol::generated::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use kacrab_protocol::generated::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use kacrab_protocol::generated::{
    AlterPartitionReassignmentsRequestData, AlterPartitionReassignmentsResponseData,
    AlterReplicaLogDirsRequestData, AlterReplicaLogDirsResponseData, DescribeLogDirsRequestData,
    DescribeLogDirsResponseData, ElectLeadersRequestData, ElectLeadersResponseData,
    ListPartitionReassignmentsResponseData,
};

use super::Context;
use crate::error::ErrorCode;
use crate::node::Node;
use crate::types::{PartitionId, TopicPartition};
use crate::wire::Response;

/// Elections of the preferred replica, and of one that lacks records.
const ELECTION_TYPES: [i8; 2] = [0, 1];
/// What is answered for the size of a volume that nobody knows.
const UNKNOWN_VOLUME_BYTES: i64 = -1;

type Told = (ErrorCode, String);

pub(crate) fn elect_leaders(node: &mut Node, context: &Context, request: &ElectLeadersRequestData) {
    // v0 knows one type only, and has no place for it.
    if context.version >= 1 && !ELECTION_TYPES.contains(&request.election_type) {
        let error_code = ErrorCode::InvalidRequest.code();
        let data = ElectLeadersResponseData { error_code, ..Default::default() };
        return node.respond(context.id, Response::ElectLeaders(data));
    }
    // Without partitions all are meant, and those that need no election are not told: none.
    let topics = request.topic_partitions.iter().flatten().map(|asked| {
        let partitions = asked.partitions.iter().map(|&partition_id| {
            let (code, message) = election(node, asked.topic.as_str(), partition_id);
            PartitionResult {
                partition_id,
                error_code: code.code(),
                error_message: Some(KafkaString::from(message)),
                ..Default::default()
            }
        });
        ReplicaElectionResult {
            topic: asked.topic.clone(),
            partition_result: partitions.collect(),
            ..Default::default()
        }
    });
    let replica_election_results = topics.collect();
    let data = ElectLeadersResponseData { replica_election_results, ..Default::default() };
    node.respond(context.id, Response::ElectLeaders(data));
}

fn election(node: &Node, topic: &str, partition: i32) -> Told {
    if node.meta.topic(topic).is_none() {
        let message = alloc::format!("No such topic as {topic}");
        return (ErrorCode::UnknownTopicOrPartition, message);
    }
    if node.meta.partition_id(&TopicPartition::new(topic, partition)).is_none() {
        let message = alloc::format!("No such partition as {topic}-{partition}");
        return (ErrorCode::UnknownTopicOrPartition, message);
    }
    (ErrorCode::ElectionNotNeeded, "Leader election not needed for topic partition.".into())
}

pub(crate) fn alter_reassignments(
    node: &mut Node,
    context: &Context,
    request: &AlterPartitionReassignmentsRequestData,
) {
    let responses = request
        .topics
        .iter()
        .map(|topic| {
            let name = topic.name.as_str();
            let partitions = topic.partitions.iter().map(|asked| {
                let index = asked.partition_index;
                let told = reassign(node, name, index, asked.replicas.as_deref());
                let (code, message) = told.err().unwrap_or((ErrorCode::None, String::new()));
                ReassignablePartitionResponse {
                    partition_index: index,
                    error_code: code.code(),
                    error_message: (code != ErrorCode::None).then(|| KafkaString::from(message)),
                    ..Default::default()
                }
            });
            ReassignableTopicResponse {
                name: topic.name.clone(),
                partitions: partitions.collect(),
                ..Default::default()
            }
        })
        .collect();
    let data = AlterPartitionReassignmentsResponseData { responses, ..Default::default() };
    node.respond(context.id, Response::AlterPartitionReassignments(data));
}

/// The one assignment there can be is the one there is.
fn reassign(
    node: &Node,
    topic: &str,
    partition: i32,
    replicas: Option<&[i32]>,
) -> Result<(), Told> {
    let unknown = |message| Err((ErrorCode::UnknownTopicOrPartition, message));
    if node.meta.topic(topic).is_none() {
        return unknown(alloc::format!("Unable to find a topic named {topic}."));
    }
    if node.meta.partition_id(&TopicPartition::new(topic, partition)).is_none() {
        return unknown(alloc::format!("Unable to find partition {topic}:{partition}."));
    }
    let Some(replicas) = replicas else {
        let message = "No partition reassignment is in progress.".into();
        return Err((ErrorCode::NoReassignmentInProgress, message));
    };
    let own = node.config.node_id;
    let head = "The manual partition assignment includes";
    let message = match replicas {
        [node] if *node == own => return Ok(()),
        [] => alloc::format!("{head} an empty replica list."),
        _ => match replicas.iter().find(|node| **node != own) {
            Some(other) => {
                alloc::format!("{head} broker {other}, but no such broker is registered.")
            }
            None => alloc::format!("{head} the broker {own} more than once."),
        },
    };
    Err((ErrorCode::InvalidReplicaAssignment, message))
}

pub(crate) fn list_reassignments(node: &mut Node, context: &Context) {
    let data = ListPartitionReassignmentsResponseData::default();
    node.respond(context.id, Response::ListPartitionReassignments(data));
}

pub(crate) fn describe_log_dirs(
    node: &mut Node,
    context: &Context,
    request: &DescribeLogDirsRequestData,
) {
    let mut topics: Vec<DescribeLogDirsTopic> = Vec::new();
    let mut tell = |name: KafkaString, partitions: Vec<DescribeLogDirsPartition>| {
        if !partitions.is_empty() {
            topics.push(DescribeLogDirsTopic { name, partitions, ..Default::default() });
        }
    };
    match &request.topics {
        None => {
            for topic in node.meta.topics() {
                let sizes = (0..topic.partitions).filter_map(|partition| {
                    size(node, PartitionId { topic_id: topic.id, partition })
                });
                tell(topic.name.to_kafka(), sizes.collect());
            }
        }
        Some(asked) => {
            for one in asked {
                let sizes = one.partitions.iter().filter_map(|&partition| {
                    let to = TopicPartition::new(one.topic.as_str(), partition);
                    size(node, node.meta.partition_id(&to)?)
                });
                tell(one.topic.clone(), sizes.collect());
            }
        }
    }
    let dir = DescribeLogDirsResult {
        log_dir: KafkaString::from(node.config.log_dir.clone()),
        topics,
        total_bytes: UNKNOWN_VOLUME_BYTES,
        usable_bytes: UNKNOWN_VOLUME_BYTES,
        ..Default::default()
    };
    let data = DescribeLogDirsResponseData { results: alloc::vec![dir], ..Default::default() };
    node.respond(context.id, Response::DescribeLogDirs(data));
}

fn size(node: &Node, id: PartitionId) -> Option<DescribeLogDirsPartition> {
    node.partitions.get(&id)?;
    Some(DescribeLogDirsPartition {
        partition_index: id.partition,
        partition_size: i64::try_from(node.store.log_bytes(id)).unwrap_or(i64::MAX),
        ..Default::default()
    })
}

pub(crate) fn alter_log_dirs(
    node: &mut Node,
    context: &Context,
    request: &AlterReplicaLogDirsRequestData,
) {
    let mut results = Vec::new();
    for dir in &request.dirs {
        let known = dir.path.as_str() == node.config.log_dir;
        for topic in &dir.topics {
            let partitions = topic.partitions.iter().map(|&partition_index| {
                let to = TopicPartition::new(topic.name.as_str(), partition_index);
                let code = match (known, node.meta.partition_id(&to)) {
                    (false, _) => ErrorCode::LogDirNotFound,
                    (true, None) => ErrorCode::UnknownTopicOrPartition,
                    (true, Some(_)) => ErrorCode::None,
                };
                let error_code = code.code();
                AlterReplicaLogDirPartitionResult {
                    partition_index,
                    error_code,
                    ..Default::default()
                }
            });
            results.push(AlterReplicaLogDirTopicResult {
                topic_name: topic.name.clone(),
                partitions: partitions.collect(),
                ..Default::default()
            });
        }
    }
    let data = AlterReplicaLogDirsResponseData { results, ..Default::default() };
    node.respond(context.id, Response::AlterReplicaLogDirs(data));
}
