//! Consume, transform, produce: one transaction after the other.

use verdict_core::wire::Response;

use super::belong::UNKNOWN_MEMBER_ID;
use super::heartbeat::{topic_id, topic_metadata};
use super::requests::{self as ask, Membership};
use super::{Member, Stage};
use crate::choices::{Choices, Label};
use crate::clients::admin::list_offsets;
use crate::clients::codes::{
    Asked, DUPLICATE_SEQUENCE_NUMBER, NONE, OFFSET_OUT_OF_RANGE, Reaction, STALE_MEMBER_EPOCH,
    react,
};
use crate::clients::fetching::{fetch, read_fetch};
use crate::clients::records::{Writer, batch, screened};
use crate::clients::requests::{
    add_offsets, add_partition, base_offset, end_txn, fetched_offset, find_coordinator,
    init_producer_id, listed_offset, offset_fetch, produce,
};
use crate::clients::session::Call;
use crate::clients::{ProducerKind, TOPIC};
use crate::history::{Event, GroupProtocol, Outcome, Part, Txn, deliver};
use crate::world::Env;

/// What a call was for. The numbers beside partitions say under which assignment it was asked.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// The id of the topic, which the consumer protocol speaks of.
    Topic,
    Find,
    Init,
    Committed(Part, u64),
    Earliest(Part, u64),
    Fetch(Part, u64),
    Step(Step),
}

/// The steps of a transaction, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    AddPartition,
    Produce,
    AddOffsets,
    Offsets,
    End(bool),
}

/// A transaction: the records of one fetch, each made into one of its own.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    txn: Txn,
    part: Part,
    output: Part,
    /// Who the member was when it fetched them.
    membership: Membership,
    owner: u32,
    assignment: u64,
    /// Ids of the records it writes, and of those they are made from.
    apps: Vec<(u64, u64)>,
    /// Where reading is to go on.
    next: i64,
    step: Step,
}

impl Member {
    /// Does the next piece of work, if there is any.
    pub(super) fn go_on(&mut self, env: &mut Env) {
        if self.done || !self.work.is_idle() || env.now_us < self.asleep_until_us {
            return;
        }
        if self.turn.is_some() && self.maybe_fault(env) {
            return;
        }
        if self.topic.is_none() && self.protocol == GroupProtocol::Consumer {
            return self.work.call(env, Job::Topic, 12, topic_metadata());
        }
        let (id, _) = &self.plan.id;
        if !self.found {
            return self.work.call(env, Job::Find, 4, find_coordinator(id, 1));
        }
        if self.identity.is_none() {
            let request = init_producer_id(Some(id), self.plan.timeout_ms, (-1, -1));
            return self.work.call(env, Job::Init, 4, request);
        }
        if let Some(turn) = &self.turn {
            let step = turn.step;
            return self.take(env, step);
        }
        if self.stage == Stage::Member && !self.is_drained(env) {
            self.read(env);
        }
    }

    /// Everything there is has been worked off, when that was asked for.
    fn is_drained(&mut self, env: &mut Env) -> bool {
        if self.proving && self.has_all() && self.drained.len() == usize::from(self.plan.inputs) {
            self.done = true;
            self.drop_membership(env);
        }
        self.done
    }

    fn read(&mut self, env: &mut Env) {
        if self.parts.is_empty() {
            return;
        }
        if env.now_us < self.next_fetch_us {
            return env.wake(self.client, self.next_fetch_us);
        }
        let unknown = self.parts.iter().find(|(part, _)| !self.positions.contains_key(part));
        if let Some((&part, &assignment)) = unknown {
            let request = match self.protocol {
                GroupProtocol::Classic => offset_fetch(&self.membership.group, part, true),
                GroupProtocol::Consumer => super::heartbeat::offset_fetch(&self.membership, part),
            };
            return self.work.call(env, Job::Committed(part, assignment), 9, request);
        }
        self.round += 1;
        let nth = self.parts.iter().nth(self.round % self.parts.len());
        let Some((&part, &assignment)) = nth else { return };
        let max = 200 + env.choices.of(self.client).below(Label::Count, 2_000) as i32;
        let request = fetch(part, self.positions[&part], true, 20, max);
        self.work.call(env, Job::Fetch(part, assignment), 12, request);
    }

