//! Which transactions a reading of the log is in the middle of, and how they ended
//! (`CleanedTransactionMetadata`).

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use crate::batch::{self, BatchHeader, CheckedBatch};
use crate::partition::AbortedTxn;
use crate::types::{Decision, Offset, ProducerId};

/// An aborted transaction that the reading has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Aborting {
    txn: AbortedTxn,
    /// Whether a batch of it was read.
    has_data: bool,
}

/// The state of a reading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Transactions {
    /// Aborted ones that begin further on, by their first offset.
    ahead: VecDeque<AbortedTxn>,
    aborting: BTreeMap<ProducerId, Aborting>,
    /// Producers of which transactional data was read that is not aborted.
    committing: BTreeSet<ProducerId>,
    /// Those whose marker stays because something of them was there.
    left: Vec<AbortedTxn>,
}

impl Transactions {
    /// A reading from this offset on: what ended before it would be taken for its producer's next
    /// transaction.
    pub(super) fn new(aborted: &[AbortedTxn], from: Offset) -> Self {
        let reached = aborted.iter().filter(|txn| txn.last_offset >= from);
        let mut ahead: Vec<AbortedTxn> = reached.copied().collect();
        ahead.sort_unstable_by_key(|txn| (txn.first_offset, txn.last_offset));
        Self { ahead: ahead.into(), ..Self::default() }
    }

    fn reach(&mut self, offset: Offset) {
        while let Some(txn) = self.ahead.pop_front_if(|txn| txn.first_offset <= offset) {
            let aborting = Aborting { txn, has_data: false };
            self.aborting.entry(txn.producer_id).or_insert(aborting);
        }
    }

    /// A data batch was read. Whether it is of an aborted transaction.
    pub(super) fn data(&mut self, header: &BatchHeader) -> bool {
        self.reach(header.last_offset());
        if !header.is_transactional() {
            return false;
        }
        match self.aborting.get_mut(&header.producer_id) {
            Some(aborting) => {
                aborting.has_data = true;
                true
            }
            None => {
                self.committing.insert(header.producer_id);
                false
            }
        }
    }

    /// A control batch was read. Whether nothing needs it any more.
    pub(super) fn marker(&mut self, batch: &CheckedBatch) -> bool {
        let header = batch.header();
        self.reach(header.last_offset());
        if header.record_count == 0 {
            // It was cleaned already, and stands for a producer's epoch.
            return true;
        }
        match batch::parse_marker(batch) {
            Some((Decision::Abort, _)) => match self.aborting.remove(&header.producer_id) {
                Some(Aborting { txn, has_data: true }) => {
                    self.left.push(txn);
                    false
                }
                _ => true,
            },
            Some((Decision::Commit, _)) => !self.committing.remove(&header.producer_id),
            None => false,
        }
    }

    pub(super) fn take_aborted(&mut self) -> Vec<AbortedTxn> {
        core::mem::take(&mut self.left)
    }
}
