//! The names on a simulated disk: durable only after their folder was synced.

use std::collections::{BTreeMap, BTreeSet};

use verdict_core::io::FilePath;

use crate::choices::{Choices, Label};

/// Which contents a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Inode(pub(super) u32);

/// The names as of some moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) files: BTreeMap<FilePath, Inode>,
    pub(super) folders: BTreeSet<FilePath>,
}

/// A change of names that no sync of its folder has made durable.
#[derive(Clone, Debug)]
pub(super) enum NameChange {
    Create { path: FilePath, inode: Inode },
    Rename { source: FilePath, target: FilePath },
    Remove { path: FilePath },
    CreateFolder { folder: FilePath },
    RemoveFolder { folder: FilePath },
}

impl NameChange {
    /// Whether contents may be left without a name by it.
    pub(super) const fn unnames(&self) -> bool {
        matches!(self, Self::Rename { .. } | Self::Remove { .. } | Self::RemoveFolder { .. })
    }

    /// Whether the change is an entry of this folder.
    pub(super) fn is_in(&self, folder: &FilePath) -> bool {
        self.paths().into_iter().flatten().any(|path| path.is_in(folder.as_str()))
    }

    /// Whether the change takes this folder away.
    pub(super) fn removes(&self, folder: &FilePath) -> bool {
        matches!(self, Self::RemoveFolder { folder: gone } if gone == folder)
    }

    /// Whether the change makes this folder or takes it away.
    pub(super) fn is_of(&self, folder: &FilePath) -> bool {
        self.removes(folder)
            || matches!(self, Self::CreateFolder { folder: made } if made == folder)
    }

    fn paths(&self) -> [Option<&FilePath>; 2] {
        match self {
            Self::Create { path, .. } | Self::Remove { path } => [Some(path), None],
            Self::Rename { source, target } => [Some(source), Some(target)],
            Self::CreateFolder { folder } | Self::RemoveFolder { folder } => [Some(folder), None],
        }
    }
}

impl Names {
    pub(super) fn apply(&mut self, change: &NameChange) {
        match change {
            NameChange::Create { path, inode } => {
                self.files.insert(path.clone(), *inode);
            }
            NameChange::Rename { source, target } => {
                if let Some(inode) = self.files.remove(source) {
                    self.files.insert(target.clone(), inode);
                }
            }
            NameChange::Remove { path } => {
                self.files.remove(path);
            }
            NameChange::CreateFolder { folder } => {
                self.folders.insert(folder.clone());
            }
            NameChange::RemoveFolder { folder } => {
                self.folders.remove(folder);
                self.files.retain(|path, _| !path.is_in(folder.as_str()));
            }
        }
    }

    pub(super) fn has_folder(&self, folder: &str) -> bool {
        folder.is_empty() || self.folders.contains(folder)
    }

    /// What a crash makes of the changes that were not durable: each is kept or dropped, and one
    /// that builds on a dropped one is dropped with it.
    pub(super) fn crash(&mut self, changes: &[NameChange], choices: &mut impl Choices) {
        let mut dropped: BTreeSet<&FilePath> = BTreeSet::new();
        for change in changes {
            let builds_on_dropped = change.paths().iter().flatten().any(|path| {
                dropped.contains(path) || dropped.iter().any(|gone| path.is_in(gone.as_str()))
            });
            if builds_on_dropped || choices.below(Label::CrashName, 2) == 0 {
                dropped.extend(change.paths().into_iter().flatten());
            } else {
                self.apply(change);
            }
        }
    }
}
