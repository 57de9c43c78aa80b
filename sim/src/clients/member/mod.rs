//! A consumer that is a member of a group, and transforms: it reads its partitions committed,
//! writes a record for each, and commits how far it read in the same transaction.
//!
//! Two connections, as the Java client has: one to the group's coordinator ([`belong`]), by the
//! [`classic`] or the [`consumer`] protocol, and one for the rest ([`work`]). What was fetched in a
//! generation (or member epoch) is committed under it, so a member that slept through a rebalance
//! is refused (KIP-447). It dies and comes back, maybe with the other protocol, leaves, sleeps past
//! its session, joins and never syncs, lets go late; a static one comes back under its instance id.

mod belong;
mod classic;
mod consumer;
mod heartbeat;
mod requests;
mod script;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use verdict_core::io::ConnId;
use verdict_core::types::TopicId;
use verdict_core::wire::Response;

use self::belong::Ask;
use self::consumer::Beats;
use self::requests::Membership;
pub use self::requests::Timeouts;
pub use self::script::Script;
use self::work::{Job, Turn};
use super::ProducerKind;
use super::codes::leaves_open;
use super::requests::code_of;
use super::session::Session;
use crate::choices::{Choices, Label};
use crate::history::{ClientId, GroupProtocol, Part};
use crate::world::Env;

/// What a member is told to be.
#[derive(Clone, Debug)]
pub struct MemberPlan {
    /// The group's number.
    pub group: u16,
    /// It reads the partitions from 0 up to this.
    pub inputs: Part,
    /// It writes to so many partitions, from this one on.
    pub outputs: (Part, Part),
    /// Classic or version 2.
    pub kind: ProducerKind,
    /// Its transactional id and the id's number in the history.
    pub id: (String, u32),
    /// The transaction's timeout, in ms.
    pub timeout_ms: i32,
    /// The number of its instance id, of a static member.
    pub instance: Option<u32>,
    /// The protocol that its first process speaks.
    pub protocol: GroupProtocol,
    /// Whether its next process may speak the other one.
    pub switches: bool,
    /// The version of ConsumerGroupHeartbeat it speaks.
    pub heartbeat_version: i16,
    /// Its timeouts as a member; the session is one of the classic protocol.
    pub timeouts: Timeouts,
    /// `group.consumer.session.timeout.ms` of the broker.
    pub consumer_session_ms: i32,
    /// The version of JoinGroup it speaks.
    pub join_version: i16,
    /// How long it waits for an answer of the coordinator, in microseconds: with less than a
    /// rebalance takes it asks again while the first Join waits.
    pub request_us: u64,
    /// Once faults are over one member is to work off everything.
    pub survives: bool,
    /// When it is there; without one it comes and goes as it is drawn.
    pub script: Option<Script>,
}

/// How far a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// To join.
    Out,
    /// Joined, not synced.
    Joined,
    Member,
}

/// A member.
#[derive(Clone, Debug)]
pub struct Member {
    client: ClientId,
    plan: MemberPlan,
    coordinator: Session<Ask>,
    stage: Stage,
    membership: Membership,
    variant: i32,
    protocol: GroupProtocol,
    /// What it knows as one that speaks the consumer protocol.
    beats: Beats,
    /// The id of the topic it reads.
    topic: Option<TopicId>,
    /// The number in the history of its member id, and that member id.
    owner: u32,
    owner_of: String,
    next_beat_us: u64,
    work: Session<Job>,
    /// Counts partitions that it was assigned: what was asked before does not count after.
    assignment: u64,
    /// Its partitions, with what `assignment` was when each came.
    parts: BTreeMap<Part, u64>,
    positions: BTreeMap<Part, i64>,
    drained: BTreeSet<Part>,
    round: usize,
    found: bool,
    identity: Option<(i64, i16)>,
    sequences: BTreeMap<Part, i32>,
    turn: Option<Turn>,
    next_fetch_us: u64,
    asleep_until_us: u64,
    lives: u32,
    healed: bool,
    proving: bool,
    done: bool,
    last_code: i16,
}

/// Longer than any rebalance.
const CALM_REQUEST_US: u64 = 10_000_000;

/// How many processes a member may be in a row while there are faults.
const MOST_LIVES: u32 = 8;

