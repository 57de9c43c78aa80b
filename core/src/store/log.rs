//! One log in memory: its segments, the batches not yet in them, and the recent ones.
//!
//! Everything here is persisted: a batch arrives when its turn's journal write was done.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::AbortedTxn;
use super::block::Block;
use super::checkpoint_file::{LogImage, SegmentImage, SnapshotImage};
use super::files;
use super::placing::Home;
use super::segment::Segment;
use crate::types::{Offset, PartitionId, TopicPartition};

/// How far a log's folder has come into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Folder {
    /// To be created before the first write.
    Absent,
    /// It exists; its `partition.metadata` is to be written.
    Bare,
    /// Complete; whether `partition.metadata` is durable.
    Present { durable: bool },
}

/// A batch in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cached {
    pub(super) block: Block,
    pub(super) segment: Offset,
    pub(super) position: u64,
}

/// A log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Log {
    pub(super) id: PartitionId,
    pub(super) topic: TopicPartition,
    pub(super) folder_name: String,
    pub(super) folder: Folder,
    pub(super) segment_bytes: u32,
    /// How far a segment's batches may lie apart in time, in ms. Not on disk: the node says it.
    pub(super) segment_ms: i64,
    /// The next batch begins a segment, because nothing of the active one is to be kept.
    pub(super) roll_next: bool,
    pub(super) log_start: Offset,
    pub(super) log_end: Offset,
    /// Ascending, never empty; the last is the one appended to.
    pub(super) segments: Vec<Segment>,
    /// Recent batches, a gapless end of the log.
    pub(super) cached: VecDeque<Cached>,
    /// How many of the last of them are not in the segment files yet.
    pub(super) unwritten: usize,
    /// Bytes of those.
    pub(super) unwritten_bytes: u64,
    /// How many of those are being written.
    pub(super) in_flight: usize,
    /// Whether a write, or a step of creating the folder, is in flight.
    pub(super) busy: bool,
    /// Whether it is in line for writing.
    pub(super) queued: bool,
    /// The snapshot that the last checkpoint speaks of.
    pub(super) snapshot: Option<SnapshotImage>,
    /// Offsets of the snapshot files there are, ascending.
    pub(super) snapshots: Vec<Offset>,
    /// What [`super::files::LOG_START`] says as of the last checkpoint; 0 without one.
    pub(super) start_in_file: Offset,
    /// As of the last checkpoint.
    pub(super) leader_epochs: Vec<(i32, Offset)>,
    /// What the checkpoint file says of it, as it was described last; empty when it never was.
    pub(super) entry: Bytes,
    /// Its bytes on disk are damaged: nothing of it is served.
    pub(super) offline: bool,
    /// Everything below was cleaned.
    pub(super) clean_end: Offset,
    /// Cleanings may have left holes below; there are none from here on. At or above
    /// [`Log::clean_end`].
    pub(super) cleaned_to: Offset,
    /// How often its files were replaced: a read that began before is to begin again.
    pub(super) replaced: u32,
    /// The last durable checkpoint ends here, and the segment it ends in begins at
    /// [`Log::durable_base`]; `None` when there is none.
    pub(super) durable_end: Offset,
    pub(super) durable_base: Option<Offset>,
    /// The segment whose name is durable because a batch was placed in it.
    pub(super) named_base: Option<Offset>,
    /// Where the last placed batch ends ([`super::placing`]).
    pub(super) placed_to: Offset,
    /// Cleaning found a batch that it cannot read, and leaves the log alone in this life.
    pub(super) uncleanable: bool,
}

impl Log {
    /// An empty log without files.
    pub(super) fn new(id: PartitionId, topic: TopicPartition, segment_bytes: u32) -> Self {
        Self {
            id,
            folder_name: files::folder(&topic),
            topic,
            folder: Folder::Absent,
            segment_bytes,
            segment_ms: i64::MAX,
            roll_next: false,
            log_start: 0,
            log_end: 0,
            segments: alloc::vec![Segment::new(0)],
            cached: VecDeque::new(),
            unwritten: 0,
            unwritten_bytes: 0,
            in_flight: 0,
            busy: false,
            queued: false,
            snapshot: None,
            snapshots: Vec::new(),
            start_in_file: 0,
            leader_epochs: Vec::new(),
            entry: Bytes::new(),
            offline: false,
            clean_end: 0,
            cleaned_to: 0,
            replaced: 0,
            durable_end: 0,
            durable_base: None,
            named_base: None,
            placed_to: 0,
            uncleanable: false,
        }
    }

