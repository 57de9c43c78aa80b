//! Reports P09, P18, P26, P27: a coordinator that dies, or cannot write, in the middle.

use alloc::vec::Vec;

use super::looks::COMMITTED;
use super::verbs::{ABORT, CLASSIC, COMMIT, Flavour, OLD, TV2, Who, end};
use crate::io::FileError;
use crate::node::testing::{Bench, Failing};
use crate::types::Decision;

/// A transaction on two topics and a group, about to be ended.
fn about_to_end(flavour: Flavour) -> (Bench, Who) {
    let mut bench = Bench::open_with(|config| {
        config.transaction_abort_timed_out_transaction_cleanup_interval_ms = 200;
    });
    bench.topic("t", 1);
    bench.topic("u", 2);
    bench.topic("in", 1);
    let p = bench.init("a").unwrap();
    for to in ["t-0", "u-0", "u-1"] {
        bench.write_as(flavour, "a", to, p, 0, 2).unwrap();
    }
    assert_eq!(bench.stage(flavour, "a", p, "g", "in-0", 10), 0);
    (bench, p)
}

/// All partitions and the group say the same, and nothing is left open.
fn outcome(bench: &mut Bench, what: &dyn core::fmt::Debug) -> Decision {
    let offset = bench.group_offset("g", "in-0", true);
    let decision = if offset == Ok(10) { COMMIT } else { ABORT };
    assert_eq!(offset, Ok(if decision == COMMIT { 10 } else { -1 }), "{what:?}");
    for to in ["t-0", "u-0", "u-1"] {
        let seen = bench.fetch_to_end(COMMITTED, to, 0);
        assert_eq!(seen.lso, seen.high_watermark, "{what:?} {to}");
        let visible: &[i64] = if decision == COMMIT { &[0, 1] } else { &[] };
        assert_eq!(seen.visible, visible, "{what:?} {to}");
        assert!(seen.markers.iter().all(|marker| marker.decision == decision));
        assert!(!seen.markers.is_empty(), "{what:?} {to}");
    }
    decision
}

/// Crashes after so many changes of the disk behind an EndTxn; how many there were at most.
fn crash_points(flavour: Flavour, decision: Decision) -> u32 {
    let (mut bench, p) = about_to_end(flavour);
    let before = bench.files.changes;
    bench.end(flavour.end, "a", p, decision).unwrap();
    bench.files.changes - before
}

#[test]
fn a_crash_at_any_point_of_an_end_leaves_one_outcome_everywhere() {
    for flavour in [OLD, CLASSIC, TV2] {
        for decision in [COMMIT, ABORT] {
            let points = crash_points(flavour, decision);
            assert!(points >= 2, "the decision and the markers are written one after the other");
            let mut outcomes = Vec::new();
            for point in 0..=points {
                let what = (flavour, decision, point);
                let (mut bench, p) = about_to_end(flavour);
                bench.files.hold_after(point);
                let id = bench.send(flavour.end, end("a", p, decision));
                let answered = bench.take(id).is_some();
                let mut bench = bench.crash();
                assert!(bench.ready, "{what:?} {:?}", bench.faults);
                bench.pass_ms(1_000);
                let state = bench.state("a");
                if state == "Ongoing" {
                    assert!(!answered, "{what:?}");
                    outcomes.push(None);
                    bench.end_until(flavour.end, "a", p, ABORT).unwrap();
                    assert_eq!(outcome(&mut bench, &what), ABORT);
                    continue;
                }
                assert_eq!(outcome(&mut bench, &what), decision);
                outcomes.push(Some(decision));
                let same = bench.end_until(flavour.end, "a", p, decision);
                assert_eq!(same, Ok(if flavour.is_tv2() { p.next_epoch() } else { p }));
                let other = if decision == COMMIT { ABORT } else { COMMIT };
                assert_eq!(bench.end(flavour.end, "a", p, other), Err(48), "{what:?}");
                let next = bench.init_until("a");
                assert!(next.1 > p.1);
                bench.write_as(flavour, "a", "t-0", next, 0, 1).unwrap();
                bench.end(flavour.end, "a", next, COMMIT).unwrap();
            }
            assert!(outcomes.contains(&None) && outcomes.contains(&Some(decision)));
            assert!(outcomes.is_sorted_by_key(Option::is_some), "a decision stays: {outcomes:?}");
        }
    }
}

#[test]
fn crashes_during_the_recovery_change_nothing() {
    for flavour in [CLASSIC, TV2] {
        for decision in [COMMIT, ABORT] {
            let points = crash_points(flavour, decision);
            for point in 0..=points {
                let (mut bench, p) = about_to_end(flavour);
                bench.files.hold_after(point);
                bench.send(flavour.end, end("a", p, decision));
                let whole = bench.clone().crash().files.changes;
                for changes in 0..=whole.min(40) {
                    let what = (flavour, decision, point, changes);
                    let mut bench = bench.clone().crash_twice(changes);
                    assert!(bench.ready, "{what:?} {:?}", bench.faults);
                    bench.pass_ms(1_000);
                    if bench.state("a") == "Ongoing" {
                        bench.end_until(flavour.end, "a", p, decision).unwrap();
                    }
                    assert_eq!(outcome(&mut bench, &what), decision);
                }
            }
        }
    }
}

