//! Reports P10, P11, P35: ends that are repeated, contradicted, or of nothing.

use super::looks::COMMITTED;
use super::verbs::{
    ABORT, CLASSIC, COMMIT, LONG_MS, OLD, TV2, Who, end, ended, init, inited, name,
};
use crate::io::Input;
use crate::node::testing::Bench;

const fn other(decision: crate::types::Decision) -> crate::types::Decision {
    match decision {
        COMMIT => ABORT,
        ABORT => COMMIT,
    }
}

#[test]
fn a_tv2_end_whose_answer_was_lost_is_answered_again() {
    for decision in [COMMIT, ABORT] {
        for crash in [false, true] {
            let mut bench = Bench::open();
            bench.topic("t", 1);
            let p = bench.init("a").unwrap();
            bench.write_as(TV2, "a", "t-0", p, 0, 3).unwrap();
            let p1 = p.next_epoch();
            assert_eq!(bench.end(5, "a", p, decision), Ok(p1));
            if crash {
                bench = bench.crash();
            }
            for _ in 0..2 {
                assert_eq!(bench.end_until(5, "a", p, decision), Ok(p1));
                assert_eq!(bench.end(5, "a", p, other(decision)), Err(48));
            }
            assert_eq!(bench.ends("t-0"), (4, 4), "one marker");
            assert_eq!(bench.write_as(TV2, "a", "t-0", p1, 0, 3), Ok(4));
            for late in [COMMIT, ABORT] {
                assert_eq!(bench.end(5, "a", p, late), Err(90), "the next one is open");
            }
            assert_eq!(bench.ends("t-0"), (4, 7));
            assert_eq!(bench.end(5, "a", p1, COMMIT), Ok(p.epoch(2)));
        }
    }
}

#[test]
fn a_copy_right_behind_a_tv2_end_meets_it_or_is_a_repeat() {
    for copies in [1, 3] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        bench.write_as(TV2, "a", "t-0", p, 0, 1).unwrap();
        let requests = (0..=copies).map(|_| (5, end("a", p, COMMIT))).collect();
        let ids = bench.send_at_once(requests);
        assert_eq!(ended(bench.await_answer(ids[0])), Ok(p.next_epoch()));
        for id in &ids[1..] {
            let answer = ended(bench.await_answer(*id));
            assert!([Err(51), Ok(p.next_epoch())].contains(&answer), "{answer:?}");
        }
        assert_eq!(bench.ends("t-0"), (2, 2));
    }
}

#[test]
fn a_classic_end_is_repeated_without_a_second_marker() {
    for flavour in [OLD, CLASSIC] {
        for decision in [ABORT, COMMIT] {
            let mut bench = Bench::open();
            bench.topic("t", 1);
            let p = bench.init("a").unwrap();
            let q = bench.init("b").unwrap();
            bench.write_as(flavour, "b", "t-0", q, 0, 1).unwrap();
            bench.write_as(flavour, "a", "t-0", p, 0, 3).unwrap();
            assert!(bench.end(flavour.end, "a", p, decision).is_ok());
            for _ in 0..3 {
                assert!(bench.end(flavour.end, "a", p, decision).is_ok());
                assert_eq!(bench.end(flavour.end, "a", p, other(decision)), Err(48));
            }
            assert_eq!(bench.open_on("t-0"), [0], "the other producer's");
            assert_eq!(bench.ends("t-0"), (0, 5));
            assert!(bench.end(flavour.end, "b", q, COMMIT).is_ok());
            assert_eq!(bench.ends("t-0"), (6, 6));
        }
    }
}

#[test]
fn the_end_and_the_sweep_at_the_same_moment_have_one_decision() {
    for flavour in [CLASSIC, TV2] {
        for sweep_first in [false, true] {
            let mut bench = Bench::open_with(|config| {
                config.transaction_abort_timed_out_transaction_cleanup_interval_ms = 200;
            });
            bench.topic("t", 2);
            let p = bench.init_for("a", 1_000).unwrap();
            for to in ["t-0", "t-1"] {
                bench.write_as(flavour, "a", to, p, 0, 2).unwrap();
            }
            // Past the timeout, before the sweep that notices it.
            bench.now.wall_ms += 2_000;
            let before = bench.node.next_timeout().unwrap();
            bench.files.hold_after(0);
            let id = if sweep_first {
                bench.now.at = before.after_ms(200);
                bench.input(Input::Tick);
                bench.send(flavour.end, end("a", p, COMMIT))
            } else {
                let id = bench.send(flavour.end, end("a", p, COMMIT));
                bench.now.at = before.after_ms(200);
                bench.input(Input::Tick);
                id
            };
            bench.release();
            let answer = ended(bench.await_answer(id));
            bench.pass_ms(1_000);
            let committed = bench.state("a") == "CompleteCommit";
            match answer {
                Ok(_) => assert!(committed),
                Err(code) => {
                    assert!([90, 51, 48].contains(&code), "{code}");
                    assert_eq!(bench.state("a"), "CompleteAbort");
                }
            }
            assert_eq!(committed, !sweep_first, "{flavour:?}");
            for to in ["t-0", "t-1"] {
                assert_eq!(bench.ends(to), (3, 3));
                assert_eq!(bench.visible(to).is_empty(), !committed);
                assert_eq!(bench.fetch(COMMITTED, to, 0).markers.len(), 1);
            }
        }
    }
}

