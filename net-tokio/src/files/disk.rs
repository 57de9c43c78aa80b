//! The real disk: a locked data directory and the operations on it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use verdict_core::io::{FileError, FileOp, FileOutcome, FilePath, FileResult, FileRun};

use super::handles::Handles;
use super::sync_all::FileSystem;
use super::{Files, OpenRun};

/// The file in a data directory that says, by the system's lock on it, that a broker is using it.
const LOCK_FILE: &str = ".lock";

/// Buffers per system call; the kernel takes no more.
const IO_VECTORS_MAX: usize = 1_024;

/// Runs that are open for sending at most: each may be a file that only it keeps open, and a slow
/// peer may keep it long.
const OPEN_RUNS_MAX: usize = 256;

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another process has it.
    #[error("the data directory {} is in use by another broker", .0.display())]
    Locked(PathBuf),
    /// It cannot be created, opened or locked.
    #[error("the data directory {} cannot be used: {error}", path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// A data directory that is ours until this value is dropped.
#[derive(Debug)]
pub struct DataDir {
    root: PathBuf,
    /// Held, not read: the system releases the lock when the file is closed, also after a kill.
    _lock: File,
}

impl DataDir {
    /// Creates the directory when it is absent, and locks it.
    ///
    /// # Errors
    /// [`DataDirError::Locked`] when another process has it.
    pub fn open(root: &Path) -> Result<Self, DataDirError> {
        let unusable = |error| DataDirError::Unusable { path: root.to_owned(), error };
        fs::create_dir_all(root).map_err(unusable)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(root.join(LOCK_FILE))
            .map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { root: root.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DataDirError::Locked(root.to_owned())),
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }
}

/// Performs operations below a data directory.
pub struct DiskFiles {
    dir: DataDir,
    handles: Handles,
    file_system: FileSystem,
    /// Each [`OpenRun`] holds one.
    open_runs: Arc<()>,
}

impl DiskFiles {
    /// Operations below `dir`, which stays locked as long as this value lives.
    #[must_use]
    pub fn new(dir: DataDir) -> Self {
        let file_system = FileSystem::of(&dir.root);
        Self { dir, handles: Handles::default(), file_system, open_runs: Arc::new(()) }
    }