    /// Adds a persisted batch at the end. Says whether a segment was rolled.
    pub(super) fn append(&mut self, block: Block, interval: u32) -> bool {
        let (header, size) = (block.header, block.size());
        let (bytes, ms) = (self.segment_bytes, self.segment_ms);
        let rolls = self.active().ends_before(&header, size, bytes, ms, self.roll_next);
        self.add(block, rolls, interval);
        self.unwritten += 1;
        self.unwritten_bytes = self.unwritten_bytes.saturating_add(size);
        rolls
    }

    /// Adds a persisted batch that is in its segment already. Says whether a segment was rolled.
    pub(super) fn append_placed(&mut self, block: Block, home: Home, interval: u32) -> bool {
        let size = block.size();
        let rolls = self.active().base != home.segment;
        let is_at = self.add(block, rolls, interval);
        assert!(
            is_at == home && self.unwritten == 0,
            "a placed batch follows what its log has in files: {home:?}"
        );
        self.placed_to = self.log_end;
        let segment = self.active_mut();
        segment.written = segment.written.saturating_add(size);
        rolls
    }

    /// Adds a batch at the end, to a new segment when it `rolls`; where it is then.
    fn add(&mut self, block: Block, rolls: bool, interval: u32) -> Home {
        if rolls {
            self.roll_next = false;
            self.active_mut().index_time();
            self.segments.push(Segment::new(block.header.base_offset));
        }
        self.log_end = block.end();
        let active = self.active_mut();
        let position = active.add(&block.header, block.size(), interval);
        let segment = active.base;
        self.cached.push_back(Cached { block, segment, position });
        Home { segment, position }
    }

    /// Whether batches since the last durable checkpoint are placed: then all that follow are.
    pub(super) const fn is_placed(&self) -> bool {
        self.placed_to > self.durable_end
    }

    /// Moves the log's start and returns the segments that lie wholly below it. When nothing is
    /// left, the last one is closed, so that it can go too.
    pub(super) fn move_start(&mut self, offset: Offset) -> Vec<Segment> {
        self.log_start = self.log_start.max(offset.min(self.log_end));
        let start = self.log_start;
        if start == self.log_end && self.active().size > 0 {
            self.active_mut().index_time();
            self.segments.push(Segment::new(start));
        }
        let mut below = self.segments.windows(2).take_while(|pair| pair[1].base <= start).count();
        // What is not written yet stays until it is, so that writes keep their order.
        if let Some(unwritten) = self.first_unwritten().map(|batch| batch.segment) {
            below = below.min(self.segments.partition_point(|segment| segment.base < unwritten));
        }
        // What a cleaning is putting in its place stays until it is there.
        let aside = self.segments.iter().position(|segment| segment.cleaned);
        if aside.is_some_and(|aside| aside < below) {
            below = 0;
        }
        self.segments.drain(..below).collect()
    }

    /// Where the log may begin when its oldest segments go: those whose youngest record is older
    /// than `retention_ms` at `now_ms`, and those beyond `retention_bytes` from the end. None at or
    /// above `high_watermark` goes. `None` when nothing is to be done.
    pub(super) fn retained_from(
        &mut self,
        now_ms: i64,
        retention_ms: i64,
        retention_bytes: i64,
        high_watermark: Offset,
    ) -> Option<Offset> {
        let ends = self.segments.iter().skip(1).map(|segment| segment.base);
        let ends: Vec<Offset> = ends.chain([self.log_end]).collect();
        let mut excess = u64::try_from(retention_bytes).ok().map(|keep| {
            let size = self.segments.iter().map(|segment| segment.size).sum::<u64>();
            size.saturating_sub(keep)
        });
        let mut gone = 0_usize;
        for (segment, end) in self.segments.iter().zip(&ends) {
            let expired = retention_ms >= 0
                && segment.max_timestamp >= 0
                && now_ms.saturating_sub(segment.max_timestamp) > retention_ms;
            let too_much = excess.is_some_and(|excess| excess > 0 && excess >= segment.size);
            if segment.size == 0 || *end > high_watermark || !(expired || too_much) {
                break;
            }
            excess = excess.map(|excess| excess.saturating_sub(segment.size));
            gone += 1;
        }
        // Below the start already, and kept so far because the log was written there.
        let left_over = self.segments.get(1).is_some_and(|next| next.base <= self.log_start);
        let Some(last) = gone.checked_sub(1) else {
            return left_over.then_some(self.log_start);
        };
        self.roll_next |= gone == self.segments.len();
        let start = ends[last].max(self.log_start);
        (start > self.log_start || left_over).then_some(start)
    }

