//! Reports P01, P02, P04: what a partition remembers of a producer's batches, and for how long.

use alloc::vec::Vec;

use super::looks::COMMITTED;
use super::verbs::{ABORT, CLASSIC, COMMIT, OLD, TV2, Who};
use crate::node::testing::Bench;

/// Six batches of three; every base offset is its first sequence.
fn six_batches(bench: &mut Bench, to: &str, who: Who) {
    for sequence in [0, 3, 6, 9, 12, 15] {
        assert_eq!(bench.write(to, who, sequence, 3), Ok(i64::from(sequence)));
    }
}

#[test]
fn a_retry_inside_the_window_gets_its_old_offset_and_one_outside_does_not() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.idempotent();
    six_batches(&mut bench, "t-0", p);
    for sequence in [15, 12, 9, 6, 3] {
        assert_eq!(bench.write("t-0", p, sequence, 3), Ok(i64::from(sequence)));
    }
    assert_eq!(bench.write("t-0", p, 0, 3), Err(45), "the sixth oldest");
    assert_eq!(bench.write("t-0", p, 18, 3), Ok(18));
    let q = bench.idempotent();
    assert_eq!(bench.write("t-0", q, 0, 3), Ok(21));
    assert_eq!(bench.write("t-0", p, 18, 3), Ok(18));
    assert_eq!(bench.ends("t-0"), (24, 24));
}

#[test]
fn a_range_that_only_overlaps_a_remembered_batch_is_no_duplicate() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.idempotent();
    six_batches(&mut bench, "t-0", p);
    for (sequence, count) in [(3, 2), (4, 2), (15, 2), (16, 2), (17, 2), (12, 6), (15, 4), (14, 1)]
    {
        assert_eq!(bench.write("t-0", p, sequence, count), Err(45), "{sequence} {count}");
    }
    for (sequence, count) in [(19, 1), (21, 3), (100, 1)] {
        assert_eq!(bench.write("t-0", p, sequence, count), Err(45), "a gap: {sequence} {count}");
    }
    assert_eq!(bench.ends("t-0"), (18, 18));
}

#[test]
fn windows_are_per_partition_and_per_producer() {
    let mut bench = Bench::open();
    bench.topic("t", 3);
    let (p, q) = (bench.idempotent(), bench.idempotent());
    for to in ["t-0", "t-1", "t-2"] {
        six_batches(&mut bench, to, p);
    }
    for sequence in [0, 1, 2] {
        assert_eq!(bench.write("t-1", q, sequence, 1), Ok(18 + i64::from(sequence)));
    }
    for to in ["t-2", "t-0", "t-1"] {
        assert_eq!(bench.write(to, p, 3, 3), Ok(3));
        assert_eq!(bench.write(to, p, 0, 3), Err(45));
    }
    assert_eq!(bench.write("t-1", q, 0, 1), Ok(18));
    assert_eq!(bench.ends("t-1"), (21, 21));
}

#[test]
fn a_retry_in_a_transaction_gets_its_old_offset_in_every_flavour() {
    for flavour in [OLD, CLASSIC, TV2] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        for i in 0..5 {
            let at = bench.write_as(flavour, "a", "t-0", p, i * 2, 2);
            assert_eq!(at, Ok(i64::from(i) * 2));
        }
        for i in (0..5).rev() {
            let at = bench.write_as(flavour, "a", "t-0", p, i * 2, 2);
            assert_eq!(at, Ok(i64::from(i) * 2));
        }
        bench.end(flavour.end, "a", p, COMMIT).unwrap();
        assert_eq!(bench.ends("t-0"), (11, 11));
        assert_eq!(bench.visible("t-0"), (0..10).collect::<Vec<i64>>());
    }
}

/// How a broker ends, and what is done to its files before it begins again.
#[derive(Clone, Copy, Debug)]
enum End {
    Clean,
    Crash,
    /// A checkpoint (snapshots), more batches, a crash.
    CheckpointThenCrash,
}

const ENDS: [End; 3] = [End::Clean, End::Crash, End::CheckpointThenCrash];

#[derive(Clone, Copy, Debug)]
enum Snapshots {
    Left,
    Empty,
    Cut,
    Gone,
    NewerThanTheLog,
    Damaged,
}

const SNAPSHOTS: [Snapshots; 6] = [
    Snapshots::Left,
    Snapshots::Empty,
    Snapshots::Cut,
    Snapshots::Gone,
    Snapshots::NewerThanTheLog,
    Snapshots::Damaged,
];

fn tamper(files: &mut crate::node::testing::Files, end: End, how: Snapshots) {
    let snapshots = files.paths("t-0/").iter().filter(|path| path.ends_with(".snapshot")).count();
    assert!(snapshots > 0 || matches!(end, End::Crash), "there is something to change");
    match how {
        Snapshots::Left => {}
        Snapshots::Empty => {
            files.tamper(".snapshot", |_| Some(Vec::new()));
        }
        Snapshots::Cut => {
            files.tamper(".snapshot", |bytes| Some(bytes[..bytes.len() / 2].to_vec()));
        }
        Snapshots::Gone => {
            files.tamper(".snapshot", |_| None);
        }
        Snapshots::NewerThanTheLog => {
            for path in files.paths(".snapshot") {
                let bytes = files.get(&path).unwrap().clone();
                let folder = path.rsplit_once('/').unwrap().0;
                files.put(&alloc::format!("{folder}/00000000000000009999.snapshot"), bytes);
            }
        }
        Snapshots::Damaged => {
            files.tamper(".snapshot", |mut bytes| {
                let at = bytes.len() / 2;
                bytes[at] ^= 0x40;
                Some(bytes)
            });
        }
    }
}

