//! A consumer of some partitions that looks at batch headers and at nothing in them.

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::FetchRequestData;
use kacrab_protocol::generated::fetch_request::{FetchPartition, FetchTopic};
use verdict_core::batch::headers;
use verdict_core::types::Isolation;
use verdict_core::wire::{Request, Response};

use super::link::{Link, LinkError, check};

/// The last Fetch version that names topics.
const FETCH_VERSION: i16 = 12;

/// How an answer is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) isolation: Isolation,
    /// How long to wait for a first byte, in ms.
    pub(super) max_wait_ms: i32,
    /// Bytes of one partition, and of the whole answer.
    pub(super) partition_max_bytes: i32,
    pub(super) max_bytes: i32,
}

impl Wish {
    /// As Apache Kafka's consumer asks.
    pub(super) const fn usual(isolation: Isolation) -> Self {
        Self { isolation, max_wait_ms: 500, partition_max_bytes: 1 << 20, max_bytes: 50 << 20 }
    }
}

/// What an answer held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Got {
    pub(super) batches: u64,
    pub(super) records: u64,
    pub(super) bytes: u64,
}

/// A consumer and where it is.
pub(super) struct Reader {
    link: Link,
    topic: String,
    /// Next offset of each partition.
    offsets: Vec<(i32, i64)>,
    wish: Wish,
}

impl Reader {
    /// A consumer at the start of each of these partitions.
    pub(super) fn new(
        link: Link,
        topic: &str,
        partitions: impl Iterator<Item = i32>,
        wish: Wish,
    ) -> Self {
        let offsets = partitions.map(|partition| (partition, 0)).collect();
        Self { link, topic: topic.to_owned(), offsets, wish }
    }

    /// Goes back to the start.
    pub(super) fn rewind(&mut self) {
        for (_, offset) in &mut self.offsets {
            *offset = 0;
        }
    }

    /// Next offset of each partition.
    pub(super) fn offsets(&self) -> &[(i32, i64)] {
        &self.offsets
    }

    /// One fetch, and on behind what it brought. Control batches are not counted.
    pub(super) fn fetch(&mut self) -> Result<Got, LinkError> {
        let request = Request::Fetch(self.request());
        let Response::Fetch(answer) = self.link.call(FETCH_VERSION, &request)? else {
            return Err(LinkError::Unexpected);
        };
        check("Fetch", answer.data.error_code)?;
        let mut got = Got::default();
        let partitions = answer.data.responses.iter().flat_map(|topic| &topic.partitions);
        for (data, records) in partitions.zip(answer.records.iter().flatten()) {
            check("Fetch", data.error_code)?;
            let position =
                self.offsets.iter_mut().find(|(index, _)| *index == data.partition_index);
            let Some((_, offset)) = position else { return Err(LinkError::Unexpected) };
            let mut rest = records.iter().map(Bytes::len).sum::<usize>();
            for header in headers(records) {
                // The last batch of Apache Kafka's answers may be cut short.
                let Some(behind) = rest.checked_sub(header.size()) else { break };
                rest = behind;
                let next = header.last_offset() + 1;
                // A batch may have begun before what was asked for.
                if next <= *offset {
                    continue;
                }
                *offset = next;
                got.bytes += header.size() as u64;
                if !header.is_control() {
                    got.batches += 1;
                    got.records += u64::try_from(header.record_count).unwrap_or(0);
                }
            }
        }
        Ok(got)
    }

    fn request(&self) -> FetchRequestData {
        let partitions = self.offsets.iter().map(|(index, offset)| {
            FetchPartition::default()
                .with_partition(*index)
                .with_current_leader_epoch(-1)
                .with_fetch_offset(*offset)
                .with_last_fetched_epoch(-1)
                .with_log_start_offset(-1)
                .with_partition_max_bytes(self.wish.partition_max_bytes)
        });
        let topic = FetchTopic::default()
            .with_topic(KafkaString::from(self.topic.clone()))
            .with_partitions(partitions.collect());
        FetchRequestData::default()
            .with_replica_id(-1)
            .with_max_wait_ms(self.wish.max_wait_ms)
            .with_min_bytes(1)
            .with_max_bytes(self.wish.max_bytes)
            .with_isolation_level(i8::from(self.wish.isolation == Isolation::ReadCommitted))
            .with_session_epoch(-1)
            .with_topics(vec![topic])
    }
}
