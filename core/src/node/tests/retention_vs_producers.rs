//! Reports P22, P23, P24 and DeleteRecords: what is forgotten, when, and what must not be.

use super::looks::{COMMITTED, UNCOMMITTED};
use super::verbs::{
    ABORT, CLASSIC, COMMIT, LONG_MS, TV2, Who, batch, init, name, produce, produced,
};
use crate::io::FileError;
use crate::node::testing::{Bench, Failing};

fn forgetful() -> Bench {
    Bench::open_with(|config| {
        config.producer_id_expiration_ms = 2_000;
        config.producer_id_expiration_check_interval_ms = 500;
    })
}

#[test]
fn an_idle_producer_goes_on_where_it_stopped() {
    for crash in [false, true] {
        let mut bench = forgetful();
        bench.topic("t", 1);
        let p = bench.idempotent();
        assert_eq!(bench.write("t-0", p, 0, 5), Ok(0));
        bench.pass_ms(3_000);
        if crash {
            bench = bench.crash();
            bench.pass_ms(1_000);
        }
        assert_eq!(bench.producers("t-0").len(), 0, "forgotten, crash {crash}");
        assert_eq!(bench.write("t-0", p, 5, 2), Ok(5));
        assert_eq!(bench.write("t-0", p, 5, 2), Ok(5));
        assert_eq!(bench.write("t-0", p, 9, 1), Err(45));
        assert_eq!(bench.write("t-0", p, 7, 1), Ok(7));
    }
}

#[test]
fn a_producer_with_an_open_transaction_is_not_forgotten() {
    for flavour in [CLASSIC, TV2] {
        let mut bench = forgetful();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        let q = bench.idempotent();
        bench.write_as(flavour, "a", "t-0", p, 0, 2).unwrap();
        bench.write("t-0", q, 0, 1).unwrap();
        bench.pass_ms(20_000);
        let known: alloc::vec::Vec<i64> =
            bench.producers("t-0").iter().map(|one| one.producer_id).collect();
        assert_eq!(known, [p.0]);
        assert_eq!(bench.write_in(flavour.produce, "a", "t-0", p, 2, 1), Ok(3));
        assert_eq!(bench.write_in(flavour.produce, "a", "t-0", p, 0, 2), Ok(0), "a retry");
        bench.end(flavour.end, "a", p, COMMIT).unwrap();
        assert_eq!(bench.visible("t-0"), [0, 1, 2, 3]);
    }
}

#[test]
fn a_marker_counts_as_activity() {
    let mut bench = forgetful();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    bench.write_as(CLASSIC, "a", "t-0", p, 0, 1).unwrap();
    bench.pass_ms(5_000);
    bench.end(4, "a", p, COMMIT).unwrap();
    bench.pass_ms(1_400);
    assert_eq!(bench.producers("t-0").len(), 1);
    bench.pass_ms(1_600);
    assert_eq!(bench.producers("t-0").len(), 0);
}

#[test]
fn a_forgotten_producer_does_not_come_back_with_a_start() {
    let mut bench = forgetful();
    bench.topic("t", 1);
    let p = bench.idempotent();
    bench.write("t-0", p, 0, 3).unwrap();
    bench.pass_ms(3_000);
    let mut bench = bench.restart();
    assert_eq!(bench.write("t-0", p, 7, 1), Ok(3), "unknown: any sequence, as before the start");
}

fn expiring() -> Bench {
    Bench::open_with(|config| {
        config.transactional_id_expiration_ms = 3_000;
        config.transaction_remove_expired_transaction_cleanup_interval_ms = 500;
    })
}

#[test]
fn an_expired_transactional_id_is_unknown_and_begins_anew() {
    for crash in [false, true] {
        let mut bench = expiring();
        bench.topic("t", 1);
        let a = bench.init("a").unwrap();
        let b = bench.init("b").unwrap();
        let c = bench.init("c").unwrap();
        bench.write_as(CLASSIC, "a", "t-0", a, 0, 1).unwrap();
        bench.end(4, "a", a, COMMIT).unwrap();
        bench.write_as(CLASSIC, "b", "t-0", b, 0, 1).unwrap();
        bench.pass_ms(4_000);
        if crash {
            bench = bench.crash();
            bench.pass_ms(1_000);
        }
        for (id, who) in [("a", a), ("c", c)] {
            assert_eq!(bench.add(3, id, who, &["t-0"]), [49]);
            assert_eq!(bench.end(4, id, who, COMMIT), Err(49));
            assert_eq!(bench.end(5, id, who, ABORT), Err(49));
            assert_eq!(bench.add_offsets(3, id, who, "g"), 49);
            assert_eq!(bench.write_in(12, id, "t-0", who, 5, 1), Err(49));
            assert_eq!(bench.describe(id), Err(105));
        }
        let again = bench.init("a").unwrap();
        assert!(again.0 != a.0 && again.1 == 0);
        let again = bench.init_as(5, "c", c).unwrap();
        assert!(again.0 != c.0 && again.1 == 0, "also when it names its old one");
        assert_eq!(bench.state("b"), "Ongoing");
        assert!(bench.end_until(4, "b", b, COMMIT).is_ok());
    }
}