    /// Takes a step of the transaction at hand.
    fn take(&mut self, env: &mut Env, step: Step) {
        let (Some(identity), Some(turn)) = (self.identity, &self.turn) else { return };
        let (id, group) = (&self.plan.id.0, &turn.membership.group);
        let v2 = self.plan.kind == ProducerKind::V2;
        let (version, request) = match step {
            Step::AddPartition => (3, add_partition(id, identity, turn.output)),
            Step::Produce => return self.produce(env, identity),
            Step::AddOffsets => (3, add_offsets(id, identity, group)),
            Step::Offsets => {
                let (part, offset) = (turn.part, turn.next);
                let txn = Some(turn.txn);
                let (group, owner) = (self.plan.group, Some(turn.owner));
                let event = Event::OffsetAsked { group, part, offset, txn, owner };
                env.note(self.client, event);
                let of = &turn.membership;
                let request = ask::txn_offset_commit(id, identity, of, part, offset);
                (if v2 { 5 } else { 3 }, request)
            }
            Step::End(commit) => {
                env.note(self.client, Event::EndAsked { txn: turn.txn, commit });
                (if v2 { 5 } else { 4 }, end_txn(id, identity, commit))
            }
        };
        self.work.call(env, Job::Step(step), version, request);
    }

    fn produce(&mut self, env: &mut Env, (pid, epoch): (i64, i16)) {
        let Some(turn) = &self.turn else { return };
        let next = self.sequences.entry(turn.output).or_insert(0);
        let first = *next;
        *next = first.wrapping_add(turn.apps.len() as i32) & i32::MAX;
        let (part, txn) = (turn.output, Some(turn.txn));
        for (index, &(app, from)) in (0_i32..).zip(&turn.apps) {
            let sequence = first.wrapping_add(index) & i32::MAX;
            env.note(self.client, Event::Derived { app, group: self.plan.group, from });
            env.note(self.client, Event::Sent { app, part, txn, pid, epoch, sequence });
        }
        let writer = Writer { pid, epoch, sequence: first, transactional: true };
        let apps: Vec<u64> = turn.apps.iter().map(|&(app, _)| app).collect();
        let version = self.plan.kind.produce_version();
        let records = screened(batch(writer, env.wall_ms(), &apps), version);
        let request = produce(Some(&self.plan.id.0), part, records, 5_000);
        self.work.call(env, Job::Step(Step::Produce), version, request);
    }

    /// An answer to a piece of work.
    pub(super) fn worked(
        &mut self,
        env: &mut Env,
        (place, call): (usize, Call<Job>),
        code: i16,
        response: &Response,
    ) {
        match (&call.kind, code) {
            (&Job::Fetch(part, of) | &Job::Earliest(part, of), OFFSET_OUT_OF_RANGE) => {
                let request = list_offsets(TOPIC, part, -2);
                return self.work.call(env, Job::Earliest(part, of), 7, request);
            }
            (&Job::Step(step), _) => return self.stepped(env, (place, call), step, code, response),
            (Job::Init, code) if react(Asked::InitProducerId, code) == Reaction::Fatal => {
                return self.die(env);
            }
            // Of a coordinator that is replaced and has not heard of it: an offset as of then. The
            // Java client asks whom it joined; ours asks again until it is told what is so.
            (Job::Committed(..), NONE) if env.is_answered_by_old() => {
                return self.work.retry(env, place, call);
            }
            (_, NONE) => {}
            // It is no member, or not in that epoch: its next heartbeat will tell.
            (Job::Committed(..), UNKNOWN_MEMBER_ID | STALE_MEMBER_EPOCH) => {
                self.next_fetch_us = env.now_us + 50_000;
                return env.wake(self.client, self.next_fetch_us);
            }
            _ => return self.work.retry(env, place, call),
        }
        match call.kind {
            Job::Topic => self.topic = topic_id(response),
            Job::Find => self.found = true,
            Job::Init => self.initialized(env, response),
            Job::Committed(part, of) => self.begins_at(env, (part, of), response, call.asked_us),
            Job::Earliest(part, of) if self.has(part, of) => {
                self.positions.insert(part, listed_offset(response).unwrap_or(0).max(0));
            }
            Job::Fetch(part, of) => self.fetched(env, (part, of), response, call.asked_us),
            Job::Earliest(..) | Job::Step(_) => {}
        }
    }

