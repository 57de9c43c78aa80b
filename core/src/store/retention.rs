//! Which of a log's oldest segments are beyond what its topic keeps
//! (`UnifiedLog.deleteOldSegments`).

use super::Store;
use super::segment::Segment;
use crate::types::{Offset, PartitionId};

impl Store {
    /// Where a log is to begin by its retention: `retention_ms` is how old a segment's newest
    /// record may be (ms, negative for any age), `retention_bytes` what the log may have (negative
    /// for any size). `None` when nothing goes. The newest segment goes when it is too old, never
    /// for its size. A segment without timestamps never grows old: when it was written is not
    /// known.
    #[must_use]
    pub fn retention_start(
        &self,
        id: PartitionId,
        now_ms: i64,
        retention_ms: i64,
        retention_bytes: i64,
    ) -> Option<Offset> {
        let log = self.logs.get(&id).filter(|log| !log.offline)?;
        let too_old = |segment: &&Segment| {
            retention_ms >= 0
                && segment.size > 0
                && segment.max_timestamp >= 0
                && now_ms.saturating_sub(segment.max_timestamp) > retention_ms
        };
        let mut count = log.segments.iter().take_while(too_old).count();
        if let Ok(most) = u64::try_from(retention_bytes) {
            let total: u64 = log.segments.iter().skip(count).map(|segment| segment.size).sum();
            let mut surplus = total.saturating_sub(most);
            for segment in log.segments.iter().take(log.segments.len() - 1).skip(count) {
                if segment.size > surplus {
                    break;
                }
                surplus -= segment.size;
                count += 1;
            }
        }
        let start = log.segments.get(count).map_or(log.log_end, |segment| segment.base);
        (start > log.log_start).then_some(start)
    }
}
