//! What a producer does next.

use super::answers::UNHEARD_OF;
use super::{Kind, MOST_LIVES, Open, Producer, ProducerKind, Proof};
use crate::clients::SIDE_TOPIC;
use crate::clients::ops::Op;
use crate::clients::records::{Writer, batch, screened};
use crate::clients::requests as ask;
use crate::history::{Event, Part};
use crate::world::Env;

/// Longer than producers are remembered where they are forgotten within a run.
const LONG_SLEEP_US: u64 = 16_000_000;

/// Whether a step is over.
enum Step {
    Next,
    /// It began something that has to be answered first; it comes up again after.
    Wait,
}

impl Producer {
    pub(super) fn step(&mut self, env: &mut Env) {
        loop {
            if env.now_us < self.asleep_until_us || self.blocked() {
                return;
            }
            let Some(op) = self.ops.front().cloned() else {
                if !self.session.is_idle() || !self.prove(env) {
                    return;
                }
                continue;
            };
            if self.skip {
                self.skip = !matches!(op, Op::Commit | Op::Abort);
                self.ops.pop_front();
                continue;
            }
            if self.proof == Proof::NotAsked && self.maybe_fault(env) {
                return;
            }
            match self.begin(env, &op) {
                Step::Next => {
                    self.ops.pop_front();
                }
                Step::Wait => return,
            }
        }
    }

    fn blocked(&self) -> bool {
        self.session.calls().any(|call| call.kind.blocks())
    }

    /// The plan is done. Whether there is something to prove now.
    fn prove(&mut self, _env: &mut Env) -> bool {
        match self.proof {
            Proof::NotAsked | Proof::Given => {
                self.done = true;
                false
            }
            Proof::Running => {
                self.proof = Proof::Given;
                self.done = true;
                false
            }
            Proof::Waiting if self.lives > MOST_LIVES + 2 => false,
            Proof::Waiting => {
                self.proof = Proof::Running;
                let send = Op::Send { part: 0, count: 1 };
                if self.kind == ProducerKind::Idempotent {
                    self.ops.extend([send, Op::Flush]);
                } else {
                    self.ops.extend([Op::Begin, send, Op::Commit]);
                }
                true
            }
        }
    }

    fn begin(&mut self, env: &mut Env, op: &Op) -> Step {
        match *op {
            Op::Sleep { ms } => return self.sleep(env, env.now_us + ms * 1_000),
            Op::Until { ms } => return self.sleep(env, ms * 1_000),
            Op::Die => {
                self.ops.pop_front();
                self.die(env);
                self.skip = false;
                return Step::Wait;
            }
            Op::Init => {
                self.ops.pop_front();
                self.identity = None;
                self.open = None;
                self.ops.push_front(Op::Flush);
                return Step::Wait.also(|| self.identify(env));
            }
            Op::Flush => {
                return if self.session.is_idle() { Step::Next } else { Step::Wait };
            }
            _ => {}
        }
        if self.identity.is_none() || (self.bump && self.open.is_none()) {
            if self.session.is_idle() {
                self.identify(env);
            }
            return Step::Wait;
        }
        let failed = self.open.as_ref().is_some_and(|open| open.failed);
        match *op {
            Op::Begin => self.begin_transaction(env),
            Op::Send { .. } | Op::Offsets { .. } | Op::Straggler { .. } if failed => Step::Next,
            Op::Send { part, count } => self.send(env, part, count),
            Op::Offsets { group, part } => self.offsets(env, group, part),
            Op::Commit => self.end(env, !failed),
            Op::Abort => self.end(env, false),
            Op::Describe => self.describe(env),
            Op::Bump => {
                self.bump |= self.kind == ProducerKind::Classic && self.open.is_none();
                Step::Next
            }
            Op::Contradict => self.contradict(env),
            Op::Plain { part } => self.plain(env, part),
            Op::Side { part } => self.side(env, part),
            Op::AddBad { part } => self.add_bad(env, part),
            Op::Straggler { part, us } => self.straggler(env, part, us),
            Op::LateMarker { part, ms, epoch_delta, older } => {
                self.late_marker(env, part, ms, epoch_delta, older)
            }
            Op::Marker { part, commit, epoch_delta, version } => {
                self.marker(env, part, commit, epoch_delta, version)
            }
            _ => Step::Next,
        }
    }

