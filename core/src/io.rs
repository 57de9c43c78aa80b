//! What goes into a node and what comes out of it.
//!
//! [`Input`] and [`Output`] are the whole contract between the core and whoever drives it. A file
//! operation is an [`Output::File`] with a [`Ticket`]; its result comes back as
//! [`Input::FileDone`] with the same ticket. The driver keeps the order of operations within a
//! [`Lane`]; across lanes there is none.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use crate::clean::{Job, JobDone};
use crate::cluster::{ClusterInput, ClusterOutput};
use crate::wire::{Request, Response};

/// A client's connection, numbered by the driver and never reused in one life of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// One request, numbered by the driver and never reused in one life of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// One file operation, numbered by the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What the driver tells a node.
#[expect(
    clippy::large_enum_variant,
    reason = "a request is the common input; a box would be an allocation for each"
)]
#[derive(Clone, Debug)]
pub enum Input {
    /// The node may read its files and begin. The first input of every life, once.
    Start,
    /// A request was read, decoded and its record batches were screened.
    Request {
        /// Names the request in its one answer.
        id: RequestId,
        /// Where it came from.
        conn: ConnId,
        /// The version its answer is to be encoded in.
        version: i16,
        /// The client id of its header, "" when there was none.
        client_id: Arc<str>,
        /// What is asked.
        request: Request,
    },
    /// A connection was accepted. A driver that does not say so leaves hosts unknown.
    ConnectionOpened {
        /// The connection.
        conn: ConnId,
        /// Where it comes from, as Kafka writes it: `/127.0.0.1`.
        host: Arc<str>,
    },
    /// A connection is gone; what it still waits for need not be answered.
    ConnectionClosed {
        /// The connection.
        conn: ConnId,
    },
    /// A file operation ended.
    FileDone {
        /// The operation's ticket.
        ticket: Ticket,
        /// How it ended.
        result: FileResult,
    },
    /// A job ended.
    JobDone {
        /// The job's ticket.
        ticket: Ticket,
        /// What [`Job::run`] returned.
        done: JobDone,
    },
    /// A point of time that `next_timeout` named has passed.
    Tick,
    /// News for a member of a cluster.
    Cluster(alloc::boxed::Box<ClusterInput>),
    /// The node is to stop cleanly: a last checkpoint, then [`Output::Stopped`].
    Stop,
}

/// What a node tells its driver.
#[derive(Clone, Debug)]
pub enum Output {
    /// The answer to a request. Exactly one of `Respond`, `Silent` and `Disconnect` per request,
    /// unless its connection closed first.
    Respond {
        /// The request.
        id: RequestId,
        /// Its answer.
        response: Response,
    },
    /// The request is done and, by its protocol, has no answer (Produce with acks=0).
    Silent {
        /// The request.
        id: RequestId,
    },
    /// The request is done and its connection is to be closed without an answer.
    Disconnect {
        /// The request.
        id: RequestId,
        /// For the driver's log: why.
        reason: &'static str,
    },
    /// A file operation to perform.
    File {
        /// Comes back with the result.
        ticket: Ticket,
        /// What to do.
        op: FileOp,
    },
    /// What a member of a cluster asks for; a sole node never does.
    Cluster(ClusterOutput),
    /// Work to be done beside the node: [`Job::run`] on any thread, its result as
    /// [`Input::JobDone`].
    Job {
        /// Comes back with the result.
        ticket: Ticket,
        /// What to do.
        job: Job,
    },
    /// The node serves requests from here on; before, they are answered as loading.
    Ready,
    /// The node is in a state it must not go on from (a failed sync, a damaged log it cannot
    /// serve). It keeps answering with errors; the driver logs the reason.
    Fault {
        /// What happened, for people.
        reason: String,
    },
    /// The last checkpoint is durable; the node wants no further input.
    Stopped,
}

/// A file's path below the data directory, parts separated by `/`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(Arc<str>);

