//! Consumers get the records from the segment files, and the same bytes when the files are short.
#![cfg(not(madsim))]

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::FetchRequestData;
use kacrab_protocol::generated::fetch_request::{FetchPartition, FetchTopic};
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord};
use verdict_core::wire::{Request, Response, client};
use verdict_net_tokio::test_broker::TestBroker;

const FETCH: i16 = 1;
const TOPIC: &str = "sent";
const RECORDS: u32 = 64;
const RECORD_BYTES: usize = 60_000;

fn fetch(from: i64) -> Bytes {
    let partition = FetchPartition::default()
        .with_partition(0)
        .with_current_leader_epoch(-1)
        .with_fetch_offset(from)
        .with_partition_max_bytes(1 << 20);
    let topic = FetchTopic::default()
        .with_topic(KafkaString::from(TOPIC.to_owned()))
        .with_partitions(vec![partition]);
    let request = FetchRequestData::default()
        .with_replica_id(-1)
        .with_max_wait_ms(100)
        .with_min_bytes(1)
        .with_max_bytes(8 << 20)
        .with_session_epoch(-1)
        .with_topics(vec![topic]);
    client::encode_request(&Request::Fetch(request), 12, 1, Some("sent")).expect("encodable")
}

/// The whole log, a fetch of up to a MiB after the other.
fn consumed(broker: &TestBroker) -> Vec<u8> {
    let mut stream = TcpStream::connect(broker.bootstrap()).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let (mut all, mut next) = (Vec::new(), 0);
    while next < i64::from(RECORDS) {
        stream.write_all(&fetch(next)).expect("written");
        let mut length = [0; 4];
        stream.read_exact(&mut length).expect("a length");
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut frame).expect("a frame");
        let (_, answer) = client::decode_response(FETCH, 12, frame.into()).expect("an answer");
        let Response::Fetch(mut answer) = answer else { panic!("another answer") };
        let bytes = answer.records.remove(0).remove(0).concat();
        let batches = verdict_sim::history::parse_batches(bytes.clone().into());
        let last = batches.expect("whole batches").last().expect("some records").last;
        (next, all) = (last + 1, [all, bytes].concat());
    }
    all
}

async fn produce(broker: &TestBroker) {
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", broker.bootstrap())
        .set("batch.size", "100000")
        .create()
        .expect("a producer");
    for number in 0..RECORDS {
        let payload: Vec<u8> = (0..RECORD_BYTES).map(|at| (at as u32 ^ number) as u8).collect();
        let record = FutureRecord::<(), _>::to(TOPIC).partition(0).payload(&payload);
        producer.send(record, Duration::from_secs(20)).await.expect("produced");
    }
}

fn segments(data: &Path) -> Vec<PathBuf> {
    let folder = fs::read_dir(data.join("sent-0")).expect("the log's folder");
    let paths = folder.map(|entry| entry.expect("an entry").path());
    let mut logs: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "log")).collect();
    logs.sort();
    logs
}

fn stored(data: &Path) -> Vec<u8> {
    segments(data).iter().flat_map(|path| fs::read(path).expect("a segment")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_gets_what_is_stored_from_memory_and_from_files() {
    let settings = [("log.segment.bytes", "1048576"), ("num.partitions", "1")];
    let mut broker = TestBroker::start_with(&settings);
    produce(&broker).await;
    let first = consumed(&broker);
    assert!(first.len() > RECORDS as usize * RECORD_BYTES);
    // A stop writes everything, and after a start nothing is in memory.
    broker.restart();
    assert!(segments(broker.data()).len() > 3);
    assert!(consumed(&broker) == first);
    assert!(stored(broker.data()) == first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_gets_what_is_in_memory_when_the_files_are_cut_behind_the_brokers_back() {
    let settings = [("log.segment.bytes", "1048576"), ("num.partitions", "1")];
    let broker = TestBroker::start_with(&settings);
    produce(&broker).await;
    let first = consumed(&broker);
    for path in segments(broker.data()) {
        let file = OpenOptions::new().write(true).open(path).expect("a segment");
        file.set_len(300_000).expect("cut");
    }
    assert!(consumed(&broker) == first);
}
