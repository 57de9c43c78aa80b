//! Reports P12, P13: what read_committed may see, by offset and by time; and what Fetch waits for.

use super::looks::{COMMITTED, UNCOMMITTED, fetch_request, fetched};
use super::verbs::{ABORT, CLASSIC, COMMIT, OLD, TV2, batch, produce, produced};
use crate::batch::{BatchBuilder, Screened};
use crate::node::testing::Bench;
use crate::wire::Request;

#[test]
fn read_committed_stops_below_the_last_stable_offset() {
    for flavour in [OLD, CLASSIC, TV2] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        assert_eq!(bench.plain("t-0", 1), 0);
        assert_eq!(bench.write_as(flavour, "a", "t-0", p, 0, 2), Ok(1));
        assert_eq!(bench.plain("t-0", 1), 3);
        let seen = bench.fetch(COMMITTED, "t-0", 0);
        assert_eq!((seen.records, seen.lso, seen.high_watermark), ([0].into(), 1, 4));
        assert_eq!(seen.aborted, Some([].into()));
        for from in 1..=4 {
            let seen = bench.fetch(COMMITTED, "t-0", from);
            assert_eq!((seen.code, seen.records.len()), (0, 0), "from {from}");
        }
        assert_eq!(bench.fetch(COMMITTED, "t-0", 5).code, 1);
        assert_eq!(bench.fetch(UNCOMMITTED, "t-0", 0).records, [0, 1, 2, 3]);
        assert_eq!(bench.ends("t-0"), (1, 4));
        bench.end(flavour.end, "a", p, ABORT).unwrap();
        let seen = bench.fetch(COMMITTED, "t-0", 0);
        assert_eq!(seen.records, [0, 1, 2, 3]);
        assert_eq!(seen.marker_offsets(), [4]);
        assert_eq!(seen.aborted, Some([(p.0, 1)].into()));
        assert_eq!((seen.visible, seen.lso), ([0, 3].into(), 5));
    }
}

#[test]
fn the_first_open_transaction_of_several_holds_the_offset() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let ids = ["a", "b", "c"];
        let who = ids.map(|id| bench.init(id).unwrap());
        for i in 0..3 {
            let at = i64::try_from(i).unwrap() * 2;
            assert_eq!(bench.write_as(TV2, ids[i], "t-0", who[i], 0, 2), Ok(at));
        }
        let mut open = alloc::vec![0, 1, 2];
        for (end, i) in (6_i64..).zip(order) {
            assert_eq!(bench.ends("t-0"), (open[0] * 2, end), "{order:?}");
            bench.end(5, ids[i], who[i], COMMIT).unwrap();
            open.retain(|open| *open != i64::try_from(i).unwrap());
        }
        assert_eq!(bench.ends("t-0"), (9, 9));
    }
}

fn timed(bench: &mut Bench, id: Option<&str>, who: super::verbs::Who, sequence: i32, at: i64) {
    let mut builder = BatchBuilder::new(at).producer(who.0, who.1, sequence);
    if id.is_some() {
        builder = builder.transactional();
    }
    builder.push(None, Some(b"v"), &[]);
    let request = produce(12, id, "t-0", Screened::Batch(builder.build()));
    produced(bench.ask(12, request)).unwrap();
}

#[test]
fn look_ups_by_time_respect_the_last_stable_offset() {
    for decision in [COMMIT, ABORT] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        timed(&mut bench, None, super::verbs::Who::NOBODY, -1, 100);
        timed(&mut bench, Some("a"), p, 0, 200);
        timed(&mut bench, None, super::verbs::Who::NOBODY, -1, 300);
        for time in [150, 250] {
            assert_eq!(bench.list_offset(COMMITTED, "t-0", time), Ok((-1, -1)));
        }
        assert_eq!(bench.list_offset(COMMITTED, "t-0", 100), Ok((0, 100)));
        assert_eq!(bench.list_offset(UNCOMMITTED, "t-0", 150), Ok((1, 200)));
        bench.end(5, "a", p, decision).unwrap();
        assert_eq!(bench.list_offset(COMMITTED, "t-0", 150), Ok((1, 200)));
        assert_eq!(bench.list_offset(COMMITTED, "t-0", 250), Ok((2, 300)));
        let mut bench = bench.restart();
        assert_eq!(bench.list_offset(COMMITTED, "t-0", 150), Ok((1, 200)));
        assert_eq!(bench.list_offset(COMMITTED, "t-0", 301).unwrap().0, 3, "the marker's time");
        assert_eq!(bench.list_offset(COMMITTED, "t-0", i64::MAX), Ok((-1, -1)));
        assert_eq!(bench.list_offset(COMMITTED, "t-0", -2), Ok((0, -1)));
    }
}

