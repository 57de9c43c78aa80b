//! ListOffsets: ends, starts and look-ups by time, bounded by the isolation level (spec 8.4,
//! report P13).

use alloc::vec::Vec;

use bytes::Bytes;
use kacrab_protocol::generated::ListOffsetsRequestData;
use kacrab_protocol::generated::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsResponseData, ListOffsetsTopicResponse,
};

use super::Context;
use super::waiting::{Pending, ReadPurpose};
use crate::error::ErrorCode;
use crate::io::RequestId;
use crate::mark;
use crate::node::Node;
use crate::store::{Batches, ReadOutcome, StorageError};
use crate::types::{Isolation, Offset, PartitionId, TopicName, TopicPartition};
use crate::wire::Response;

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;
const EARLIEST_PENDING_UPLOAD: i64 = -6;
/// The replica id of consumers; others read up to the log end.
const CONSUMER: i32 = -1;
/// Bytes of one read while looking for a timestamp.
const SCAN_BYTES: u32 = 1 << 20;

/// A ListOffsets that waits for reads.
#[derive(Clone, Debug)]
pub(crate) struct PendingListOffsets {
    version: i16,
    topics: Vec<(TopicName, usize)>,
    parts: Vec<(i32, Part)>,
}

#[derive(Clone, Debug)]
enum Part {
    Scanning(Scan),
    Done(Result<Found, ErrorCode>),
}

#[derive(Clone, Copy, Debug)]
struct Found {
    timestamp: i64,
    offset: Offset,
    leader_epoch: i32,
}

const NOTHING: Found = Found { timestamp: -1, offset: -1, leader_epoch: -1 };

/// A walk over the records from where the index points.
#[derive(Clone, Copy, Debug)]
struct Scan {
    id: PartitionId,
    next: Offset,
    /// Records below it were deleted: they are not told, though their batch may still be there.
    start: Offset,
    /// Records at or above it are not told.
    bound: Offset,
    /// The high watermark: how far may be read.
    end: Offset,
    want: Want,
}

#[derive(Clone, Copy, Debug)]
enum Want {
    /// The first record that is not older.
    AtLeast(i64),
    /// The first record with the largest timestamp; the best so far.
    Largest(Option<(i64, Offset)>),
}

pub(crate) fn handle(node: &mut Node, context: Context, request: ListOffsetsRequestData) {
    let mut pending =
        PendingListOffsets { version: context.version, topics: Vec::new(), parts: Vec::new() };
    let duplicates = duplicates(&request);
    let isolation = if request.isolation_level == 1 {
        Isolation::ReadCommitted
    } else {
        Isolation::ReadUncommitted
    };
    for topic in &request.topics {
        let name = TopicName::from(topic.name.as_str());
        pending.topics.push((name.clone(), topic.partitions.len()));
        for part in &topic.partitions {
            let to = TopicPartition { topic: name.clone(), partition: part.partition_index };
            let part_state = if duplicates.contains(&to) {
                Part::Done(Err(ErrorCode::InvalidRequest))
            } else {
                let asked = Asked {
                    timestamp: part.timestamp,
                    leader_epoch: part.current_leader_epoch,
                    isolation,
                    replica: request.replica_id,
                    version: context.version,
                };
                look_up(node, &to, &asked)
            };
            pending.parts.push((part.partition_index, part_state));
        }
    }
    let (conn, id) = (context.conn, context.id);
    let parts = pending.parts.len();
    node.waiting.insert(conn, id, Pending::ListOffsets(pending));
    for part in 0..parts {
        go_on(node, id, part);
    }
    respond_if_done(node, id);
}

fn duplicates(request: &ListOffsetsRequestData) -> Vec<TopicPartition> {
    let mut all: Vec<_> = request
        .topics
        .iter()
        .flat_map(|topic| {
            topic
                .partitions
                .iter()
                .map(|part| TopicPartition::new(topic.name.as_str(), part.partition_index))
        })
        .collect();
    all.sort();
    all.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone()).collect()
}

struct Asked {
    timestamp: i64,
    leader_epoch: i32,
    isolation: Isolation,
    replica: i32,
    version: i16,
}

/// First version that knows each special timestamp.
const fn known_since(timestamp: i64) -> i16 {
    match timestamp {
        MAX_TIMESTAMP => 7,
        EARLIEST_LOCAL => 8,
        LATEST_TIERED => 9,
        EARLIEST_PENDING_UPLOAD => 11,
        _ => 0,
    }
}

