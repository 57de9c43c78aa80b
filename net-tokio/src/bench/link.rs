//! A blocking connection of the bench: frames out, frames in, nothing in between.
//!
//! One write and at most one read a request: a client that costs less than what it measures.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use kacrab_protocol::generated::ErrorCode;
use verdict_core::wire::{Request, Response, WireError, client};

/// How long an answer may take before the bench gives up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// What is read ahead at most; longer answers are read into memory of their own.
const BUFFER_BYTES: usize = 16 * 1024;
/// Bytes of a frame's length.
const PREFIX: usize = 4;
/// Rest between two attempts of a request that was refused for now.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(2);
/// How often a request is sent again that was refused for now.
const ATTEMPTS_MAX: u32 = 5_000;

/// Why a workload ends without a figure.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// What came is no such answer.
    #[error("{0}")]
    Wire(#[from] WireError),
    /// The broker refused.
    #[error("{api} was refused with {code:?}")]
    Refused {
        /// What was asked.
        api: &'static str,
        /// The answer's code.
        code: ErrorCode,
    },
    /// An answer of another kind than the request.
    #[error("an answer of another kind")]
    Unexpected,
}

/// Turns a code into a result.
pub(super) fn check(api: &'static str, code: i16) -> Result<(), LinkError> {
    if code == 0 { Ok(()) } else { Err(LinkError::Refused { api, code: ErrorCode::from(code) }) }
}

/// Whether the same request is to be sent again a little later.
pub(super) fn is_for_now(error: &LinkError) -> bool {
    use ErrorCode::{
        ConcurrentTransactions, CoordinatorLoadInProgress, CoordinatorNotAvailable,
        LeaderNotAvailable, NotCoordinator, NotLeaderOrFollower, UnknownTopicOrPartition,
    };
    matches!(
        error,
        LinkError::Refused {
            code: ConcurrentTransactions
                | CoordinatorLoadInProgress
                | CoordinatorNotAvailable
                | LeaderNotAvailable
                | NotCoordinator
                | NotLeaderOrFollower
                | UnknownTopicOrPartition,
            ..
        }
    )
}

/// Tries until it is not refused for now any more.
pub(super) fn persistently<T>(
    mut attempt: impl FnMut() -> Result<T, LinkError>,
) -> Result<T, LinkError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match attempt() {
            Err(error) if is_for_now(&error) && attempts < ATTEMPTS_MAX => {
                std::thread::sleep(ATTEMPT_PAUSE);
            }
            other => return other,
        }
    }
}

/// A connection.
pub(super) struct Link {
    stream: TcpStream,
    /// What has come and was not taken is `buffer[start..end]`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    correlation_id: i32,
}

impl Link {
    /// Connects.
    pub(super) fn connect(address: &str) -> Result<Self, LinkError> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(Self::over(stream))
    }

    fn over(stream: TcpStream) -> Self {
        Self { stream, buffer: vec![0; BUFFER_BYTES], start: 0, end: 0, correlation_id: 0 }
    }

    /// The other half of the same connection, for a thread that only reads.
    pub(super) fn reader(&self) -> Result<Self, LinkError> {
        Ok(Self::over(self.stream.try_clone()?))
    }

    /// Sends a whole frame, its length included.
    pub(super) fn send(&mut self, frame: &[u8]) -> Result<(), LinkError> {
        Ok(self.stream.write_all(frame)?)
    }

    /// The next frame, without its length.
    pub(super) fn receive(&mut self) -> Result<Bytes, LinkError> {
        self.fill(PREFIX)?;
        let mut prefix = [0; PREFIX];
        prefix.copy_from_slice(&self.buffer[self.start..self.start + PREFIX]);
        self.start += PREFIX;
        let length = usize::try_from(i32::from_be_bytes(prefix)).unwrap_or(0);
        if PREFIX + length <= BUFFER_BYTES {
            self.fill(length)?;
        }
        let there = (self.end - self.start).min(length);
        let mut frame = Vec::with_capacity(length);
        frame.extend_from_slice(&self.buffer[self.start..self.start + there]);
        self.start += there;
        let missing = (length - there) as u64;
        if missing > 0 && (&self.stream).take(missing).read_to_end(&mut frame)? < length - there {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(frame.into())
    }

    /// Reads until so many bytes are there, which the buffer must hold.
    fn fill(&mut self, bytes: usize) -> Result<(), LinkError> {
        if self.end - self.start >= bytes {
            return Ok(());
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < bytes {
            match self.stream.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Sends a request and waits for its answer.
    pub(super) fn call(&mut self, version: i16, request: &Request) -> Result<Response, LinkError> {
        self.post(version, request)?;
        self.answer(version, request)
    }

    /// Sends a request; [`Self::answer`] waits for its answer.
    pub(super) fn post(&mut self, version: i16, request: &Request) -> Result<(), LinkError> {
        self.correlation_id += 1;
        let frame = client::encode_request(request, version, self.correlation_id, Some(CLIENT_ID))?;
        self.send(&frame)
    }

    /// The answer to a request that was sent.
    pub(super) fn answer(
        &mut self,
        version: i16,
        request: &Request,
    ) -> Result<Response, LinkError> {
        let answer = self.receive()?;
        let (_, response) = client::decode_response(request.api_key() as i16, version, answer)?;
        Ok(response)
    }
}

/// The client id of all the bench's requests.
pub(super) const CLIENT_ID: &str = "verdict-bench";
