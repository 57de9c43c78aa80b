//! `cargo bench --profile sim -p verdict-core --bench instructions`: how many instructions requests cost inside the
//! node, counted by Valgrind. Unlike time they hardly differ from run to run and machine to machine,
//! so each has a bound: one that fails has found a request that became dearer, one that can be
//! lowered should be. Bounds are a tenth above what was counted, for other compilers. The profile is
//! the simulator's, with every assertion armed: a server's requests cost less, but go the same way.
//!
//! It wants valgrind and `cargo install gungraun-runner`, of the version in Cargo.lock.

// What the macros make has no documentation.
#![allow(missing_docs, unused_qualifications, reason = "in what the macros of gungraun make")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};
use support::{Driver, END_TXN, FETCH, PRODUCE, Writer, assert_produced, end_txn, fetch, produce};
use verdict_core::wire::Response;

/// Requests before what is counted, so that buffers and maps have their sizes.
const WARM_UP: i32 = 200;
/// Requests that are counted: enough that what is done once in a while has its share.
const COUNTED: i32 = 100;

/// A node, and the producer that writes to its partitions.
struct Started {
    driver: Driver,
    writer: Writer,
    partitions: i32,
}

impl Started {
    /// With so many partitions in the topic, of which a request writes to the first `written`.
    fn new(partitions: i32, written: i32, transactional: Option<&str>) -> Self {
        let mut driver = Driver::start();
        driver.create_topic("t", partitions);
        let (producer_id, producer_epoch) = driver.init(transactional);
        let writer = Writer { producer_id, producer_epoch, base_sequence: 0 };
        Self { driver, writer, partitions: written }
    }

    fn produce(&mut self) {
        let request = produce("t", 0..self.partitions, self.writer, None);
        let id = self.driver.send(1, PRODUCE, request);
        assert_produced(&self.driver.take(id).expect("an answer at once"));
        self.writer.base_sequence += 1;
    }

    fn repeat(&mut self) {
        self.produce();
        self.writer.base_sequence -= 1;
    }

    fn transact(&mut self) {
        self.writer.base_sequence = 0;
        let request = produce("t", 0..self.partitions, self.writer, Some("tx"));
        self.driver.send(1, PRODUCE, request);
        let id = self.driver.send(1, END_TXN, end_txn("tx", self.writer));
        let Some(Response::EndTxn(ended)) = self.driver.take(id) else { panic!("an EndTxn") };
        self.writer.producer_id = ended.producer_id;
        self.writer.producer_epoch = ended.producer_epoch;
    }

    fn fetch(&mut self) {
        let id = self.driver.send(1, FETCH, fetch("t", 0..self.partitions, 0, 0));
        black_box(self.driver.take(id));
    }
}

fn warm(mut node: Started, request: fn(&mut Started)) -> Started {
    (0..WARM_UP).for_each(|_| request(&mut node));
    node
}

fn produces(partitions: i32, written: i32) -> Started {
    warm(Started::new(partitions, written, None), Started::produce)
}

fn repeats() -> Started {
    warm(Started::new(1, 1, None), Started::repeat)
}

fn transacts(written: i32) -> Started {
    warm(Started::new(written, written, Some("tx")), Started::transact)
}

fn fetches(written: i32) -> Started {
    let mut node = Started::new(written, written, None);
    (0..20).for_each(|_| node.produce());
    warm(node, Started::fetch)
}

fn counted(mut node: Started, request: fn(&mut Started)) -> Started {
    (0..COUNTED).for_each(|_| request(&mut node));
    node
}

/// At most so many instructions for each request.
fn at_most(each: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    let all = each * u64::from(COUNTED.unsigned_abs());
    config.tool(Callgrind::default().hard_limits([(EventKind::Ir, all)]));
    config
}

#[library_benchmark]
#[bench::one(args = (1, 1), setup = produces, config = at_most(26_500))]
#[bench::eleven(args = (11, 11), setup = produces, config = at_most(129_000))]
#[bench::one_of_ten_thousand(args = (10_000, 1), setup = produces, config = at_most(28_000))]
fn produce_to(node: Started) -> Started {
    counted(node, Started::produce)
}

#[library_benchmark]
#[bench::duplicate(setup = repeats, config = at_most(16_000))]
fn produce_again(node: Started) -> Started {
    counted(node, Started::repeat)
}

#[library_benchmark]
#[bench::one(args = (1), setup = transacts, config = at_most(120_000))]
#[bench::twenty(args = (20), setup = transacts, config = at_most(680_000))]
fn transaction_over(node: Started) -> Started {
    counted(node, Started::transact)
}

#[library_benchmark]
#[bench::one(args = (1), setup = fetches, config = at_most(17_500))]
#[bench::hundred(args = (100), setup = fetches, config = at_most(1_115_000))]
fn fetch_of(node: Started) -> Started {
    counted(node, Started::fetch)
}

library_benchmark_group!(
    name = requests;
    benchmarks = produce_to, produce_again, transaction_over, fetch_of
);

main!(library_benchmark_groups = requests);