fn look_up(node: &Node, to: &TopicPartition, asked: &Asked) -> Part {
    let Some(id) = node.meta.partition_id(to) else {
        return Part::Done(Err(ErrorCode::UnknownTopicOrPartition));
    };
    let Some(partition) = node.partitions.get(&id) else {
        return Part::Done(Err(ErrorCode::NotLeaderOrFollower));
    };
    let leader_epoch = partition.leader_epoch();
    if asked.leader_epoch >= 0 && asked.leader_epoch != leader_epoch {
        let fenced = asked.leader_epoch < leader_epoch;
        let code =
            if fenced { ErrorCode::FencedLeaderEpoch } else { ErrorCode::UnknownLeaderEpoch };
        return Part::Done(Err(code));
    }
    if asked.timestamp < EARLIEST_PENDING_UPLOAD || asked.version < known_since(asked.timestamp) {
        return Part::Done(Err(ErrorCode::UnsupportedVersion));
    }
    let high_watermark = partition.high_watermark();
    let bound = if asked.replica == CONSUMER {
        partition.fetch_bound(asked.isolation)
    } else {
        partition.log_end()
    };
    let found = |offset| Part::Done(Ok(Found { timestamp: -1, offset, leader_epoch }));
    let start = partition.log_start();
    let scan = |next: Offset, want| {
        let next = next.max(start);
        Part::Scanning(Scan { id, next, start, bound, end: high_watermark, want })
    };
    match asked.timestamp {
        LATEST => found(bound),
        EARLIEST | EARLIEST_LOCAL => found(start),
        LATEST_TIERED | EARLIEST_PENDING_UPLOAD => Part::Done(Ok(NOTHING)),
        MAX_TIMESTAMP => match node.store.max_timestamp(id) {
            Some((_, last_of_batch)) => scan(last_of_batch, Want::Largest(None)),
            None => Part::Done(Ok(NOTHING)),
        },
        timestamp => match node.store.offset_for_timestamp(id, timestamp) {
            Some(next) => scan(next, Want::AtLeast(timestamp)),
            None => Part::Done(Ok(NOTHING)),
        },
    }
}

/// Reads on until the record is found, the end is reached, or a file has to be read.
fn go_on(node: &mut Node, id: RequestId, part: usize) {
    loop {
        let Some(Pending::ListOffsets(pending)) = node.waiting.get(id) else { return };
        let Some((_, Part::Scanning(scan))) = pending.parts.get(part) else { return };
        let scan = *scan;
        if scan.next >= scan.end {
            return finish(node, id, part, Ok(end_of_scan(node, &scan)));
        }
        match node.store.read(scan.id, scan.next, scan.end, SCAN_BYTES, true) {
            ReadOutcome::Ready(found) => {
                if !take(node, id, part, &found.parts) {
                    return;
                }
            }
            ReadOutcome::Pending(read) => {
                mark!(ListOffsetsReadsFile);
                node.reads.insert(read, ReadPurpose::ListOffsets { request: id, part });
                return;
            }
            ReadOutcome::Error(_) => {
                return finish(node, id, part, Err(ErrorCode::KafkaStorageError));
            }
        }
    }
}

pub(crate) fn read_done(
    node: &mut Node,
    id: RequestId,
    part: usize,
    result: Result<Batches, StorageError>,
) {
    match result {
        Ok(found) => {
            if take(node, id, part, &found.parts) {
                go_on(node, id, part);
            }
        }
        Err(_) => finish(node, id, part, Err(ErrorCode::KafkaStorageError)),
    }
    respond_if_done(node, id);
}

