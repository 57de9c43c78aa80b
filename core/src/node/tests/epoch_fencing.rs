//! Reports P05, P25, P26, P33: epochs, and who is fenced by them.

use std::sync::LazyLock;

use super::looks::COMMITTED;
use super::verbs::{
    ABORT, CLASSIC, COMMIT, Flavour, LONG_MS, OLD, TV2, Who, end, ended, init, inited,
};

use crate::io::FileError;
use crate::node::testing::{Bench, Failing};

fn with_sweep_of_200_ms() -> Bench {
    Bench::open_with(|config| {
        config.transaction_abort_timed_out_transaction_cleanup_interval_ms = 200;
    })
}

/// How a version of a request says that a newer instance took over.
const fn fenced(since: i16, version: i16) -> i16 {
    if version < since { 47 } else { 90 }
}

#[test]
fn a_timed_out_transaction_fences_its_producer() {
    for flavour in [CLASSIC, OLD] {
        let mut bench = with_sweep_of_200_ms();
        bench.topic("t", 1);
        let p = bench.init_for("a", 1_000).unwrap();
        assert_eq!(bench.write_as(flavour, "a", "t-0", p, 0, 3), Ok(0));
        bench.pass_ms(1_500);
        let seen = bench.fetch(COMMITTED, "t-0", 0);
        assert_eq!(seen.markers[0].offset, 3);
        assert_eq!(seen.markers[0].who, p.next_epoch());
        assert_eq!(seen.markers[0].decision, ABORT);
        assert_eq!(bench.write_in(flavour.produce, "a", "t-0", p, 3, 1), Err(47));
        assert_eq!(bench.add(flavour.add, "a", p, &["t-0"]), [fenced(2, flavour.add)]);
        assert_eq!(bench.end(flavour.end, "a", p, COMMIT), Err(fenced(2, flavour.end)));
        assert_eq!(bench.describe("a"), Ok(("CompleteAbort".into(), p.next_epoch(), [].into())));
        assert_eq!(bench.init("a"), Ok(p.epoch(2)));
        assert_eq!(bench.visible("t-0"), [0_i64; 0]);
        assert_eq!(bench.ends("t-0"), (4, 4));
    }
}

#[test]
fn a_transaction_within_its_timeout_is_left_alone_and_one_that_began_earlier_is_not() {
    let mut bench = with_sweep_of_200_ms();
    bench.topic("t", 1);
    let short = bench.init_for("short", 1_000).unwrap();
    let long = bench.init_for("long", 5_000).unwrap();
    assert_eq!(bench.write_as(TV2, "long", "t-0", long, 0, 1), Ok(0));
    assert_eq!(bench.write_as(TV2, "short", "t-0", short, 0, 1), Ok(1));
    bench.pass_ms(900);
    assert_eq!(bench.state("short"), "Ongoing");
    bench.pass_ms(400);
    assert_eq!(bench.state("short"), "CompleteAbort");
    assert_eq!(bench.state("long"), "Ongoing");
    bench.pass_ms(4_000);
    assert_eq!(bench.state("long"), "CompleteAbort");
    assert_eq!(bench.ends("t-0"), (4, 4));
}

#[test]
fn a_transaction_times_out_across_a_crash_too() {
    for flavour in [CLASSIC, TV2] {
        let mut bench = with_sweep_of_200_ms();
        bench.topic("t", 2);
        let p = bench.init_for("a", 1_000).unwrap();
        bench.write_as(flavour, "a", "t-0", p, 0, 1).unwrap();
        bench.write_as(flavour, "a", "t-1", p, 0, 1).unwrap();
        bench.pass_ms(700);
        let mut bench = bench.crash();
        bench.pass_ms(1_000);
        assert_eq!(bench.state("a"), "CompleteAbort", "{flavour:?}");
        for to in ["t-0", "t-1"] {
            assert_eq!(bench.ends(to), (2, 2));
            assert_eq!(bench.visible(to), [0_i64; 0]);
        }
    }
}

