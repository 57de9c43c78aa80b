//! What log cleaning needs of a partition, and what it leaves of one.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::{AbortedTxn, Partition, ProducerEntry};
use crate::types::{Offset, ProducerEpoch, ProducerId};

impl Partition {
    /// The last offsets of all batches that a producer is remembered by, now or after appends
    /// that are not persisted were taken back; and the epochs of producers that are remembered by
    /// a marker alone.
    #[must_use]
    pub fn remembered(&self) -> (BTreeSet<Offset>, BTreeMap<ProducerId, ProducerEpoch>) {
        let (mut batches, mut fenced) = (BTreeSet::new(), BTreeMap::new());
        let before = self.undo.iter().filter_map(|undo| {
            let producer = undo.producer.as_ref()?;
            Some((producer.producer_id, producer.entry.as_ref()?))
        });
        let now = self.producers.iter().map(|(id, entry)| (*id, entry));
        for (producer_id, entry) in before.chain(now) {
            let entry: &ProducerEntry = entry;
            batches.extend(entry.window.batches().iter().map(|batch| batch.last_offset));
            if entry.window.last().is_none() {
                fenced.insert(producer_id, entry.producer_epoch);
            }
        }
        (batches, fenced)
    }

    /// The log below `end` was cleaned: of the aborted transactions whose markers are there, these
    /// are left. A list that named others would have readers drop what the same producer committed
    /// later, as no marker ends them.
    pub fn cleaned(&mut self, end: Offset, left: Vec<AbortedTxn>) {
        self.aborted.replace_below(end, left);
    }
}
