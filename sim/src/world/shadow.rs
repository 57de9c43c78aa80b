//! Shadow recovery: what a node would serve that had nothing but the disk as it is durable now.
//!
//! At a random moment a copy of the disk loses power and a second node starts from it, beside the
//! one that lives. What it serves goes into the history, and O12 compares it with what clients
//! were told before: only what nobody was told of may differ. In a cluster it is a member on an
//! empty disk that leads all partitions of the clients' topic from what is committed now.

use verdict_core::cluster::ClusterInput;
use verdict_core::config::BrokerConfig;
use verdict_core::io::{ConnId, Input, Lane, Output, RequestId};
use verdict_core::node::Node;
use verdict_core::time::{Now, Timestamp};
use verdict_core::wire::{Request, Response};

use crate::choices::{Profile, Source};
use crate::clients::{TOPIC, code_of, fetch, list_offsets, listed_offset, read_fetch};
use crate::disk::SimDisk;
use crate::history::{Event, Fetch, Part};

/// More than any recovery takes.
const MOST_STEPS: u32 = 50_000;
/// How often a partition that is not served yet is asked again.
const MOST_ASKED: u32 = 200;
const MAX_BYTES: i32 = 1 << 20;

struct Shadow {
    node: Node,
    disk: SimDisk,
    choices: Source,
    profile: Profile,
    now_us: u64,
    wall_ms: i64,
    /// File operations under way, by when they end.
    under_way: Vec<(u64, Lane)>,
    ready: bool,
    fault: Option<String>,
    answer: Option<Response>,
    asked: u64,
    /// One of a cluster.
    is_member: bool,
}

/// What a node serves of each partition that starts from this disk after a loss of power.
pub(super) fn recover(
    config: &BrokerConfig,
    disk: &SimDisk,
    wall_ms: i64,
    parts: Part,
) -> Vec<Event> {
    let mut shadow = Shadow::new(Node::new(config.clone()), disk.clone(), wall_ms);
    shadow.disk.crash(&mut shadow.choices);
    shadow.start();
    shadow.all(parts)
}

/// What a member on an empty disk serves that is told this.
pub(super) fn lead(
    config: &BrokerConfig,
    told: Vec<ClusterInput>,
    wall_ms: i64,
    parts: Part,
) -> Vec<Event> {
    let config = BrokerConfig { node_id: 1, ..config.clone() };
    let mut shadow = Shadow::new(Node::member(config), SimDisk::default(), wall_ms);
    shadow.is_member = true;
    shadow.start();
    for input in told {
        shadow.handle(Input::Cluster(Box::new(input)));
    }
    shadow.all(parts)
}

impl Shadow {
    fn new(node: Node, disk: SimDisk, wall_ms: i64) -> Self {
        Self {
            node,
            disk,
            choices: Source::dull(),
            profile: Profile::dull(),
            now_us: 0,
            wall_ms,
            under_way: Vec::new(),
            ready: false,
            fault: None,
            answer: None,
            asked: 0,
            is_member: false,
        }
    }

    fn start(&mut self) {
        self.handle(Input::Start);
        self.settle(|shadow| shadow.ready);
    }

    /// Reads every partition to its end.
    fn all(mut self, parts: Part) -> Vec<Event> {
        if !self.ready {
            let reason = self.fault.unwrap_or_else(|| "it does not become ready".to_owned());
            return vec![Event::Unrecovered { reason }];
        }
        (0..parts).map(|part| self.read(part)).collect()
    }

    /// Reads a partition to its end.
    fn read(&mut self, part: Part) -> Event {
        let (mut from, mut batches) = (0, Vec::new());
        for _ in 0..MOST_ASKED {
            let request = fetch(part, from, false, 0, MAX_BYTES);
            let Some(response) = self.ask(12, request) else { break };
            match code_of(&response) {
                0 => {}
                // Records below were deleted.
                1 => {
                    let Some(found) = self.ask(7, list_offsets(TOPIC, part, -2)) else { break };
                    from = listed_offset(&found).unwrap_or(from);
                    continue;
                }
                // A member that is told of a topic has it a while later.
                3 if !self.is_member => {
                    return Event::Recovered { part, log_start: 0, batches };
                }
                _ => {
                    self.rest(50_000);
                    continue;
                }
            }
            let key = (part, from, false);
            let Ok(Some(Fetch { high_watermark, log_start, batches: more, .. })) =
                read_fetch(&response, key, 0)
            else {
                break;
            };
            from = more.last().map_or(from, |batch| batch.last + 1);
            batches.extend(more);
            if from >= high_watermark {
                return Event::Recovered { part, log_start, batches };
            }
        }
        Event::Unrecovered { reason: format!("partition {part} is not served from {from} on") }
    }

    fn ask(&mut self, version: i16, request: Request) -> Option<Response> {
        self.asked += 1;
        let (id, client_id) = (RequestId(self.asked), "shadow".into());
        self.handle(Input::Request { id, conn: ConnId(1), version, client_id, request });
        self.settle(|shadow| shadow.answer.is_some());
        self.answer.take()
    }

    /// Lets so many microseconds pass.
    fn rest(&mut self, us: u64) {
        let until_us = self.now_us + us;
        self.settle(|shadow| shadow.now_us >= until_us);
        self.now_us = self.now_us.max(until_us);
    }

    fn now(&self) -> Now {
        let past_ms = i64::try_from(self.now_us / 1_000).unwrap_or(i64::MAX);
        Now { at: Timestamp(self.now_us), wall_ms: self.wall_ms.saturating_add(past_ms) }
    }

    /// Goes on until something is the case, or nothing is left to happen.
    fn settle(&mut self, is_so: impl Fn(&Self) -> bool) {
        for _ in 0..MOST_STEPS {
            if is_so(self) || self.fault.is_some() {
                return;
            }
            let ends = self.under_way.iter().enumerate().min_by_key(|&(at, &(end, _))| (end, at));
            let file = ends.map(|(at, &(end_us, _))| (end_us, at));
            let timer = self.node.next_timeout().map(|due| due.0);
            match (file, timer) {
                (Some((end_us, at)), timer) if timer.is_none_or(|due| end_us <= due) => {
                    let (_, lane) = self.under_way.remove(at);
                    self.now_us = self.now_us.max(end_us);
                    self.file_done(lane);
                }
                (_, Some(due_us)) => {
                    self.now_us = self.now_us.max(due_us);
                    self.handle(Input::Tick);
                }
                (_, None) => return,
            }
        }
    }

    fn file_done(&mut self, lane: Lane) {
        let done = self.disk.complete(self.now_us, lane, &self.profile, &mut self.choices);
        if let Some((ticket, _, result)) = done {
            self.handle(Input::FileDone { ticket, result });
        }
    }

    fn handle(&mut self, input: Input) {
        let now = self.now();
        self.node.handle(now, input);
        while let Some(output) = self.node.poll_output(now) {
            match output {
                Output::File { ticket, op } => {
                    let (lane, end_us) =
                        self.disk.submit(self.now_us, ticket, op, &self.profile, &mut self.choices);
                    self.under_way.push((end_us, lane));
                }
                Output::Respond { response, .. } => self.answer = Some(response),
                Output::Ready => self.ready = true,
                Output::Fault { reason } => self.fault = Some(reason),
                // A cleaning that the second node begins is not waited for.
                Output::Job { .. }
                | Output::Cluster(_)
                | Output::Silent { .. }
                | Output::Disconnect { .. }
                | Output::Stopped => {}
            }
        }
    }
}
