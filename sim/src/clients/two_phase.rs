//! A client of two-phase commit (KIP-939): a transaction of the broker and one of a database
//! outside commit together or not at all.
//!
//! It writes records, waits for every answer, has the database decide ([`super::outside`]), and
//! ends the transaction as was decided. It may die between any two steps. Its next instance takes
//! over the database, keeps what is open (`keepPreparedTxn`) and ends it by what the database says:
//! commit if that was decided, else abort. Two clients may share an id and a database; each takes
//! over from the other whenever it begins anew.
//!
//! O15 compares the decisions with the log.

use std::collections::{BTreeMap, VecDeque};

use kacrab_protocol::generated::InitProducerIdRequestData;
use verdict_core::io::ConnId;
use verdict_core::wire::{Request, Response};

use super::codes::{Asked, Reaction, leaves_open, react};
use super::outside::Identity;
use super::records::{Writer, batch, screened};
use super::requests::{self as ask, base_offset, code_of, text};
use super::session::{Call, Session};
use crate::choices::{Choices, Label};
use crate::history::{ClientId, Event, Outcome, Part, Txn};
use crate::world::Env;

/// What a call was for.
#[derive(Clone, Debug)]
enum Kind {
    Find,
    Init,
    Produce(u64),
    End,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is known: the database is to be taken over and the coordinator to be found.
    Anew,
    /// InitProducerId.
    Identify,
    /// Nothing is open.
    Idle,
    /// So many records are to be sent yet.
    Open { txn: Txn, left: u32 },
    /// The database is to decide.
    Prepared { txn: Txn },
    /// It has decided.
    Decided { txn: Txn, commit: bool },
    /// EndTxn is under way.
    Ending { txn: Txn, commit: bool },
}

/// How many instances it may be in a row.
const MOST_LIVES: u32 = 8;

/// A client of two-phase commit.
#[derive(Clone, Debug)]
pub struct TwoPhase {
    client: ClientId,
    /// The transactional id and its number in the history.
    id: (String, u32),
    parts: Part,
    session: Session<Kind>,
    stage: Stage,
    instance: u32,
    identity: Identity,
    sequences: BTreeMap<Part, i32>,
    /// A record of the transaction at hand is not in the log, or may not be.
    failed: bool,
    /// What the database will decide of the transactions still to be begun, if it can commit.
    wishes: VecDeque<bool>,
    /// What it will decide of the one at hand.
    wish: bool,
    asleep_until_us: u64,
    lives: u32,
    healed: bool,
    proving: bool,
    done: bool,
    last_code: i16,
}

impl TwoPhase {
    /// A client that will run transactions over the first partitions, each with the decision that
    /// its database is to make.
    #[must_use]
    pub fn new(client: ClientId, id: (String, u32), parts: Part, wishes: Vec<bool>) -> Self {
        Self {
            client,
            id,
            parts,
            session: Session::new(client, 5),
            stage: Stage::Anew,
            instance: 0,
            identity: (-1, -1),
            sequences: BTreeMap::new(),
            failed: false,
            wishes: wishes.into(),
            wish: false,
            asleep_until_us: 0,
            lives: 0,
            healed: false,
            proving: false,
            done: false,
            last_code: 0,
        }
    }

    /// The same, from a point of time on.
    #[must_use]
    pub const fn starting_at(mut self, us: u64) -> Self {
        self.asleep_until_us = us;
        self
    }

    pub(super) const fn is_done(&self) -> bool {
        self.done
    }

    pub(super) fn waits_for(&self) -> String {
        let stage = self.stage;
        format!(
            "two-phase client in {stage:?} as {:?}, last code {}",
            self.identity, self.last_code
        )
    }

    /// Faults are over: what is open is ended, nothing new is begun.
    pub(super) fn heal(&mut self, env: &mut Env) {
        (self.healed, self.done) = (true, false);
        self.lives = 0;
        self.wishes.clear();
        self.asleep_until_us = self.asleep_until_us.min(env.now_us);
        env.wake(self.client, env.now_us);
    }

    /// One more transaction has to commit.
    pub fn prove_now(&mut self, env: &mut Env) {
        (self.proving, self.done) = (true, false);
        env.wake(self.client, env.now_us);
    }

