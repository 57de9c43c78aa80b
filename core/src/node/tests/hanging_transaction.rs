//! Report P06 (KAFKA-12671, KAFKA-14402): nothing is left open that nobody will end.

use super::looks::COMMITTED;
use super::verbs::{
    ABORT, CLASSIC, COMMIT, Flavour, OLD, TV2, batch, end, ended, produce, produced,
};
use crate::node::testing::Bench;
use crate::types::Decision;

const V10: Flavour = Flavour { produce: 10, ..CLASSIC };

/// How a Produce of this version says that the partition is not in a transaction.
const fn not_in_transaction(version: i16) -> i16 {
    if version >= 11 { 120 } else { 48 }
}

fn nothing_hangs(bench: &mut Bench, to: &str) {
    assert_eq!(bench.open_on(to), [0_i64; 0]);
    bench.pass_ms(200_000);
    let (lso, high_watermark) = bench.ends(to);
    assert_eq!(lso, high_watermark);
}

#[test]
fn a_classic_write_that_arrives_after_the_end_is_refused() {
    for flavour in [OLD, V10, CLASSIC] {
        for decision in [ABORT, COMMIT] {
            let mut bench = Bench::open();
            bench.topic("t", 1);
            let p = bench.init("a").unwrap();
            assert_eq!(bench.add(flavour.add, "a", p, &["t-0"]), [0]);
            assert!(bench.end(flavour.end, "a", p, decision).is_ok());
            assert_eq!(bench.ends("t-0"), (1, 1), "the marker");
            let late = bench.write_in(flavour.produce, "a", "t-0", p, 0, 3);
            assert_eq!(late, Err(not_in_transaction(flavour.produce)), "{flavour:?}");
            nothing_hangs(&mut bench, "t-0");
            assert_eq!(bench.ends("t-0"), (1, 1));
            assert_eq!(bench.write_as(flavour, "a", "t-0", p, 0, 3), Ok(1));
            assert!(bench.end(flavour.end, "a", p, COMMIT).is_ok());
            assert_eq!(bench.visible("t-0"), [1, 2, 3]);
        }
    }
}

#[test]
fn a_tv2_write_that_arrives_after_the_end_is_of_an_old_epoch() {
    for written in [false, true] {
        let mut bench = Bench::open();
        bench.topic("t", 2);
        let p = bench.init("a").unwrap();
        if written {
            assert_eq!(bench.write_in(12, "a", "t-0", p, 0, 2), Ok(0));
        }
        let p1 = bench.end(5, "a", p, ABORT).unwrap();
        assert_eq!(p1, p.next_epoch());
        let before = if written { (3, 3) } else { (0, 0) };
        assert_eq!(bench.ends("t-0"), before, "an empty abort writes no marker");
        for (to, sequence) in [("t-0", 0), ("t-0", 2), ("t-1", 0), ("t-0", 5)] {
            assert_eq!(bench.write_in(12, "a", to, p, sequence, 3), Err(47), "{to} {sequence}");
        }
        nothing_hangs(&mut bench, "t-0");
        nothing_hangs(&mut bench, "t-1");
        assert_eq!(bench.ends("t-0"), before);
        assert_eq!(bench.ends("t-1"), (0, 0));
        let at = bench.write_in(12, "a", "t-0", p1, 0, 3).unwrap();
        assert!(bench.end(5, "a", p1, COMMIT).is_ok());
        assert_eq!(bench.visible("t-0"), [at, at + 1, at + 2]);
    }
}

#[test]
fn a_write_to_a_partition_that_was_not_added_is_refused() {
    for flavour in [OLD, V10, CLASSIC] {
        let mut bench = Bench::open();
        bench.topic("t", 2);
        let p = bench.init("a").unwrap();
        let refused = Err(not_in_transaction(flavour.produce));
        assert_eq!(bench.write_in(flavour.produce, "a", "t-0", p, 0, 1), refused, "none at all");
        assert_eq!(bench.add(flavour.add, "a", p, &["t-0"]), [0]);
        assert_eq!(bench.write_in(flavour.produce, "a", "t-1", p, 0, 1), refused, "another one");
        assert_eq!(bench.write_in(flavour.produce, "a", "t-0", p, 0, 1), Ok(0));
        nothing_hangs(&mut bench, "t-1");
    }
}

