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

    /// Stops the broker and starts it on what it has written. Connections are gone.
    ///
    /// # Errors
    /// It cannot, or does not come back.
    fn restart(&mut self, how: Restart) -> Result<(), PeerError>;
}