#[test]
fn a_fetch_waits_for_bytes_it_may_see() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    let wait = |isolation| {
        let mut request = fetch_request(isolation, &[("t-0", 0)]);
        request.max_wait_ms = 10_000;
        Request::Fetch(request)
    };
    let committed = bench.send_over(7, 12, wait(COMMITTED));
    let uncommitted = bench.send_over(8, 12, wait(UNCOMMITTED));
    bench.pass_ms(100);
    assert!(bench.take(uncommitted).is_none());
    bench.write_as(TV2, "a", "t-0", p, 0, 1).unwrap();
    assert_eq!(fetched(bench.take(uncommitted).unwrap())[0].records, [0]);
    assert!(bench.take(committed).is_none(), "an open record wakes nobody here");
    bench.end(5, "a", p, COMMIT).unwrap();
    assert_eq!(fetched(bench.take(committed).unwrap())[0].visible, [0]);
}

#[test]
fn a_fetch_that_sees_nothing_is_answered_at_its_deadline() {
    let mut bench = Bench::open();
    bench.topic("t", 2);
    let mut request = fetch_request(COMMITTED, &[("t-0", 0), ("t-1", 0)]);
    request.max_wait_ms = 500;
    let id = bench.send(12, Request::Fetch(request.clone()));
    bench.pass_ms(499);
    assert!(bench.take(id).is_none());
    bench.pass_ms(2);
    let seen = fetched(bench.take(id).unwrap());
    assert!(seen.iter().all(|part| part.code == 0 && part.records.is_empty()));
    request.min_bytes = 0;
    let id = bench.send(12, Request::Fetch(request));
    assert!(bench.take(id).is_some(), "no bytes wanted, none awaited");
}

#[test]
fn a_fetch_waits_for_its_fewest_bytes_over_all_partitions() {
    let mut bench = Bench::open();
    bench.topic("t", 2);
    bench.plain("t-0", 1);
    let size = i32::try_from(bench.fetch(UNCOMMITTED, "t-0", 0).bytes.len()).unwrap();
    let mut request = fetch_request(UNCOMMITTED, &[("t-0", 0), ("t-1", 0)]);
    request.max_wait_ms = 60_000;
    request.min_bytes = size + 1;
    let id = bench.send(12, Request::Fetch(request));
    bench.pass_ms(1_000);
    assert!(bench.take(id).is_none());
    bench.plain("t-1", 1);
    let seen = fetched(bench.take(id).unwrap());
    assert_eq!((seen[0].records.as_slice(), seen[1].records.as_slice()), (&[0][..], &[0][..]));
}

#[test]
fn a_fetch_with_little_room_still_makes_progress() {
    let mut bench = Bench::open();
    bench.topic("t", 2);
    for to in ["t-0", "t-1"] {
        for _ in 0..4 {
            bench.plain(to, 1);
        }
    }
    let size = i32::try_from(bench.fetch(UNCOMMITTED, "t-0", 3).bytes.len()).unwrap();
    for (max_bytes, partition_bytes, counts) in [
        (1, 1 << 20, [1, 0]),
        (0, 1 << 20, [1, 0]),
        (1 << 20, 1, [1, 0]),
        (size * 2, 1 << 20, [2, 0]),
        (size * 5, 1 << 20, [4, 1]),
        (1 << 20, size * 2, [2, 2]),
    ] {
        let mut request = fetch_request(UNCOMMITTED, &[("t-0", 0), ("t-1", 0)]);
        request.max_bytes = max_bytes;
        for topic in &mut request.topics {
            topic.partitions[0].partition_max_bytes = partition_bytes;
        }
        let seen = fetched(bench.ask(12, Request::Fetch(request)));
        let found = [seen[0].records.len(), seen[1].records.len()];
        assert_eq!(found, counts, "{max_bytes} {partition_bytes}");
    }
}

#[test]
fn one_failing_partition_does_not_hold_up_or_spoil_the_others() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    bench.plain("t-0", 2);
    let from = [("nope-0", 0), ("t-0", 1), ("t-7", 0)];
    let mut request = fetch_request(COMMITTED, &from);
    request.max_wait_ms = 60_000;
    request.min_bytes = 1 << 20;
    let id = bench.send(12, Request::Fetch(request));
    let seen = fetched(bench.take(id).expect("an error is answered at once"));
    assert_eq!([seen[0].code, seen[1].code, seen[2].code], [3, 0, 3]);
    assert_eq!(seen[1].records, [0, 1], "the batch that holds the offset");
}

