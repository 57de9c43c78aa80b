//! How many allocations a request costs inside the node: the same on every machine and in every
//! run, unlike time. A bound that fails has found a request that became dearer; one that can be
//! lowered should be.

mod support;

use support::{Driver, END_TXN, FETCH, PRODUCE, Writer, assert_produced, end_txn, fetch, produce};
use verdict_core::wire::{Request, Response};

/// Requests before what is counted, so that buffers and maps have their sizes.
const WARM_UP: i32 = 200;
/// Requests that are counted.
const COUNTED: i32 = 1_000;

/// Allocations of the node for each of the requests that `next` makes.
fn each(driver: &mut Driver, mut next: impl FnMut(&mut Driver, i32)) -> f64 {
    (0..WARM_UP).for_each(|i| next(driver, i));
    driver.meter = Some(|work| allocation_counter::measure(work).count_total);
    driver.counted = 0;
    (WARM_UP..WARM_UP + COUNTED).for_each(|i| next(driver, i));
    driver.meter = None;
    driver.counted as f64 / f64::from(COUNTED)
}

fn ask(driver: &mut Driver, version: i16, request: Request) -> Response {
    let id = driver.send(1, version, request);
    driver.take(id).expect("an answer at once")
}

#[track_caller]
fn assert_at_most(what: &str, found: f64, bound: f64) {
    println!("{what}: {found:.2} allocations, bound {bound}");
    assert!(found <= bound, "{what}: {found:.2} allocations, the bound is {bound}");
}

fn produces(driver: &mut Driver, partitions: i32) -> f64 {
    driver.create_topic("t", partitions);
    let (producer_id, producer_epoch) = driver.init(None);
    each(driver, |driver, base_sequence| {
        let writer = Writer { producer_id, producer_epoch, base_sequence };
        let request = produce("t", 0..partitions, writer, None);
        assert_produced(&ask(driver, PRODUCE, request));
    })
}

#[test]
fn a_produce_of_one_batch() {
    assert_at_most("produce", produces(&mut Driver::start(), 1), 17.0);
}

#[test]
fn each_further_partition_of_a_produce() {
    let one = produces(&mut Driver::start(), 1);
    let eleven = produces(&mut Driver::start(), 11);
    assert_at_most("produce, each further partition", (eleven - one) / 10.0, 3.5);
}

#[test]
fn a_produce_that_is_a_duplicate() {
    let mut driver = Driver::start();
    driver.create_topic("t", 1);
    let (producer_id, producer_epoch) = driver.init(None);
    let found = each(&mut driver, |driver, _| {
        let writer = Writer { producer_id, producer_epoch, base_sequence: 0 };
        assert_produced(&ask(driver, PRODUCE, produce("t", 0..1, writer, None)));
    });
    assert_at_most("duplicate", found, 7.5);
}

#[test]
fn a_transaction_of_one_partition() {
    let mut driver = Driver::start();
    driver.create_topic("t", 1);
    let (mut producer_id, mut producer_epoch) = driver.init(Some("tx"));
    let found = each(&mut driver, |driver, _| {
        let writer = Writer { producer_id, producer_epoch, base_sequence: 0 };
        assert_produced(&ask(driver, PRODUCE, produce("t", 0..1, writer, Some("tx"))));
        let Response::EndTxn(ended) = ask(driver, END_TXN, end_txn("tx", writer)) else {
            panic!("an EndTxn")
        };
        assert_eq!(ended.error_code, 0);
        (producer_id, producer_epoch) = (ended.producer_id, ended.producer_epoch);
    });
    assert_at_most("transaction", found, 140.0);
}

#[test]
fn a_fetch_of_one_partition() {
    let mut driver = Driver::start();
    produces(&mut driver, 1);
    let found = each(&mut driver, |driver, i| {
        let request = fetch("t", 0..1, i64::from(i), 0);
        let Response::Fetch(fetched) = ask(driver, FETCH, request) else { panic!("a Fetch") };
        assert!(!fetched.records[0][0].is_empty());
    });
    assert_at_most("fetch", found, 17.0);
}

/// A consumer waits for many partitions; a record comes to one of them that it cannot have yet.
/// What that costs does not depend on how many partitions the consumer waits for.
#[test]
fn a_produce_past_a_consumer_that_waits_for_many_committed_partitions() {
    let cost = |partitions: i32| {
        let mut driver = Driver::start();
        driver.create_topic("t", partitions);
        let (producer_id, producer_epoch) = driver.init(Some("open"));
        let open = Writer { producer_id, producer_epoch, base_sequence: 0 };
        // The transaction stays open: whatever is produced, the consumer goes on waiting.
        assert_produced(&ask(
            &mut driver,
            PRODUCE,
            produce("t", 0..partitions, open, Some("open")),
        ));
        let waiting = driver.send(2, FETCH, fetch("t", 0..partitions, 0, 1_000_000));
        let (producer_id, producer_epoch) = driver.init(None);
        let found = each(&mut driver, |driver, base_sequence| {
            let writer = Writer { producer_id, producer_epoch, base_sequence };
            assert_produced(&ask(driver, PRODUCE, produce("t", 0..1, writer, None)));
        });
        assert!(driver.take(waiting).is_none(), "it still waits");
        found
    };
    let (few, many) = (cost(1), cost(500));
    println!("waiting for 1: {few:.2}, for 500: {many:.2}");
    assert_at_most("waking a waiting fetch, beyond one partition", many - few, 0.5);
}
