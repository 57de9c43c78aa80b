//! Recent batches in memory, bounded over all logs, first in first out.
//!
//! The batches are in their logs; here is their order and their sum. What is not in a segment file
//! yet is never dropped, and nothing that came after it is: bounded by the journal.

use alloc::collections::{BTreeMap, VecDeque};

use super::block::Block;
use super::log::Log;
use crate::types::{Offset, PartitionId};

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
        self.bytes = self.bytes.saturating_add(block.size());
        self.order.push_back((id, block.header.base_offset));
    }

    /// A batch was taken out of its log.
    pub(super) fn removed(&mut self, block: &Block) {
        self.bytes = self.bytes.saturating_sub(block.size());
    }

    /// A log goes, and its batches with it.
    pub(super) fn dropped(&mut self, log: &Log) {
        let bytes: u64 = log.cached.iter().map(|batch| batch.block.size()).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Drops the oldest batches until the rest fits.
    pub(super) fn evict(&mut self, logs: &mut BTreeMap<PartitionId, Log>) {
        while self.bytes > self.max_bytes {
            let Some((id, base_offset)) = self.order.front() else { return };
            if let Some(log) = logs.get_mut(id)
                && let Some(oldest) = log.cached.front()
                && oldest.block.header.base_offset == *base_offset
            {
                if log.cached.len() == log.unwritten {
                    return;
                }
                self.bytes = self.bytes.saturating_sub(oldest.block.size());
                log.cached.pop_front();
            }
            self.order.pop_front();
        }
    }
}