fn again(mut bench: Bench, end: End, how: Snapshots) -> Bench {
    match end {
        End::Clean => bench.restart_after(|files| tamper(files, end, how)),
        End::Crash | End::CheckpointThenCrash => {
            tamper(&mut bench.files, end, how);
            bench.crash()
        }
    }
}

#[test]
fn all_five_batches_are_known_after_every_kind_of_start() {
    for end in ENDS {
        for how in SNAPSHOTS {
            let mut bench = Bench::open();
            bench.topic("t", 1);
            let p = bench.idempotent();
            for sequence in [0, 3, 6, 9, 12] {
                assert_eq!(bench.write("t-0", p, sequence, 3), Ok(i64::from(sequence)));
                if sequence == 3 && matches!(end, End::CheckpointThenCrash) {
                    bench.pass_ms(120_000);
                }
            }
            for start in 0..2 {
                bench = again(bench, end, how);
                assert!(bench.ready, "{end:?} {how:?} {:?}", bench.faults);
                for sequence in [12, 3, 0, 6, 9] {
                    let at = bench.write("t-0", p, sequence, 3);
                    assert_eq!(at, Ok(i64::from(sequence)), "{end:?} {how:?} start {start}");
                }
            }
            assert_eq!(bench.write("t-0", p, 15, 3), Ok(15), "{end:?} {how:?}");
            assert_eq!(bench.ends("t-0"), (18, 18));
        }
    }
}

#[test]
fn an_open_transaction_and_the_aborted_list_are_known_after_every_kind_of_start() {
    for end in ENDS {
        for how in SNAPSHOTS {
            let mut bench =
                Bench::open_with(|config| config.verdict_checkpoint_interval_ms = 1_000);
            bench.topic("t", 1);
            let p = bench.init("a").unwrap();
            let q = bench.init("b").unwrap();
            assert_eq!(bench.write_in(12, "a", "t-0", p, 0, 2), Ok(0));
            let p = bench.end(5, "a", p, ABORT).unwrap();
            assert_eq!(bench.write_in(12, "b", "t-0", q, 0, 2), Ok(3));
            if matches!(end, End::CheckpointThenCrash) {
                bench.pass_ms(3_000);
            }
            assert_eq!(bench.write_in(12, "a", "t-0", p, 0, 1), Ok(5));
            let p = bench.end(5, "a", p, COMMIT).unwrap();
            let before = bench.fetch(COMMITTED, "t-0", 0);
            assert_eq!((before.lso, before.high_watermark), (3, 7));
            assert_eq!(before.aborted, Some(alloc::vec![(p.0, 0)]));
            let mut bench = again(bench, end, how);
            assert!(bench.ready, "{end:?} {how:?} {:?}", bench.faults);
            let after = bench.fetch(COMMITTED, "t-0", 0);
            assert_eq!(before, after, "{end:?} {how:?}");
            assert_eq!(bench.open_on("t-0"), [3]);
            assert_eq!(bench.write_in(12, "b", "t-0", q, 0, 2), Ok(3), "a retry");
            assert_eq!(bench.write_in(12, "b", "t-0", q, 2, 1), Ok(7), "{end:?} {how:?}");
            assert!(bench.end_until(5, "b", q, COMMIT).is_ok());
            assert_eq!(bench.visible("t-0"), [3, 4, 5, 7]);
            assert_eq!(bench.ends("t-0"), (9, 9));
        }
    }
}

#[test]
fn sequences_go_on_at_zero_after_the_largest() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    assert_eq!(bench.plain("t-0", 1), 0);
    let p = bench.idempotent();
    assert_eq!(bench.write("t-0", p, 2_147_483_640, 5), Ok(1));
    assert_eq!(bench.write("t-0", p, 2_147_483_645, 5), Ok(6));
    assert_eq!(bench.write("t-0", p, 2, 2), Ok(11));
    assert_eq!(bench.producers("t-0")[0].last_sequence, 3);
    assert_eq!(bench.write("t-0", p, 0, 1), Err(45));
    assert_eq!(bench.write("t-0", p, 2_147_483_645, 5), Ok(6), "a retry over the wrap");
    let mut bench = bench.crash();
    assert_eq!(bench.write("t-0", p, 2_147_483_645, 5), Ok(6), "and after a crash");
    assert_eq!(bench.write("t-0", p, 4, 1), Ok(13));
}

#[test]
fn a_batch_that_ends_at_the_largest_sequence_is_followed_by_zero() {
    for last in [1, 2, 7] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        bench.plain("t-0", 1);
        let p = bench.idempotent();
        assert_eq!(bench.write("t-0", p, i32::MAX - last + 1, last), Ok(1));
        assert_eq!(bench.producers("t-0")[0].last_sequence, i32::MAX);
        assert_eq!(bench.write("t-0", p, 1, 1), Err(45));
        assert_eq!(bench.write("t-0", p, 0, 1), Ok(1 + i64::from(last)));
    }
}
