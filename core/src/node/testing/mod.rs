//! A node on files in memory, driven until it is quiet: for tests of whole requests.

mod disk;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub(crate) use self::disk::{Failing, Files};
use super::Node;
use crate::cluster::ClusterOutput;
use crate::config::BrokerConfig;
use crate::io::{ConnId, Input, Output, RequestId};
use crate::time::{Now, Timestamp};
use crate::wire::{Request, Response};

/// How long a request may take before a test gives up on it.
const PATIENCE_MS: u64 = 40_000;

/// A node, its files, its clock.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) node: Node,
    pub(crate) files: Files,
    pub(crate) now: Now,
    config: BrokerConfig,
    answers: BTreeMap<RequestId, Response>,
    silent: BTreeSet<RequestId>,
    pub(crate) faults: Vec<String>,
    pub(crate) ready: bool,
    pub(crate) stopped: bool,
    /// What a member asked of the world outside.
    pub(crate) wanted: Vec<ClusterOutput>,
    next_request: u64,
}

impl Bench {
    /// A node that serves, on empty files.
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    /// The same with other settings than a test's usual ones.
    pub(crate) fn with(change: impl FnOnce(&mut BrokerConfig)) -> Self {
        let mut config = crate::memory::small();
        change(&mut config);
        let now = Now { at: Timestamp(1), wall_ms: 1_000_000 };
        Self::start_on(config, Files::default(), now)
    }

    /// A node on empty files, after something was done to them.
    pub(crate) fn on_files(change: impl FnOnce(&mut Files)) -> Self {
        let Self { config, now, .. } = Self::start();
        let mut files = Files::default();
        change(&mut files);
        Self::start_on(config, files, now)
    }

    /// A member of a cluster that leads nothing yet.
    pub(crate) fn member(node_id: i32, change: impl FnOnce(&mut BrokerConfig)) -> Self {
        let mut config = BrokerConfig {
            node_id,
            advertised_host: alloc::format!("b{node_id}"),
            offsets_topic_num_partitions: 1,
            transaction_state_log_num_partitions: 1,
            verdict_journal_bytes: 1 << 20,
            entropy: 42,
            ..BrokerConfig::default()
        };
        change(&mut config);
        let now = Now { at: Timestamp(1), wall_ms: 1_000_000 };
        Self::start_node(Node::member(config.clone()), config, Files::default(), now)
    }

    fn start_on(config: BrokerConfig, files: Files, now: Now) -> Self {
        Self::start_node(Node::new(config.clone()), config, files, now)
    }

    fn start_node(node: Node, config: BrokerConfig, files: Files, now: Now) -> Self {
        let mut bench = Self {
            node,
            files,
            now,
            config,
            answers: BTreeMap::new(),
            silent: BTreeSet::new(),
            faults: Vec::new(),
            ready: false,
            stopped: false,
            wanted: Vec::new(),
            next_request: 0,
        };
        bench.input(Input::Start);
        bench
    }

    /// The same files under a new node, as after `kill -9`.
    pub(crate) fn crash(self) -> Self {
        Self::start_on(self.config, self.files.switched_off(), self.now)
    }

    /// As [`Bench::crash`], and again in the middle of the recovery, after so many changes of it.
    pub(crate) fn crash_twice(self, changes: u32) -> Self {
        let mut files = self.files.switched_off();
        files.hold_after(changes);
        Self::start_on(self.config, files, self.now).crash()
    }

    /// A clean stop, something done to the files, a start.
    pub(crate) fn restart_after(mut self, change: impl FnOnce(&mut Files)) -> Self {
        self.input(Input::Stop);
        assert!(self.stopped, "{:?}", self.faults);
        change(&mut self.files);
        self.crash()
    }

    /// A clean stop and a start.
    pub(crate) fn restart(self) -> Self {
        self.restart_after(|_| {})
    }

    /// Other settings from the next start on.
    pub(crate) fn configure(&mut self, change: impl FnOnce(&mut BrokerConfig)) {
        change(&mut self.config);
    }

    /// Gives an input and works off what follows from it, files included.
    pub(crate) fn input(&mut self, input: Input) {
        self.work_off(VecDeque::from([input]));
    }