    pub(super) fn wake(&mut self, env: &mut Env) {
        if let Some(call) = self.session.wake(env) {
            self.refused(env, &call);
        }
        if env.now_us < self.asleep_until_us {
            env.wake(self.client, self.asleep_until_us);
        }
        self.step(env);
    }

    pub(super) fn cut(&mut self, env: &mut Env, conn: ConnId) {
        self.session.cut(env, conn);
    }

    pub(super) fn answer(&mut self, env: &mut Env, conn: ConnId, corr: u32, response: Response) {
        let Some((place, mut call)) = self.session.take(conn, corr) else { return };
        let code = code_of(&response);
        call.unsure |= leaves_open(env, code);
        self.last_code = code;
        let asked = match call.kind {
            Kind::Find => Asked::Other,
            Kind::Init => Asked::InitProducerId,
            Kind::Produce(_) => Asked::Produce,
            Kind::End => Asked::EndTxn,
        };
        match react(asked, code) {
            Reaction::Retry => self.session.retry(env, place, call),
            Reaction::Done => self.answered(env, &call, &response),
            Reaction::Abort | Reaction::Fatal => self.refused(env, &call),
        }
        self.step(env);
    }

    fn answered(&mut self, env: &mut Env, call: &Call<Kind>, response: &Response) {
        match call.kind {
            Kind::Find => self.stage = Stage::Identify,
            Kind::Init => self.initialized(env, call.asked_us, response),
            Kind::Produce(app) => {
                let offset = base_offset(response).filter(|&base| base >= 0);
                env.note(self.client, Event::SendEnded { app, outcome: Outcome::Ok, offset });
            }
            Kind::End => self.ended(env, response),
        }
    }

    fn initialized(&mut self, env: &mut Env, asked_us: u64, response: &Response) {
        let Response::InitProducerId(data) = response else { return };
        let (pid, epoch) = (data.producer_id, data.producer_epoch);
        self.become_producer((pid, epoch));
        env.say(self.client, || format!("is producer {pid} epoch {epoch}"));
        let found = (data.ongoing_txn_producer_id, data.ongoing_txn_producer_epoch);
        let id = self.id.1;
        if found.0 < 0 {
            // Leaders know of the fence as well: every marker was written.
            env.note(self.client, Event::Initialized { id, pid, epoch });
            self.stage = Stage::Idle;
            return;
        }
        let txn = env.outside.txn_of(id, found);
        let (pid, epoch) = found;
        env.note(self.client, Event::Kept { id, pid, epoch, txn, asked_us });
        let Some(txn) = txn else { return self.begin_anew(env) };
        self.decide(env, txn, found, false);
    }

    /// Has the database decide, if it has not.
    fn decide(&mut self, env: &mut Env, txn: Txn, of: Identity, commit: bool) {
        match env.outside.decide(self.id.1, self.instance, of, commit) {
            Some(commit) => {
                env.note(self.client, Event::Decided { txn, commit });
                self.stage = Stage::Decided { txn, commit };
            }
            None => self.begin_anew(env),
        }
    }

    fn ended(&mut self, env: &mut Env, response: &Response) {
        let (Response::EndTxn(data), Stage::Ending { txn, commit }) = (response, self.stage) else {
            return;
        };
        env.note(self.client, Event::Ended { txn, commit, outcome: Outcome::Ok });
        self.become_producer((data.producer_id, data.producer_epoch));
        self.stage = Stage::Idle;
        self.proving &= !commit;
    }

    fn become_producer(&mut self, identity: Identity) {
        self.identity = identity;
        self.sequences.clear();
        self.failed = false;
    }

    /// A call will not succeed.
    fn refused(&mut self, env: &mut Env, call: &Call<Kind>) {
        env.say(self.client, || format!("gives up on {:?}", call.kind));
        if let Kind::Produce(app) = call.kind {
            self.lost(env, app, call.unsure);
            self.failed = true;
        } else {
            self.begin_anew(env);
        }
    }

    fn lost(&self, env: &mut Env, app: u64, unsure: bool) {
        let outcome = if unsure { Outcome::Maybe } else { Outcome::Failed };
        env.note(self.client, Event::SendEnded { app, outcome, offset: None });
    }

