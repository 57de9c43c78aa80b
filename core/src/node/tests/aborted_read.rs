//! Reports P14, P15, P16: the aborted list of a Fetch covers what is in the answer.

use alloc::vec::Vec;

use super::looks::{COMMITTED, UNCOMMITTED, fetch_request, fetched};
use super::verbs::{ABORT, CLASSIC, COMMIT, TV2, Who, batch, produce, produced};
use crate::node::testing::Bench;
use crate::wire::Request;

/// How the list may have been forgotten and must be found again.
#[derive(Clone, Copy, Debug)]
enum Memory {
    Kept,
    Crash,
    Restart,
    CheckpointThenCrash,
    IndexesDeleted,
}

const MEMORIES: [Memory; 5] = [
    Memory::Kept,
    Memory::Crash,
    Memory::Restart,
    Memory::CheckpointThenCrash,
    Memory::IndexesDeleted,
];

fn forget(mut bench: Bench, memory: Memory) -> Bench {
    match memory {
        Memory::Kept => bench,
        Memory::Crash => bench.crash(),
        Memory::Restart => bench.restart(),
        Memory::CheckpointThenCrash => {
            bench.pass_ms(70_000);
            bench.crash()
        }
        Memory::IndexesDeleted => bench.restart_after(|files| {
            files.tamper("index", |_| None);
        }),
    }
}

/// Every aborted transaction whose marker is at or after the fetch offset and that begins before
/// the answer ends must be listed; the list ascends by first offset.
fn listed(bench: &mut Bench, from: i64, needed: &[(i64, i64)]) {
    let seen = bench.fetch(COMMITTED, "t-0", from);
    let list = seen.aborted.unwrap();
    assert!(list.is_sorted_by_key(|(_, first)| *first), "{list:?}");
    for one in needed {
        assert!(list.contains(one), "from {from}: {list:?} lacks {one:?}");
    }
}

#[test]
fn the_list_covers_everything_in_the_answer() {
    for memory in MEMORIES {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        let r = bench.init("b").unwrap();
        assert_eq!(bench.plain("t-0", 2), 0);
        assert_eq!(bench.write_as(CLASSIC, "a", "t-0", p, 0, 1), Ok(2));
        assert_eq!(bench.plain("t-0", 1), 3);
        assert_eq!(bench.write_as(CLASSIC, "b", "t-0", r, 0, 1), Ok(4));
        bench.end(4, "a", p, ABORT).unwrap();
        bench.end(4, "b", r, ABORT).unwrap();
        let mut bench = forget(bench, memory);
        let both = [(p.0, 2), (r.0, 4)];
        for from in 0..=5 {
            listed(&mut bench, from, &both);
            let seen = bench.fetch(COMMITTED, "t-0", from);
            let wanted: Vec<i64> = [0, 1, 3].into_iter().filter(|at| *at >= from).collect();
            let visible: Vec<i64> = seen.visible.into_iter().filter(|at| *at >= from).collect();
            assert_eq!(visible, wanted, "{memory:?} from {from}");
        }
        listed(&mut bench, 6, &both[1..]);
    }
}