#[test]
fn nobody_is_told_a_lie_while_a_recovered_decision_is_carried_out() {
    for flavour in [CLASSIC, TV2] {
        let (mut bench, p) = about_to_end(flavour);
        bench.files.hold_after(1);
        bench.send(flavour.end, end("a", p, COMMIT));
        let mut bench = bench.crash();
        for _ in 0..50 {
            let abort = bench.end(flavour.end, "a", p, ABORT);
            assert!([Err(14), Err(16), Err(51), Err(48)].contains(&abort), "{abort:?}");
            let state = bench.state("a");
            if state == "CompleteCommit" {
                assert_eq!(outcome(&mut bench, &flavour), COMMIT);
            }
            bench.pass_ms(1);
        }
        assert_eq!(bench.state("a"), "CompleteCommit");
    }
}

#[test]
fn a_decision_is_carried_out_while_logs_open_one_by_one() {
    for flavour in [CLASSIC, TV2] {
        let mut bench = Bench::open_with(|config| config.verdict_recovery_logs_per_turn = 1);
        bench.topic("many", 30);
        let p = bench.init("a").unwrap();
        for i in 0..30 {
            let to = super::verbs::name("many-", i);
            bench.write_as(flavour, "a", &to, p, 0, 1).unwrap();
        }
        bench.files.hold_after(1);
        bench.send(flavour.end, end("a", p, COMMIT));
        let mut bench = bench.crash();
        bench.pass_ms(2_000);
        assert_eq!(bench.state("a"), "CompleteCommit");
        for i in 0..30 {
            let to = super::verbs::name("many-", i);
            assert_eq!(bench.ends(&to), (2, 2), "{to}");
            assert_eq!(bench.visible(&to), [0]);
        }
    }
}

#[test]
fn a_failed_write_of_any_request_leaves_no_pending_state() {
    let codes = [14, 15, 16, 51];
    for times in [1, 2] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        bench.topic("in", 1);
        let fail = |bench: &mut Bench| {
            bench.files.fail(Failing::Journal, FileError::NoSpace, Some(times));
        };
        fail(&mut bench);
        assert!(codes.contains(&bench.init("a").unwrap_err()));
        bench.files.mend();
        let p = bench.init_until("a");

        fail(&mut bench);
        assert!(codes.contains(&bench.add(3, "a", p, &["t-0"])[0]));
        bench.files.mend();
        assert_eq!(bench.describe("a"), Ok(("Empty".into(), p, [].into())), "nothing was added");
        assert_eq!(bench.add(3, "a", p, &["t-0"]), [0]);

        fail(&mut bench);
        assert!(codes.contains(&bench.add_offsets(3, "a", p, "g")));
        bench.files.mend();
        assert_eq!(bench.add_offsets(3, "a", p, "g"), 0);

        fail(&mut bench);
        assert_eq!(bench.write_in(11, "a", "t-0", p, 0, 1), Err(56));
        bench.files.mend();
        assert_eq!(bench.open_on("t-0"), [0_i64; 0]);
        assert_eq!(bench.write_in(11, "a", "t-0", p, 0, 1), Ok(0));

        fail(&mut bench);
        assert!(codes.contains(&bench.txn_offset(4, "a", p, "g", "in-0", 5)));
        bench.files.mend();
        assert_eq!(bench.group_offset("g", "in-0", true), Ok(-1), "nothing was staged");
        assert_eq!(bench.txn_offset(4, "a", p, "g", "in-0", 6), 0);

        fail(&mut bench);
        assert!(codes.contains(&bench.end(4, "a", p, ABORT).unwrap_err()));
        bench.files.mend();
        assert!(
            bench.end_until(4, "a", p, COMMIT).is_ok(),
            "either decision, until one is written"
        );
        assert_eq!(bench.end(4, "a", p, ABORT), Err(48));
        assert_eq!(bench.visible("t-0"), [0]);
        assert_eq!(bench.group_offset("g", "in-0", true), Ok(6));
    }
}

#[test]
fn tv2_requests_meet_a_failing_log_and_go_on_afterwards() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    bench.topic("in", 1);
    let p = bench.init("a").unwrap();
    bench.files.fail(Failing::Journal, FileError::NoSpace, None);
    assert!(bench.write_in(12, "a", "t-0", p, 0, 1).is_err());
    assert_ne!(bench.txn_offset(5, "a", p, "g", "in-0", 5), 0);
    assert!(bench.end(5, "a", p, ABORT).is_err());
    bench.files.mend();
    assert_eq!(bench.describe("a"), Ok(("Empty".into(), p, [].into())));
    assert_eq!(bench.write_in(12, "a", "t-0", p, 0, 1), Ok(0));
    assert_eq!(bench.txn_offset(5, "a", p, "g", "in-0", 5), 0);
    bench.files.fail(Failing::Journal, FileError::NoSpace, None);
    for decision in [COMMIT, ABORT, COMMIT] {
        assert!(bench.end(5, "a", p, decision).is_err());
    }
    bench.files.mend();
    assert_eq!(bench.end_until(5, "a", p, COMMIT), Ok(p.next_epoch()));
    assert_eq!(bench.visible("t-0"), [0]);
    assert_eq!(bench.group_offset("g", "in-0", true), Ok(5));
}

