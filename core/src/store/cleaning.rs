//! A log's closed segments replaced by cleaned ones, one log at a time.
//!
//! ```text
//! read, twice ─► .cleaned files, synced ─► in memory ─► checkpoint ─► renamed, synced ─► checkpoint
//! ```
//!
//! Renamed means: the new files get their names, the folder is synced, what they replaced goes, the
//! folder is synced again.
//!
//! The checkpoint is the moment at which the new files count: a start before it removes them, one
//! after it puts them in their places (Apache Kafka renames to `.swap` there). Until they are,
//! readers find them under the cleaning's names; a read that was under way while files were
//! replaced begins again, so bytes and transaction index are always of the same age.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::checkpoint::replace_ops;
use super::files::{self, Kind};
use super::log::Log;
use super::recovery::SEGMENT_KINDS;
use super::segment::Segment;
use super::{Purpose, Store, StoreEvent};
use crate::batch::CheckedBatch;
use crate::clean::{CleanPlan, Cleaner, Job, JobDone, Piece};
use crate::io::{FileError, FileOp, FileOutcome, FilePath, FileResult, Lane, Ticket};
use crate::mark;
use crate::partition::AbortedTxn;
use crate::time::Timestamp;
use crate::types::{Offset, PartitionId};

/// What could be cleaned of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cleanable {
    /// Base offset of the first segment.
    pub start: Offset,
    /// Earlier cleanings have left holes below this offset only.
    pub holes_end: Offset,
    /// Everything below was cleaned before.
    pub first_dirty: Offset,
    /// Everything below may be: a segment's base offset.
    pub end: Offset,
    /// Bytes below `first_dirty`.
    pub clean_bytes: u64,
    /// Bytes from there to `end`.
    pub dirty_bytes: u64,
    /// Timestamp of the first batch of the first dirty segment in ms, -1 when unknown.
    pub dirty_since_ms: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Stage {
    /// Reading the dirty segments for their keys.
    Collect,
    /// Reading all of them for what stays.
    Filter,
    /// The files are there; a checkpoint that knows nothing of them is being written.
    Install,
    /// In use; waits for a checkpoint.
    Commit,
    /// Files get their names.
    Rename,
    /// They have them; waits for a checkpoint that says so. Before it is durable a start would
    /// take what the next cleaning of the log has begun to write for this one's.
    Settle,
}

/// A segment that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Source {
    base: Offset,
    size: u64,
}

/// A cleaning in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cleaning {
    /// Tells its operations from those of an earlier one.
    number: u64,
    id: PartitionId,
    folder: String,
    segment_bytes: u32,
    end: Offset,
    clean_end: Offset,
    /// Where holes end, and whether the folder says so already.
    cleaned_to: (Offset, bool),
    /// `None` while a job has it.
    cleaner: Option<Box<Cleaner>>,
    sources: Vec<Source>,
    stage: Stage,
    /// The source that is read, and where.
    at: usize,
    position: u64,
    needed: u64,
    /// The new segment that is being written.
    output: Option<Segment>,
    outputs: Vec<Segment>,
    aborted: Vec<AbortedTxn>,
    /// The first one is under way while it is `busy`.
    queue: VecDeque<FileOp>,
    busy: bool,
    job: Option<Ticket>,
}

impl Store {
    /// What could be cleaned of a log whose records below `bound` are decided; `old_ms` leaves
    /// segments alone that have a later timestamp. `None` when there is nothing.
    #[must_use]
    pub fn cleanable(&self, id: PartitionId, bound: Offset, old_ms: i64) -> Option<Cleanable> {
        let log = self.logs.get(&id)?;
        if log.offline || log.uncleanable {
            return None;
        }
        let count = cleanable_segments(log, bound, old_ms);
        let end = log.segments.get(count)?.base;
        let first_dirty = log.clean_end.max(log.log_start).min(end);
        let mut found = Cleanable {
            start: log.segments.first()?.base,
            holes_end: log.cleaned_to,
            first_dirty,
            end,
            clean_bytes: 0,
            dirty_bytes: 0,
            dirty_since_ms: -1,
        };
        for (segment, next) in log.segments[..count].iter().zip(&log.segments[1..]) {
            if next.base <= first_dirty {
                found.clean_bytes += segment.size;
            } else {
                if found.dirty_bytes == 0 {
                    found.dirty_since_ms = segment.first_timestamp;
                }
                found.dirty_bytes += segment.size;
            }
        }
        (count > 0).then_some(found)
    }

