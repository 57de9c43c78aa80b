//! Reports P18, P19, P20, P27 (last part): offsets that are committed with a transaction.

use super::verbs::{
    ABORT, CLASSIC, COMMIT, OLD, TV2, Who, end, ended, find_coordinator, txn_offset, txn_offsets,
};
use crate::node::testing::Bench;

fn with_group_at_4(change: impl FnOnce(&mut crate::config::BrokerConfig)) -> Bench {
    let mut bench = Bench::open_with(change);
    bench.topic("in", 2);
    bench.topic("t", 1);
    let p = bench.init("first").unwrap();
    assert_eq!(bench.stage(TV2, "first", p, "g", "in-0", 4), 0);
    bench.end(5, "first", p, COMMIT).unwrap();
    assert_eq!(bench.group_offset("g", "in-0", true), Ok(4));
    bench
}

#[test]
fn the_first_offsets_of_a_cluster_may_be_added_before_their_topic_is_there() {
    let mut bench = Bench::with(|_| {});
    bench.ask(4, find_coordinator("a", 1));
    bench.topic("in", 1);
    let p = bench.init("a").unwrap();
    assert_eq!(bench.add_offsets(3, "a", p, "g"), 0);
    bench.ask(4, find_coordinator("g", 0));
    assert_eq!(bench.txn_offset(CLASSIC.offsets, "a", p, "g", "in-0", 7), 0);
    bench.end(CLASSIC.end, "a", p, COMMIT).unwrap();
    assert_eq!(bench.group_offset("g", "in-0", true), Ok(7));
}

#[test]
fn staged_offsets_are_unstable_until_the_transaction_ends() {
    for flavour in [OLD, CLASSIC, TV2] {
        for (decision, after) in [(COMMIT, 10), (ABORT, 4)] {
            for crash in [false, true] {
                let mut bench = with_group_at_4(|_| {});
                let p = bench.init("a").unwrap();
                assert_eq!(bench.stage(flavour, "a", p, "g", "in-0", 10), 0);
                if crash {
                    bench = bench.crash();
                }
                assert_eq!(bench.group_offset("g", "in-0", true), Err(88));
                assert_eq!(bench.group_offset("g", "in-0", false), Ok(4));
                assert_eq!(bench.group_offset("g", "in-1", true), Ok(-1), "another partition");
                bench.end_until(flavour.end, "a", p, decision).unwrap();
                for _ in 0..2 {
                    assert_eq!(bench.group_offset("g", "in-0", true), Ok(after), "{flavour:?}");
                    bench = bench.crash();
                }
            }
        }
    }
}

#[test]
fn a_dead_producers_offsets_are_let_go_in_bounded_time() {
    for flavour in [CLASSIC, TV2] {
        for crash_at_ms in [None, Some(0), Some(500), Some(2_000)] {
            let mut bench = with_group_at_4(|config| {
                config.transaction_abort_timed_out_transaction_cleanup_interval_ms = 200;
            });
            let p = bench.init_for("a", 1_000).unwrap();
            assert_eq!(bench.stage(flavour, "a", p, "g", "in-0", 10), 0);
            bench.write_as(flavour, "a", "t-0", p, 0, 1).unwrap();
            assert_eq!(bench.group_offset("g", "in-0", true), Err(88));
            if let Some(ms) = crash_at_ms {
                // The clock goes on while the broker is down.
                bench.now.wall_ms += i64::from(ms);
                bench = bench.crash();
            }
            assert_eq!(bench.group_offset("g", "in-0", false), Ok(4));
            bench.pass_ms(1_500);
            assert_eq!(bench.group_offset("g", "in-0", true), Ok(4), "{crash_at_ms:?}");
            assert_eq!(bench.ends("t-0"), (2, 2));
            assert_eq!(bench.visible("t-0"), [0_i64; 0]);
        }
    }
}

#[test]
fn the_last_of_several_staged_offsets_counts_and_nothing_need_be_produced() {
    for flavour in [OLD, CLASSIC, TV2] {
        let mut bench = with_group_at_4(|_| {});
        let p = bench.init("a").unwrap();
        for offset in [5, 7, 6] {
            assert_eq!(bench.stage(flavour, "a", p, "g", "in-0", offset), 0);
        }
        assert_eq!(bench.stage(flavour, "a", p, "g", "in-1", 1), 0);
        assert_eq!(bench.stage(flavour, "a", p, "other", "in-0", 3), 0);
        let p = bench.end(flavour.end, "a", p, COMMIT).unwrap();
        assert_eq!(bench.group_offset("g", "in-0", true), Ok(6));
        assert_eq!(bench.group_offset("g", "in-1", true), Ok(1));
        assert_eq!(bench.group_offset("other", "in-0", true), Ok(3));
        bench.write_as(flavour, "a", "t-0", p, 0, 1).unwrap();
        bench.end(flavour.end, "a", p, COMMIT).unwrap();
        assert_eq!(bench.group_offset("g", "in-0", true), Ok(6), "not staged again");
    }
}

