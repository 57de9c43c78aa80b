//! The requests that simulated clients send, and what they read from the answers.

use kacrab_protocol::generated as k;
use verdict_core::batch::Screened;
use verdict_core::types::TopicId;
use verdict_core::wire::{
    ProduceRequest, ProduceTopic, Request, Response, TxnOffsetCommitPartition,
    TxnOffsetCommitRequest, TxnOffsetCommitTopic,
};

use super::TOPIC;
use crate::history::Part;

type Text = kacrab_protocol::KafkaString;

pub(super) fn text(value: &str) -> Text {
    Text::from(value.to_owned())
}

pub(super) fn create_topic(partitions: i32) -> Request {
    let topic = k::create_topics_request::CreatableTopic {
        name: text(TOPIC),
        num_partitions: partitions,
        replication_factor: 1,
        ..Default::default()
    };
    Request::CreateTopics(k::CreateTopicsRequestData {
        topics: vec![topic],
        timeout_ms: 5_000,
        ..Default::default()
    })
}

/// Asks for the leaders of a topic's partitions.
pub(crate) fn metadata(topic: &str) -> Request {
    let topic =
        k::metadata_request::MetadataRequestTopic { name: Some(text(topic)), ..Default::default() };
    Request::Metadata(k::MetadataRequestData { topics: Some(vec![topic]), ..Default::default() })
}

/// `kind`: 0 for a group, 1 for a transactional id.
pub(crate) fn find_coordinator(key: &str, kind: i8) -> Request {
    Request::FindCoordinator(k::FindCoordinatorRequestData {
        key_type: kind,
        coordinator_keys: vec![text(key)],
        ..Default::default()
    })
}

pub(super) fn init_producer_id(
    id: Option<&str>,
    timeout_ms: i32,
    (pid, epoch): (i64, i16),
) -> Request {
    Request::InitProducerId(k::InitProducerIdRequestData {
        transactional_id: id.map(text),
        transaction_timeout_ms: timeout_ms,
        producer_id: pid,
        producer_epoch: epoch,
        ..Default::default()
    })
}

pub(super) fn produce(id: Option<&str>, part: Part, records: Screened, timeout_ms: i32) -> Request {
    produce_to(TOPIC, id, part, records, timeout_ms)
}

pub(super) fn produce_to(
    topic: &str,
    id: Option<&str>,
    part: Part,
    records: Screened,
    timeout_ms: i32,
) -> Request {
    Request::Produce(ProduceRequest {
        transactional_id: id.map(text),
        acks: -1,
        timeout_ms,
        topics: vec![ProduceTopic {
            name: topic.into(),
            topic_id: TopicId(0),
            partitions: vec![(i32::from(part), records)],
        }],
    })
}

pub(super) fn add_partition(id: &str, identity: (i64, i16), part: Part) -> Request {
    add_partitions(id, identity, &[part])
}

pub(super) fn add_partitions(id: &str, (pid, epoch): (i64, i16), parts: &[Part]) -> Request {
    let topic = k::add_partitions_to_txn_request::AddPartitionsToTxnTopic {
        name: text(TOPIC),
        partitions: parts.iter().map(|&part| i32::from(part)).collect(),
        ..Default::default()
    };
    Request::AddPartitionsToTxn(k::AddPartitionsToTxnRequestData {
        v3_and_below_transactional_id: text(id),
        v3_and_below_producer_id: pid,
        v3_and_below_producer_epoch: epoch,
        v3_and_below_topics: vec![topic],
        ..Default::default()
    })
}

pub(super) fn add_offsets(id: &str, (pid, epoch): (i64, i16), group: &str) -> Request {
    Request::AddOffsetsToTxn(k::AddOffsetsToTxnRequestData {
        transactional_id: text(id),
        producer_id: pid,
        producer_epoch: epoch,
        group_id: text(group),
        ..Default::default()
    })
}

