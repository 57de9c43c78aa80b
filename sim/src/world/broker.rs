//! A simulated broker: a node, its disk, its clock, its end of the connections.

use std::collections::{BTreeMap, VecDeque};

use verdict_core::clean::JobDone;
use verdict_core::cluster::{ClusterInput, ClusterOutput};
use verdict_core::config::BrokerConfig;
use verdict_core::io::{ConnId, FileOp, Input, Lane, Output, RequestId, Ticket};
use verdict_core::marks::Mark;
use verdict_core::node::Node;
use verdict_core::time::{Now, Timestamp};
use verdict_core::wire::Request;

use super::env::{EPOCH_MS, Env};
use super::named_files::misnamed;
use super::names::{answer_numbers, api_name};
use super::pins::Act;
use super::queue::Happening;
use super::shadow;
use crate::choices::{Choices, Fault, Label};
use crate::disk::{DiskFault, SimDisk, op_name, op_path};
use crate::history::Event;
use crate::marks;
use crate::trace::{What, hash_bytes, mix};

/// One request that waits its turn: a connection hands them over one at a time.
type Waiting = (u32, i16, Box<Request>);

/// How far a node is with stopping in order.
#[derive(Clone, Copy, Debug, Default)]
enum Stopping {
    #[default]
    No,
    Asked,
    Done,
}

#[derive(Clone, Debug, Default)]
struct Connection {
    busy: Option<RequestId>,
    waiting: VecDeque<Waiting>,
}

/// Leaves of a write to the journal the first frames: a frame's length is at its byte 4, without
/// the 36 bytes of its header.
fn tear(op: &mut FileOp, frames: u64) {
    let FileOp::Write { data, .. } = op else { return };
    let all: Vec<u8> = data.iter().flat_map(|part| part.iter().copied()).collect();
    let mut end = 0;
    for _ in 0..frames {
        let Some(&[a, b, c, d]) = all.get(end + 4..end + 8) else { break };
        end += 36 + u32::from_be_bytes([a, b, c, d]) as usize;
    }
    *data = vec![all[..end.min(all.len())].to_vec().into()];
}

/// Whether the protocol protects a request from arriving after its sender has gone on. EndTxn and
/// TxnOffsetCommit of old would end, or join, the next transaction of the same epoch (what KIP-890
/// repairs), AddPartitionsToTxn and AddOffsetsToTxn would begin one, OffsetCommit would put an
/// older offset back, and ConsumerGroupHeartbeat would join, leave, or let go of partitions again.
pub(super) fn is_protected(request: &Request, version: i16) -> bool {
    match request {
        Request::EndTxn(_) | Request::TxnOffsetCommit(_) => version >= 5,
        // Of brokers: they add with the epoch of the transaction, or only look.
        Request::AddPartitionsToTxn(_) => version >= 4,
        Request::AddOffsetsToTxn(_) | Request::OffsetCommit(_) => false,
        // Of a transaction below version 2, or without the version, the leader cannot be strict.
        Request::WriteTxnMarkers(request) => {
            version >= 2 && request.markers.iter().all(|marker| marker.transaction_version >= 2)
        }
        // A late one moves a level again that has been moved back meanwhile.
        Request::ConsumerGroupHeartbeat(_) | Request::UpdateFeatures(_) => false,
        _ => true,
    }
}