#[test]
fn in_flight_when_the_broker_gave_up_on_it() {
    let mut bench = with_sweep_of_200_ms();
    bench.topic("t", 2);
    let p = bench.init_for("a", 1_000).unwrap();
    assert_eq!(bench.write_as(TV2, "a", "t-0", p, 0, 3), Ok(0));
    bench.pass_ms(1_500);
    let p1 = p.next_epoch();
    for _ in 0..2 {
        assert_eq!(bench.end(5, "a", p, COMMIT), Err(90));
        assert_eq!(bench.write_in(12, "a", "t-0", p, 3, 3), Err(47));
        assert_eq!(bench.write_in(12, "a", "t-1", p, 0, 3), Err(47), "never in the transaction");
        assert_eq!(bench.end(5, "a", p, ABORT), Ok(p1));
    }
    let seen = bench.fetch(COMMITTED, "t-0", 0);
    assert_eq!((seen.marker_offsets(), seen.markers[0].who), ([3].into(), p1));
    assert_eq!(bench.write_as(TV2, "a", "t-0", p1, 0, 1), Ok(4));
    assert_eq!(bench.end(5, "a", p1, COMMIT), Ok(p.epoch(2)));
    assert_eq!(bench.visible("t-0"), [4]);
    assert_eq!(bench.ends("t-1"), (0, 0));
}

#[test]
fn a_new_instance_ends_the_old_ones_transaction_and_fences_it() {
    for flavour in [OLD, CLASSIC, TV2] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        assert_eq!(bench.write_as(flavour, "a", "t-0", p, 0, 2), Ok(0));
        assert_eq!(bench.init("a"), Err(51));
        let q = bench.init_until("a");
        assert_eq!(q, p.epoch(2), "{flavour:?}");
        assert_eq!(bench.write_in(flavour.produce, "a", "t-0", p, 2, 1), Err(47));
        assert_eq!(bench.end(flavour.end, "a", p, COMMIT), Err(fenced(2, flavour.end)));
        assert_eq!(bench.add_offsets(1, "a", p, "g"), 47);
        assert_eq!(bench.add_offsets(3, "a", p, "g"), 90);
        assert_eq!(bench.init_as(3, "a", p), Err(47));
        assert_eq!(bench.init_as(5, "a", p), Err(90));
        assert_eq!(bench.visible("t-0"), [0_i64; 0]);
        assert_eq!(bench.write_as(flavour, "a", "t-0", q, 0, 1), Ok(3));
        assert!(bench.end(flavour.end, "a", q, COMMIT).is_ok());
        assert_eq!(bench.visible("t-0"), [3]);
    }
}

#[test]
fn an_unknown_producer_id_is_another_fault_than_an_old_epoch() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    let other = Who(p.0 + 1_000, 0);
    assert_eq!(bench.add(3, "a", other, &["t-0"]), [49]);
    assert_eq!(bench.end(5, "a", other, COMMIT), Err(49));
    assert_eq!(bench.add_offsets(3, "b", p, "g"), 49, "an unknown id");
    assert_eq!(bench.end(4, "b", p, ABORT), Err(49));
    assert_eq!(bench.end(5, "a", p.epoch(7), ABORT), Err(90), "an epoch that is to come");
}

/// A node with a producer at epoch 32766 and an empty topic; made once, for it takes long.
fn at_the_last_epoch(flavour: Flavour) -> (Bench, Who) {
    static TV2_MADE: LazyLock<(Bench, Who)> = LazyLock::new(|| count_up(TV2));
    static CLASSIC_MADE: LazyLock<(Bench, Who)> = LazyLock::new(|| count_up(CLASSIC));
    if flavour.is_tv2() { TV2_MADE.clone() } else { CLASSIC_MADE.clone() }
}