#[test]
fn the_list_covers_answers_over_small_segments() {
    for memory in MEMORIES {
        let mut bench = Bench::open_with(|config| {
            config.log_segment_bytes = 1 << 20;
            config.verdict_journal_bytes = 8 << 20;
            config.verdict_cache_bytes = 0;
        });
        bench.topic("t", 1);
        let big = |bench: &mut Bench, id: Option<&str>, who: Who, sequence: i32| {
            let mut builder = crate::batch::BatchBuilder::new(1).producer(who.0, who.1, sequence);
            if id.is_some() {
                builder = builder.transactional();
            }
            builder.push(None, Some(&[b'x'; 600_000]), &[]);
            let batch = crate::batch::Screened::Batch(builder.build());
            produced(bench.ask(12, produce(12, id, "t-0", batch))).unwrap()
        };
        let p = bench.init("a").unwrap();
        let r = bench.init("b").unwrap();
        assert_eq!(big(&mut bench, None, Who::NOBODY, -1), 0);
        assert_eq!(big(&mut bench, Some("a"), p, 0), 1);
        assert_eq!(big(&mut bench, None, Who::NOBODY, -1), 2);
        assert_eq!(big(&mut bench, Some("b"), r, 0), 3);
        bench.end(5, "a", p, ABORT).unwrap();
        bench.end(5, "b", r, ABORT).unwrap();
        assert_eq!(big(&mut bench, None, Who::NOBODY, -1), 6);
        let mut bench = forget(bench, memory);
        bench.pass_ms(70_000);
        assert!(bench.files.paths("t-0/").iter().filter(|path| path.ends_with(".log")).count() > 2);
        assert_eq!(bench.visible("t-0"), [0, 2, 6], "{memory:?}");
        for from in 0..7 {
            let seen = bench.fetch(COMMITTED, "t-0", from);
            let end = seen.records.iter().chain(&seen.marker_offsets()).max().unwrap() + 1;
            let needed: Vec<_> = [(p.0, 1, 4), (r.0, 3, 5)]
                .into_iter()
                .filter(|(_, first, marker)| *marker >= from && *first < end)
                .map(|(pid, first, _)| (pid, first))
                .collect();
            listed(&mut bench, from, &needed);
        }
    }
}

#[test]
fn reads_that_begin_in_the_middle_get_the_transactions_they_are_in() {
    for memory in MEMORIES {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        assert_eq!(bench.write_as(TV2, "a", "t-0", p, 0, 2), Ok(0));
        let p1 = bench.end(5, "a", p, ABORT).unwrap();
        assert_eq!(bench.write_as(TV2, "a", "t-0", p1, 0, 2), Ok(3));
        let p2 = bench.end(5, "a", p1, COMMIT).unwrap();
        let mut bench = forget(bench, memory);
        assert_eq!(bench.write_as(TV2, "a", "t-0", p2, 0, 2), Ok(6));
        bench.end_until(5, "a", p2, ABORT).unwrap();
        let mut bench = forget(bench, memory);
        for from in 0..=9 {
            let seen = bench.fetch(COMMITTED, "t-0", from);
            let wanted: &[(i64, i64)] = match from {
                0..=2 => &[(p.0, 0), (p.0, 6)],
                3..=8 => &[(p.0, 6)],
                _ => &[],
            };
            assert_eq!(seen.aborted.as_deref(), Some(wanted), "{memory:?} from {from}");
            let visible: Vec<i64> = seen.visible.into_iter().filter(|at| *at >= from).collect();
            assert_eq!(visible, (from.max(3)..5).collect::<Vec<i64>>(), "{memory:?} from {from}");
        }
    }
}

#[test]
fn the_list_ascends_by_first_offset_whatever_order_they_ended_in() {
    for memory in MEMORIES {
        for ends in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let mut bench = Bench::open();
            bench.topic("t", 1);
            let ids = ["a", "b", "c"];
            let who = ids.map(|id| bench.init(id).unwrap());
            for i in 0..3 {
                bench.write_as(TV2, ids[i], "t-0", who[i], 0, 1).unwrap();
            }
            for i in ends {
                bench.end(5, ids[i], who[i], ABORT).unwrap();
            }
            let mut bench = forget(bench, memory);
            let seen = bench.fetch(COMMITTED, "t-0", 0);
            let wanted = [(who[0].0, 0), (who[1].0, 1), (who[2].0, 2)];
            assert_eq!(seen.aborted.as_deref(), Some(&wanted[..]), "{memory:?} {ends:?}");
        }
    }
}

