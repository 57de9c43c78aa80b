//! Reports P28, P32, P26, P27: what a crash or a failing disk leaves behind.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::looks::UNCOMMITTED;
use super::verbs::{COMMIT, LONG_MS, TV2, Who, batch, init, inited, produce, produced};
use crate::io::FileError;
use crate::node::testing::{Bench, Failing};

#[test]
fn a_batch_that_was_cut_off_is_written_again_and_is_no_duplicate() {
    for checkpoint in [false, true] {
        for torn in [0, 1, 40, 100, 150] {
            let mut bench = Bench::open();
            bench.topic("t", 1);
            let p = bench.idempotent();
            bench.write("t-0", p, 0, 3).unwrap();
            bench.write("t-0", p, 3, 3).unwrap();
            if checkpoint {
                bench.pass_ms(70_000);
            }
            bench.files.hold_after(0);
            let id = bench.send(12, produce(12, None, "t-0", batch(p, 6, 3, false)));
            assert!(bench.take(id).is_none());
            if checkpoint {
                bench.pass_ms(70_000);
                assert_eq!(produced(bench.take(id).unwrap()), Err(7), "its own timeout");
            }
            bench.files.tear(torn);
            let mut bench = bench.crash();
            assert!(bench.ready, "{:?}", bench.faults);
            assert_eq!(bench.ends("t-0"), (6, 6), "torn after {torn}");
            assert_eq!(bench.write("t-0", p, 6, 3), Ok(6));
            assert_eq!(bench.write("t-0", p, 3, 3), Ok(3));
            assert_eq!(bench.write("t-0", p, 6, 3), Ok(6));
            assert_eq!(bench.ends("t-0"), (9, 9));
        }
    }
}

#[test]
fn a_failed_batch_is_forgotten_and_is_no_duplicate() {
    for later in [1, 2] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.idempotent();
        let q = bench.idempotent();
        bench.write("t-0", p, 0, 3).unwrap();
        bench.files.fail(Failing::Journal, FileError::NoSpace, None);
        // Several in flight: all that came after the failed one fail with it.
        let requests = (0..later)
            .map(|i| (12, produce(12, None, "t-0", batch(p, 3 + 3 * i, 3, false))))
            .chain([(12, produce(12, None, "t-0", batch(q, 0, 1, false)))])
            .collect();
        for id in bench.send_at_once(requests) {
            assert_eq!(produced(bench.await_answer(id)), Err(56));
        }
        assert_eq!(bench.ends("t-0"), (3, 3));
        bench.files.mend();
        assert_eq!(bench.write("t-0", p, 3, 3), Ok(3));
        assert_eq!(bench.write("t-0", p, 3, 3), Ok(3));
        assert_eq!(bench.write("t-0", q, 0, 1), Ok(6));
        let mut bench = bench.crash();
        assert_eq!(bench.write("t-0", p, 3, 3), Ok(3));
        assert_eq!(bench.ends("t-0"), (7, 7));
        assert_eq!(bench.fetch(UNCOMMITTED, "t-0", 0).records, (0..7).collect::<Vec<i64>>());
    }
}

#[test]
fn a_crash_at_any_point_keeps_what_was_acknowledged() {
    let script = |bench: &mut Bench| {
        let mut acknowledged = Vec::new();
        let p = Who(1, 0);
        for i in 0..6 {
            let id = bench.send(12, produce(12, None, "t-0", batch(p, i, 1, false)));
            if let Some(answer) = bench.take(id) {
                acknowledged.push(produced(answer).unwrap());
            }
            if i == 2 {
                bench.pass_ms(70_000);
            }
        }
        acknowledged
    };
    let mut whole = Bench::open();
    whole.topic("t", 1);
    let before = whole.files.changes;
    let start = whole.clone();
    assert_eq!(script(&mut whole).len(), 6);
    for point in 0..=whole.files.changes - before {
        let mut bench = start.clone();
        bench.files.hold_after(point);
        let acknowledged = i64::try_from(script(&mut bench).len()).unwrap();
        for again in [None, Some(0), Some(3), Some(7)] {
            let bench = bench.clone();
            let mut bench = match again {
                None => bench.crash(),
                Some(changes) => bench.crash_twice(changes),
            };
            assert!(bench.ready, "{point} {again:?} {:?}", bench.faults);
            let (_, end) = bench.ends("t-0");
            assert!(end >= acknowledged, "{point}: {acknowledged} acknowledged, {end} kept");
            for i in 0..6 {
                let at = bench.write("t-0", Who(1, 0), i, 1);
                let forgotten = i64::from(i) < end - 5;
                let wanted = if forgotten { Err(45) } else { Ok(i64::from(i)) };
                assert_eq!(at, wanted, "{point} {again:?}");
            }
            assert_eq!(bench.ends("t-0"), (6, 6));
        }
    }
}

