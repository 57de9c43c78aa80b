//! A raw client of the broker: one connection, one request at a time, no retries of its own.
//!
//! For the torture command, the simulated network and tests. It encodes record batches by itself
//! ([`batch`]), and reads them as the oracles do, so that what it finds is no agreement of the core
//! with itself.

pub mod batch;
mod producer;
mod reader;

use std::time::Duration;

use bytes::Bytes;
use kacrab_protocol::generated::{ErrorCode, ProduceRequestData};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use verdict_core::wire::{Request, Response, WireError, client};

use crate::frame::{FrameError, FrameReader};

pub use self::producer::{Kind, Producer, Protocol};
pub use self::reader::{Place, end};

/// How long a call may take before its outcome counts as unknown.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest answer that is taken.
const ANSWER_MAX_BYTES: usize = 100 * 1024 * 1024;
/// How often a request is sent again that the broker said it did not carry out yet.
const ATTEMPTS_MAX: usize = 500;
/// Rest between two attempts.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(20);

const PRODUCE: i16 = 0;

/// Why a call brought no answer, or not the one that was hoped for.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection failed; whether the request was carried out is unknown.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The broker closed the connection; whether the request was carried out is unknown.
    #[error("the broker closed the connection")]
    Closed,
    /// No answer in time; whether the request was carried out is unknown.
    #[error("no answer in time")]
    Timeout,
    /// What came is no frame, or no such answer.
    #[error("{0}")]
    Protocol(String),
    /// The broker refused.
    #[error("refused with {0:?}")]
    Refused(ErrorCode),
}

impl From<FrameError> for ClientError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Io(error) => Self::Io(error),
            FrameError::Truncated => Self::Closed,
            FrameError::Length { .. } => Self::Protocol(error.to_string()),
        }
    }
}

impl From<WireError> for ClientError {
    fn from(error: WireError) -> Self {
        Self::Protocol(error.to_string())
    }
}

/// Turns a code into a result.
fn check(code: i16) -> Result<(), ClientError> {
    if code == 0 { Ok(()) } else { Err(ClientError::Refused(ErrorCode::from(code))) }
}

/// Whether the same request may be sent again: it was not carried out, and may be later.
fn is_for_now(error: &ClientError) -> bool {
    use ErrorCode::{
        ConcurrentTransactions, CoordinatorLoadInProgress, CoordinatorNotAvailable,
        LeaderNotAvailable, NotCoordinator, NotLeaderOrFollower, UnknownTopicOrPartition,
    };
    matches!(
        error,
        ClientError::Refused(
            ConcurrentTransactions
                | CoordinatorLoadInProgress
                | CoordinatorNotAvailable
                | LeaderNotAvailable
                | NotCoordinator
                | NotLeaderOrFollower
                | UnknownTopicOrPartition
        )
    )
}

/// A connection to a broker.
pub struct Client {
    stream: TcpStream,
    frames: FrameReader,
    client_id: String,
    correlation_id: i32,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens, or nothing answers in time.
    pub async fn connect(address: &str, client_id: &str) -> Result<Self, ClientError> {
        let stream = tokio::time::timeout(CALL_TIMEOUT, TcpStream::connect(address))
            .await
            .map_err(|_| ClientError::Timeout)??;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            frames: FrameReader::new(ANSWER_MAX_BYTES),
            client_id: client_id.to_owned(),
            correlation_id: 0,
        })
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// After any of them the connection is of no more use.
    pub async fn call(&mut self, version: i16, request: &Request) -> Result<Response, ClientError> {
        self.correlation_id += 1;
        let id = Some(self.client_id.as_str());
        let frame = client::encode_request(request, version, self.correlation_id, id)?;
        self.exchange(request.api_key() as i16, version, frame).await
    }

    /// Sends a Produce with these very record bytes.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub async fn produce(
        &mut self,
        version: i16,
        data: &ProduceRequestData,
    ) -> Result<Response, ClientError> {
        self.correlation_id += 1;
        let id = Some(self.client_id.as_str());
        let frame = client::encode_produce(data, version, self.correlation_id, id)?;
        self.exchange(PRODUCE, version, frame).await
    }

    /// Sends one frame, its length included, and reads the answer to it.
    async fn exchange(
        &mut self,
        api_key: i16,
        version: i16,
        frame: Bytes,
    ) -> Result<Response, ClientError> {
        let answer = tokio::time::timeout(CALL_TIMEOUT, self.round_trip(&frame)).await;
        let answer = answer.map_err(|_| ClientError::Timeout)??;
        let (correlation_id, response) = client::decode_response(api_key, version, answer)?;
        if correlation_id != self.correlation_id {
            return Err(ClientError::Protocol("an answer to another request".to_owned()));
        }
        Ok(response)
    }

    async fn round_trip(&mut self, frame: &[u8]) -> Result<Bytes, ClientError> {
        self.stream.write_all(frame).await?;
        self.stream.flush().await?;
        let length = self.frames.length(&mut self.stream).await?.ok_or(ClientError::Closed)?;
        Ok(self.frames.body(&mut self.stream, length).await?)
    }
}

/// The answer was of another kind than the request.
fn unexpected(response: &Response) -> ClientError {
    ClientError::Protocol(format!("an answer of another kind: {:?}", response.api_key()))
}
