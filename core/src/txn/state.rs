//! The eight transaction states and the one table of who may follow whom.
//!
//! Kafka's `TransactionState`, spec 5.1. Nothing else in this crate decides whether a transition
//! is legal: [`TxnState::assert_may_follow`] is called by every `prepare_*` of
//! [`Metadata`](super::metadata::Metadata), and a transition that is not in the table is a broken
//! invariant, because every request row checks the state first.

use TxnState::{
    CompleteAbort, CompleteCommit, Dead, Empty, Ongoing, PrepareAbort, PrepareCommit,
    PrepareEpochFence,
};

/// A transactional id's state. The discriminant is persisted in `__transaction_state`: never
/// renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TxnState {
    /// Initialised, without partitions.
    Empty = 0,
    /// Partitions were added.
    Ongoing = 1,
    /// Decided: commit. Markers are being written.
    PrepareCommit = 2,
    /// Decided: abort. Markers are being written.
    PrepareAbort = 3,
    /// Committed, every marker is written.
    CompleteCommit = 4,
    /// Aborted, every marker is written.
    CompleteAbort = 5,
    /// Being expired. Pending only, never stored.
    Dead = 6,
    /// Being fenced by a newer producer or a timeout. Pending only, never stored.
    PrepareEpochFence = 7,
}

/// For each state, in the order of their ids, the states it may be entered from.
pub const LEGAL_PREDECESSORS: [(TxnState, &[TxnState]); 8] = [
    (Empty, &[Empty, CompleteCommit, CompleteAbort]),
    (Ongoing, &[Ongoing, Empty, CompleteCommit, CompleteAbort]),
    (PrepareCommit, &[Ongoing]),
    (PrepareAbort, &[Ongoing, PrepareEpochFence, Empty, CompleteCommit, CompleteAbort]),
    (CompleteCommit, &[PrepareCommit]),
    (CompleteAbort, &[PrepareAbort]),
    (Dead, &[Empty, CompleteAbort, CompleteCommit]),
    (PrepareEpochFence, &[Ongoing]),
];

impl TxnState {
    /// All states, in the order of their ids.
    pub const ALL: [Self; 8] = [
        Empty,
        Ongoing,
        PrepareCommit,
        PrepareAbort,
        CompleteCommit,
        CompleteAbort,
        Dead,
        PrepareEpochFence,
    ];

    /// The id on disk.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The state of an id on disk; `None` for one that Kafka never writes.
    #[must_use]
    pub fn from_id(id: i8) -> Option<Self> {
        usize::try_from(id).ok().and_then(|index| Self::ALL.get(index)).copied()
    }

    /// The name in DescribeTransactions and ListTransactions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Empty => "Empty",
            Ongoing => "Ongoing",
            PrepareCommit => "PrepareCommit",
            PrepareAbort => "PrepareAbort",
            CompleteCommit => "CompleteCommit",
            CompleteAbort => "CompleteAbort",
            Dead => "Dead",
            PrepareEpochFence => "PrepareEpochFence",
        }
    }

    /// The state of an exact name, as state filters carry it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// The states this one may be entered from.
    #[must_use]
    pub const fn legal_predecessors(self) -> &'static [Self] {
        LEGAL_PREDECESSORS[self as usize].1
    }

    /// Whether an id in this state may expire (spec 5.7).
    #[must_use]
    pub const fn expires(self) -> bool {
        matches!(self, Empty | CompleteCommit | CompleteAbort)
    }

    /// Whether the outcome is decided and markers are still owed.
    #[must_use]
    pub const fn is_prepared(self) -> bool {
        matches!(self, PrepareCommit | PrepareAbort)
    }

    /// Panics unless this state may be entered from `source`.
    pub(crate) fn assert_may_follow(self, source: Self) {
        assert!(
            self.legal_predecessors().contains(&source),
            "spec 5.1: {} may not be entered from {}",
            self.name(),
            source.name()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_ids() {
        for (index, (state, _)) in LEGAL_PREDECESSORS.iter().enumerate() {
            assert_eq!(usize::from(state.id()), index);
            assert_eq!(TxnState::ALL[index], *state);
        }
    }

    #[test]
    fn ids_and_names_go_there_and_back() {
        for state in TxnState::ALL {
            assert_eq!(TxnState::from_id(state.id().cast_signed()), Some(state));
            assert_eq!(TxnState::from_name(state.name()), Some(state));
        }
        assert_eq!(TxnState::from_id(8), None);
        assert_eq!(TxnState::from_id(-1), None);
        assert_eq!(TxnState::from_name("ongoing"), None);
    }

    #[test]
    fn every_pair_of_states_is_decided_by_the_table() {
        // Rows: the state entered; columns: from Empty, Ongoing, PrepareCommit, PrepareAbort,
        // CompleteCommit, CompleteAbort, Dead, PrepareEpochFence.
        let wanted = [
            "y...yy..", // Empty
            "yy..yy..", // Ongoing
            ".y......", // PrepareCommit
            "yy..yy.y", // PrepareAbort
            "..y.....", // CompleteCommit
            "...y....", // CompleteAbort
            "y...yy..", // Dead
            ".y......", // PrepareEpochFence
        ];
        for target in TxnState::ALL {
            for source in TxnState::ALL {
                let legal =
                    wanted[usize::from(target.id())].as_bytes()[usize::from(source.id())] == b'y';
                assert_eq!(
                    target.legal_predecessors().contains(&source),
                    legal,
                    "{source:?} -> {target:?}"
                );
            }
        }
    }

    #[test]
    #[should_panic(expected = "spec 5.1: CompleteAbort may not be entered from PrepareCommit")]
    fn a_decision_cannot_flip() {
        CompleteAbort.assert_may_follow(PrepareCommit);
    }
}
