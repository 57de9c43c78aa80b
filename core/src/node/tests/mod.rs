//! Whole requests on files in memory: the public reports by kind, a file each.

mod aborted_read;
mod coordinator_failover;
mod crash_recovery;
mod dedup_window;
mod end_repeated;
mod epoch_fencing;
mod hanging_transaction;
mod looks;
mod lso;
mod marker_ordering;
mod offsets_in_transaction;
mod protocol;
mod retention_vs_producers;
mod sequence_order;
mod verbs;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::create_topics_request::CreatableTopic;
use kacrab_protocol::generated::{CreateTopicsRequestData, InitProducerIdRequestData};

use super::testing::Bench;
use crate::io::Input;
use crate::wire::{Request, Response};

fn create(name: &'static str) -> Request {
    Request::CreateTopics(CreateTopicsRequestData {
        topics: alloc::vec![CreatableTopic {
            name: KafkaString::from_static(name),
            num_partitions: 1,
            replication_factor: 1,
            ..Default::default()
        }],
        timeout_ms: 1_000,
        ..Default::default()
    })
}

#[test]
fn a_new_directory_is_served() {
    let bench = Bench::start();
    assert_eq!(bench.faults, [""; 0]);
    assert!(bench.ready);
}

#[test]
fn a_topic_is_there_after_a_crash_and_after_a_clean_stop() {
    let mut bench = Bench::start();
    let Response::CreateTopics(created) = bench.ask(7, create("t")) else { panic!() };
    assert_eq!(created.topics[0].error_code, 0, "{created:?}");
    let mut bench = bench.crash();
    assert!(bench.ready, "{:?}", bench.faults);
    assert!(bench.node.meta.topic("t").is_some());
    bench.input(Input::Stop);
    assert!(bench.stopped);
    let bench = bench.crash();
    assert!(bench.ready, "{:?}", bench.faults);
    assert!(bench.node.meta.topic("t").is_some());
    assert_eq!(bench.node.meta.leader_epoch(), 2);
}

#[test]
fn a_producer_id_is_given_once_in_all_lives() {
    let mut seen = alloc::vec::Vec::new();
    let mut bench = Bench::start();
    for _ in 0..3 {
        let request = Request::InitProducerId(InitProducerIdRequestData {
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        });
        let Response::InitProducerId(answer) = bench.ask(5, request) else { panic!() };
        assert_eq!(answer.error_code, 0);
        assert!(!seen.contains(&answer.producer_id));
        seen.push(answer.producer_id);
        bench = bench.crash();
    }
}
