//! The driver: inputs in, file operations performed, answers kept until they are taken.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Files;
use crate::config::BrokerConfig;
use crate::io::{ConnId, Input, Output, RequestId};
use crate::node::Node;
use crate::time::{Now, Timestamp};
use crate::wire::{Request, Response};

/// Runs something and counts in it.
pub type Meter = fn(&mut dyn FnMut()) -> u64;

/// How a request ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// With an answer.
    Answer(Response),
    /// Without one, as its protocol wants (Produce with acks=0).
    Silent,
    /// The node wants the connection closed.
    Disconnect,
}

/// A node with its files and clock.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The node.
    pub node: Node,
    /// What it has written.
    pub files: Files,
    /// Both clocks.
    pub now: Now,
    /// What the node was started with, and the next one will be.
    pub config: BrokerConfig,
    /// Reasons of [`Output::Fault`], which a sound node never gives on these files.
    pub faults: Vec<String>,
    /// Counts what it runs, when anything is to be counted.
    pub meter: Option<Meter>,
    /// The sum of what it counted inside the node.
    pub counted: u64,
    outcomes: BTreeMap<RequestId, Outcome>,
    outputs: Vec<Output>,
    next_request: u64,
}

impl Machine {
    /// A node that has read its files and serves, at this time.
    #[must_use]
    pub fn start(config: BrokerConfig, files: Files, now: Now) -> Self {
        let mut machine = Self {
            node: Node::new(config.clone()),
            files,
            now,
            config,
            faults: Vec::new(),
            meter: None,
            counted: 0,
            outcomes: BTreeMap::new(),
            outputs: Vec::with_capacity(4_096),
            next_request: 0,
        };
        machine.input(Input::Start);
        machine
    }

    /// A new node on what this one has written, as after `kill -9`.
    #[must_use]
    pub fn crashed(&self) -> Self {
        Self::start(self.config.clone(), self.files.clone(), self.now)
    }

    /// A new node after this one was stopped.
    #[must_use]
    pub fn restarted(mut self) -> Self {
        self.input(Input::Stop);
        self.crashed()
    }

    /// Gives an input and works off what follows from it, files included.
    pub fn input(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            self.step(input);
            let mut outputs = core::mem::take(&mut self.outputs);
            inputs.extend(outputs.drain(..).filter_map(|output| self.follow(output)));
            self.outputs = outputs;
        }
    }

    fn step(&mut self, input: Input) {
        let (node, now, outputs) = (&mut self.node, self.now, &mut self.outputs);
        let mut input = Some(input);
        let mut work = || {
            if let Some(input) = input.take() {
                node.handle(now, input);
            }
            while let Some(output) = node.poll_output(now) {
                outputs.push(output);
            }
        };
        match self.meter {
            Some(meter) => self.counted += meter(&mut work),
            None => work(),
        }
    }

    /// Does what the node asks for; what it is to be told about that.
    fn follow(&mut self, output: Output) -> Option<Input> {
        match output {
            Output::File { ticket, op } => {
                return Some(Input::FileDone { ticket, result: self.files.perform(op) });
            }
            Output::Job { ticket, job } => {
                return Some(Input::JobDone { ticket, done: job.run() });
            }
            Output::Respond { id, response } => {
                self.outcomes.insert(id, Outcome::Answer(response));
            }
            Output::Silent { id } => {
                self.outcomes.insert(id, Outcome::Silent);
            }
            Output::Disconnect { id, .. } => {
                self.outcomes.insert(id, Outcome::Disconnect);
            }
            Output::Fault { reason } => self.faults.push(reason),
            Output::Ready | Output::Stopped | Output::Cluster(_) => {}
        }
        None
    }

    /// Lets time pass, with the ticks that are due in it.
    pub fn pass_ms(&mut self, ms: u64) {
        let end = self.now.at.after_ms(ms);
        while self.tick_until(end) {}
        self.move_to(end);
    }

    /// Goes to the next timer that is due by `end`; whether there was one.
    fn tick_until(&mut self, end: Timestamp) -> bool {
        let Some(at) = self.node.next_timeout().filter(|at| *at <= end) else { return false };
        self.move_to(at.max(self.now.at) + 1);
        self.input(Input::Tick);
        true
    }

    fn move_to(&mut self, at: Timestamp) {
        let to_ms = at.as_ms().saturating_sub(self.now.at.as_ms());
        let to_ms = i64::try_from(to_ms).unwrap_or(i64::MAX);
        self.now.wall_ms = self.now.wall_ms.saturating_add(to_ms);
        self.now.at = self.now.at.max(at);
    }

    /// Sends a request; its number.
    pub fn send(&mut self, conn: u64, version: i16, request: Request) -> RequestId {
        self.next_request += 1;
        let id = RequestId(self.next_request);
        let client_id: Arc<str> = Arc::from("test");
        self.input(Input::Request { id, conn: ConnId(conn), version, client_id, request });
        id
    }

    /// How a request ended, if it has.
    pub fn take_outcome(&mut self, id: RequestId) -> Option<Outcome> {
        self.outcomes.remove(&id)
    }

    /// The answer to a request, if it is there.
    pub fn take(&mut self, id: RequestId) -> Option<Response> {
        match self.take_outcome(id)? {
            Outcome::Answer(response) => Some(response),
            Outcome::Silent | Outcome::Disconnect => None,
        }
    }

    /// How a request ends, waiting for it up to so many ms.
    pub fn await_outcome(&mut self, id: RequestId, patience_ms: u64) -> Option<Outcome> {
        let end = self.now.at.after_ms(patience_ms);
        loop {
            if let Some(outcome) = self.take_outcome(id) {
                return Some(outcome);
            }
            if !self.tick_until(end) {
                return None;
            }
        }
    }
}
