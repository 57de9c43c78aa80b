//! Where each leader epoch of a partition began (KIP-101, `LeaderEpochFileCache`).

use alloc::vec::Vec;

use crate::types::Offset;

/// Leader epochs with their first offsets, both ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LeaderEpochs {
    entries: Vec<(i32, Offset)>,
}

impl LeaderEpochs {
    pub(super) fn entries(&self) -> &[(i32, Offset)] {
        &self.entries
    }

    /// Notes that an epoch begins at an offset. Epochs without a record in between vanish; an
    /// epoch that is known, or older than one that is, changes nothing.
    pub(super) fn assign(&mut self, epoch: i32, start: Offset) {
        if epoch < 0 || self.entries.last().is_some_and(|last| last.0 >= epoch) {
            return;
        }
        while self.entries.last().is_some_and(|last| last.1 >= start) {
            self.entries.pop();
        }
        self.entries.push((epoch, start));
    }

    /// Forgets epochs that ended at or below the log's start; the one it lies in begins there.
    pub(super) fn truncate_below(&mut self, log_start: Offset) {
        let gone = self.entries.partition_point(|entry| entry.1 <= log_start).saturating_sub(1);
        self.entries.drain(..gone);
        if let Some(first) = self.entries.first_mut() {
            first.1 = first.1.max(log_start);
        }
    }

    /// The newest epoch not above the one asked for, and the offset it ended at; (-1, -1) when
    /// that is unknown.
    pub(super) fn end_of(&self, epoch: i32, log_end: Offset) -> (i32, Offset) {
        if self.entries.last().is_some_and(|last| last.0 == epoch) {
            return (epoch, log_end);
        }
        let above = self.entries.partition_point(|entry| entry.0 <= epoch);
        let Some(next) = self.entries.get(above).filter(|_| epoch >= 0) else {
            return (-1, -1);
        };
        let floor = above.checked_sub(1).and_then(|below| self.entries.get(below));
        (floor.map_or(epoch, |floor| floor.0), next.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_ends_where_the_next_begins() {
        let mut epochs = LeaderEpochs::default();
        for (epoch, start) in [(1, 0), (2, 0), (4, 10), (3, 12), (7, 20)] {
            epochs.assign(epoch, start);
        }
        assert_eq!(epochs.entries(), [(2, 0), (4, 10), (7, 20)]);
        for (asked, answer) in [
            (-1, (-1, -1)),
            (1, (1, 0)),
            (2, (2, 10)),
            (3, (2, 10)),
            (4, (4, 20)),
            (6, (4, 20)),
            (7, (7, 25)),
            (8, (-1, -1)),
        ] {
            assert_eq!(epochs.end_of(asked, 25), answer, "epoch {asked}");
        }
    }

    #[test]
    fn the_epoch_that_the_log_start_lies_in_is_kept() {
        let mut epochs = LeaderEpochs::default();
        for (epoch, start) in [(1, 0), (2, 10), (3, 20)] {
            epochs.assign(epoch, start);
        }
        epochs.truncate_below(15);
        assert_eq!(epochs.entries(), [(2, 15), (3, 20)]);
    }
}
