//! Which log is cleaned next (spec 8.9; `LogCleanerManager`).

use super::Node;
use super::timers::Timer;
use crate::clean::CleanPlan;
use crate::partition::{AbortedTxn, LogConfig, Partition};
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
        let dirty = dirty_ppm(self.now.wall_ms, config, &found)?;
        Some((dirty, partition.id(), found))
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

/// The dirty part in millionths, when it is more than the topic bears or has waited too long.
fn dirty_ppm(now_ms: i64, config: &LogConfig, found: &Cleanable) -> Option<u64> {
    let all = found.clean_bytes.saturating_add(found.dirty_bytes).max(1);
    let dirty = found.dirty_bytes.saturating_mul(ONE) / all;
    let overdue_ms = now_ms.saturating_sub(config.max_compaction_lag_ms);
    let overdue = config.max_compaction_lag_ms < i64::MAX
        && found.dirty_since_ms >= 0
        && found.dirty_since_ms < overdue_ms;
    let wanted = dirty > u64::from(config.min_cleanable_dirty_ppm) || overdue;
    (found.dirty_bytes > 0 && wanted).then_some(dirty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_cleaned_when_enough_of_it_is_dirty_or_its_oldest_dirty_record_waits_too_long() {
        const NO_LAG: i64 = i64::MAX;
        // Clean and dirty bytes, the oldest dirty timestamp, the longest lag; at 10000 ms and 50 %.
        for (clean_bytes, dirty_bytes, dirty_since_ms, max_compaction_lag_ms, found) in [
            (50, 50, 0, NO_LAG, None),
            (49, 51, 0, NO_LAG, Some(510_000)),
            (0, 7, -1, NO_LAG, Some(1_000_000)),
            (0, 0, -1, NO_LAG, None),
            (90, 10, 8_999, 1_000, Some(100_000)),
            (90, 10, 9_000, 1_000, None),
            (90, 10, 0, 1_000, Some(100_000)),
            (90, 10, -1, 1_000, None),
            (90, 10, i64::MIN, NO_LAG, None),
            (90, 0, 0, 1_000, None),
        ] {
            let config = LogConfig { max_compaction_lag_ms, ..LogConfig::default() };
            let cleanable = Cleanable {
                start: 0,
                holes_end: 0,
                first_dirty: 0,
                end: 9,
                clean_bytes,
                dirty_bytes,
                dirty_since_ms,
            };
            let case = (clean_bytes, dirty_bytes, dirty_since_ms, max_compaction_lag_ms);
            assert_eq!(dirty_ppm(10_000, &config, &cleanable), found, "{case:?}");
        }
    }
}