/// A broker.
#[derive(Clone, Debug)]
pub(super) struct Broker {
    pub(super) index: usize,
    pub(super) node: Option<Node>,
    pub(super) disk: SimDisk,
    pub(super) life: u32,
    pub(super) ready: bool,
    pub(super) faulted: Option<String>,
    /// A write to the journal failed in this life: what it left there may turn up in the next one.
    journal_failed: bool,
    pub(super) inputs: u64,
    config: BrokerConfig,
    /// One of several.
    is_member: bool,
    /// Bits of its disk, which is not the only copy, have turned.
    has_rot: bool,
    /// `group.max.size` from the second life on.
    later_group_size: Option<i32>,
    started_us: u64,
    wall_jump_ms: i64,
    highest_jump_ms: i64,
    /// When the node wants its next tick, as of its last input.
    due: Option<Timestamp>,
    tick_at_us: Option<u64>,
    ticks_in_a_row: (u64, u32),
    paused_until_us: u64,
    conns: BTreeMap<ConnId, Connection>,
    /// Requests that wait their turn, on all connections.
    waiting: usize,
    requests: BTreeMap<RequestId, (ConnId, u32, &'static str)>,
    next_request: u64,
    inputs_to_live: Option<u64>,
    /// How many markers cleaning had emptied when it was looked at last.
    emptied: u64,
    /// Cleaning emptied one in this life, and the node is to die of that.
    dies_cleaned: bool,
    marks_seen: u64,
    crash_when_done: Option<(Ticket, u64)>,
    stopping: Stopping,
}

impl Broker {
    /// Broker number `index` of so many.
    pub(super) fn new(index: usize, mut config: BrokerConfig, count: usize) -> Self {
        let is_member = count > 1;
        // Every answer is short here.
        config.verdict_sendfile_min_bytes = 1;
        if is_member {
            config.node_id = index as i32 + 1;
            config.advertised_host = format!("b{index}");
            config.advertised_port = 9092 + index as i32;
        }
        Self {
            is_member,
            has_rot: false,
            index,
            node: None,
            disk: SimDisk::default(),
            life: 0,
            ready: false,
            faulted: None,
            journal_failed: false,
            inputs: 0,
            config,
            later_group_size: None,
            started_us: 0,
            wall_jump_ms: 0,
            highest_jump_ms: 0,
            due: None,
            tick_at_us: None,
            ticks_in_a_row: (0, 0),
            paused_until_us: 0,
            conns: BTreeMap::new(),
            waiting: 0,
            requests: BTreeMap::new(),
            next_request: 1,
            inputs_to_live: None,
            emptied: 0,
            dies_cleaned: false,
            marks_seen: 0,
            crash_when_done: None,
            stopping: Stopping::No,
        }
    }

    /// The same, with another `group.max.size` from the second life on.
    pub(super) fn with_later_group_size(mut self, size: Option<i32>) -> Self {
        self.later_group_size = size;
        self
    }

    pub(super) fn paused_until_us(&self) -> u64 {
        self.paused_until_us
    }

    fn now(&self, env: &Env) -> Now {
        Now {
            at: Timestamp(env.now_us - self.started_us),
            wall_ms: EPOCH_MS + (env.now_us / 1_000) as i64 + self.wall_jump_ms,
        }
    }

    /// A life begins.
    pub(super) fn start(&mut self, env: &mut Env) {
        self.upgrade(env);
        self.started_us = env.now_us;
        self.life += 1;
        if let Some(size) = self.later_group_size.filter(|_| self.life > 1) {
            self.config.group_max_size = size;
        }
        self.ready = false;
        self.journal_failed = false;
        if self.faulted.take().is_some() && self.has_rot {
            self.say(env, || "gets an empty disk for the rotten one".to_owned());
            self.disk = SimDisk::default();
            self.has_rot = false;
        }
        self.due = None;
        self.tick_at_us = None;
        let entropy = |env: &mut Env| u128::from(env.choices.below(Label::Entropy, u32::MAX));
        self.config.entropy =
            (0..4).fold(u128::from(self.life), |all, _| (all << 32) ^ entropy(env));
        let config = self.config.clone();
        self.node = Some(if self.is_member { Node::member(config) } else { Node::new(config) });
        self.plan_death(env);
        self.head(env, || "starts".to_owned());
        self.handle(env, Input::Start);
    }

    /// Whether this life is a short one, if there are such.
    fn plan_death(&mut self, env: &mut Env) {
        self.inputs_to_live = None;
        let again = env.profile.rate(Fault::CrashAgain);
        if self.life > 1 && env.choices.chance(Label::CrashAgain, again) {
            self.inputs_to_live = Some(env.choices.between(Label::CrashInputs, 1, 40));
        }
    }

    /// An id's epochs end, which happens once: often the node dies while the transaction of the last
    /// one ends, where epochs were aged and nodes die.
    fn may_die_soon(&mut self, env: &mut Env) {
        let dies = env.has_aged_epochs && env.profile.rate(Fault::Crash) > 0;
        if dies && self.inputs_to_live.is_none() && env.choices.below(Label::CrashInputs, 4) > 0 {
            self.inputs_to_live = Some(env.choices.between(Label::CrashInputs, 1, 6));
        }
    }

