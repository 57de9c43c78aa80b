//! The [`Node`] as a machine that is driven: feeds it inputs, drains it, routes its outputs. And
//! its owner, the thread that drives it when nobody else does.
//!
//! The drain rule holds after each `handle`. Finished file operations go before requests, so that
//! a flood of requests cannot keep answers from leaving. Nobody who drives ever waits for a
//! receiver of the outputs, which is why no cycle of full queues can stop the node.
//!
//! Who drives ([`crate::driven`]): a connection with a request, a lane with a result, and the owner
//! for the start, the timers, the end, and whatever is too much for a guest.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use verdict_core::clean::JobDone;
use verdict_core::io::{ConnId, FileResult, Input, Output, Ticket};
use verdict_core::node::Node;
use verdict_core::time::Timestamp;
use verdict_core::wire::Request;

use crate::clock::Clock;
use crate::driven::{Driven, Machine};
use crate::inbox::Next;
use crate::lanes::Lanes;
use crate::outgoing;
use crate::routes::{Answer, Routes};
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

/// What goes before requests.
pub(crate) enum Urgent {
    /// A file operation ended.
    FileDone { ticket: Ticket, result: FileResult },
    /// A job ended.
    JobDone { ticket: Ticket, done: Box<JobDone> },
    /// The node is to stop cleanly.
    Stop,
}

/// What the node tells the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// It serves.
    Ready,
    /// It has stopped and is over.
    Stopped,
}

/// The node, and everything that is needed to drive it.
pub(crate) struct NodeMachine {
    node: Node,
    clock: Clock,
    lanes: Lanes,
    notices: mpsc::UnboundedSender<Notice>,
    phase: watch::Receiver<Phase>,
    routes: Routes,
    /// File operations that were done on the spot and not taken in yet.
    done: VecDeque<(Ticket, FileResult)>,
    /// Whether the node does not serve yet.
    starting: bool,
    stopped: bool,
}

impl NodeMachine {
    /// A node before its start.
    pub(crate) fn new(
        node: Node,
        lanes: Lanes,
        notices: mpsc::UnboundedSender<Notice>,
        phase: watch::Receiver<Phase>,
    ) -> Self {
        Self {
            node,
            clock: Clock::start(),
            lanes,
            notices,
            phase,
            routes: Routes::default(),
            done: VecDeque::new(),
            starting: true,
            stopped: false,
        }
    }

    fn admit(&mut self, ask: Ask) -> Input {
        let Ask { conn, version, client_id, request, answer } = ask;
        let id = self.routes.enter(conn, answer);
        Input::Request { id, conn, version, client_id, request }
    }

    /// Hands the node one input and drains it.
    fn feed(&mut self, input: Input) {
        let now = self.clock.now();
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
                Output::Stopped => self.stopped = true,
            }
        }
        if self.stopped {
            self.notices.send(Notice::Stopped).unwrap_or(());
        }
    }
}

impl Machine for NodeMachine {
    type Urgent = Urgent;
    type Event = Event;

    fn handle(&mut self, input: Next<Urgent, Event>) {
        let input = match input {
            Next::Urgent(Urgent::FileDone { ticket, result }) => Input::FileDone { ticket, result },
            Next::Urgent(Urgent::JobDone { ticket, done }) => {
                Input::JobDone { ticket, done: *done }
            }
            Next::Urgent(Urgent::Stop) => Input::Stop,
            Next::Event(Event::Ask(ask)) => self.admit(*ask),
            Next::Event(Event::Opened(conn, host)) => Input::ConnectionOpened { conn, host },
            Next::Event(Event::Closed(conn)) => {
                self.routes.closed(conn);
                Input::ConnectionClosed { conn }
            }
        };
        self.feed(input);
        // A busy node's timers are not kept waiting by its requests.
        if !self.stopped {
            self.tick_when_due();
        }
    }

    fn own(&mut self) -> Option<Urgent> {
        self.done.pop_front().map(|(ticket, result)| Urgent::FileDone { ticket, result })
    }

    fn has_own(&self) -> bool {
        !self.done.is_empty()
    }

    fn tick_when_due(&mut self) -> bool {
        let due = self.node.next_timeout().is_some_and(|at| at <= self.clock.now().at);
        if due {
            self.feed(Input::Tick);
        }
        due
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        self.node.next_timeout()
    }

    fn is_over(&self) -> bool {
        self.stopped || *self.phase.borrow() == Phase::Kill
    }
}

/// The owner: lives the node's life, from `Start` to `Stopped` or to the kill.
pub(crate) async fn own(mut machine: NodeMachine, node: Arc<Driven<NodeMachine>>) {
    let (clock, mut phase) = (machine.clock, machine.phase.clone());
    machine.feed(Input::Start);
    node.begin(machine);
    while !node.drive_as_owner() {
        let deadline = node.alarm().map(|at| clock.instant(at));
        let timer = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = serve::reached(&mut phase, Phase::Kill) => break,
            () = node.woken() => {}
            () = timer => node.rang(),
        }
    }
    node.close();
}