#[test]
fn ten_thousand_ids_expire_in_several_batches() {
    let mut bench = expiring();
    for i in 0..10_000 {
        let id = name("some-transactional-id-", i);
        bench.send(5, init(Some(&id), LONG_MS, Who::NOBODY));
    }
    bench.pass_ms(4_000);
    for i in [0, 1, 4_999, 9_999] {
        let id = name("some-transactional-id-", i);
        assert_eq!(bench.describe(&id), Err(105));
        assert_eq!(bench.init(&id).unwrap().1, 0);
    }
}

#[test]
fn a_failed_expiry_leaves_no_id_stuck() {
    let mut bench = expiring();
    bench.topic("t", 1);
    let mut who = alloc::vec::Vec::new();
    for i in 0..50 {
        who.push(bench.init(&name("x", i)).unwrap());
    }
    bench.files.fail(Failing::Journal, FileError::NoSpace, None);
    bench.pass_ms(5_000);
    bench.files.mend();
    // The failed ones are as they were, or gone by a sweep that worked: never in between.
    assert_eq!(bench.init("x7").map(|now| now.0), Ok(who[7].0));
    assert_eq!(bench.add(3, "x8", who[8], &["t-0"]), [0]);
    bench.pass_ms(1_500);
    assert_eq!(bench.describe("x9"), Err(105));
    assert_eq!(bench.state("x8"), "Ongoing");
    assert!(bench.end(4, "x8", who[8], COMMIT).is_ok());
}

#[test]
fn an_id_whose_first_write_failed_expires_without_an_error() {
    let mut bench = expiring();
    bench.files.fail(Failing::Journal, FileError::NoSpace, None);
    assert!(bench.init("c").is_err());
    bench.files.mend();
    let b = bench.init_until("b");
    bench.pass_ms(5_000);
    assert_eq!(bench.describe("c"), Err(105));
    assert_eq!(bench.describe("b"), Err(105));
    assert!(bench.init("c").is_ok());
    assert!(bench.init("b").unwrap().0 != b.0);
    assert_eq!(bench.faults, [""; 0]);
}

#[test]
fn a_deleted_topic_does_not_hold_up_the_transaction_that_wrote_to_it() {
    for flavour in [CLASSIC, TV2] {
        for decision in [COMMIT, ABORT] {
            for crash in [false, true] {
                let mut bench = Bench::open();
                bench.topic("a", 2);
                bench.topic("b", 1);
                let p = bench.init("x").unwrap();
                for to in ["a-0", "a-1", "b-0"] {
                    bench.write_as(flavour, "x", to, p, 0, 3).unwrap();
                }
                assert_eq!(bench.delete_topic("a"), 0);
                if crash {
                    bench = bench.crash();
                }
                let p1 = bench.end_until(flavour.end, "x", p, decision).unwrap();
                bench.pass_ms(1_000);
                let complete = if decision == COMMIT { "CompleteCommit" } else { "CompleteAbort" };
                assert_eq!(bench.state("x"), complete);
                assert_eq!(bench.visible("b-0").is_empty(), decision == ABORT);
                assert_eq!(bench.ends("b-0"), (4, 4));
                let sequence = if flavour.is_tv2() { 0 } else { 3 };
                bench.write_as(flavour, "x", "b-0", p1, sequence, 1).unwrap();
                bench.end(flavour.end, "x", p1, COMMIT).unwrap();
                assert_eq!(bench.ends("b-0"), (6, 6));
            }
        }
    }
}

/// What happens to the broker between the steps of [`a_recreated_topic_gets_no_marker`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Nothing,
    CrashAfterDeletion,
    CrashAfterCreation,
    CrashAfterBoth,
}

