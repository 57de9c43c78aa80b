//! The one owner of the [`Node`]: feeds it inputs, drains it, routes its outputs.
//!
//! The drain rule holds after each `handle`. Finished file operations go before requests, so that
//! a flood of requests cannot keep answers from leaving. The loop never waits for a receiver of
//! its outputs, which is why no cycle of full queues can stop it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use verdict_core::clean::JobDone;
use verdict_core::io::{ConnId, FileResult, Input, Output, RequestId, Ticket};
use verdict_core::node::Node;
use verdict_core::wire::{Request, Response};

use crate::clock::Clock;
use crate::lanes::Lanes;
use crate::outgoing::{self, Opened};
use crate::serve::{self, Phase};

/// What connections send, in their own order.
pub(crate) enum Event {
    /// A decoded request. Several of a connection are unanswered only if all are Produce.
    Ask(Box<Ask>),
    /// A connection was accepted, and where it comes from.
    Opened(ConnId, Arc<str>),
    /// The connection is gone.
    Closed(ConnId),
}

/// A request and the way back.
pub(crate) struct Ask {
    pub(crate) conn: ConnId,
    pub(crate) version: i16,
    pub(crate) client_id: Arc<str>,
    pub(crate) request: Request,
    pub(crate) answer: oneshot::Sender<Answer>,
}

/// What becomes of a request.
pub(crate) enum Answer {
    /// It is answered; with the files that the answer names.
    Respond(Response, Opened),
    /// It has no answer, by its protocol.
    Silent,
    /// Its connection is to be closed.
    Disconnect(&'static str),
}

/// What goes before requests.
pub(crate) enum Urgent {
    /// A file operation ended.
    FileDone { ticket: Ticket, result: FileResult },
    /// A job ended.
    JobDone { ticket: Ticket, done: Box<JobDone> },
    /// The node is to stop cleanly.
    Stop,
}

/// What the loop tells the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The node serves.
    Ready,
    /// The node has stopped; the loop is over.
    Stopped,
}

/// The node and everything its loop needs.
pub(crate) struct NodeLoop {
    pub(crate) node: Node,
    pub(crate) clock: Clock,
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) urgent: mpsc::UnboundedReceiver<Urgent>,
    pub(crate) lanes: Lanes,
    pub(crate) notices: mpsc::UnboundedSender<Notice>,
    pub(crate) phase: watch::Receiver<Phase>,
    pub(crate) routes: Routes,
    /// File operations that were done on the spot and not taken in yet.
    pub(crate) done: VecDeque<(Ticket, FileResult)>,
    /// Whether the node does not serve yet.
    pub(crate) starting: bool,
}

/// Who waits for which request.
#[derive(Default)]
pub(crate) struct Routes {
    last_id: u64,
    waiting: BTreeMap<RequestId, (ConnId, oneshot::Sender<Answer>)>,
    by_conn: BTreeSet<(ConnId, RequestId)>,
}

impl Routes {
    fn enter(&mut self, conn: ConnId, answer: oneshot::Sender<Answer>) -> RequestId {
        self.last_id += 1;
        let id = RequestId(self.last_id);
        self.waiting.insert(id, (conn, answer));
        self.by_conn.insert((conn, id));
        id
    }

    fn answer(&mut self, id: RequestId, answer: Answer) {
        // No entry: the connection closed first, and its answer with it.
        if let Some((conn, waiting)) = self.waiting.remove(&id) {
            self.by_conn.remove(&(conn, id));
            waiting.send(answer).unwrap_or(());
        }
    }

    fn closed(&mut self, conn: ConnId) {
        let mut rest = self.by_conn.split_off(&(conn, RequestId(0)));
        while rest.first().is_some_and(|(other, _)| *other == conn) {
            if let Some((_, id)) = rest.pop_first() {
                self.waiting.remove(&id);
            }
        }
        self.by_conn.append(&mut rest);
    }
}

enum Wake {
    Urgent(Urgent),
    Event(Event),
    Timer,
    Killed,
}

