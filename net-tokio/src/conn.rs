//! One connection: frames in, answers out, in order, one request in the node at a time.
//!
//! Decoding, CRC checks and encoding happen here, beside the node's thread. What a connection
//! holds is bounded: a frame is drawn from the budget of all bytes in flight before its first
//! byte is read and given back when it was answered; so is an answer until it is written. A peer
//! that stalls inside a frame, or does not take its answer, is cut, so that it cannot keep what
//! it drew (`frame_deadline`).

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::time::timeout;
use verdict_core::config::BrokerConfig;
use verdict_core::io::ConnId;
use verdict_core::wire::{self, Decoded, Limits, RequestHeader, Response, WireError};

use crate::frame::{FrameError, FrameReader};
use crate::node_loop::{Answer, Ask, Event};
use crate::serve::{self, Phase};
use crate::settings::Settings;

/// Time a peer has for a frame or an answer of no size at all.
const TRANSFER_GRACE: Duration = Duration::from_secs(30);
/// And the slowest it may be beyond that.
const TRANSFER_BYTES_PER_SECOND: u64 = 64 * 1024;

/// What all connections of one life share.
pub(crate) struct Shared {
    settings: Settings,
    limits: Limits,
    events: mpsc::Sender<Event>,
    places: Arc<Semaphore>,
    requests: Budget,
    answers: Budget,
}

impl Shared {
    pub(crate) fn new(
        settings: Settings,
        broker: &BrokerConfig,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Self {
            limits: settings.wire_limits(broker),
            places: Arc::new(Semaphore::new(settings.max_connections)),
            requests: Budget::new(settings.inflight_bytes),
            answers: Budget::new(settings.inflight_bytes),
            settings,
            events,
        }
    }

    /// A place for one more connection, if there is one.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }
}

/// Bytes that may be in flight, over all connections.
struct Budget {
    bytes: Semaphore,
    total: usize,
}

impl Budget {
    fn new(total: usize) -> Self {
        let total = total.clamp(1, Semaphore::MAX_PERMITS);
        Self { bytes: Semaphore::new(total), total }
    }

    /// Waits until `bytes` are free. One frame may be larger than the whole budget: it then goes
    /// alone.
    async fn draw(&self, bytes: usize) -> tokio::sync::SemaphorePermit<'_> {
        let permits = u32::try_from(bytes.min(self.total)).unwrap_or(u32::MAX);
        self.bytes.acquire_many(permits).await.expect("the budget is never closed")
    }
}

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
enum End {
    /// The peer closed it between requests, or while one was being answered.
    #[error("closed by the peer")]
    Peer,
    /// Nothing came for `connections.max.idle.ms`.
    #[error("idle for connections.max.idle.ms")]
    Idle,
    /// The broker stops.
    #[error("the broker stops")]
    Stop,
    /// The transport or the framing failed.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// A request that must not be answered.
    #[error("{0}")]
    Refused(#[from] WireError),
    /// An answer of ours that does not fit its version.
    #[error("cannot encode the answer: {0}")]
    Unencodable(WireError),
    /// The node wants it closed.
    #[error("{0}")]
    Node(&'static str),
    /// A frame or an answer took too long to cross.
    #[error("the peer is too slow")]
    Slow,
}

impl End {
    /// Whether it is worth a line in the log.
    fn is_notable(&self) -> bool {
        !matches!(self, Self::Peer | Self::Idle | Self::Stop | Self::Frame(FrameError::Io(_)))
    }
}

/// Serves a connection to its end, and tells the node of it.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    id: ConnId,
    stream: TcpStream,
    peer: SocketAddr,
    phase: watch::Receiver<Phase>,
) {
    // Answers are written whole; waiting for more of them helps nobody.
    stream.set_nodelay(true).unwrap_or(());
    let frames = FrameReader::new(shared.settings.request_max_bytes);
    let mut cut = phase.clone();
    let host = Arc::from(format!("/{}", peer.ip()));
    shared.events.send(Event::Opened(id, host)).await.unwrap_or(());
    let mut conn =
        Connection { shared: &shared, id, stream, frames, phase, last: None, out: BytesMut::new() };
    let end = tokio::select! {
        biased;
        () = serve::reached(&mut cut, Phase::Kill) => End::Stop,
        end = conn.run() => end,
    };
    let last = conn.last.take();
    // Closes the socket before the node is told, which may have to wait for its turn.
    drop(conn);
    if end.is_notable() {
        let (client, api, version) = last.map_or((Arc::from(""), -1, -1), |header| {
            (header.client_id, header.api_key, header.version)
        });
        tracing::warn!(%peer, %client, api, version, reason = %end, "closed a connection");
    } else {
        tracing::debug!(%peer, reason = %end, "closed a connection");
    }
    // The node's loop is gone only at the end of all.
    shared.events.send(Event::Closed(id)).await.unwrap_or(());
}

struct Connection<'s> {
    shared: &'s Shared,
    id: ConnId,
    stream: TcpStream,
    frames: FrameReader,
    phase: watch::Receiver<Phase>,
    /// The header of the last request that had a readable one, for the log.
    last: Option<RequestHeader>,
    out: BytesMut,
}

