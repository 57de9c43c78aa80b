//! One connection: frames in, answers out, in order. The node has one request of it at a time, or
//! several Produce.
//!
//! Decoding, CRC checks and encoding happen here, beside the node, which the connection drives
//! itself when nobody else does. What a connection
//! holds is bounded: a frame is drawn from the budget of all bytes in flight as its bytes arrive
//! and given back when it was answered; so is an answer until it is written. What a peer claims
//! to send draws nothing. A peer that stalls inside a frame, or does not take its answer, is cut,
//! so that it cannot keep what it drew (`transfer_time`).

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};
use verdict_core::config::BrokerConfig;
use verdict_core::io::ConnId;
use verdict_core::wire::{self, Decoded, Limits, Request, RequestHeader, Response, WireError};

use crate::budget::{Budget, Drawn};
use crate::driven::{Driven, Gone};
use crate::frame::{FrameError, FrameReader};
use crate::node_loop::{Ask, Event, NodeMachine};
use crate::outgoing::{Opened, Outgoing};
use crate::pace::{Pace, WINDOW};
use crate::places::{Place, Places};
use crate::routes::Answer;
use crate::serve::{self, Phase};

/// Time a peer has for a frame or an answer of no size at all.
const TRANSFER_GRACE: Duration = Duration::from_secs(30);
/// And the slowest it may be beyond that.
const TRANSFER_BYTES_PER_SECOND: u64 = 64 * 1024;

/// Room made for an answer; a large one makes its own.
const ANSWER_BYTES: usize = 512;

/// Inputs of all connections that a connection handles in a row, before it goes back to its own.
const CONN_BUDGET: u32 = 32;

/// Produce requests of one connection that are under way at most; Java's producer sends five.
const PIPELINE_MAX: usize = 8;

/// What all connections of one life share.
pub(crate) struct Shared {
    limits: Limits,
    max_idle: Option<Duration>,
    node: Arc<Driven<NodeMachine>>,
    places: Places,
    requests: Budget,
    answers: Budget,
}

impl Shared {
    pub(crate) fn new(
        max_idle: Option<Duration>,
        broker: &BrokerConfig,
        node: Arc<Driven<NodeMachine>>,
    ) -> Self {
        let inflight = usize::try_from(broker.verdict_inflight_bytes).unwrap_or(usize::MAX);
        Self {
            limits: Limits::from(broker),
            max_idle,
            places: Places::new(broker),
            requests: Budget::new(inflight),
            answers: Budget::new(inflight),
            node,
        }
    }

    /// Tells the node, and drives it on the way if nobody does.
    async fn tell(&self, event: Event) -> Result<(), Gone> {
        self.node.tell(event, CONN_BUDGET).await
    }

    /// A place for one more connection from this address, if there is one.
    pub(crate) fn place(&self, peer: IpAddr) -> Result<Place, &'static str> {
        self.places.take(peer)
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
    let frames = FrameReader::new(shared.limits.max_request_bytes as usize);
    let mut cut = phase.clone();
    let host = Arc::from(format!("/{}", peer.ip()));
    shared.tell(Event::Opened(id, host)).await.unwrap_or(());
    let mut conn = Connection {
        shared: &shared,
        id,
        stream,
        frames,
        phase,
        last: None,
        in_node: VecDeque::new(),
        held: None,
        refused: None,
        out: BytesMut::new(),
    };
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
    // The node is gone only at the end of all.
    shared.tell(Event::Closed(id)).await.unwrap_or(());
}

/// A request that the node has, with what it drew from the budget.
struct InNode<'s> {
    version: i16,
    correlation_id: i32,
    is_produce: bool,
    answer: oneshot::Receiver<Answer>,
    drawn: Drawn<'s>,
}

/// A request that is read and waits for its turn.
struct Held<'s> {
    decoded: Decoded,
    drawn: Drawn<'s>,
}

struct Connection<'s> {
    shared: &'s Shared,
    id: ConnId,
    stream: TcpStream,
    frames: FrameReader,
    phase: watch::Receiver<Phase>,
    /// The header of the last request that had a readable one, for the log.
    last: Option<RequestHeader>,
    /// What the node has, oldest first: one request of any kind, or several Produce.
    in_node: VecDeque<InNode<'s>>,
    held: Option<Held<'s>>,
    /// What is wrong with the request behind those the node has: they are answered first.
    refused: Option<End>,
    out: BytesMut,
}

impl<'s> Connection<'s> {
    async fn run(&mut self) -> End {
        loop {
            let done = match self.in_node.pop_front() {
                None => self.take_in().await,
                Some(oldest) => self.read_on_or_answer(oldest).await,
            };
            if let Err(end) = done {
                return end;
            }
        }
    }

    /// Reads the next request and hands it to the node if it may go beside what the node has.
    async fn take_in(&mut self) -> Result<(), End> {
        if let Some(end) = self.refused.take() {
            return Err(end);
        }
        if self.held.is_none() {
            let length = self.next_length().await?;
            self.held = Some(self.next_request(length).await?);
        }
        self.hand_over().await
    }