#[test]
fn a_recreated_topic_gets_no_marker_of_a_transaction_of_the_old_one() {
    use Between::{CrashAfterBoth, CrashAfterCreation, CrashAfterDeletion, Nothing};
    for flavour in [CLASSIC, TV2] {
        for decision in [COMMIT, ABORT] {
            for between in [Nothing, CrashAfterDeletion, CrashAfterCreation, CrashAfterBoth] {
                let what = (flavour, decision, between);
                let mut bench = Bench::open();
                bench.topic("a", 2);
                bench.topic("b", 1);
                let p = bench.init("x").unwrap();
                for to in ["a-0", "a-1", "b-0"] {
                    bench.write_as(flavour, "x", to, p, 0, 3).unwrap();
                }
                assert_eq!(bench.delete_topic("a"), 0);
                if matches!(between, CrashAfterDeletion | CrashAfterBoth) {
                    bench = bench.crash();
                }
                bench.topic("a", 1);
                if matches!(between, CrashAfterCreation | CrashAfterBoth) {
                    bench = bench.crash();
                }
                let p1 = bench.end_until(flavour.end, "x", p, decision).unwrap();
                bench.pass_ms(1_000);
                assert_eq!(bench.ends("a-0"), (0, 0), "{what:?}");
                assert_eq!(bench.producers("a-0").len(), 0, "{what:?}");
                assert_eq!(bench.ends("b-0"), (4, 4), "{what:?}");
                let sequence = if flavour.is_tv2() { 0 } else { 3 };
                bench.write_as(flavour, "x", "b-0", p1, sequence, 1).unwrap();
                assert_eq!(bench.write_as(flavour, "x", "a-0", p1, 0, 1), Ok(0), "{what:?}");
                bench.end(flavour.end, "x", p1, COMMIT).unwrap();
                assert_eq!(bench.visible("a-0"), [0]);
                assert_eq!(bench.ends("a-0"), (2, 2));
            }
        }
    }
}

#[test]
fn a_recreated_topic_that_the_same_transaction_writes_to_again_is_in_it() {
    for flavour in [CLASSIC, TV2] {
        let mut bench = Bench::open();
        bench.topic("a", 1);
        let p = bench.init("x").unwrap();
        bench.write_as(flavour, "x", "a-0", p, 0, 3).unwrap();
        assert_eq!(bench.delete_topic("a"), 0);
        bench.topic("a", 1);
        assert_eq!(bench.write_as(flavour, "x", "a-0", p, 0, 1), Ok(0));
        assert_eq!(bench.ends("a-0"), (0, 1));
        bench.end(flavour.end, "x", p, COMMIT).unwrap();
        assert_eq!(bench.ends("a-0"), (2, 2));
        assert_eq!(bench.visible("a-0"), [0]);
    }
}

#[test]
fn a_topic_that_is_deleted_while_a_write_to_it_waits_answers_it() {
    let mut bench = Bench::open();
    bench.topic("a", 1);
    let p = bench.init("x").unwrap();
    bench.files.hold_after(0);
    let write = produce(12, Some("x"), "a-0", batch(p, 0, 1, true));
    let id = bench.send(12, write);
    let delete = bench.send(5, super::verbs::delete_topics("a"));
    bench.release();
    assert!(matches!(bench.await_answer(delete), crate::wire::Response::DeleteTopics(_)));
    let written = produced(bench.await_answer(id));
    assert!(matches!(written, Ok(0) | Err(3 | 6)), "{written:?}");
    bench.end_until(5, "x", p, ABORT).unwrap();
    bench.topic("a", 1);
    assert_eq!(bench.ends("a-0"), (0, 0));
}

#[test]
fn deleted_records_do_not_make_a_producer_unknown() {
    for crash in [false, true] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.idempotent();
        for sequence in [0, 3, 6] {
            bench.write("t-0", p, sequence, 3).unwrap();
        }
        assert_eq!(bench.delete_records("t-0", -1), Ok(9));
        if crash {
            bench = bench.crash();
        }
        assert_eq!(bench.write("t-0", p, 6, 3), Ok(6), "a retry, crash {crash}");
        assert_eq!(bench.write("t-0", p, 10, 1), Err(45));
        assert_eq!(bench.write("t-0", p, 9, 1), Ok(9));
        assert_eq!(bench.fetch(COMMITTED, "t-0", 9).records, [9]);
    }
}

/// Deletes a topic with an open transaction on it, creates it again, and ends the transaction,
/// as far as the disk goes along.
fn delete_create_end(bench: &mut Bench, flavour: super::verbs::Flavour, p: Who) {
    bench.send(5, super::verbs::delete_topics("a"));
    bench.send(7, super::verbs::create_topics("a", 1, &[]));
    bench.send(flavour.end, super::verbs::end("x", p, COMMIT));
}

