//! One segment's place in the log and its sparse indexes, in Apache Kafka's formats
//! (`OffsetIndex`, `TimeIndex`, `TransactionIndex`; spec 8.2).
//!
//! ```text
//! .index      relative offset i32 (of the batch's last record), position i32
//! .timeindex  largest timestamp so far i64, relative offset i32 of its batch's last record
//! .txnindex   version i16 = 0, producer id i64, first, last, last stable offset i64
//! ```

use alloc::vec::Vec;

use bytes::{Buf, BufMut};

use super::AbortedTxn;
use super::files::Kind;
use crate::batch::BatchHeader;
use crate::io::FilePath;
use crate::mark;
use crate::types::Offset;

/// Bytes of an entry of `.index`.
const INDEX_ENTRY: usize = 8;
/// Bytes of an entry of `.timeindex`.
const TIME_ENTRY: usize = 12;
/// Bytes of an entry of `.txnindex`.
const TXN_ENTRY: usize = 34;

/// An index file's contents, and how much of it is durable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct IndexFile {
    pub(super) bytes: Vec<u8>,
    /// Of all the bytes.
    crc: u32,
    /// Bytes that a sync covered.
    pub(super) durable: usize,
}

impl IndexFile {
    /// As read from disk.
    pub(super) fn read(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), crc: crc32c::crc32c(bytes), durable: bytes.len() }
    }

    /// Length and CRC-32C, for the checkpoint.
    pub(super) fn image(&self) -> FileImage {
        FileImage { length: u32::try_from(self.bytes.len()).unwrap_or(u32::MAX), crc: self.crc }
    }

    fn put(&mut self, entry: &[u8]) {
        self.bytes.put_slice(entry);
        self.crc = crc32c::crc32c_append(self.crc, entry);
    }
}

/// What a checkpoint says of a small file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct FileImage {
    pub(super) length: u32,
    pub(super) crc: u32,
}

impl FileImage {
    /// Whether the file begins with what the checkpoint describes; that beginning.
    pub(super) fn matching(self, bytes: &[u8]) -> Option<&[u8]> {
        let bytes = bytes.get(..self.length as usize)?;
        (crc32c::crc32c(bytes) == self.crc).then_some(bytes)
    }
}

/// A segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Segment {
    /// Offset in its files' names; no record below it.
    pub(super) base: Offset,
    /// Bytes of persisted batches.
    pub(super) size: u64,
    /// Bytes of them that were written to the file.
    pub(super) written: u64,
    /// Bytes of those that a sync covered.
    pub(super) durable: u64,
    /// Largest record timestamp in ms, -1 when there is none.
    pub(super) max_timestamp: i64,
    /// Last offset of the first batch that has it.
    pub(super) max_timestamp_offset: Offset,
    /// Largest timestamp of the first batch in ms, -1 when there is none: what its age counts from.
    pub(super) first_timestamp: i64,
    /// Written by a cleaning whose files may not be in their places yet, as far as a checkpoint
    /// knows.
    pub(super) cleaned: bool,
    /// Readers find it under the cleaning's name.
    pub(super) aside: bool,
    pub(super) index: IndexFile,
    pub(super) time: IndexFile,
    pub(super) txn: IndexFile,
}

impl Segment {
    /// An empty segment.
    pub(super) fn new(base: Offset) -> Self {
        Self {
            base,
            size: 0,
            written: 0,
            durable: 0,
            max_timestamp: -1,
            max_timestamp_offset: -1,
            first_timestamp: -1,
            cleaned: false,
            aside: false,
            index: IndexFile::default(),
            time: IndexFile::default(),
            txn: IndexFile::default(),
        }
    }

    /// Where its log file is.
    pub(super) fn log_path(&self, folder: &str) -> FilePath {
        if self.aside {
            Kind::Log.cleaned_path(folder, self.base)
        } else {
            Kind::Log.path(folder, self.base)
        }
    }

    /// Whether a batch has to go to a new segment because this one is too old: by what their
    /// timestamps say, as in Apache Kafka (`LogSegment.shouldRoll`).
    fn is_too_old_for(&self, max_timestamp: i64, segment_ms: i64) -> bool {
        self.size > 0
            && self.first_timestamp >= 0
            && max_timestamp.saturating_sub(self.first_timestamp) > segment_ms
    }

