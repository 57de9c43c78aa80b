//! Fetch requests, and what is read from their answers.

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated as k;
use verdict_core::wire::{Request, Response};

use super::TOPIC;
use super::requests::text;
use crate::history::{Fetch, Part, parse_batches};

/// Where a fetch stands to a session (KIP-227): (0, -1) wants none, (0, 0) a new one.
pub(super) type InSession = (i32, i32);

/// What one partition is to be fetched from, in either isolation.
pub(crate) fn fetch(part: Part, from: i64, committed: bool, wait_ms: i32, max: i32) -> Request {
    fetch_in((0, -1), &[(part, from)], &[], committed, wait_ms, max)
}

/// The same of some partitions, without those that the session is to forget.
pub(super) fn fetch_in(
    (session_id, session_epoch): InSession,
    wanted: &[(Part, i64)],
    forgotten: &[Part],
    committed: bool,
    wait_ms: i32,
    max: i32,
) -> Request {
    let partition = |&(part, from): &(Part, i64)| k::fetch_request::FetchPartition {
        partition: i32::from(part),
        current_leader_epoch: -1,
        fetch_offset: from,
        last_fetched_epoch: -1,
        log_start_offset: -1,
        partition_max_bytes: max,
        ..Default::default()
    };
    let topic = k::fetch_request::FetchTopic {
        topic: text(TOPIC),
        partitions: wanted.iter().map(partition).collect(),
        ..Default::default()
    };
    let left = k::fetch_request::ForgottenTopic {
        topic: text(TOPIC),
        partitions: forgotten.iter().map(|&part| i32::from(part)).collect(),
        ..Default::default()
    };
    Request::Fetch(k::FetchRequestData {
        replica_id: -1,
        max_wait_ms: wait_ms,
        min_bytes: 1,
        max_bytes: max,
        isolation_level: i8::from(committed),
        session_id,
        session_epoch,
        topics: if wanted.is_empty() { Vec::new() } else { vec![topic] },
        forgotten_topics_data: if forgotten.is_empty() { Vec::new() } else { vec![left] },
        ..Default::default()
    })
}

/// A partition of an answer: its number, its error code, and what was fetched; `None` for bytes
/// that are no batches.
pub(super) type Fetched = (Part, i16, Option<Fetch>);

/// All partitions of a Fetch answer, as the history holds them. `from` knows where each was fetched
/// from.
pub(super) fn read_fetches(
    response: &Response,
    from: impl Fn(Part) -> i64,
    committed: bool,
    asked_us: u64,
) -> Vec<Fetched> {
    let Response::Fetch(answer) = response else { return Vec::new() };
    let mut all = Vec::new();
    for (topic, topic_records) in answer.data.responses.iter().zip(&answer.records) {
        for (data, parts) in topic.partitions.iter().zip(topic_records) {
            let bytes = match parts.as_slice() {
                [one] => one.clone(),
                parts => {
                    let mut all = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
                    parts.iter().for_each(|part| all.extend_from_slice(part));
                    all.freeze()
                }
            };
            let part = data.partition_index as Part;
            let aborted = data.aborted_transactions.as_deref().unwrap_or(&[]);
            let fetched = parse_batches(bytes).map(|batches| Fetch {
                part,
                committed,
                from: from(part),
                asked_us,
                high_watermark: data.high_watermark,
                last_stable: data.last_stable_offset,
                log_start: data.log_start_offset,
                aborted: aborted.iter().map(|txn| (txn.producer_id, txn.first_offset)).collect(),
                batches,
                is_final: false,
                broker: 0,
            });
            all.push((part, data.error_code, fetched));
        }
    }
    all
}

/// A Fetch answer for one partition, as the history holds it. `Err` says the bytes are no batches.
pub(crate) fn read_fetch(
    response: &Response,
    (_, from, committed): (Part, i64, bool),
    asked_us: u64,
) -> Result<Option<Fetch>, ()> {
    match read_fetches(response, |_| from, committed, asked_us).pop() {
        None => Ok(None),
        Some((_, _, fetched)) => fetched.map(Some).ok_or(()),
    }
}
