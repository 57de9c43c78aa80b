//! The aborted transactions of a partition, as its readers need them (spec 8.2; P14, P15).
//!
//! Entries are in the order of their markers, as in Kafka's `.txnindex`. Kafka answers in that
//! order too; clients that trust the order of the list then show aborted records (P15), so the
//! answer here is ascending by first offset.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::types::{Offset, ProducerId};

/// One aborted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbortedTxn {
    /// Whose it was.
    pub producer_id: ProducerId,
    /// Offset of its first record.
    pub first_offset: Offset,
    /// Offset of its ABORT marker.
    pub last_offset: Offset,
    /// Last stable offset as of the marker: the first offset of the oldest transaction still
    /// open, or the offset behind the marker.
    pub last_stable_offset: Offset,
}

/// The aborted transactions whose markers are in the log, ascending by marker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct AbortedIndex {
    entries: VecDeque<AbortedTxn>,
    /// Markers below this offset were handed out by `drain_below`.
    drained: Offset,
}

impl AbortedIndex {
    /// The entries, ascending by marker.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &AbortedTxn> {
        self.entries.iter()
    }

    /// Entries that a store already has; they are not handed out again.
    pub(super) fn recovered(entries: impl Iterator<Item = AbortedTxn>, log_end: Offset) -> Self {
        let mut index = Self::default();
        entries.for_each(|entry| index.push(entry));
        index.drained = log_end;
        index
    }

    /// Adds the entry of a new marker; one that is not above the last is known already.
    pub(super) fn push(&mut self, entry: AbortedTxn) {
        if self.entries.back().is_none_or(|last| last.last_offset < entry.last_offset) {
            self.entries.push_back(entry);
        }
    }

    /// Takes back the entries of markers at or above an offset.
    pub(super) fn truncate(&mut self, offset: Offset) {
        while self.entries.back().is_some_and(|last| last.last_offset >= offset) {
            self.entries.pop_back();
        }
    }

    /// Forgets transactions that no fetch from `log_start` on can meet.
    pub(super) fn forget_below(&mut self, log_start: Offset) {
        while self.entries.front().is_some_and(|first| first.last_offset < log_start) {
            self.entries.pop_front();
        }
    }

    /// Of the entries with a marker below `end` these are left.
    pub(super) fn replace_below(&mut self, end: Offset, left: Vec<AbortedTxn>) {
        let above = self.entries.split_off(self.entries.partition_point(|it| it.last_offset < end));
        self.entries = left.into_iter().chain(above).collect();
    }

    /// Entries with a marker below `offset` that were not handed out yet.
    pub(super) fn drain_below(&mut self, offset: Offset) -> Vec<AbortedTxn> {
        let from = self.entries.partition_point(|entry| entry.last_offset < self.drained);
        let to = self.entries.partition_point(|entry| entry.last_offset < offset);
        self.drained = self.drained.max(offset);
        self.entries.range(from..to.max(from)).copied().collect()
    }

    /// Hands out from `offset` on, so that a rebuilt part of the index reaches its file.
    pub(super) fn undrain_from(&mut self, offset: Offset) {
        self.drained = self.drained.min(offset);
    }

    /// Every transaction with its marker at or above `fetch_offset` and its first record below
    /// `upper_bound`, ascending by first offset.
    pub(super) fn overlapping(&self, fetch_offset: Offset, upper_bound: Offset) -> Vec<AbortedTxn> {
        let from = self.entries.partition_point(|entry| entry.last_offset < fetch_offset);
        let mut found = Vec::new();
        for entry in self.entries.range(from..) {
            if entry.first_offset < upper_bound {
                found.push(*entry);
            }
            // Whatever ended later began at or above this.
            if entry.last_stable_offset >= upper_bound {
                break;
            }
        }
        found.sort_unstable_by_key(|entry| (entry.first_offset, entry.last_offset));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: AbortedTxn =
        AbortedTxn { producer_id: 1, first_offset: 0, last_offset: 3, last_stable_offset: 4 };
    const Q: AbortedTxn =
        AbortedTxn { producer_id: 2, first_offset: 1, last_offset: 2, last_stable_offset: 0 };

    #[test]
    fn the_list_is_ascending_by_first_offset_though_markers_came_the_other_way() {
        let mut index = AbortedIndex::default();
        index.push(Q);
        index.push(P);
        assert_eq!(index.overlapping(0, 4), [P, Q]);
        assert_eq!(index.overlapping(3, 4), [P]);
        assert_eq!(index.overlapping(4, 4), []);
        assert_eq!(index.overlapping(0, 1), [P]);
    }

    #[test]
    fn an_entry_is_handed_out_once_and_only_when_its_marker_is_below_the_offset() {
        let mut index = AbortedIndex::default();
        index.push(Q);
        index.push(P);
        assert_eq!(index.drain_below(2), []);
        assert_eq!(index.drain_below(3), [Q]);
        assert_eq!(index.drain_below(4), [P]);
        assert_eq!(index.drain_below(9), []);
    }

    #[test]
    fn an_entry_whose_marker_is_right_behind_what_was_cleaned_stays() {
        let mut index = AbortedIndex::default();
        index.push(Q);
        index.push(P);
        index.replace_below(P.last_offset, Vec::new());
        assert_eq!(index.overlapping(0, 4), [P]);
        index.replace_below(P.last_offset + 1, Vec::new());
        assert_eq!(index.overlapping(0, 4), []);
    }

    #[test]
    fn what_ended_below_the_logs_start_is_forgotten_and_nothing_else() {
        let mut index = AbortedIndex::default();
        index.push(Q);
        index.push(P);
        index.forget_below(Q.last_offset);
        assert_eq!(index.overlapping(0, 4), [P, Q], "a marker at the start is there still");
        index.forget_below(P.last_offset);
        assert_eq!(index.overlapping(0, 4), [P]);
    }
}