    fn sleep(&mut self, env: &mut Env, until_us: u64) -> Step {
        if core::mem::take(&mut self.slept) || until_us <= env.now_us {
            if env.forgets_producers() && until_us > env.now_us + LONG_SLEEP_US {
                // The logs have forgotten it, and take any first sequence again.
                self.taken.clear();
            }
            return Step::Next;
        }
        self.slept = true;
        self.asleep_until_us = until_us;
        env.wake(self.client, until_us);
        Step::Wait
    }

    /// Finds the coordinator, then asks for a producer id.
    fn identify(&mut self, env: &mut Env) {
        let id = self.id.as_ref().map(|(id, _)| id.as_str());
        if let Some(id) = id
            && !self.found
        {
            return self.session.call(env, Kind::Find, 4, ask::find_coordinator(id, 1));
        }
        let known = if self.bump { self.identity.unwrap_or((-1, -1)) } else { (-1, -1) };
        let request = ask::init_producer_id(id, self.timeout_ms, known);
        self.session.call(env, Kind::Init, 4, request);
    }

    fn begin_transaction(&mut self, env: &mut Env) -> Step {
        let Some(&(_, id)) = self.id.as_ref() else { return Step::Next };
        let txn = env.next_txn();
        env.note(self.client, Event::Begun { txn, id });
        self.open = Some(Open {
            txn,
            parts: std::collections::BTreeSet::new(),
            groups: std::collections::BTreeSet::new(),
            touched: false,
            failed: false,
        });
        Step::Next
    }

    fn send(&mut self, env: &mut Env, part: Part, count: u32) -> Step {
        let Some((pid, epoch)) = self.identity else { return Step::Wait };
        let id = self.id.as_ref().map(|(id, _)| id.as_str());
        if let (Some(open), Some(id)) = (&mut self.open, id) {
            open.touched = true;
            if self.kind == ProducerKind::Classic && !open.parts.contains(&part) {
                let request = ask::add_partition(id, (pid, epoch), part);
                self.session.call(env, Kind::Add(part), 3, request);
                return Step::Wait;
            }
        }
        // A log that has forgotten a producer, or never knew it, takes any first sequence (spec 2.2,
        // rule 6), so with older transactions or none the second batch waits for the first.
        let overtakes = self.own == Some(part) && env.is_pioneer(part, pid);
        let first = self.kind != ProducerKind::V2 && !self.taken.contains(&part) && !overtakes;
        if first && !self.session.is_idle() {
            return Step::Wait;
        }
        let transactional = self.open.is_some();
        let first = if self.high && self.held.contains(&part) { i32::MAX - 3 } else { 0 };
        let next = self.sequences.entry(part).or_insert(first);
        let sequence = *next;
        *next = sequence.wrapping_add(count as i32) & i32::MAX;
        let apps: Vec<u64> = (0..count).map(|_| env.next_app()).collect();
        let txn = self.open.as_ref().map(|open| open.txn);
        for (index, &app) in (0_i32..).zip(&apps) {
            let sequence = sequence.wrapping_add(index) & i32::MAX;
            env.note(self.client, Event::Sent { app, part, txn, pid, epoch, sequence });
        }
        let writer = Writer { pid, epoch, sequence, transactional };
        let version = if self.old { 9 } else { self.kind.produce_version() };
        let records = screened(batch(writer, env.wall_ms(), &apps), version);
        let id = id.filter(|_| transactional);
        let request = ask::produce(id, part, records, self.produce_timeout_ms);
        let kind = Kind::Produce { part, apps };
        self.session.call_within(env, kind, (version, request), self.delivery_us);
        Step::Next
    }

