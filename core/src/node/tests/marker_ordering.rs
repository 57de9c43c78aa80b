//! Reports P07, P08, P17 and WriteTxnMarkers of an operator: which markers a partition takes.

use super::looks::COMMITTED;
use super::verbs::{ABORT, CLASSIC, COMMIT, TV2, Who};
use crate::node::testing::Bench;

#[test]
fn a_late_marker_does_not_end_the_next_transaction() {
    for count in [1, 3] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        assert_eq!(bench.write_in(12, "a", "t-0", p, 0, count), Ok(0));
        let p1 = bench.end(5, "a", p, COMMIT).unwrap();
        let n = i64::from(count);
        assert_eq!(bench.write_in(12, "a", "t-0", p1, 0, count), Ok(n + 1));
        let epoch = bench.producers("t-0")[0].coordinator_epoch;
        for decision in [COMMIT, ABORT] {
            assert_eq!(bench.marker(2, p1, decision, epoch, "t-0"), 47);
            assert_eq!(bench.marker(2, p, decision, epoch, "t-0"), 47);
        }
        assert_eq!(bench.ends("t-0"), (n + 1, 2 * n + 1));
        let p2 = bench.end(5, "a", p1, ABORT).unwrap();
        assert_eq!(p2, p.epoch(2));
        let seen = bench.fetch(COMMITTED, "t-0", 0);
        assert_eq!(seen.marker_offsets(), [n, 2 * n + 1]);
        assert_eq!((seen.markers[0].who, seen.markers[1].who), (p1, p2));
        assert_eq!(seen.aborted, Some([(p.0, n + 1)].into()));
        assert_eq!(seen.visible, (0..n).collect::<alloc::vec::Vec<_>>());
    }
}

#[test]
fn the_legacy_rule_still_takes_a_marker_of_the_current_epoch() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    assert_eq!(bench.write_in(12, "a", "t-0", p, 0, 3), Ok(0));
    let p1 = bench.end(5, "a", p, COMMIT).unwrap();
    assert_eq!(bench.write_in(12, "a", "t-0", p1, 0, 3), Ok(4));
    let epoch = bench.producers("t-0")[0].coordinator_epoch;
    assert_eq!(bench.marker(1, p1, COMMIT, epoch, "t-0"), 0);
    assert_eq!(bench.ends("t-0"), (8, 8));
    assert_eq!(bench.end(5, "a", p1, ABORT), Ok(p.epoch(2)));
    let seen = bench.fetch(COMMITTED, "t-0", 0);
    assert_eq!(seen.marker_offsets(), [3, 7, 8]);
    assert_eq!(seen.aborted, Some([].into()), "the abort is of nothing");
    assert_eq!(seen.visible, [0, 1, 2, 4, 5, 6]);
}

#[test]
fn a_marker_of_an_older_epoch_is_refused() {
    for version in [1, 2] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        let p1 = bench.init("a").unwrap();
        bench.write_as(CLASSIC, "a", "t-0", p1, 0, 1).unwrap();
        assert_eq!(bench.marker(version, p, ABORT, 1, "t-0"), 47);
        assert_eq!(bench.ends("t-0"), (0, 1));
    }
}

#[test]
fn a_repeated_marker_is_taken_and_changes_nothing() {
    for crash in [false, true] {
        for decision in [COMMIT, ABORT] {
            let mut bench = Bench::open();
            bench.topic("t", 1);
            let p = bench.init("a").unwrap();
            assert_eq!(bench.write_in(12, "a", "t-0", p, 0, 3), Ok(0));
            let p1 = bench.end(5, "a", p, decision).unwrap();
            let before = bench.fetch(COMMITTED, "t-0", 0);
            let epoch = bench.producers("t-0")[0].coordinator_epoch;
            if crash {
                bench = bench.crash();
            }
            for (again, epoch) in [(COMMIT, epoch), (ABORT, epoch), (decision, epoch + 1)] {
                assert_eq!(bench.marker(2, p1, again, epoch, "t-0"), 0);
                let after = bench.fetch(COMMITTED, "t-0", 0);
                assert_eq!(after.visible, before.visible);
                assert_eq!(after.aborted, before.aborted);
                assert_eq!(after.lso, after.high_watermark);
            }
            assert_eq!(bench.init_until("a"), p.epoch(2));
            assert_eq!(bench.state("a"), "Empty");
        }
    }
}

