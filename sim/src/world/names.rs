//! What requests and events are called in scenarios and traces.

use core::fmt::Write as _;

use verdict_core::wire::{Request, Response};

use crate::clients::code_of;
use crate::history::{BatchKind, Event};

/// Kafka's name of a request.
#[must_use]
pub(super) fn api_name(request: &Request) -> &'static str {
    match request {
        Request::ApiVersions(_) | Request::ApiVersionsUnsupported => "ApiVersions",
        Request::Metadata(_) => "Metadata",
        Request::CreateTopics(_) => "CreateTopics",
        Request::DeleteTopics(_) => "DeleteTopics",
        Request::DeleteRecords(_) => "DeleteRecords",
        Request::InitProducerId(_) => "InitProducerId",
        Request::FindCoordinator(_) => "FindCoordinator",
        Request::AddPartitionsToTxn(_) => "AddPartitionsToTxn",
        Request::AddOffsetsToTxn(_) => "AddOffsetsToTxn",
        Request::Produce(_) => "Produce",
        Request::TxnOffsetCommit(_) => "TxnOffsetCommit",
        Request::OffsetCommit(_) => "OffsetCommit",
        Request::OffsetFetch(_) => "OffsetFetch",
        Request::EndTxn(_) => "EndTxn",
        Request::JoinGroup(_) => "JoinGroup",
        Request::SyncGroup(_) => "SyncGroup",
        Request::Heartbeat(_) => "Heartbeat",
        Request::LeaveGroup(_) => "LeaveGroup",
        Request::ConsumerGroupHeartbeat(_) => "ConsumerGroupHeartbeat",
        Request::ConsumerGroupDescribe(_) => "ConsumerGroupDescribe",
        Request::WriteTxnMarkers(_) => "WriteTxnMarkers",
        Request::Fetch(_) => "Fetch",
        Request::ListOffsets(_) => "ListOffsets",
        Request::OffsetForLeaderEpoch(_) => "OffsetForLeaderEpoch",
        Request::DescribeProducers(_) => "DescribeProducers",
        Request::DescribeTransactions(_) => "DescribeTransactions",
        Request::ListTransactions(_) => "ListTransactions",
        Request::DescribeCluster(_) => "DescribeCluster",
        Request::UpdateFeatures(_) => "UpdateFeatures",
        _ => "?",
    }
}

/// The answer's numbers that go into the trace's hash: its error code and one of its own.
#[must_use]
pub(super) fn answer_numbers(response: &Response) -> (i16, i64) {
    let number = match response {
        Response::InitProducerId(data) => data.producer_id << 16 | i64::from(data.producer_epoch),
        Response::EndTxn(data) => data.producer_id << 16 | i64::from(data.producer_epoch),
        Response::JoinGroup(data) => data.generation_id.into(),
        Response::Produce(data) => data
            .responses
            .first()
            .and_then(|topic| topic.partition_responses.first())
            .map_or(-1, |partition| partition.base_offset),
        Response::Fetch(answer) => answer
            .data
            .responses
            .first()
            .and_then(|topic| topic.partitions.first())
            .map_or(-1, |data| data.high_watermark << 20 | (data.last_stable_offset & 0xf_ffff)),
        _ => 0,
    };
    (code_of(response), number)
}

/// An entry of the history as a line of the trace.
pub(super) fn event_text(event: &Event) -> String {
    match event {
        Event::Sent { app, part, txn, pid, epoch, sequence } => format!(
            "sends record {app} to p{part} pid {pid} epoch {epoch} sequence {sequence} txn {txn:?}"
        ),
        Event::Fetched(fetch) => {
            let batches: Vec<String> = fetch
                .batches
                .iter()
                .map(|batch| {
                    let what = match batch.kind {
                        BatchKind::Plain => "",
                        BatchKind::Transactional => "t",
                        BatchKind::CommitMarker => "COMMIT",
                        BatchKind::AbortMarker => "ABORT",
                    };
                    format!("{}{what}/{}:{} {:?}", batch.base, batch.pid, batch.epoch, batch.apps)
                })
                .collect();
            format!(
                "read p{} {} from {}: hw {} lso {} aborted {:?} {}",
                fetch.part,
                if fetch.committed { "committed" } else { "all" },
                fetch.from,
                fetch.high_watermark,
                fetch.last_stable,
                fetch.aborted,
                batches.join(" ")
            )
        }
        other => format!("{other:?}"),
    }
}

/// Whom and what a request is about, after its name: producer id and epoch, partitions.
pub(super) fn request_text(request: &Request) -> String {
    match request {
        Request::Produce(produce) => {
            let mut text = String::new();
            for topic in &produce.topics {
                for (part, records) in &topic.partitions {
                    let Some(header) = records.header() else { continue };
                    let _ = write!(
                        text,
                        ": {}-{part} pid {} epoch {} sequence {}{}",
                        topic.name.as_str(),
                        header.producer_id,
                        header.producer_epoch,
                        header.base_sequence,
                        if header.is_transactional() { " t" } else { "" }
                    );
                }
            }
            text
        }
        Request::EndTxn(end) => format!(
            ": {} pid {} epoch {}",
            if end.committed { "commit" } else { "abort" },
            end.producer_id,
            end.producer_epoch
        ),
        Request::InitProducerId(init) => {
            format!(": pid {} epoch {}", init.producer_id, init.producer_epoch)
        }
        Request::JoinGroup(join) => {
            let instance =
                join.group_instance_id.as_ref().map(kacrab_protocol::KafkaString::as_str);
            format!(": member {:?} instance {instance:?}", join.member_id.as_str())
        }
        Request::SyncGroup(sync) => {
            format!(": member {:?} generation {}", sync.member_id.as_str(), sync.generation_id)
        }
        Request::TxnOffsetCommit(commit) => {
            format!(": member {:?} generation {}", commit.member_id.as_str(), commit.generation_id)
        }
        _ => String::new(),
    }
}

/// What an answer says, after its code: identities, offsets.
pub(super) fn answer_text(response: &Response) -> String {
    let (_, number) = answer_numbers(response);
    match response {
        Response::InitProducerId(data) => {
            format!(" pid {} epoch {}", data.producer_id, data.producer_epoch)
        }
        Response::EndTxn(data) if data.producer_id >= 0 => {
            format!(" pid {} epoch {}", data.producer_id, data.producer_epoch)
        }
        Response::JoinGroup(data) => {
            format!(" member {:?} generation {}", data.member_id.as_str(), data.generation_id)
        }
        Response::Produce(_) => format!(" offset {number}"),
        Response::Fetch(_) if number >= 0 => {
            format!(" hw {} lso {}", number >> 20, number & 0xf_ffff)
        }
        _ => String::new(),
    }
}