    /// Adds an entry to the transaction index of the segment that holds its marker.
    pub(super) fn record_aborted(&mut self, aborted: &AbortedTxn) -> bool {
        self.segment_of(aborted.last_offset)
            .is_some_and(|at| self.segments[at].add_aborted(aborted))
    }

    /// Index of the segment whose range holds `offset`.
    pub(super) fn segment_of(&self, offset: Offset) -> Option<usize> {
        self.segments.partition_point(|segment| segment.base <= offset).checked_sub(1)
    }

    /// Index of the segment that begins at `base`.
    pub(super) fn place_of(&self, base: Offset) -> Option<usize> {
        self.segments.binary_search_by_key(&base, |segment| segment.base).ok()
    }

    /// The first batch that is not in the files yet.
    pub(super) fn first_unwritten(&self) -> Option<&Cached> {
        self.cached.get(self.cached.len() - self.unwritten)
    }

    /// Everything below this offset is in the files.
    pub(super) fn written_end(&self) -> Offset {
        self.first_unwritten().map_or(self.log_end, |batch| batch.block.header.base_offset)
    }

    /// Index in the cache of the first batch that ends after `offset`, when memory covers it.
    pub(super) fn cached_from(&self, offset: Offset) -> Option<usize> {
        if self.cached.front()?.block.header.base_offset > offset {
            return None;
        }
        Some(self.cached.partition_point(|batch| batch.block.end() <= offset))
    }

    /// What a checkpoint says of this log as it is now.
    pub(super) fn image(
        &self,
        snapshot: Option<SnapshotImage>,
        leader_epochs: Vec<(i32, Offset)>,
    ) -> LogImage {
        LogImage {
            id: self.id,
            topic: self.topic.topic.clone(),
            segment_bytes: self.segment_bytes,
            log_start: self.log_start,
            log_end: self.log_end,
            offline: self.offline,
            snapshot,
            leader_epochs,
            segments: self
                .segments
                .iter()
                .map(|segment| SegmentImage {
                    base: segment.base,
                    size: segment.size,
                    max_timestamp: segment.max_timestamp,
                    max_timestamp_offset: segment.max_timestamp_offset,
                    index: segment.index.image(),
                    time: segment.time.image(),
                    txn: segment.txn.image(),
                    first_timestamp: segment.first_timestamp,
                    cleaned: segment.cleaned,
                })
                .collect(),
            clean_end: self.clean_end,
            cleaned_to: self.cleaned_to,
        }
    }

    pub(super) fn active(&self) -> &Segment {
        self.segments.last().expect("a log always has a segment to append to")
    }