fn count_up(flavour: Flavour) -> (Bench, Who) {
    let mut bench = with_sweep_of_200_ms();
    bench.topic("t", 1);
    let mut who = bench.init("a").unwrap();
    while who.1 < 32_766 {
        who = if flavour.is_tv2() {
            bench.end(5, "a", who, ABORT).unwrap()
        } else {
            bench.init("a").unwrap()
        };
    }
    assert_eq!(who.1, 32_766);
    (bench, who)
}

#[test]
fn the_last_epoch_is_ended_and_another_id_takes_over() {
    for (decision, other) in [(COMMIT, ABORT), (ABORT, COMMIT)] {
        let (mut bench, p) = at_the_last_epoch(TV2);
        assert_eq!(bench.write_as(TV2, "a", "t-0", p, 0, 2), Ok(0));
        let q = bench.end(5, "a", p, decision).unwrap();
        assert_ne!(q.0, p.0);
        assert_eq!(q.1, 0);
        assert_eq!(bench.end(5, "a", p, decision), Ok(q), "a repeat");
        assert_eq!(bench.end(5, "a", p, other), Err(48));
        let seen = bench.fetch(COMMITTED, "t-0", 0);
        assert_eq!(seen.markers[0].who, p.epoch(32_767));
        assert_eq!(seen.marker_offsets(), [2]);
        assert_eq!(seen.visible.is_empty(), decision == ABORT);
        assert_eq!(bench.write_in(12, "a", "t-0", p, 2, 1), Err(47));
        assert_eq!(bench.write_in(12, "a", "t-0", p.epoch(32_767), 0, 1), Err(49));
        assert_eq!(bench.add(3, "a", p, &["t-0"]), [49]);
        let mut bench = bench.crash();
        assert_eq!(bench.end_until(5, "a", p, decision), Ok(q), "a repeat after a crash");
        assert_eq!(bench.write_as(TV2, "a", "t-0", q, 0, 1), Ok(3));
        assert_eq!(bench.end(5, "a", q, COMMIT), Ok(q.next_epoch()));
    }
}

#[test]
fn a_new_instance_at_the_last_epoch_gets_another_id() {
    for flavour in [TV2, CLASSIC] {
        let (mut bench, p) = at_the_last_epoch(flavour);
        bench.write_as(flavour, "a", "t-0", p, 0, 2).unwrap();
        assert_eq!(bench.init("a"), Err(51));
        let q = bench.init_until("a");
        assert_ne!(q.0, p.0);
        assert_eq!(q.1, 1, "{flavour:?}");
        assert_eq!(bench.fetch(COMMITTED, "t-0", 0).markers[0].who, p.epoch(32_767));
        assert_eq!(bench.end(flavour.end, "a", p, COMMIT), Err(49));
        assert_eq!(bench.ends("t-0"), (3, 3));
        assert_eq!(bench.visible("t-0"), [0_i64; 0]);
    }
}

#[test]
fn the_timeout_at_the_last_epoch_leaves_nothing_stuck() {
    let (mut bench, p) = at_the_last_epoch(TV2);
    bench.write_as(TV2, "a", "t-0", p, 0, 2).unwrap();
    bench.pass_ms(61_000);
    assert_eq!(bench.fetch(COMMITTED, "t-0", 0).markers[0].who, p.epoch(32_767));
    let (state, q, _) = bench.describe("a").unwrap();
    assert_eq!((state.as_str(), q.1), ("CompleteAbort", 0));
    assert_ne!(q.0, p.0);
    for _ in 0..3 {
        assert_eq!(bench.end(5, "a", p, ABORT), Ok(q));
        assert_eq!(bench.end(5, "a", p, COMMIT), Err(48));
    }
    assert_eq!(bench.write_as(TV2, "a", "t-0", q, 0, 1), Ok(3));
}

