//! Checkpoints: segments, indexes and snapshots made durable, so that the journal can go round.
//!
//! 1. The turn that is persisted now is the one the journal will be replayed from.
//! 2. Log after log, [`LOGS_IN_WORK_MAX`] at a time: the node gives a snapshot, the log is
//!    described as it is at that moment, what it lacks is written to its files. Nothing is synced.
//! 3. One sync makes all of it durable, the folders too. When there is very much, a sync after each
//!    `sync_files_max` files goes before: what waits for the device meanwhile waits less long.
//! 4. The checkpoint file is written beside the old one, synced, renamed, its folder synced; and a
//!    copy of it, for the day on which one of them rots. Only then are journal files used again.
//!
//! A log that is described later than the turn of step 1 holds more than that turn: replaying the
//! journal passes over what a log has already. So nothing in here looks at all logs in one go, and
//! requests are served in between. A crash anywhere leaves the old checkpoint or the new one, and
//! the journal still holds what the old one needs; files are only added to, or replaced by a rename,
//! as long as the old one speaks of them.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::vec::Vec;

use bytes::Bytes;

use super::checkpoint_file;
use super::files::{self, Kind};
use super::log::{Folder, Log};
use super::log_files::{self, LogFiles, SyncSet};
use super::{Durability, LogSnapshot, Purpose, Store, StoreEvent};
use crate::io::{FileError, FileOp, FilePath, FileResult, Lane, Ticket};
use crate::mark;
use crate::time::Timestamp;
use crate::types::{Offset, PartitionId};

/// Logs that are asked about, or wait for their segment, at most.
const LOGS_IN_WORK_MAX: usize = 16;
/// Operations of a checkpoint under way at most, but for those of one log.
const OPS_IN_FLIGHT_MAX: usize = 64;
/// Snapshots kept per log, as Apache Kafka keeps them.
const SNAPSHOTS_KEPT: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Changed logs are described and their files written.
    Logs,
    /// One sync for all of them is under way. What the checkpoint file will say is fixed.
    Sync(Bytes),
    /// The checkpoint file: what is left to do, one after the other.
    Root(VecDeque<FileOp>),
    /// Durable; old snapshots of the logs from this one on are still to be removed.
    Tidy(usize),
}

/// What an operation under way is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// A file of a log; of which segment, if of one.
    Log(PartitionId, Option<Offset>),
    /// A sync of what was written so far.
    Sync,
    /// The checkpoint file.
    Root,
}

/// A checkpoint in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Checkpoint {
    generation: u64,
    sequence: u64,
    stage: Stage,
    /// Changed logs nobody has asked about.
    to_do: VecDeque<PartitionId>,
    /// Logs whose snapshot is asked for.
    asked: BTreeSet<PartitionId>,
    /// Described logs whose segment file is behind; their place in `logs`.
    waiting: BTreeMap<PartitionId, usize>,
    /// Described logs.
    logs: Vec<LogFiles>,
    /// Operations under way.
    in_flight: BTreeMap<Ticket, Part>,
    set: SyncSet,
    sync_files_max: usize,
    /// Began when the node was stopping.
    last: bool,
}

impl Checkpoint {
    /// Whether it waits for a log's segment file.
    pub(super) fn waits_for(&self, id: PartitionId) -> bool {
        self.waiting.contains_key(&id)
    }

    /// Whether so much was written that it is to be synced before there is more.
    const fn must_sync(&self) -> bool {
        self.set.files.len() >= self.sync_files_max
    }

    /// A log was deleted: there is nothing to make durable any more.
    pub(super) fn forget(&mut self, id: PartitionId) {
        self.asked.remove(&id);
        self.waiting.remove(&id);
    }
}

impl Store {
    /// Begins a checkpoint of the persisted state. A [`StoreEvent::SnapshotWanted`] follows for
    /// every log that changed since the last one. Ignored while one is in progress.
    pub fn begin_checkpoint(&mut self) {
        if self.checkpoint.is_some() || self.faulted {
            return;
        }
        self.checkpoint_asked = false;
        self.checkpoint_retry = false;
        self.root_dirty = false;
        self.placed_bytes = 0;
        self.checkpoint = Some(alloc::boxed::Box::new(Checkpoint {
            generation: self.journal.generation(),
            sequence: self.journal.persisted(),
            stage: Stage::Logs,
            to_do: core::mem::take(&mut self.dirty).into_iter().collect(),
            asked: BTreeSet::new(),
            waiting: BTreeMap::new(),
            logs: Vec::new(),
            in_flight: BTreeMap::new(),
            set: SyncSet::default(),
            sync_files_max: self.config.sync_files_max,
            last: self.stopping && !self.journal.is_busy(),
        }));
        self.pump();
    }