    fn active_mut(&mut self) -> &mut Segment {
        self.segments.last_mut().expect("a log always has a segment to append to")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::batch_at;
    use crate::types::TopicId;

    /// Segments of one batch of two records each, written, with these timestamps in ms.
    fn log_of(timestamps_ms: &[i64]) -> Log {
        let id = PartitionId { topic_id: TopicId(1), partition: 0 };
        let mut log = Log::new(id, TopicPartition::new("t", 0), 1);
        for ms in timestamps_ms {
            log.append(batch_at(log.log_end, 2, b"", *ms), 100);
        }
        (log.unwritten, log.unwritten_bytes) = (0, 0);
        log
    }

    fn bases(segments: &[Segment]) -> Vec<Offset> {
        segments.iter().map(|segment| segment.base).collect()
    }

    #[test]
    fn segments_go_that_lie_wholly_below_the_start() {
        for (start, gone, left) in [
            (0, &[][..], &[0, 2, 4][..]),
            (1, &[], &[0, 2, 4]),
            (2, &[0], &[2, 4]),
            (3, &[0], &[2, 4]),
            (6, &[0, 2, 4], &[6]),
            (9, &[0, 2, 4], &[6]),
        ] {
            let mut log = log_of(&[1, 2, 3]);
            let below = log.move_start(start);
            assert_eq!((bases(&below), log.log_start), (gone.to_vec(), start.min(6)));
            assert_eq!(bases(&log.segments), left);
            assert!(log.move_start(start).is_empty());
            assert_eq!(bases(&log.segments), left, "an empty segment is not closed");
        }
    }

    #[test]
    fn what_is_not_written_yet_and_what_a_cleaning_replaces_stays() {
        let mut log = log_of(&[1, 2, 3]);
        log.unwritten = 2;
        assert_eq!(bases(&log.move_start(6)), [0]);
        for (start, gone) in [(2, &[0][..]), (4, &[]), (6, &[])] {
            let mut log = log_of(&[1, 2, 3]);
            log.segments[1].cleaned = true;
            assert_eq!(bases(&log.move_start(start)), gone, "{start}");
        }
    }

    #[test]
    fn a_segment_is_closed_when_that_is_wanted_and_something_is_in_it() {
        let mut log = log_of(&[]);
        log.segment_bytes = 1 << 20;
        log.roll_next = true;
        let next = |log: &mut Log| log.append(batch_at(log.log_end, 2, b"", 1), 100);
        assert!(!next(&mut log), "it was empty");
        assert!(next(&mut log));
        assert!(!next(&mut log), "once");
        assert_eq!(bases(&log.segments), [0, 2]);
    }

    #[test]
    fn retention_names_the_end_of_the_last_segment_that_goes() {
        let size = log_of(&[1]).segments[0].size.cast_signed();
        // Now, how long, how many bytes, the high watermark; where the log may begin.
        for (now_ms, retention_ms, retention_bytes, high_watermark, start) in [
            (9_000, -1, -1, 6, None),
            (1_500, 500, -1, 6, None),
            (1_501, 500, -1, 6, Some(2)),
            (2_501, 500, -1, 6, Some(4)),
            (9_000, 500, -1, 6, Some(6)),
            (9_000, 500, -1, 3, Some(2)),
            (9_000, 0, -1, 0, None),
            (0, -1, 3 * size, 6, None),
            (0, -1, 2 * size + 1, 6, None),
            (0, -1, 2 * size, 6, Some(2)),
            (0, -1, 2 * size - 1, 6, Some(2)),
            (0, -1, size, 6, Some(4)),
            (0, -1, 0, 6, Some(6)),
            (1_501, 500, size, 6, Some(4)),
        ] {
            let mut log = log_of(&[1_000, 2_000, 3_000]);
            let found = log.retained_from(now_ms, retention_ms, retention_bytes, high_watermark);
            let case = (now_ms, retention_ms, retention_bytes, high_watermark);
            assert_eq!(found, start, "{case:?}");
            assert_eq!(log.roll_next, start == Some(6), "{case:?}");
        }
    }

    #[test]
    fn retention_leaves_what_has_no_timestamp_and_takes_what_a_deletion_left_over() {
        let mut log = log_of(&[-1, 2_000]);
        assert_eq!(log.retained_from(i64::MAX, 0, -1, 4), None);
        assert_eq!(log_of(&[]).retained_from(i64::MAX, 0, 0, 0), None, "there is nothing");
        log.log_start = 2;
        assert_eq!(log.retained_from(0, -1, -1, 4), Some(2));
        log.log_start = 3;
        assert_eq!(log.retained_from(0, -1, -1, 4), Some(3));
        let mut log = log_of(&[1_000, 2_000]);
        log.log_start = 1;
        assert_eq!(log.retained_from(i64::MAX, -1, -1, 4), None, "it has records still");
        assert_eq!(log.retained_from(1_001, 0, -1, 4), Some(2));
    }
}
