//! Checkpoints: segments, indexes and snapshots made durable, so that the journal can go round.
//!
//! Order: wait until the segment files hold what was persisted when the checkpoint began; per
//! changed log write and sync its files and its folder; sync the data folder; write, sync, rename
//! the checkpoint file and sync the folder again. Only then are journal files used again. A crash
//! anywhere leaves the old checkpoint or the new one, and the journal still holds what the old one
//! needs.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use bytes::Bytes;

use super::checkpoint_file::{Image, LogImage, SnapshotImage};
use super::files::{self, Kind};
use super::log::{Folder, Log};
use super::segment::{FileImage, IndexFile};
use super::{LogSnapshot, Purpose, Store, StoreEvent};
use crate::io::{FileError, FileOp, FilePath, FileResult, Lane};
use crate::mark;
use crate::time::Timestamp;
use crate::types::{Offset, PartitionId};

/// Snapshots kept per log, as Apache Kafka keeps them.
const SNAPSHOTS_KEPT: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Segment files are behind, for all the checkpoint knows: those of the logs before this one
    /// of the image are not. What is in them stays, so no log is looked at twice.
    Waiting(usize),
    /// Files of this changed log.
    Log(usize),
    /// The checkpoint file.
    Root,
}

/// A checkpoint in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Checkpoint {
    image: Image,
    /// Changed logs, by their index in the image, with their new snapshot.
    changed: Vec<(usize, Option<Bytes>)>,
    stage: Stage,
    queue: VecDeque<FileOp>,
    busy: Option<FileOp>,
    /// Began when the node was stopping.
    last: bool,
}

impl Checkpoint {
    /// Whether it waits for segment files.
    pub(super) const fn waits(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_))
    }
}

impl Store {
    /// Begins a checkpoint of the persisted state. `snapshots` are of [`Store::dirty_logs`], each
    /// as of its log's persisted end; a log without one is read as a whole at the next start.
    /// Ignored while one is in progress.
    pub fn begin_checkpoint(&mut self, snapshots: Vec<LogSnapshot>) {
        if self.checkpoint.is_some() || self.faulted {
            return;
        }
        self.checkpoint_asked = false;
        self.checkpoint_retry = false;
        let dirty = core::mem::take(&mut self.dirty);
        self.root_dirty = false;
        let mut files = BTreeMap::new();
        for (id, offset, bytes, leader_epochs) in snapshots {
            let Some(log) = self.logs.get_mut(&id) else { continue };
            log.leader_epochs = leader_epochs;
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let file = FileImage { length, crc: crc32c::crc32c(&bytes) };
            log.snapshot = Some(SnapshotImage { offset, file });
            if log.snapshots.binary_search(&offset).is_err() {
                log.snapshots.push(offset);
                log.snapshots.sort_unstable();
            }
            files.insert(id, bytes);
        }
        let logs: Vec<LogImage> = self.logs.values().map(Log::image).collect();
        let changed = logs
            .iter()
            .enumerate()
            .filter(|(_, log)| dirty.contains(&log.id) || files.contains_key(&log.id))
            .map(|(at, log)| (at, files.get(&log.id).cloned()))
            .collect();
        let image = Image {
            generation: self.journal.generation(),
            sequence: self.journal.persisted(),
            logs,
            removed: Vec::new(),
        };
        self.checkpoint = Some(alloc::boxed::Box::new(Checkpoint {
            image,
            changed,
            stage: Stage::Waiting(0),
            queue: VecDeque::new(),
            busy: None,
            last: self.stopping && !self.journal.is_busy(),
        }));
        self.write_all();
        self.pump();
    }

    /// Goes on with the checkpoint as far as it can.
    pub(super) fn run_checkpoint(&mut self) {
        let Some(mut checkpoint) = self.checkpoint.take() else { return };
        loop {
            if checkpoint.busy.is_some() {
                break;
            }
            if let Some(op) = checkpoint.queue.pop_front() {
                checkpoint.busy = Some(op.clone());
                self.emit(Purpose::Checkpoint, op);
                break;
            }
            if !self.next_stage(&mut checkpoint) {
                break;
            }
        }
        self.checkpoint = Some(checkpoint);
    }