    /// Whether a log is being cleaned; only one is at a time.
    #[must_use]
    pub const fn is_cleaning(&self) -> bool {
        self.cleaning.is_some()
    }

    /// Begins to clean a log below [`CleanPlan::end`], which [`Store::cleanable`] named. Ends with
    /// [`StoreEvent::CleaningEnded`].
    pub fn begin_cleaning(&mut self, id: PartitionId, plan: CleanPlan) {
        let Some(log) = self.logs.get(&id) else { return };
        if self.cleaning.is_some() || self.faulted || self.stopping || !self.may_clean {
            return;
        }
        let sources: Vec<Source> = log
            .segments
            .iter()
            .take_while(|segment| segment.base < plan.end)
            .map(|segment| Source { base: segment.base, size: segment.size })
            .collect();
        let (end, first_dirty) = (plan.end, plan.first_dirty);
        let dirty = sources.iter().skip(1).filter(|source| source.base <= first_dirty).count();
        self.cleanings += 1;
        self.cleaning = Some(Box::new(Cleaning {
            number: self.cleanings,
            id,
            folder: log.folder_name.clone(),
            segment_bytes: log.segment_bytes,
            end,
            clean_end: first_dirty,
            cleaned_to: (log.cleaned_to.max(end), log.cleaned_to >= end),
            cleaner: Some(Box::new(Cleaner::new(plan))),
            at: if first_dirty >= end { sources.len() } else { dirty },
            sources,
            stage: Stage::Collect,
            position: 0,
            needed: 0,
            output: None,
            outputs: Vec::new(),
            aborted: Vec::new(),
            queue: VecDeque::new(),
            busy: false,
            job: None,
        }));
        mark!(CleaningBegun);
        self.pump();
    }

    /// The next job to be run.
    pub fn poll_job(&mut self) -> Option<(Ticket, Job)> {
        self.jobs.pop_front()
    }

    /// A job has ended.
    pub fn job_done(&mut self, ticket: Ticket, done: JobDone) {
        if let Some(mut cleaning) = self.cleaning.take_if(|it| it.job == Some(ticket)) {
            cleaning.job = None;
            cleaning.cleaner = Some(done.cleaner);
            let taken = done
                .piece
                .map_err(|_| ())
                .and_then(|piece| cleaning.take_piece(piece, self.config.index_interval_bytes));
            let id = cleaning.id;
            self.cleaning = Some(cleaning);
            if taken.is_err() {
                mark!(CleaningFoundDamage);
                if let Some(log) = self.logs.get_mut(&id) {
                    log.uncleanable = true;
                }
                self.abandon_cleaning();
            }
        }
        self.pump();
    }

    /// Goes on as far as that is possible.
    pub(super) fn run_cleaning(&mut self) {
        if self.stopping && self.cleaning.as_ref().is_some_and(|it| it.stage < Stage::Commit) {
            self.abandon_cleaning();
        }
        while let Some(mut cleaning) = self.cleaning.take() {
            if cleaning.busy || cleaning.job.is_some() || self.retry_at.is_some() {
                self.cleaning = Some(cleaning);
                return;
            }
            if let Some(op) = cleaning.queue.front() {
                let op = op.clone();
                if cleaning.stage == Stage::Rename {
                    self.readers_follow(&cleaning, &op);
                }
                cleaning.busy = true;
                let number = cleaning.number;
                self.cleaning = Some(cleaning);
                self.emit(Purpose::Cleaning(number), op);
                return;
            }
            let waits = match cleaning.stage {
                Stage::Collect | Stage::Filter => {
                    cleaning.next_piece(self.config.scan_chunk_bytes);
                    false
                }
                Stage::Install if self.checkpoint.is_some() => true,
                Stage::Install => {
                    if !self.install(&mut cleaning) {
                        self.cleaning = Some(cleaning);
                        return self.abandon_cleaning();
                    }
                    cleaning.stage = Stage::Commit;
                    true
                }
                Stage::Commit => true,
                Stage::Rename if self.checkpoint.is_some() => true,
                Stage::Rename => {
                    self.files_renamed(cleaning.id);
                    cleaning.stage = Stage::Settle;
                    true
                }
                Stage::Settle => true,
            };
            self.cleaning = Some(cleaning);
            if waits {
                return;
            }
        }
    }

