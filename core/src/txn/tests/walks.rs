//! Whole transactions: the roads that clients take.

use super::*;
use Decision::{Abort, Commit};
use TxnError::{InvalidTxnState, ProducerFenced};

#[test]
fn a_commit_is_answered_before_its_markers_and_completed_after_the_last() {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    world.add(producer, &[0, 1]).expect("added");
    let to = world.send_end(producer, Commit, true);
    assert_eq!(world.end_reply(to), None, "not before the decision is durable");
    assert_eq!(world.state(), TxnState::Ongoing);
    world.persist();
    assert_eq!(world.end_reply(to), Some(Ok((producer.0, 1))));
    assert_eq!(world.state(), TxnState::PrepareCommit);
    assert_eq!(world.markers.len(), 2);
    let again = world.send_end(producer, Commit, true);
    assert_eq!(world.end_reply(again), Some(Err(TxnError::ConcurrentTransactions)));
    world.write_marker();
    assert!(world.appends.is_empty(), "one marker is owed still");
    assert_eq!(world.txn.describe(ID).expect("known").partitions, [topic(1)]);
    world.write_marker();
    world.persist();
    assert_eq!(world.state(), TxnState::CompleteCommit);
    let (_, marker) = world.written[0];
    assert_eq!((marker.producer_epoch, marker.transaction_version), (1, 2));
    assert_eq!(world.end(producer, Commit), Ok((producer.0, 1)), "the answer was lost");
    assert_eq!(world.end(producer, Abort), Err(InvalidTxnState));
    world.add((producer.0, 1), &[0]).expect("the next transaction");
    assert_eq!(world.end(producer, Commit), Err(ProducerFenced));
    assert_eq!(world.end(producer, Abort), Err(ProducerFenced));
    assert_eq!(world.state(), TxnState::Ongoing);
}

#[test]
fn a_classic_end_keeps_the_epoch_and_may_be_repeated() {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    world.add_as(producer, &[0], 0).expect("added");
    assert_eq!(world.end_as(producer, Abort, false), Ok(producer));
    let (_, marker) = world.written[0];
    assert_eq!((marker.producer_epoch, marker.transaction_version), (0, 0));
    assert_eq!(world.end_as(producer, Abort, false), Ok(producer));
    assert_eq!(world.end_as(producer, Commit, false), Err(InvalidTxnState));
    assert_eq!(world.written.len(), 1);
}

#[test]
fn a_transaction_that_never_began_can_be_aborted_by_v5_alone() {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    assert_eq!(world.end_as(producer, Commit, false), Err(InvalidTxnState));
    assert_eq!(world.end_as(producer, Abort, false), Err(InvalidTxnState));
    assert_eq!(world.end(producer, Commit), Err(InvalidTxnState));
    assert_eq!(world.end(producer, Abort), Ok((producer.0, 1)));
    assert_eq!(world.state(), TxnState::CompleteAbort);
    assert_eq!(world.end((producer.0, 1), Abort), Ok((producer.0, 2)));
    assert_eq!(world.end_as((producer.0, 2), Abort, false), Ok((producer.0, 2)));
    assert_eq!(world.written, [], "no marker anywhere");
    world.add((producer.0, 2), &[0]).expect("added");
    assert_eq!(world.end((producer.0, 2), Commit), Ok((producer.0, 3)));
}

#[test]
fn no_partitions_open_a_transaction_that_ends_without_markers() {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    world.add(producer, &[]).expect("added");
    assert_eq!(world.state(), TxnState::Ongoing);
    assert_eq!(world.add(producer, &[]), Ok(()));
    assert_eq!(world.end_as(producer, Commit, false), Ok(producer));
    assert_eq!((world.state(), world.written.len()), (TxnState::CompleteCommit, 0));
}