    /// The queue is empty: fills it with what comes next. `false` when that has to wait.
    fn next_stage(&mut self, checkpoint: &mut Checkpoint) -> bool {
        let next = match checkpoint.stage {
            Stage::Waiting(from) => {
                let behind = |image: &LogImage| {
                    self.logs.get(&image.id).is_some_and(|log| {
                        log.written_end() < image.log_end
                            || !matches!(log.folder, Folder::Present { .. })
                    })
                };
                let mut rest = checkpoint.image.logs.iter().skip(from);
                if let Some(first) = rest.position(behind) {
                    checkpoint.stage = Stage::Waiting(from + first);
                    return false;
                }
                0
            }
            Stage::Log(at) => {
                let image = &checkpoint.image.logs[checkpoint.changed[at].0];
                if let Some(log) = self.logs.get_mut(&image.id) {
                    made_durable(log, image);
                }
                at + 1
            }
            // The queue of the last stage ends in checkpoint_op_done.
            Stage::Root => return false,
        };
        if let Some((image, snapshot)) = checkpoint.changed.get(next) {
            checkpoint.stage = Stage::Log(next);
            let image = &checkpoint.image.logs[*image];
            if let Some(log) = self.logs.get(&image.id) {
                checkpoint.queue = log_ops(log, image, snapshot.as_ref());
            }
            return true;
        }
        checkpoint.stage = Stage::Root;
        checkpoint.image.removed =
            self.removals.iter().filter_map(|removal| removal.folder.clone()).collect();
        checkpoint.queue = root_ops(&checkpoint.image);
        true
    }

    /// One operation of the checkpoint has ended.
    pub(super) fn checkpoint_op_done(&mut self, now: Timestamp, result: &FileResult) {
        let Some(checkpoint) = self.checkpoint.as_mut() else { return };
        let Some(op) = checkpoint.busy.take() else { return };
        let gone = match checkpoint.stage {
            Stage::Log(at) => {
                let image = &checkpoint.image.logs[checkpoint.changed[at].0];
                let log = self.logs.get(&image.id);
                if log.is_none() {
                    // Deleted meanwhile: there is nothing to make durable any more.
                    checkpoint.queue.clear();
                }
                let live = log.map_or(Offset::MAX, |log| log.segments[0].base);
                log.is_none() || segment_of(&op).is_some_and(|base| base < live)
            }
            Stage::Waiting(_) | Stage::Root => false,
        };
        match *result {
            Err(FileError::NotFound) if gone => {}
            Err(error) => self.checkpoint_failed(now, &op, error),
            Ok(_) => {
                if checkpoint.stage == Stage::Root && checkpoint.queue.is_empty() {
                    self.checkpoint_durable(now);
                }
            }
        }
    }

    fn checkpoint_failed(&mut self, now: Timestamp, op: &FileOp, error: FileError) {
        let Some(checkpoint) = self.checkpoint.take() else { return };
        // What a failed sync was to make durable may be lost while the page looks clean, so only
        // reading the journal again at a restart is sure to bring it back.
        let synced = match op {
            FileOp::Sync { .. } | FileOp::SyncFolder { .. } => true,
            FileOp::Write { sync, .. } => *sync && error != FileError::NoSpace,
            _ => false,
        };
        if synced {
            return self.fault(format!("a sync failed during a checkpoint: {op:.80?}: {error}"));
        }
        mark!(CheckpointRetried);
        self.dirty.extend(
            checkpoint
                .changed
                .iter()
                .map(|(at, _)| checkpoint.image.logs[*at].id)
                .filter(|id| self.logs.contains_key(id)),
        );
        self.root_dirty = true;
        self.checkpoint_retry = true;
        self.retry_later(now, error);
    }

    fn checkpoint_durable(&mut self, now: Timestamp) {
        let Some(checkpoint) = self.checkpoint.take() else { return };
        mark!(CheckpointDone);
        self.last_checkpoint = now;
        self.journal.checkpointed(checkpoint.image.sequence);
        self.cleaning_checkpointed();
        for (at, _) in &checkpoint.changed {
            let id: PartitionId = checkpoint.image.logs[*at].id;
            let Some(log) = self.logs.get_mut(&id) else { continue };
            let old = log.snapshots.len().saturating_sub(SNAPSHOTS_KEPT);
            let old: Vec<Offset> = log.snapshots.drain(..old).collect();
            let folder = log.folder_name.clone();
            for offset in old {
                let path = Kind::Snapshot.path(&folder, offset);
                self.emit(Purpose::Tidy, FileOp::Remove { path });
            }
        }
        if self.stopping {
            let last = checkpoint.last && self.cleaning.is_none();
            if last && !self.has_changes() && !self.journal.is_busy() {
                self.events.push_back(StoreEvent::Stopped);
                self.stopping = false;
            } else {
                self.root_dirty = true;
            }
        }
    }
}

