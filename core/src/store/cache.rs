//! Recent batches in memory, bounded over all logs, first in first out.
//!
//! The batches are in their logs; here is their order and their sum. What is not in a segment file
//! yet is never dropped, and nothing that came after it is: bounded by the journal.

use alloc::collections::{BTreeMap, VecDeque};

use super::block::Block;
use super::log::Log;
use crate::types::{Offset, PartitionId};

/// Headers, references and list entries of one batch, rounded up.
const AROUND_A_BATCH_BYTES: u64 = 512;

/// The order in which batches were persisted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cache {
    max_bytes: u64,
    bytes: u64,
    /// Log and base offset; entries of dropped logs are skipped when their turn comes.
    order: VecDeque<(PartitionId, Offset)>,
}

impl Cache {
    /// An empty cache.
    pub(super) const fn new(max_bytes: u64) -> Self {
        Self { max_bytes, bytes: 0, order: VecDeque::new() }
    }

    /// A batch is being added to its log.
    pub(super) fn added(&mut self, id: PartitionId, block: &Block) {
        self.bytes = self.bytes.saturating_add(cost(block));
        self.order.push_back((id, block.header.base_offset));
    }

    /// A batch was taken out of its log.
    pub(super) fn removed(&mut self, block: &Block) {
        self.bytes = self.bytes.saturating_sub(cost(block));
    }

    /// A log goes, and its batches with it.
    pub(super) fn dropped(&mut self, log: &Log) {
        let bytes: u64 = log.cached.iter().map(|batch| cost(&batch.block)).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Drops the oldest batches until the rest fits. Names the log that keeps it from that,
    /// because its oldest batch is not in its segment yet.
    pub(super) fn evict(&mut self, logs: &mut BTreeMap<PartitionId, Log>) -> Option<PartitionId> {
        while self.bytes > self.max_bytes {
            let (id, base_offset) = self.order.front()?;
            if let Some(log) = logs.get_mut(id)
                && let Some(oldest) = log.cached.front()
                && oldest.block.header.base_offset == *base_offset
            {
                if log.cached.len() == log.unwritten {
                    return Some(*id);
                }
                self.bytes = self.bytes.saturating_sub(cost(&oldest.block));
                log.cached.pop_front();
            }
            self.order.pop_front();
        }
        None
    }
}

/// What a batch takes in memory: its bytes, and what is kept around them.
fn cost(block: &Block) -> u64 {
    block.size().saturating_add(AROUND_A_BATCH_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::batch;
    use crate::types::TopicId;

    #[test]
    fn what_a_cleaning_takes_out_is_given_back_whole() {
        let mut cache = Cache::new(1_000_000);
        let block = batch(0, 3, b"value");
        let id = PartitionId { topic_id: TopicId(1), partition: 0 };
        cache.added(id, &block);
        cache.removed(&block);
        assert_eq!(cache.bytes, 0);
    }
}
