//! OffsetCommit and OffsetFetch.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::offset_commit_response::{
    OffsetCommitResponseData, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use kacrab_protocol::generated::offset_fetch_response::{
    OffsetFetchResponseData, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use kacrab_protocol::generated::{OffsetCommitRequestData, OffsetFetchRequestData};

use super::waiting::Pending;
use super::{Context, txn_offsets};
use crate::error::ErrorCode;
use crate::group::{CommitPartition, Fetched, FetchedOffset, GroupReply, OffsetCommit};
use crate::io::RequestId;
use crate::node::Node;
use crate::types::{TopicId, TopicName, TopicPartition};
use crate::wire::Response;

/// An OffsetCommit that waits to be persisted.
#[derive(Clone, Debug)]
pub(crate) struct PendingCommit {
    /// Topics in the order they came, with the partitions' codes as far as known.
    topics: Vec<CommitTopic>,
}

#[derive(Clone, Debug)]
struct CommitTopic {
    name: TopicName,
    topic_id: TopicId,
    partitions: Vec<(i32, ErrorCode)>,
}

pub(crate) fn commit(node: &mut Node, context: Context, request: OffsetCommitRequestData) {
    let by_id = context.version >= 10;
    let mut topics = Vec::new();
    let mut partitions = Vec::new();
    for topic in &request.topics {
        let known = resolve(node, by_id, topic.name.as_str(), topic.topic_id.into());
        let mut codes = Vec::new();
        for part in &topic.partitions {
            let code = check_partition(node, by_id, known.as_ref(), part.partition_index);
            if let (ErrorCode::None, Some((name, topic_id))) = (code, &known) {
                partitions.push(CommitPartition {
                    tp: TopicPartition { topic: name.clone(), partition: part.partition_index },
                    topic_id: *topic_id,
                    offset: part.committed_offset,
                    leader_epoch: part.committed_leader_epoch,
                    metadata: text(part.committed_metadata.as_ref()),
                });
            }
            codes.push((part.partition_index, code));
        }
        let name = known.map_or_else(|| TopicName::from(topic.name.as_str()), |(name, _)| name);
        topics.push(CommitTopic { name, topic_id: topic.topic_id.into(), partitions: codes });
    }
    let (conn, id) = (context.conn, context.id);
    let pending = PendingCommit { topics };
    if partitions.is_empty() {
        return respond(node, id, pending);
    }
    node.waiting.insert(conn, id, Pending::Commit(pending));
    let retention = (2..=4).contains(&context.version).then_some(request.retention_time_ms);
    let commit = OffsetCommit {
        group: Arc::from(request.group_id.as_str()),
        generation: request.generation_id_or_member_epoch,
        member: Arc::from(request.member_id.as_str()),
        instance: text(request.group_instance_id.as_ref()),
        retention_ms: retention.filter(|ms| *ms >= 0),
        version: context.version,
        partitions,
    };
    let now = node.now;
    node.group.commit(now, id, &commit);
}

/// A topic as the request names it: its name and current id.
pub(super) fn resolve(
    node: &Node,
    by_id: bool,
    name: &str,
    id: TopicId,
) -> Option<(TopicName, TopicId)> {
    let topic = if by_id { node.meta.topic_by_id(id) } else { node.meta.topic(name) }?;
    Some((topic.name.clone(), topic.id))
}

pub(super) fn check_partition(
    node: &Node,
    by_id: bool,
    known: Option<&(TopicName, TopicId)>,
    partition: i32,
) -> ErrorCode {
    let Some((name, _)) = known else {
        return if by_id { ErrorCode::UnknownTopicId } else { ErrorCode::UnknownTopicOrPartition };
    };
    match node.meta.partition_id(&TopicPartition { topic: name.clone(), partition }) {
        Some(_) => ErrorCode::None,
        None => ErrorCode::UnknownTopicOrPartition,
    }
}

pub(super) fn text(value: Option<&KafkaString>) -> Option<Arc<str>> {
    value.map(|value| Arc::from(value.as_str()))
}

/// The group coordinator's word.
pub(crate) fn reply(node: &mut Node, id: RequestId, reply: GroupReply) {
    let results = match reply {
        GroupReply::Commit(results) => results,
        other => return super::groups::reply(node, id, other),
    };
    match node.waiting.take(id) {
        Some(Pending::Commit(mut pending)) => {
            let codes: BTreeMap<_, _> = results
                .into_iter()
                .map(|(to, result)| (to, result.err().map_or(ErrorCode::None, |e| (&e).into())))
                .collect();
            for topic in &mut pending.topics {
                for (partition, code) in &mut topic.partitions {
                    let to = TopicPartition { topic: topic.name.clone(), partition: *partition };
                    if *code == ErrorCode::None {
                        *code = codes.get(&to).copied().unwrap_or(ErrorCode::None);
                    }
                }
            }
            respond(node, id, pending);
        }
        Some(Pending::TxnOffsets(pending)) => txn_offsets::reply(node, id, pending, &results),
        _ => {}
    }
}

fn respond(node: &mut Node, id: RequestId, pending: PendingCommit) {
    let topics = pending
        .topics
        .into_iter()
        .map(|topic| OffsetCommitResponseTopic {
            name: topic.name.to_kafka(),
            topic_id: topic.topic_id.to_kafka(),
            partitions: topic
                .partitions
                .into_iter()
                .map(|(partition_index, code)| OffsetCommitResponsePartition {
                    partition_index,
                    error_code: code.code(),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        })
        .collect();
    let data = OffsetCommitResponseData { topics, ..Default::default() };
    node.respond(id, Response::OffsetCommit(data));
}

/// A group and the topics of it that are wanted; `None` for all.
struct Wanted {
    group: KafkaString,
    /// v9+: who asks, in which epoch.
    member: Option<KafkaString>,
    epoch: i32,
    topics: Option<Vec<(TopicName, TopicId, Vec<i32>)>>,
}

pub(crate) fn fetch(node: &mut Node, context: &Context, request: OffsetFetchRequestData) {
    let stable = context.version >= 7 && request.require_stable;
    if context.version < 8 {
        let topics = request.topics.map(|topics| {
            topics
                .into_iter()
                .map(|topic| {
                    let name = TopicName::from(topic.name.as_str());
                    (name, TopicId::default(), topic.partition_indexes)
                })
                .collect()
        });
        let wanted = Wanted { group: request.group_id, member: None, epoch: -1, topics };
        let group = fetch_group(node, context.version, wanted, stable);
        let data = top_level(group, context.version);
        return node.respond(context.id, Response::OffsetFetch(data));
    }
    let groups = request
        .groups
        .into_iter()
        .map(|group| {
            let topics = group.topics.map(|topics| {
                topics
                    .into_iter()
                    .map(|topic| {
                        let name = TopicName::from(topic.name.as_str());
                        (name, topic.topic_id.into(), topic.partition_indexes)
                    })
                    .collect()
            });
            let wanted = Wanted {
                group: group.group_id,
                member: group.member_id,
                epoch: group.member_epoch,
                topics,
            };
            fetch_group(node, context.version, wanted, stable)
        })
        .collect();
    let data = OffsetFetchResponseData { groups, ..Default::default() };
    node.respond(context.id, Response::OffsetFetch(data));
}

fn fetch_group(
    node: &Node,
    version: i16,
    wanted: Wanted,
    stable: bool,
) -> OffsetFetchResponseGroup {
    let by_id = version >= 10;
    let group = wanted.group.as_str();
    let member = wanted.member.as_ref().map(KafkaString::as_str);
    let allowed = node.group.check_fetch(group, member, wanted.epoch);
    let topics = allowed.and_then(|()| match wanted.topics {
        None => {
            let id_of = |name: &TopicName| {
                node.meta.topic(name.as_str()).map(|topic| topic.id).unwrap_or_default()
            };
            node.group.fetch_all(group, id_of, stable).map(|found| by_topic(node, found))
        }
        Some(topics) => fetch_topics(node, by_id, group, topics, stable),
    });
    match topics {
        Ok(topics) => {
            OffsetFetchResponseGroup { group_id: wanted.group, topics, ..Default::default() }
        }
        Err(error) => OffsetFetchResponseGroup {
            group_id: wanted.group,
            error_code: ErrorCode::from(&error).code(),
            ..Default::default()
        },
    }
}

fn fetch_topics(
    node: &Node,
    by_id: bool,
    group: &str,
    topics: Vec<(TopicName, TopicId, Vec<i32>)>,
    stable: bool,
) -> Result<Vec<OffsetFetchResponseTopics>, crate::group::GroupError> {
    let mut answer = Vec::with_capacity(topics.len());
    node.group.coordinator_for(group)?;
    for (name, asked_id, partitions) in topics {
        let known = resolve(node, by_id, name.as_str(), asked_id);
        let found = match &known {
            None if by_id => partitions.iter().map(|p| unknown_id(*p)).collect(),
            _ => {
                let (name, id) = known.clone().unwrap_or((name.clone(), TopicId::default()));
                let asked: Vec<_> = partitions
                    .iter()
                    .map(|&partition| (TopicPartition { topic: name.clone(), partition }, id))
                    .collect();
                node.group.fetch(group, &asked, stable)?.into_iter().map(partition_of).collect()
            }
        };
        answer.push(OffsetFetchResponseTopics {
            name: known.map_or(name, |(name, _)| name).to_kafka(),
            topic_id: asked_id.to_kafka(),
            partitions: found,
            ..Default::default()
        });
    }
    Ok(answer)
}

fn by_topic(node: &Node, found: Vec<Fetched>) -> Vec<OffsetFetchResponseTopics> {
    let mut topics: BTreeMap<TopicName, Vec<_>> = BTreeMap::new();
    for one in found {
        topics.entry(one.0.topic.clone()).or_default().push(partition_of(one));
    }
    topics
        .into_iter()
        .map(|(name, partitions)| {
            let id = node.meta.topic(name.as_str()).map(|topic| topic.id).unwrap_or_default();
            OffsetFetchResponseTopics {
                name: name.to_kafka(),
                topic_id: id.to_kafka(),
                partitions,
                ..Default::default()
            }
        })
        .collect()
}

fn unknown_id(partition_index: i32) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        error_code: ErrorCode::UnknownTopicId.code(),
        ..no_offset(partition_index)
    }
}

fn no_offset(partition_index: i32) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: -1,
        committed_leader_epoch: -1,
        metadata: Some(KafkaString::default()),
        ..Default::default()
    }
}