#[test]
fn producer_ids_are_never_given_twice() {
    let mut seen = BTreeSet::new();
    let mut bench = Bench::open();
    for life in 0..3 {
        for i in 0..2_500 {
            let id = (i % 10 == 0).then(|| super::verbs::name("x", life * 2_500 + i));
            let request = init(id.as_deref(), LONG_MS, Who::NOBODY);
            let who = inited(bench.ask(5, request)).unwrap();
            assert!(who.0 >= 0 && seen.insert(who.0), "{who:?}");
        }
        bench = bench.crash();
    }
    bench.topic("t", 1);
    let last = Who(*seen.last().unwrap(), 0);
    assert_eq!(bench.write("t-0", last, 0, 3), Ok(0));
}

#[test]
fn a_crash_while_a_block_of_ids_is_being_reserved_gives_none_twice() {
    let mut start = Bench::open();
    let mut given = BTreeSet::new();
    for _ in 0..890 {
        assert!(given.insert(start.idempotent().0));
    }
    for point in 0..4 {
        let mut bench = start.clone();
        let mut seen = given.clone();
        bench.files.hold_after(point);
        let mut waiting = 0;
        for _ in 0..200 {
            let id = bench.send(5, init(None, LONG_MS, Who::NOBODY));
            match bench.take(id).map(inited) {
                Some(Ok(who)) => assert!(seen.insert(who.0)),
                Some(Err(code)) => assert_eq!(code, 14, "not a made-up id"),
                None => waiting += 1,
            }
        }
        assert_eq!(waiting, 0, "an id needs no write of its own");
        for _ in 0..3 {
            bench = bench.crash();
            for _ in 0..3 {
                let who = bench.idempotent();
                assert!(seen.insert(who.0), "{who:?} after a crash at {point}");
            }
        }
    }
}

