//! The data directory: one trait, the real disk, and a disk in memory that can lose power.

mod disk;
mod handles;
mod memory;
mod sync_all;

use std::time::Duration;

use verdict_core::io::{FileOp, FileResult};

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
}
