//! InitProducerId, row by row.

use super::*;
use Decision::{Abort, Commit};
use TxnError::{ConcurrentTransactions, ProducerFenced};

#[test]
fn an_id_counts_its_epochs_and_a_producer_may_bump_its_own() {
    let mut world = World::v2();
    assert_eq!(world.init(), Ok((1000, 0)));
    assert_eq!(world.init(), Ok((1000, 1)));
    assert_eq!(world.init_with(Some((1000, 1))), Ok((1000, 2)), "bump");
    assert_eq!(world.init_with(Some((1000, 1))), Ok((1000, 2)), "the same again");
    assert_eq!(world.init_with(Some((1000, 0))), Err(ProducerFenced));
    assert_eq!(world.init_with(Some((7, 2))), Err(ProducerFenced));
}

#[test]
fn a_producer_of_an_unknown_id_gets_a_new_identity() {
    let mut world = World::v2();
    assert_eq!(world.init_with(Some((7, 3))), Ok((1000, 0)));
}

#[test]
fn a_request_is_refused_in_the_order_of_the_table() {
    let mut world = World::v2();
    let refused = |world: &mut World, change: &dyn Fn(&mut InitProducerId)| {
        let to = world.request();
        let mut request = plain_init();
        change(&mut request);
        world.txn.init_producer_id(world.now, to, request);
        world.drain();
        match world.reply_to(TxnReplyTo::Client(to)) {
            Some(TxnReply::InitProducerId(Err(error))) => error,
            other => panic!("{other:?}"),
        }
    };
    let mut check = |change: &dyn Fn(&mut InitProducerId), wanted: TxnError| {
        assert_eq!(refused(&mut world, change), wanted);
    };
    check(&|r| r.producer_id = 3, TxnError::InvalidRequest);
    check(&|r| r.producer_epoch = 3, TxnError::InvalidRequest);
    check(&|r| r.transactional_id = Some(Arc::from("")), TxnError::InvalidRequest);
    check(&|r| r.enable_2pc = true, TxnError::TwoPhaseCommitDisabled);
    check(
        &|r| (r.keep_prepared, r.producer_id, r.producer_epoch) = (true, 1000, 0),
        TxnError::InvalidRequest,
    );
    check(&|r| r.timeout_ms = 0, TxnError::InvalidTransactionTimeout);
    check(&|r| r.timeout_ms = 900_001, TxnError::InvalidTransactionTimeout);
}

#[test]
fn loading_and_not_owned_are_told_apart() {
    let mut world = World::v2();
    world.txn.load(world.now, 0, 1);
    assert_eq!(world.init(), Err(TxnError::LoadInProgress));
    assert_eq!(world.txn.list(0, &ListFilters::default()), Err(TxnError::LoadInProgress));
    world.txn.resign(0);
    assert_eq!(world.init(), Err(TxnError::NotCoordinator));
}

#[test]
fn an_open_transaction_is_aborted_first_and_two_epochs_pass() {
    for (level, partitions) in [(0, 0), (1, 0), (2, 2)] {
        let mut world = World::new(TxnConfig { transaction_version: level, ..test_config() });
        let producer = world.init().expect("a producer");
        world.add(producer, &[0]).expect("added");
        let first = world.send_init(None, 60_000);
        assert_eq!(world.reply_to(TxnReplyTo::Client(first)), None, "not before it is durable");
        world.persist();
        assert_eq!(
            world.reply_to(TxnReplyTo::Client(first)),
            Some(TxnReply::InitProducerId(Err(ConcurrentTransactions)))
        );
        assert_eq!(world.init(), Err(ConcurrentTransactions), "markers are out");
        world.settle();
        let (_, marker) = world.written.last().expect("a marker");
        assert_eq!((marker.producer_epoch, marker.decision), (1, Abort));
        assert_eq!(i16::from(marker.transaction_version), partitions);
        assert_eq!(world.init(), Ok((producer.0, 2)), "at level {level}");
    }
}

#[test]
fn the_last_epoch_of_an_empty_id_makes_it_change_its_producer_id() {
    let mut world = World::v2();
    world.init().expect("a producer");
    world.preset(|metadata| metadata.producer_epoch = 32_766);
    assert_eq!(world.init(), Ok((1001, 0)));
    world.preset(|metadata| metadata.producer_epoch = 32_766);
    assert_eq!(world.init_with(Some((1001, 32_766))), Ok((1002, 0)));
    for _ in 0..2 {
        let again = world.init_with(Some((1001, 32_766)));
        assert_eq!(again, Ok((1002, 0)), "the same again, however often");
        world.crash();
    }
    assert_eq!(world.init_with(Some((1001, 32_765))), Err(ProducerFenced));
    assert_eq!(world.init_with(Some((7, 32_766))), Err(ProducerFenced), "a stranger");
    assert_eq!(world.init(), Ok((1002, 1)), "somebody else");
    assert_eq!(world.init_with(Some((1001, 32_766))), Err(ProducerFenced));
}

