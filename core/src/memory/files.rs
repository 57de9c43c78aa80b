//! Files in memory. What is written is durable at once.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use bytes::Bytes;

use crate::io::{FileError, FileOp, FileOutcome, FileResult};

/// Whole files by their path below the data directory.
#[derive(Clone, Debug, Default)]
pub struct Files(pub(crate) BTreeMap<String, Vec<u8>>);

/// A position of a file as an index into it.
fn index(position: u64) -> usize {
    usize::try_from(position).expect("a file in memory is no larger than memory")
}

impl Files {
    /// Bytes of memory that the contents take, room to grow included.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.0.values().map(Vec::capacity).sum()
    }

    /// Performs one operation.
    ///
    /// # Errors
    ///
    /// [`FileError::NotFound`] where an operation needs a file that is not there.
    pub fn perform(&mut self, op: FileOp) -> FileResult {
        match op {
            FileOp::List { folder } => return Ok(FileOutcome::Names(self.list(folder.as_str()))),
            FileOp::Length { path } => {
                let length = self.0.get(path.as_str()).map(|bytes| bytes.len() as u64);
                return Ok(FileOutcome::Length(length));
            }
            FileOp::Read { path, position, length } => {
                let bytes = self.0.get(path.as_str()).ok_or(FileError::NotFound)?;
                let start = index(position).min(bytes.len());
                let end = start.saturating_add(length as usize).min(bytes.len());
                return Ok(FileOutcome::Bytes(Bytes::copy_from_slice(&bytes[start..end])));
            }
            FileOp::Write { path, position, data, .. } => {
                self.write(path.as_str(), index(position), &data);
            }
            FileOp::Truncate { path, length } | FileOp::Allocate { path, length } => {
                self.0.entry(path.as_str().into()).or_default().resize(index(length), 0);
            }
            FileOp::Rename { source, target } => {
                let bytes = self.0.remove(source.as_str()).ok_or(FileError::NotFound)?;
                self.0.insert(target.as_str().into(), bytes);
            }
            FileOp::Remove { path } => {
                self.0.remove(path.as_str());
            }
            FileOp::RemoveFolder { folder } => {
                let prefix = format!("{folder}/");
                self.0.retain(|path, _| !path.starts_with(&prefix));
            }
            FileOp::Sync { .. }
            | FileOp::SyncFolder { .. }
            | FileOp::SyncAll { .. }
            | FileOp::CreateFolder { .. } => {}
        }
        Ok(FileOutcome::Done)
    }

    /// Does something to every file, in the order of their paths; those for which it is false are
    /// deleted. For what people and disks do while no broker runs.
    pub fn change(&mut self, mut change: impl FnMut(&str, &mut Vec<u8>) -> bool) {
        self.0.retain(|path, bytes| change(path, bytes));
    }

    fn write(&mut self, path: &str, mut at: usize, data: &[Bytes]) {
        let file = self.0.entry(path.into()).or_default();
        for part in data {
            let end = at + part.len();
            file.resize(file.len().max(end), 0);
            file[at..end].copy_from_slice(part);
            at = end;
        }
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let below = self.0.range(prefix.clone()..).take_while(|(p, _)| p.starts_with(&prefix));
        let mut names: Vec<String> = below
            .map(|(path, _)| path[prefix.len()..].split('/').next().unwrap_or_default().to_string())
            .collect();
        names.dedup();
        names
    }
}
