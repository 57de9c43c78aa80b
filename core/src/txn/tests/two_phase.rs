//! Two-phase commit (KIP-939): transactions that wait for a decision from outside.

use super::*;
use Decision::{Abort, Commit};
use TxnError::{
    ConcurrentTransactions, InvalidProducerIdMapping, InvalidTxnState, ProducerFenced,
    VersionNotEnabled,
};

fn world() -> World {
    World::new(TxnConfig { two_phase_commit: true, ..test_config() })
}

impl World {
    fn init_two_phase(&mut self, keep_prepared: bool) -> Result<Initialized, TxnError> {
        let request = InitProducerId { enable_2pc: true, keep_prepared, ..plain_init() };
        let to = self.send_init_as(request);
        self.settle();
        self.init_reply(to)
    }

    /// A new instance that keeps what is open: who it is, and what it found.
    fn keep(&mut self) -> (Producer, Option<Producer>) {
        let given = self.init_two_phase(true).expect("kept");
        ((given.producer_id, given.producer_epoch), given.ongoing)
    }

    /// An instance with an open transaction over partitions 0 and 1.
    fn prepared(&mut self) -> Producer {
        let given = self.init_two_phase(true).expect("a producer");
        let producer = (given.producer_id, given.producer_epoch);
        self.add(producer, &[0, 1]).expect("added");
        producer
    }

    fn verify(&mut self, producer: Producer, partition: i32) -> Result<(), TxnError> {
        let to = TxnReplyTo::Verify(VerifyId(u64::MAX - self.next_request));
        self.next_request += 1;
        self.txn.verify_partitions(to, ID, producer.0, producer.1, vec![topic(partition)]);
        self.drain();
        match self.reply_to(to) {
            Some(TxnReply::Verify(results)) => results[0].1,
            other => panic!("not an answer to a verification: {other:?}"),
        }
    }

    fn in_force_is_what_a_crash_leaves(&mut self) {
        assert_eq!(self.replayed(), self.in_force());
    }
}

type Producer = (i64, i16);

#[test]
fn a_new_instance_ends_what_the_old_one_prepared_with_either_outcome_also_after_crashes() {
    for decision in [Commit, Abort] {
        for crash in [false, true] {
            let mut world = world();
            let old = world.prepared();
            let step = |world: &mut World| {
                world.in_force_is_what_a_crash_leaves();
                if crash {
                    world.crash();
                }
            };
            step(&mut world);
            let (new, ongoing) = world.keep();
            assert_eq!((new, ongoing), ((old.0, 1), Some(old)));
            step(&mut world);
            assert_eq!(world.state(), TxnState::Ongoing);
            assert_eq!(world.end(old, decision), Err(ProducerFenced));
            assert_eq!(world.end(new, decision), Ok((old.0, 2)));
            assert!(world.written.iter().all(|(_, marker)| {
                (marker.producer_id, marker.producer_epoch) == (old.0, 1)
                    && marker.decision == decision
            }));
            assert_eq!(world.written.len(), 2);
            step(&mut world);
            assert_eq!(world.end(new, decision), Ok((old.0, 2)), "the answer was lost");
            assert_eq!(world.end(old, decision), Err(ProducerFenced));
            world.add((old.0, 2), &[0]).expect("the next transaction");
            assert_eq!(world.end(new, decision), Err(ProducerFenced));
        }
    }
}

#[test]
fn every_keeping_instance_fences_the_one_before_and_finds_the_same_transaction() {
    let mut world = world();
    let old = world.prepared();
    let mut before = old;
    for epoch in 1..5 {
        let (new, ongoing) = world.keep();
        assert_eq!((new, ongoing), ((old.0, epoch), Some(old)));
        assert_eq!(world.end(before, Commit), Err(ProducerFenced));
        assert_eq!(world.end_as(before, Commit, false), Err(ProducerFenced));
        assert_eq!(world.add(before, &[0]), Err(ProducerFenced));
        assert_eq!(world.verify(before, 0), Err(ProducerFenced));
        before = new;
        world.crash();
    }
    assert_eq!(world.end(before, Commit), Ok((old.0, 5)));
    let (_, marker) = world.written[0];
    assert_eq!(marker.producer_epoch, 1, "the records' epoch and one more");
}

#[test]
fn what_is_kept_can_be_ended_and_nothing_else() {
    let mut world = world();
    let old = world.prepared();
    let (new, _) = world.keep();
    assert_eq!(world.add(new, &[2]), Err(InvalidTxnState));
    assert_eq!(world.add(new, &[0]), Err(InvalidTxnState), "not even what it has");
    assert_eq!(world.verify(new, 0), Err(InvalidTxnState));
    assert_eq!(world.end_as(new, Commit, false), Err(ProducerFenced), "EndTxn v5 alone");
    assert_eq!(world.add((old.0 + 1, 0), &[0]), Err(InvalidProducerIdMapping));
    assert_eq!(world.end(new, Commit), Ok((old.0, 2)));
}