    /// Cleaning left of a producer's last marker an empty batch, which is seldom: often the node dies
    /// soon and comes back without snapshots, and has to read it, as long as there are faults.
    fn may_die_cleaned(&mut self, env: &mut Env) {
        let emptied = marks::count(Mark::CleanedMarkerStays);
        let more = core::mem::replace(&mut self.emptied, emptied) < emptied;
        let dies = !self.is_member && env.profile.on().next().is_some();
        if more {
            self.say(env, || "has emptied a marker by cleaning".to_owned());
        }
        if more && dies && self.inputs_to_live.is_none() {
            self.dies_cleaned = env.choices.below(Label::CrashInputs, 2) == 1;
            if self.dies_cleaned {
                self.inputs_to_live = Some(env.choices.between(Label::CrashInputs, 5, 60));
            }
        }
    }

    /// Comes back as a newer version, now and then, with what its features allow at most.
    fn upgrade(&mut self, env: &mut Env) {
        let rate = env.profile.rate(Fault::Upgraded);
        if self.life > 0 && env.choices.chance(Label::Upgrade, rate) {
            self.say(env, || "comes back with transaction.version 2".to_owned());
            env.profile.set(Fault::Upgraded, 0);
            // The highest level there is: it cannot be refused.
            let _ = self.config.set("verdict.feature.transaction.version", "2");
            env.note_level(2);
        }
    }

    /// Nobody kills this node any more.
    pub(super) fn heal(&mut self, env: &mut Env) {
        self.inputs_to_live = None;
        if core::mem::replace(&mut self.wall_jump_ms, self.highest_jump_ms) != self.wall_jump_ms {
            env.history.push(env.now_us, 0, Event::ClockJumped);
        }
        self.disk.fill_until(0);
        if self.faulted.is_some() {
            self.crash(env, 10_000);
        }
    }

    /// The node dies now and comes back after so many microseconds.
    pub(super) fn crash(&mut self, env: &mut Env, back_after_us: u64) {
        if self.node.take().is_none() {
            return;
        }
        self.head(env, || format!("dies, back in {back_after_us} us"));
        env.trace.event(env.now_us, What::Life, [0, self.life.into(), back_after_us, 0]);
        env.history.push(env.now_us, 0, Event::Crashed);
        self.ready = false;
        self.disk.crash(&mut env.choices);
        env.note_death();
        self.tamper(env);
        self.requests.clear();
        self.waiting = 0;
        for conn in core::mem::take(&mut self.conns).into_keys() {
            env.break_link(conn);
        }
        let restart = Happening::Restart { broker: self.index, life: self.life };
        env.queue.push(env.now_us + back_after_us.max(1), restart);
    }

    pub(super) fn arrive(
        &mut self,
        env: &mut Env,
        conn: ConnId,
        corr: u32,
        version: i16,
        request: Box<Request>,
    ) {
        let late_produce = matches!(&*request, Request::Produce(produce)
            if env.forgets_producers || env.is_private(produce));
        if env.was_reset(conn) && (late_produce || !is_protected(&request, version)) {
            return env.note_lost(conn, corr);
        }
        if self.node.is_none() {
            env.note_lost(conn, corr);
            return env.break_link(conn);
        }
        env.records_deleted |= matches!(&*request, Request::DeleteRecords(_));
        let connection = self.conns.entry(conn).or_default();
        if connection.busy.is_some() {
            connection.waiting.push_back((corr, version, request));
            self.waiting += 1;
        } else {
            self.hand_over(env, conn, (corr, version, request));
        }
    }

    fn hand_over(&mut self, env: &mut Env, conn: ConnId, (corr, version, request): Waiting) {
        let id = RequestId(self.next_request);
        self.next_request += 1;
        let api = api_name(&request);
        env.note_begun(self.index, (conn, corr), &request);
        self.requests.insert(id, (conn, corr, api));
        self.conns.entry(conn).or_default().busy = Some(id);
        self.say(env, || {
            let about = super::names::request_text(&request);
            format!("< {api} v{version} of connection {}{about}", conn.0)
        });
        env.trace.event(
            env.now_us,
            What::Input,
            [1, conn.0, corr.into(), hash_bytes(api.as_bytes())],
        );
        let client_id = "sim".into();
        self.handle(env, Input::Request { id, conn, version, client_id, request: *request });
    }

