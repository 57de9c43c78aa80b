//! Many files and folders made durable at once.
//!
//! A few are synced one by one. For many there is `syncfs`, where it is known to do what an `fsync`
//! of each would do, and to tell of every write-back error since the file system was opened here
//! (Linux 5.8, for overlays 5.12; of local file systems). Elsewhere each is synced, several at a
//! time, so that a journaling file system commits them together.
//!
//! `syncfs` writes what other processes have in the page cache of that file system, too, and an
//! error of theirs counts as ours: the safe side.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Up to so many files and folders are synced one by one.
const ONE_BY_ONE_MAX: usize = 8;
/// Threads that sync, where there is no `syncfs`.
const THREADS: usize = 16;

/// Local file systems whose `syncfs` waits until all of it is on the device, by `statfs`'s type.
#[cfg(target_os = "linux")]
const TRUSTED: [u32; 6] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683E, // btrfs
    0xF2F5_2010, // f2fs
    0x0102_1994, // tmpfs: nothing of it is durable either way
    0x794C_7630, // overlayfs: passes it on to the file system below
];

/// The file system of a data directory.
#[derive(Debug)]
pub(super) struct FileSystem {
    /// Held from the start: errors since then are told to it. `None` where `syncfs` is not to be
    /// relied on.
    root: Option<File>,
}

impl FileSystem {
    /// The file system that `root` is on.
    pub(super) fn of(root: &Path) -> Self {
        let root = File::open(root).ok().filter(is_trusted);
        tracing::debug!(syncfs = root.is_some(), "how a checkpoint is made durable");
        Self { root }
    }

    /// Makes these durable. One that is absent is no error.
    pub(super) fn sync(&self, places: &[PathBuf]) -> io::Result<()> {
        match &self.root {
            _ if places.len() <= ONE_BY_ONE_MAX => places.iter().try_for_each(|place| sync(place)),
            Some(root) => syncfs(root),
            None => sync_each(places),
        }
    }
}

#[cfg(target_os = "linux")]
fn syncfs(root: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(root)?)
}

#[cfg(not(target_os = "linux"))]
fn syncfs(_root: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn is_trusted(root: &File) -> bool {
    let Ok(version) = std::fs::read_to_string("/proc/sys/kernel/osrelease") else { return false };
    let known = rustix::fs::fstatfs(root)
        .is_ok_and(|about| TRUSTED.iter().any(|kind| about.f_type as u64 == u64::from(*kind)));
    known && parse_version(&version).is_some_and(|version| version >= (5, 12))
}

#[cfg(not(target_os = "linux"))]
fn is_trusted(_root: &File) -> bool {
    false
}

/// The first two numbers of a kernel's release.
#[cfg(target_os = "linux")]
fn parse_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn sync_each(places: &[PathBuf]) -> io::Result<()> {
    std::thread::scope(|scope| {
        let share = places.len().div_ceil(THREADS).max(1);
        let threads: Vec<_> = places
            .chunks(share)
            .map(|places| scope.spawn(|| places.iter().try_for_each(|place| sync(place))))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
            .fold(Ok(()), io::Result::and)
    })
}

fn sync(place: &Path) -> io::Result<()> {
    match File::open(place) {
        Ok(file) => file.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_folders_and_what_is_absent_are_synced_either_way() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut places: Vec<PathBuf> =
            (0..40).map(|number| dir.path().join(number.to_string())).collect();
        for place in &places {
            std::fs::write(place, b"x").expect("a file");
        }
        places.push(dir.path().to_owned());
        places.push(dir.path().join("absent"));
        let with = FileSystem::of(dir.path());
        let without = FileSystem { root: None };
        for (file_system, count) in [(&with, 42), (&without, 42), (&with, 3), (&with, 0)] {
            file_system.sync(&places[..count]).expect("synced");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn kernel_releases_are_read() {
        assert_eq!(parse_version("5.8.0-generic"), Some((5, 8)));
        assert_eq!(parse_version("6.18.44-fc-v657\n"), Some((6, 18)));
        assert_eq!(parse_version("x"), None);
    }
}
