//! Producers: idempotent, transactional as of old (transaction version 0), and transactional with
//! an epoch of its own for every transaction (version 2).
//!
//! The state machine follows the Java producer of 4.4.0: which codes it retries, which abort the
//! transaction and which end the producer are spec 12's table ([`super::codes`]). A producer that
//! ended begins anew as the next process of the same application would, a few times; two owners
//! of one transactional id that fence each other for ever would be no workload.

mod answers;
mod steps;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use verdict_core::io::ConnId;
use verdict_core::wire::Response;

use super::codes::{Asked, Reaction, leaves_open, react};
use super::ops::Op;
use super::requests::code_of;
use super::session::{Call, Session};
use crate::choices::{Choices, Label};
use crate::history::{ClientId, Event, Outcome, Part, Txn};
use crate::world::Env;

/// What kind of producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProducerKind {
    /// No transactions; up to five batches in flight.
    Idempotent,
    /// AddPartitionsToTxn before the data, EndTxn v4.
    Classic,
    /// Produce v12 adds partitions, EndTxn v5 raises the epoch.
    V2,
}

impl ProducerKind {
    pub(super) const fn produce_version(self) -> i16 {
        if matches!(self, Self::Classic) { 11 } else { 12 }
    }
}

/// What a call was for.
#[derive(Clone, Debug)]
enum Kind {
    Find,
    /// The coordinator of a group.
    FindGroup(u16),
    Init,
    Add(Part),
    Produce {
        part: Part,
        apps: Vec<u64>,
    },
    AddOffsets(u16),
    Offsets {
        group: u16,
        part: Part,
        offset: i64,
    },
    End {
        txn: Txn,
        commit: bool,
    },
    CoordinatorEpoch,
    /// A batch that has to be refused.
    Plain {
        app: u64,
    },
    /// A commit of a transaction that was aborted: it has to be refused.
    Contradict {
        txn: Txn,
    },
    /// Whatever becomes of it.
    Other,
}

impl Kind {
    const fn asked(&self) -> Asked {
        match self {
            Self::Init => Asked::InitProducerId,
            Self::Add(_) | Self::AddOffsets(_) => Asked::AddToTxn,
            Self::Produce { .. } => Asked::Produce,
            Self::Offsets { .. } => Asked::TxnOffsetCommit,
            Self::End { .. } => Asked::EndTxn,
            Self::Find
            | Self::FindGroup(_)
            | Self::CoordinatorEpoch
            | Self::Plain { .. }
            | Self::Contradict { .. }
            | Self::Other => Asked::Other,
        }
    }

    /// Whether nothing else may be begun while it is out.
    const fn blocks(&self) -> bool {
        !matches!(self, Self::Produce { .. })
    }
}

/// The transaction at hand.
#[derive(Clone, Debug)]
struct Open {
    txn: Txn,
    parts: BTreeSet<Part>,
    groups: BTreeSet<u16>,
    /// Something was sent that the coordinator may know of.
    touched: bool,
    failed: bool,
}

/// A producer.
#[derive(Clone, Debug)]
pub struct Producer {
    client: ClientId,
    kind: ProducerKind,
    /// The transactional id and its number in the history.
    id: Option<(String, u32)>,
    timeout_ms: i32,
    session: Session<Kind>,
    ops: VecDeque<Op>,
    found: bool,
    /// Groups whose coordinator it has found.
    groups_found: BTreeSet<u16>,
    identity: Option<(i64, i16)>,
    sequences: BTreeMap<Part, i32>,
    /// Partitions that have taken a batch of the identity at hand.
    taken: BTreeSet<Part>,
    open: Option<Open>,
    /// After an abort with sequences in doubt: the epoch is to be raised.
    bump: bool,
    /// Skip to the end of the transaction at hand, which is lost.
    skip: bool,
    coordinator_epoch: Option<i32>,
    /// How the last transaction and the one before it ended, with their markers' identities.
    last_ends: [Option<(bool, (i64, i16))>; 2],
    /// Sequences in the topic that comes and goes.
    side_sequences: BTreeMap<Part, i32>,
    /// It speaks Produce v9, from before TRANSACTION_ABORTABLE.
    old: bool,
    /// How long a batch is tried before it is given up on (`delivery.timeout.ms`).
    delivery_us: u64,
    /// How long a Produce may take, in ms, before the broker says that it took too long.
    produce_timeout_ms: i32,
    /// It speaks a transaction version that the cluster does not have: it is refused for ever.
    misfit: bool,
    /// A partition that only this client writes to.
    own: Option<Part>,
    /// Its second identity begins with sequences near their end, where a log takes that.
    high: bool,
    /// Partitions that hold something of this client.
    held: BTreeSet<Part>,
    /// The transaction that ended last, and whether it was committed.
    last_txn: Option<(Txn, bool)>,
    asleep_until_us: u64,
    slept: bool,
    lives: u32,
    done: bool,
    proof: Proof,
    last_code: i16,
}