#[test]
fn no_crash_brings_a_marker_of_the_old_topic_into_the_new_one() {
    for flavour in [CLASSIC, TV2] {
        let mut start = Bench::open();
        start.topic("a", 2);
        start.topic("b", 1);
        let p = start.init("x").unwrap();
        for to in ["a-0", "a-1", "b-0"] {
            start.write_as(flavour, "x", to, p, 0, 3).unwrap();
        }
        let mut whole = start.clone();
        delete_create_end(&mut whole, flavour, p);
        let points = whole.files.changes - start.files.changes;
        assert!(points >= 3);
        for point in 0..=points {
            for at_once in [false, true] {
                let mut bench = start.clone();
                bench.files.hold_after(point);
                delete_create_end(&mut bench, flavour, p);
                let mut bench = bench.crash();
                if !at_once {
                    bench.pass_ms(1_000);
                }
                let there = bench.list_offset(UNCOMMITTED, "a-0", -1);
                let old = there.is_ok_and(|(end, _)| end == 3);
                if old {
                    assert_eq!(bench.delete_topic("a"), 0);
                }
                if there.is_err() || old {
                    bench.topic("a", 1);
                }
                bench.end_until(flavour.end, "x", p, COMMIT).unwrap();
                bench.pass_ms(1_000);
                assert_eq!(bench.state("x"), "CompleteCommit");
                assert_eq!(bench.ends("a-0"), (0, 0), "{flavour:?} {point}");
                assert_eq!(bench.visible("b-0"), [0, 1, 2]);
            }
        }
    }
}

#[test]
fn a_topic_that_goes_while_its_marker_is_owed_lets_the_transaction_end() {
    for flavour in [CLASSIC, TV2] {
        for recreate in [false, true] {
            for crash in [false, true] {
                let mut bench = Bench::open();
                bench.topic("a", 1);
                bench.topic("b", 1);
                let p = bench.init("x").unwrap();
                for to in ["a-0", "b-0"] {
                    bench.write_as(flavour, "x", to, p, 0, 3).unwrap();
                }
                // The decision is on disk, the markers are not, the deletion is right behind.
                bench.files.hold_after(1);
                bench.send(flavour.end, super::verbs::end("x", p, COMMIT));
                bench.files.fail(Failing::Journal, FileError::NoSpace, Some(1));
                bench.release();
                assert_eq!(bench.state("x"), "PrepareCommit");
                assert_eq!(bench.delete_topic("a"), 0);
                if recreate {
                    bench.topic("a", 1);
                }
                if crash {
                    bench = bench.crash();
                }
                bench.pass_ms(2_000);
                assert_eq!(bench.state("x"), "CompleteCommit");
                assert_eq!(bench.ends("b-0"), (4, 4));
                if recreate {
                    assert_eq!(bench.ends("a-0"), (0, 0), "{flavour:?} crash {crash}");
                }
            }
        }
    }
}

#[test]
fn a_deletion_beside_a_transition_in_flight_leaves_nothing_stuck() {
    for flavour in [CLASSIC, TV2] {
        let mut bench = Bench::open();
        bench.topic("a", 2);
        bench.topic("b", 1);
        let p = bench.init("x").unwrap();
        bench.write_as(flavour, "x", "a-0", p, 0, 1).unwrap();
        bench.write_as(flavour, "x", "b-0", p, 0, 1).unwrap();
        let ids = bench.send_at_once(alloc::vec![
            (5, super::verbs::delete_topics("a")),
            (3, super::verbs::add("x", p, &["a-1"])),
        ]);
        for id in ids {
            bench.await_answer(id);
        }
        bench.topic("a", 2);
        assert_eq!(bench.describe("x").unwrap().2, ["b-0"]);
        let mut bench = bench.crash();
        bench.end_until(flavour.end, "x", p, ABORT).unwrap();
        bench.pass_ms(1_000);
        assert_eq!(bench.state("x"), "CompleteAbort");
        for to in ["a-0", "a-1"] {
            assert_eq!(bench.ends(to), (0, 0), "{flavour:?}");
        }
    }
}

#[test]
fn a_fetch_that_waits_on_a_topic_that_goes_is_answered() {
    let mut bench = Bench::open();
    bench.topic("a", 1);
    let mut request = super::looks::fetch_request(COMMITTED, &[("a-0", 0)]);
    request.max_wait_ms = 100_000;
    let id = bench.send_over(3, 12, crate::wire::Request::Fetch(request));
    assert_eq!(bench.delete_topic("a"), 0);
    let seen = super::looks::fetched(bench.take(id).expect("at once"));
    assert_eq!(seen[0].code, 3);
}

#[test]
fn ids_that_never_had_a_transaction_expire_and_busy_ones_do_not() {
    let mut bench = expiring();
    bench.topic("t", 1);
    let busy = bench.init("busy").unwrap();
    bench.init("idle").unwrap();
    let mut who = busy;
    for _ in 0..5 {
        bench.pass_ms(2_000);
        bench.write_as(TV2, "busy", "t-0", who, 0, 1).unwrap();
        who = bench.end(5, "busy", who, COMMIT).unwrap();
    }
    assert_eq!(bench.describe("idle"), Err(105));
    assert_eq!(bench.state("busy"), "CompleteCommit");
}