    /// Whether a batch has to go to a new segment.
    fn is_full_for(&self, last_offset: Offset, size: u64, segment_bytes: u32) -> bool {
        let too_big = self.size.saturating_add(size) > u64::from(segment_bytes);
        let too_far = last_offset.saturating_sub(self.base) > i64::from(i32::MAX);
        self.size > 0 && (too_big || too_far || self.size > i32::MAX as u64)
    }

    /// Whether a batch begins the next segment: this one is full or too old for it, or is to be
    /// closed anyway.
    pub(super) fn ends_before(
        &self,
        header: &BatchHeader,
        size: u64,
        segment_bytes: u32,
        segment_ms: i64,
        unwanted: bool,
    ) -> bool {
        let old = self.is_too_old_for(header.max_timestamp, segment_ms);
        if old {
            mark!(SegmentRolledByTime);
        }
        let full = self.is_full_for(header.last_offset(), size, segment_bytes);
        full || old || (unwanted && self.size > 0)
    }

    /// Adds a batch at the end and returns its position.
    pub(super) fn add(&mut self, header: &BatchHeader, size: u64, interval: u32) -> u64 {
        let position = self.size;
        let last_offset = header.last_offset();
        if self.size == 0 {
            self.first_timestamp = header.max_timestamp;
        }
        if header.max_timestamp > self.max_timestamp {
            self.max_timestamp = header.max_timestamp;
            self.max_timestamp_offset = last_offset;
        }
        // As LogSegment.append: bytes count from the start of the batch indexed last.
        let since = position - self.last_indexed_position();
        if since > u64::from(interval) {
            let mut entry = [0; INDEX_ENTRY];
            let mut out = &mut entry[..];
            out.put_i32(self.relative(last_offset));
            out.put_i32(i32::try_from(position).unwrap_or(i32::MAX));
            self.index.put(&entry);
            self.index_time();
        }
        self.size = self.size.saturating_add(size);
        position
    }

    /// Adds the largest timestamp to the time index if it is new (at an index entry and at a roll).
    pub(super) fn index_time(&mut self) {
        let last = self.time_entries().next_back();
        if self.max_timestamp_offset >= 0
            && last.is_none_or(|(timestamp, _)| self.max_timestamp > timestamp)
        {
            let mut entry = [0; TIME_ENTRY];
            let mut out = &mut entry[..];
            out.put_i64(self.max_timestamp);
            out.put_i32(self.relative(self.max_timestamp_offset));
            self.time.put(&entry);
        }
    }

    /// Adds an aborted transaction whose marker is in this segment; one that is there is skipped.
    /// Says whether it was added.
    pub(super) fn add_aborted(&mut self, aborted: &AbortedTxn) -> bool {
        if self.aborted().last().is_some_and(|last| last.last_offset >= aborted.last_offset) {
            return false;
        }
        let mut entry = [0; TXN_ENTRY];
        let mut out = &mut entry[2..];
        out.put_i64(aborted.producer_id);
        out.put_i64(aborted.first_offset);
        out.put_i64(aborted.last_offset);
        out.put_i64(aborted.last_stable_offset);
        self.txn.put(&entry);
        true
    }

    /// The aborted transactions whose markers are in this segment.
    pub(super) fn aborted(&self) -> impl Iterator<Item = AbortedTxn> {
        self.txn.bytes.chunks_exact(TXN_ENTRY).map(|mut entry| {
            entry.advance(2);
            AbortedTxn {
                producer_id: entry.get_i64(),
                first_offset: entry.get_i64(),
                last_offset: entry.get_i64(),
                last_stable_offset: entry.get_i64(),
            }
        })
    }