    /// News for a member.
    pub(super) fn news(&mut self, env: &mut Env, input: ClusterInput) {
        if self.node.is_some() {
            env.trace.event(env.now_us, What::Input, [2, self.index as u64, 0, 0]);
            if let (ClusterInput::Lead(lead), Some(cluster)) = (&input, &mut env.cluster) {
                cluster.heard(self.index, lead.partition, lead.epoch);
            }
            self.handle(env, Input::Cluster(Box::new(input)));
        }
    }

    /// The member hears who leads what, and gets the logs that it is to lead.
    pub(super) fn tell(&mut self, env: &mut Env) {
        if !self.ready {
            return;
        }
        if env.cluster.is_none() {
            return;
        }
        // Whoever tells it may not know that it was told.
        let again = env.choices.below(Label::News, 30) == 29;
        let Some(cluster) = &mut env.cluster else { return };
        let life = self.life;
        for input in cluster.news_for(self.index, env.now_us, again) {
            let leads = matches!(input, ClusterInput::Lead(_));
            if leads && env.choices.chance(Label::NewsLate, env.profile.rate(Fault::NewsLate)) {
                // It may hear before that it leads no longer.
                let at = env.now_us + env.choices.between(Label::News, 10_000, 1_000_000);
                let (broker, input) = (self.index, Box::new(input));
                env.queue.push(at, Happening::News { broker, life, input });
            } else if self.life == life {
                self.news(env, input);
            }
        }
    }

    fn cluster_output(&mut self, env: &mut Env, output: ClusterOutput) {
        let me = (self.index, self.life);
        match output {
            ClusterOutput::Confirm { id, changes } => env.confirm(me, id, changes),
            ClusterOutput::Request { id, to, version, request } => {
                let api = api_name(&request);
                self.say(env, || format!("> {api} v{version} to b{}", to - 1));
                env.send_to_peer(me, id, to, version, request);
            }
            ClusterOutput::Resigned { partition, epoch } => {
                self.say(env, || format!("gives up {partition:?} of epoch {epoch}"));
                env.resigned(self.index, partition, epoch);
            }
            ClusterOutput::WantProducerIds => env.give_producer_ids(self.index, self.life),
        }
    }

    pub(super) fn conn_closed(&mut self, env: &mut Env, conn: ConnId) {
        env.forget_link(conn);
        if let Some(gone) = self.conns.remove(&conn) {
            self.waiting -= gone.waiting.len();
            gone.waiting.iter().for_each(|(corr, ..)| env.note_lost(conn, *corr));
            self.requests.retain(|_, (of, ..)| *of != conn);
            self.handle(env, Input::ConnectionClosed { conn });
        }
    }

    pub(super) fn tick(&mut self, env: &mut Env) {
        self.tick_at_us = None;
        match self.due {
            Some(due) if due <= self.now(env).at => {
                let (at, count) = self.ticks_in_a_row;
                self.ticks_in_a_row =
                    if at == env.now_us { (at, count + 1) } else { (env.now_us, 1) };
                assert!(self.ticks_in_a_row.1 < 10_000, "the timer of a node does not move on");
                self.handle(env, Input::Tick);
            }
            Some(due) => self.plan_tick(env, due),
            None => {}
        }
    }

    pub(super) fn file_done(&mut self, env: &mut Env, lane: Lane) {
        let done = self.disk.complete(env.now_us, lane, &env.profile, &mut env.choices);
        let Some((ticket, op, result)) = done else { return };
        if let Err(error) = &result {
            self.say(env, || format!("{} {} fails: {error}", op_name(&op), op_path(&op)));
            self.journal_failed |= lane == Lane::Journal && matches!(op, FileOp::Write { .. });
        }
        env.trace.event(env.now_us, What::File, [ticket.0, result.is_ok().into(), 0, 0]);
        if let Some((_, back_us)) = self.crash_when_done.take_if(|(pinned, _)| *pinned == ticket) {
            return self.crash(env, back_us);
        }
        self.handle(env, Input::FileDone { ticket, result });
    }

    pub(super) fn job_done(&mut self, env: &mut Env, ticket: Ticket, done: JobDone) {
        env.trace.event(env.now_us, What::Input, [3, ticket.0, done.piece.is_ok().into(), 0]);
        self.handle(env, Input::JobDone { ticket, done });
    }

