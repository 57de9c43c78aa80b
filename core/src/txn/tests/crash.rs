//! A crash between any two effects of a transaction.

use super::*;
use Decision::{Abort, Commit};

/// One step of the world outside; `false` when there is nothing left to do.
fn step(world: &mut World) -> bool {
    world.persist() || world.write_marker()
}

fn prepared_states(log: &Records) -> Vec<TxnState> {
    log.iter()
        .filter_map(|(_, value)| value.as_ref())
        .map(|value| records::decode_value(value).expect("our own value").state)
        .filter(|state| state.is_prepared())
        .collect()
}

#[test]
fn a_crash_at_every_point_keeps_the_decision_and_owes_every_marker() {
    for decision in [Commit, Abort] {
        for v5 in [true, false] {
            for crash_at in 0..8 {
                for second_crash_at in 0..8 {
                    crash_twice(decision, v5, crash_at, second_crash_at);
                }
            }
        }
    }
}

fn crash_twice(decision: Decision, v5: bool, crash_at: usize, second_crash_at: usize) {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    world.add_as(producer, &[0, 1, 2], if v5 { 2 } else { 0 }).expect("added");
    let to = world.send_end(producer, decision, v5);
    for _ in 0..crash_at {
        step(&mut world);
    }
    let decided = world.end_reply(to).is_some();
    world.crash();
    for _ in 0..second_crash_at {
        step(&mut world);
    }
    let completed = world.state().expires();
    world.written.retain(|_| completed);
    world.crash();
    if decided && !completed {
        assert_eq!(world.markers.len(), 3, "recovery owes every marker");
    }
    world.settle();
    if decided {
        let wanted =
            if decision == Commit { TxnState::CompleteCommit } else { TxnState::CompleteAbort };
        assert_eq!(world.state(), wanted);
        let again = world.end_as(producer, decision, v5);
        assert_eq!(again, Ok((producer.0, i16::from(v5))), "the answer may have been lost");
        for partition in 0..3 {
            assert!(world.written.iter().any(|(to, _)| *to == topic(partition)));
        }
        assert!(world.written.iter().all(|(_, marker)| marker.decision == decision));
        assert_eq!(prepared_states(&world.log).len(), 1);
    } else {
        assert_eq!(world.state(), TxnState::Ongoing);
        assert_eq!(world.written, []);
    }
    assert_eq!(world.replayed(), world.in_force());
}

#[test]
fn an_open_transaction_times_out_after_a_restart_by_its_persisted_start() {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    world.add(producer, &[0, 1]).expect("added");
    world.pass(59_000);
    world.crash();
    assert_eq!(world.state(), TxnState::Ongoing);
    world.pass(500);
    world.pass(500);
    assert!(world.appends.is_empty());
    world.pass(500);
    world.settle();
    assert_eq!(world.state(), TxnState::CompleteAbort);
    assert_eq!(world.written.len(), 2);
}

#[test]
fn a_topic_that_is_created_again_while_its_transactions_are_read_changes_none_that_is_half_read() {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    world.add_as(producer, &[0, 1], 2).expect("added");
    let half = world.log.len();
    assert_eq!(world.end(producer, Abort).map(|(id, _)| id), Ok(producer.0));
    world.settle();
    world.txn.load(world.now, 0, 1);
    for (at, (key, value)) in world.log.clone().iter().enumerate() {
        if at == half {
            world.txn.forget_partitions(&"t".into());
            world.drain();
            assert!(world.appends.is_empty(), "what is written would be older than what is read");
        }
        world.txn.load_record(0, key, value.as_ref()).expect("our own record");
    }
    world.txn.loaded(world.now, 0);
    world.drain();
    assert_eq!(world.state(), TxnState::CompleteAbort);
    assert!(world.appends.is_empty() && world.markers.is_empty());

    // Cut off in the middle the transaction is open, and loses its partitions once it is read.
    world.log.truncate(half);
    world.txn.load(world.now, 0, 2);
    world.txn.forget_partitions(&"t".into());
    for (key, value) in world.log.clone() {
        world.txn.load_record(0, &key, value.as_ref()).expect("our own record");
    }
    world.txn.loaded(world.now, 0);
    world.drain();
    assert_eq!((world.state(), world.appends.len()), (TxnState::Ongoing, 1));
    assert!(world.in_force().values().all(|metadata| metadata.partitions.is_empty()));
}