#[test]
fn the_end_at_the_last_epoch_hands_over_a_new_producer_id() {
    let mut world = World::v2();
    let (pid, _) = world.init().expect("a producer");
    world.preset(|metadata| metadata.producer_epoch = 32_766);
    world.add((pid, 32_766), &[0]).expect("added");
    let to = world.send_end((pid, 32_766), Commit, true);
    world.persist();
    assert_eq!(world.end_reply(to), Some(Ok((1001, 0))));
    world.crash();
    world.settle();
    let (_, marker) = world.written.last().expect("a marker");
    assert_eq!((marker.producer_id, marker.producer_epoch), (pid, i16::MAX));
    assert_eq!(world.end((pid, 32_766), Commit), Ok((1001, 0)));
    assert_eq!(world.end((pid, 32_766), Abort), Err(InvalidTxnState));
}

#[test]
fn a_timed_out_transaction_fences_its_producer() {
    for level in [1, 2] {
        let mut world = World::new(TxnConfig { transaction_version: level, ..test_config() });
        let to = world.send_init(None, 1_000);
        world.settle();
        assert!(world.reply_to(TxnReplyTo::Client(to)).is_some());
        assert_eq!(world.txn.abort_sweep_at, None, "nothing is open");
        let producer = world.producer();
        world.add(producer, &[0]).expect("added");
        world.pass(500);
        world.pass(500);
        world.settle();
        assert_eq!(world.state(), TxnState::Ongoing, "due, and not overdue");
        world.pass(500);
        world.settle();
        assert_eq!(world.state(), TxnState::CompleteAbort);
        assert_eq!(world.producer(), (producer.0, 1));
        assert_eq!(world.add(producer, &[0]), Err(ProducerFenced));
        if level == 2 {
            assert_eq!(world.end(producer, Commit), Err(ProducerFenced), "better than Kafka's 48");
            assert_eq!(world.end(producer, Abort), Ok((producer.0, 1)));
            assert_eq!(world.init_with(Some(producer)), Ok((producer.0, 1)), "it may resume");
        } else {
            assert_eq!(world.end_as(producer, Commit, false), Err(ProducerFenced));
        }
        assert_eq!(world.init(), Ok((producer.0, 2)));
    }
}

#[test]
fn a_client_that_aborted_by_itself_is_not_told_it_was_fenced() {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    world.add(producer, &[0]).expect("added");
    assert_eq!(world.end(producer, Abort), Ok((producer.0, 1)));
    assert_eq!(world.end(producer, Commit), Err(InvalidTxnState));
}

#[test]
fn an_idle_id_expires_and_an_open_one_stays() {
    let config =
        TxnConfig { id_expiration_ms: 3_000, max_tombstone_batch_bytes: 100, ..test_config() };
    let mut world = World::new(config);
    let producer = world.init().expect("a producer");
    for number in 0..20_i64 {
        let mut metadata = Metadata::new(number, 60_000, EPOCH_MS);
        metadata.producer_epoch = 0;
        let id: Arc<str> = Arc::from(number.to_string().as_str());
        world.txn.shards.get_mut(&0).expect("loaded").put(&id, metadata);
    }
    world.add(producer, &[0]).expect("added");
    world.pass(4_000);
    assert!(world.appends.len() > 1, "several batches");
    assert!(world.appends.iter().all(|(_, batch)| batch.len() == 1));
    world.fail_append(LogAppendError::NotAvailable);
    world.settle();
    let left = world.txn.list(0, &ListFilters::default()).expect("a list").transactions;
    assert_eq!(left.len(), 2, "the open one, and the one whose tombstone failed: {left:?}");
    world.pass(500);
    world.settle();
    let left = world.txn.list(0, &ListFilters::default()).expect("a list").transactions;
    assert_eq!(left.len(), 1, "the failed ones were tried again: {left:?}");
    assert_eq!(&*left[0].transactional_id, ID);
    assert_eq!(world.end(producer, Commit), Ok((producer.0, 1)));
    world.pass(4_000);
    world.settle();
    assert_eq!(world.add(producer, &[0]), Err(TxnError::InvalidProducerIdMapping));
    assert_eq!(world.end(producer, Commit), Err(TxnError::InvalidProducerIdMapping));
    assert_eq!(world.txn.describe(ID), Err(TxnError::TransactionalIdNotFound));
    assert_eq!(world.init_with(Some(producer)), Ok((1001, 0)), "a new identity");
    assert_eq!(world.replayed(), world.in_force());
}

