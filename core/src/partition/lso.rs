//! Which transactions hold back read_committed readers (spec 8.1; P12).
//!
//! A transaction is unstable from its first record until the high watermark has passed its
//! marker: first it is open, then completed but not yet replicated.

use alloc::collections::{BTreeMap, VecDeque};

use crate::types::{Offset, ProducerId};

/// A completed transaction whose marker is not below the high watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Completed {
    first_offset: Offset,
    /// Offset of the marker.
    last_offset: Offset,
}

/// Open transactions, and completed ones that are not replicated yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Transactions {
    ongoing: BTreeMap<Offset, ProducerId>,
    /// Ascending by marker; as many as there are markers in flight.
    unreplicated: VecDeque<Completed>,
}

impl Transactions {
    /// A transaction's first record is in the log.
    pub(super) fn open(&mut self, first_offset: Offset, producer_id: ProducerId) {
        self.ongoing.insert(first_offset, producer_id);
    }

    /// Takes back [`Self::open`].
    pub(super) fn cancel(&mut self, first_offset: Offset) {
        self.ongoing.remove(&first_offset);
    }

    /// A transaction's marker is in the log. Gives the last stable offset as of the marker: that
    /// of the oldest transaction still open, or the offset behind the marker.
    pub(super) fn complete(&mut self, first_offset: Offset, marker_offset: Offset) -> Offset {
        self.ongoing.remove(&first_offset);
        self.unreplicated.push_back(Completed { first_offset, last_offset: marker_offset });
        self.oldest_open().unwrap_or(marker_offset.saturating_add(1))
    }

    /// Takes back the newest [`Self::complete`].
    pub(super) fn reopen(&mut self, first_offset: Offset, producer_id: ProducerId) {
        self.unreplicated.pop_back();
        self.ongoing.insert(first_offset, producer_id);
    }

    /// Markers below the high watermark end the instability of their transactions.
    pub(super) fn replicated(&mut self, high_watermark: Offset) {
        while self.unreplicated.front().is_some_and(|done| done.last_offset < high_watermark) {
            self.unreplicated.pop_front();
        }
    }

    /// First offset of the oldest open transaction.
    pub(super) fn oldest_open(&self) -> Option<Offset> {
        self.ongoing.keys().next().copied()
    }

    /// First offset that is not stable, however far the high watermark is.
    pub(super) fn first_unstable(&self) -> Option<Offset> {
        let completed = self.unreplicated.iter().map(|done| done.first_offset).min();
        self.oldest_open().into_iter().chain(completed).min()
    }
}