impl NodeLoop {
    /// Runs the node's life, from `Start` to `Stopped` or to the kill.
    pub(crate) async fn run(mut self) {
        if self.feed(Input::Start) {
            return;
        }
        loop {
            let wake = match self.at_hand() {
                Some(wake) => wake,
                None => self.wait().await,
            };
            let input = match wake {
                Wake::Urgent(Urgent::FileDone { ticket, result }) => {
                    Input::FileDone { ticket, result }
                }
                Wake::Urgent(Urgent::JobDone { ticket, done }) => {
                    Input::JobDone { ticket, done: *done }
                }
                Wake::Urgent(Urgent::Stop) => Input::Stop,
                Wake::Event(Event::Ask(ask)) => self.admit(*ask),
                Wake::Event(Event::Opened(conn, host)) => Input::ConnectionOpened { conn, host },
                Wake::Event(Event::Closed(conn)) => {
                    self.routes.closed(conn);
                    Input::ConnectionClosed { conn }
                }
                Wake::Timer => Input::Tick,
                Wake::Killed => return,
            };
            if self.feed(input) || self.tick_when_due() {
                return;
            }
        }
    }

    /// What is there without waiting.
    fn at_hand(&mut self) -> Option<Wake> {
        if *self.phase.borrow() == Phase::Kill {
            return Some(Wake::Killed);
        }
        if let Ok(urgent) = self.urgent.try_recv() {
            return Some(Wake::Urgent(urgent));
        }
        if let Some((ticket, result)) = self.done.pop_front() {
            return Some(Wake::Urgent(Urgent::FileDone { ticket, result }));
        }
        self.events.try_recv().ok().map(Wake::Event)
    }

    async fn wait(&mut self) -> Wake {
        let deadline = self.node.next_timeout().map(|at| self.clock.instant(at));
        let timer = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = serve::reached(&mut self.phase, Phase::Kill) => Wake::Killed,
            Some(urgent) = self.urgent.recv() => Wake::Urgent(urgent),
            Some(event) = self.events.recv() => Wake::Event(event),
            () = timer => Wake::Timer,
        }
    }

    fn admit(&mut self, ask: Ask) -> Input {
        let Ask { conn, version, client_id, request, answer } = ask;
        let id = self.routes.enter(conn, answer);
        Input::Request { id, conn, version, client_id, request }
    }

    /// A busy node's timers are not kept waiting by its requests.
    fn tick_when_due(&mut self) -> bool {
        let due = self.node.next_timeout().is_some_and(|at| at <= self.clock.now().at);
        due && self.feed(Input::Tick)
    }

    /// Hands the node one input and drains it; whether it has stopped.
    fn feed(&mut self, input: Input) -> bool {
        let now = self.clock.now();
        let mut stopped = false;
        self.node.handle(now, input);
        while let Some(output) = self.node.poll_output(now) {
            match output {
                Output::Respond { id, response } => {
                    let opened = outgoing::open(self.lanes.files(), &response);
                    self.routes.answer(id, Answer::Respond(response, opened));
                }
                Output::Silent { id } => self.routes.answer(id, Answer::Silent),
                Output::Disconnect { id, reason } => {
                    self.routes.answer(id, Answer::Disconnect(reason));
                }
                Output::File { ticket, op } => {
                    self.done.extend(self.lanes.submit(ticket, op, self.starting));
                }
                Output::Ready => {
                    self.starting = false;
                    self.notices.send(Notice::Ready).unwrap_or(());
                }
                Output::Job { ticket, job } => self.lanes.submit_job(ticket, job),
                Output::Cluster(_) => unreachable!("a sole node asks nothing of a cluster"),
                Output::Fault { reason } => tracing::error!(reason, "the node is at fault"),
                Output::Stopped => stopped = true,
            }
        }
        if stopped {
            self.notices.send(Notice::Stopped).unwrap_or(());
        }
        stopped
    }
}
