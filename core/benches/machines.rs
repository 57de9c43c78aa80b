//! `cargo bench -p verdict-core`: time and allocations of what the core does most. For how a broker
//! feels there is `verdict bench`; this tells where its time went.

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;

use bytes::BytesMut;
use divan::Bencher;
use support::{Driver, END_TXN, FETCH, PRODUCE, Writer, end_txn, fetch, produce};
use verdict_core::wire::{Limits, Response, client, decode_request, encode_response_parts};

#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

/// A node with a topic of so many partitions, and a producer of it.
fn started(partitions: i32) -> (Driver, Writer) {
    let mut driver = Driver::start();
    driver.create_topic("t", partitions);
    let (producer_id, producer_epoch) = driver.init(None);
    (driver, Writer { producer_id, producer_epoch, base_sequence: 0 })
}

#[divan::bench(args = [1, 10])]
fn produce_decision(bencher: Bencher<'_, '_>, partitions: i32) {
    let (mut driver, mut writer) = started(partitions);
    bencher.bench_local(|| {
        let id = driver.send(1, PRODUCE, produce("t", 0..partitions, writer, None));
        writer.base_sequence = writer.base_sequence.wrapping_add(1) & i32::MAX;
        black_box(driver.take(id))
    });
}

#[divan::bench(args = [10, 1_000, 10_000])]
fn produce_decision_among_partitions(bencher: Bencher<'_, '_>, partitions: i32) {
    let (mut driver, mut writer) = started(partitions);
    bencher.bench_local(|| {
        let id = driver.send(1, PRODUCE, produce("t", 0..1, writer, None));
        writer.base_sequence = writer.base_sequence.wrapping_add(1) & i32::MAX;
        black_box(driver.take(id))
    });
}

#[divan::bench]
fn dedup_hit(bencher: Bencher<'_, '_>) {
    let (mut driver, writer) = started(1);
    bencher.bench_local(|| {
        let id = driver.send(1, PRODUCE, produce("t", 0..1, writer, None));
        black_box(driver.take(id))
    });
}

#[divan::bench(args = [1, 20])]
fn commit(bencher: Bencher<'_, '_>, partitions: i32) {
    let (mut driver, _) = started(partitions);
    let (mut producer_id, mut producer_epoch) = driver.init(Some("tx"));
    bencher.bench_local(|| {
        let writer = Writer { producer_id, producer_epoch, base_sequence: 0 };
        driver.send(1, PRODUCE, produce("t", 0..partitions, writer, Some("tx")));
        let id = driver.send(1, END_TXN, end_txn("tx", writer));
        let Some(Response::EndTxn(ended)) = driver.take(id) else { panic!("an EndTxn") };
        (producer_id, producer_epoch) = (ended.producer_id, ended.producer_epoch);
    });
}

#[divan::bench(args = [1, 100])]
fn fetch_planning(bencher: Bencher<'_, '_>, partitions: i32) {
    let (mut driver, mut writer) = started(partitions);
    for sequence in 0..20 {
        writer.base_sequence = sequence;
        driver.send(1, PRODUCE, produce("t", 0..partitions, writer, None));
    }
    bencher.bench_local(|| {
        let id = driver.send(1, FETCH, fetch("t", 0..partitions, 0, 0));
        black_box(driver.take(id))
    });
}

#[divan::bench(args = [10, 1_000], sample_count = 10, sample_size = 1)]
fn recovery_after_a_crash(bencher: Bencher<'_, '_>, partitions: i32) {
    let (mut driver, mut writer) = started(partitions);
    for sequence in 0..10 {
        writer.base_sequence = sequence;
        driver.send(1, PRODUCE, produce("t", 0..partitions, writer, None));
    }
    bencher.bench_local(|| black_box(driver.crashed()));
}

#[divan::bench]
fn decode_a_produce(bencher: Bencher<'_, '_>) {
    let writer = Writer { producer_id: 1, producer_epoch: 0, base_sequence: 0 };
    let request = produce("t", 0..1, writer, None);
    let frame = client::encode_request(&request, PRODUCE, 1, Some("c")).expect("encodable");
    let limits = Limits::default();
    bencher.bench(|| decode_request(frame.slice(4..), &limits));
}

#[divan::bench]
fn encode_a_fetch(bencher: Bencher<'_, '_>) {
    let (mut driver, writer) = started(1);
    driver.send(1, PRODUCE, produce("t", 0..1, writer, None));
    let id = driver.send(1, FETCH, fetch("t", 0..1, 0, 0));
    let response = driver.take(id).expect("an answer");
    bencher.bench_local(|| {
        encode_response_parts(FETCH, 1, &response, &mut BytesMut::with_capacity(512))
    });
}
