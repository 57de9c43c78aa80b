//! What readers see: Fetch and ListOffsets.

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated::fetch_request::{FetchPartition, FetchTopic};
use kacrab_protocol::generated::fetch_response::PartitionData;
use kacrab_protocol::generated::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kacrab_protocol::generated::{
    FetchRequestData, ListOffsetsRequestData, ListOffsetsResponseData,
};
use verdict_core::batch::{CheckedBatch, Record, batches, parse_marker, records};
use verdict_core::types::{Decision, TopicId};
use verdict_core::wire::{FetchResponse, Request};

use super::{Call, code, each, places, result};
use crate::args::{Args, Fault};
use crate::names::{Looks, Names, wire};

/// From this version on topics go by their ids.
const BY_ID: i16 = 13;

/// Whether only what is committed is to be seen; it must be said.
fn isolation(args: &mut Args<'_>) -> Result<i8, Fault> {
    match (args.flag("committed"), args.flag("uncommitted")) {
        (true, false) => Ok(1),
        (false, true) => Ok(0),
        _ => Err("committed or uncommitted?".to_owned()),
    }
}

/// `read t-0 … committed|uncommitted [from=N] [max=BYTES] [wait=MS] [records|bytes]`: Fetch, without
/// a session. With `records` the records are shown and not the batches, with `bytes` what markers
/// are made of.
pub(super) fn fetch(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let version = args.version(12);
    let isolation_level = isolation(args)?;
    names.looks = match (args.flag("records"), args.flag("bytes")) {
        (true, _) => Looks::Records,
        (_, true) => Looks::Bytes,
        _ => Looks::Batches,
    };
    let from = args.named("from")?.unwrap_or(0);
    let max_bytes = args.named("max")?.unwrap_or(1 << 20);
    let wait_ms: i32 = args.named("wait")?.unwrap_or(0);
    let topics = places(args)?.into_iter().map(|(topic, partitions)| {
        let partitions = partitions.into_iter().map(|index| {
            FetchPartition::default()
                .with_partition(index)
                .with_current_leader_epoch(-1)
                .with_fetch_offset(from)
                .with_last_fetched_epoch(-1)
                .with_log_start_offset(-1)
                .with_partition_max_bytes(max_bytes)
        });
        let by_id = version >= BY_ID;
        let id = if by_id { names.topic_id(&topic) } else { TopicId::default() };
        FetchTopic::default()
            .with_topic(if by_id { wire("") } else { names.outside(&topic) })
            .with_topic_id(id.to_kafka())
            .with_partitions(partitions.collect())
    });
    let data = FetchRequestData::default()
        .with_replica_id(-1)
        .with_max_wait_ms(wait_ms)
        .with_min_bytes(i32::from(wait_ms > 0))
        .with_max_bytes(50 << 20)
        .with_isolation_level(isolation_level)
        .with_session_epoch(-1)
        .with_topics(topics.collect());
    Ok(Call::new(version, Request::Fetch(data)))
}

pub(super) fn show_fetch(
    version: i16,
    answer: &FetchResponse,
    names: &mut Names,
) -> Result<String, Fault> {
    if version >= 7 && answer.data.error_code != 0 {
        return Ok(code(answer.data.error_code));
    }
    let mut results = Vec::new();
    for (topic, records) in answer.data.responses.iter().zip(&answer.records) {
        let name = names.topic(topic.topic.as_str(), topic.topic_id.into());
        for (partition, parts) in topic.partitions.iter().zip(records) {
            let shown = show_partition(version, partition, joined(parts), names)?;
            results.push((format!("{name}-{}", partition.partition_index), shown));
        }
    }
    Ok(each(results))
}

fn joined(parts: &[Bytes]) -> Bytes {
    let mut all = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
    parts.iter().for_each(|part| all.extend_from_slice(part));
    all.freeze()
}

fn show_partition(
    version: i16,
    partition: &PartitionData,
    records: Bytes,
    names: &mut Names,
) -> Result<String, Fault> {
    if partition.error_code != 0 {
        return Ok(code(partition.error_code));
    }
    let mut words = vec![
        "NONE".to_owned(),
        format!("hw={}", partition.high_watermark),
        format!("lso={}", partition.last_stable_offset),
    ];
    if version >= 5 && partition.log_start_offset != 0 {
        words.push(format!("start={}", partition.log_start_offset));
    }
    for batch in batches(records) {
        let batch = batch.map_err(|fault| format!("a damaged batch: {fault:?}"))?;
        match names.looks {
            Looks::Batches => words.push(show_batch(&batch, names)),
            Looks::Records => words.extend(show_records(&batch)?),
            Looks::Bytes => words.extend(show_bytes(&batch, names)?),
        }
    }
    words.push(match &partition.aborted_transactions {
        None => "aborted=null".to_owned(),
        Some(aborted) => {
            let shown = aborted
                .iter()
                .map(|txn| format!("{}@{}", names.producer(txn.producer_id), txn.first_offset));
            format!("aborted=[{}]", shown.collect::<Vec<_>>().join(" "))
        }
    });
    Ok(words.join(" "))
}