    fn work_off(&mut self, mut inputs: VecDeque<Input>) {
        let mut steps = 0;
        while let Some(input) = inputs.pop_front() {
            steps += 1;
            assert!(steps < 100_000, "the node never comes to rest");
            self.node.handle(self.now, input);
            while let Some(output) = self.node.poll_output(self.now) {
                match output {
                    Output::File { ticket, op } => {
                        if let Some(result) = self.files.submit(ticket, op) {
                            inputs.push_back(Input::FileDone { ticket, result });
                        }
                    }
                    Output::Job { ticket, job } => {
                        inputs.push_back(Input::JobDone { ticket, done: job.run() });
                    }
                    Output::Respond { id, response } => {
                        assert!(self.answers.insert(id, response).is_none(), "one answer");
                    }
                    Output::Ready => self.ready = true,
                    Output::Stopped => self.stopped = true,
                    Output::Fault { reason } => self.faults.push(reason),
                    Output::Silent { id } => {
                        self.silent.insert(id);
                    }
                    Output::Disconnect { .. } => {}
                    Output::Cluster(output) => self.wanted.push(output),
                }
            }
        }
    }

    /// Performs what was held back.
    pub(crate) fn release(&mut self) {
        let mut inputs = VecDeque::new();
        for (ticket, op) in self.files.release() {
            let result = self.files.submit(ticket, op).expect("nothing is held any more");
            inputs.push_back(Input::FileDone { ticket, result });
        }
        self.work_off(inputs);
    }

    /// The wall clock, in ms.
    pub(crate) const fn wall_ms(&self) -> i64 {
        self.now.wall_ms
    }

    /// Bytes of the segments of a topic's first partition.
    pub(crate) fn log_bytes(&self, topic: &str) -> u64 {
        let topic_id = self.node.meta.topic(topic).expect("the topic exists").id;
        self.node.store.log_bytes(crate::types::PartitionId { topic_id, partition: 0 })
    }

    /// Lets time pass, with the ticks that are due in it.
    pub(crate) fn pass_ms(&mut self, ms: u64) {
        let end = self.now.at.after_ms(ms);
        while let Some(at) = self.node.next_timeout().filter(|at| *at <= end) {
            self.tick_at(at);
        }
        self.now.wall_ms += i64::try_from(end.ms_since(self.now.at)).unwrap();
        self.now.at = self.now.at.max(end);
    }

    fn tick_at(&mut self, at: Timestamp) {
        let at = at.max(self.now.at);
        self.now.wall_ms += i64::try_from(at.ms_since(self.now.at)).unwrap();
        self.now.at = Timestamp(at.0 + 1);
        self.input(Input::Tick);
    }

    /// Sends a request over one connection; its answer is there when it is.
    pub(crate) fn send(&mut self, version: i16, request: Request) -> RequestId {
        self.send_over(1, version, request)
    }

    /// The same over a connection of choice.
    pub(crate) fn send_over(&mut self, conn: u64, version: i16, request: Request) -> RequestId {
        let (id, input) = self.numbered(conn, version, request);
        self.input(input);
        id
    }

    /// Several requests that arrive before the first file operation of any of them is done.
    pub(crate) fn send_at_once(&mut self, requests: Vec<(i16, Request)>) -> Vec<RequestId> {
        let (ids, inputs): (Vec<_>, VecDeque<_>) = requests
            .into_iter()
            .map(|(version, request)| self.numbered(1, version, request))
            .unzip();
        self.work_off(inputs);
        ids
    }

    fn numbered(&mut self, conn: u64, version: i16, request: Request) -> (RequestId, Input) {
        self.next_request += 1;
        let id = RequestId(self.next_request);
        let client_id: Arc<str> = Arc::from("test");
        (id, Input::Request { id, conn: ConnId(conn), version, client_id, request })
    }

    /// The answer, if it is there.
    pub(crate) fn take(&mut self, id: RequestId) -> Option<Response> {
        self.answers.remove(&id)
    }

    /// Whether the request ended without an answer, as its protocol wants.
    pub(crate) fn was_silent(&self, id: RequestId) -> bool {
        self.silent.contains(&id)
    }

    /// The answer, which may take its time.
    pub(crate) fn await_answer(&mut self, id: RequestId) -> Response {
        let end = self.now.at.after_ms(PATIENCE_MS);
        loop {
            if let Some(answer) = self.take(id) {
                return answer;
            }
            let next = self.node.next_timeout().filter(|at| *at <= end);
            self.tick_at(next.expect("an answer in bounded time"));
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(&mut self, version: i16, request: Request) -> Response {
        let id = self.send(version, request);
        self.await_answer(id)
    }
}
