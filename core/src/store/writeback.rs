//! Persisted batches into segment files, and files that are no more out of the way.
//!
//! One write per log in flight; what gathers meanwhile goes out together. A failed one is tried
//! again from the same place, so a log's file never has a hole below its end.
//!
//! A log gathers `write_behind_bytes` before it is written: the journal has made its batches
//! durable, and one write of many small batches costs what one small write costs.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::files::{self, Kind};
use super::log::{Folder, Log};
use super::{Purpose, Store};
use crate::io::{FileOp, FilePath, FileResult, Lane};
use crate::mark;
use crate::time::Timestamp;
use crate::types::{Offset, PartitionId, TopicId};

/// Logs with a write in flight at most.
const WRITES_IN_FLIGHT_MAX: u32 = 64;
/// Bytes of one segment write, unless one batch is larger.
const WRITE_BYTES_MAX: u64 = 1 << 20;

/// Something to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Removal {
    /// For a folder: the deleted log's topic id, and the folder.
    pub(super) folder: Option<(TopicId, String)>,
    op: FileOp,
}

impl Removal {
    /// A deleted log's folder.
    pub(super) fn folder(topic_id: TopicId, folder: String) -> Self {
        let op = FileOp::RemoveFolder { folder: FilePath::from(folder.as_str()) };
        Self { folder: Some((topic_id, folder)), op }
    }

    /// A segment's files.
    pub(super) fn segment(folder: &str, base: Offset) -> impl Iterator<Item = Self> {
        [Kind::Log, Kind::Index, Kind::TimeIndex, Kind::TxnIndex].into_iter().map(move |kind| {
            Self { folder: None, op: FileOp::Remove { path: kind.path(folder, base) } }
        })
    }
}

impl Store {
    /// Puts a log in line for writing, when it has enough to write.
    pub(super) fn want_write(&mut self, id: PartitionId) {
        let Some(log) = self.logs.get_mut(&id) else { return };
        if log.queued || log.busy {
            // The end of what is under way asks again.
            return;
        }
        let is_there = matches!(log.folder, Folder::Present { .. });
        let hurried = self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.waits_for(id));
        if is_there && !hurried && log.unwritten_bytes < self.config.write_behind_bytes {
            return;
        }
        log.queued = true;
        self.to_write.push_back(id);
    }

    /// Puts a log in line for writing, however little it has.
    pub(super) fn write_now(&mut self, id: PartitionId) {
        if let Some(log) = self.logs.get_mut(&id)
            && !log.queued
        {
            log.queued = true;
            self.to_write.push_back(id);
        }
    }

    /// Drops the oldest batches from memory until the rest fits; the log of one that is not in its
    /// segment yet is written now.
    pub(super) fn evict(&mut self) {
        if let Some(unwritten) = self.cache.evict(&mut self.logs) {
            self.write_now(unwritten);
        }
    }

    /// Emits what may be written now.
    pub(super) fn write_back(&mut self) {
        if self.retry_at.is_some() || self.faulted {
            return;
        }
        if !self.removing
            && let Some(removal) = self.removals.front()
        {
            let op = removal.op.clone();
            self.removing = true;
            self.emit(Purpose::Removal, op);
        }
        for _ in 0..self.to_write.len() {
            if self.writes_in_flight >= WRITES_IN_FLIGHT_MAX {
                return;
            }
            let Some(id) = self.to_write.pop_front() else { return };
            let Some(log) = self.logs.get_mut(&id) else { continue };
            log.queued = false;
            let occupied = self.removing_folders.contains_key(&log.folder_name);
            if log.folder == Folder::Absent && occupied {
                // A deleted log may have left a folder of the same name; it goes first, and its
                // end puts this log in line again.
                continue;
            }
            if log.busy {
                // Its end puts it in line again.
                continue;
            }
            if let Some(op) = next_op(log) {
                log.busy = true;
                self.writes_in_flight += 1;
                self.emit(Purpose::Writeback(id), op);
            }
        }
    }

    /// A write, or a step of creating a folder, has ended.
    pub(super) fn write_done(&mut self, now: Timestamp, id: PartitionId, result: &FileResult) {
        self.writes_in_flight = self.writes_in_flight.saturating_sub(1);
        let Some(log) = self.logs.get_mut(&id) else { return };
        log.busy = false;
        match *result {
            Ok(_) => {
                advance(log);
                // Segments below the log's start that waited for this write.
                for segment in log.move_start(log.log_start) {
                    self.removals.extend(Removal::segment(&log.folder_name, segment.base));
                }
            }
            Err(error) => {
                mark!(SegmentWriteRetried);
                log.in_flight = 0;
                self.retry_later(now, error);
            }
        }
        self.segment_written(id);
        self.want_write(id);
        self.evict();
    }

    /// Puts a deleted log's folder in line to be removed.
    pub(super) fn remove_folder(&mut self, removal: Removal) {
        if let Some((_, folder)) = &removal.folder {
            let count = self.removing_folders.entry(folder.clone()).or_default();
            *count = count.saturating_add(1);
        }
        self.removals.push_back(removal);
    }

    /// A removal has ended.
    pub(super) fn removal_done(&mut self, now: Timestamp, result: &FileResult) {
        self.removing = false;
        match *result {
            Ok(_) => {
                let removal = self.removals.pop_front();
                if let Some((_, folder)) = removal.and_then(|removal| removal.folder) {
                    self.folder_removed(&folder);
                }
            }
            Err(error) => self.retry_later(now, error),
        }
    }

    /// A log of that name that waited for it may have its folder now.
    fn folder_removed(&mut self, folder: &str) {
        if let Some(count) = self.removing_folders.get_mut(folder) {
            *count -= 1;
            if *count > 0 {
                return;
            }
        }
        self.removing_folders.remove(folder);
        if let Some(&id) = self.folders.get(folder) {
            self.write_now(id);
        }
    }
}

