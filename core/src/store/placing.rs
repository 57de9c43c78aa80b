//! Large batches go to their segments first, and the journal only says where they are ("placed").
//!
//! What is large would otherwise be written twice, and fill the journal so fast that appends wait
//! for checkpoints. The order is: the batches of a group of turns into their segments; when all of
//! that is done (with `fsync`: durable), the group's frames into the journal; then the group is
//! persisted. A crash before the frames leaves bytes behind the log's end, as any write behind it
//! may. At a start every place that the journal names is read and checked before it counts
//! ([`super::placed`]).
//!
//! Rules:
//! * Since the last durable checkpoint a log's batches are first all in the journal, then all
//!   placed, markers and small ones too: what recovery has to put together is one stretch of each.
//! * The first kind lies in one segment, the checkpoint's last: where it lies needs no saying.
//! * A placed write takes along what the log has not written yet, so a file never has a hole.
//! * A log is placed only when a durable checkpoint knows it: the files of others are wiped at a
//!   start. Nor are the broker's own logs; their batches are small.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::block::Block;
use super::files::{self, Kind};
use super::frame::{Entry, PlacedAt};
use super::journal::JournalWrite;
use super::log::{Folder, Log};
use super::segment::Segment;
use super::{Durability, Purpose, StorageError, Store};
use crate::io::{FileError, FileOp, FilePath, FileResult, Lane};
use crate::mark;
use crate::time::Timestamp;
use crate::types::{Offset, PartitionId, TopicName};

/// Of a journal file, what must be used before a log that cannot be placed yet asks for the
/// checkpoint that lets it.
const ASK_PARTS: u64 = 16;
/// Placed bytes after which a checkpoint is wanted, in journal files: a start reads them again.
const CHECKPOINT_FILES: u64 = 4;

/// Where a batch lies that the journal does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Home {
    /// The segment's base offset.
    pub(super) segment: Offset,
    /// Bytes before it in the segment.
    pub(super) position: u64,
}

/// Where one log's batches of a group go.
#[derive(Debug)]
struct Run {
    /// The segment in front, as it will be when the group is persisted.
    tip: Segment,
    log_start: Offset,
    end: Offset,
    segment_bytes: u32,
    segment_ms: i64,
    roll_next: bool,
    topic: TopicName,
    folder: String,
    writes: Vec<RunWrite>,
}

#[derive(Debug)]
struct RunWrite {
    home: Home,
    data: Vec<Bytes>,
    /// Whether the file's name may not be durable.
    creates: bool,
}

impl Run {
    /// Goes on where the log ends, with what is not in its file yet.
    fn begin(log: &Log) -> Self {
        let active = log.active();
        let mut tip = Segment::new(active.base);
        (tip.size, tip.first_timestamp) = (active.size, active.first_timestamp);
        let unwritten = log.cached.range(log.cached.len() - log.unwritten..);
        let position = log.first_unwritten().map_or(active.size, |first| first.position);
        let data = unwritten.flat_map(|batch| batch.block.bytes().cloned()).collect();
        let home = Home { segment: active.base, position };
        let creates = active.durable == 0 && log.named_base != Some(active.base);
        Self {
            tip,
            log_start: log.log_start,
            end: log.log_end,
            segment_bytes: log.segment_bytes,
            segment_ms: log.segment_ms,
            roll_next: log.roll_next,
            topic: log.topic.topic.clone(),
            folder: log.folder_name.clone(),
            writes: alloc::vec![RunWrite { home, data, creates }],
        }
    }

    /// Takes a batch in and says where it will be: by the rules of [`Log::append`].
    fn add(&mut self, block: &Block) -> Home {
        let (header, size) = (&block.header, block.size());
        let (bytes, ms) = (self.segment_bytes, self.segment_ms);
        if self.tip.ends_before(header, size, bytes, ms, self.roll_next) {
            self.roll_next = false;
            self.tip = Segment::new(header.base_offset);
        }
        let home = Home { segment: self.tip.base, position: self.tip.size };
        if self.tip.size == 0 {
            self.tip.first_timestamp = header.max_timestamp;
        }
        self.tip.size = self.tip.size.saturating_add(size);
        self.end = block.end();
        match self.writes.last_mut() {
            Some(write) if write.home.segment == home.segment => {
                write.data.extend(block.bytes().cloned());
            }
            _ => {
                let data = block.bytes().cloned().collect();
                self.writes.push(RunWrite { home, data, creates: true });
            }
        }
        home
    }