    /// An operation of the cleaning has ended.
    pub(super) fn cleaning_op_done(&mut self, now: Timestamp, number: u64, result: FileResult) {
        let Some(cleaning) = self.cleaning.as_mut().filter(|it| it.number == number) else {
            return;
        };
        cleaning.busy = false;
        let Some(op) = cleaning.queue.pop_front() else { return };
        match (result, cleaning.stage) {
            (Ok(FileOutcome::Bytes(bytes)), Stage::Collect | Stage::Filter) => self.emit_job(bytes),
            // A rename that failed may have been done nevertheless.
            (Ok(_), _) | (Err(FileError::NotFound), Stage::Rename) => {}
            (Err(_), Stage::Rename) if matches!(op, FileOp::SyncFolder { .. }) => {
                self.fault(alloc::format!("a sync failed after a cleaning: {op:.80?}"));
            }
            (Err(error), Stage::Rename) => {
                mark!(CleaningRenameRetried);
                self.readers_stay(&op);
                if let Some(cleaning) = &mut self.cleaning {
                    cleaning.queue.push_front(op);
                }
                self.retry_later(now, error);
            }
            (Err(_), _) => self.abandon_cleaning(),
        }
    }

    fn emit_job(&mut self, bytes: Bytes) {
        let Some(cleaning) = self.cleaning.as_mut() else { return };
        let Some(cleaner) = cleaning.cleaner.take() else { return };
        let job = match cleaning.stage {
            Stage::Collect => Job::collect(cleaner, bytes),
            _ => Job::filter(cleaner, bytes),
        };
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        cleaning.job = Some(ticket);
        self.jobs.push_back((ticket, job));
    }

    /// Nothing of it was taken into use: its files go, and it may be tried again.
    fn abandon_cleaning(&mut self) {
        let Some(cleaning) = self.cleaning.take() else { return };
        mark!(CleaningAbandoned);
        let written = cleaning.outputs.iter().chain(cleaning.output.as_ref());
        for base in written.map(|segment| segment.base).collect::<Vec<_>>() {
            for kind in SEGMENT_KINDS {
                let path = kind.cleaned_path(&cleaning.folder, base);
                self.emit(Purpose::Tidy, FileOp::Remove { path });
            }
        }
        self.events.push_back(StoreEvent::CleaningEnded { id: cleaning.id, done: false });
    }

    /// The log is gone; whatever is in flight for it comes to nothing.
    pub(super) fn cleaning_lost_log(&mut self, id: PartitionId) {
        if self.cleaning.take_if(|cleaning| cleaning.id == id).is_some() {
            self.events.push_back(StoreEvent::CleaningEnded { id, done: false });
        }
    }

    /// Takes the new segments into use; `false` when the log has changed below them.
    fn install(&mut self, cleaning: &mut Cleaning) -> bool {
        let Some(log) = self.logs.get_mut(&cleaning.id) else { return false };
        let count = cleaning.sources.len();
        let same = log.segments.len() > count
            && log.segments.iter().zip(&cleaning.sources).all(|(segment, source)| {
                segment.base == source.base && segment.size == source.size
            })
            && log.segments[count].base == cleaning.end;
        if !same {
            mark!(CleaningOvertaken);
            return false;
        }
        let rest = log.segments.split_off(count);
        log.segments = cleaning.outputs.iter().cloned().chain(rest).collect();
        log.clean_end = cleaning.clean_end;
        log.cleaned_to = cleaning.cleaned_to.0;
        log.replaced = log.replaced.wrapping_add(1);
        while log.cached.front().is_some_and(|batch| batch.block.end() <= cleaning.end) {
            if let Some(batch) = log.cached.pop_front() {
                self.cache.removed(&batch.block);
            }
        }
        mark!(CleaningInstalled);
        self.dirty.insert(cleaning.id);
        self.events.push_back(StoreEvent::LogCleaned {
            id: cleaning.id,
            end: cleaning.end,
            aborted: core::mem::take(&mut cleaning.aborted),
        });
        self.ask_for_checkpoint();
        true
    }