#[test]
fn stale_and_foreign_offset_commits_are_refused() {
    let mut bench = with_group_at_4(|_| {});
    let p = bench.init("a").unwrap();
    let p1 = bench.init("a").unwrap();
    assert_eq!(bench.add_offsets(3, "a", p1, "g"), 0);
    for version in [0, 2, 3, 4] {
        assert_eq!(bench.txn_offset(version, "a", p, "g", "in-0", 9), 47, "v{version}");
        assert_eq!(bench.txn_offset(version, "a", p1, "g", "nope-0", 9), 3);
        assert_eq!(bench.txn_offset(version, "a", p1, "g", "in-7", 9), 3);
        assert_eq!(bench.txn_offset(version, "a", p1, "elsewhere", "nope-0", 9), 3);
    }
    bench.end(4, "a", p1, COMMIT).unwrap();
    for version in [0, 1, 2, 3] {
        assert_eq!(bench.txn_offset(version, "a", p1, "g", "in-0", 9), 48, "after the end");
    }
    assert_eq!(bench.txn_offset(4, "a", p1, "g", "in-0", 9), 120);
    assert_eq!(bench.group_offset("g", "in-0", true), Ok(4));
}

#[test]
fn a_refused_offset_commit_stages_nothing() {
    for flavour in [CLASSIC, TV2] {
        let mut bench = with_group_at_4(|_| {});
        let p = bench.init("a").unwrap();
        if !flavour.is_tv2() {
            assert_eq!(bench.add_offsets(3, "a", p, "g"), 0);
        }
        let long = "x".repeat(4_097);
        let request = txn_offset("a", p, "g", "in-0", 9, &long);
        assert_eq!(txn_offsets(bench.ask(flavour.offsets, request)), 12);
        assert_eq!(bench.group_offset("g", "in-0", true), Ok(4));
        assert_eq!(bench.stage(flavour, "a", p, "g", "in-0", 5), 0);
        assert!(bench.end(flavour.end, "a", p, COMMIT).is_ok());
        assert_eq!(bench.group_offset("g", "in-0", true), Ok(5));
    }
}

#[test]
fn a_transaction_that_only_refused_offsets_still_ends() {
    for flavour in [CLASSIC, TV2] {
        for decision in [COMMIT, ABORT] {
            let mut bench = with_group_at_4(|_| {});
            let p = bench.init("a").unwrap();
            if !flavour.is_tv2() {
                bench.add_offsets(3, "a", p, "g");
            }
            let request = txn_offset("a", p, "g", "in-0", 9, &"x".repeat(4_097));
            assert_eq!(txn_offsets(bench.ask(flavour.offsets, request)), 12);
            assert!(bench.end(flavour.end, "a", p, decision).is_ok(), "{flavour:?}");
            assert_eq!(bench.group_offset("g", "in-0", true), Ok(4));
        }
    }
}

#[test]
fn the_next_transaction_is_admitted_when_the_last_ones_offsets_are_in_place() {
    for flavour in [CLASSIC, TV2] {
        for (decision, last) in [(COMMIT, 20), (ABORT, 10)] {
            let mut bench = with_group_at_4(|_| {});
            let p = bench.init("a").unwrap();
            assert_eq!(bench.stage(flavour, "a", p, "g", "in-0", 10), 0);
            bench.files.hold_after(0);
            let id = bench.send(flavour.end, end("a", p, COMMIT));
            bench.release();
            let p1 = match ended(bench.await_answer(id)).unwrap() {
                Who::NOBODY => p,
                who => who,
            };
            // The markers wait for the disk; the decision does not any more.
            while bench.stage(flavour, "a", p1, "g", "in-0", 20) != 0 {
                bench.pass_ms(20);
            }
            assert_eq!(bench.group_offset("g", "in-0", false), Ok(10), "{flavour:?}");
            assert_eq!(bench.group_offset("g", "in-0", true), Err(88));
            bench.end(flavour.end, "a", p1, decision).unwrap();
            assert_eq!(bench.group_offset("g", "in-0", true), Ok(last));
        }
    }
}

#[test]
fn many_rounds_of_offsets_right_behind_each_other_are_all_exact() {
    for flavour in [CLASSIC, TV2] {
        let mut bench = with_group_at_4(|_| {});
        let mut p = bench.init("a").unwrap();
        let mut committed = 4;
        for round in 0..200 {
            let offset = 100 + round;
            while bench.stage(flavour, "a", p, "g", "in-0", offset) != 0 {
                bench.pass_ms(20);
            }
            assert_eq!(bench.group_offset("g", "in-0", false), Ok(committed));
            let decision = if round % 3 == 2 { ABORT } else { COMMIT };
            let id = bench.send(flavour.end, end("a", p, decision));
            let after = ended(bench.await_answer(id)).unwrap();
            if flavour.is_tv2() {
                p = after;
            }
            if decision == COMMIT {
                committed = offset;
            }
        }
        assert_eq!(bench.group_offset("g", "in-0", true), Ok(committed));
    }
}

#[test]
fn a_new_instance_lets_the_old_ones_offsets_go() {
    let mut bench = with_group_at_4(|_| {});
    let p = bench.init("a").unwrap();
    assert_eq!(bench.stage(TV2, "a", p, "g", "in-0", 10), 0);
    let q = bench.init_until("a");
    assert_eq!(bench.group_offset("g", "in-0", true), Ok(4));
    assert_eq!(bench.txn_offset(5, "a", p, "g", "in-0", 11), 47);
    assert_eq!(bench.group_offset("g", "in-0", true), Ok(4));
    assert_eq!(bench.stage(TV2, "a", q, "g", "in-0", 12), 0);
    bench.end(5, "a", q, COMMIT).unwrap();
    assert_eq!(bench.group_offset("g", "in-0", true), Ok(12));
}
