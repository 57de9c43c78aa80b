//! A changed log's files in a checkpoint: what is written to them, and what is to be synced.

use alloc::vec::Vec;

use bytes::Bytes;

use super::LogSnapshot;
use super::checkpoint::replace_ops;
use super::checkpoint_file::{LogImage, SnapshotImage};
use super::files::{self, Kind};
use super::log::{Folder, Log};
use super::segment::{FileImage, IndexFile};
use crate::io::{FileOp, FilePath, Lane};
use crate::mark;
use crate::types::Offset;

/// What a sync has to cover.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SyncSet {
    pub(super) files: Vec<FilePath>,
    pub(super) folders: Vec<FilePath>,
}

/// A log as it was when it was described.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LogFiles {
    pub(super) image: LogImage,
    /// The snapshot file to be written, and whether there is one of that name.
    snapshot: Option<(Bytes, bool)>,
    /// The leader epoch file to be written.
    leader_epochs: Option<Bytes>,
}

impl LogFiles {
    /// Describes a log as it is now, for the checkpoint file too.
    pub(super) fn describe(log: &mut Log, snapshot: Option<LogSnapshot>) -> Self {
        let end = log.log_end;
        let (mut to_write, mut epochs_text) = (None, None);
        let mut epochs = log.leader_epochs.clone();
        let mut named = log.snapshot.filter(|old| old.offset == end);
        if let Some(taken) = snapshot {
            if named.is_some() {
                // The last checkpoint speaks of that file: it is not written over. The same
                // records lead to the same producers, but for those that were forgotten since.
                mark!(SnapshotKept);
            } else if taken.offset == end {
                let length = u32::try_from(taken.bytes.len()).unwrap_or(u32::MAX);
                let file = FileImage { length, crc: crc32c::crc32c(&taken.bytes) };
                named = Some(SnapshotImage { offset: end, file });
                let place = log.snapshots.binary_search(&end);
                to_write = Some((taken.bytes, place.is_ok()));
                if let Err(place) = place {
                    log.snapshots.insert(place, end);
                }
            }
            if taken.leader_epochs != epochs || log.entry.is_empty() {
                epochs_text = Some(Bytes::from(files::leader_epochs(&taken.leader_epochs)));
            }
            epochs = taken.leader_epochs;
        }
        let image = log.image(named, epochs);
        log.entry = image.entry();
        Self { image, snapshot: to_write, leader_epochs: epochs_text }
    }

    /// What is to be written besides the segments, which hold what the image says. Adds what is to
    /// be synced.
    pub(super) fn write(&mut self, log: &Log, set: &mut SyncSet) -> Vec<FileOp> {
        let folder = log.folder_name.as_str();
        let mut ops = Vec::new();
        if log.folder == (Folder::Present { durable: false }) {
            set.files.push(files::in_folder(folder, files::PARTITION_METADATA));
        }
        for segment in &self.image.segments {
            let Some(place) = log.place_of(segment.base) else { continue };
            let live = &log.segments[place];
            if segment.size > live.durable {
                set.files.push(Kind::Log.path(folder, segment.base));
            }
            for (kind, file, image) in [
                (Kind::Index, &live.index, segment.index),
                (Kind::TimeIndex, &live.time, segment.time),
                (Kind::TxnIndex, &live.txn, segment.txn),
            ] {
                if let Some(new) = new_index_bytes(file, image) {
                    let path = kind.path(folder, segment.base);
                    write_index(&path, file.durable, new, &mut ops);
                    set.files.push(path);
                }
            }
        }
        if let (Some((bytes, is_there)), Some(image)) = (self.snapshot.take(), self.image.snapshot)
        {
            let path = Kind::Snapshot.path(folder, image.offset);
            if is_there {
                // Of a try that failed, and maybe longer. No checkpoint speaks of it.
                ops.push(FileOp::Remove { path: path.clone() });
            }
            ops.push(write(path.clone(), 0, bytes));
            set.files.push(path);
        }
        if let Some(text) = self.leader_epochs.take() {
            replace(files::in_folder(folder, files::LEADER_EPOCHS), text, &mut ops, set);
        }
        if self.image.log_start != log.start_in_file {
            let text = Bytes::from(files::one_offset(self.image.log_start));
            replace(files::in_folder(folder, files::LOG_START), text, &mut ops, set);
        }
        set.folders.push(FilePath::from(folder));
        ops
    }

    /// Takes note that the files are durable as the image says.
    pub(super) fn made_durable(&self, log: &mut Log) {
        log.folder = Folder::Present { durable: true };
        log.snapshot = self.image.snapshot;
        log.leader_epochs.clone_from(&self.image.leader_epochs);
        log.start_in_file = self.image.log_start;
        log.durable_end = self.image.log_end;
        log.durable_base = self.image.segments.last().map(|segment| segment.base);
        for segment in &self.image.segments {
            let Some(place) = log.place_of(segment.base) else { continue };
            let live = &mut log.segments[place];
            live.durable = live.durable.max(segment.size);
            live.index.durable = live.index.durable.max(segment.index.length as usize);
            live.time.durable = live.time.durable.max(segment.time.length as usize);
            live.txn.durable = live.txn.durable.max(segment.txn.length as usize);
        }
    }
}

/// The base offset in a path of an operation on a segment's file.
pub(super) fn segment_of(op: &FileOp) -> Option<Offset> {
    let (FileOp::Write { path, .. } | FileOp::Remove { path }) = op else { return None };
    let (_, name) = path.as_str().rsplit_once('/')?;
    Kind::parse(name).filter(|(kind, _)| *kind != Kind::Snapshot).map(|(_, base)| base)
}

/// What an index file lacks.
fn new_index_bytes(file: &IndexFile, image: FileImage) -> Option<&[u8]> {
    file.bytes.get(file.durable..image.length as usize).filter(|new| !new.is_empty())
}

fn write_index(path: &FilePath, durable: usize, new: &[u8], ops: &mut Vec<FileOp>) {
    if durable == 0 {
        // What an earlier life left may be longer.
        ops.push(FileOp::Remove { path: path.clone() });
    }
    ops.push(write(path.clone(), durable as u64, Bytes::copy_from_slice(new)));
}

/// A file in place of the old one. Adds it to what is to be synced.
fn replace(path: FilePath, text: Bytes, ops: &mut Vec<FileOp>, set: &mut SyncSet) {
    ops.extend(replace_ops(path.clone(), text, false, Lane::Data));
    set.files.push(path);
}

fn write(path: FilePath, position: u64, bytes: Bytes) -> FileOp {
    let data = alloc::vec![bytes];
    FileOp::Write { path, position, data, sync: false, lane: Lane::Data }
}