/// What a log's next write is; `None` when nothing waits.
fn next_op(log: &mut Log) -> Option<FileOp> {
    match log.folder {
        Folder::Absent => {
            return Some(FileOp::CreateFolder { folder: FilePath::from(log.folder_name.as_str()) });
        }
        Folder::Bare => {
            let text = files::partition_metadata(log.id.topic_id);
            return Some(FileOp::Write {
                path: files::in_folder(&log.folder_name, files::PARTITION_METADATA),
                position: 0,
                data: alloc::vec![Bytes::from(text)],
                sync: false,
                lane: Lane::Data,
            });
        }
        Folder::Present { .. } => {}
    }
    let (segment, position) = {
        let first = log.first_unwritten()?;
        (first.segment, first.position)
    };
    let (mut data, mut bytes, mut count): (Vec<Bytes>, u64, usize) = (Vec::new(), 0, 0);
    for batch in log.cached.iter().skip(log.cached.len() - log.unwritten) {
        let size = batch.block.size();
        if batch.segment != segment || (count > 0 && bytes + size > WRITE_BYTES_MAX) {
            break;
        }
        data.extend(batch.block.bytes().cloned());
        bytes += size;
        count += 1;
    }
    log.in_flight = count;
    let path = Kind::Log.path(&log.folder_name, segment);
    Some(FileOp::Write { path, position, data, sync: false, lane: Lane::Data })
}

/// Takes note that what [`next_op`] named was done.
pub(super) fn advance(log: &mut Log) {
    match log.folder {
        Folder::Absent => log.folder = Folder::Bare,
        Folder::Bare => log.folder = Folder::Present { durable: false },
        Folder::Present { .. } => {
            let first = log.cached.len() - log.unwritten;
            let written = log.cached.range(first..first + log.in_flight);
            let bytes: u64 = written.map(|batch| batch.block.size()).sum();
            if let Some(base) = log.first_unwritten().map(|batch| batch.segment)
                && let Some(at) = log.segments.iter().position(|segment| segment.base == base)
            {
                log.segments[at].written += bytes;
            }
            log.unwritten -= log.in_flight;
            log.unwritten_bytes = log.unwritten_bytes.saturating_sub(bytes);
            log.in_flight = 0;
        }
    }
}
