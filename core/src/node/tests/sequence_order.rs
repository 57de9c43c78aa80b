//! Reports P03, P22: which sequence a partition takes from a producer it does not know.

use super::verbs::{CLASSIC, OLD, TV2};
use crate::node::testing::Bench;

#[test]
fn a_new_log_takes_only_the_first_sequence_from_an_unknown_producer() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.idempotent();
    assert_eq!(bench.write("t-0", p, 17, 5), Err(45), "it overtook the first batch");
    assert_eq!(bench.write("t-0", p, 0, 17), Ok(0));
    assert_eq!(bench.write("t-0", p, 17, 5), Ok(17));
    assert_eq!(bench.ends("t-0"), (22, 22));
}

#[test]
fn batches_that_arrive_in_any_order_end_up_in_the_order_of_their_sequences() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.idempotent();
        let mut left = order.to_vec();
        while !left.is_empty() {
            left.retain(|&i| match bench.write("t-0", p, i * 4, 4) {
                Ok(at) => {
                    assert_eq!(at, i64::from(i) * 4, "{order:?}");
                    false
                }
                Err(code) => {
                    assert_eq!(code, 45);
                    true
                }
            });
        }
        assert_eq!(bench.ends("t-0"), (12, 12));
    }
}

#[test]
fn a_log_that_held_records_takes_any_first_sequence_outside_tv2() {
    let mut bench = Bench::open();
    bench.topic("u", 1);
    assert_eq!(bench.plain("u-0", 1), 0);
    let q = bench.idempotent();
    assert_eq!(bench.write("u-0", q, 17, 5), Ok(1));
    assert_eq!(bench.delete_records("u-0", -1), Ok(6));
    let r = bench.idempotent();
    assert_eq!(bench.write("u-0", r, 9, 1), Ok(6), "also when all of them were deleted");
    let mut bench = bench.crash();
    let s = bench.idempotent();
    assert_eq!(bench.write("u-0", s, 3, 1), Ok(7), "and after a crash");
    for (flavour, id) in [(OLD, "old"), (CLASSIC, "classic")] {
        let who = bench.init_until(id);
        assert!(bench.write_as(flavour, id, "u-0", who, 5, 1).is_ok(), "{flavour:?}");
    }
}

#[test]
fn a_tv2_transaction_begins_at_zero_on_every_log() {
    let mut bench = Bench::open();
    bench.topic("t", 2);
    bench.plain("t-1", 3);
    let p = bench.init("a").unwrap();
    for to in ["t-0", "t-1"] {
        assert_eq!(bench.write_as(TV2, "a", to, p, 5, 1), Err(45));
        assert_eq!(bench.open_on(to), [0_i64; 0]);
        assert!(bench.write_as(TV2, "a", to, p, 0, 1).is_ok());
        assert_eq!(bench.write_as(TV2, "a", to, p, 2, 1), Err(45));
        assert!(bench.write_as(TV2, "a", to, p, 1, 1).is_ok());
    }
}

#[test]
fn a_new_epoch_begins_at_zero_again() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.idempotent();
    assert_eq!(bench.write("t-0", p, 0, 2), Ok(0));
    let p1 = p.next_epoch();
    for sequence in [2, 1, 7] {
        assert_eq!(bench.write("t-0", p1, sequence, 1), Err(45));
    }
    assert_eq!(bench.write("t-0", p1, 0, 1), Ok(2));
    assert_eq!(bench.write("t-0", p, 2, 1), Err(47), "the old epoch is over");
    assert_eq!(bench.write("t-0", p1, 1, 1), Ok(3));
}
