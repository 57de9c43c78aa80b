//! The sweep that forgets transactional ids which were idle too long (spec 5.7, report P23).
//!
//! Tombstones are written in batches of a bounded size; an id whose tombstone failed is as it was
//! and is tried at the next sweep.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::append::Appending;
use super::shard::Pending;
use super::{AppendId, TransactionalId, TxnCoordinator, TxnState, records};
use crate::mark;
use crate::time::Now;

/// The bytes of an empty batch.
const BATCH_OVERHEAD_BYTES: usize = 61;
/// What a record takes besides its key, at most: length, attributes, deltas, header count.
const RECORD_OVERHEAD_BYTES: usize = 21;

impl TxnCoordinator {
    /// Writes tombstones for what is idle too long, if a sweep is due.
    pub(super) fn sweep_expired(&mut self, now: Now) {
        if self.expiry_sweep_at.is_none_or(|at| at > now.at) {
            return;
        }
        let bound_ms = now.wall_ms.saturating_sub(self.config.id_expiration_ms);
        let expired: Vec<(i32, Vec<TransactionalId>)> = self
            .shards
            .iter()
            .filter(|(_, shard)| shard.has_idle())
            .map(|(partition, shard)| {
                let ids = shard
                    .idle_since(bound_ms)
                    .filter(|id| shard.get(id).is_some_and(|entry| entry.pending.is_none()));
                (*partition, ids.map(Arc::clone).collect())
            })
            .collect();
        for (partition, ids) in expired {
            self.expire(partition, ids);
        }
        self.expiry_sweep_at = None;
        self.arm_sweeps(now);
    }

    fn expire(&mut self, partition: i32, ids: Vec<TransactionalId>) {
        let (mut batch, mut batch_bytes) = (Vec::new(), BATCH_OVERHEAD_BYTES);
        for id in ids {
            let bytes = records::encode_key(&id).len() + RECORD_OVERHEAD_BYTES;
            if batch_bytes + bytes > self.config.max_tombstone_batch_bytes && !batch.is_empty() {
                mark!(TxnExpirySeveralBatches);
                self.append_tombstones(partition, core::mem::take(&mut batch));
                batch_bytes = BATCH_OVERHEAD_BYTES;
            }
            batch.push(id);
            batch_bytes += bytes;
        }
        if !batch.is_empty() {
            self.append_tombstones(partition, batch);
        }
    }

    fn append_tombstones(&mut self, partition: i32, ids: Vec<TransactionalId>) {
        let tombstones = ids.iter().map(|id| (records::encode_key(id), None)).collect();
        let what = Appending::Tombstones(ids.clone());
        let Some(append) = self.emit_append(partition, tombstones, what) else { return };
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        for id in &ids {
            if let Some(entry) = shard.get(id) {
                TxnState::Dead.assert_may_follow(entry.metadata.state);
            }
            if let Some(pending) = shard.pending_mut(id) {
                *pending = Some(Pending::Expiring { append });
            }
        }
    }

    pub(super) fn tombstones_appended(
        &mut self,
        partition: i32,
        append: AppendId,
        ids: &[TransactionalId],
        persisted: bool,
    ) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        for id in ids {
            let Some(pending) = shard.pending_mut(id) else { continue };
            if *pending != Some(Pending::Expiring { append }) {
                continue;
            }
            if persisted {
                mark!(TxnIdExpired);
                shard.remove(id);
            } else {
                mark!(TxnAppendFailedPendingCleared);
                *pending = None;
            }
        }
    }
}
