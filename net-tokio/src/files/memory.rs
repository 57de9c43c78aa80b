//! A disk in memory that outlives the brokers on it and can lose power.
//!
//! It tells what was written from what was made durable, for bytes (until `Sync`) and for names
//! (until `SyncFolder`). Each [`MemoryDisk::boot`] begins an incarnation; operations of an older
//! one fail and change nothing, so that what a killed broker's destructors still try is no ghost
//! write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use verdict_core::io::{FileError, FileOp, FileOutcome, FileResult};

use super::Files;

/// Names a file's contents, whatever the file is called.
type Inode = u64;

/// What a loss of power leaves of that which was never synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerLoss {
    /// Nothing: the strictest disk.
    LosesUnsynced,
    /// Everything: what a killed process leaves on a machine that goes on.
    KeepsUnsynced,
}

/// The disk. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    incarnation: u64,
    next_inode: Inode,
    contents: BTreeMap<Inode, Contents>,
    live: Names,
    durable: Names,
}

/// The names of a disk: files and folders.
#[derive(Clone, Debug, Default)]
struct Names {
    files: BTreeMap<String, Inode>,
    folders: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Contents {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// What turns `durable` into `live`.
    pending: Vec<Change>,
}

#[derive(Debug)]
enum Change {
    Write { position: usize, data: Bytes },
    Resize { length: usize },
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write { position, data } => {
                let end = position + data.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*position..end].copy_from_slice(data);
            }
            Self::Resize { length } => bytes.resize(*length, 0),
        }
    }
}

impl Contents {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.live);
        self.pending.push(change);
    }

    fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.durable);
        }
    }
}

impl MemoryDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an incarnation: from here on, only what this returns can use the disk. `latency_us`
    /// says how long an operation takes to begin, in µs; it is asked once for each.
    #[must_use]
    pub fn boot(&self, latency_us: fn() -> u64) -> MemoryFiles {
        let mut state = self.state();
        state.incarnation += 1;
        MemoryFiles { disk: self.clone(), incarnation: state.incarnation, latency_us }
    }

    /// Ends the current incarnation, and takes back what was not durable when power is lost.
    pub fn crash(&self, loss: PowerLoss) {
        let mut state = self.state();
        state.incarnation += 1;
        if loss == PowerLoss::KeepsUnsynced {
            return;
        }
        state.live = state.durable.clone();
        for contents in state.contents.values_mut() {
            contents.live.clone_from(&contents.durable);
            contents.pending.clear();
        }
    }
}

/// One incarnation's way to the disk.
#[derive(Clone, Debug)]
pub struct MemoryFiles {
    disk: MemoryDisk,
    incarnation: u64,
    latency_us: fn() -> u64,
}

impl Files for MemoryFiles {
    fn perform(&self, op: FileOp) -> FileResult {
        let mut state = self.disk.state();
        if state.incarnation != self.incarnation {
            return Err(FileError::Io);
        }
        state.perform(op)
    }

    fn latency(&self, _op: &FileOp) -> Option<Duration> {
        Some(Duration::from_micros((self.latency_us)()))
    }
}

impl State {
    fn perform(&mut self, op: FileOp) -> FileResult {
        match op {
            FileOp::List { folder } => return Ok(FileOutcome::Names(self.list(folder.as_str()))),
            FileOp::Length { path } => {
                let length = self.find(path.as_str()).map(|contents| contents.live.len() as u64);
                return Ok(FileOutcome::Length(length.ok()));
            }
            FileOp::Read { path, position, length } => {
                let live = &self.find(path.as_str())?.live;
                let start = place(position)?.min(live.len());
                let end = start.saturating_add(place(u64::from(length))?).min(live.len());
                return Ok(FileOutcome::Bytes(Bytes::copy_from_slice(&live[start..end])));
            }
            FileOp::Write { path, position, data, sync, .. } => {
                let mut position = place(position)?;
                let contents = self.find_or_create(path.as_str())?;
                for data in data {
                    let length = data.len();
                    contents.change(Change::Write { position, data });
                    position += length;
                }
                if sync {
                    contents.sync();
                }
            }
            FileOp::Sync { path } => self.find(path.as_str())?.sync(),
            FileOp::SyncFolder { folder } => self.sync_folder(folder.as_str()),
            FileOp::SyncAll { files, folders } => {
                for path in files {
                    // One that is absent is no error.
                    if let Ok(contents) = self.find(path.as_str()) {
                        contents.sync();
                    }
                }
                for folder in folders {
                    self.sync_folder(folder.as_str());
                }
            }
            FileOp::Truncate { path, length } => {
                let length = place(length)?;
                self.find(path.as_str())?.change(Change::Resize { length });
            }
            FileOp::Allocate { path, length } => {
                let length = place(length)?;
                let contents = self.find_or_create(path.as_str())?;
                if contents.live.len() < length {
                    contents.change(Change::Resize { length });
                }
            }
            FileOp::Rename { source, target } => {
                let inode = self.live.files.remove(source.as_str()).ok_or(FileError::NotFound)?;
                self.live.files.insert(target.as_str().to_owned(), inode);
            }
            FileOp::Remove { path } => {
                self.live.files.remove(path.as_str());
            }
            FileOp::CreateFolder { folder } => {
                self.live.folders.insert(folder.as_str().to_owned());
            }
            FileOp::RemoveFolder { folder } => {
                let folder = folder.as_str();
                self.live.files.retain(|path, _| !is_below(path, folder));
                self.live.folders.retain(|path| path != folder && !is_below(path, folder));
            }
        }
        Ok(FileOutcome::Done)
    }