/// Looks through what was read; false when the search is over.
fn take(node: &mut Node, id: RequestId, part: usize, bytes: &[Bytes]) -> bool {
    let Some(Pending::ListOffsets(pending)) = node.waiting.get(id) else { return false };
    let Some((_, Part::Scanning(scan))) = pending.parts.get(part) else { return false };
    let mut scan = *scan;
    let before = scan.next;
    for batch in crate::batch::batches(crate::batch::join(bytes)) {
        let Ok(batch) = batch else {
            finish(node, id, part, Err(ErrorCode::CorruptMessage));
            return false;
        };
        scan.next = batch.header().last_offset() + 1;
        match look_into(&batch, &mut scan) {
            Ok(None) => {}
            Ok(Some((timestamp, offset))) => {
                let found = visible(node, &scan, timestamp, offset);
                finish(node, id, part, Ok(found));
                return false;
            }
            Err(code) => {
                finish(node, id, part, Err(code));
                return false;
            }
        }
    }
    if scan.next == before {
        finish(node, id, part, Ok(end_of_scan(node, &scan)));
        return false;
    }
    if let Some(Pending::ListOffsets(pending)) = node.waiting.get_mut(id) {
        pending.parts[part].1 = Part::Scanning(scan);
    }
    true
}

fn look_into(
    batch: &crate::batch::CheckedBatch,
    scan: &mut Scan,
) -> Result<Option<(i64, Offset)>, ErrorCode> {
    let header = *batch.header();
    let wanted = match scan.want {
        Want::AtLeast(timestamp) => header.max_timestamp >= timestamp,
        Want::Largest(best) => best.is_none_or(|(best, _)| header.max_timestamp > best),
    };
    if !wanted {
        return Ok(None);
    }
    for record in crate::batch::records(batch) {
        let record = record.map_err(|_| ErrorCode::CorruptMessage)?;
        let offset = header.base_offset + i64::from(record.offset_delta);
        if offset < scan.start {
            continue;
        }
        match &mut scan.want {
            Want::AtLeast(timestamp) if record.timestamp >= *timestamp => {
                return Ok(Some((record.timestamp, offset)));
            }
            Want::AtLeast(_) => {}
            Want::Largest(best) => {
                if best.is_none_or(|(best, _)| record.timestamp > best) {
                    *best = Some((record.timestamp, offset));
                }
            }
        }
    }
    Ok(None)
}

fn end_of_scan(node: &Node, scan: &Scan) -> Found {
    match scan.want {
        Want::Largest(Some((timestamp, offset))) => visible(node, scan, timestamp, offset),
        _ => NOTHING,
    }
}

/// A record that the isolation level hides is not told, nor is one after it.
fn visible(node: &Node, scan: &Scan, timestamp: i64, offset: Offset) -> Found {
    let Some(partition) = node.partitions.get(&scan.id) else { return NOTHING };
    if offset >= scan.bound {
        return NOTHING;
    }
    let leader_epoch = partition.epoch_of(offset);
    Found { timestamp, offset, leader_epoch }
}

fn finish(node: &mut Node, id: RequestId, part: usize, result: Result<Found, ErrorCode>) {
    if let Some(Pending::ListOffsets(pending)) = node.waiting.get_mut(id)
        && let Some((_, slot)) = pending.parts.get_mut(part)
    {
        *slot = Part::Done(result);
    }
}

fn respond_if_done(node: &mut Node, id: RequestId) {
    match node.waiting.get(id) {
        Some(Pending::ListOffsets(pending))
            if pending.parts.iter().all(|(_, part)| matches!(part, Part::Done(_))) => {}
        _ => return,
    }
    let Some(Pending::ListOffsets(pending)) = node.waiting.take(id) else { return };
    let version = pending.version;
    let mut parts = pending.parts.into_iter();
    let topics = pending
        .topics
        .into_iter()
        .map(|(name, count)| ListOffsetsTopicResponse {
            name: name.to_kafka(),
            partitions: parts
                .by_ref()
                .take(count)
                .map(|(index, part)| partition_response(index, &part, version))
                .collect(),
            ..Default::default()
        })
        .collect();
    let data = ListOffsetsResponseData { topics, ..Default::default() };
    node.respond(id, Response::ListOffsets(data));
}

fn partition_response(index: i32, part: &Part, version: i16) -> ListOffsetsPartitionResponse {
    let (found, code) = match part {
        Part::Done(Ok(found)) => (*found, ErrorCode::None),
        Part::Done(Err(code)) => (NOTHING, *code),
        Part::Scanning(_) => (NOTHING, ErrorCode::UnknownServerError),
    };
    ListOffsetsPartitionResponse {
        partition_index: index,
        error_code: code.code(),
        timestamp: found.timestamp,
        offset: found.offset,
        leader_epoch: if version >= 4 { found.leader_epoch } else { -1 },
        ..Default::default()
    }
}