fn partition_of((to, found): Fetched) -> OffsetFetchResponsePartitions {
    let nothing = no_offset(to.partition);
    match found {
        FetchedOffset::Committed { offset, leader_epoch, metadata } => {
            OffsetFetchResponsePartitions {
                committed_offset: offset,
                committed_leader_epoch: leader_epoch,
                metadata: Some(KafkaString::from(alloc::string::String::from(&*metadata))),
                ..nothing
            }
        }
        FetchedOffset::None => nothing,
        FetchedOffset::Unstable => OffsetFetchResponsePartitions {
            error_code: ErrorCode::UnstableOffsetCommit.code(),
            ..nothing
        },
    }
}

/// Below v8 the one group's answer is the response itself; below v2 there is no error for the
/// whole, so every partition carries it.
fn top_level(group: OffsetFetchResponseGroup, version: i16) -> OffsetFetchResponseData {
    let whole = if version < 2 { 0 } else { group.error_code };
    OffsetFetchResponseData {
        error_code: whole,
        topics: group
            .topics
            .into_iter()
            .map(|topic| OffsetFetchResponseTopic {
                name: topic.name,
                partitions: topic
                    .partitions
                    .into_iter()
                    .map(|part| OffsetFetchResponsePartition {
                        partition_index: part.partition_index,
                        committed_offset: part.committed_offset,
                        committed_leader_epoch: part.committed_leader_epoch,
                        metadata: part.metadata,
                        error_code: if version < 2 && group.error_code != 0 {
                            group.error_code
                        } else {
                            part.error_code
                        },
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}
