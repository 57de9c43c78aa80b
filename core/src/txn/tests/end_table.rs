//! EndTxn in every state, for either decision, fresh and repeated, classic and v5.

use super::*;
use crate::txn::end::{EndRow, end_bumped, end_classic};
use Decision::{Abort, Commit};
use TxnError::{ConcurrentTransactions, InvalidProducerIdMapping, InvalidTxnState, ProducerFenced};
use TxnState::{CompleteAbort, CompleteCommit, Empty, Ongoing, PrepareAbort, PrepareCommit};

fn in_state(state: TxnState) -> Metadata {
    Metadata {
        state,
        producer_epoch: 5,
        previous_producer_id: 1,
        client_version: 2,
        ..Metadata::new(1, 60_000, EPOCH_MS)
    }
}

const APPEND: Result<EndRow, TxnError> = Ok(EndRow::Append);
const DONE: Result<EndRow, TxnError> = Ok(EndRow::Done);

#[test]
fn classic_in_every_state() {
    let table = [
        (Ongoing, APPEND, APPEND),
        (CompleteCommit, DONE, Err(InvalidTxnState)),
        (CompleteAbort, Err(InvalidTxnState), DONE),
        (PrepareCommit, Err(ConcurrentTransactions), Err(InvalidTxnState)),
        (PrepareAbort, Err(InvalidTxnState), Err(ConcurrentTransactions)),
        (Empty, Err(InvalidTxnState), Err(InvalidTxnState)),
    ];
    for (state, commit, abort) in table {
        let metadata = in_state(state);
        assert_eq!(end_classic(&metadata, false, (1, 5), Commit), commit, "{state:?}");
        assert_eq!(end_classic(&metadata, false, (1, 5), Abort), abort, "{state:?}");
        for decision in [Commit, Abort] {
            let end = |pending, producer| end_classic(&metadata, pending, producer, decision);
            assert_eq!(end(false, (2, 5)), Err(InvalidProducerIdMapping), "{state:?}");
            assert_eq!(end(false, (1, 4)), Err(ProducerFenced), "{state:?}");
            assert_eq!(end(false, (1, 6)), Err(ProducerFenced), "{state:?}");
            assert_eq!(end(true, (1, 5)), Err(ConcurrentTransactions), "{state:?}");
            // Classic: the producer is compared before the pending transition.
            assert_eq!(end(true, (2, 5)), Err(InvalidProducerIdMapping), "{state:?}");
            assert_eq!(end(true, (1, 4)), Err(ProducerFenced), "{state:?}");
        }
    }
}

#[test]
fn v5_in_every_state() {
    // State, then commit and abort with the epoch before the bump, then with the current epoch.
    let table = [
        (Ongoing, Err(ProducerFenced), Err(ProducerFenced), APPEND, APPEND),
        (Empty, Err(ProducerFenced), Err(ProducerFenced), Err(InvalidTxnState), APPEND),
        (CompleteCommit, DONE, Err(InvalidTxnState), Err(InvalidTxnState), APPEND),
        (CompleteAbort, Err(InvalidTxnState), DONE, Err(InvalidTxnState), APPEND),
        (
            PrepareCommit,
            Err(ConcurrentTransactions),
            Err(InvalidTxnState),
            Err(ProducerFenced),
            Err(ProducerFenced),
        ),
        (
            PrepareAbort,
            Err(InvalidTxnState),
            Err(ConcurrentTransactions),
            Err(ProducerFenced),
            Err(ProducerFenced),
        ),
    ];
    for (state, commit_again, abort_again, commit, abort) in table {
        let metadata = in_state(state);
        let end = |producer, decision| end_bumped(&metadata, false, producer, decision);
        assert_eq!(end((1, 4), Commit), commit_again, "{state:?}");
        assert_eq!(end((1, 4), Abort), abort_again, "{state:?}");
        assert_eq!(end((1, 5), Commit), commit, "{state:?}");
        assert_eq!(end((1, 5), Abort), abort, "{state:?}");
        for decision in [Commit, Abort] {
            assert_eq!(end((2, 5), decision), Err(InvalidProducerIdMapping), "{state:?}");
            assert_eq!(end((1, 3), decision), Err(ProducerFenced), "{state:?}");
            assert_eq!(end((1, 6), decision), Err(ProducerFenced), "{state:?}");
            // v5: a pending transition wins over everything, even for a zombie (KAFKA-18464).
            for producer in [(1, 5), (1, 3), (2, 5)] {
                let answer = end_bumped(&metadata, true, producer, decision);
                assert_eq!(answer, Err(ConcurrentTransactions), "{state:?}");
            }
        }
    }
}