#[test]
fn a_marker_of_an_older_coordinator_is_fenced() {
    for version in [1, 2] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        bench.write_as(TV2, "a", "t-0", p, 0, 1).unwrap();
        let p1 = bench.end(5, "a", p, COMMIT).unwrap();
        assert_eq!(bench.marker(version, p1, COMMIT, 50, "t-0"), 0);
        bench.write_as(TV2, "a", "t-0", p1, 0, 1).unwrap();
        let end = bench.ends("t-0");
        assert_eq!(bench.marker(version, p1.next_epoch(), COMMIT, 49, "t-0"), 52);
        assert_eq!(bench.ends("t-0"), end, "nothing was appended");
        assert_eq!(bench.marker(version, p1.next_epoch(), COMMIT, 50, "t-0"), 0);
        assert_eq!(bench.ends("t-0"), (end.1 + 1, end.1 + 1));
    }
}

#[test]
fn a_marker_for_a_partition_that_is_not_there_is_refused() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    for version in [1, 2] {
        for to in ["t-1", "nope-0"] {
            assert_eq!(bench.marker(version, p, ABORT, 0, to), 3);
        }
    }
}

#[test]
fn a_marker_of_nobody_is_an_error_and_is_not_written() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    for version in [1, 2] {
        for who in [Who(-1, 0), Who(-1, -1), Who(-7, 3), p.epoch(-1)] {
            assert_eq!(bench.marker(version, who, ABORT, 0, "t-0"), -1);
            assert_eq!(bench.marker(version, who, COMMIT, 0, "t-9"), 3);
        }
    }
    assert_eq!(bench.ends("t-0"), (0, 0));
}

#[test]
fn markers_alone_open_no_transaction_and_list_no_abort() {
    for decision in [ABORT, COMMIT] {
        for crash in [false, true] {
            let mut bench = Bench::open();
            bench.topic("t", 1);
            let p = bench.init("a").unwrap();
            let q = bench.init("b").unwrap();
            assert_eq!(bench.add(3, "a", p, &["t-0"]), [0]);
            assert!(bench.end(4, "a", p, decision).is_ok());
            bench.write_as(CLASSIC, "b", "t-0", q, 0, 3).unwrap();
            assert!(bench.end(4, "b", q, COMMIT).is_ok());
            if crash {
                bench = bench.crash();
            }
            let seen = bench.fetch(COMMITTED, "t-0", 0);
            assert_eq!(seen.marker_offsets(), [0, 4]);
            assert_eq!(seen.aborted, Some([].into()));
            assert_eq!(seen.visible, [1, 2, 3]);
            assert_eq!(seen.lso, 5);
            assert_eq!(bench.open_on("t-0"), [0_i64; 0]);
        }
    }
}

#[test]
fn a_control_record_is_what_clients_read() {
    for (decision, kind) in [(COMMIT, 1), (ABORT, 0)] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        bench.write_as(TV2, "a", "t-0", p, 0, 1).unwrap();
        bench.end(5, "a", p, decision).unwrap();
        let bytes = bench.fetch(super::looks::UNCOMMITTED, "t-0", 1).bytes;
        let batches: alloc::vec::Vec<_> =
            crate::batch::batches(bytes).collect::<Result<_, _>>().unwrap();
        let header = batches[0].header();
        assert_eq!((header.base_offset, header.base_sequence, header.record_count), (1, -1, 1));
        assert!(header.is_transactional() && header.is_control());
        assert_eq!((header.producer_id, header.producer_epoch), (p.0, p.1 + 1));
        assert_eq!(header.base_timestamp, bench.now.wall_ms);
        let record = crate::batch::records(&batches[0]).next().unwrap().unwrap();
        assert_eq!(record.key.as_deref(), Some(&[0, 0, 0, kind][..]));
        let value = record.value.unwrap();
        assert_eq!(value.len(), 6);
        assert_eq!(value[..2], [0, 0]);
    }
}