impl Connection<'_> {
    async fn run(&mut self) -> End {
        loop {
            if let Err(end) = self.one_request().await {
                return end;
            }
        }
    }

    async fn one_request(&mut self) -> Result<(), End> {
        let length = self.next_length().await?;
        let drawn = self.shared.requests.draw(length).await;
        let frame = self.frames.body(&mut self.stream, length);
        let frame = timeout(transfer_time(length), frame).await.map_err(|_| End::Slow)??;
        let (header, answer) = self.ask(frame).await?;
        match answer {
            Answer::Respond(response) => {
                self.respond(header.version, header.correlation_id, response).await?;
            }
            Answer::Silent => {}
            Answer::Disconnect(reason) => return Err(End::Node(reason)),
        }
        drop(drawn);
        Ok(())
    }

    /// Waits for the next request, which is when a connection may be idle and a stop closes it.
    async fn next_length(&mut self) -> Result<usize, End> {
        let length = self.frames.length(&mut self.stream);
        let length = tokio::select! {
            biased;
            () = serve::reached(&mut self.phase, Phase::Stop) => return Err(End::Stop),
            length = timeout(self.shared.settings.max_idle, length) => length,
        };
        length.map_err(|_| End::Idle)??.ok_or(End::Peer)
    }

    /// Decodes a frame, hands it to the node and waits for what becomes of it, noticing when the
    /// peer is gone meanwhile.
    async fn ask(&mut self, frame: Bytes) -> Result<(RequestHeader, Answer), End> {
        let Decoded { header, request } = match wire::decode_request(frame, &self.shared.limits) {
            Ok(decoded) => decoded,
            Err(error) => return Err(End::Refused(error)),
        };
        self.last = Some(header.clone());
        let (answer, answered) = oneshot::channel();
        let ask = Ask {
            conn: self.id,
            version: header.version,
            client_id: Arc::clone(&header.client_id),
            request,
            answer,
        };
        let asked = self.shared.events.send(Event::Ask(Box::new(ask))).await;
        asked.map_err(|_| End::Stop)?;
        tokio::select! {
            biased;
            answer = answered => Ok((header, answer.map_err(|_| End::Stop)?)),
            () = self.frames.watch(&mut self.stream) => Err(End::Peer),
        }
    }

    async fn respond(
        &mut self,
        version: i16,
        correlation_id: i32,
        response: Response,
    ) -> Result<(), End> {
        let drawn = self.shared.answers.draw(record_bytes(&response)).await;
        wire::encode_response(version, correlation_id, &response, &mut self.out)
            .map_err(End::Unencodable)?;
        drop(response);
        let out = self.out.split().freeze();
        let stream = &mut self.stream;
        let write = async {
            stream.write_all(&out).await?;
            // madsim sends nothing before the flush; tokio's does nothing.
            stream.flush().await
        };
        let written = timeout(transfer_time(out.len()), write).await.map_err(|_| End::Slow)?;
        written.map_err(FrameError::Io)?;
        drop(drawn);
        Ok(())
    }
}

/// What a peer may take for so many bytes.
fn transfer_time(bytes: usize) -> Duration {
    TRANSFER_GRACE + Duration::from_secs(bytes as u64 / TRANSFER_BYTES_PER_SECOND)
}

/// The bytes of an answer that can be many.
fn record_bytes(response: &Response) -> usize {
    match response {
        Response::Fetch(fetch) => {
            fetch.records.iter().flatten().flatten().map(Bytes::len).sum::<usize>()
        }
        _ => 0,
    }
}