    /// The answer to [`StoreEvent::SnapshotWanted`]: the log is described as it is now. Without a
    /// snapshot as of its persisted end it is read as a whole at the next start.
    pub fn snapshot_taken(&mut self, id: PartitionId, snapshot: Option<LogSnapshot>) {
        let Some(checkpoint) = self.checkpoint.as_mut() else { return };
        let Some(log) = self.logs.get_mut(&id) else { return };
        if !checkpoint.asked.remove(&id) {
            return;
        }
        self.dirty.remove(&id);
        let files = LogFiles::describe(log, snapshot);
        checkpoint.waiting.insert(id, checkpoint.logs.len());
        checkpoint.logs.push(files);
        if is_behind(log, log.log_end) {
            self.write_now(id);
        }
        self.segment_written(id);
        self.pump();
    }

    /// A log's segment file has grown: if a checkpoint waited for that, the log's other files are
    /// written now.
    pub(super) fn segment_written(&mut self, id: PartitionId) {
        let Some(checkpoint) = self.checkpoint.as_mut() else { return };
        let (Some(&at), Some(log)) = (checkpoint.waiting.get(&id), self.logs.get(&id)) else {
            return;
        };
        let files = &mut checkpoint.logs[at];
        if is_behind(log, files.image.log_end) {
            return;
        }
        checkpoint.waiting.remove(&id);
        let ops = files.write(log, &mut checkpoint.set);
        for op in ops {
            self.emit_for_checkpoint(Part::Log(id, log_files::segment_of(&op)), op);
        }
    }

    fn emit_for_checkpoint(&mut self, part: Part, op: FileOp) {
        let ticket = self.emit(Purpose::Checkpoint, op);
        if let Some(checkpoint) = self.checkpoint.as_mut() {
            checkpoint.in_flight.insert(ticket, part);
        }
    }

    /// Goes on with the checkpoint as far as it can.
    pub(super) fn run_checkpoint(&mut self) {
        let Some(checkpoint) = self.checkpoint.as_mut() else { return };
        match &mut checkpoint.stage {
            Stage::Logs => {
                self.ask_for_snapshots();
                self.sync_logs();
            }
            Stage::Root(queue) if checkpoint.in_flight.is_empty() => {
                if let Some(op) = queue.pop_front() {
                    self.emit_for_checkpoint(Part::Root, op);
                }
            }
            Stage::Sync(_) | Stage::Root(_) => {}
            Stage::Tidy(_) => self.tidy_snapshots(),
        }
    }

    fn ask_for_snapshots(&mut self) {
        let Some(checkpoint) = self.checkpoint.as_mut() else { return };
        while checkpoint.asked.len() + checkpoint.waiting.len() < LOGS_IN_WORK_MAX
            && checkpoint.in_flight.len() < OPS_IN_FLIGHT_MAX
            && !checkpoint.must_sync()
        {
            let Some(id) = checkpoint.to_do.pop_front() else { return };
            if self.logs.contains_key(&id) {
                checkpoint.asked.insert(id);
                self.events.push_back(StoreEvent::SnapshotWanted { id });
            }
        }
    }

    /// All logs are written: one sync for all. What the checkpoint file says is put together here,
    /// before the sync begins: a log deleted from now on is still in it, and its deletion in the
    /// journal behind it.
    fn sync_logs(&mut self) {
        let Some(checkpoint) = self.checkpoint.as_mut() else { return };
        let busy = !checkpoint.asked.is_empty()
            || !checkpoint.waiting.is_empty()
            || !checkpoint.in_flight.is_empty();
        let all = checkpoint.to_do.is_empty();
        if busy || !(all || checkpoint.must_sync()) {
            return;
        }
        let mut set = core::mem::take(&mut checkpoint.set);
        if !all {
            let SyncSet { files, folders } = set;
            return self.emit_for_checkpoint(Part::Sync, FileOp::SyncAll { files, folders });
        }
        // New folders of partitions, and removals.
        set.folders.push(FilePath::from(""));
        if self.config.durability == Durability::Os {
            // What the logs hold must not outlast what the journal says of other logs.
            set.files.extend(files::JOURNAL.map(FilePath::from));
        }
        let entries = self.logs.values().map(|log| &log.entry);
        let removed: Vec<_> =
            self.removals.iter().filter_map(|removal| removal.folder.clone()).collect();
        let (generation, sequence) = (checkpoint.generation, checkpoint.sequence);
        let file = checkpoint_file::encode(generation, sequence, entries, &removed);
        checkpoint.stage = Stage::Sync(file);
        let SyncSet { files, folders } = set;
        self.emit_for_checkpoint(Part::Sync, FileOp::SyncAll { files, folders });
    }

    /// One operation of the checkpoint has ended.
    pub(super) fn checkpoint_op_done(
        &mut self,
        now: Timestamp,
        ticket: Ticket,
        result: &FileResult,
    ) {
        let Some(checkpoint) = self.checkpoint.as_mut() else { return };
        let Some(part) = checkpoint.in_flight.remove(&ticket) else { return };
        let gone = match part {
            Part::Log(id, segment) => self.logs.get(&id).is_none_or(|log| {
                // Deleted, or below the log's start by now.
                segment.is_some_and(|base| base < log.segments[0].base)
            }),
            Part::Sync | Part::Root => false,
        };
        match (result, &mut checkpoint.stage) {
            (_, Stage::Tidy(_)) => {}
            (Err(FileError::NotFound), _) if gone => {}
            (Err(error), _) => self.checkpoint_failed(now, part, *error),
            (Ok(_), Stage::Sync(file)) => {
                checkpoint.stage = Stage::Root(root_ops(file));
            }
            (Ok(_), Stage::Root(queue)) if queue.is_empty() => self.checkpoint_durable(now),
            (Ok(_), _) => {}
        }
    }

