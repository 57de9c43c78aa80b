//! The data directory: one trait, the real disk, and a disk in memory that can lose power.

mod disk;
mod handles;
mod memory;
mod sync_all;

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use verdict_core::io::{FileOp, FileResult, FileRun};

pub use self::disk::{DataDir, DataDirError, DiskFiles};
pub use self::memory::{MemoryDisk, MemoryFiles, PowerLoss};

/// Performs file operations, from two lanes at once.
pub trait Files: Send + Sync + 'static {
    /// Performs one operation to its end. May block.
    fn perform(&self, op: FileOp) -> FileResult;

    /// How long the lane is to wait before the operation is performed. Only simulated disks have
    /// an opinion; it is what lets a crash fall between two operations.
    fn latency(&self, _op: &FileOp) -> Option<Duration> {
        None
    }

    /// Opens the file that an answer names, so that its bytes can be sent from there. To be called
    /// before the node is given anything else: afterwards the name may be another file's. `None`
    /// where that cannot be done; the answer has the bytes, too.
    fn open(&self, _run: &FileRun) -> Option<OpenRun> {
        None
    }
}

/// Bytes of an open file, which stay what they are whatever becomes of its name.
pub struct OpenRun {
    /// The file.
    pub file: Arc<File>,
    /// Where they begin.
    pub position: u64,
    /// How many they are.
    pub length: u64,
    /// Counts those that are open.
    _open: Arc<()>,
}