/// `[0..2 tx P1/0 seq=0]`, `[3 COMMIT P1/1]`, `[4]`.
fn show_batch(batch: &CheckedBatch, names: &mut Names) -> String {
    let header = batch.header();
    let (first, last) = (header.base_offset, header.last_offset());
    let mut words =
        vec![if first == last { first.to_string() } else { format!("{first}..{last}") }];
    if let Some((decision, coordinator_epoch)) = parse_marker(batch) {
        names.coordinator_epoch = names.coordinator_epoch.max(coordinator_epoch);
        words.push(if decision == Decision::Commit { "COMMIT" } else { "ABORT" }.to_owned());
    } else if header.is_transactional() {
        words.push("tx".to_owned());
    }
    if header.producer_id != -1 {
        words.push(format!("{}/{}", names.producer(header.producer_id), header.producer_epoch));
        if header.base_sequence != -1 {
            words.push(format!("seq={}", header.base_sequence));
        }
    }
    format!("[{}]", words.join(" "))
}

fn all_records(batch: &CheckedBatch) -> Result<Vec<Record>, Fault> {
    let all = records(batch).collect::<Result<Vec<_>, _>>();
    all.map_err(|fault| format!("a damaged record: {fault:?}"))
}

/// `@0 k=v1`, for each record that is for applications.
fn show_records(batch: &CheckedBatch) -> Result<Vec<String>, Fault> {
    if batch.header().is_control() {
        return Ok(Vec::new());
    }
    let text = |bytes: Option<Bytes>| match bytes {
        Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        None => "null".to_owned(),
    };
    let show = |record: Record| {
        let offset = batch.header().base_offset + i64::from(record.offset_delta);
        format!("@{offset} {}={}", text(record.key), text(record.value))
    };
    Ok(all_records(batch)?.into_iter().map(show).collect())
}

/// `[3 attributes=0x30 P1/1 seq=-1 timed 00000001=0000:epoch]` of a marker, nothing of other
/// batches. The coordinator's epoch differs from run to run; whether it is one is shown.
fn show_bytes(batch: &CheckedBatch, names: &mut Names) -> Result<Vec<String>, Fault> {
    let header = batch.header();
    if !header.is_control() {
        return Ok(Vec::new());
    }
    let producer = names.producer(header.producer_id);
    let timed = if header.base_timestamp > 0 && header.max_timestamp == header.base_timestamp {
        "timed"
    } else {
        "untimed"
    };
    let mut words = vec![
        format!("{}..{}", header.base_offset, header.last_offset()),
        format!("attributes={:#04x}", header.attributes.0),
        format!("{producer}/{}", header.producer_epoch),
        format!("seq={}", header.base_sequence),
        timed.to_owned(),
    ];
    for record in all_records(batch)? {
        let (key, value) = (record.key.unwrap_or_default(), record.value.unwrap_or_default());
        let (version, rest) = value.split_at(value.len().min(2));
        let epoch = match <[u8; 4]>::try_from(rest) {
            Ok(bytes) if i32::from_be_bytes(bytes) >= 0 => "epoch".to_owned(),
            _ => hex(rest),
        };
        words.push(format!("{}={}:{epoch}", hex(&key), hex(version)));
    }
    Ok(vec![format!("[{}]", words.join(" "))])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `list t-0 … earliest|latest|max|local|at=MS committed|uncommitted`: ListOffsets.
pub(super) fn list(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let isolation_level = isolation(args)?;
    let special = args.find(|word| match word {
        "latest" => Some(-1),
        "earliest" => Some(-2),
        "max" => Some(-3),
        "local" => Some(-4),
        _ => None,
    });
    let at_ms = args.named("at")?.map(|ms| names.time_ms(ms));
    let timestamp = special.or(at_ms).ok_or("earliest, latest, max, local or at=MS?")?;
    let topics = places(args)?.into_iter().map(|(topic, partitions)| {
        let partitions = partitions.into_iter().map(|index| {
            ListOffsetsPartition::default()
                .with_partition_index(index)
                .with_current_leader_epoch(-1)
                .with_timestamp(timestamp)
        });
        ListOffsetsTopic::default()
            .with_name(names.outside(&topic))
            .with_partitions(partitions.collect())
    });
    let data = ListOffsetsRequestData::default()
        .with_replica_id(-1)
        .with_isolation_level(isolation_level)
        .with_topics(topics.collect());
    Ok(Call::new(args.version(7), Request::ListOffsets(data)))
}

pub(super) fn show_list(data: &ListOffsetsResponseData, names: &Names) -> String {
    let results = data.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| {
            let shown = result(partition.error_code, || match partition.timestamp {
                -1 => format!("@{}", partition.offset),
                at_ms => format!("@{} at={}", partition.offset, names.since_start_ms(at_ms)),
            });
            (format!("{}-{}", names.own(topic.name.as_str()), partition.partition_index), shown)
        })
    });
    each(results.collect())
}
