//! What a sync covers: the state of its files and folders when it was asked for.

use verdict_core::io::{FileError, FileOp, FilePath};

use super::SimDisk;
use super::file::Unsynced;
use super::names::Inode;
use crate::choices::{Choices, Label, Source};

/// Whether an operation does nothing but make durable.
pub(super) const fn is_sync(op: &FileOp) -> bool {
    matches!(op, FileOp::Sync { .. } | FileOp::SyncFolder { .. } | FileOp::SyncAll { .. })
}

/// A moment of the disk, as far as a sync is about it.
#[derive(Clone, Debug, Default)]
pub(super) struct AsOf {
    /// Changes of names from this one on are later.
    pub(super) names: u64,
    files: Vec<(Inode, Unsynced)>,
}

impl SimDisk {
    /// What an operation would cover that is asked for now.
    pub(super) fn as_of(&self, op: &FileOp) -> AsOf {
        let paths = match op {
            FileOp::Sync { path } => std::slice::from_ref(path),
            FileOp::SyncAll { files, .. } => files,
            _ => &[],
        };
        let files = paths.iter().filter_map(|path| {
            let inode = *self.cached.files.get(path)?;
            Some((inode, self.inodes.get(&inode.0)?.unsynced()))
        });
        AsOf { names: self.next_change, files: files.collect() }
    }

    /// Does what a sync is to do.
    pub(super) fn sync(&mut self, op: &FileOp, as_of: AsOf) -> Result<(), FileError> {
        let folders: &[FilePath] = match op {
            FileOp::Sync { path } => {
                self.contents(path)?;
                &[]
            }
            FileOp::SyncFolder { folder } => std::slice::from_ref(folder),
            FileOp::SyncAll { folders, .. } => folders,
            _ => &[],
        };
        for folder in folders {
            self.sync_folder(folder, as_of.names);
        }
        self.sync_files(as_of);
        Ok(())
    }

    fn sync_files(&mut self, as_of: AsOf) {
        for (inode, then) in as_of.files {
            if let Some(contents) = self.inodes.get_mut(&inode.0) {
                contents.sync_as_of(&then);
            }
        }
    }

    /// Some of the files were synced, and of the others nobody knows: their data is gone although
    /// the pages look clean.
    pub(super) fn fail_sync(&mut self, as_of: &AsOf, choices: &mut Source) {
        let alone = as_of.files.len() == 1;
        for (inode, then) in &as_of.files {
            let Some(contents) = self.inodes.get_mut(&inode.0) else { continue };
            if !alone && choices.below(Label::PartialSync, 2) == 1 {
                contents.sync_as_of(then);
            } else {
                contents.fail_sync();
            }
        }
    }

    /// Makes the changes in a folder durable that came before `until`.
    fn sync_folder(&mut self, folder: &FilePath, until: u64) {
        let changes = self.changes.iter().filter(|(at, _)| *at < until);
        // The entries of a folder made anew are those of the new one: its removal, if it is still
        // to be made durable, comes before them, or it would take them along later.
        let made_anew = changes.clone().any(|(_, change)| change.removes(folder));
        let durable = &mut self.durable;
        let mut unnamed = false;
        self.changes.retain(|(at, change)| {
            let synced =
                *at < until && (change.is_in(folder) || (made_anew && change.is_of(folder)));
            if synced {
                durable.apply(change);
                unnamed |= change.unnames();
            }
            !synced
        });
        if unnamed {
            self.forget_unnamed();
        }
    }
}
