//! Old records: which log is cleaned next, and what retention takes (spec 8.8, 8.9;
//! `LogCleanerManager`, `LogManager.cleanupLogs`).

use super::Node;
use super::completion::Completion;
use super::timers::Timer;
use crate::clean::CleanPlan;
use crate::mark;
use crate::partition::{AbortedTxn, LogConfig, Partition};
use crate::store::Cleanable;
use crate::types::{Offset, PartitionId};

/// Millionths.
const ONE: u64 = 1_000_000;

impl Node {
    /// Begins to look for old records from time to time.
    pub(super) fn start_cleaning(&mut self) {
        self.plan_retention();
        self.plan_cleaning(false);
    }

    fn plan_retention(&mut self) {
        let interval = u64::try_from(self.config.log_retention_check_interval_ms).unwrap_or(1);
        self.timers.set(self.now.at.after_ms(interval), Timer::Retention);
    }

    /// The next look for a log to clean: at once after one was cleaned, as there may be more.
    fn plan_cleaning(&mut self, at_once: bool) {
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

    /// Lets go of what is older, or more, than its topic keeps. The metadata log keeps all.
    pub(super) fn apply_retention(&mut self) {
        let now_ms = self.now.wall_ms;
        let due: alloc::vec::Vec<(PartitionId, Offset)> = self
            .partitions
            .values()
            .filter(|partition| {
                partition.config().deleted && partition.id() != PartitionId::METADATA
            })
            .filter_map(|partition| {
                let LogConfig { retention_ms, retention_bytes, .. } = *partition.config();
                let id = partition.id();
                let start =
                    self.store.retention_start(id, now_ms, retention_ms, retention_bytes)?;
                let start = start.min(partition.high_watermark());
                (start > partition.log_start()).then_some((id, start))
            })
            .collect();
        for (partition, offset) in due {
            mark!(RetentionPassed);
            self.split_large_turn();
            self.store.move_log_start(partition, offset);
            self.when_persisted(Completion::LogStart { partition, offset, waiting: None });
        }
        self.plan_retention();
    }

    /// Begins with the log that has the largest dirty part, if one has enough.
    pub(super) fn clean_next(&mut self) {
        self.cleaning_at = None;
        if !self.store.is_cleaning() {
            let best = self
                .partitions
                .values()
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
        if !config.compacted {
            return None;
        }
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
            end: cleanable.end,
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

    /// Tells the store of a log what its topic says of segments.
    pub(super) fn apply_segment_limits(&mut self, id: PartitionId) {
        let Some(partition) = self.partitions.get(&id) else { return };
        let (segment_bytes, segment_ms) = self.segment_limits(partition.config());
        self.store.set_segment_limits(id, segment_bytes, segment_ms);
    }

    /// How large (bytes) and how old (ms) the segments of a log become.
    pub(super) fn segment_limits(&self, config: &LogConfig) -> (u32, i64) {
        let most = if self.config.segment_bytes_max == 0 {
            u32::MAX
        } else {
            self.config.segment_bytes_max
        };
        (config.segment_bytes.min(most), config.segment_ms)
    }
}
