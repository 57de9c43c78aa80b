//! Reads a partition to its end with read_committed, filtering as a consumer does.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::fetch_request::{FetchPartition, FetchRequestData, FetchTopic};
use kacrab_protocol::generated::fetch_response::PartitionData;
use verdict_core::wire::{Request, Response};

use super::batch::{self, Content, ReadBatch};
use super::{Client, ClientError, check, is_for_now, unexpected};
use crate::history::Seen;

/// The last Fetch version that names topics.
const FETCH_VERSION: i16 = 12;
/// Rest between two looks at a partition that still has an open transaction.
const OPEN_PAUSE: Duration = Duration::from_millis(50);
/// How many looks it gets.
const OPEN_LOOKS_MAX: usize = 2_400;

/// Everything a read_committed consumer is shown of a partition, once no transaction is open in
/// it any more.
///
/// # Errors
/// As the calls; [`ClientError::Protocol`] when bytes are damaged or a transaction stays open.
pub async fn read_committed(
    client: &mut Client,
    topic: &str,
    partition: i32,
) -> Result<Vec<Seen>, ClientError> {
    let mut seen = Vec::new();
    let mut offset = 0;
    let mut looks = 0;
    loop {
        let fetched = match fetch(client, topic, partition, offset).await {
            Err(error) if is_for_now(&error) => None,
            other => Some(other?),
        };
        if let Some((data, records)) = fetched {
            let next = take(&data, records, partition, offset, &mut seen)?;
            if next == data.high_watermark {
                return Ok(seen);
            }
            if next > offset {
                offset = next;
                continue;
            }
        }
        looks += 1;
        if looks == OPEN_LOOKS_MAX {
            let stuck = format!("{topic}-{partition} is stuck at offset {offset}");
            return Err(ClientError::Protocol(stuck));
        }
        tokio::time::sleep(OPEN_PAUSE).await;
    }
}

/// Adds what is to be seen of one answer; the offset to go on from.
fn take(
    data: &PartitionData,
    records: Bytes,
    partition: i32,
    offset: i64,
    seen: &mut Vec<Seen>,
) -> Result<i64, ClientError> {
    let batches = batch::read(records)
        .ok_or_else(|| ClientError::Protocol("a damaged batch was served".to_owned()))?;
    let mut aborted: Vec<(i64, i64)> = data
        .aborted_transactions
        .iter()
        .flatten()
        .map(|aborted| (aborted.first_offset, aborted.producer_id))
        .collect();
    aborted.sort_unstable();
    let mut upcoming = aborted.into_iter().peekable();
    let mut aborting = BTreeSet::new();
    let mut next = offset;
    for ReadBatch { last_offset, producer_id, is_transactional, content, .. } in batches {
        while let Some((_, producer)) = upcoming.next_if(|(first, _)| *first <= last_offset) {
            aborting.insert(producer);
        }
        next = next.max(last_offset + 1);
        match content {
            Content::Marker { commit: false } => {
                aborting.remove(&producer_id);
            }
            Content::Marker { commit: true } => {}
            Content::Records(_) if is_transactional && aborting.contains(&producer_id) => {}
            Content::Records(records) => {
                let wanted = records.into_iter().filter(|(at, _)| *at >= offset);
                seen.extend(wanted.map(|(offset, value)| Seen { partition, offset, value }));
            }
        }
    }
    Ok(next)
}

async fn fetch(
    client: &mut Client,
    topic: &str,
    partition: i32,
    offset: i64,
) -> Result<(PartitionData, Bytes), ClientError> {
    let partition = FetchPartition::default()
        .with_partition(partition)
        .with_current_leader_epoch(-1)
        .with_fetch_offset(offset)
        .with_last_fetched_epoch(-1)
        .with_log_start_offset(-1)
        .with_partition_max_bytes(1_048_576);
    let topic = FetchTopic::default()
        .with_topic(KafkaString::from(topic.to_owned()))
        .with_partitions(vec![partition]);
    let data = FetchRequestData::default()
        .with_replica_id(-1)
        .with_max_wait_ms(0)
        .with_min_bytes(0)
        .with_max_bytes(8_388_608)
        .with_isolation_level(1)
        .with_session_epoch(-1)
        .with_topics(vec![topic]);
    let mut answer = match client.call(FETCH_VERSION, &Request::Fetch(data)).await? {
        Response::Fetch(answer) => answer,
        other => return Err(unexpected(&other)),
    };
    check(answer.data.error_code)?;
    let partition = answer.data.responses.pop().and_then(|mut topic| topic.partitions.pop());
    let partition = partition
        .ok_or_else(|| ClientError::Protocol("a Fetch answer without the partition".to_owned()))?;
    check(partition.error_code)?;
    let parts = answer.records.pop().and_then(|mut topic| topic.pop()).unwrap_or_default();
    let mut records = BytesMut::new();
    parts.iter().for_each(|part| records.extend_from_slice(part));
    Ok((partition, records.freeze()))
}