    fn initialized(&mut self, env: &mut Env, response: &Response) {
        let Response::InitProducerId(data) = response else { return };
        let (pid, epoch) = (data.producer_id, data.producer_epoch);
        self.identity = Some((pid, epoch));
        self.sequences.clear();
        env.note(self.client, Event::Initialized { id: self.plan.id.1, pid, epoch });
    }

    fn begins_at(
        &mut self,
        env: &mut Env,
        (part, of): (Part, u64),
        response: &Response,
        asked_us: u64,
    ) {
        let offset = fetched_offset(response).unwrap_or(-1);
        let (group, is_final) = (self.plan.group, false);
        env.note(self.client, Event::OffsetSeen { group, part, offset, asked_us, is_final });
        if !self.has(part, of) {
            return;
        }
        if offset < 0 {
            let request = list_offsets(TOPIC, part, -2);
            return self.work.call(env, Job::Earliest(part, of), 7, request);
        }
        self.positions.insert(part, offset);
    }

    fn fetched(
        &mut self,
        env: &mut Env,
        (part, of): (Part, u64),
        response: &Response,
        asked_us: u64,
    ) {
        let Some(&from) = self.positions.get(&part).filter(|_| self.has(part, of)) else {
            return;
        };
        let Ok(Some(fetched)) = read_fetch(response, (part, from, true), asked_us) else { return };
        let next = fetched.batches.last().map_or(from, |batch| batch.last + 1);
        let inputs: Vec<u64> = deliver(&fetched).iter().map(|seen| seen.app).collect();
        let (stable, watermark) = (fetched.last_stable, fetched.high_watermark);
        env.note(self.client, Event::Fetched(Box::new(fetched)));
        if from >= watermark && stable == watermark {
            self.drained.insert(part);
        } else {
            self.drained.remove(&part);
        }
        if inputs.is_empty() {
            self.positions.insert(part, next);
            let pace_ms = if self.healed {
                30
            } else {
                env.choices.of(self.client).between(Label::Think, 20, 250)
            };
            self.next_fetch_us = env.now_us + pace_ms * 1_000;
            return;
        }
        let (first, count) = self.plan.outputs;
        let txn = env.next_txn();
        env.note(self.client, Event::Begun { txn, id: self.plan.id.1 });
        let v2 = self.plan.kind == ProducerKind::V2;
        self.turn = Some(Turn {
            txn,
            part,
            output: first
                + env.choices.of(self.client).below(Label::Target, u32::from(count)) as Part,
            membership: self.membership.clone(),
            owner: self.owner,
            assignment: of,
            apps: inputs.into_iter().map(|from| (env.next_app(), from)).collect(),
            next,
            step: if v2 { Step::Produce } else { Step::AddPartition },
        });
    }

    /// An answer to a step of the transaction at hand.
    fn stepped(
        &mut self,
        env: &mut Env,
        (place, call): (usize, Call<Job>),
        step: Step,
        code: i16,
        response: &Response,
    ) {
        let asked = match step {
            Step::AddPartition | Step::AddOffsets => Asked::AddToTxn,
            Step::Produce => Asked::Produce,
            Step::Offsets => Asked::TxnOffsetCommit,
            Step::End(_) => Asked::EndTxn,
        };
        let failed = if call.unsure { Outcome::Maybe } else { Outcome::Failed };
        let duplicate = code == DUPLICATE_SEQUENCE_NUMBER;
        match react(asked, code) {
            _ if duplicate => self.succeeded(env, step, response),
            Reaction::Done => self.succeeded(env, step, response),
            Reaction::Retry => self.work.retry(env, place, call),
            Reaction::Abort if step != Step::End(false) => {
                self.ended(env, step, failed, None);
                self.set_step(Step::End(false));
            }
            Reaction::Abort | Reaction::Fatal => {
                self.ended(env, step, failed, None);
                self.turn = None;
                self.die(env);
            }
        }
    }