#[test]
fn markers_that_cannot_be_written_are_tried_until_they_can() {
    for flavour in [CLASSIC, TV2] {
        for crash in [false, true] {
            let (mut bench, p) = about_to_end(flavour);
            // The decision is written; then the disk is full.
            bench.files.hold_after(1);
            let id = bench.send(flavour.end, end("a", p, COMMIT));
            bench.files.fail(Failing::Journal, FileError::NoSpace, None);
            bench.release();
            bench.await_answer(id);
            bench.pass_ms(3_000);
            assert_eq!(bench.state("a"), "PrepareCommit");
            assert_eq!(bench.end(flavour.end, "a", p, ABORT), Err(51));
            assert_eq!(bench.init("a"), Err(51));
            bench.files.mend();
            if crash {
                bench = bench.crash();
            }
            bench.pass_ms(3_000);
            assert_eq!(bench.state("a"), "CompleteCommit", "{flavour:?} crash {crash}");
            assert_eq!(outcome(&mut bench, &flavour), COMMIT);
        }
    }
}

#[test]
fn a_failed_sync_is_final_until_the_broker_starts_again() {
    let (mut bench, p) = about_to_end(TV2);
    bench.files.fail(Failing::Journal, FileError::Io, Some(1));
    assert!(bench.end(5, "a", p, COMMIT).is_err());
    bench.files.mend();
    assert!(!bench.faults.is_empty(), "the operator is told");
    for _ in 0..3 {
        bench.pass_ms(1_000);
        assert!(bench.end(5, "a", p, COMMIT).is_err());
        assert!(bench.init("a").is_err());
        assert!(bench.write("t-0", Who(9_999, 0), 0, 1).is_err());
    }
    assert_eq!(bench.fetch(super::looks::UNCOMMITTED, "t-0", 0).records, [0, 1], "reads go on");
    let mut bench = bench.crash();
    assert!(bench.ready);
    assert_eq!(bench.end_until(5, "a", p, COMMIT), Ok(p.next_epoch()));
    assert_eq!(outcome(&mut bench, &"after the start"), COMMIT);
}

#[test]
fn a_write_that_is_torn_at_any_byte_is_there_as_a_whole_or_not_at_all() {
    for flavour in [CLASSIC, TV2] {
        let points = crash_points(flavour, COMMIT);
        for point in 0..points {
            for bytes in (0..1_500).step_by(137) {
                let what = (flavour, point, bytes);
                let (mut bench, p) = about_to_end(flavour);
                bench.files.hold_after(point);
                bench.send(flavour.end, end("a", p, COMMIT));
                bench.files.tear(bytes);
                let mut bench = bench.crash();
                assert!(bench.ready, "{what:?} {:?}", bench.faults);
                bench.pass_ms(1_000);
                if bench.state("a") == "Ongoing" {
                    assert_eq!(point, 0, "{what:?}");
                    bench.end_until(flavour.end, "a", p, ABORT).unwrap();
                    assert_eq!(outcome(&mut bench, &what), ABORT);
                } else {
                    assert_eq!(outcome(&mut bench, &what), COMMIT);
                }
            }
        }
    }
}

#[test]
fn a_client_that_hangs_up_before_its_answer_has_ended_its_transaction() {
    for flavour in [CLASSIC, TV2] {
        let (mut bench, p) = about_to_end(flavour);
        bench.files.hold_after(0);
        let id = bench.send_over(5, flavour.end, end("a", p, COMMIT));
        bench.input(crate::io::Input::ConnectionClosed { conn: crate::io::ConnId(5) });
        bench.release();
        assert!(bench.take(id).is_none());
        assert_eq!(bench.state("a"), "CompleteCommit");
        assert_eq!(outcome(&mut bench, &flavour), COMMIT);
        assert!(bench.end(flavour.end, "a", p, COMMIT).is_ok(), "a repeat over a new connection");
    }
}

#[test]
fn a_level_that_is_lowered_lets_open_transactions_end_as_they_began() {
    for level in [0, 1] {
        let (mut bench, p) = about_to_end(TV2);
        bench.configure(|config| config.transaction_version = level);
        let mut bench = bench.restart();
        bench.pass_ms(100);
        let ended = bench.end_until(5, "a", p, COMMIT);
        if ended.is_err() {
            bench.pass_ms(100_000);
            assert_eq!(outcome(&mut bench, &level), ABORT, "timed out");
        } else {
            assert_eq!(outcome(&mut bench, &level), COMMIT);
        }
        let next = bench.init_until("a");
        assert!(next.1 > p.1);
    }
}