impl FilePath {
    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder the file is in; "" for one at the top.
    #[must_use]
    pub fn parent(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Whether this folder is the one the file is in; "" for the top.
    #[must_use]
    pub fn is_in(&self, folder: &str) -> bool {
        let within = match folder {
            "" => Some(&*self.0),
            _ => self.0.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
        };
        within.is_some_and(|name| !name.as_bytes().contains(&b'/'))
    }

    /// The file's name in its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }
}

/// Ordered as its text is, so that a map of paths can be asked with text.
impl core::borrow::Borrow<str> for FilePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for FilePath {
    fn from(path: &str) -> Self {
        Self(Arc::from(path))
    }
}

impl From<String> for FilePath {
    fn from(path: String) -> Self {
        Self(Arc::from(path))
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The queue a file operation goes through. Operations of one lane run one after the other, in
/// the order they came out; lanes run beside each other, so that an fsync of the journal holds up
/// no read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Appends to the journal.
    Journal,
    /// Segments, indexes, snapshots, checkpoints, and everything during recovery.
    Data,
    /// Syncs other than those of the journal's writes: they may take long, and hold up no read.
    Sync,
}

/// One operation on the data directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileOp {
    /// The names in a folder; [`FileOutcome::Names`], sorted. An absent folder has none.
    List {
        /// The folder, "" for the data directory itself.
        folder: FilePath,
    },
    /// The length of a file; [`FileOutcome::Length`], `None` when absent.
    Length {
        /// The file.
        path: FilePath,
    },
    /// Bytes of a file; [`FileOutcome::Bytes`], fewer than asked only at the file's end.
    Read {
        /// The file.
        path: FilePath,
        /// Where to begin.
        position: u64,
        /// How many bytes at most.
        length: u32,
    },
    /// Writes bytes, creating the file when absent. Durable only after a sync of the file, and,
    /// for a new file, of its folder.
    Write {
        /// The file.
        path: FilePath,
        /// Where to begin.
        position: u64,
        /// What to write, one after the other.
        data: Vec<Bytes>,
        /// Whether an `fdatasync` follows before the operation counts as done.
        sync: bool,
        /// The queue to go through.
        lane: Lane,
    },
    /// Makes what was written to a file durable.
    Sync {
        /// The file.
        path: FilePath,
    },
    /// Makes creations, renames and removals in a folder durable.
    SyncFolder {
        /// The folder, "" for the data directory itself.
        folder: FilePath,
    },
    /// Makes durable what was written to these files and what happened to the names in these
    /// folders, up to when the operation came out. It may cover more, and a file that is absent
    /// is no error. Where it fails everything is suspect that was to be made durable.
    SyncAll {
        /// The files.
        files: Vec<FilePath>,
        /// The folders, "" for the data directory itself.
        folders: Vec<FilePath>,
    },
    /// Cuts a file, or extends it with zeros.
    Truncate {
        /// The file.
        path: FilePath,
        /// Its new length in bytes.
        length: u64,
    },
    /// Reserves space so that later writes below `length` need no new blocks; the new bytes
    /// read as zeros. Creates the file when absent.
    Allocate {
        /// The file.
        path: FilePath,
        /// Its new length in bytes.
        length: u64,
    },
    /// Renames a file, replacing the target.
    Rename {
        /// The old path.
        source: FilePath,
        /// The new path.
        target: FilePath,
    },
    /// Removes a file; one that is absent is no error.
    Remove {
        /// The file.
        path: FilePath,
    },
    /// Creates a folder; one that exists is no error.
    CreateFolder {
        /// The folder.
        folder: FilePath,
    },
    /// Removes a folder with the files in it; one that is absent is no error.
    RemoveFolder {
        /// The folder.
        folder: FilePath,
    },
}

impl FileOp {
    /// The queue this operation goes through.
    #[must_use]
    pub const fn lane(&self) -> Lane {
        match self {
            Self::Write { lane, .. } => *lane,
            Self::Sync { .. } | Self::SyncFolder { .. } | Self::SyncAll { .. } => Lane::Sync,
            _ => Lane::Data,
        }
    }
}

/// Bytes of a file that an answer holds, too.
///
/// A hint: the answer means the same without it. It holds until the node is given its next input,
/// and for as long as whoever opened the file by then keeps it open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileRun {
    /// The file.
    pub path: FilePath,
    /// Where they begin in it.
    pub position: u64,
    /// How many they are.
    pub length: u64,
}

/// What a successful file operation brings back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileOutcome {
    /// Nothing but success.
    Done,
    /// The sorted names of [`FileOp::List`].
    Names(Vec<String>),
    /// The length of [`FileOp::Length`].
    Length(Option<u64>),
    /// The bytes of [`FileOp::Read`].
    Bytes(Bytes),
}

/// Why a file operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FileError {
    /// There is no such file.
    #[error("no such file")]
    NotFound,
    /// The disk is full. A write may have been done in part.
    #[error("no space left on the device")]
    NoSpace,
    /// The device or the file system failed. A write may have been done in part; what a failed
    /// sync was to make durable is lost for good.
    #[error("input/output error")]
    Io,
}

/// How a file operation ended.
pub type FileResult = Result<FileOutcome, FileError>;