pub(super) fn txn_offset_commit(
    id: &str,
    (pid, epoch): (i64, i16),
    group: &str,
    part: Part,
    offset: i64,
) -> Request {
    Request::TxnOffsetCommit(TxnOffsetCommitRequest {
        transactional_id: text(id),
        group_id: text(group),
        producer_id: pid,
        producer_epoch: epoch,
        generation_id: -1,
        member_id: text(""),
        group_instance_id: None,
        topics: vec![TxnOffsetCommitTopic {
            name: TOPIC.into(),
            topic_id: TopicId(0),
            partitions: vec![TxnOffsetCommitPartition {
                partition: i32::from(part),
                committed_offset: offset,
                committed_leader_epoch: -1,
                committed_metadata: None,
            }],
        }],
    })
}

pub(super) fn end_txn(id: &str, (pid, epoch): (i64, i16), commit: bool) -> Request {
    Request::EndTxn(k::EndTxnRequestData {
        transactional_id: text(id),
        producer_id: pid,
        producer_epoch: epoch,
        committed: commit,
        ..Default::default()
    })
}

/// A marker sent from outside, as `kafka-transactions abort` and a confused coordinator do.
pub(super) fn write_marker(
    (pid, epoch): (i64, i16),
    commit: bool,
    coordinator_epoch: i32,
    version: i8,
    part: Part,
) -> Request {
    let topic = k::write_txn_markers_request::WritableTxnMarkerTopic {
        name: text(TOPIC),
        partition_indexes: vec![i32::from(part)],
        ..Default::default()
    };
    let marker = k::write_txn_markers_request::WritableTxnMarker {
        producer_id: pid,
        producer_epoch: epoch,
        transaction_result: commit,
        topics: vec![topic],
        coordinator_epoch,
        transaction_version: version,
        ..Default::default()
    };
    Request::WriteTxnMarkers(k::WriteTxnMarkersRequestData {
        markers: vec![marker],
        ..Default::default()
    })
}

pub(super) fn offset_commit(group: &str, part: Part, offset: i64) -> Request {
    let partition = k::offset_commit_request::OffsetCommitRequestPartition {
        partition_index: i32::from(part),
        committed_offset: offset,
        committed_leader_epoch: -1,
        ..Default::default()
    };
    let topic = k::offset_commit_request::OffsetCommitRequestTopic {
        name: text(TOPIC),
        partitions: vec![partition],
        ..Default::default()
    };
    Request::OffsetCommit(k::OffsetCommitRequestData {
        group_id: text(group),
        generation_id_or_member_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    })
}

pub(super) fn offset_fetch(group: &str, part: Part, require_stable: bool) -> Request {
    offset_fetch_of(TOPIC, group, part, require_stable)
}

pub(super) fn offset_fetch_of(
    topic: &str,
    group: &str,
    part: Part,
    require_stable: bool,
) -> Request {
    let topic = k::offset_fetch_request::OffsetFetchRequestTopics {
        name: text(topic),
        partition_indexes: vec![i32::from(part)],
        ..Default::default()
    };
    let group = k::offset_fetch_request::OffsetFetchRequestGroup {
        group_id: text(group),
        member_epoch: -1,
        topics: Some(vec![topic]),
        ..Default::default()
    };
    Request::OffsetFetch(k::OffsetFetchRequestData {
        groups: vec![group],
        require_stable,
        ..Default::default()
    })
}

pub(super) fn describe_producers(part: Part) -> Request {
    let topic = k::describe_producers_request::TopicRequest {
        name: text(TOPIC),
        partition_indexes: vec![i32::from(part)],
        ..Default::default()
    };
    Request::DescribeProducers(k::DescribeProducersRequestData {
        topics: vec![topic],
        ..Default::default()
    })
}

pub(super) fn describe_transaction(id: &str) -> Request {
    Request::DescribeTransactions(k::DescribeTransactionsRequestData {
        transactional_ids: vec![text(id)],
        ..Default::default()
    })
}