    fn handle(&mut self, env: &mut Env, input: Input) {
        if self.node.is_none() {
            return;
        }
        self.clock_faults(env);
        let stops = env.choices.chance(Label::Stop, env.profile.rate(Fault::Stopped));
        self.inputs += 1;
        if self.is_member
            && env.choices.chance(Label::LeaderMoves, env.profile.rate(Fault::LeaderMoves))
        {
            env.move_something();
        }
        self.may_die_cleaned(env);
        let mut outputs_to_live = self.doomed(env);
        let now = self.now(env);
        let rotated = marks::count(Mark::TxnPidRotated);
        if let Some(node) = &mut self.node {
            node.handle(now, input);
        }
        if marks::count(Mark::TxnPidRotated) > rotated {
            self.may_die_soon(env);
        }
        loop {
            match self.pinned_mark(env) {
                Some(Act::Crash(back_us)) => return self.crash(env, back_us),
                Some(act) => env.queue.push(env.now_us, Happening::Pinned { act }),
                None => {}
            }
            if let Some(left) = &mut outputs_to_live {
                if *left == 0 {
                    let back_us = env.choices.between(Label::RestartDelay, 10_000, 2_000_000);
                    return self.crash(env, back_us);
                }
                *left -= 1;
            }
            let Some(output) = self.node.as_mut().and_then(|node| node.poll_output(now)) else {
                break;
            };
            self.output(env, output);
            if self.node.is_none() {
                return;
            }
        }
        if outputs_to_live.is_some() {
            let back_us = env.choices.between(Label::RestartDelay, 10_000, 2_000_000);
            return self.crash(env, back_us);
        }
        self.due = self.node.as_ref().and_then(Node::next_timeout);
        if let Some(due) = self.due {
            self.plan_tick(env, due);
        }
        if env.choices.chance(Label::Shadow, env.profile.rate(Fault::Shadow)) {
            self.recover_beside(env);
        }
        self.next_requests(env);
        if stops && !matches!(self.stopping, Stopping::Asked) {
            self.stopping = Stopping::Asked;
            self.say(env, || "is to stop".to_owned());
            self.handle(env, Input::Stop);
        }
    }

    /// What another node would serve, had this one lost power now; in a cluster, what a member
    /// would that leads from now on.
    fn recover_beside(&self, env: &mut Env) {
        let wall_ms = self.now(env).wall_ms;
        let events = match &env.cluster {
            Some(cluster) => shadow::lead(&self.config, cluster.committed(), wall_ms, env.parts),
            None => shadow::recover(&self.config, &self.disk, wall_ms, env.parts),
        };
        for event in events {
            env.history.push(env.now_us, 0, event);
        }
    }

    /// The node has stopped in order.
    fn stopped(&mut self, env: &mut Env) {
        // One that is told to stop before it serves, or that cannot write its last checkpoint,
        // leaves its journal as it is. What a write that failed left in the journal is there behind
        // the last checkpoint too, and its records come back over those that are changed on the
        // disk meanwhile (seed 247916).
        let orderly = self.ready && self.faulted.is_none() && !self.journal_failed;
        self.stopping = if orderly { Stopping::Done } else { Stopping::No };
        let back_us = env.choices.between(Label::RestartDelay, 10_000, 2_000_000);
        self.crash(env, back_us);
    }

    /// What becomes of a disk whose node is down.
    fn tamper(&mut self, env: &mut Env) {
        let deleted = env.records_deleted || marks::count(Mark::RetentionMovedLogStart) > 0;
        if core::mem::take(&mut self.dies_cleaned) {
            self.disk.lose_snapshots(deleted);
        }
        if env.choices.chance(Label::DerivedDamaged, env.profile.rate(Fault::DerivedDamaged))
            && let Some(path) = self.disk.damage_derived(deleted, &mut env.choices)
        {
            self.say(env, || format!("finds {path} damaged"));
        }
        if env.choices.chance(Label::NewerRecord, env.profile.rate(Fault::NewerRecord)) {
            self.disk.put_records_of_other_versions();
        }
        // Those of a cluster age where they are kept.
        if matches!(core::mem::take(&mut self.stopping), Stopping::Done)
            && !self.is_member
            && core::mem::take(&mut env.epochs_to_age)
        {
            self.say(env, || "finds its producer epochs near their end".to_owned());
            let aged = self.disk.age_epochs(&mut env.choices);
            env.note_aged(aged);
        }
        let rate = env.profile.rate(Fault::CheckpointLost);
        let rate = if self.disk.has_hole() { rate.max(env.holes_rot) } else { rate };
        if env.choices.chance(Label::CheckpointLost, rate) {
            let both = self.disk.lose_checkpoints(&mut env.choices);
            let what = if both { "its checkpoints" } else { "one of its checkpoints" };
            self.say(env, || format!("finds {what} gone"));
            if both {
                env.history.push(env.now_us, 0, Event::Damaged { records: false });
            }
        }
        if env.choices.chance(Label::Rot, env.profile.rate(Fault::Rot))
            && let Some(path) = self.disk.rot(&mut env.choices)
        {
            self.say(env, || format!("finds a bit turned in {path}"));
            // What a member's disk holds is not the only copy.
            if self.is_member {
                self.has_rot = true;
            } else {
                env.history.push(env.now_us, 0, Event::Damaged { records: true });
            }
            env.profile.set(Fault::Rot, 0);
        }
    }

