//! Every way of preparing a transition, from every state: legal by the table, or a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use Decision::{Abort, Commit};
use TxnState::{
    CompleteAbort, CompleteCommit, Dead, Empty, Ongoing, PrepareAbort, PrepareCommit,
    PrepareEpochFence,
};

/// The owner keeps its producer id, at the next epoch.
const NONE: (i64, i16) = (-1, -1);

type Prepare = fn(&Metadata) -> Metadata;

fn from(state: TxnState) -> Metadata {
    Metadata { state, producer_epoch: 5, start_ms: EPOCH_MS, ..Metadata::new(1, 60_000, EPOCH_MS) }
}

#[test]
fn preparing_from_an_illegal_state_is_a_broken_invariant() {
    let table: [(&str, Prepare, &[TxnState]); 9] = [
        (
            "init",
            |m| m.prepare_init(1, (6, 5), 60_000, EPOCH_MS),
            &[Empty, CompleteCommit, CompleteAbort],
        ),
        (
            "add",
            |m| m.prepare_add([topic(0)], 2, EPOCH_MS),
            &[Empty, Ongoing, CompleteCommit, CompleteAbort],
        ),
        (
            "keep",
            |m| m.prepare_keep((1, 6), 60_000, EPOCH_MS),
            // From where none is open nothing asks for it; the table of states has no other name.
            &[Empty, Ongoing, CompleteCommit, CompleteAbort],
        ),
        ("classic commit", |m| m.prepare_end_classic(Commit, EPOCH_MS), &[Ongoing]),
        (
            "classic abort",
            |m| m.prepare_end_classic(Abort, EPOCH_MS),
            &[Ongoing, PrepareEpochFence, Empty, CompleteCommit, CompleteAbort],
        ),
        ("v5 commit", |m| m.prepare_end_bumped(Commit, NONE, 2, EPOCH_MS), &[Ongoing]),
        (
            "v5 abort",
            |m| m.prepare_end_bumped(Abort, NONE, 2, EPOCH_MS),
            &[Ongoing, PrepareEpochFence, Empty, CompleteCommit, CompleteAbort],
        ),
        ("fence", |m| m.prepare_fence(NONE, 2, EPOCH_MS), &[Ongoing]),
        ("complete", |m| m.prepare_complete(EPOCH_MS), &[PrepareCommit, PrepareAbort]),
    ];
    for (name, prepare, legal) in table {
        for state in TxnState::ALL {
            let metadata = from(state);
            let prepared = catch_unwind(AssertUnwindSafe(|| prepare(&metadata)));
            assert_eq!(prepared.is_ok(), legal.contains(&state), "{name} from {state:?}");
            if let Ok(target) = prepared
                && state != PrepareEpochFence
            {
                metadata.assert_completes_to(&target);
            }
        }
    }
}

#[test]
fn what_was_not_prepared_from_here_cannot_be_completed() {
    let ongoing = from(Ongoing);
    for state in [Dead, PrepareEpochFence] {
        let never_stored = Metadata { state, ..from(Empty) };
        let completed =
            catch_unwind(AssertUnwindSafe(|| ongoing.assert_completes_to(&never_stored)));
        assert!(completed.is_err(), "{state:?}");
    }
    let other_producer = Metadata { producer_id: 2, ..ongoing.prepare_add([topic(0)], 2, 0) };
    assert!(
        catch_unwind(AssertUnwindSafe(|| ongoing.assert_completes_to(&other_producer))).is_err()
    );
}

#[test]
fn initialising_in_every_state() {
    for (state, wanted) in [
        (Empty, Ok((1000, 1))),
        (Ongoing, Err(TxnError::ConcurrentTransactions)),
        (PrepareCommit, Err(TxnError::ConcurrentTransactions)),
        (PrepareAbort, Err(TxnError::ConcurrentTransactions)),
        (CompleteCommit, Ok((1000, 1))),
        (CompleteAbort, Ok((1000, 1))),
    ] {
        let mut world = World::v2();
        world.init().expect("a producer");
        world.preset(|metadata| metadata.state = state);
        assert_eq!(world.init(), wanted, "{state:?}");
        let after = if state == Ongoing { CompleteAbort } else { world.state() };
        assert_eq!(world.state(), after);
        if state.is_prepared() {
            // Row 2 comes before row 3: a stranger is fenced in every state.
            assert_eq!(world.state(), state);
        }
        assert_eq!(world.init_with(Some((7, 0))), Err(TxnError::ProducerFenced), "{state:?}");
    }
}