#[test]
fn read_uncommitted_sees_aborted_records_and_gets_no_list() {
    for version in [4, 7, 11, 12] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        bench.write_as(TV2, "a", "t-0", p, 0, 1).unwrap();
        bench.end(5, "a", p, ABORT).unwrap();
        let seen = bench.fetch_all(version, UNCOMMITTED, &[("t-0", 0)]).remove(0);
        assert_eq!((seen.visible, seen.aborted), ([0].into(), None));
        assert_eq!(seen.markers.len(), 1);
        let seen = bench.fetch_all(version, COMMITTED, &[("t-0", 0)]).remove(0);
        assert_eq!((seen.visible.len(), seen.aborted), (0, Some([(p.0, 0)].into())));
        let seen = bench.fetch_all(version, COMMITTED, &[("t-0", 2)]).remove(0);
        assert_eq!(seen.aborted, Some([].into()), "an empty list, not null");
    }
}

#[test]
fn fetches_by_topic_id_are_the_same() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    bench.write_as(TV2, "a", "t-0", p, 0, 1).unwrap();
    bench.end(5, "a", p, ABORT).unwrap();
    let id = bench.node.meta.topic("t").unwrap().id;
    for version in [13, 16, 17, 18] {
        let mut request = fetch_request(COMMITTED, &[("t-0", 0)]);
        request.topics[0].topic_id = id.to_kafka();
        let seen = fetched(bench.ask(version, Request::Fetch(request.clone())));
        assert_eq!(seen[0].aborted, Some([(p.0, 0)].into()));
        request.topics[0].topic_id = crate::types::TopicId(77).to_kafka();
        let seen = fetched(bench.ask(version, Request::Fetch(request)));
        assert_eq!(seen[0].code, 100, "an unknown id");
    }
}

#[test]
fn a_list_survives_records_being_deleted_into_its_transaction() {
    for memory in MEMORIES {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        for sequence in 0..4 {
            bench.write_as(TV2, "a", "t-0", p, sequence, 1).unwrap();
        }
        bench.plain("t-0", 1);
        bench.end(5, "a", p, ABORT).unwrap();
        assert_eq!(bench.delete_records("t-0", 2), Ok(2));
        let mut bench = forget(bench, memory);
        let seen = bench.fetch(COMMITTED, "t-0", 2);
        assert_eq!(seen.log_start, 2, "{memory:?}");
        assert_eq!(seen.visible, [4], "{memory:?}");
        assert_eq!(bench.fetch(COMMITTED, "t-0", 1).code, 1);
    }
}

#[test]
fn records_may_be_deleted_into_a_transaction_that_is_open() {
    for crash in [false, true] {
        for decision in [COMMIT, ABORT] {
            let mut bench = Bench::open();
            bench.topic("t", 1);
            let p = bench.init("a").unwrap();
            for sequence in 0..4 {
                bench.write_as(TV2, "a", "t-0", p, sequence, 1).unwrap();
            }
            assert_eq!(bench.delete_records("t-0", 2), Ok(2));
            if crash {
                bench = bench.crash();
            }
            assert_eq!(bench.write_in(12, "a", "t-0", p, 4, 1), Ok(4), "it goes on");
            assert_eq!(bench.fetch(COMMITTED, "t-0", 2).records, [0_i64; 0]);
            bench.end_until(5, "a", p, decision).unwrap();
            let wanted: &[i64] = if decision == COMMIT { &[2, 3, 4] } else { &[] };
            assert_eq!(bench.visible("t-0"), wanted, "crash {crash}");
            assert_eq!(bench.ends("t-0"), (6, 6));
        }
    }
}

#[test]
fn an_aborted_batch_before_a_committed_one_of_the_same_producer_stays_hidden() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    let write = |bench: &mut Bench, sequence| {
        bench.add(3, "a", p, &["t-0"]);
        let request = produce(11, Some("a"), "t-0", batch(p, sequence, 1, true));
        produced(bench.ask(11, request)).unwrap()
    };
    let mut visible = Vec::new();
    for round in 0..8 {
        let at = write(&mut bench, round);
        let decision = if round % 3 == 0 { COMMIT } else { ABORT };
        bench.end(4, "a", p, decision).unwrap();
        if decision == COMMIT {
            visible.push(at);
        }
    }
    assert_eq!(bench.visible("t-0"), visible);
    let mut bench = bench.restart();
    assert_eq!(bench.visible("t-0"), visible);
}