    /// Position of a batch at or before the one that holds `offset`.
    pub(super) fn position_for(&self, offset: Offset) -> u64 {
        let target = offset.saturating_sub(self.base);
        let entries = self.index.bytes.as_chunks::<INDEX_ENTRY>().0;
        let after = entries.partition_point(|entry| {
            let [a, b, c, d, ..] = *entry;
            i64::from(i32::from_be_bytes([a, b, c, d])) <= target
        });
        match after.checked_sub(1).map(|i| entries[i]) {
            Some([_, _, _, _, a, b, c, d]) => u64::from(u32::from_be_bytes([a, b, c, d])),
            None => 0,
        }
    }

    /// An offset from which every record with `timestamp` or a later one is found; `None` when
    /// this segment has none.
    pub(super) fn offset_for_timestamp(&self, timestamp: i64) -> Option<Offset> {
        if self.max_timestamp < timestamp {
            return None;
        }
        let found = self.time_entries().rfind(|(indexed, _)| *indexed <= timestamp);
        Some(found.map_or(self.base, |(_, offset)| offset))
    }

    fn time_entries(&self) -> impl DoubleEndedIterator<Item = (i64, Offset)> {
        self.time.bytes.chunks_exact(TIME_ENTRY).map(|mut entry| {
            let timestamp = entry.get_i64();
            (timestamp, self.base.saturating_add(i64::from(entry.get_i32())))
        })
    }

    fn last_indexed_position(&self) -> u64 {
        self.index.bytes.as_chunks::<INDEX_ENTRY>().0.last().map_or(
            0,
            |[_, _, _, _, a, b, c, d]| {
                u64::from(u32::from_be_bytes([*a, *b, *c, *d])).min(self.size)
            },
        )
    }

    fn relative(&self, offset: Offset) -> i32 {
        i32::try_from(offset.saturating_sub(self.base)).unwrap_or(i32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::batch_at;

    /// Ten batches of two records, 100 bytes each to the index, timestamps 1000, 1010, …
    fn segment() -> Segment {
        let mut segment = Segment::new(50);
        for i in 0..10 {
            let block = batch_at(50 + 2 * i, 2, b"", 1000 + 10 * i);
            segment.add(&block.header, 100, 250);
        }
        segment
    }

    #[test]
    fn index_bytes_are_kafkas() {
        let mut segment = segment();
        // Indexed: positions 300, 600, 900, by the last offset of the batch there.
        let index = [0, 0, 0, 7, 0, 0, 1, 44, 0, 0, 0, 13, 0, 0, 2, 88, 0, 0, 0, 19, 0, 0, 3, 132];
        assert_eq!(segment.index.bytes, index);
        let time = [0, 0, 0, 0, 0, 0, 4, 6, 0, 0, 0, 7];
        assert_eq!(segment.time.bytes[..12], time);
        let length = segment.time.bytes.len();
        segment.index_time();
        assert_eq!(segment.time.bytes.len(), length, "the last batch was indexed already");
        let aborted = AbortedTxn {
            producer_id: 1,
            first_offset: 50,
            last_offset: 60,
            last_stable_offset: 61,
        };
        assert!(segment.add_aborted(&aborted));
        assert!(!segment.add_aborted(&aborted), "twice is once");
        let golden: Vec<u8> = [
            &[0, 0][..],
            &1_i64.to_be_bytes(),
            &50_i64.to_be_bytes(),
            &60_i64.to_be_bytes(),
            &61_i64.to_be_bytes(),
        ]
        .concat();
        assert_eq!(segment.txn.bytes, golden);
        assert_eq!(segment.aborted().collect::<Vec<_>>(), [aborted]);
    }

    #[test]
    fn positions_lie_at_or_before_the_offset() {
        let segment = segment();
        for (offset, position) in [(50, 0), (56, 0), (57, 300), (62, 300), (63, 600), (69, 900)] {
            assert_eq!(segment.position_for(offset), position, "{offset}");
        }
    }

    #[test]
    fn a_timestamp_leads_to_an_offset_before_its_first_record() {
        let segment = segment();
        for (timestamp, offset) in [
            (0, Some(50)),
            (1029, Some(50)),
            (1030, Some(57)),
            (1059, Some(57)),
            (1090, Some(69)),
            (1091, None),
        ] {
            assert_eq!(segment.offset_for_timestamp(timestamp), offset, "{timestamp}");
        }
    }
}
