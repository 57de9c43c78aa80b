//! The broker without clocks, sockets and files: it owns the machines and carries what they say
//! to each other.
//!
//! * One input is one *turn*; so is one [`Message`] between machines, even when both live here.
//!   A crash fits between any two of them.
//! * What a turn appends goes to the journal as one frame; what waits for it is a list of
//!   [`Completion`]s that run when the frame is persisted, or fail when it is not.
//! * The machines never call each other: they leave effects, and [`Node::settle`] delivers them.

mod boot;
mod cleaning;
mod cluster;
mod completion;
mod configs;
mod effects;
#[cfg(test)]
mod group_tests;
mod load;
mod message;
mod parked;
mod partitions;
mod retention;
mod settings;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod timers;
mod topics;
mod turn;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use self::boot::{Boot, Phase};
pub(crate) use self::completion::Completion;
pub(crate) use self::load::Loading;
pub(crate) use self::message::{MarkerReply, Message};
pub(crate) use self::parked::AfterChange;
use self::partitions::Partitions;
pub(crate) use self::timers::Timer;
use self::timers::Timers;
pub(crate) use self::turn::Refused;
use crate::api::{self, Context, Waiting};
use crate::config::BrokerConfig;
use crate::group::GroupCoordinator;
use crate::io::{Input, Output, RequestId};
use crate::meta::{IdSource, Meta};
use crate::partition::Partition;
use crate::store::{ReadId, Store, TurnId};
use crate::time::{Now, Timestamp};
use crate::txn::{TxnCoordinator, VerifyId};

/// A broker.
#[derive(Clone, Debug)]
pub struct Node {
    /// The settings that hold: those of the start, and the dynamic ones over them.
    pub(crate) config: BrokerConfig,
    static_config: BrokerConfig,
    /// A change of settings or partition counts is being written.
    changing: bool,
    pub(crate) now: Now,
    phase: Phase,
    boot: Boot,
    pub(crate) meta: Meta,
    pub(crate) partitions: Partitions,
    pub(crate) txn: TxnCoordinator,
    pub(crate) group: GroupCoordinator,
    pub(crate) store: Store,
    messages: VecDeque<Message>,
    outputs: VecDeque<Output>,
    /// What waits for the appends of the open turn.
    open_turn: Vec<Completion>,
    /// What waits for closed turns that are not persisted yet, oldest first.
    unpersisted: VecDeque<(TurnId, Vec<Completion>)>,
    pub(crate) waiting: Waiting,
    pub(crate) fetch_sessions: api::FetchSessions,
    pub(crate) reads: BTreeMap<ReadId, api::ReadPurpose>,
    pub(crate) timers: Timers,
    after_change: Vec<AfterChange>,
    next_verify: u64,
    /// Only of a member of a cluster.
    pub(crate) cluster: Option<alloc::boxed::Box<cluster::Cluster>>,
    /// When a log to clean is looked for next.
    cleaning_at: Option<Timestamp>,
}

impl Node {
    /// A node that has read nothing yet; [`Input::Start`] begins its life.
    #[must_use]
    pub fn new(config: BrokerConfig) -> Self {
        Self {
            now: Now::default(),
            phase: Phase::New,
            boot: Boot::default(),
            meta: Meta::new(settings::meta(&config), IdSource::new(config.entropy)),
            partitions: Partitions::default(),
            txn: TxnCoordinator::new(settings::txn(&config)),
            group: GroupCoordinator::new(settings::group(&config)),
            store: Store::new(settings::store(&config)),
            messages: VecDeque::new(),
            outputs: VecDeque::new(),
            open_turn: Vec::new(),
            unpersisted: VecDeque::new(),
            waiting: Waiting::default(),
            fetch_sessions: api::FetchSessions::new(config.entropy),
            reads: BTreeMap::new(),
            timers: Timers::default(),
            after_change: Vec::new(),
            next_verify: 0,
            cluster: None,
            cleaning_at: None,
            changing: false,
            static_config: config.clone(),
            config,
        }
    }

    /// Takes one input. All outputs of the previous one must have been polled.
    ///
    /// # Panics
    ///
    /// In debug builds when the drain rule is broken.
    pub fn handle(&mut self, now: Now, input: Input) {
        debug_assert!(
            self.outputs.is_empty() && self.messages.is_empty(),
            "the drain rule: every output is polled before the next input"
        );
        self.now = now;
        match input {
            Input::Start => self.start(),
            Input::Request { id, conn, version, client_id, request } => {
                let context = Context { id, conn, version, client_id, resumed: false };
                api::dispatch(self, context, request);
            }
            Input::ConnectionOpened { conn, host } => self.waiting.set_host(conn, host),
            Input::ConnectionClosed { conn } => api::forget_connection(self, conn),
            Input::FileDone { ticket, result } => self.store.done(now, ticket, result),
            Input::JobDone { ticket, done } => self.store.job_done(ticket, done),
            Input::Tick => self.tick(),
            Input::Cluster(input) => self.cluster_input(*input),
            Input::Stop => self.stop(),
        }
        self.open_recovered_logs();
        self.settle();
        if self.imports_wait() {
            self.advance_imports();
            self.settle();
        }
    }

    /// The next output; `None` when the input, and every message it led to, is worked off.
    pub fn poll_output(&mut self, now: Now) -> Option<Output> {
        self.now = now;
        loop {
            if let Some(output) = self.next_output() {
                return Some(output);
            }
            if let Some(message) = self.messages.pop_front() {
                self.deliver(message);
                self.settle();
                continue;
            }
            self.store.flush();
            if !self.store.has_events() {
                return self.next_output();
            }
            self.settle();
        }
    }

    fn next_output(&mut self) -> Option<Output> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        if let Some((ticket, op)) = self.store.poll_op() {
            return Some(Output::File { ticket, op });
        }
        let (ticket, job) = self.store.poll_job()?;
        Some(Output::Job { ticket, job })
    }

    /// When a [`Input::Tick`] is wanted, if at all.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Timestamp> {
        if self.phase == Phase::Stopped {
            return None;
        }
        let unopened = self.boot.wants_to_go_on().then_some(self.now.at);
        [
            self.timers.next(),
            self.txn.next_timeout(),
            self.group.next_timeout(),
            self.store.next_timeout(),
            unopened,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Leaves an answer for the driver.
    pub(crate) fn respond(&mut self, id: RequestId, response: crate::wire::Response) {
        self.outputs.push_back(Output::Respond { id, response });
    }

    /// Leaves any output for the driver.
    pub(crate) fn output(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    /// Sends a message to another machine; it is a turn of its own.
    pub(crate) fn send(&mut self, message: Message) {
        self.messages.push_back(message);
    }

    /// A name for one verification, never given twice in one life.
    pub(crate) fn next_verify_id(&mut self) -> VerifyId {
        self.next_verify += 1;
        VerifyId(self.next_verify)
    }

    /// A read-only view for oracles and tools.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View { node: self }
    }

    fn fault(&mut self, reason: String) {
        self.outputs.push_back(Output::Fault { reason });
    }
}

/// What an oracle may look at: never a way to change anything.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    node: &'a Node,
}

impl<'a> View<'a> {
    /// Every partition that is open.
    pub fn partitions(&self) -> impl Iterator<Item = &'a Partition> {
        self.node.partitions.values()
    }

    /// The transaction coordinator.
    #[must_use]
    pub const fn txn(&self) -> &'a TxnCoordinator {
        &self.node.txn
    }

    /// Whether requests are served.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.node.phase == Phase::Serving
    }
}