/// The base offset in a path of an operation on a segment's file.
fn segment_of(op: &FileOp) -> Option<Offset> {
    let (FileOp::Sync { path } | FileOp::Write { path, .. } | FileOp::Remove { path }) = op else {
        return None;
    };
    let (_, name) = path.as_str().rsplit_once('/')?;
    Kind::parse(name).filter(|(kind, _)| *kind != Kind::Snapshot).map(|(_, base)| base)
}

/// Makes a log's files durable as its image says.
fn log_ops(log: &Log, image: &LogImage, snapshot: Option<&Bytes>) -> VecDeque<FileOp> {
    let folder = log.folder_name.as_str();
    let mut ops = VecDeque::new();
    if log.folder == (Folder::Present { durable: false }) {
        ops.push_back(FileOp::Sync { path: files::in_folder(folder, files::PARTITION_METADATA) });
    }
    for segment in &image.segments {
        let Some(live) = log.segments.iter().find(|live| live.base == segment.base) else {
            continue;
        };
        if segment.size > live.durable {
            ops.push_back(FileOp::Sync { path: Kind::Log.path(folder, segment.base) });
        }
        for (kind, file, image) in [
            (Kind::Index, &live.index, segment.index),
            (Kind::TimeIndex, &live.time, segment.time),
            (Kind::TxnIndex, &live.txn, segment.txn),
        ] {
            index_ops(|| kind.path(folder, segment.base), file, image, &mut ops);
        }
    }
    if let (Some(bytes), Some(snapshot)) = (snapshot, image.snapshot) {
        let path = Kind::Snapshot.path(folder, snapshot.offset);
        replace_ops(path, bytes.clone(), &mut ops);
        let text = files::leader_epochs(&image.leader_epochs);
        replace_ops(files::in_folder(folder, files::LEADER_EPOCHS), Bytes::from(text), &mut ops);
    }
    ops.push_back(FileOp::SyncFolder { folder: FilePath::from(folder) });
    ops
}

/// Writes what an index file lacks.
fn index_ops(
    path: impl FnOnce() -> FilePath,
    file: &IndexFile,
    image: FileImage,
    ops: &mut VecDeque<FileOp>,
) {
    let length = image.length as usize;
    let Some(new) = file.bytes.get(file.durable..length).filter(|new| !new.is_empty()) else {
        return;
    };
    let path = path();
    if file.durable == 0 {
        // What an earlier life left may be longer.
        ops.push_back(FileOp::Remove { path: path.clone() });
    }
    ops.push_back(FileOp::Write {
        path,
        position: file.durable as u64,
        data: alloc::vec![Bytes::copy_from_slice(new)],
        sync: true,
        lane: Lane::Data,
    });
}

/// Writes a small file beside the old one, and renames it.
pub(super) fn replace_ops(path: FilePath, bytes: Bytes, ops: &mut VecDeque<FileOp>) {
    let source = FilePath::from(format!("{path}.tmp"));
    // A longer one of an earlier try would leave its end.
    ops.push_back(FileOp::Remove { path: source.clone() });
    ops.push_back(FileOp::Write {
        path: source.clone(),
        position: 0,
        data: alloc::vec![bytes],
        sync: true,
        lane: Lane::Data,
    });
    ops.push_back(FileOp::Rename { source, target: path });
}

/// Makes the checkpoint file durable.
fn root_ops(image: &Image) -> VecDeque<FileOp> {
    let root = || FileOp::SyncFolder { folder: FilePath::from("") };
    let mut ops = VecDeque::from([root()]);
    replace_ops(FilePath::from(files::CHECKPOINT.to_string()), image.encode(), &mut ops);
    debug_assert_eq!(format!("{}.tmp", files::CHECKPOINT), files::CHECKPOINT_TMP);
    ops.push_back(root());
    ops
}

/// Takes note that a log's files are durable as its image says.
fn made_durable(log: &mut Log, image: &LogImage) {
    log.folder = Folder::Present { durable: true };
    for segment in &image.segments {
        let Some(live) = log.segments.iter_mut().find(|live| live.base == segment.base) else {
            continue;
        };
        live.durable = live.durable.max(segment.size);
        live.index.durable = live.index.durable.max(segment.index.length as usize);
        live.time.durable = live.time.durable.max(segment.time.length as usize);
        live.txn.durable = live.txn.durable.max(segment.txn.length as usize);
    }
}