#[test]
fn tombstones_go_in_batches_as_large_as_the_log_takes_and_no_larger() {
    let overhead = |id: &str| records::encode_key(id).len() + 21;
    for (max_tombstone_batch_bytes, of_batch) in
        [(1, 1), (61 + 2 * overhead("0"), 2), (61 + 3 * overhead("0") - 1, 2)]
    {
        let config =
            TxnConfig { id_expiration_ms: 3_000, max_tombstone_batch_bytes, ..test_config() };
        let mut world = World::new(config);
        world.init().expect("a producer, whose id is as long as the others");
        for number in 0..3_i64 {
            let mut metadata = Metadata::new(number, 60_000, EPOCH_MS);
            metadata.producer_epoch = 0;
            let id: Arc<str> = Arc::from(number.to_string().as_str());
            world.txn.shards.get_mut(&0).expect("loaded").put(&id, metadata);
        }
        world.pass(4_000);
        let batches: Vec<usize> = world.appends.iter().map(|(_, batch)| batch.len()).collect();
        assert_eq!(batches, vec![of_batch; 4 / of_batch], "{max_tombstone_batch_bytes} bytes");
    }
}

#[test]
fn below_level_2_a_tv2_request_is_refused_and_the_id_stays_usable() {
    for level in [0, 1] {
        let mut world = World::new(TxnConfig { transaction_version: level, ..test_config() });
        let producer = world.init().expect("a producer");
        assert_eq!(world.add_as(producer, &[0], 2), Err(TxnError::VersionNotEnabled));
        assert_eq!(world.add_as(producer, &[0], 0), Ok(()));
        assert_eq!(world.end(producer, Commit), Err(TxnError::VersionNotEnabled));
        assert_eq!(world.end_as(producer, Commit, false), Ok(producer));
        assert_eq!(world.init(), Ok((producer.0, 1)));
    }
}

#[test]
fn a_list_is_filtered() {
    let mut world = World::v2();
    world.init().expect("a producer");
    let list = |filters: ListFilters| {
        let listing = world.txn.list(EPOCH_MS, &filters)?;
        Ok((listing.transactions.len(), listing.unknown_states))
    };
    let pattern = |text: &str| ListFilters {
        transactional_id_pattern: text.to_string(),
        ..ListFilters::default()
    };
    let states = |names: &[&str]| ListFilters {
        states: names.iter().map(ToString::to_string).collect(),
        ..ListFilters::default()
    };
    assert_eq!(list(ListFilters::default()), Ok((1, vec![])));
    assert_eq!(list(pattern("x")), Ok((1, vec![])));
    assert_eq!(list(pattern("(x|y)")), Ok((1, vec![])));
    assert_eq!(list(pattern("xy?z*")), Ok((1, vec![])));
    assert_eq!(list(pattern("xx")), Ok((0, vec![])));
    for bad in ["(unclosed", "a)(b", "((a{1000}){1000}){1000}"] {
        assert_eq!(list(pattern(bad)), Err(TxnError::InvalidRegularExpression), "{bad}");
    }
    assert_eq!(list(states(&["Empty", "Odd"])), Ok((1, vec!["Odd".to_string()])));
    assert_eq!(list(states(&["Odd"])), Ok((0, vec!["Odd".to_string()])));
    assert_eq!(list(states(&["Ongoing"])), Ok((0, vec![])));
    assert_eq!(
        list(ListFilters { duration_ms: Some(1), ..ListFilters::default() }),
        Ok((1, vec![]))
    );
    assert_eq!(
        list(ListFilters { producer_ids: vec![1], ..ListFilters::default() }),
        Ok((0, vec![]))
    );
}

#[test]
fn describing_an_empty_id_is_refused_and_not_left_out() {
    assert_eq!(World::v2().txn.describe(""), Err(TxnError::InvalidRequest));
}