/// The one error code that decides about an answer to a request for one thing; the first that is
/// not 0. An answer without any is 0.
pub(crate) fn code_of(response: &Response) -> i16 {
    match response {
        Response::CreateTopics(data) => first(data.topics.iter().map(|t| t.error_code)),
        Response::FindCoordinator(data) => {
            first(data.coordinators.iter().map(|c| c.error_code).chain([data.error_code]))
        }
        Response::InitProducerId(data) => data.error_code,
        Response::Produce(data) => {
            first(data.responses.iter().flat_map(|t| &t.partition_responses).map(|p| p.error_code))
        }
        Response::AddPartitionsToTxn(data) => first(
            data.results_by_topic_v3_and_below
                .iter()
                .flat_map(|t| &t.results_by_partition)
                .map(|p| p.partition_error_code)
                .chain([data.error_code]),
        ),
        Response::AddOffsetsToTxn(data) => data.error_code,
        Response::TxnOffsetCommit(data) => {
            first(data.topics.iter().flat_map(|t| &t.partitions).map(|&(_, code)| code.code()))
        }
        Response::EndTxn(data) => data.error_code,
        Response::UpdateFeatures(data) => data.error_code,
        Response::WriteTxnMarkers(data) => first(
            data.markers
                .iter()
                .flat_map(|m| &m.topics)
                .flat_map(|t| &t.partitions)
                .map(|p| p.error_code),
        ),
        Response::Fetch(answer) => first(
            answer
                .data
                .responses
                .iter()
                .flat_map(|t| &t.partitions)
                .map(|p| p.error_code)
                .chain([answer.data.error_code]),
        ),
        Response::JoinGroup(data) => data.error_code,
        Response::SyncGroup(data) => data.error_code,
        Response::Heartbeat(data) => data.error_code,
        Response::LeaveGroup(data) => data.error_code,
        Response::ConsumerGroupHeartbeat(data) => data.error_code,
        Response::Metadata(data) => {
            first(data.topics.iter().map(|t| t.error_code).chain([data.error_code]))
        }
        Response::OffsetCommit(data) => {
            first(data.topics.iter().flat_map(|t| &t.partitions).map(|p| p.error_code))
        }
        Response::OffsetFetch(data) => first(data.groups.iter().flat_map(|g| {
            g.topics.iter().flat_map(|t| &t.partitions).map(|p| p.error_code).chain([g.error_code])
        })),
        Response::DescribeTransactions(data) => {
            first(data.transaction_states.iter().map(|t| t.error_code))
        }
        Response::ListOffsets(data) => {
            first(data.topics.iter().flat_map(|t| &t.partitions).map(|p| p.error_code))
        }
        Response::OffsetForLeaderEpoch(data) => {
            first(data.topics.iter().flat_map(|t| &t.partitions).map(|p| p.error_code))
        }
        Response::DescribeProducers(data) => {
            first(data.topics.iter().flat_map(|t| &t.partitions).map(|p| p.error_code))
        }
        _ => 0,
    }
}

fn first(mut codes: impl Iterator<Item = i16>) -> i16 {
    codes.find(|&code| code != 0).unwrap_or(0)
}

/// The base offset of a Produce answer for one partition.
pub(super) fn base_offset(response: &Response) -> Option<i64> {
    let Response::Produce(data) = response else { return None };
    Some(data.responses.first()?.partition_responses.first()?.base_offset)
}

/// The offset of an OffsetFetch answer for one partition.
pub(super) fn fetched_offset(response: &Response) -> Option<i64> {
    let Response::OffsetFetch(data) = response else { return None };
    Some(data.groups.first()?.topics.first()?.partitions.first()?.committed_offset)
}

/// The offset of a ListOffsets answer for one partition.
pub(crate) fn listed_offset(response: &Response) -> Option<i64> {
    let Response::ListOffsets(data) = response else { return None };
    Some(data.topics.first()?.partitions.first()?.offset)
}

/// The coordinator epoch that DescribeProducers tells of a producer; 0 when there is none yet.
pub(super) fn coordinator_epoch(response: &Response, pid: i64) -> Option<i32> {
    let Response::DescribeProducers(data) = response else { return None };
    let partition = data.topics.first()?.partitions.first()?;
    let of = partition.active_producers.iter().find(|producer| producer.producer_id == pid)?;
    Some(of.coordinator_epoch.max(0))
}