#[test]
fn ids_are_given_again_after_a_block_could_not_be_reserved() {
    let mut bench = Bench::open();
    let mut seen = BTreeSet::new();
    bench.files.fail(Failing::Journal, FileError::NoSpace, None);
    let mut refused = 0;
    for _ in 0..2_200 {
        match inited(bench.ask(5, init(None, LONG_MS, Who::NOBODY))) {
            Ok(who) => assert!(seen.insert(who.0)),
            Err(code) => {
                assert_eq!(code, 14);
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
    bench.files.mend();
    let mut given = 0;
    for _ in 0..10 {
        if let Ok(who) = inited(bench.ask(5, init(None, LONG_MS, Who::NOBODY))) {
            assert!(seen.insert(who.0));
            given += 1;
        }
    }
    assert!(given >= 9, "{given}");
}

#[test]
fn every_request_survives_a_full_disk_and_works_again_with_room() {
    for checkpoint in [false, true] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        assert_eq!(bench.write_as(TV2, "a", "t-0", p, 0, 1), Ok(0));
        bench.files.fail(Failing::Journal, FileError::NoSpace, None);
        if checkpoint {
            bench.files.fail(Failing::Data, FileError::NoSpace, None);
            bench.pass_ms(200_000);
            bench.files.fail(Failing::Journal, FileError::NoSpace, None);
        }
        let plain = produce(9, None, "t-0", batch(Who::NOBODY, -1, 1, false));
        assert_eq!(produced(bench.ask(9, plain)), Err(56));
        assert!(bench.delete_records("t-0", 0).is_err());
        assert_ne!(bench.delete_topic("t"), 0);
        assert!(bench.init("new").is_err());
        assert_eq!(bench.fetch(UNCOMMITTED, "t-0", 0).records, [0]);
        bench.files.mend();
        bench.pass_ms(5_000);
        let plain = produce(9, None, "t-0", batch(Who::NOBODY, -1, 1, false));
        let plain = produced(bench.ask(9, plain));
        assert!(plain.is_ok(), "{plain:?} checkpoint {checkpoint} {:?}", bench.faults);
        bench.topic("more", 1);
        assert_eq!(bench.plain("more-0", 1), 0);
        assert!(bench.init("new").is_ok());
        assert_eq!(bench.faults, [""; 0], "checkpoint {checkpoint}");
        let mut bench = bench.restart();
        assert_eq!(bench.ends("t-0").1, bench.fetch(UNCOMMITTED, "t-0", 0).high_watermark);
    }
}

#[test]
fn failed_reads_are_an_answer_and_pass() {
    let mut bench = Bench::open_with(|config| config.verdict_cache_bytes = 0);
    bench.topic("t", 1);
    bench.plain("t-0", 3);
    bench.pass_ms(70_000);
    let mut bench = bench.restart();
    bench.files.fail(Failing::Reads, FileError::Io, None);
    let seen = bench.fetch(UNCOMMITTED, "t-0", 0);
    assert!(seen.code == 56 || seen.records.len() == 3, "{seen:?}");
    bench.files.mend();
    assert_eq!(bench.fetch(UNCOMMITTED, "t-0", 0).records, [0, 1, 2]);
}

#[test]
fn without_fsync_a_failed_write_is_no_end() {
    let mut bench = Bench::open_with(|config| {
        config.verdict_durability = crate::config::Durability::Os;
    });
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    bench.files.fail(Failing::Journal, FileError::Io, Some(1));
    assert!(bench.write_as(TV2, "a", "t-0", p, 0, 1).is_err());
    bench.files.mend();
    assert_eq!(bench.write_as(TV2, "a", "t-0", p, 0, 1), Ok(0));
    assert_eq!(bench.end(5, "a", p, COMMIT), Ok(p.next_epoch()));
    assert_eq!(bench.visible("t-0"), [0]);
}

#[test]
fn a_journal_that_is_used_many_times_over_keeps_everything() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.idempotent();
    let mut sequence = 0;
    for round in 0..12 {
        for _ in 0..40 {
            let at = bench.write("t-0", p, sequence, 50).unwrap();
            assert_eq!(at, i64::from(sequence));
            sequence += 50;
        }
        bench = if round % 3 == 0 { bench.restart() } else { bench.crash() };
        assert!(bench.ready);
        assert_eq!(bench.write("t-0", p, sequence - 50, 50), Ok(i64::from(sequence) - 50));
    }
    assert_eq!(bench.ends("t-0"), (i64::from(sequence), i64::from(sequence)));
}

#[test]
fn a_sync_that_fails_in_a_checkpoint_is_final_too_and_loses_nothing() {
    for error in [FileError::Io, FileError::NoSpace] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.idempotent();
        bench.write("t-0", p, 0, 3).unwrap();
        bench.files.fail(Failing::Syncs, error, Some(1));
        bench.pass_ms(70_000);
        bench.files.mend();
        assert!(!bench.faults.is_empty());
        assert_eq!(bench.write("t-0", p, 3, 1), Err(56));
        assert_eq!(bench.fetch(UNCOMMITTED, "t-0", 0).records, [0, 1, 2]);
        let mut bench = bench.crash();
        assert_eq!(bench.write("t-0", p, 3, 1), Ok(3));
        assert_eq!(bench.fetch(UNCOMMITTED, "t-0", 0).records, [0, 1, 2, 3]);
    }
}