    /// A batch on which it gives up at once: the transaction has to be aborted, and the epoch raised
    /// after that. Everything before it is answered, so that it overtakes nothing.
    fn straggler(&mut self, env: &mut Env, part: Part, us: u64) -> Step {
        let (Some((pid, epoch)), Some((id, _)), Some(open)) =
            (self.identity, &self.id, &mut self.open)
        else {
            return Step::Next;
        };
        if self.kind != ProducerKind::Classic {
            return Step::Next;
        }
        if !self.session.is_idle() {
            return Step::Wait;
        }
        open.touched = true;
        if !open.parts.contains(&part) {
            let request = ask::add_partition(id, (pid, epoch), part);
            self.session.call(env, Kind::Add(part), 3, request);
            return Step::Wait;
        }
        open.failed = true;
        self.bump = true;
        let (app, txn) = (env.next_app(), Some(open.txn));
        let sequence = self.sequences.get(&part).copied().unwrap_or(0);
        env.note(self.client, Event::Sent { app, part, txn, pid, epoch, sequence });
        let writer = Writer { pid, epoch, sequence, transactional: true };
        let version = self.kind.produce_version();
        let records = screened(batch(writer, env.wall_ms(), &[app]), version);
        let request = ask::produce(Some(id), part, records, self.produce_timeout_ms);
        env.send_aside(self.client, version, request, us);
        Step::Next
    }

    /// A batch without a transaction while the partition holds an open one of this producer. Only
    /// with transactions of version 2: the next epoch refuses it should it come too late.
    fn plain(&mut self, env: &mut Env, part: Part) -> Step {
        let Some((pid, epoch)) = self.identity else { return Step::Wait };
        if !self.session.is_idle() {
            return Step::Wait;
        }
        let open = self.open.as_ref().is_some_and(|open| !open.failed);
        if self.kind != ProducerKind::V2 || !open || !self.taken.contains(&part) {
            return Step::Next;
        }
        let sequence = self.sequences.get(&part).copied().unwrap_or(0);
        let app = env.next_app();
        env.note(self.client, Event::Sent { app, part, txn: None, pid, epoch, sequence });
        let writer = Writer { pid, epoch, sequence, transactional: false };
        let records = screened(batch(writer, env.wall_ms(), &[app]), 12);
        let request = ask::produce(None, part, records, self.produce_timeout_ms);
        self.session.call(env, Kind::Plain { app }, 12, request);
        Step::Next
    }

    /// Commits again what was aborted (P11).
    fn contradict(&mut self, env: &mut Env) -> Step {
        let (Some(identity), Some((id, _)), Some((txn, false))) =
            (self.identity, &self.id, self.last_txn.take())
        else {
            return Step::Next;
        };
        if self.kind == ProducerKind::Classic {
            let request = ask::end_txn(id, identity, true);
            self.session.call(env, Kind::Contradict { txn }, 4, request);
        }
        Step::Next
    }

    /// AddPartitionsToTxn of a partition that is there and one that is not.
    fn add_bad(&mut self, env: &mut Env, part: Part) -> Step {
        let (Some(identity), Some((id, _)), Some(_)) = (self.identity, &self.id, &self.open) else {
            return Step::Next;
        };
        if self.kind == ProducerKind::Classic {
            let request = ask::add_partitions(id, identity, &[part, 9_999]);
            self.session.call(env, Kind::Other, 3, request);
        }
        Step::Next
    }

    fn side(&mut self, env: &mut Env, part: Part) -> Step {
        let (Some((pid, epoch)), Some((id, _)), Some(open)) =
            (self.identity, &self.id, &mut self.open)
        else {
            return Step::Next;
        };
        if self.kind != ProducerKind::V2 {
            return Step::Next;
        }
        open.touched = true;
        let next = self.side_sequences.entry(part).or_insert(0);
        let sequence = *next;
        *next += 1;
        let writer = Writer { pid, epoch, sequence, transactional: true };
        let records = screened(batch(writer, env.wall_ms(), &[0]), 12);
        let request = ask::produce_to(SIDE_TOPIC, Some(id), part, records, self.produce_timeout_ms);
        self.session.call(env, Kind::Other, 12, request);
        Step::Next
    }