    /// Everything but the database is forgotten.
    fn begin_anew(&mut self, env: &mut Env) {
        for call in self.session.abandon(env) {
            if let Kind::Produce(app) = call.kind {
                self.lost(env, app, call.unsure);
            }
        }
        self.lives += 1;
        self.done = self.lives >= MOST_LIVES && !self.healed;
        self.stage = Stage::Anew;
        // Two owners that fence each other without rest would end nothing. Also the one whom the
        // database took for overtaken may have opened the last transaction (seed 7959).
        let rest_ms = if self.healed {
            20 * u64::from(self.client)
        } else {
            env.choices.of(self.client).between(Label::Think, 5, 500)
        };
        self.asleep_until_us = env.now_us + rest_ms * 1_000;
        env.wake(self.client, self.asleep_until_us);
    }

    fn die(&mut self, env: &mut Env) {
        env.say(self.client, || "dies".to_owned());
        let away_ms = env.choices.of(self.client).between(Label::Away, 20, 3_000);
        self.begin_anew(env);
        self.asleep_until_us = env.now_us + away_ms * 1_000;
        env.wake(self.client, self.asleep_until_us);
    }

    fn step(&mut self, env: &mut Env) {
        while !self.done && env.now_us >= self.asleep_until_us {
            let sending = matches!(self.stage, Stage::Open { left: 1.., .. });
            if !sending && !self.session.is_idle() {
                return;
            }
            if !self.healed && env.client_faults(self.client) {
                return self.die(env);
            }
            match self.stage {
                Stage::Anew => {
                    self.instance = env.outside.take_over(self.id.1);
                    let find = ask::find_coordinator(&self.id.0, 1);
                    return self.session.call(env, Kind::Find, 4, find);
                }
                Stage::Identify => {
                    let request = keep_prepared(&self.id.0);
                    return self.session.call(env, Kind::Init, 6, request);
                }
                Stage::Idle => self.begin(env),
                Stage::Open { txn, left: 0 } => self.stage = Stage::Prepared { txn },
                Stage::Open { txn, left } => {
                    self.stage = Stage::Open { txn, left: left - 1 };
                    self.send(env, txn);
                }
                Stage::Prepared { txn } => {
                    self.decide(env, txn, self.identity, self.wish && !self.failed);
                }
                Stage::Decided { txn, commit } => {
                    self.stage = Stage::Ending { txn, commit };
                    env.note(self.client, Event::EndAsked { txn, commit });
                    let request = ask::end_txn(&self.id.0, self.identity, commit);
                    return self.session.call(env, Kind::End, 5, request);
                }
                Stage::Ending { .. } => return,
            }
        }
    }

    fn begin(&mut self, env: &mut Env) {
        let Some(wish) = self.wishes.pop_front().or(self.proving.then_some(true)) else {
            self.done = true;
            return;
        };
        self.wish = wish;
        let (txn, id) = (env.next_txn(), self.id.1);
        env.note(self.client, Event::Begun { txn, id });
        env.outside.begin(id, self.identity, txn);
        let left = 1 + env.choices.of(self.client).below(Label::Count, 5);
        self.stage = Stage::Open { txn, left };
    }

    fn send(&mut self, env: &mut Env, txn: Txn) {
        let part = env.choices.of(self.client).below(Label::Target, u32::from(self.parts)) as Part;
        let (pid, epoch) = self.identity;
        let next = self.sequences.entry(part).or_insert(0);
        let sequence = *next;
        *next += 1;
        let app = env.next_app();
        env.note(self.client, Event::Sent { app, part, txn: Some(txn), pid, epoch, sequence });
        let writer = Writer { pid, epoch, sequence, transactional: true };
        let records = screened(batch(writer, env.wall_ms(), &[app]), 12);
        let request = ask::produce(Some(&self.id.0), part, records, 5_000);
        self.session.call(env, Kind::Produce(app), 12, request);
    }
}

/// InitProducerId of a new instance.
fn keep_prepared(id: &str) -> Request {
    Request::InitProducerId(InitProducerIdRequestData {
        transactional_id: Some(text(id)),
        transaction_timeout_ms: 1_000,
        producer_id: -1,
        producer_epoch: -1,
        enable2_pc: true,
        keep_prepared_txn: true,
        ..Default::default()
    })
}
