//! Files in memory, with the faults a test asks for.
//!
//! What is performed is durable at once. An operation that is held back has not been performed,
//! so that a crash loses it; one that fails changes nothing.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::io::{FileError, FileOp, FileResult, Lane, Ticket};
use crate::memory;

/// Which operations fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failing {
    /// Writes to the journal.
    Journal,
    /// Every write and allocation outside the journal.
    Data,
    /// Every sync outside the journal.
    Syncs,
    /// Reads.
    Reads,
}

/// What a test makes of the disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    stored: memory::Files,
    /// What fails, with which error, and how often still (`None`: until it is mended).
    fault: Option<(Failing, FileError, Option<u32>)>,
    /// How many more changes are performed before everything is held back.
    changes_left: Option<u32>,
    /// Held back, not performed.
    held: VecDeque<(Ticket, FileOp)>,
    /// Changes performed so far.
    pub(crate) changes: u32,
}

const fn is_change(op: &FileOp) -> bool {
    !matches!(op, FileOp::List { .. } | FileOp::Length { .. } | FileOp::Read { .. })
}

impl Failing {
    fn hits(self, op: &FileOp) -> bool {
        match self {
            Self::Journal => matches!(op, FileOp::Write { lane: Lane::Journal, .. }),
            Self::Data => {
                matches!(op, FileOp::Write { lane: Lane::Data, .. } | FileOp::Allocate { .. })
            }
            Self::Syncs => op.lane() == Lane::Sync,
            Self::Reads => matches!(op, FileOp::Read { .. }),
        }
    }
}

impl Files {
    /// From now on these operations fail, `times` or until [`Files::mend`].
    pub(crate) fn fail(&mut self, what: Failing, error: FileError, times: Option<u32>) {
        self.fault = Some((what, error, times));
    }

    /// Takes the last byte of a file, as damage does.
    pub(crate) fn cut(&mut self, path: &str) {
        self.stored.0.get_mut(path).expect("the file is there").pop();
    }

    /// Removes all files whose names end so.
    pub(crate) fn remove_all(&mut self, end: &str) {
        self.stored.0.retain(|path, _| !path.ends_with(end));
    }

    /// A file's length, 0 when there is none.
    pub(crate) fn length(&self, path: &str) -> usize {
        self.stored.0.get(path).map_or(0, Vec::len)
    }

    /// Whether there is a file in a folder.
    pub(crate) fn has_folder(&self, folder: &str) -> bool {
        let prefix = alloc::format!("{folder}/");
        self.stored.0.keys().any(|path| path.starts_with(&prefix))
    }

    /// Nothing fails any more.
    pub(crate) fn mend(&mut self) {
        self.fault = None;
    }

    /// Performs so many more changes, and then holds everything back.
    pub(crate) fn hold_after(&mut self, changes: u32) {
        self.changes_left = Some(changes);
    }

    /// Of the first write to the journal that is held back, so many bytes arrive.
    pub(crate) fn tear(&mut self, bytes: usize) {
        let held = self.held.iter().find(|(_, op)| Failing::Journal.hits(op));
        if let Some((_, FileOp::Write { path, position, data, sync, lane })) = held.cloned() {
            let mut all: Vec<u8> = data.concat();
            all.truncate(bytes);
            let data = alloc::vec![Bytes::from(all)];
            self.stored.perform(FileOp::Write { path, position, data, sync, lane }).unwrap();
        }
    }

    /// The computer is switched off: what is held back is lost, and so are the faults.
    pub(super) fn switched_off(mut self) -> Self {
        self.held.clear();
        self.changes_left = None;
        self.fault = None;
        self.changes = 0;
        self
    }

    /// What was held back, to be submitted again; nothing is held from now on.
    pub(super) fn release(&mut self) -> VecDeque<(Ticket, FileOp)> {
        self.changes_left = None;
        core::mem::take(&mut self.held)
    }

    /// Performs an operation, or holds it back (`None`).
    pub(super) fn submit(&mut self, ticket: Ticket, op: FileOp) -> Option<FileResult> {
        if self.changes_left == Some(0) || !self.held.is_empty() {
            self.held.push_back((ticket, op));
            return None;
        }
        if let Some((_, error, times)) = self.fault.as_mut().filter(|(what, ..)| what.hits(&op)) {
            let error = *error;
            match times {
                Some(0) => self.fault = None,
                Some(times) => {
                    *times -= 1;
                    return Some(Err(error));
                }
                None => return Some(Err(error)),
            }
        }
        if is_change(&op) {
            self.changes += 1;
            if let Some(left) = &mut self.changes_left {
                *left -= 1;
            }
        }
        Some(self.stored.perform(op))
    }

    /// The files whose path holds this text.
    pub(crate) fn paths(&self, part: &str) -> Vec<String> {
        self.stored.0.keys().filter(|path| path.contains(part)).cloned().collect()
    }

    /// Changes every file whose path holds this text; `None` removes it. How many there were.
    pub(crate) fn tamper(
        &mut self,
        part: &str,
        change: impl Fn(Vec<u8>) -> Option<Vec<u8>>,
    ) -> usize {
        let paths = self.paths(part);
        for path in &paths {
            let bytes = self.stored.0.remove(path).unwrap();
            if let Some(bytes) = change(bytes) {
                self.stored.0.insert(path.clone(), bytes);
            }
        }
        paths.len()
    }

    /// Adds a file, or replaces it.
    pub(crate) fn put(&mut self, path: &str, bytes: Vec<u8>) {
        self.stored.0.insert(path.into(), bytes);
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Vec<u8>> {
        self.stored.0.get(path)
    }
}
