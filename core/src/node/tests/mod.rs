//! Whole requests on files in memory: the public reports by kind, a file each.

mod aborted_read;
mod cluster;
mod coordinator_failover;
mod crash_recovery;
mod dedup_window;
mod end_repeated;
mod epoch_fencing;
mod fetch_session;
mod hanging_transaction;
mod level_change;
mod log_cleaning;
mod looks;
mod lso;
mod marker_ordering;
mod offsets_in_transaction;
mod one_node;
mod protocol;
mod retention;
mod retention_vs_producers;
mod sequence_order;
mod settings_change;
mod two_phase;
mod verbs;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::create_topics_request::CreatableTopic;
use kacrab_protocol::generated::{CreateTopicsRequestData, InitProducerIdRequestData};

use super::testing::{Bench, Failing};
use crate::io::{FileError, Input};
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

#[test]
fn a_damaged_metadata_log_is_not_a_new_directory() {
    let mut bench = Bench::start();
    bench.ask(7, create("t"));
    bench.input(Input::Stop);
    bench.files.cut("__cluster_metadata-0/00000000000000000000.log");
    let mut bench = bench.crash();
    bench.pass_ms(60_000);
    assert!(!bench.ready && !bench.faults.is_empty(), "{:?}", bench.faults);
    assert!(bench.files.has_folder("t-0"), "its topics are no strays");
}

#[test]
fn a_damaged_log_is_not_made_anew() {
    let mut bench = Bench::start();
    bench.ask(7, create("t"));
    let request = Request::InitProducerId(InitProducerIdRequestData {
        transactional_id: Some(KafkaString::from_static("id")),
        transaction_timeout_ms: 1_000,
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    });
    for _ in 0..3 {
        let find = kacrab_protocol::generated::FindCoordinatorRequestData {
            key_type: 1,
            coordinator_keys: alloc::vec![KafkaString::from_static("id")],
            ..Default::default()
        };
        bench.ask(4, Request::FindCoordinator(find));
    }
    let Response::InitProducerId(first) = bench.ask(4, request.clone()) else { panic!() };
    assert_eq!(first.error_code, 0);
    bench.input(Input::Stop);
    let log = (0..2)
        .map(|index| alloc::format!("__transaction_state-{index}/00000000000000000000.log"))
        .find(|path| bench.files.length(path) > 0)
        .expect("one of them holds the id");
    bench.files.cut(&log);
    let mut bench = bench.crash();
    bench.pass_ms(60_000);
    assert!(!bench.faults.is_empty());
    let Response::InitProducerId(again) = bench.ask(4, request) else { panic!() };
    assert_ne!(again.error_code, 0, "an id that may exist is not given a new producer");
}

#[test]
fn a_first_boot_on_a_full_disk_makes_the_metadata_log_once_there_is_room() {
    let mut bench =
        Bench::on_files(|files| files.fail(Failing::Journal, FileError::NoSpace, Some(1)));
    assert!(!bench.ready);
    bench.pass_ms(2_000);
    assert!(bench.ready, "{:?}", bench.faults);
    let Response::CreateTopics(created) = bench.ask(7, create("t")) else { panic!() };
    assert_eq!(created.topics[0].error_code, 0);
    let bench = bench.crash();
    assert!(bench.ready, "{:?}", bench.faults);
    assert!(bench.node.meta.topic("t").is_some(), "an acknowledged topic is there");
}