#[test]
fn a_refused_write_may_be_sent_again_once_the_partition_was_added() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    for _ in 0..3 {
        assert_eq!(bench.write_in(11, "a", "t-0", p, 0, 2), Err(120));
    }
    assert_eq!(bench.write_as(CLASSIC, "a", "t-0", p, 0, 2), Ok(0));
    assert!(bench.end(4, "a", p, COMMIT).is_ok());
    assert_eq!(bench.visible("t-0"), [0, 1]);
}

#[test]
fn a_write_in_flight_with_its_end_is_in_the_transaction_or_is_refused() {
    let decisions: [Decision; 2] = [COMMIT, ABORT];
    for flavour in [CLASSIC, TV2] {
        for decision in decisions {
            for end_first in [false, true] {
                let mut bench = Bench::open();
                bench.topic("t", 2);
                let p = bench.init("a").unwrap();
                bench.write_as(flavour, "a", "t-0", p, 0, 1).unwrap();
                if !flavour.is_tv2() {
                    bench.add(3, "a", p, &["t-1"]);
                }
                let write = produce(flavour.produce, Some("a"), "t-1", batch(p, 0, 2, true));
                let mut requests =
                    alloc::vec![(flavour.produce, write), (flavour.end, end("a", p, decision))];
                if end_first {
                    requests.reverse();
                }
                let mut ids = bench.send_at_once(requests);
                if end_first {
                    ids.reverse();
                }
                let written = produced(bench.await_answer(ids[0]));
                let ended = ended(bench.await_answer(ids[1]));
                let what = (flavour, decision, end_first, written, ended);
                bench.pass_ms(200_000);
                for to in ["t-0", "t-1"] {
                    let (lso, high_watermark) = bench.ends(to);
                    assert_eq!(lso, high_watermark, "{what:?}");
                }
                if written.is_err() {
                    assert_eq!(bench.fetch(COMMITTED, "t-1", 0).records, [0_i64; 0], "{what:?}");
                }
                let committed = ended.is_ok() && decision == COMMIT;
                assert_eq!(!bench.visible("t-0").is_empty(), committed, "{what:?}");
                let both = committed && written.is_ok();
                assert_eq!(!bench.visible("t-1").is_empty(), both, "{what:?}");
            }
        }
    }
}

#[test]
fn a_transactional_batch_without_its_id_and_a_plain_one_with_it_are_refused_or_stay_out() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    let request = produce(12, None, "t-0", batch(p, 0, 1, true));
    let id = bench.send(12, request);
    let answer = produced(bench.await_answer(id));
    assert!(answer.is_err(), "{answer:?}");
    nothing_hangs(&mut bench, "t-0");
    assert_eq!(bench.ends("t-0"), (0, 0));
}

#[test]
fn without_verification_a_late_classic_write_is_ended_by_an_operator() {
    let mut bench = Bench::open_with(|config| {
        config.transaction_partition_verification_enable = false;
    });
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    bench.add(3, "a", p, &["t-0"]);
    bench.end(4, "a", p, ABORT).unwrap();
    assert_eq!(bench.write_in(11, "a", "t-0", p, 0, 1), Ok(1), "it hangs");
    assert_eq!(bench.ends("t-0"), (1, 2));
    let epoch = bench.producers("t-0")[0].coordinator_epoch;
    assert_eq!(bench.marker(1, p, ABORT, epoch, "t-0"), 0);
    assert_eq!(bench.ends("t-0"), (3, 3));
    assert_eq!(bench.visible("t-0"), [0_i64; 0]);
}