    /// The log's start moves: with nothing left the segment is closed, as [`Log::move_start`] does.
    fn move_start(&mut self, offset: Offset) {
        self.log_start = self.log_start.max(offset.min(self.end));
        if self.log_start == self.end && self.tip.size > 0 {
            self.tip = Segment::new(self.end);
        }
    }
}

/// The logs whose batches of a group are placed.
#[derive(Debug)]
pub(super) struct Placing<'a> {
    logs: &'a BTreeMap<PartitionId, Log>,
    min_bytes: u64,
    runs: BTreeMap<PartitionId, Run>,
    /// A log that a checkpoint would let be placed.
    is_wanted: bool,
}

impl<'a> Placing<'a> {
    /// Batches from `min_bytes` on are large.
    pub(super) const fn new(logs: &'a BTreeMap<PartitionId, Log>, min_bytes: u64) -> Self {
        Self { logs, min_bytes, runs: BTreeMap::new(), is_wanted: false }
    }

    /// Finds the logs to be placed in one of the group's turns. To be called for all of them
    /// before [`Placing::place`].
    pub(super) fn look(&mut self, entries: &[Entry]) {
        for entry in entries {
            let Entry::Append { id, block } = entry else { continue };
            if self.runs.contains_key(id) {
                continue;
            }
            let Some(log) = self.logs.get(id) else { continue };
            let large = block.size() >= self.min_bytes && !log.topic.topic.is_internal();
            let known = is_known(log);
            if log.is_placed() || (large && known && !log.busy) {
                self.runs.insert(*id, Run::begin(log));
            } else {
                self.is_wanted |= large && !known;
            }
        }
    }

    /// Says of one turn's batches where they will be.
    pub(super) fn place(&mut self, entries: &mut [Entry]) {
        if self.runs.is_empty() {
            return;
        }
        for entry in entries {
            match entry {
                Entry::LogStart { id, offset } => {
                    if let Some(run) = self.runs.get_mut(id) {
                        run.move_start(*offset);
                    }
                }
                Entry::Append { id, block } => {
                    let Some(run) = self.runs.get_mut(id) else { continue };
                    let at = PlacedAt {
                        topic: run.topic.clone(),
                        home: run.add(block),
                        base_offset: block.header.base_offset,
                        end: block.end(),
                        size: block.size(),
                        crc: block.header.crc,
                    };
                    *entry = Entry::Placed { id: *id, at, block: Some(block.clone()) };
                }
                _ => {}
            }
        }
    }
}

/// Whether the last checkpoint says enough to tell at a start where batches lie that are not in the
/// journal.
fn is_known(log: &Log) -> bool {
    log.folder == Folder::Present { durable: true }
        && !log.offline
        && log.durable_base == Some(log.active().base)
}

/// A group whose frames wait until its placed batches are in their segments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held {
    journal: FileOp,
    /// The logs, and the last segment of each that is written to.
    logs: BTreeMap<PartitionId, Offset>,
    /// Folders that got a file and are to be synced behind the writes.
    folders: BTreeSet<FilePath>,
    left: usize,
    failed: Option<FileError>,
}

impl Store {
    /// Emits the next journal write, behind what of it is placed.
    pub(super) fn write_journal(&mut self) {
        let mut placing = Placing::new(&self.logs, self.config.place_bytes_min);
        let max_bytes = self.config.journal_write_bytes;
        let Some(write) = self.journal.next_write(max_bytes, &mut placing) else { return };
        let Placing { runs, is_wanted, .. } = placing;
        let is_late = write.position > self.config.journal_bytes / ASK_PARTS;
        if write.switched {
            mark!(JournalSwitched);
        }
        let JournalWrite { file, position, data, .. } = write;
        let sync = self.config.durability == Durability::Fsync;
        let path = FilePath::from(files::JOURNAL[file]);
        let journal = FileOp::Write { path, position, data, sync, lane: Lane::Journal };
        if runs.is_empty() {
            self.emit(Purpose::Journal, journal);
        } else {
            self.hold(journal, runs, sync);
        }
        if is_wanted && is_late {
            mark!(PlacingAsksForCheckpoint);
            self.ask_for_checkpoint();
        }
    }