    /// The place of a path on the disk. Refuses one that would leave the data directory; the core
    /// builds its paths from checked names, so that is a second fence.
    fn place(&self, path: &str) -> io::Result<PathBuf> {
        let inside = path.is_empty()
            || path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains('\0'));
        if inside {
            Ok(self.dir.root.join(path))
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "a path outside the data directory"))
        }
    }

    fn file(&self, path: &FilePath, create: bool) -> io::Result<Arc<File>> {
        let place = self.place(path.as_str())?;
        self.handles.get(path.as_str(), || {
            OpenOptions::new().read(true).write(true).create(create).truncate(false).open(place)
        })
    }

    fn list(&self, folder: &FilePath) -> io::Result<FileOutcome> {
        let entries = match fs::read_dir(self.place(folder.as_str())?) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(FileOutcome::Names(Vec::new()));
            }
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            // A name that is not UTF-8 is none of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.retain(|name| !(folder.as_str().is_empty() && name == LOCK_FILE));
        names.sort_unstable();
        Ok(FileOutcome::Names(names))
    }

    fn length(&self, path: &FilePath) -> io::Result<FileOutcome> {
        match fs::metadata(self.place(path.as_str())?) {
            Ok(metadata) => Ok(FileOutcome::Length(Some(metadata.len()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(FileOutcome::Length(None)),
            Err(error) => Err(error),
        }
    }

    fn read(&self, path: &FilePath, position: u64, length: u32) -> io::Result<FileOutcome> {
        let file = self.file(path, false)?;
        // What is asked may be far more than there is; memory follows what there is.
        let there = file.metadata()?.len().saturating_sub(position).min(u64::from(length));
        let there = usize::try_from(there).unwrap_or(usize::MAX);
        let mut bytes = Vec::with_capacity(there);
        while bytes.len() < there {
            let at = position + bytes.len() as u64;
            match rustix::io::pread(&*file, spare_capacity(&mut bytes), at) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        bytes.truncate(there);
        Ok(FileOutcome::Bytes(bytes.into()))
    }

    fn write(&self, path: &FilePath, at: u64, data: &[Bytes], sync: bool) -> io::Result<()> {
        let file = self.file(path, true)?;
        write_all_vectored_at(&file, data, at)?;
        if sync { file.sync_data() } else { Ok(()) }
    }

    fn allocate(&self, path: &FilePath, length: u64) -> io::Result<()> {
        let file = self.file(path, true)?;
        match rustix::fs::fallocate(&*file, FallocateFlags::empty(), 0, length) {
            Ok(()) => Ok(()),
            // The file system cannot reserve; then the length alone has to do.
            Err(Errno::OPNOTSUPP) => {
                if file.metadata()?.len() < length {
                    file.set_len(length)
                } else {
                    Ok(())
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    fn rename(&self, source: &FilePath, target: &FilePath) -> io::Result<()> {
        let renamed = fs::rename(self.place(source.as_str())?, self.place(target.as_str())?);
        self.handles.forget(source.as_str());
        self.handles.forget(target.as_str());
        renamed
    }

    fn try_perform(&self, op: &FileOp) -> io::Result<FileOutcome> {
        match op {
            FileOp::List { folder } => return self.list(folder),
            FileOp::Length { path } => return self.length(path),
            FileOp::Read { path, position, length } => return self.read(path, *position, *length),
            FileOp::Write { path, position, data, sync, .. } => {
                self.write(path, *position, data, *sync)?;
            }
            FileOp::Sync { path } => self.file(path, false)?.sync_data()?,
            FileOp::SyncFolder { folder } => {
                File::open(self.place(folder.as_str())?)?.sync_all()?;
            }
            FileOp::SyncAll { files, folders } => {
                let places: Vec<PathBuf> = files
                    .iter()
                    .chain(folders)
                    .map(|path| self.place(path.as_str()))
                    .collect::<io::Result<_>>()?;
                self.file_system.sync(&places)?;
            }
            FileOp::Truncate { path, length } => self.file(path, false)?.set_len(*length)?,
            FileOp::Allocate { path, length } => self.allocate(path, *length)?,
            FileOp::Rename { source, target } => self.rename(source, target)?,
            FileOp::Remove { path } => {
                let removed = absent_is_fine(fs::remove_file(self.place(path.as_str())?));
                // After it: another lane may have opened the file up to then.
                self.handles.forget(path.as_str());
                removed?;
            }
            FileOp::CreateFolder { folder } => match fs::create_dir(self.place(folder.as_str())?) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error);
                }
                _ => {}
            },
            FileOp::RemoveFolder { folder } => {
                let removed = absent_is_fine(fs::remove_dir_all(self.place(folder.as_str())?));
                self.handles.forget_folder(folder.as_str());
                removed?;
            }
        }
        Ok(FileOutcome::Done)
    }
}

impl Files for DiskFiles {
    fn perform(&self, op: FileOp) -> FileResult {
        self.try_perform(&op).map_err(|error| {
            let kind = file_error(&error);
            if kind != FileError::NotFound {
                tracing::error!(op = describe(&op), %error, "file operation failed");
            }
            kind
        })
    }

    fn open(&self, run: &FileRun) -> Option<OpenRun> {
        if Arc::strong_count(&self.open_runs) > OPEN_RUNS_MAX {
            return None;
        }
        let path = run.path.as_str();
        // One that is opened here is not kept for others: its removal may be under way.
        let file = match self.handles.open_one(path) {
            Some(file) => file,
            None => Arc::new(File::open(self.place(path).ok()?).ok()?),
        };
        let (position, length) = (run.position, run.length);
        Some(OpenRun { file, position, length, _open: Arc::clone(&self.open_runs) })
    }
}

/// `pwritev` until everything is written.
fn write_all_vectored_at(file: &File, data: &[Bytes], mut at: u64) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> =
        data.iter().filter(|part| !part.is_empty()).map(|part| IoSlice::new(part)).collect();
    let mut rest = &mut slices[..];
    while !rest.is_empty() {
        let window = &rest[..rest.len().min(IO_VECTORS_MAX)];
        match rustix::io::pwritev(file, window, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                at += written as u64;
                IoSlice::advance_slices(&mut rest, written);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn file_error(error: &io::Error) -> FileError {
    match error.kind() {
        io::ErrorKind::NotFound => FileError::NotFound,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FileError::NoSpace,
        _ => FileError::Io,
    }
}

/// The operation for a log line: its kind and place, never its data.
fn describe(op: &FileOp) -> String {
    match op {
        FileOp::List { folder } => format!("list {folder}"),
        FileOp::Length { path } => format!("length of {path}"),
        FileOp::Read { path, position, length } => format!("read {length} at {position} of {path}"),
        FileOp::Write { path, position, sync, .. } => {
            format!("write at {position} of {path}, sync {sync}")
        }
        FileOp::Sync { path } => format!("sync {path}"),
        FileOp::SyncFolder { folder } => format!("sync folder {folder}"),
        FileOp::SyncAll { files, folders } => {
            format!("sync {} files and {} folders", files.len(), folders.len())
        }
        FileOp::Truncate { path, length } => format!("truncate {path} to {length}"),
        FileOp::Allocate { path, length } => format!("allocate {length} for {path}"),
        FileOp::Rename { source, target } => format!("rename {source} to {target}"),
        FileOp::Remove { path } => format!("remove {path}"),
        FileOp::CreateFolder { folder } => format!("create folder {folder}"),
        FileOp::RemoveFolder { folder } => format!("remove folder {folder}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verdict_core::io::Lane;

    #[test]
    fn a_second_broker_on_the_same_directory_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let first = DataDir::open(dir.path()).expect("the first one");
        assert!(matches!(DataDir::open(dir.path()), Err(DataDirError::Locked(_))));
        drop(first);
        DataDir::open(dir.path()).expect("free again");
    }

    #[test]
    fn a_write_of_more_parts_than_the_kernel_takes_at_once_is_whole() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let files = DiskFiles::new(DataDir::open(dir.path()).expect("a data directory"));
        let data: Vec<Bytes> = (0..3_000_u32).map(|i| i.to_be_bytes().to_vec().into()).collect();
        let path = FilePath::from("parts");
        let write = FileOp::Write {
            path: path.clone(),
            position: 5,
            data: data.clone(),
            sync: true,
            lane: Lane::Data,
        };
        assert_eq!(files.perform(write), Ok(FileOutcome::Done));
        let read = FileOp::Read { path, position: 5, length: u32::MAX };
        assert_eq!(files.perform(read), Ok(FileOutcome::Bytes(data.concat().into())));
    }

    #[test]
    fn a_path_cannot_leave_the_data_directory() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let files = DiskFiles::new(DataDir::open(dir.path()).expect("a data directory"));
        for path in ["../x", "/etc/passwd", "a/../../b", "a//b", "."] {
            let op = FileOp::Length { path: FilePath::from(path) };
            assert_eq!(files.perform(op), Err(FileError::Io), "{path}");
        }
    }

    #[test]
    fn a_full_disk_is_told_apart_from_a_broken_one() {
        assert_eq!(file_error(&Errno::NOSPC.into()), FileError::NoSpace);
        assert_eq!(file_error(&Errno::DQUOT.into()), FileError::NoSpace);
        assert_eq!(file_error(&Errno::NOENT.into()), FileError::NotFound);
        assert_eq!(file_error(&Errno::IO.into()), FileError::Io);
    }
}