    fn find(&mut self, path: &str) -> Result<&mut Contents, FileError> {
        let inode = self.live.files.get(path).ok_or(FileError::NotFound)?;
        Ok(self.contents.get_mut(inode).expect("a name's contents live as long as the disk"))
    }

    fn find_or_create(&mut self, path: &str) -> Result<&mut Contents, FileError> {
        let folder = parent(path);
        if !folder.is_empty() && !self.live.folders.contains(folder) {
            return Err(FileError::NotFound);
        }
        let next = &mut self.next_inode;
        let inode = *self.live.files.entry(path.to_owned()).or_insert_with(|| {
            *next += 1;
            *next
        });
        Ok(self.contents.entry(inode).or_default())
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let files = self.live.files.keys();
        let mut names: Vec<String> = files
            .chain(&self.live.folders)
            .filter(|path| !path.is_empty() && parent(path) == folder)
            .map(|path| path.rsplit('/').next().unwrap_or(path).to_owned())
            .collect();
        names.sort_unstable();
        names
    }

    fn sync_folder(&mut self, folder: &str) {
        let Names { files, folders } = &mut self.durable;
        files.retain(|path, _| parent(path) != folder);
        folders.retain(|path| parent(path) != folder);
        let live = self.live.files.iter().filter(|(path, _)| parent(path) == folder);
        files.extend(live.map(|(path, inode)| (path.clone(), *inode)));
        folders.extend(self.live.folders.iter().filter(|path| parent(path) == folder).cloned());
    }
}

fn place(position: u64) -> Result<usize, FileError> {
    usize::try_from(position).map_err(|_| FileError::NoSpace)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use verdict_core::io::{FilePath, Lane};

    use super::*;

    fn write(path: &str, text: &'static str, sync: bool) -> FileOp {
        FileOp::Write {
            path: FilePath::from(path),
            position: 0,
            data: vec![Bytes::from_static(text.as_bytes())],
            sync,
            lane: Lane::Data,
        }
    }

    fn read(files: &MemoryFiles, path: &str) -> Option<Vec<u8>> {
        let op = FileOp::Read { path: FilePath::from(path), position: 0, length: 100 };
        match files.perform(op) {
            Ok(FileOutcome::Bytes(bytes)) => Some(bytes.to_vec()),
            _ => None,
        }
    }

    #[test]
    fn a_loss_of_power_takes_unsynced_bytes_and_names() {
        let table = [
            (false, false, None),
            (true, false, None),
            (false, true, Some(vec![])),
            (true, true, Some(b"new".to_vec())),
        ];
        for (sync, sync_folder, left) in table {
            let disk = MemoryDisk::new();
            let files = disk.boot(|| 0);
            files.perform(write("log", "new", sync)).expect("a write");
            if sync_folder {
                files.perform(FileOp::SyncFolder { folder: "".into() }).expect("a sync");
            }
            disk.crash(PowerLoss::LosesUnsynced);
            assert_eq!(read(&disk.boot(|| 0), "log"), left, "sync {sync}, folder {sync_folder}");
        }
    }

    #[test]
    fn a_killed_process_leaves_what_it_wrote() {
        let disk = MemoryDisk::new();
        disk.boot(|| 0).perform(write("log", "new", false)).expect("a write");
        disk.crash(PowerLoss::KeepsUnsynced);
        assert_eq!(read(&disk.boot(|| 0), "log"), Some(b"new".to_vec()));
    }

    #[test]
    fn a_dead_incarnation_cannot_write() {
        let disk = MemoryDisk::new();
        let dead = disk.boot(|| 0);
        disk.crash(PowerLoss::KeepsUnsynced);
        assert_eq!(dead.perform(write("log", "ghost", true)), Err(FileError::Io));
        assert_eq!(read(&disk.boot(|| 0), "log"), None);
    }
}