    /// A checkpoint is durable: when it knows of the new segments, their files get their names;
    /// when it knows that they have them, the cleaning is over.
    pub(super) fn cleaning_checkpointed(&mut self) {
        self.may_clean = true;
        if let Some(cleaning) = self.cleaning.take_if(|it| it.stage == Stage::Settle) {
            mark!(CleaningDone);
            self.events.push_back(StoreEvent::CleaningEnded { id: cleaning.id, done: true });
        }
        let Some(cleaning) = self.cleaning.as_mut().filter(|it| it.stage == Stage::Commit) else {
            return;
        };
        cleaning.stage = Stage::Rename;
        let folder = &cleaning.folder;
        for segment in &cleaning.outputs {
            for kind in SEGMENT_KINDS {
                let target = kind.path(folder, segment.base);
                cleaning.queue.push_back(
                    if kind == Kind::TxnIndex && segment.txn.bytes.is_empty() {
                        FileOp::Remove { path: target }
                    } else {
                        let source = kind.cleaned_path(folder, segment.base);
                        FileOp::Rename { source, target }
                    },
                );
            }
        }
        // What is not synced is lost in any order. Without a checkpoint nobody would know that the
        // one file is missing whose place another was to take.
        let folder_now = FilePath::from(folder.as_str());
        cleaning.queue.push_back(FileOp::SyncFolder { folder: folder_now });
        for source in &cleaning.sources {
            if cleaning.outputs.iter().all(|segment| segment.base != source.base) {
                for kind in SEGMENT_KINDS {
                    let path = kind.path(folder, source.base);
                    cleaning.queue.push_back(FileOp::Remove { path });
                }
            }
        }
        let folder = FilePath::from(folder.as_str());
        cleaning.queue.push_back(FileOp::SyncFolder { folder });
    }

    /// Operations of a lane keep their order, so what is read from here on finds the new name;
    /// what was under way before a failed rename begins again.
    fn readers_follow(&mut self, cleaning: &Cleaning, op: &FileOp) {
        let FileOp::Rename { source, .. } = op else { return };
        let Some(log) = self.logs.get_mut(&cleaning.id) else { return };
        for segment in &mut log.segments {
            if *source == Kind::Log.cleaned_path(&cleaning.folder, segment.base) {
                segment.aside = false;
                log.replaced = log.replaced.wrapping_add(1);
            }
        }
    }

    /// The file has the cleaning's name still.
    fn readers_stay(&mut self, op: &FileOp) {
        let (FileOp::Rename { source, .. }, Some(cleaning)) = (op, &self.cleaning) else { return };
        let Some(log) = self.logs.get_mut(&cleaning.id) else { return };
        for segment in &mut log.segments {
            if *source == Kind::Log.cleaned_path(&cleaning.folder, segment.base) {
                segment.aside = true;
                log.replaced = log.replaced.wrapping_add(1);
            }
        }
    }

    /// All files have their names, durably.
    fn files_renamed(&mut self, id: PartitionId) {
        if let Some(log) = self.logs.get_mut(&id) {
            for segment in &mut log.segments {
                segment.cleaned = false;
                segment.aside = false;
            }
            self.dirty.insert(id);
        }
        self.ask_for_checkpoint();
    }
}

/// How many of a log's first segments are closed, written, decided and old enough.
fn cleanable_segments(log: &Log, bound: Offset, old_ms: i64) -> usize {
    log.segments
        .iter()
        .zip(log.segments.iter().skip(1))
        .take_while(|(segment, next)| {
            next.base <= bound
                && segment.written == segment.size
                && segment.max_timestamp <= old_ms
                && !segment.cleaned
        })
        .count()
}

impl Cleaning {
    /// Asks for the next bytes, or goes on to the next segment or stage.
    fn next_piece(&mut self, chunk_bytes: u32) {
        let Some(cleaner) = self.cleaner.as_mut() else { return };
        let full = self.stage == Stage::Collect && cleaner.is_full();
        let source = self.sources.get(self.at).filter(|_| !full);
        if let Some(source) = source {
            if self.position < source.size {
                let left = source.size - self.position;
                let length = self.needed.max(chunk_bytes.into()).min(left);
                self.queue.push_back(FileOp::Read {
                    path: Kind::Log.path(&self.folder, source.base),
                    position: self.position,
                    length: u32::try_from(length).unwrap_or(u32::MAX),
                });
            } else {
                self.at += 1;
                self.position = 0;
                if self.stage == Stage::Filter {
                    self.source_ended();
                }
            }
        } else if self.stage == Stage::Collect {
            self.clean_end = cleaner.clean_end();
            cleaner.begin_filter();
            (self.stage, self.at, self.position, self.needed) = (Stage::Filter, 0, 0, 0);
        } else {
            if let (offset, false) = self.cleaned_to {
                // Before the holes: a log without a checkpoint is read by it.
                let path = files::in_folder(&self.folder, files::CLEANED_TO);
                let text = Bytes::from(files::one_offset(offset));
                self.queue.extend(replace_ops(path, text, true, Lane::Data));
            }
            let folder = FilePath::from(self.folder.as_str());
            self.queue.push_back(FileOp::SyncFolder { folder });
            self.stage = Stage::Install;
        }
    }