    /// Answers the oldest request as soon as the node has; until then requests are read ahead,
    /// which is also how the peer's end is noticed.
    async fn read_on_or_answer(&mut self, mut oldest: InNode<'s>) -> Result<(), End> {
        let may_read =
            self.held.is_none() && self.refused.is_none() && self.in_node.len() + 1 < PIPELINE_MAX;
        let answer = if may_read {
            tokio::select! {
                biased;
                answer = &mut oldest.answer => answer,
                read = self.read_ahead() => {
                    match read {
                        Ok(held) => self.held = Some(held),
                        Err(end @ End::Refused(_)) => self.refused = Some(end),
                        Err(end) => return Err(end),
                    }
                    self.in_node.push_front(oldest);
                    return self.hand_over().await;
                }
            }
        } else {
            tokio::select! {
                biased;
                answer = &mut oldest.answer => answer,
                () = self.frames.watch(&mut self.stream) => return Err(End::Peer),
            }
        };
        match answer.map_err(|_| End::Stop)? {
            Answer::Respond(response, opened) => {
                self.respond(oldest.version, oldest.correlation_id, response, opened).await?;
            }
            Answer::Silent => {}
            Answer::Disconnect(reason) => return Err(End::Node(reason)),
        }
        drop(oldest.drawn);
        self.hand_over().await
    }

    /// A request behind those the node has. A connection that waits for answers is not idle, and
    /// a stop lets it have them. May be dropped half way and called again.
    async fn read_ahead(&mut self) -> Result<Held<'s>, End> {
        let length = self.frames.length(&mut self.stream).await?.ok_or(End::Peer)?;
        self.next_request(length).await
    }

    /// The request of that length off the wire, decoded. May be dropped half way and called again.
    async fn next_request(&mut self, length: usize) -> Result<Held<'s>, End> {
        let shared = self.shared;
        let mut drawn = shared.requests.nothing();
        let (mut reading, mut pace) = (Duration::ZERO, Pace::default());
        loop {
            let missing = self.frames.missing(length);
            let arrived = length.saturating_sub(missing);
            drawn.cover(arrived + self.frames.step(length)).await;
            if missing == 0 {
                break;
            }
            let began = Instant::now();
            let read = self.frames.read_some(&mut self.stream, length);
            if let Ok(read) = timeout(WINDOW, read).await {
                read?;
            }
            reading += began.elapsed();
            let unfair = pace.was_slow(reading, arrived) && shared.requests.is_wanted();
            if unfair || reading > transfer_time(arrived) {
                return Err(End::Slow);
            }
        }
        let frame = self.frames.take(length);
        let decoded = wire::decode_request(frame, &shared.limits)?;
        self.last = Some(decoded.header.clone());
        Ok(Held { decoded, drawn })
    }

    /// Gives the node what is held, if its turn has come. Apache Kafka has one request of a
    /// connection under way at a time; a Produce behind Produces may go at once, since the node
    /// appends in the order it is asked, and one sync then serves all of them.
    async fn hand_over(&mut self) -> Result<(), End> {
        let produce = |held: &Held<'_>| matches!(held.decoded.request, Request::Produce(_));
        let beside = self.in_node.iter().all(|other| other.is_produce)
            && self.held.as_ref().is_some_and(produce);
        if !self.in_node.is_empty() && !beside {
            return Ok(());
        }
        let Some(Held { decoded: Decoded { header, request }, drawn }) = self.held.take() else {
            return Ok(());
        };
        let (answer, answered) = oneshot::channel();
        let in_node = InNode {
            version: header.version,
            correlation_id: header.correlation_id,
            is_produce: matches!(request, Request::Produce(_)),
            answer: answered,
            drawn,
        };
        let ask = Ask {
            conn: self.id,
            version: header.version,
            client_id: header.client_id,
            request,
            answer,
        };
        let asked = self.shared.tell(Event::Ask(Box::new(ask))).await;
        asked.map_err(|Gone| End::Stop)?;
        self.in_node.push_back(in_node);
        Ok(())
    }

    /// Waits for the next request, which is when a connection may be idle and a stop closes it.
    async fn next_length(&mut self) -> Result<usize, End> {
        let length = self.frames.length(&mut self.stream);
        let idle = async {
            match self.shared.max_idle {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = serve::reached(&mut self.phase, Phase::Stop) => Err(End::Stop),
            length = length => length?.ok_or(End::Peer),
            () = idle => Err(End::Idle),
        }
    }

    async fn respond(
        &mut self,
        version: i16,
        correlation_id: i32,
        response: Response,
        opened: Opened,
    ) -> Result<(), End> {
        let mut drawn = self.shared.answers.nothing();
        drawn.cover(record_bytes(&response)).await;
        self.out.reserve(ANSWER_BYTES);
        let out = wire::encode_response_parts(version, correlation_id, &response, &mut self.out)
            .map_err(End::Unencodable)?;
        drop(response);
        self.write(Outgoing::new(out, opened)).await?;
        drop(drawn);
        Ok(())
    }

    async fn write(&mut self, mut out: Outgoing) -> Result<(), End> {
        let (bytes, began, mut pace) = (out.left(), Instant::now(), Pace::default());
        let written = loop {
            // May be dropped half way: what was written is gone from `out`.
            if let Ok(written) = timeout(WINDOW, out.write_to(&mut self.stream)).await {
                break written;
            }
            let (spent, crossed) = (began.elapsed(), bytes - out.left());
            let unfair = pace.was_slow(spent, crossed) && self.shared.answers.is_wanted();
            if unfair || spent > transfer_time(bytes) {
                return Err(End::Slow);
            }
        };
        written.map_err(FrameError::Io)?;
        // madsim sends nothing before the flush; tokio's does nothing.
        self.stream.flush().await.map_err(FrameError::Io)?;
        Ok(())
    }
}

/// What a peer may take for so many bytes: those of an answer, or those of a frame that have
/// arrived so far.
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