    fn hold(&mut self, journal: FileOp, runs: BTreeMap<PartitionId, Run>, sync: bool) {
        mark!(BatchesPlaced);
        let (mut held, mut ops) = (Held::new(journal), Vec::new());
        for (id, run) in runs {
            if let Some(log) = self.logs.get_mut(&id) {
                log.busy = true;
                log.in_flight = log.unwritten;
            }
            for RunWrite { home, data, creates } in run.writes {
                if data.is_empty() {
                    continue;
                }
                if creates && sync {
                    held.folders.insert(FilePath::from(run.folder.as_str()));
                }
                held.logs.insert(id, home.segment);
                let path = Kind::Log.path(&run.folder, home.segment);
                let position = home.position;
                ops.push(FileOp::Write { path, position, data, sync, lane: Lane::Journal });
            }
        }
        held.left = ops.len();
        self.held = Some(alloc::boxed::Box::new(held));
        for op in ops {
            self.emit(Purpose::Placing, op);
        }
    }

    /// One of the writes in front of a group's frames, or a sync of a folder, has ended.
    pub(super) fn placing_done(&mut self, now: Timestamp, result: &FileResult) {
        let Some(held) = self.held.as_mut() else { return };
        held.left = held.left.saturating_sub(1);
        if let Err(error) = *result {
            // Of two failures the one that is not of a full disk tells more.
            held.failed = held.failed.filter(|known| *known != FileError::NoSpace).or(Some(error));
        }
        if held.left > 0 {
            return;
        }
        if held.failed.is_none() && !held.folders.is_empty() {
            let folders = core::mem::take(&mut held.folders);
            held.left = folders.len();
            for folder in folders {
                self.emit(Purpose::Placing, FileOp::SyncFolder { folder });
            }
            return;
        }
        let Some(held) = self.held.take() else { return };
        for (id, segment) in &held.logs {
            let Some(log) = self.logs.get_mut(id) else { continue };
            log.busy = false;
            if held.failed.is_none() {
                super::writeback::advance(log);
                log.named_base = Some(*segment);
            } else {
                log.in_flight = 0;
            }
            self.segment_written(*id);
            self.want_write(*id);
        }
        match held.failed {
            None => {
                self.emit(Purpose::Journal, held.journal);
            }
            Some(error) => {
                mark!(PlacingFailed);
                self.journal_write_failed(error);
                self.report_failed_turns();
                if !self.faulted {
                    self.retry_later(now, error);
                }
            }
        }
    }

    /// Takes a placed batch into memory that is persisted by now.
    pub(super) fn apply_placed(&mut self, id: PartitionId, home: Home, block: Block) {
        let Some(log) = self.logs.get_mut(&id) else { return };
        self.cache.added(id, &block);
        self.placed_bytes = self.placed_bytes.saturating_add(block.size());
        if log.append_placed(block, home, self.config.index_interval_bytes) {
            mark!(SegmentRolled);
        }
        self.dirty.insert(id);
        self.evict();
    }

    /// Whether so much is placed that a start would take long.
    pub(super) const fn much_is_placed(&self) -> bool {
        self.placed_bytes > self.config.journal_bytes.saturating_mul(CHECKPOINT_FILES)
    }

    /// A write of the journal, or one that it waited for, failed.
    pub(super) fn journal_write_failed(&mut self, error: FileError) {
        // A write is followed by a sync; which of them failed the system does not say, so the worse
        // is assumed.
        if error != FileError::NoSpace && self.config.durability == Durability::Fsync {
            self.journal.fail(StorageError::Io);
            self.fault(String::from("a write and sync of the journal failed"));
        } else {
            mark!(StoreWriteFailed);
            self.journal.fail(error.into());
        }
    }
}

impl Held {
    /// Whether it writes to this log.
    pub(super) fn is_of(&self, id: PartitionId) -> bool {
        self.logs.contains_key(&id)
    }

    const fn new(journal: FileOp) -> Self {
        Self { journal, logs: BTreeMap::new(), folders: BTreeSet::new(), left: 0, failed: None }
    }
}