    /// Only of transactions of version 2: markers of old are not told from the next one's.
    fn late_marker(
        &mut self,
        env: &mut Env,
        part: Part,
        ms: u64,
        epoch_delta: i16,
        older: i32,
    ) -> Step {
        let [Some((mut commit, (pid, mut epoch))), before] = self.last_ends else {
            return Step::Next;
        };
        if epoch_delta < 0 {
            // That of the transaction before, with the decision of that one.
            let Some((other, identity)) = before else { return Step::Next };
            if identity != (pid, epoch - 1) {
                return Step::Next;
            }
            (commit, epoch) = (other, epoch - 1);
        }
        // Where producers are forgotten so is the coordinator epoch, and one from before a restart
        // is taken (seed 8736).
        if self.kind != ProducerKind::V2 || env.forgets_producers() {
            return Step::Next;
        }
        // Where producers are forgotten, what was heard long ago may be older than all that is known.
        let heard = self.coordinator_epoch;
        if env.forgets_producers() {
            self.coordinator_epoch = None;
        }
        let Some(coordinator_epoch) = heard else {
            self.session.call(env, Kind::CoordinatorEpoch, 0, ask::describe_producers(part));
            return Step::Wait;
        };
        let identity = (pid, epoch);
        if coordinator_epoch == UNHEARD_OF {
            self.coordinator_epoch = None;
            return Step::Next;
        }
        let coordinator_epoch = (coordinator_epoch - older).max(0);
        env.note(self.client, Event::MarkerAsked { part, pid });
        let request = ask::write_marker(identity, commit, coordinator_epoch, 2, part);
        env.send_aside(self.client, 2, request, ms * 1_000);
        Step::Next
    }

    fn offsets(&mut self, env: &mut Env, group: u16, part: Part) -> Step {
        let (Some(identity), Some((id, _)), Some(open)) = (self.identity, &self.id, &mut self.open)
        else {
            return Step::Next;
        };
        open.touched = true;
        let name = format!("g{group}");
        if self.kind == ProducerKind::Classic && !open.groups.contains(&group) {
            let request = ask::add_offsets(id, identity, &name);
            self.session.call(env, Kind::AddOffsets(group), 3, request);
            return Step::Wait;
        }
        if env.finds_groups() && !self.groups_found.contains(&group) {
            let request = ask::find_coordinator(&name, 0);
            self.session.call(env, Kind::FindGroup(group), 4, request);
            return Step::Wait;
        }
        let offset = env.next_offset();
        let txn = Some(open.txn);
        env.note(self.client, Event::OffsetAsked { group, part, offset, txn, owner: None });
        let request = ask::txn_offset_commit(id, identity, &name, part, offset);
        let version = if self.kind == ProducerKind::V2 { 5 } else { 3 };
        self.session.call(env, Kind::Offsets { group, part, offset }, version, request);
        Step::Next
    }

    fn end(&mut self, env: &mut Env, commit: bool) -> Step {
        if !self.session.is_idle() {
            return Step::Wait;
        }
        let (Some(identity), Some((id, _)), Some(open)) = (self.identity, &self.id, &self.open)
        else {
            return Step::Next;
        };
        if !open.touched {
            self.open = None;
            return Step::Next;
        }
        let txn = open.txn;
        env.note(self.client, Event::EndAsked { txn, commit });
        let version = if self.kind == ProducerKind::V2 { 5 } else { 4 };
        let request = ask::end_txn(id, identity, commit);
        self.session.call(env, Kind::End { txn, commit }, version, request);
        Step::Next
    }

    fn describe(&mut self, env: &mut Env) -> Step {
        if let Some((id, _)) = &self.id {
            self.session.call(env, Kind::Other, 0, ask::describe_transaction(id));
        }
        Step::Next
    }

    fn marker(
        &mut self,
        env: &mut Env,
        part: Part,
        commit: bool,
        epoch_delta: i16,
        version: i8,
    ) -> Step {
        let Some((pid, epoch)) = self.identity else { return Step::Wait };
        let Some(coordinator_epoch) = self.coordinator_epoch.take() else {
            self.session.call(env, Kind::CoordinatorEpoch, 0, ask::describe_producers(part));
            return Step::Wait;
        };
        let identity = (pid, epoch.saturating_add(epoch_delta));
        env.note(self.client, Event::MarkerAsked { part, pid });
        let request = ask::write_marker(identity, commit, coordinator_epoch, version, part);
        let api_version = if version >= 2 { 2 } else { 1 };
        self.session.call(env, Kind::Other, api_version, request);
        Step::Next
    }
}

impl Step {
    fn also(self, act: impl FnOnce()) -> Self {
        act();
        self
    }
}
