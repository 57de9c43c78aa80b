//! The sweep that aborts transactions which were open too long (spec 5.6).

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::end::EndFor;
use super::{TransactionalId, TxnCoordinator};
use crate::time::Now;

impl TxnCoordinator {
    /// Aborts what is overdue by the wall clock and its persisted start, if a sweep is due.
    pub(super) fn sweep_timeouts(&mut self, now: Now) {
        if self.abort_sweep_at.is_none_or(|at| at > now.at) {
            return;
        }
        let overdue: Vec<(i32, TransactionalId)> = self
            .shards
            .iter()
            .filter(|(_, shard)| shard.has_deadlines())
            .flat_map(|(partition, shard)| {
                shard.overdue(now.wall_ms).map(|id| (*partition, Arc::clone(id)))
            })
            .collect();
        for (partition, id) in overdue {
            let idle = self
                .shards
                .get(&partition)
                .and_then(|shard| shard.get(&id))
                .is_some_and(|entry| entry.pending.is_none());
            if idle {
                // Without a producer id to go on with, the next sweep tries again.
                let _ = self.fence(now, partition, &id, EndFor::Sweep);
            }
        }
        self.abort_sweep_at = None;
        self.arm_sweeps(now);
    }
}