#[test]
fn the_commit_of_a_producer_that_the_coordinator_gave_up_on_is_fenced() {
    let mut metadata = in_state(CompleteAbort);
    metadata.aborted_by_coordinator = true;
    assert_eq!(end_bumped(&metadata, false, (1, 4), Commit), Err(ProducerFenced));
    assert_eq!(end_bumped(&metadata, false, (1, 4), Abort), DONE);
    assert_eq!(end_bumped(&metadata, false, (1, 5), Commit), Err(InvalidTxnState));
}

#[test]
fn one_epoch_below_is_no_repeat_where_an_owner_of_old_ended_the_transaction() {
    let by_old = |state| Metadata { client_version: 0, ..in_state(state) };
    for (state, decision) in [(CompleteCommit, Commit), (CompleteAbort, Abort)] {
        assert_eq!(end_bumped(&by_old(state), false, (1, 4), decision), Err(ProducerFenced));
    }
}

#[test]
fn a_repeat_across_the_change_of_the_producer_id_is_recognised() {
    let rotated = Metadata {
        previous_producer_id: 1,
        producer_id: 9,
        producer_epoch: 0,
        ..in_state(CompleteCommit)
    };
    assert_eq!(end_bumped(&rotated, false, (1, 32_766), Commit), DONE);
    assert_eq!(end_bumped(&rotated, false, (1, 32_766), Abort), Err(InvalidTxnState));
    assert_eq!(end_bumped(&rotated, false, (1, 32_765), Commit), Err(InvalidProducerIdMapping));
}

#[test]
fn adding_partitions_in_every_state() {
    for (state, wanted) in [
        (Empty, Ok(())),
        (Ongoing, Ok(())),
        (CompleteCommit, Ok(())),
        (CompleteAbort, Ok(())),
        (PrepareCommit, Err(ConcurrentTransactions)),
        (PrepareAbort, Err(ConcurrentTransactions)),
    ] {
        let mut world = World::v2();
        let producer = world.init().expect("a producer");
        world.preset(|metadata| metadata.state = state);
        assert_eq!(world.add((producer.0 + 1, 0), &[0]), Err(InvalidProducerIdMapping));
        assert_eq!(world.add((producer.0, 1), &[0]), Err(ProducerFenced));
        assert_eq!(world.add(producer, &[0]), wanted, "{state:?}");
    }
}

#[test]
fn verifying_in_every_state() {
    for (state, known, other) in [
        (Empty, Err(TxnError::TransactionAbortable), Err(TxnError::TransactionAbortable)),
        (Ongoing, Ok(()), Err(TxnError::TransactionAbortable)),
        (CompleteCommit, Err(TxnError::TransactionAbortable), Err(TxnError::TransactionAbortable)),
        (PrepareCommit, Err(ConcurrentTransactions), Err(ConcurrentTransactions)),
        (PrepareAbort, Err(ConcurrentTransactions), Err(ConcurrentTransactions)),
    ] {
        let mut world = World::v2();
        let producer = world.init().expect("a producer");
        world.add(producer, &[0]).expect("added");
        world.preset(|metadata| {
            metadata.state = state;
            if state.expires() {
                metadata.partitions.clear();
            }
        });
        let to = TxnReplyTo::Verify(VerifyId(1));
        world.txn.verify_partitions(to, ID, producer.0, producer.1, vec![topic(0), topic(1)]);
        world.drain();
        let wanted = TxnReply::Verify(vec![(topic(0), known), (topic(1), other)]);
        assert_eq!(world.reply_to(to), Some(wanted), "{state:?}");
    }
}

#[test]
fn at_the_very_last_epoch_an_abort_goes_through_and_a_commit_does_not() {
    let mut world = World::v2();
    let (producer_id, _) = world.init().expect("a new id");
    world.preset(|metadata| metadata.producer_epoch = i16::MAX);
    let producer = (producer_id, i16::MAX);
    world.add(producer, &[0]).expect("it is the owner");
    assert_eq!(world.end(producer, Commit), Err(TxnError::Unknown));
    let (after, epoch) = world.end(producer, Abort).expect("an abort needs no next epoch");
    assert_ne!(after, producer_id, "the epochs are used up");
    assert_eq!((world.state(), epoch), (CompleteAbort, 0));
}
