//! Who answers: a bare node, or a broker behind a socket.

mod node;
mod socket;

use thiserror::Error;
use verdict_core::wire::{Request, Response, WireError};

pub use self::node::NodePeer;
pub use self::socket::{Restarter, SocketPeer};

/// How a request ended.
#[derive(Clone, Debug)]
pub enum Answer {
    /// With an answer.
    Response(Box<Response>),
    /// Without one, as its protocol wants.
    Silent,
    /// The connection was closed.
    Closed,
}

/// How a broker is stopped before it starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// As its operator does.
    Clean,
    /// As `kill -9` does.
    Crash,
}

/// What becomes of the producer snapshots (`*.snapshot`) while a broker is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Snapshots {
    /// They are as the broker left them.
    #[default]
    Kept,
    /// They are deleted.
    Gone,
    /// They are of length zero.
    Empty,
    /// Their last bytes are missing.
    Cut,
}

/// How many bytes at its end a snapshot loses when it is [`Snapshots::Cut`].
const CUT_BYTES: usize = 5;

impl Snapshots {
    /// How a file says it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Gone => "gone",
            Self::Empty => "empty",
            Self::Cut => "cut",
        }
    }

    /// What a file says.
    #[must_use]
    pub fn read(word: &str) -> Option<Self> {
        [Self::Kept, Self::Gone, Self::Empty, Self::Cut].into_iter().find(|it| it.word() == word)
    }

    /// The length that a file of some length is cut to; `None` when it is to be deleted.
    #[must_use]
    pub const fn length(self, length: usize) -> Option<usize> {
        match self {
            Self::Kept => Some(length),
            Self::Gone => None,
            Self::Empty => Some(0),
            Self::Cut => Some(length.saturating_sub(CUT_BYTES)),
        }
    }
}

/// Why a conversation cannot go on.
#[derive(Debug, Error)]
pub enum PeerError {
    /// The socket failed.
    #[error("the connection failed: {0}")]
    Io(#[from] std::io::Error),
    /// What came, or was to go, is not the protocol.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Nothing came.
    #[error("no answer")]
    NoAnswer,
    /// Nothing was asked.
    #[error("nothing is open on this connection")]
    NothingAsked,
    /// The broker cannot be restarted, or did not come back.
    #[error("restarting: {0}")]
    Restart(String),
    /// The node found itself broken.
    #[error("the node gave up: {0}")]
    Fault(String),
}

/// A broker that recordings are held with. Connections come to be when they are first named, and
/// again after they were closed.
pub trait Peer {
    /// Sends a request.
    ///
    /// # Errors
    /// It cannot be sent.
    fn send(&mut self, conn: &str, version: i16, request: &Request) -> Result<(), PeerError>;

    /// The answer to the oldest request of a connection that has none yet.
    ///
    /// # Errors
    /// None comes.
    fn receive(&mut self, conn: &str) -> Result<Answer, PeerError>;

    /// Lets time pass.
    fn wait_ms(&mut self, ms: u64);

    /// Its clock, in ms since 1970.
    fn wall_ms(&self) -> i64;

    /// Stops the broker and starts it on what it has written, but for what becomes of the producer
    /// snapshots. Connections are gone.
    ///
    /// # Errors
    /// It cannot, or does not come back.
    fn restart(&mut self, how: Restart, snapshots: Snapshots) -> Result<(), PeerError>;
}