impl Member {
    /// A member of that plan.
    #[must_use]
    pub fn new(client: ClientId, plan: MemberPlan) -> Self {
        let membership = Membership {
            group: format!("g{}", plan.group),
            member: String::new(),
            instance: plan.instance.map(|number| format!("inst-{number}")),
            generation: -1,
        };
        Self {
            client,
            coordinator: Session::new(client, 1).with_request_timeout(plan.request_us),
            protocol: plan.protocol,
            beats: Beats::default(),
            topic: None,
            plan,
            stage: Stage::Out,
            membership,
            variant: 0,
            owner: 0,
            owner_of: String::new(),
            next_beat_us: 0,
            work: Session::new(client, 1),
            assignment: 0,
            parts: BTreeMap::new(),
            positions: BTreeMap::new(),
            drained: BTreeSet::new(),
            round: 0,
            found: false,
            identity: None,
            sequences: BTreeMap::new(),
            turn: None,
            next_fetch_us: 0,
            asleep_until_us: 0,
            lives: 0,
            healed: false,
            proving: false,
            done: false,
            last_code: 0,
        }
    }

    /// Whether it is the one that is left when faults are over.
    #[must_use]
    pub const fn survives(&self) -> bool {
        self.plan.survives
    }

    pub(super) fn transactional_id(&self) -> (String, u32) {
        self.plan.id.clone()
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    pub(super) fn waits_for(&self) -> String {
        format!(
            "a member of g{} ({:?}, {:?}, generation {}, partitions {:?} of {}, positions {:?}, drained {:?}, asked for all: {}) is at {:?}, {:?}; the last code was {}",
            self.plan.group,
            self.protocol,
            self.stage,
            self.membership.generation,
            self.parts,
            self.plan.inputs,
            self.positions,
            self.drained,
            self.proving,
            self.coordinator.calls().next().map(|call| &call.kind),
            self.work.calls().next().map(|call| &call.kind),
            self.last_code
        )
    }

    /// Faults are over: one goes on, the others leave or are simply gone.
    pub(super) fn heal(&mut self, env: &mut Env) {
        self.asleep_until_us = self.asleep_until_us.min(env.now_us);
        self.healed = true;
        self.plan.script = None;
        if self.plan.survives {
            self.lives = 0;
            // A Join of old names no member: asked again, it takes one more seat (KIP-394).
            self.coordinator.wait_for(CALM_REQUEST_US);
            self.beats.calm_down();
            return env.wake(self.client, env.now_us);
        }
        let leaves = self.stage == Stage::Member && self.coordinator.is_idle();
        if leaves && env.choices.of(self.client).below(Label::Decision, 2) == 1 {
            self.leave(env);
        } else {
            self.drop_membership(env);
        }
        self.forget_work(env);
        self.done = true;
    }

    /// Everything that is there has to be worked off now.
    pub fn prove_now(&mut self, env: &mut Env) {
        self.proving = true;
        self.drained.clear();
        env.wake(self.client, env.now_us);
    }

    pub(super) fn wake(&mut self, env: &mut Env) {
        if let Some(call) = self.coordinator.wake(env) {
            self.unanswered(env, &call);
        }
        if let Some(call) = self.work.wake(env) {
            self.gave_up(env, &call);
        }
        if self.done || env.now_us < self.asleep_until_us || self.follow_script(env) {
            return;
        }
        self.belong(env);
        self.go_on(env);
    }

    pub(super) fn cut(&mut self, env: &mut Env, conn: ConnId) {
        self.coordinator.cut(env, conn);
        self.work.cut(env, conn);
    }

    pub(super) fn answer(&mut self, env: &mut Env, conn: ConnId, corr: u32, response: Response) {
        let code = code_of(&response);
        if let Some((place, call)) = self.coordinator.take(conn, corr) {
            self.last_code = code;
            self.told(env, (place, call), code, &response);
        } else if let Some((place, mut call)) = self.work.take(conn, corr) {
            self.last_code = code;
            call.unsure |= leaves_open(env, code);
            self.worked(env, (place, call), code, &response);
        }
        if !self.done && env.now_us >= self.asleep_until_us {
            self.belong(env);
            self.go_on(env);
        }
    }

    /// The process is gone, with everything it knew; the next one begins after a while.
    fn die(&mut self, env: &mut Env) {
        env.say(self.client, || "dies".to_owned());
        self.drop_membership(env);
        self.maybe_switch(env);
        self.forget_work(env);
        let away_ms = env.choices.of(self.client).between(Label::Away, 20, 4_000);
        self.sleep(env, away_ms);
        self.lives += 1;
        self.done |= self.lives >= MOST_LIVES && !self.plan.survives;
    }

    fn sleep(&mut self, env: &mut Env, ms: u64) {
        self.asleep_until_us = env.now_us + ms * 1_000;
        env.wake(self.client, self.asleep_until_us);
    }

    /// Whether the faults of this world strike this client now, and it is dead.
    fn maybe_fault(&mut self, env: &mut Env) -> bool {
        if self.healed {
            return false;
        }
        if env.client_faults(self.client) {
            self.die(env);
            return true;
        }
        false
    }
}