#[test]
fn where_nothing_is_open_a_keeping_instance_begins_anew() {
    let mut world = world();
    let (first, ongoing) = world.keep();
    assert_eq!((first, ongoing), ((1000, 0), None));
    world.add(first, &[0]).expect("added");
    let to = world.send_end(first, Commit, true);
    world.persist();
    assert!(world.end_reply(to).expect("an answer").is_ok());
    let early = world.send_init_as(InitProducerId { keep_prepared: true, ..plain_init() });
    assert_eq!(world.init_reply(early), Err(ConcurrentTransactions), "markers are out");
    world.settle();
    assert_eq!(world.keep(), ((1000, 2), None), "it was ended, so there is nothing to end");
    assert_eq!(world.state(), TxnState::Empty);
}

#[test]
fn a_transaction_that_waits_for_a_decision_never_times_out() {
    let mut world = world();
    world.prepared();
    let described = world.txn.describe(ID).expect("known");
    assert_eq!(described.timeout_ms, i32::MAX);
    for _ in 0..3 {
        world.pass(1_000_000_000);
        world.crash();
    }
    assert!(world.appends.is_empty());
    let described = world.txn.describe(ID).expect("known");
    assert_eq!((described.state, described.start_ms), (TxnState::Ongoing, EPOCH_MS));
    let older = |ms| ListFilters { duration_ms: Some(ms), ..ListFilters::default() };
    let found =
        |ms| world.txn.list(world.now.wall_ms, &older(ms)).expect("a list").transactions.len();
    assert_eq!((found(2_999_999_999), found(3_000_000_000)), (1, 0), "its age is told");
    world.keep();
    assert_eq!(world.txn.describe(ID).expect("known").start_ms, EPOCH_MS, "it grows on");
}

#[test]
fn an_instance_of_two_phases_lifts_the_timeout_of_what_it_keeps_and_none_sets_one() {
    let mut world = world();
    let old = world.init().expect("a producer");
    world.add(old, &[0]).expect("added");
    let keep_plainly = InitProducerId { keep_prepared: true, timeout_ms: 7, ..plain_init() };
    world.send_init_as(keep_plainly.clone());
    world.settle();
    assert_eq!(world.txn.describe(ID).expect("known").timeout_ms, 60_000);
    world.keep();
    assert_eq!(world.txn.describe(ID).expect("known").timeout_ms, i32::MAX);
    world.send_init_as(keep_plainly);
    world.settle();
    assert_eq!(world.txn.describe(ID).expect("known").timeout_ms, i32::MAX);
    world.pass(100_000_000);
    assert_eq!(world.state(), TxnState::Ongoing);
}

#[test]
fn a_kept_transaction_with_a_timeout_is_aborted_by_it_and_its_owner_is_told_so() {
    let mut world = world();
    let old = world.init().expect("a producer");
    world.add(old, &[0]).expect("added");
    let to = world.send_init_as(InitProducerId { keep_prepared: true, ..plain_init() });
    world.settle();
    let kept = world.init_reply(to).expect("kept");
    assert_eq!(kept.ongoing, Some(old));
    world.pass(60_001);
    world.pass(500);
    world.settle();
    assert_eq!(world.state(), TxnState::CompleteAbort);
    let new = (kept.producer_id, kept.producer_epoch);
    world.crash();
    assert_eq!(world.end(new, Commit), Err(ProducerFenced));
    assert_eq!(world.end(new, Abort), Ok((old.0, 2)));
    assert_eq!(world.end(old, Abort), Err(ProducerFenced));
}

#[test]
fn an_instance_that_keeps_nothing_aborts_what_is_kept() {
    for level in [0, 1, 2] {
        let mut world = world();
        let old = world.prepared();
        let (new, _) = world.keep();
        world.txn.set_transaction_version(level);
        assert_eq!(world.init_two_phase(false), Err(ConcurrentTransactions));
        assert_eq!(world.state(), TxnState::CompleteAbort);
        assert!(world.written.iter().all(|(_, marker)| marker.decision == Abort));
        assert_eq!(world.end(new, Commit), Err(ProducerFenced));
        let next = world.init_two_phase(false).expect("free");
        assert_eq!((next.producer_id, next.producer_epoch), (old.0, 3), "at level {level}");
        assert_eq!(next.ongoing, None);
    }
}

#[test]
fn a_fenced_owner_cannot_abort_what_was_prepared_by_going_on() {
    let mut world = world();
    let old = world.prepared();
    let (new, _) = world.keep();
    assert_eq!(world.init_with(Some(old)), Err(ProducerFenced));
    assert_eq!(world.state(), TxnState::Ongoing);
    assert_eq!(world.end(new, Commit), Ok((old.0, 2)));
    // Also where it was not kept: one instance bumped its epoch, and the next one prepared.
    world.add((old.0, 2), &[0]).expect("added");
    assert_eq!(world.init_with(Some(new)), Err(ProducerFenced));
    assert_eq!(world.state(), TxnState::Ongoing);
    assert_eq!(world.init_with(Some((old.0, 2))), Err(ConcurrentTransactions), "itself it may");
    assert_eq!(world.state(), TxnState::CompleteAbort);
}