    /// Takes what a job found.
    fn take_piece(&mut self, piece: Piece, interval: u32) -> Result<(), ()> {
        let Some(source) = self.sources.get(self.at).copied() else { return Err(()) };
        let Some(cleaner) = self.cleaner.as_mut() else { return Err(()) };
        if piece.consumed == 0 && self.stage == Stage::Collect && cleaner.is_full() {
            return Ok(());
        }
        self.position = self.position.saturating_add(piece.consumed);
        let left = source.size.saturating_sub(self.position);
        let stuck = piece.consumed == 0 && piece.needed <= self.needed;
        if (left > 0 && (stuck || piece.needed > left)) || self.position > source.size {
            return Err(());
        }
        self.needed = if piece.consumed == 0 { piece.needed } else { 0 };
        if self.stage == Stage::Filter {
            let aborted = cleaner.take_aborted();
            self.write(source, piece.kept, interval);
            if let Some(output) = &mut self.output {
                for txn in &aborted {
                    output.add_aborted(txn);
                }
            }
            self.aborted.extend(aborted);
        }
        Ok(())
    }

    fn write(&mut self, source: Source, kept: Vec<CheckedBatch>, interval: u32) {
        if kept.is_empty() {
            return;
        }
        let folder = &self.folder;
        let output = self.output.get_or_insert_with(|| {
            for kind in SEGMENT_KINDS {
                // What an earlier try left may be longer.
                let path = kind.cleaned_path(folder, source.base);
                self.queue.push_back(FileOp::Remove { path });
            }
            Segment { cleaned: true, aside: true, ..Segment::new(source.base) }
        });
        let position = output.size;
        let mut data = Vec::new();
        for batch in kept {
            output.add(batch.header(), batch.size() as u64, interval);
            data.push(batch.bytes().clone());
        }
        self.queue.push_back(FileOp::Write {
            path: Kind::Log.cleaned_path(folder, output.base),
            position,
            data,
            sync: false,
            lane: Lane::Data,
        });
    }

    /// A source was read to its end: the new segment goes on with the next one, if that fits for
    /// sure (`Cleaner.groupSegmentsBySize`).
    fn source_ended(&mut self) {
        let next = self.sources.get(self.at).copied();
        let next_end = self.sources.get(self.at + 1).map_or(self.end, |source| source.base);
        let Some(output) = &self.output else { return };
        let fits = next.is_some_and(|next| {
            output.size.saturating_add(next.size) <= self.segment_bytes.into()
                && next_end.saturating_sub(output.base) <= i32::MAX.into()
        });
        if !fits && let Some(output) = self.output.take() {
            self.finish_output(output);
        }
    }

    /// Makes a new segment's files durable.
    fn finish_output(&mut self, mut output: Segment) {
        output.index_time();
        (output.written, output.durable) = (output.size, output.size);
        let folder = &self.folder;
        let path = Kind::Log.cleaned_path(folder, output.base);
        self.queue.push_back(FileOp::Sync { path });
        for (kind, file) in [
            (Kind::Index, &mut output.index),
            (Kind::TimeIndex, &mut output.time),
            (Kind::TxnIndex, &mut output.txn),
        ] {
            file.durable = file.bytes.len();
            if kind == Kind::TxnIndex && file.bytes.is_empty() {
                continue;
            }
            self.queue.push_back(FileOp::Write {
                path: kind.cleaned_path(folder, output.base),
                position: 0,
                data: alloc::vec![Bytes::copy_from_slice(&file.bytes)],
                sync: true,
                lane: Lane::Data,
            });
        }
        self.outputs.push(output);
    }
}