    fn checkpoint_failed(&mut self, now: Timestamp, part: Part, error: FileError) {
        let Some(checkpoint) = self.checkpoint.take() else { return };
        // What a failed sync was to make durable may be lost while the page looks clean, so only
        // reading the journal again at a restart is sure to bring it back. Of a write that was to
        // be synced the system does not say what failed, so the worse is assumed.
        let synced = match &checkpoint.stage {
            Stage::Logs | Stage::Sync(_) | Stage::Tidy(_) => part == Part::Sync,
            // Removal and write with sync twice, two renames, sync of the folder: by what is left
            // to do. Once one has its name another try may not write over what it speaks of.
            Stage::Root(queue) => match queue.len() {
                5 | 3 => error != FileError::NoSpace,
                left => left <= 1,
            },
        };
        if synced {
            return self.fault(format!("a sync failed during a checkpoint: {error}"));
        }
        mark!(CheckpointRetried);
        let described = checkpoint.logs.iter().map(|files| files.image.id);
        let again = described.chain(checkpoint.to_do).chain(checkpoint.asked);
        self.dirty.extend(again.filter(|id| self.logs.contains_key(id)));
        self.root_dirty = true;
        self.checkpoint_retry = true;
        self.retry_later(now, error);
    }

    fn checkpoint_durable(&mut self, now: Timestamp) {
        let Some(checkpoint) = self.checkpoint.as_mut() else { return };
        mark!(CheckpointDone);
        self.last_checkpoint = now;
        self.journal.checkpointed(checkpoint.sequence);
        checkpoint.stage = Stage::Tidy(0);
        self.cleaning_checkpointed();
    }

    /// Takes note of what is durable, and removes snapshots that no checkpoint speaks of.
    fn tidy_snapshots(&mut self) {
        loop {
            let Some(checkpoint) = self.checkpoint.as_mut() else { return };
            let Stage::Tidy(at) = &mut checkpoint.stage else { return };
            if checkpoint.in_flight.len() >= OPS_IN_FLIGHT_MAX {
                return;
            }
            let Some(files) = checkpoint.logs.get(*at) else {
                if checkpoint.in_flight.is_empty() {
                    self.end_checkpoint();
                }
                return;
            };
            *at += 1;
            let id = files.image.id;
            let Some(log) = self.logs.get_mut(&id) else { continue };
            files.made_durable(log);
            let old = log.snapshots.len().saturating_sub(SNAPSHOTS_KEPT);
            let old: Vec<Offset> = log.snapshots.drain(..old).collect();
            let folder = log.folder_name.clone();
            for offset in old {
                let path = Kind::Snapshot.path(&folder, offset);
                self.emit_for_checkpoint(Part::Log(id, None), FileOp::Remove { path });
            }
        }
    }

    fn end_checkpoint(&mut self) {
        let Some(checkpoint) = self.checkpoint.take() else { return };
        if !self.stopping {
            return;
        }
        let last = checkpoint.last && self.cleaning.is_none();
        if last && !self.has_changes() && !self.journal.is_busy() {
            self.events.push_back(StoreEvent::Stopped);
            self.stopping = false;
        } else {
            self.root_dirty = true;
        }
    }
}

/// Whether a log's folder or segment files lack something below `end`.
fn is_behind(log: &Log, end: Offset) -> bool {
    log.written_end() < end || !matches!(log.folder, Folder::Present { .. })
}

/// A small file written beside the old one, with or without a sync, and put in its place: the removal
/// of what an earlier try left, which may be longer; the write; the rename.
pub(super) fn replace_ops(path: FilePath, bytes: Bytes, sync: bool, lane: Lane) -> [FileOp; 3] {
    let source = FilePath::from(format!("{path}.tmp"));
    let data = alloc::vec![bytes];
    [
        FileOp::Remove { path: source.clone() },
        FileOp::Write { path: source.clone(), position: 0, data, sync, lane },
        FileOp::Rename { source, target: path },
    ]
}

/// What makes the checkpoint file durable. Both are written before either has its name: until then
/// nothing speaks of what a try that fails has written.
fn root_ops(file: &Bytes) -> VecDeque<FileOp> {
    let (mut ops, mut names) = (VecDeque::new(), Vec::new());
    for name in files::CHECKPOINTS {
        let path = FilePath::from(name);
        let [removal, write, rename] = replace_ops(path, file.clone(), true, Lane::Sync);
        ops.extend([removal, write]);
        names.push(rename);
    }
    names.push(FileOp::SyncFolder { folder: FilePath::from("") });
    ops.extend(names);
    ops
}
