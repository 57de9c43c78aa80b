//! Which log is cleaned next (spec 8.9; `LogCleanerManager`).

use super::Node;
use super::timers::Timer;
use crate::clean::CleanPlan;
use crate::partition::{AbortedTxn, Partition};
use crate::store::Cleanable;
use crate::types::{Offset, PartitionId};

/// Millionths.
const ONE: u64 = 1_000_000;

impl Node {
    /// The next look for a log to clean: at once after one was cleaned, as there may be more.
    pub(super) fn plan_cleaning(&mut self, at_once: bool) {
        if !self.config.log_cleaner_enable {
            return;
        }
        let backoff = u64::try_from(self.config.log_cleaner_backoff_ms).unwrap_or(0).max(1);
        let wait_ms = if at_once { 1 } else { backoff };
        let at = self.now.at.after_ms(wait_ms);
        if let Some(before) = self.cleaning_at.replace(at) {
            self.timers.cancel(before, Timer::Clean);
        }
        self.timers.set(at, Timer::Clean);
    }

    /// Begins with the log that has the largest dirty part, if one has enough.
    pub(super) fn clean_next(&mut self) {
        self.cleaning_at = None;
        if !self.store.is_cleaning() {
            let best = self
                .partitions
                .compacted()
                .filter_map(|partition| self.how_dirty(partition))
                .max_by_key(|(dirty, id, _)| (*dirty, core::cmp::Reverse(*id)));
            if let Some((_, id, cleanable)) = best {
                self.clean(id, cleanable);
            }
        }
        self.plan_cleaning(false);
    }

    /// What part of a compacted log is dirty, in millionths; `None` when it is not to be cleaned.
    fn how_dirty(&self, partition: &Partition) -> Option<(u64, PartitionId, Cleanable)> {
        let config = partition.config();
        let old_ms = match config.min_compaction_lag_ms {
            0 => i64::MAX,
            lag_ms => self.now.wall_ms.saturating_sub(lag_ms),
        };
        let bound = partition.last_stable_offset();
        let found = self.store.cleanable(partition.id(), bound, old_ms)?;
        let all = found.clean_bytes.saturating_add(found.dirty_bytes).max(1);
        let dirty = found.dirty_bytes.saturating_mul(ONE) / all;
        let overdue_ms = self.now.wall_ms.saturating_sub(config.max_compaction_lag_ms);
        let overdue = config.max_compaction_lag_ms < i64::MAX
            && found.dirty_since_ms >= 0
            && found.dirty_since_ms < overdue_ms;
        let wanted = dirty > u64::from(config.min_cleanable_dirty_ppm) || overdue;
        (found.dirty_bytes > 0 && wanted).then_some((dirty, partition.id(), found))
    }

    fn clean(&mut self, id: PartitionId, cleanable: Cleanable) {
        let Some(partition) = self.partitions.get(&id) else { return };
        let (remembered, fenced) = partition.remembered();
        let plan = CleanPlan {
            now_ms: self.now.wall_ms,
            delete_retention_ms: partition.config().delete_retention_ms,
            first_dirty: cleanable.first_dirty,
            start: cleanable.start,
            end: cleanable.end,
            holes_end: cleanable.holes_end,
            aborted: partition.aborted_in(0, cleanable.end),
            remembered,
            fenced,
            map_bytes_max: usize::try_from(self.config.log_cleaner_dedupe_buffer_size).unwrap_or(0),
        };
        self.store.begin_cleaning(id, plan);
    }

    pub(super) fn log_cleaned(
        &mut self,
        id: PartitionId,
        end: Offset,
        left: alloc::vec::Vec<AbortedTxn>,
    ) {
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.cleaned(end, left);
        }
    }

    pub(super) fn cleaning_ended(&mut self, done: bool) {
        self.plan_cleaning(done);
    }
}
