//! Open files, the least recently used closed first.
//!
//! Closing a handle loses no error: since Linux 4.17 a write-back error that nobody was told of
//! is reported to the next handle that syncs the file.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

/// How many files stay open. Two journals, and a log and its indexes for a dozen partitions.
const OPEN_FILES_MAX: usize = 64;

/// A bounded set of open files by path.
#[derive(Default)]
pub(super) struct Handles {
    /// The most recently used last. Short enough that a scan is cheaper than a map.
    open: Mutex<Vec<(Box<str>, Arc<File>)>>,
}

impl Handles {
    /// The open file of a path, opened by `open` when there is none yet.
    pub(super) fn get(
        &self,
        path: &str,
        open: impl FnOnce() -> std::io::Result<File>,
    ) -> std::io::Result<Arc<File>> {
        let mut files = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = files.iter().rposition(|(name, _)| **name == *path) {
            let entry = files.remove(index);
            let file = Arc::clone(&entry.1);
            files.push(entry);
            return Ok(file);
        }
        let file = Arc::new(open()?);
        if files.len() >= OPEN_FILES_MAX {
            files.remove(0);
        }
        files.push((path.into(), Arc::clone(&file)));
        Ok(file)
    }

    /// The file of a path if it is open and that can be seen without waiting.
    pub(super) fn open_one(&self, path: &str) -> Option<Arc<File>> {
        let files = self.open.try_lock().ok()?;
        files.iter().rev().find(|(name, _)| **name == *path).map(|(_, file)| Arc::clone(file))
    }

    /// Forgets a path that no longer names the file it did.
    pub(super) fn forget(&self, path: &str) {
        let mut files = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|(name, _)| **name != *path);
    }

    /// Forgets every file below a folder.
    pub(super) fn forget_folder(&self, folder: &str) {
        let mut files = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|(name, _)| {
            !name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        });
    }
}
