//! Retention by time and size (`retention.ms`, `retention.bytes`): the oldest segments go, and with
//! them a log's start moves up, as DeleteRecords would move it (Kafka: `deleteOldSegments`).

use core::ops::Bound;

use super::Node;
use super::completion::Completion;
use super::timers::Timer;
use crate::mark;
use crate::partition::LogConfig;
use crate::types::PartitionId;

/// Logs that one tick looks at; the next tick takes the next ones.
const LOGS_PER_TICK: usize = 500;
/// Pause between two such ticks, in ms.
const PAUSE_MS: u64 = 10;

impl Node {
    /// Begins the next round over all logs after `log.retention.check.interval.ms`.
    pub(super) fn plan_retention(&mut self) {
        let interval = u64::try_from(self.config.log_retention_check_interval_ms).unwrap_or(1);
        self.timers.set(self.now.at.after_ms(interval), Timer::Retention(None));
    }

    /// Looks at the logs behind `after`.
    pub(super) fn retain(&mut self, after: Option<PartitionId>) {
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut last = None;
        let mut due = alloc::vec::Vec::new();
        let mut seen = 0;
        for (id, partition) in self.partitions.range((begin, Bound::Unbounded)).take(LOGS_PER_TICK)
        {
            last = Some(*id);
            seen += 1;
            if partition.config().deleted && *id != PartitionId::METADATA {
                due.push(*id);
            }
        }
        for id in due {
            self.retain_one(id);
        }
        if seen == LOGS_PER_TICK {
            self.timers.set(self.now.at.after_ms(PAUSE_MS), Timer::Retention(last));
        } else {
            self.plan_retention();
        }
    }

    fn retain_one(&mut self, id: PartitionId) {
        let Some(partition) = self.partitions.get(&id) else { return };
        let config = partition.config();
        let (ms, bytes, end) =
            (config.retention_ms, config.retention_bytes, partition.high_watermark());
        let Some(offset) = self.store.retained_from(id, self.now.wall_ms, ms, bytes, end) else {
            return;
        };
        mark!(RetentionMovedLogStart);
        self.move_log_start(id, offset);
        self.when_persisted(Completion::LogStart { partition: id, offset, request: None });
        self.split_large_turn();
    }

    /// Tells the store when a log's segments are full.
    pub(super) fn set_segment_limits(&mut self, id: PartitionId) {
        if let Some(partition) = self.partitions.get(&id) {
            let (segment_bytes, segment_ms) = self.segment_limits(partition.config());
            self.store.set_segment_limits(id, segment_bytes, segment_ms);
        }
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