#[test]
fn a_repeat_of_a_bump_is_recognized_after_a_crash() {
    let mut world = World::v2();
    let (pid, _) = world.init().expect("a producer");
    assert_eq!(world.init_with(Some((pid, 0))), Ok((pid, 1)), "the answer is lost");
    world.crash();
    assert_eq!(world.init_with(Some((pid, 0))), Ok((pid, 1)), "the same again");
    world.add((pid, 1), &[0]).expect("added");
    assert_eq!(world.end((pid, 1), Commit), Ok((pid, 2)), "the answer is lost");
    world.crash();
    assert_eq!(world.init_with(Some((pid, 1))), Ok((pid, 2)));
    assert_eq!(world.init_with(Some((pid, 0))), Err(ProducerFenced));
}

#[test]
fn at_level_0_a_repeat_of_a_bump_is_forgotten_by_a_crash_for_its_records_have_no_room() {
    let mut world = World::new(TxnConfig { transaction_version: 0, ..test_config() });
    let (pid, _) = world.init().expect("a producer");
    assert_eq!(world.init_with(Some((pid, 0))), Ok((pid, 1)));
    assert_eq!(world.init_with(Some((pid, 0))), Ok((pid, 1)));
    world.crash();
    assert_eq!(world.init_with(Some((pid, 0))), Err(ProducerFenced));
}

#[test]
fn the_commit_after_a_timeout_is_fenced_after_a_crash_too() {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    world.add(producer, &[0]).expect("added");
    world.pass(60_001);
    world.pass(500);
    world.persist();
    world.crash();
    world.settle();
    assert_eq!(world.state(), TxnState::CompleteAbort);
    for _ in 0..2 {
        assert_eq!(world.end(producer, Commit), Err(ProducerFenced));
        assert_eq!(world.end(producer, Abort), Ok((producer.0, 1)));
        world.crash();
    }
    let again = world.init_with(Some(producer));
    assert_eq!(again, Ok((producer.0, 1)), "it goes on under the epoch that the abort gave it");
}

#[test]
fn a_fence_at_the_last_epoch_ends_the_transaction_and_the_producer_id() {
    let mut world = World::v2();
    let (pid, _) = world.init().expect("a producer");
    world.preset(|metadata| metadata.producer_epoch = 32_766);
    world.add((pid, 32_766), &[0]).expect("added");
    assert_eq!(world.init(), Err(ConcurrentTransactions));
    let (_, marker) = world.written.last().expect("a marker");
    assert_eq!((marker.producer_id, marker.producer_epoch), (pid, i16::MAX));
    assert_eq!(world.producer(), (1001, 0));
    assert_eq!(world.end((pid, 32_766), Abort), Ok((1001, 0)), "it looks like a repeat");
    assert_eq!(world.end((pid, 32_766), Commit), Err(TxnError::InvalidTxnState));
    assert_eq!(world.init(), Ok((1001, 1)));
    assert_eq!(world.end((pid, 32_766), Abort), Err(TxnError::InvalidProducerIdMapping));
}

#[test]
fn an_instance_from_before_the_producer_id_changed_does_not_abort_what_is_open() {
    let mut world = World::v2();
    let (pid, _) = world.init().expect("a producer");
    world.preset(|metadata| metadata.producer_epoch = 32_766);
    let producer = world.init().expect("the next producer id");
    assert_eq!(producer, (1001, 0));
    for old in [(pid, 5), (7, 32_766)] {
        world.preset(|metadata| metadata.state = TxnState::Ongoing);
        assert_eq!(world.init_with(Some(old)), Err(ProducerFenced));
        assert_eq!(world.state(), TxnState::Ongoing);
    }
    assert_eq!(world.init_with(Some((pid, 32_766))), Err(ConcurrentTransactions), "its owner");
    assert_eq!(world.state(), TxnState::CompleteAbort);
}

#[test]
fn a_classic_fence_at_the_last_epoch_rotates_at_the_next_init() {
    let mut world = World::new(TxnConfig { transaction_version: 1, ..test_config() });
    let (pid, _) = world.init().expect("a producer");
    world.preset(|metadata| metadata.producer_epoch = 32_766);
    world.add((pid, 32_766), &[0]).expect("added");
    assert_eq!(world.init(), Err(ConcurrentTransactions));
    assert_eq!(world.producer(), (pid, i16::MAX));
    assert_eq!(world.init(), Ok((1001, 0)));
}

#[test]
fn without_a_block_of_producer_ids_the_client_is_put_off() {
    let mut txn = TxnCoordinator::new(test_config());
    let request = InitProducerId { transactional_id: None, timeout_ms: 0, ..plain_init() };
    txn.init_producer_id(Now::default(), RequestId(1), request);
    assert_eq!(txn.poll_effect(), Some(TxnEffect::AllocateProducerIds));
    let to = TxnReplyTo::Client(RequestId(1));
    let reply = TxnReply::InitProducerId(Err(TxnError::ProducerIdsNotAvailable));
    assert_eq!(txn.poll_effect(), Some(TxnEffect::Reply { to, reply }));
    assert_eq!(txn.poll_effect(), None);
}
