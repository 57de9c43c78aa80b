//! Appends that fail, markers that are refused, partitions that move.

use super::*;
use Decision::{Abort, Commit};

const FAILURES: [(LogAppendError, TxnError); 4] = [
    (LogAppendError::NotAvailable, TxnError::NotAvailable),
    (LogAppendError::NotLeader, TxnError::NotCoordinator),
    (LogAppendError::Storage, TxnError::NotCoordinator),
    (LogAppendError::TooLarge, TxnError::Unknown),
];

#[test]
fn a_failed_append_leaves_no_pending_state_behind() {
    for (failure, wanted) in FAILURES {
        let mut world = World::v2();
        let to = world.send_init(None, 60_000);
        world.fail_append(failure);
        let reply = world.reply_to(TxnReplyTo::Client(to));
        assert_eq!(reply, Some(TxnReply::InitProducerId(Err(wanted))));
        let (pid, _) = world.producer();
        assert_eq!(world.add((pid, -1), &[0]), Err(TxnError::ProducerFenced), "no epoch yet");
        let producer = world.init().expect("the next attempt");
        assert_eq!(producer, (pid, 0));
        let to = world.send_add(producer, &[0], 2);
        world.fail_append(failure);
        assert_eq!(world.reply_to(to), Some(TxnReply::AddPartitions(Err(wanted))));
        assert_eq!(world.state(), TxnState::Empty, "memory never runs ahead of the log");
        world.add(producer, &[0]).expect("the next attempt");
        for (decision, v5) in [(Commit, true), (Abort, true), (Commit, false), (Abort, false)] {
            let to = world.send_end(producer, decision, v5);
            world.fail_append(failure);
            assert_eq!(world.end_reply(to), Some(Err(wanted)));
        }
        assert_eq!(world.end(producer, Commit), Ok((producer.0, 1)));
        assert_eq!(world.replayed(), world.in_force());
    }
}

#[test]
fn failed_fences_raise_the_epoch_once_however_many_there_are() {
    for level in [1, 2] {
        let mut world = World::new(TxnConfig { transaction_version: level, ..test_config() });
        let producer = world.init().expect("a producer");
        world.add(producer, &[0]).expect("added");
        for _ in 0..40_000 {
            world.send_init(None, 60_000);
            world.fail_append(LogAppendError::NotAvailable);
        }
        assert_eq!(world.init(), Err(TxnError::ConcurrentTransactions));
        assert_eq!(world.init(), Ok((producer.0, 2)));
    }
}

#[test]
fn complete_is_written_again_until_the_log_takes_it() {
    for (failure, _) in FAILURES {
        let mut world = World::v2();
        let producer = world.init().expect("a producer");
        world.add(producer, &[0]).expect("added");
        world.send_end(producer, Commit, true);
        world.persist();
        world.write_marker();
        for _ in 0..5 {
            world.fail_append(failure);
            assert!(world.appends.is_empty(), "not before the back-off");
            assert!(world.txn.next_timeout().is_some_and(|at| at <= world.now.at.after_ms(1_000)));
            assert_eq!(world.init(), Err(TxnError::ConcurrentTransactions));
            world.pass(1_000);
        }
        world.settle();
        assert_eq!(world.state(), TxnState::CompleteCommit);
        assert_eq!(world.written.len(), 1, "the marker is not written again");
    }
}

#[test]
fn a_marker_that_is_not_written_is_tried_again_and_never_skipped() {
    for error in [
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::NotLeaderOrFollower,
        ErrorCode::NotEnoughReplicas,
        ErrorCode::RequestTimedOut,
        ErrorCode::KafkaStorageError,
        ErrorCode::CorruptMessage,
        ErrorCode::UnknownServerError,
    ] {
        let mut world = World::v2();
        let producer = world.init().expect("a producer");
        world.add(producer, &[0, 1]).expect("added");
        world.send_end(producer, Abort, true);
        world.persist();
        let (first_token, ..) = world.markers[0].clone();
        for _ in 0..12 {
            world.fail_marker(error);
            world.write_marker();
            assert!(world.markers.is_empty() && world.appends.is_empty());
            world.pass(1_000);
            assert_eq!(world.markers.len(), 1, "{error:?}");
        }
        world.txn.marker_done(world.now, first_token, Ok(()));
        assert_eq!(world.state(), TxnState::PrepareAbort, "a late answer counts for nothing");
        world.settle();
        assert_eq!(world.state(), TxnState::CompleteAbort);
    }
}