#[test]
fn an_idle_classic_producer_at_the_last_epoch_gets_another_id() {
    let (mut bench, p) = at_the_last_epoch(CLASSIC);
    let q = bench.init("a").unwrap();
    assert_ne!(q.0, p.0);
    assert_eq!(q.1, 0);
}

#[test]
fn fencing_while_the_transaction_log_cannot_be_written_uses_up_no_epochs() {
    for attempts in [1, 3, 200] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        bench.write_as(CLASSIC, "a", "t-0", p, 0, 1).unwrap();
        bench.files.fail(Failing::Journal, FileError::NoSpace, None);
        for _ in 0..attempts {
            let code = bench.init("a").unwrap_err();
            assert!([15, 16].contains(&code), "{code}");
            let code = bench.end(4, "a", p, COMMIT).unwrap_err();
            assert!([15, 16, 51, 90].contains(&code), "{code}");
        }
        bench.files.mend();
        bench.pass_ms(2_000);
        assert_eq!(bench.init("a"), Err(51));
        assert_eq!(bench.init_until("a"), p.epoch(2), "{attempts} attempts");
        assert_eq!(bench.visible("t-0"), [0_i64; 0]);
        assert_eq!(bench.ends("t-0"), (2, 2));
    }
}

#[test]
fn after_a_crash_in_a_failing_fence_the_epoch_is_one_that_was_written() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    bench.write_as(CLASSIC, "a", "t-0", p, 0, 1).unwrap();
    bench.files.fail(Failing::Journal, FileError::NoSpace, None);
    for _ in 0..5 {
        assert!(bench.init("a").is_err());
    }
    let mut bench = bench.crash();
    assert_eq!(bench.describe("a"), Ok(("Ongoing".into(), p, ["t-0".into()].into())));
    assert!(bench.end_until(4, "a", p, COMMIT).is_ok(), "nothing that was answered fenced it");
    assert_eq!(bench.visible("t-0"), [0]);
}

#[test]
fn many_instances_at_once_get_different_epochs_or_an_error() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    bench.init("a").unwrap();
    let requests = (0..5).map(|_| (5, init(Some("a"), LONG_MS, Who::NOBODY))).collect();
    let ids = bench.send_at_once(requests);
    let mut seen = alloc::vec::Vec::new();
    for id in ids {
        match inited(bench.await_answer(id)) {
            Ok(who) => {
                assert!(!seen.contains(&who));
                seen.push(who);
            }
            Err(code) => assert_eq!(code, 51),
        }
    }
    assert!(!seen.is_empty());
    let last = bench.init("a").unwrap();
    assert!(seen.iter().all(|who| who.1 < last.1));
}

#[test]
fn an_end_and_a_new_instance_at_once_have_one_outcome() {
    for init_first in [false, true] {
        for flavour in [CLASSIC, TV2] {
            let mut bench = Bench::open();
            bench.topic("t", 1);
            let p = bench.init("a").unwrap();
            bench.write_as(flavour, "a", "t-0", p, 0, 1).unwrap();
            let mut requests = alloc::vec![
                (flavour.end, end("a", p, COMMIT)),
                (5, init(Some("a"), LONG_MS, Who::NOBODY)),
            ];
            if init_first {
                requests.reverse();
            }
            let mut ids = bench.send_at_once(requests);
            if init_first {
                ids.reverse();
            }
            let committed = ended(bench.await_answer(ids[0])).is_ok();
            let fence = inited(bench.await_answer(ids[1]));
            assert_eq!(fence, Err(51));
            assert_eq!(committed, !init_first, "{flavour:?}");
            bench.init_until("a");
            assert_eq!(bench.visible("t-0").len(), usize::from(committed));
            assert_eq!(bench.ends("t-0"), (2, 2));
        }
    }
}