#[test]
fn an_exhausted_epoch_goes_over_to_another_producer_id_while_it_is_kept() {
    // The records' epoch, how often it is kept, and who owns it then.
    for (epoch, keeps, owner, marker_epoch, after) in [
        (32_765, 1, (1000, 32_766), 32_766, (1001, 0)),
        (32_765, 2, (1001, 0), 32_766, (1001, 1)),
        (32_766, 1, (1001, 0), 32_767, (1001, 1)),
        (32_766, 2, (1001, 1), 32_767, (1001, 2)),
    ] {
        for decision in [Commit, Abort] {
            let mut world = world();
            world.init_two_phase(true).expect("a producer");
            world.preset(|metadata| metadata.producer_epoch = epoch);
            let old = (1000, epoch);
            world.add(old, &[0, 1]).expect("added");
            for _ in 1..keeps {
                world.keep();
                world.crash_but_keep_ids();
            }
            assert_eq!(world.keep(), (owner, Some(old)));
            world.crash_but_keep_ids();
            assert_eq!(world.end(old, decision), Err(ProducerFenced));
            let to = world.send_end(owner, decision, true);
            world.persist();
            assert_eq!(world.end_reply(to), Some(Ok(after)), "{epoch} {keeps}");
            world.crash_but_keep_ids();
            world.settle();
            let (_, marker) = world.written[0];
            assert_eq!((marker.producer_id, marker.producer_epoch), (1000, marker_epoch));
            for _ in 0..2 {
                assert_eq!(world.end(owner, decision), Ok(after), "the answer was lost");
                world.crash_but_keep_ids();
            }
            assert!(world.end(old, decision).is_err());
            world.add(after, &[0]).expect("the next transaction");
            world.in_force_is_what_a_crash_leaves();
        }
    }
}

impl World {
    /// As [`crash`](World::crash), and the next block of producer ids goes on where the last was
    /// used up to, so that a test can name them.
    fn crash_but_keep_ids(&mut self) {
        let used = self.replayed().values().map(|m| m.producer_id.max(m.next_producer_id)).max();
        self.next_producer_id = used.expect("a producer id") + 1;
        self.crash();
    }
}

#[test]
fn the_last_epoch_of_an_owner_that_got_another_producer_id_ends_it_too() {
    let mut world = world();
    world.init_two_phase(true).expect("a producer");
    world.preset(|metadata| metadata.producer_epoch = 32_766);
    world.add((1000, 32_766), &[0]).expect("added");
    assert_eq!(world.keep().0, (1001, 0));
    world.preset(|metadata| metadata.next_producer_epoch = 32_766);
    assert_eq!(world.end((1001, 32_766), Commit), Ok((1002, 0)));
    assert_eq!(world.end((1001, 32_766), Commit), Ok((1002, 0)), "the answer was lost");
    assert_eq!(world.end((1001, 32_766), Abort), Err(InvalidTxnState));
    assert_eq!(world.end((1000, 32_766), Commit), Err(InvalidProducerIdMapping));
}

#[test]
fn keeping_needs_level_2_and_what_was_kept_before_ends_at_every_level() {
    for level in [0, 1] {
        for decision in [Commit, Abort] {
            let mut world = world();
            let old = world.prepared();
            let (new, _) = world.keep();
            world.txn.set_transaction_version(level);
            assert_eq!(world.init_two_phase(true), Err(VersionNotEnabled));
            world.crash();
            assert_eq!(world.end(new, decision), Ok((old.0, 2)), "at level {level}");
            assert_eq!(world.written[0].1.decision, decision);
            assert_eq!(world.producer(), (old.0, 2));
        }
    }
}

#[test]
fn until_the_record_is_durable_the_old_owner_is_the_owner() {
    let mut world = world();
    let old = world.prepared();
    let keep = InitProducerId { enable_2pc: true, keep_prepared: true, ..plain_init() };
    world.send_init_as(keep.clone());
    world.crash();
    assert_eq!(world.verify(old, 0), Ok(()));
    let failed = world.send_init_as(keep);
    let meanwhile = world.send_end(old, Commit, true);
    assert_eq!(world.end_reply(meanwhile), Some(Err(ConcurrentTransactions)));
    world.fail_append(LogAppendError::NotAvailable);
    assert_eq!(world.init_reply(failed), Err(TxnError::NotAvailable));
    assert_eq!(world.end(old, Commit), Ok((old.0, 1)));
}

#[test]
fn initialising_with_keep_in_every_state() {
    for (state, wanted) in [
        (TxnState::Empty, Ok(None)),
        (TxnState::Ongoing, Ok(Some((1000, 0)))),
        (TxnState::PrepareCommit, Err(ConcurrentTransactions)),
        (TxnState::PrepareAbort, Err(ConcurrentTransactions)),
        (TxnState::CompleteCommit, Ok(None)),
        (TxnState::CompleteAbort, Ok(None)),
    ] {
        let mut world = world();
        world.init().expect("a producer");
        world.preset(|metadata| metadata.state = state);
        assert_eq!(world.init_two_phase(true).map(|given| given.ongoing), wanted, "{state:?}");
    }
}
