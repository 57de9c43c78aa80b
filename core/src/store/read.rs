//! Reading batches: from memory where they are, else from segment files, checked.
//!
//! An answer holds whole batches of one segment, as Apache Kafka's. What comes from a file was
//! verified against its CRC, so rot is an error and never an answer.
//!
//! A read also says where its batches lie, so that an answer can name the file that holds the same
//! bytes ([`Store::file_run`]).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use bytes::Bytes;

use super::block::{Block, Unreadable};
use super::files::Kind;
use super::log::{Cached, Log};
use super::{Purpose, ReadId, ReadOutcome, StorageError, Store, StoreEvent};
use crate::batch::{BatchHeader, Order};
use crate::io::{FileOp, FileOutcome, FileResult, FileRun};
use crate::mark;
use crate::types::{Offset, PartitionId};

/// Bytes of one file read at most, unless a single batch is larger.
const READ_BYTES_MAX: u64 = 4 << 20;

/// What a read brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batches {
    /// Buffers which, one after the other, are whole batches.
    pub parts: Vec<Bytes>,
    /// Where in the log these bytes lie, when there are any.
    pub place: Option<Place>,
}

/// Where in a log bytes lie that were read: in one segment, without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    segment: Offset,
    position: u64,
    length: u64,
}

/// What a reader asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Wanted {
    offset: Offset,
    bound: Offset,
    max_bytes: u32,
    at_least_one: bool,
}

/// A read that waits for a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PendingRead {
    id: PartitionId,
    wanted: Wanted,
    segment: Offset,
    position: u64,
    length: u64,
    /// Bytes the file had for sure when the read was emitted.
    end: u64,
    /// [`Log::replaced`] when the read was emitted.
    replaced: u32,
}

impl Batches {
    /// Adds bytes of a segment. Those that do not follow what is there already are beyond what
    /// the place names.
    fn add(&mut self, segment: Offset, position: u64, parts: &[Bytes]) {
        let length = parts.iter().map(|part| part.len() as u64).sum();
        match &mut self.place {
            None => self.place = Some(Place { segment, position, length }),
            Some(place) if place.segment == segment && place.end() == position => {
                place.length = place.length.saturating_add(length);
            }
            Some(_) => {}
        }
        self.parts.extend(parts.iter().filter(|part| !part.is_empty()).cloned());
    }

    fn add_cached(&mut self, batch: &Cached) {
        self.add(batch.segment, batch.position, batch.block.parts());
    }
}

impl Place {
    const fn end(&self) -> u64 {
        self.position.saturating_add(self.length)
    }
}

impl PendingRead {
    /// Whether it reads this log.
    pub(super) fn is_of(&self, id: PartitionId) -> bool {
        self.id == id
    }
}

impl Store {
    /// Reads whole batches of a log from the one that holds `offset` (or the next one after it)
    /// on. The first may begin before `offset`; none reaches `bound`. At most `max_bytes`, except
    /// that with `at_least_one` the first batch comes whatever its size. Never crosses a segment.
    pub fn read(
        &mut self,
        id: PartitionId,
        offset: Offset,
        bound: Offset,
        max_bytes: u32,
        at_least_one: bool,
    ) -> ReadOutcome {
        let Some(log) = self.logs.get(&id) else {
            return ReadOutcome::Error(StorageError::UnknownLog);
        };
        if log.offline {
            return ReadOutcome::Error(StorageError::Corrupt);
        }
        let bound = bound.min(log.log_end);
        if offset >= bound {
            return ReadOutcome::Ready(Batches::default());
        }
        if offset < log.log_start {
            mark!(ReadBelowLogStart);
            return ReadOutcome::Error(StorageError::BelowLogStart);
        }
        let wanted = Wanted { offset, bound, max_bytes, at_least_one };
        if let Some(from) = log.cached_from(offset) {
            return ReadOutcome::Ready(from_memory(&log.cached, from, wanted));
        }
        let Some((segment, position)) = place(log, offset) else {
            return ReadOutcome::Ready(Batches::default());
        };
        let interval = u64::from(self.config.index_interval_bytes);
        let length = u64::from(max_bytes).saturating_add(interval).min(READ_BYTES_MAX);
        let read_id = ReadId(self.next_read);
        self.next_read += 1;
        mark!(ReadFromFile);
        let read = PendingRead { id, wanted, segment, position, length, end: 0, replaced: 0 };
        self.emit_read(read_id, read);
        ReadOutcome::Pending(read_id)
    }