#[test]
fn transactions_that_end_at_the_same_moment_on_the_same_partitions_all_end() {
    for flavour in [CLASSIC, TV2] {
        let mut bench = Bench::open();
        bench.topic("t", 2);
        let mut producers: alloc::vec::Vec<Who> =
            (0..4).map(|i| bench.init(&name("x", i)).unwrap()).collect();
        for round in 0..10 {
            for (i, who) in producers.iter().enumerate() {
                for to in ["t-0", "t-1"] {
                    let sequence = if flavour.is_tv2() { 0 } else { round };
                    bench.write_as(flavour, &name("x", i), to, *who, sequence, 1).unwrap();
                }
            }
            let requests = producers
                .iter()
                .enumerate()
                .map(|(i, who)| (flavour.end, end(&name("x", i), *who, COMMIT)))
                .collect();
            let ids = bench.send_at_once(requests);
            for (who, id) in producers.iter_mut().zip(ids) {
                let after = ended(bench.await_answer(id)).unwrap();
                if flavour.is_tv2() {
                    assert_eq!(after, who.next_epoch());
                    *who = after;
                }
            }
        }
        for to in ["t-0", "t-1"] {
            assert_eq!(bench.ends(to), (80, 80));
            assert_eq!(bench.visible(to).len(), 40);
        }
    }
}

#[test]
fn a_classic_end_of_nothing_is_refused_and_harmless() {
    for flavour in [OLD, CLASSIC] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        for decision in [COMMIT, ABORT, COMMIT] {
            assert_eq!(bench.end(flavour.end, "a", p, decision), Err(48));
            assert_eq!(bench.describe("a"), Ok(("Empty".into(), p, [].into())));
        }
        bench.write_as(flavour, "a", "t-0", p, 0, 1).unwrap();
        assert!(bench.end(flavour.end, "a", p, COMMIT).is_ok());
        assert_eq!(bench.visible("t-0"), [0]);
    }
}

#[test]
fn a_tv2_abort_of_nothing_raises_the_epoch_and_a_commit_is_refused() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    assert_eq!(bench.end(5, "a", p, COMMIT), Err(48), "a fresh id");
    let p1 = p.next_epoch();
    assert_eq!(bench.end(5, "a", p, ABORT), Ok(p1));
    assert_eq!(bench.end(5, "a", p, ABORT), Ok(p1), "repeated");
    assert_eq!(bench.end(5, "a", p1, COMMIT), Err(48), "after an empty abort");
    assert!(bench.end(4, "a", p1, ABORT).is_ok(), "classic, a repeat");
    assert_eq!(bench.end(4, "a", p1, COMMIT), Err(48));
    let p2 = bench.end(5, "a", p1, ABORT).unwrap();
    assert_eq!(p2, p.epoch(2));
    assert_eq!(bench.ends("t-0"), (0, 0), "no marker anywhere");
    bench.write_as(TV2, "a", "t-0", p2, 0, 1).unwrap();
    let p3 = bench.end(5, "a", p2, COMMIT).unwrap();
    assert_eq!(bench.end(5, "a", p3, COMMIT), Err(48), "after a commit");
    assert_eq!(bench.end(5, "a", p3, ABORT), Ok(p.epoch(4)));
    assert_eq!(bench.ends("t-0"), (2, 2));
}

#[test]
fn an_added_partition_makes_an_empty_end_real() {
    for decision in [COMMIT, ABORT] {
        let mut bench = Bench::open();
        bench.topic("t", 2);
        let p = bench.init("a").unwrap();
        bench.add(3, "a", p, &["t-0", "t-1"]);
        assert!(bench.end(4, "a", p, decision).is_ok());
        for to in ["t-0", "t-1"] {
            assert_eq!(bench.ends(to), (1, 1));
        }
    }
}

#[test]
fn a_new_instance_meets_an_end_in_progress() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.init("a").unwrap();
    bench.write_as(CLASSIC, "a", "t-0", p, 0, 1).unwrap();
    let requests = alloc::vec![
        (4, end("a", p, COMMIT)),
        (4, end("a", p, COMMIT)),
        (4, end("a", p, ABORT)),
        (5, init(Some("a"), LONG_MS, Who::NOBODY)),
    ];
    let ids = bench.send_at_once(requests);
    assert!(ended(bench.await_answer(ids[0])).is_ok());
    assert_eq!(ended(bench.await_answer(ids[1])), Err(51));
    assert_eq!(ended(bench.await_answer(ids[2])), Err(51), "never NONE for the abort");
    assert_eq!(inited(bench.await_answer(ids[3])), Err(51));
    assert_eq!(bench.visible("t-0"), [0]);
}
