//! Fetch sessions (KIP-227) as a consumer meets them.

use alloc::vec;
use alloc::vec::Vec;

use kacrab_protocol::generated::FetchRequestData;
use kacrab_protocol::generated::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};

use super::verbs::{split, text};
use crate::error::ErrorCode;
use crate::node::testing::Bench;
use crate::wire::{FetchResponse, Request, Response};

fn request(session_id: i32, session_epoch: i32, from: &[(&str, i64)]) -> FetchRequestData {
    let topic = |(to, fetch_offset): &(&str, i64)| {
        let (topic, partition) = split(to);
        let partition = FetchPartition {
            partition,
            current_leader_epoch: -1,
            fetch_offset: *fetch_offset,
            partition_max_bytes: 1 << 20,
            ..Default::default()
        };
        FetchTopic { topic: text(topic), partitions: vec![partition], ..Default::default() }
    };
    FetchRequestData {
        max_wait_ms: 10,
        min_bytes: 1,
        max_bytes: 1 << 20,
        session_id,
        session_epoch,
        topics: from.iter().map(topic).collect(),
        ..Default::default()
    }
}

fn told(answer: &FetchResponse) -> Vec<(i32, usize)> {
    let topics = answer.data.responses.iter().zip(&answer.records);
    topics
        .flat_map(|(topic, records)| {
            let sizes = records.iter().map(|parts| parts.iter().map(bytes::Bytes::len).sum());
            topic.partitions.iter().map(|part| part.partition_index).zip(sizes)
        })
        .collect()
}

impl Bench {
    fn poll(&mut self, request: FetchRequestData) -> FetchResponse {
        let Response::Fetch(answer) = self.ask(12, Request::Fetch(request)) else {
            panic!("another answer")
        };
        answer
    }
}

#[test]
fn a_session_tells_what_is_new_and_nothing_else() {
    let mut bench = Bench::open();
    bench.topic("t", 3);
    let first = bench.poll(request(0, 0, &[("t-0", 0), ("t-1", 0), ("t-2", 0)]));
    let id = first.data.session_id;
    assert!(id > 0);
    assert_eq!(told(&first), [(0, 0), (1, 0), (2, 0)]);
    assert_eq!(told(&bench.poll(request(id, 1, &[]))), []);
    bench.plain("t-1", 2);
    let news = bench.poll(request(id, 2, &[]));
    assert_eq!((news.data.session_id, news.data.responses.len()), (id, 1));
    assert!(matches!(told(&news)[..], [(1, size)] if size > 0));
    // The consumer moves on: an offset that is not changed is asked for again.
    assert_eq!(told(&bench.poll(request(id, 3, &[("t-1", 2)]))), []);
}

#[test]
fn what_is_forgotten_is_not_told() {
    let mut bench = Bench::open();
    bench.topic("t", 2);
    let id = bench.poll(request(0, 0, &[("t-0", 0), ("t-1", 0)])).data.session_id;
    let forgotten = ForgottenTopic { topic: text("t"), partitions: vec![1], ..Default::default() };
    let forgetting =
        FetchRequestData { forgotten_topics_data: vec![forgotten], ..request(id, 1, &[]) };
    bench.poll(forgetting);
    bench.plain("t-1", 2);
    assert_eq!(told(&bench.poll(request(id, 2, &[]))), []);
}

#[test]
fn an_epoch_is_served_once_and_an_unknown_session_never() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let id = bench.poll(request(0, 0, &[("t-0", 0)])).data.session_id;
    let mut code = |id, epoch| bench.poll(request(id, epoch, &[])).data.error_code;
    assert_eq!(code(id, 1), 0);
    assert_eq!(code(id, 1), ErrorCode::InvalidFetchSessionEpoch.code());
    assert_eq!(code(id ^ 1, 1), ErrorCode::FetchSessionIdNotFound.code());
    assert_eq!(code(0, 5), ErrorCode::FetchSessionIdNotFound.code());
    assert_eq!(code(id, 2), 0);
    // A last, full fetch ends it.
    let last = bench.poll(request(id, -1, &[("t-0", 0)]));
    assert_eq!((last.data.session_id, last.data.error_code), (0, 0));
    let after = bench.poll(request(id, 3, &[])).data.error_code;
    assert_eq!(after, ErrorCode::FetchSessionIdNotFound.code());
}

#[test]
fn a_deleted_topic_is_an_error_in_the_session_until_it_is_forgotten() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    bench.topic("u", 1);
    let id = bench.poll(request(0, 0, &[("t-0", 0), ("u-0", 0)])).data.session_id;
    bench.delete_topic("u");
    for epoch in [1, 2] {
        let answer = bench.poll(request(id, epoch, &[]));
        let [topic] = &answer.data.responses[..] else { panic!("one topic is told") };
        assert_eq!(topic.partitions[0].error_code, ErrorCode::UnknownTopicOrPartition.code());
    }
}

#[test]
fn without_slots_there_are_no_sessions() {
    let mut bench = Bench::open_with(|config| config.max_incremental_fetch_session_cache_slots = 0);
    bench.topic("t", 1);
    assert_eq!(bench.poll(request(0, 0, &[("t-0", 0)])).data.session_id, 0);
}