/// What a producer has to show once the faults are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    NotAsked,
    Waiting,
    Running,
    Given,
}

/// How many processes one producer may be in a row.
const MOST_LIVES: u32 = 6;

impl Producer {
    /// A producer that will do the given steps.
    #[must_use]
    pub fn new(
        client: ClientId,
        kind: ProducerKind,
        id: Option<(String, u32)>,
        timeout_ms: i32,
        ops: Vec<Op>,
    ) -> Self {
        Self {
            client,
            kind,
            id,
            timeout_ms,
            session: Session::new(client, 5),
            ops: ops.into(),
            found: false,
            groups_found: BTreeSet::new(),
            identity: None,
            sequences: BTreeMap::new(),
            taken: BTreeSet::new(),
            open: None,
            bump: false,
            skip: false,
            coordinator_epoch: None,
            last_ends: [None; 2],
            side_sequences: BTreeMap::new(),
            old: false,
            delivery_us: 12_000_000,
            produce_timeout_ms: 5_000,
            misfit: false,
            own: None,
            high: false,
            held: BTreeSet::new(),
            last_txn: None,
            asleep_until_us: 0,
            slept: false,
            lives: 0,
            done: false,
            proof: Proof::NotAsked,
            last_code: 0,
        }
    }

    /// The steps still to be done.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = &Op> {
        self.ops.iter()
    }

    /// Leaves out the steps at these places.
    pub fn leave_out(&mut self, places: &BTreeSet<u32>) {
        let mut at = 0;
        self.ops.retain(|_| {
            at += 1;
            !places.contains(&(at - 1))
        });
    }

    /// The same, with requests that arrive after their connection is gone, also those that the
    /// protocol does not protect from it.
    #[must_use]
    pub fn with_late_arrivals(mut self) -> Self {
        self.session = self.session.with_late_arrivals();
        self
    }

    /// The same, waiting so many microseconds before it tries again (`retry.backoff.ms`).
    #[must_use]
    pub fn with_back_off(mut self, us: u64) -> Self {
        self.session = self.session.with_back_off(us);
        self
    }

    /// The same, speaking an old version of Produce.
    #[must_use]
    pub fn with_old_produce(mut self, old: bool) -> Self {
        self.old = old && self.kind == ProducerKind::Classic;
        self
    }

    /// The same, giving up on a batch after so many microseconds.
    #[must_use]
    pub fn with_delivery_timeout(mut self, us: u64) -> Self {
        self.delivery_us = us;
        self
    }

    /// The same, with so many ms for the broker to do a Produce.
    #[must_use]
    pub fn with_produce_timeout(mut self, ms: i32) -> Self {
        self.produce_timeout_ms = ms;
        self
    }

    /// The same, not to be asked for a proof of service.
    #[must_use]
    pub fn with_misfit(mut self, misfit: bool) -> Self {
        self.misfit = misfit;
        self
    }

    /// The same, with a partition that nobody else writes to.
    #[must_use]
    pub fn with_own_partition(mut self, own: Option<Part>) -> Self {
        self.own = own;
        self
    }

    /// The same, with sequences near their end from its second identity on.
    #[must_use]
    pub fn with_high_sequences(mut self, high: bool) -> Self {
        self.high = high;
        self
    }

    pub(super) fn transactional_id(&self) -> Option<(String, u32)> {
        self.id.clone()
    }

    pub(super) fn is_done(&self) -> bool {
        self.done && !matches!(self.proof, Proof::Waiting | Proof::Running)
    }

    pub(super) fn waits_for(&self) -> String {
        let what = self.session.calls().next().map_or_else(
            || format!("{:?}", self.ops.front()),
            |call| format!("{:?} since {} us", call.kind, call.asked_us),
        );
        format!("{:?} producer waits for {what}; the last code was {}", self.kind, self.last_code)
    }

    /// Faults are over: the transaction at hand is finished, nothing new is begun.
    pub(super) fn heal(&mut self, env: &mut Env) {
        self.lives = self.lives.min(MOST_LIVES - 3);
        // Long plans end with the faults: what is to be seen was seen.
        let cut = self.ops.iter().position(|op| *op == Op::Begin).unwrap_or(self.ops.len());
        let keep = if self.open.is_some() || self.skip { cut } else { 0 };
        self.ops.truncate(keep);
        self.asleep_until_us = self.asleep_until_us.min(env.now_us);
        self.done = false;
        env.wake(self.client, env.now_us);
    }

    /// One more piece of work has to succeed. One producer after the other is asked, since two
    /// owners of one id would fence each other.
    pub fn prove_now(&mut self, env: &mut Env) {
        if self.misfit {
            return env.wake(self.client, env.now_us);
        }
        self.proof = Proof::Waiting;
        self.lives = self.lives.min(MOST_LIVES - 3);
        self.done = false;
        env.wake(self.client, env.now_us);
    }

    pub(super) fn wake(&mut self, env: &mut Env) {
        if let Some(call) = self.session.wake(env) {
            self.gave_up(env, call);
        }
        self.step(env);
    }

    pub(super) fn cut(&mut self, env: &mut Env, conn: ConnId) {
        self.session.cut(env, conn);
    }

    pub(super) fn answer(&mut self, env: &mut Env, conn: ConnId, corr: u32, response: Response) {
        let Some((place, mut call)) = self.session.take(conn, corr) else { return };
        let code = code_of(&response);
        self.last_code = code;
        if let (&Kind::Contradict { txn }, super::codes::NONE) = (&call.kind, code) {
            let (commit, outcome) = (true, Outcome::Ok);
            env.note(self.client, Event::Ended { txn, commit, outcome });
        }
        if let Kind::Other | Kind::Plain { .. } | Kind::Contradict { .. } = call.kind {
            self.ended(env, &call, Outcome::Failed);
            return self.step(env);
        }
        call.unsure |= leaves_open(env, code);
        let mut reaction = react(call.kind.asked(), code);
        if code == super::codes::OUT_OF_ORDER_SEQUENCE_NUMBER && place > 0 {
            reaction = Reaction::Retry;
        }
        if code == super::codes::DUPLICATE_SEQUENCE_NUMBER {
            reaction = Reaction::Done;
        }
        if reaction != Reaction::Retry {
            self.note_refusal(env, &call.kind, code);
        }
        match reaction {
            Reaction::Retry => self.session.retry(env, place, call),
            Reaction::Done => self.answered(env, call, &response),
            Reaction::Abort => self.abortable(env, call),
            Reaction::Fatal => {
                self.ended(env, &call, if call.unsure { Outcome::Maybe } else { Outcome::Failed });
                self.begin_anew(env);
            }
        }
        self.step(env);
    }

    /// Writes down what O13 judges; not in a world that forgets producers or ids by itself.
    fn note_refusal(&self, env: &mut Env, kind: &Kind, code: i16) {
        let Some((pid, epoch)) = self.identity else { return };
        if !matches!(code, 45 | 46 | 49 | 59) || env.forgets_producers() || env.forgets_ids() {
            return;
        }
        // A late repeat holds up the first batch of the next transaction, as in Apache Kafka 4.4.0.
        if code == 45 && self.kind == ProducerKind::Classic {
            return;
        }
        // A coordinator that is none any more, and was not told yet, knows no newer id; such a leader
        // knows none of the batches that the next one took, and refuses a sequence above 0 where its
        // own log was never written (seed 305211). Neither takes anything.
        if env.is_answered_by_old() {
            return;
        }
        let batch = match kind {
            Kind::Produce { part, apps } => apps.first().map(|&app| (app, *part)),
            _ => None,
        };
        let id = self.id.as_ref().map(|&(_, id)| id);
        env.note(self.client, Event::Refused { code, id, pid, epoch, batch });
    }

    /// The process is gone, and the next one begins after a while, if one does.
    fn die(&mut self, env: &mut Env) {
        env.say(self.client, || "dies".to_owned());
        let away = env.choices.of(self.client).between(Label::Away, 20, 4_000);
        self.begin_anew(env);
        self.asleep_until_us = env.now_us + away * 1_000;
        env.wake(self.client, self.asleep_until_us);
    }

    /// Everything that was known is forgotten; what was out may or may not have been applied.
    fn begin_anew(&mut self, env: &mut Env) {
        for call in self.session.abandon(env) {
            let outcome = if call.unsure { Outcome::Maybe } else { Outcome::Failed };
            self.ended(env, &call, outcome);
        }
        self.skip = self.open.take().is_some();
        self.identity = None;
        self.found = false;
        self.groups_found.clear();
        self.sequences.clear();
        self.taken.clear();
        self.side_sequences.clear();
        self.last_ends = [None; 2];
        self.bump = false;
        self.lives += 1;
        if self.proof == Proof::Running {
            self.proof = Proof::Waiting;
            self.ops.clear();
            self.skip = false;
        }
        if self.lives >= MOST_LIVES && self.proof == Proof::NotAsked {
            self.ops.clear();
            self.done = true;
        }
    }

    /// Writes down how a call ended.
    fn ended(&mut self, env: &mut Env, call: &Call<Kind>, outcome: Outcome) {
        match &call.kind {
            Kind::Produce { apps, .. } => {
                for &app in apps {
                    env.note(self.client, Event::SendEnded { app, outcome, offset: None });
                }
            }
            &Kind::Plain { app } => {
                env.note(self.client, Event::SendEnded { app, outcome, offset: None });
            }
            &Kind::Offsets { group, part, offset } => {
                env.note(self.client, Event::OffsetEnded { group, part, offset, outcome });
            }
            &Kind::End { txn, commit } => {
                env.note(self.client, Event::Ended { txn, commit, outcome });
                self.open = None;
            }
            _ => {}
        }
    }

    fn maybe_fault(&mut self, env: &mut Env) -> bool {
        if env.client_faults(self.client) {
            self.die(env);
            return true;
        }
        false
    }
}