    /// Whether this input is the last one, and after how many outputs of it the node dies.
    fn doomed(&mut self, env: &mut Env) -> Option<u32> {
        let mut dies = env.choices.chance(Label::Crash, env.profile.rate(Fault::Crash));
        if let Some(left) = &mut self.inputs_to_live {
            *left -= 1;
            dies |= *left == 0;
        }
        if !dies {
            return None;
        }
        self.inputs_to_live = None;
        Some(env.choices.below(Label::CrashOutput, 8))
    }

    fn pinned_mark(&mut self, env: &mut Env) -> Option<Act> {
        if env.pins.is_empty() || self.marks_seen == marks::total() {
            return None;
        }
        self.marks_seen = marks::total();
        env.pins.marks(|mark: Mark| marks::count(mark))
    }

    fn clock_faults(&mut self, env: &mut Env) {
        if env.choices.chance(Label::ClockJumps, env.profile.rate(Fault::ClockJump)) {
            // Even picks go forward, odd ones back; the lower the nearer.
            let pick = i64::from(env.choices.below(Label::ClockJump, 20_000));
            let by_ms = if pick % 2 == 0 { pick / 2 } else { -(pick / 2) - 1 };
            self.jump(env, by_ms);
        }
        if env.choices.chance(Label::NodePaused, env.profile.rate(Fault::NodePaused)) {
            let us = env.choices.between(Label::NodePause, 10_000, 3_000_000);
            self.head(env, || format!("is paused for {us} us"));
            self.paused_until_us = env.now_us + us;
        }
    }

    pub(super) fn jump(&mut self, env: &mut Env, by_ms: i64) {
        self.head(env, || format!("wall clock jumps by {by_ms} ms"));
        env.trace.event(env.now_us, What::Clock, [by_ms.cast_unsigned(), 0, 0, 0]);
        self.wall_jump_ms += by_ms;
        self.highest_jump_ms = self.highest_jump_ms.max(self.wall_jump_ms);
        env.clocks_differ |= self.is_member;
        env.history.push(env.now_us, 0, Event::ClockJumped);
    }

    fn output(&mut self, env: &mut Env, output: Output) {
        match output {
            Output::Respond { id, response } => {
                let (code, number) = answer_numbers(&response);
                let numbers = [id.0, code.cast_unsigned().into(), number.cast_unsigned(), 1];
                env.trace.event(env.now_us, What::Output, numbers);
                if let Some(what) = misnamed(&response, &self.disk) {
                    env.history.push(env.now_us, 0, Event::Misnamed { what });
                }
                if let Some((conn, corr, api)) = self.finish(id) {
                    self.say(env, || {
                        let about = super::names::answer_text(&response);
                        format!("> {api} code {code} to connection {}{about}", conn.0)
                    });
                    env.respond(conn, corr, api, response);
                }
            }
            Output::Silent { id } => {
                self.finish(id);
            }
            Output::Disconnect { id, reason } => {
                if let Some((conn, ..)) = self.finish(id) {
                    self.say(env, || format!("closes connection {}: {reason}", conn.0));
                    env.break_link(conn);
                }
            }
            Output::File { ticket, op } => self.submit(env, ticket, op),
            Output::Cluster(output) => self.cluster_output(env, output),
            Output::Job { ticket, job } => {
                // In line: a job is a pure function. When its result comes is drawn.
                let done = Box::new(job.run());
                let us = env.choices.between(Label::DiskLatency, 5, 3_000);
                let (broker, life) = (self.index, self.life);
                let happening = Happening::JobDone { broker, life, ticket, done };
                env.queue.push(env.now_us + us, happening);
            }
            Output::Ready => {
                self.ready = true;
                env.member_is_ready(self.index);
                self.say(env, || "is ready".to_owned());
                env.trace.event(env.now_us, What::Life, [1, self.life.into(), 0, 0]);
                env.history.push(env.now_us, 0, Event::Served);
                if let Some(Act::Crash(back_us)) = env.pins.ready() {
                    self.crash(env, back_us);
                }
            }
            Output::Fault { reason } => {
                self.head(env, || format!("is at fault: {reason}"));
                env.trace.event(env.now_us, What::Life, [2, self.life.into(), 0, 0]);
                self.faulted = Some(reason);
                let kill = Happening::Kill { broker: self.index, life: self.life };
                let after = env.choices.between(Label::RestartDelay, 100_000, 2_000_000);
                env.queue.push(env.now_us + after, kill);
            }
            Output::Stopped => self.stopped(env),
        }
    }