    /// Bytes that a [`Store::read`] with `at_least_one` would bring at most, without looking at
    /// each batch; `None` when that takes more than one segment in memory.
    #[must_use]
    pub fn peek(
        &self,
        id: PartitionId,
        offset: Offset,
        bound: Offset,
        max_bytes: u32,
    ) -> Option<usize> {
        let log = self.logs.get(&id).filter(|log| !log.offline)?;
        let first = log.cached.get(log.cached_from(offset)?)?;
        let end = log.cached.partition_point(|batch| batch.block.end() <= bound);
        let last = log.cached.get(end.checked_sub(1)?)?;
        let span = last.position.saturating_add(last.block.size()).checked_sub(first.position)?;
        let bytes = span.min(u64::from(max_bytes).max(first.block.size()));
        (first.segment == last.segment).then(|| usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// An offset at or before the first record with `timestamp` (ms) or a later one, to read from;
    /// `None` when no record is that late.
    #[must_use]
    pub fn offset_for_timestamp(&self, id: PartitionId, timestamp: i64) -> Option<Offset> {
        let log = self.logs.get(&id)?;
        let found = log.segments.iter().find_map(|s| s.offset_for_timestamp(timestamp))?;
        Some(found.max(log.log_start))
    }

    /// The largest timestamp of a log (ms) and the last offset of the first batch that has it.
    #[must_use]
    pub fn max_timestamp(&self, id: PartitionId) -> Option<(i64, Offset)> {
        let segments = self.logs.get(&id)?.segments.iter().filter(|s| s.max_timestamp_offset >= 0);
        let max = segments.rev().max_by_key(|segment| segment.max_timestamp)?;
        Some((max.max_timestamp, max.max_timestamp_offset))
    }

    /// The file that holds what was read, or the first of it, as far as it is written: `None` when
    /// that is less than `min_bytes`. Of a log that was ever cleaned there is none, because
    /// cleaning puts other files in the place of its segments; nor of one that is gone.
    #[must_use]
    pub fn file_run(&self, id: PartitionId, place: Place, min_bytes: u64) -> Option<FileRun> {
        let log = self.logs.get(&id).filter(|log| !log.offline && log.cleaned_to == 0)?;
        let segment = log.segments.get(log.place_of(place.segment)?)?;
        let length = segment.written.saturating_sub(place.position).min(place.length);
        (length >= min_bytes.max(1)).then(|| {
            mark!(ReadNamesItsFile);
            let path = segment.log_path(&log.folder_name);
            FileRun { path, position: place.position, length }
        })
    }

    fn emit_read(&mut self, read_id: ReadId, mut read: PendingRead) {
        let Some(log) = self.logs.get(&read.id) else {
            return self.end_read(read_id, Err(StorageError::UnknownLog));
        };
        let segment = log.segments.iter().find(|s| s.base == read.segment);
        read.end = segment.map_or(0, |segment| segment.written);
        read.replaced = log.replaced;
        let op = FileOp::Read {
            path: segment.map_or_else(
                || Kind::Log.path(&log.folder_name, read.segment),
                |segment| segment.log_path(&log.folder_name),
            ),
            position: read.position,
            length: u32::try_from(read.length).unwrap_or(u32::MAX),
        };
        self.reads.insert(read_id, read);
        self.emit(Purpose::Read(read_id), op);
    }

    fn end_read(&mut self, id: ReadId, result: Result<Batches, StorageError>) {
        self.events.push_back(StoreEvent::ReadDone { id, result });
    }

    /// Bytes of a segment have come.
    pub(super) fn read_done(&mut self, read_id: ReadId, result: FileResult) {
        let Some(mut read) = self.reads.remove(&read_id) else { return };
        if let Some(log) = self.logs.get(&read.id)
            && log.replaced != read.replaced
            && let Some((segment, position)) = place(log, read.wanted.offset)
        {
            // The file is another one by now; what was read is of neither use nor harm.
            mark!(ReadBegunAgain);
            (read.segment, read.position) = (segment, position);
            return self.emit_read(read_id, read);
        }
        if self.logs.get(&read.id).is_some_and(|log| read.wanted.offset < log.log_start) {
            mark!(ReadBelowLogStart);
            return self.end_read(read_id, Err(StorageError::BelowLogStart));
        }
        let bytes = match result {
            Ok(FileOutcome::Bytes(bytes)) => bytes,
            Ok(_) => return self.end_read(read_id, Err(StorageError::Io)),
            Err(error) => return self.end_read(read_id, Err(error.into())),
        };
        let Some(log) = self.logs.get(&read.id) else {
            return self.end_read(read_id, Err(StorageError::UnknownLog));
        };
        let next = log.segments.partition_point(|segment| segment.base <= read.segment);
        let segment = next.checked_sub(1).and_then(|at| log.segments.get(at));
        if segment.is_none_or(|segment| segment.base != read.segment) {
            // Gone below the log's start meanwhile; the reader will see that.
            return self.end_read(read_id, Ok(Batches::default()));
        }
        let available = read.end.saturating_sub(read.position);
        if (bytes.len() as u64) < read.length.min(available) {
            mark!(ReadCorrupt);
            return self.end_read(read_id, Err(StorageError::Corrupt));
        }
        let usable = usize::try_from(available).unwrap_or(usize::MAX).min(bytes.len());
        let end = log.segments.get(next).map_or(log.log_end, |segment| segment.base);
        let is_first = read.position == 0;
        let order = Order::new(read.segment, is_first, log.cleaned_to, end);
        match cut(bytes.slice(..usable), read.wanted, order) {
            Cut::Found { from, bytes } => {
                let mut found = Batches::default();
                if !bytes.is_empty() {
                    found.add(read.segment, read.position.saturating_add(from), &[bytes]);
                    read_on_in_memory(log, &read, &mut found);
                }
                self.end_read(read_id, Ok(found));
            }
            Cut::Damaged => {
                mark!(ReadCorrupt);
                self.end_read(read_id, Err(StorageError::Corrupt));
            }
            Cut::Further { skipped, size } => {
                read.position = read.position.saturating_add(skipped);
                let left = available.saturating_sub(skipped);
                if left == 0 {
                    let next = log.segments.iter().find(|s| s.base > read.segment && s.written > 0);
                    let Some(next) = next else {
                        // The rest of the log is in memory: the reader comes again.
                        let from = log.cached_from(read.wanted.offset);
                        let found = from.map(|from| from_memory(&log.cached, from, read.wanted));
                        return self.end_read(read_id, Ok(found.unwrap_or_default()));
                    };
                    read.segment = next.base;
                    read.position = 0;
                } else if size > left {
                    mark!(ReadCorrupt);
                    return self.end_read(read_id, Err(StorageError::Corrupt));
                }
                read.length = read.length.max(size);
                self.emit_read(read_id, read);
            }
        }
    }
}

/// Where in which file to begin.
fn place(log: &Log, offset: Offset) -> Option<(Offset, u64)> {
    let at = log.segment_of(offset).unwrap_or(0);
    let segment = log.segments.get(at)?;
    Some((segment.base, segment.position_for(offset)))
}

/// What follows in the same segment and is not in its file yet belongs to the same answer.
fn read_on_in_memory(log: &Log, read: &PendingRead, found: &mut Batches) {
    let Some(last) = crate::batch::headers(&found.parts).last() else { return };
    let end = last.last_offset() + 1;
    let Some(from) = log.cached_from(end) else { return };
    let follows = log
        .cached
        .get(from)
        .is_some_and(|next| next.segment == read.segment && next.block.header.base_offset == end);
    if follows {
        mark!(ReadOnInMemory);
        let size = found.parts.iter().map(Bytes::len).sum::<usize>();
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let max_bytes = read.wanted.max_bytes.saturating_sub(size);
        let rest = Wanted { offset: end, max_bytes, at_least_one: false, ..read.wanted };
        for batch in in_memory(&log.cached, from, rest) {
            found.add_cached(batch);
        }
    }
}

fn from_memory(cached: &VecDeque<Cached>, from: usize, wanted: Wanted) -> Batches {
    let mut found = Batches::default();
    for batch in in_memory(cached, from, wanted) {
        found.add_cached(batch);
    }
    found
}

/// Whole batches of one segment, from one in memory on.
fn in_memory(
    cached: &VecDeque<Cached>,
    from: usize,
    wanted: Wanted,
) -> impl Iterator<Item = &Cached> {
    let mut total = 0_u64;
    let mut segment = None;
    cached.range(from..).take_while(move |batch| {
        let next = total.saturating_add(batch.block.size());
        let too_much = next > u64::from(wanted.max_bytes) && !(total == 0 && wanted.at_least_one);
        let elsewhere = segment.is_some_and(|segment| segment != batch.segment);
        segment = Some(batch.segment);
        total = next;
        batch.block.end() <= wanted.bound && !too_much && !elsewhere
    })
}

enum Cut {
    /// The batches asked for, and where in what was read they begin.
    Found {
        from: u64,
        bytes: Bytes,
    },
    /// Nothing yet: go on after `skipped` bytes, with at least `size` bytes.
    Further {
        skipped: u64,
        size: u64,
    },
    Damaged,
}

/// Cuts what was read at the boundaries of batches.
fn cut(mut bytes: Bytes, wanted: Wanted, mut order: Order) -> Cut {
    let whole = bytes.clone();
    let (mut start, mut end) = (None, 0_usize);
    loop {
        let before = whole.len() - bytes.len();
        let block = match Block::split_from(&mut bytes) {
            Ok(block) => block,
            Err(Unreadable::Short(_)) if start.is_some() => break,
            Err(Unreadable::Short(size)) => {
                let size = size.unwrap_or(BatchHeader::LENGTH);
                return Cut::Further { skipped: before as u64, size: size as u64 };
            }
            Err(Unreadable::Damaged) => return Cut::Damaged,
        };
        if !order.admits(&block.header) {
            return Cut::Damaged;
        }
        if block.end() <= wanted.offset {
            continue;
        }
        let from = start.unwrap_or(before);
        let after = whole.len() - bytes.len();
        let too_much = (after - from) as u64 > u64::from(wanted.max_bytes);
        if block.end() > wanted.bound || (too_much && (start.is_some() || !wanted.at_least_one)) {
            start = Some(from);
            end = end.max(from);
            break;
        }
        start = Some(from);
        end = after;
    }
    let from = start.unwrap_or(0);
    Cut::Found { from: from as u64, bytes: whole.slice(from..end) }
}
