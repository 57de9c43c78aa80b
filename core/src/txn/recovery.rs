//! Becoming and ceasing to be the coordinator of a partition (spec 5.5).
//!
//! Replay takes the last value of each key; a tombstone removes it; records of a newer format are
//! skipped by their key. Then every Prepare* goes on with *all* its markers, under the new coordinator epoch
//! (P09), and what was Ongoing times out by its persisted start.
//!
//! Kafka ends the replay at a record it cannot read and serves what it has read, which may be older
//! than what it wrote. Here the caller is told, and the partition is not served: a state that
//! cannot be read is never taken for the one before it.

use alloc::vec::Vec;

use bytes::Bytes;

use super::records::{self, TxnRecordError};
use super::shard::Shard;
use super::{TransactionalId, TxnCoordinator, TxnState};
use crate::mark;
use crate::time::Now;

impl TxnCoordinator {
    /// Begins loading a partition of `__transaction_state` that this node leads from now on, at
    /// this leader epoch. Its ids are answered COORDINATOR_LOAD_IN_PROGRESS meanwhile.
    pub fn load(&mut self, _now: Now, partition: i32, coordinator_epoch: i32) {
        self.drop_markers(partition);
        self.shards.insert(partition, Shard::new(coordinator_epoch, self.next_generation));
        self.next_generation += 1;
    }

    /// One record of a partition that is loading, in log order.
    ///
    /// # Errors
    ///
    /// [`TxnRecordError`] when the record cannot be read; the partition must not be served then.
    pub fn load_record(
        &mut self,
        partition: i32,
        key: &Bytes,
        value: Option<&Bytes>,
    ) -> Result<(), TxnRecordError> {
        let Some(shard) = self.shards.get_mut(&partition).filter(|shard| shard.loading) else {
            return Ok(());
        };
        let id = match records::decode_key(key) {
            Ok(id) => id,
            // A kind of record that is still to come: it says nothing of any transactional id.
            Err(TxnRecordError::UnknownVersion) => {
                mark!(TxnLoadRecordSkipped);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        match value {
            None => shard.remove(&id),
            Some(value) => shard.put(&id, records::decode_value(value)?),
        }
        Ok(())
    }

    /// The partition was read to its end: it is active, and decided transactions go on.
    pub fn loaded(&mut self, now: Now, partition: i32) {
        let Some(shard) = self.shards.get_mut(&partition).filter(|shard| shard.loading) else {
            return;
        };
        shard.loading = false;
        self.forget_recreated(partition);
        let Some(shard) = self.shards.get(&partition) else { return };
        let decided: Vec<(TransactionalId, _)> = shard
            .entries()
            .filter(|(_, entry)| entry.metadata.state.is_prepared())
            .map(|(id, entry)| (id.clone(), entry.metadata.clone()))
            .collect();
        for (id, metadata) in decided {
            match metadata.state {
                TxnState::PrepareCommit => mark!(TxnRecoveryPrepareCommit),
                _ => mark!(TxnRecoveryPrepareAbort),
            }
            self.send_markers(partition, &id, metadata.prepare_complete(now.wall_ms));
        }
        self.arm_sweeps(now);
    }

    /// This node leads the partition no longer: everything of it is dropped, and requests that
    /// wait for an append are answered NOT_COORDINATOR when its outcome comes.
    pub fn resign(&mut self, partition: i32) {
        if self.shards.remove(&partition).is_some() {
            self.drop_markers(partition);
        }
    }
}