#[test]
fn a_coordinator_that_was_replaced_gives_up_and_its_successor_goes_on() {
    for error in [ErrorCode::TransactionCoordinatorFenced, ErrorCode::InvalidProducerEpoch] {
        let mut world = World::v2();
        let producer = world.init().expect("a producer");
        world.add(producer, &[0, 1]).expect("added");
        world.send_end(producer, Abort, true);
        world.persist();
        world.fail_marker(error);
        world.settle();
        world.pass(10_000);
        assert_eq!(world.state(), TxnState::PrepareAbort);
        assert!(world.txn.timers.is_empty());
        world.crash();
        assert_eq!(world.markers.len(), 2);
        assert_eq!(world.markers[0].2.coordinator_epoch, 1);
        world.settle();
        assert_eq!(world.state(), TxnState::CompleteAbort);
    }
}

#[test]
fn a_refused_marker_of_one_transaction_leaves_those_of_others_owed() {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    world.add(producer, &[0]).expect("added");
    let other =
        TxnReplyTo::Client(world.send_init_as(InitProducerId {
            transactional_id: Some(Arc::from("y")),
            ..plain_init()
        }));
    world.settle();
    let Some(TxnReply::InitProducerId(Ok(given))) = world.reply_to(other) else {
        panic!("a producer")
    };
    let (pid, epoch) = (given.producer_id, given.producer_epoch);
    let (add, end) = (TxnReplyTo::Client(world.request()), world.request());
    world.txn.add_partitions(world.now, add, "y", pid, epoch, vec![topic(1)], 2);
    world.drain();
    world.settle();
    world.send_end(producer, Abort, true);
    world.txn.end_txn(world.now, end, "y", pid, epoch, Commit, true);
    world.drain();
    world.persist();
    world.persist();
    world.fail_marker(ErrorCode::TransactionCoordinatorFenced);
    world.settle();
    assert_eq!(world.state(), TxnState::PrepareAbort, "a newer coordinator goes on with it");
    assert_eq!(world.end_reply(end), Some(Ok((pid, epoch + 1))));
    assert_eq!(world.txn.describe("y").map(|other| other.state), Ok(TxnState::CompleteCommit));
}

#[test]
fn the_back_off_of_a_marker_doubles() {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    world.add(producer, &[0]).expect("added");
    world.send_end(producer, Commit, true);
    world.persist();
    for back_off_ms in [20, 40, 80, 160, 320, 640, 1_000, 1_000] {
        world.fail_marker(ErrorCode::NotLeaderOrFollower);
        world.pass(back_off_ms - 1);
        assert!(world.markers.is_empty(), "{back_off_ms} ms");
        world.pass(1);
        assert_eq!(world.markers.len(), 1, "{back_off_ms} ms");
    }
}

#[test]
fn an_append_that_ends_after_the_partition_moved_is_answered_and_changes_nothing() {
    for result in [Ok(()), Err(LogAppendError::NotAvailable)] {
        let mut world = World::v2();
        let producer = world.init().expect("a producer");
        let to = world.send_add(producer, &[0], 2);
        let (append, _) = world.appends.pop_front().expect("an append");
        world.txn.resign(0);
        world.load();
        world.txn.appended(world.now, append, result);
        world.drain();
        let refused = TxnReply::AddPartitions(Err(TxnError::NotCoordinator));
        assert_eq!(world.reply_to(to), Some(refused));
        assert_eq!(world.state(), TxnState::Empty);
        assert_eq!(world.add(producer, &[0]), Ok(()));
    }
}

#[test]
fn markers_of_a_partition_that_moved_away_are_forgotten() {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    world.add(producer, &[0]).expect("added");
    world.send_end(producer, Commit, true);
    world.persist();
    let (token, ..) = world.markers.pop_front().expect("a marker");
    world.txn.marker_done(world.now, token, Err(ErrorCode::NotLeaderOrFollower));
    world.txn.resign(0);
    assert_eq!(world.txn.next_timeout(), None);
    world.pass(1_000);
    assert!(world.markers.is_empty());
}

#[test]
fn a_request_without_any_pending_state_survives_a_reload_of_odd_records() {
    let mut world = World::v2();
    let key = records::encode_key(ID);
    world.txn.load(world.now, 0, 9);
    let newer = Bytes::from_static(&[0, 9, 1]);
    let damaged = Bytes::from_static(&[0, 1, 1]);
    assert!(world.txn.load_record(0, &key, Some(&newer)).is_err());
    assert!(world.txn.load_record(0, &key, Some(&damaged)).is_err());
    assert!(world.txn.load_record(0, &damaged, Some(&newer)).is_ok(), "a kind to come is skipped");
    world.txn.loaded(world.now, 0);
    assert_eq!(world.init(), Ok((1000, 0)));
}
