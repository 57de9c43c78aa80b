//! Fetches of one partition, as the oracles want them.

use bytes::{Bytes, BytesMut};
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::fetch_request::{FetchPartition, FetchRequestData, FetchTopic};
use verdict_core::wire::{Request, Response};
use verdict_sim::history::{Fetch, Part, parse_batches};

use super::{Client, ClientError, check, unexpected};

/// The last Fetch version that names topics.
const FETCH_VERSION: i16 = 12;

/// What a fetch asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The partition.
    pub part: Part,
    /// The offset to begin at.
    pub from: i64,
    /// Whether only what is committed is to be seen.
    pub committed: bool,
}

impl Client {
    /// Fetches from one partition. `asked_us` goes into the answer.
    ///
    /// # Errors
    /// As [`Self::call`]; [`ClientError::Protocol`] when a batch is damaged.
    pub async fn fetch(
        &mut self,
        topic: &str,
        place: Place,
        asked_us: u64,
    ) -> Result<Fetch, ClientError> {
        let request = Request::Fetch(request(topic, place));
        let mut answer = match self.call(FETCH_VERSION, &request).await? {
            Response::Fetch(answer) => answer,
            other => return Err(unexpected(&other)),
        };
        check(answer.data.error_code)?;
        let data = answer.data.responses.pop().and_then(|mut topic| topic.partitions.pop());
        let data = data.ok_or_else(|| ClientError::Protocol("no such partition".to_owned()))?;
        check(data.error_code)?;
        let parts = answer.records.pop().and_then(|mut topic| topic.pop()).unwrap_or_default();
        let batches = parse_batches(joined(&parts))
            .ok_or_else(|| ClientError::Protocol("a damaged batch was served".to_owned()))?;
        let aborted = data.aborted_transactions.iter().flatten();
        Ok(Fetch {
            broker: 0,
            part: place.part,
            committed: place.committed,
            from: place.from,
            asked_us,
            high_watermark: data.high_watermark,
            last_stable: data.last_stable_offset,
            log_start: data.log_start_offset,
            aborted: aborted.map(|txn| (txn.producer_id, txn.first_offset)).collect(),
            batches,
            is_final: false,
        })
    }
}

fn request(topic: &str, place: Place) -> FetchRequestData {
    let partition = FetchPartition::default()
        .with_partition(i32::from(place.part))
        .with_current_leader_epoch(-1)
        .with_fetch_offset(place.from)
        .with_last_fetched_epoch(-1)
        .with_log_start_offset(-1)
        .with_partition_max_bytes(1_048_576);
    let topic = FetchTopic::default()
        .with_topic(KafkaString::from(topic.to_owned()))
        .with_partitions(vec![partition]);
    FetchRequestData::default()
        .with_replica_id(-1)
        .with_max_wait_ms(0)
        .with_min_bytes(0)
        .with_max_bytes(8_388_608)
        .with_isolation_level(i8::from(place.committed))
        .with_session_epoch(-1)
        .with_topics(vec![topic])
}

fn joined(parts: &[Bytes]) -> Bytes {
    let mut all = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
    parts.iter().for_each(|part| all.extend_from_slice(part));
    all.freeze()
}

/// The offset after the last batch of an answer.
#[must_use]
pub fn end(fetch: &Fetch) -> i64 {
    fetch.batches.last().map_or(fetch.from, |batch| batch.last + 1)
}