#[test]
fn an_instance_that_names_itself_after_its_timeout_goes_on() {
    for flavour in [CLASSIC, TV2] {
        let mut bench = with_sweep_of_200_ms();
        bench.topic("t", 1);
        let p = bench.init_for("a", 1_000).unwrap();
        bench.write_as(flavour, "a", "t-0", p, 0, 1).unwrap();
        bench.pass_ms(1_500);
        let p1 = bench.init_as(5, "a", p).unwrap();
        assert_eq!(p1, p.next_epoch(), "{flavour:?}");
        assert_eq!(bench.write_as(flavour, "a", "t-0", p1, 0, 1), Ok(2));
        bench.end(flavour.end, "a", p1, COMMIT).unwrap();
        assert_eq!(bench.visible("t-0"), [2]);
    }
}

#[test]
fn a_clock_that_jumps_ends_transactions_early_at_most() {
    for jump_ms in [-3_600_000, 3_600_000] {
        let mut bench = with_sweep_of_200_ms();
        bench.topic("t", 1);
        let p = bench.init_for("a", 1_000).unwrap();
        bench.write_as(TV2, "a", "t-0", p, 0, 1).unwrap();
        bench.now.wall_ms += jump_ms;
        bench.pass_ms(500);
        let state = bench.state("a");
        assert_eq!(state == "Ongoing", jump_ms < 0);
        let q = bench.init_until("a");
        bench.write_as(TV2, "a", "t-0", q, 0, 1).unwrap();
        bench.end(5, "a", q, COMMIT).unwrap();
        assert_eq!(bench.ends("t-0"), (4, 4));
    }
}

#[test]
fn a_repeat_of_a_bump_is_recognized_after_a_crash_also_around_the_change_of_the_producer_id() {
    // KAFKA-20357: Apache Kafka 4.4.0 answers all of these PRODUCER_FENCED.
    let mut bench = Bench::open();
    let p = bench.init("a").unwrap();
    assert_eq!(bench.init_as(5, "a", p), Ok(p.next_epoch()), "the answer is lost");
    let mut bench = bench.crash();
    assert_eq!(bench.init_until_as("a", p), Ok(p.next_epoch()));

    let (mut bench, p) = at_the_last_epoch(TV2);
    let q = bench.init_as(5, "a", p).unwrap();
    assert_ne!(q.0, p.0);
    let mut bench = bench.crash();
    for _ in 0..3 {
        assert_eq!(bench.init_until_as("a", p), Ok(q));
    }
    assert_eq!(bench.init_as(5, "a", p.epoch(32_765)), Err(90));
    assert_eq!(bench.write_as(TV2, "a", "t-0", q, 0, 1), Ok(0));
    let next = bench.end(5, "a", q, COMMIT).unwrap();
    let mut bench = bench.crash();
    assert_eq!(bench.init_until_as("a", p), Err(90), "somebody has gone on");
    assert_eq!(bench.init_as(5, "a", q), Ok(next), "the commit moved its epoch");
}

#[test]
fn the_commit_after_a_timeout_is_fenced_after_a_crash_too() {
    let mut bench = with_sweep_of_200_ms();
    bench.topic("t", 1);
    let p = bench.init_for("a", 1_000).unwrap();
    assert_eq!(bench.write_as(TV2, "a", "t-0", p, 0, 3), Ok(0));
    bench.pass_ms(1_500);
    assert_eq!(bench.state("a"), "CompleteAbort");
    let mut bench = bench.crash();
    assert_eq!(bench.end_until(5, "a", p, COMMIT), Err(90));
    assert_eq!(bench.end(5, "a", p, ABORT), Ok(p.next_epoch()));
}

impl Bench {
    /// InitProducerId of an instance that goes on, again while it is loaded.
    fn init_until_as(&mut self, id: &str, who: Who) -> Result<Who, i16> {
        for _ in 0..100 {
            match self.init_as(5, id, who) {
                Err(14..=16) => self.pass_ms(20),
                other => return other,
            }
        }
        panic!("{id} is never loaded");
    }
}
