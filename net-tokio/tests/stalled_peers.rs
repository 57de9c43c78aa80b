//! Peers that stall with what others wait for: they are cut, and nobody else notices for long.
#![cfg(not(madsim))]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::FetchRequestData;
use kacrab_protocol::generated::fetch_request::{FetchPartition, FetchTopic};
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord};
use verdict_core::wire::{ApiVersionsRequest, Request, client};
use verdict_net_tokio::test_broker::TestBroker;

/// Less than the 30 s that a peer has for an answer or a frame when nobody waits.
const PATIENCE: Duration = Duration::from_secs(20);

fn connect(broker: &TestBroker) -> TcpStream {
    let stream = TcpStream::connect(broker.bootstrap()).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// The bytes of the next answer.
fn answer(stream: &mut TcpStream) -> usize {
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("a length in time");
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut frame).expect("a frame in time");
    frame.len()
}

#[test]
fn senders_that_stall_with_the_whole_budget_are_cut_when_others_wait() {
    let broker = TestBroker::start_with(&[("verdict.inflight.bytes", "1000000")]);
    let mut stalled: Vec<TcpStream> = (0..6).map(|_| connect(&broker)).collect();
    for stream in &mut stalled {
        stream.write_all(&50_000_000_u32.to_be_bytes()).expect("written");
        stream.write_all(&vec![0; 400_000]).expect("written");
    }
    let request = Request::ApiVersions(ApiVersionsRequest::default());
    let request = client::encode_request(&request, 2, 1, Some("other")).expect("encodable");
    let mut other = connect(&broker);
    for _ in 0..10 {
        other.write_all(&request).expect("written");
        answer(&mut other);
    }
}

/// A Fetch of partition 0 for up to so many bytes.
fn fetch(max_bytes: i32) -> bytes::Bytes {
    let partition = FetchPartition::default()
        .with_partition(0)
        .with_current_leader_epoch(-1)
        .with_fetch_offset(0)
        .with_partition_max_bytes(max_bytes);
    let topic = FetchTopic::default()
        .with_topic(KafkaString::from("large".to_owned()))
        .with_partitions(vec![partition]);
    let fetch = FetchRequestData::default()
        .with_replica_id(-1)
        .with_max_wait_ms(100)
        .with_min_bytes(1)
        .with_max_bytes(max_bytes)
        .with_topics(vec![topic]);
    client::encode_request(&Request::Fetch(fetch), 12, 1, Some("reader")).expect("encodable")
}

#[tokio::test]
async fn consumers_that_do_not_take_their_answers_are_cut_when_others_wait() {
    let broker = TestBroker::start_with(&[("verdict.inflight.bytes", "30000000")]);
    let mut config = ClientConfig::new();
    let producer: FutureProducer =
        config.set("bootstrap.servers", broker.bootstrap()).create().expect("a producer");
    for _ in 0..32 {
        let payload = vec![7; 900_000];
        let record = FutureRecord::<(), [u8]>::to("large").payload(&payload).partition(0);
        producer.send(record, PATIENCE).await.expect("written");
    }
    // More than sockets take in by themselves.
    let mut stalled: Vec<TcpStream> = (0..4).map(|_| connect(&broker)).collect();
    for stream in &mut stalled {
        stream.write_all(&fetch(25_000_000)).expect("written");
    }
    let taken = tokio::task::spawn_blocking(move || {
        let mut other = connect(&broker);
        other.write_all(&fetch(5_000_000)).expect("written");
        answer(&mut other)
    });
    assert!(taken.await.expect("no panic") > 4_000_000);
}