    fn submit(&mut self, env: &mut Env, ticket: Ticket, mut op: FileOp) {
        let data = if let FileOp::Write { position, data, .. } = &op {
            data.iter().fold(*position, |hash, part| mix(hash, hash_bytes(part)))
        } else {
            0
        };
        let (name, path) = (op_name(&op), op_path(&op));
        let path_hash = hash_bytes(path.as_bytes());
        env.trace.event(
            env.now_us,
            What::Output,
            [ticket.0, hash_bytes(name.as_bytes()), path_hash, data],
        );
        if env.trace.wants_files() {
            let size = if let FileOp::Write { data, position, .. } = &op {
                format!("{} bytes at {position}", data.iter().map(bytes::Bytes::len).sum::<usize>())
            } else {
                String::new()
            };
            self.say(env, || format!("{name} {path} {size}"));
        }
        let pinned = env.pins.disk(name, path);
        match pinned {
            Some(Act::DiskIo) => self.disk.pin(ticket, DiskFault::Io),
            Some(Act::Tear(frames, _)) => tear(&mut op, frames),
            Some(Act::DiskNoSpace) => self.disk.pin(ticket, DiskFault::NoSpace),
            _ => {}
        }
        let (lane, end_us) =
            self.disk.submit(env.now_us, ticket, op, &env.profile, &mut env.choices);
        let done = Happening::FileDone { broker: self.index, life: self.life, lane };
        env.queue.push(end_us, done);
        if let Some(Act::Crash(back_us) | Act::Tear(_, back_us)) = pinned {
            // Once the operation is done on the disk, and before the node learns of it.
            self.crash_when_done = Some((ticket, back_us));
        }
    }

    /// A request is done: its connection may hand over the next one.
    fn finish(&mut self, id: RequestId) -> Option<(ConnId, u32, &'static str)> {
        let done = self.requests.remove(&id)?;
        if let Some(connection) = self.conns.get_mut(&done.0) {
            connection.busy = None;
        }
        Some(done)
    }

    fn next_requests(&mut self, env: &mut Env) {
        if self.waiting == 0 {
            return;
        }
        let next = self.conns.iter_mut().find_map(|(&conn, connection)| {
            if connection.busy.is_some() {
                return None;
            }
            connection.waiting.pop_front().map(|waiting| (conn, waiting))
        });
        if let Some((conn, waiting)) = next {
            self.waiting -= 1;
            // What waited behind another request may have been given up on meanwhile.
            if env.was_reset(conn) && !is_protected(&waiting.2, waiting.1) {
                env.note_lost(conn, waiting.0);
                return self.next_requests(env);
            }
            self.hand_over(env, conn, waiting);
        }
    }

    fn plan_tick(&mut self, env: &mut Env, due: Timestamp) {
        let at_us = (self.started_us + due.0).max(env.now_us);
        if self.tick_at_us.is_none_or(|planned| at_us < planned) {
            self.tick_at_us = Some(at_us);
            env.queue.push(at_us, Happening::Tick { broker: self.index, life: self.life });
        }
    }

    fn head(&self, env: &mut Env, text: impl FnOnce() -> String) {
        if env.trace.wants_lines() {
            env.trace.heading(env.now_us, &format!("b{}", self.index), &text());
        }
    }

    fn say(&self, env: &mut Env, text: impl FnOnce() -> String) {
        if env.trace.wants_lines() {
            env.trace.line(env.now_us, &format!("b{}", self.index), &text());
        }
    }
}