#[test]
fn a_closed_connections_fetch_is_forgotten() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let mut request = fetch_request(COMMITTED, &[("t-0", 0)]);
    request.max_wait_ms = 1_000;
    let id = bench.send_over(9, 12, Request::Fetch(request));
    bench.input(crate::io::Input::ConnectionClosed { conn: crate::io::ConnId(9) });
    bench.plain("t-0", 1);
    bench.pass_ms(2_000);
    assert!(bench.take(id).is_none());
}

#[test]
fn what_is_not_on_disk_yet_is_not_seen() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    bench.plain("t-0", 1);
    bench.files.hold_after(0);
    let write = produce(9, None, "t-0", batch(super::verbs::Who::NOBODY, -1, 2, false));
    let id = bench.send(9, write);
    assert!(bench.take(id).is_none());
    assert_eq!(bench.ends("t-0"), (1, 1));
    assert_eq!(bench.fetch(UNCOMMITTED, "t-0", 0).records, [0]);
    bench.release();
    assert_eq!(produced(bench.take(id).unwrap()), Ok(1));
    assert_eq!(bench.ends("t-0"), (3, 3));
}

#[test]
fn the_largest_timestamp_is_found_wherever_it_is() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let nobody = super::verbs::Who::NOBODY;
    for at in [100, 400, 200] {
        timed(&mut bench, None, nobody, -1, at);
    }
    assert_eq!(bench.list_offset(UNCOMMITTED, "t-0", -3), Ok((1, 400)));
    assert_eq!(bench.list_offset(UNCOMMITTED, "t-0", 150), Ok((1, 400)));
    assert_eq!(bench.list_offset(UNCOMMITTED, "t-0", 401), Ok((-1, -1)));
    assert_eq!(bench.delete_records("t-0", 2), Ok(2));
    assert_eq!(bench.list_offset(UNCOMMITTED, "t-0", 0), Ok((2, 200)));
    assert_eq!(bench.list_offset(UNCOMMITTED, "t-0", -2), Ok((2, -1)));
    let mut bench = bench.restart();
    assert_eq!(bench.list_offset(UNCOMMITTED, "t-0", 0), Ok((2, 200)));
    assert_eq!(bench.list_offset(UNCOMMITTED, "t-9", 0), Err(3));
}

#[test]
fn a_look_up_by_time_names_no_record_that_was_deleted() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    // Two batches of three, the oldest of which has the latest time.
    for at in [300, 200] {
        let mut builder = BatchBuilder::new(at);
        (0..3).for_each(|_| builder.push(None, Some(b"v"), &[]));
        produced(bench.ask(12, produce(12, None, "t-0", Screened::Batch(builder.build()))))
            .unwrap();
    }
    for (start, largest, at_least_100) in [(2, (2, 300), (2, 300)), (4, (4, 200), (4, 200))] {
        assert_eq!(bench.delete_records("t-0", start), Ok(start));
        assert_eq!(bench.list_offset(UNCOMMITTED, "t-0", -3), Ok(largest));
        assert_eq!(bench.list_offset(UNCOMMITTED, "t-0", 100), Ok(at_least_100));
    }
    assert_eq!(bench.list_offset(UNCOMMITTED, "t-0", 250), Ok((-1, -1)));
}

#[test]
fn where_nothing_is_answered_no_aborted_transaction_is_listed() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let (p, q) = (bench.init("a").unwrap(), bench.init("b").unwrap());
    assert_eq!(bench.write_as(TV2, "a", "t-0", p, 0, 3), Ok(0));
    assert_eq!(bench.write_as(TV2, "b", "t-0", q, 0, 1), Ok(3));
    bench.end(5, "a", p, ABORT).unwrap();
    assert_eq!(bench.fetch(COMMITTED, "t-0", 2).aborted, Some([(p.0, 0)].into()));
    for beyond_the_stable in [3, 4, 5] {
        let seen = bench.fetch(COMMITTED, "t-0", beyond_the_stable);
        assert_eq!((seen.code, seen.lso, seen.aborted), (0, 3, Some([].into())));
    }
}

#[test]
fn one_connections_requests_are_all_answered_while_a_fetch_of_it_waits() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let mut request = fetch_request(COMMITTED, &[("t-0", 0)]);
    request.max_wait_ms = 10_000;
    let fetch = bench.send(12, Request::Fetch(request));
    let p = bench.init("a").unwrap();
    bench.write_as(TV2, "a", "t-0", p, 0, 1).unwrap();
    assert!(bench.take(fetch).is_none());
    bench.end(5, "a", p, ABORT).unwrap();
    let seen = fetched(bench.take(fetch).expect("the marker wakes it"));
    assert_eq!((seen[0].visible.len(), seen[0].lso), (0, 2));
    assert_eq!(seen[0].aborted, Some([(p.0, 0)].into()));
}