    /// The partition whose records the transaction at hand is made of.
    pub(super) fn part_of_turn(&self) -> Option<Part> {
        self.turn.as_ref().map(|turn| turn.part)
    }

    fn set_step(&mut self, step: Step) {
        if let Some(turn) = &mut self.turn {
            turn.step = step;
        }
    }

    fn succeeded(&mut self, env: &mut Env, step: Step, response: &Response) {
        let base = base_offset(response).filter(|&base| base >= 0);
        self.ended(env, step, Outcome::Ok, base);
        let v2 = self.plan.kind == ProducerKind::V2;
        let next = match step {
            Step::AddPartition => Step::Produce,
            Step::Produce if v2 => Step::Offsets,
            Step::Produce => Step::AddOffsets,
            Step::AddOffsets => Step::Offsets,
            Step::Offsets => Step::End(
                self.healed || env.choices.of(self.client).below(Label::Decision, 10) != 9,
            ),
            Step::End(commit) => return self.closed(commit, response),
        };
        self.set_step(next);
    }

    /// The transaction is over.
    fn closed(&mut self, commit: bool, response: &Response) {
        let Some(turn) = self.turn.take() else { return };
        if self.has(turn.part, turn.assignment) {
            if commit {
                self.positions.insert(turn.part, turn.next);
            } else {
                self.positions.remove(&turn.part);
            }
        }
        let v2 = self.plan.kind == ProducerKind::V2;
        if let Response::EndTxn(data) = response
            && v2
            && data.producer_id >= 0
        {
            self.identity = Some((data.producer_id, data.producer_epoch));
            self.sequences.clear();
        } else if !commit {
            // Sequences of what was aborted are in doubt.
            self.identity = None;
        }
    }

    /// Writes down how a step ended.
    fn ended(&mut self, env: &mut Env, step: Step, outcome: Outcome, base: Option<i64>) {
        let Some(turn) = &self.turn else { return };
        match step {
            Step::Produce => {
                for (index, &(app, _)) in (0_i64..).zip(&turn.apps) {
                    let offset = base.map(|base| base + index);
                    env.note(self.client, Event::SendEnded { app, outcome, offset });
                }
            }
            Step::Offsets => {
                let (group, part, offset) = (self.plan.group, turn.part, turn.next);
                env.note(self.client, Event::OffsetEnded { group, part, offset, outcome });
            }
            Step::End(commit) => {
                env.note(self.client, Event::Ended { txn: turn.txn, commit, outcome });
            }
            Step::AddPartition | Step::AddOffsets => {}
        }
    }

    /// A call's deadline has passed.
    pub(super) fn gave_up(&mut self, env: &mut Env, call: &Call<Job>) {
        env.say(self.client, || format!("gives up on {:?}", call.kind));
        let outcome = if call.unsure { Outcome::Maybe } else { Outcome::Failed };
        let Job::Step(step) = call.kind else { return };
        self.ended(env, step, outcome, None);
        match step {
            Step::End(_) => {
                self.turn = None;
                self.die(env);
            }
            _ => self.set_step(Step::End(false)),
        }
    }

    /// The process is gone; what it had out may or may not have been done.
    pub(super) fn forget_work(&mut self, env: &mut Env) {
        for call in self.work.abandon(env) {
            if let Job::Step(step) = call.kind {
                let outcome = if call.unsure { Outcome::Maybe } else { Outcome::Failed };
                self.ended(env, step, outcome, None);
            }
        }
        self.turn = None;
        self.found = false;
        self.identity = None;
        self.sequences.clear();
    }
}
