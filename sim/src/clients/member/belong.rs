//! Being a member: what the two protocols have in common.

use verdict_core::wire::Response;

use super::{Member, Stage, classic, consumer};
use crate::choices::{Choices, Label};
use crate::clients::session::Call;
use crate::history::{Event, GroupProtocol, Part};
use crate::world::Env;

/// What a call to the coordinator was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Classic(classic::Ask),
    Consumer(consumer::Ask),
}

pub(super) const UNKNOWN_MEMBER_ID: i16 = 25;
pub(super) const GROUP_MAX_SIZE_REACHED: i16 = 81;
pub(super) const FENCED_INSTANCE_ID: i16 = 82;

/// Numbers of dynamic members in the history: above all instance ids, apart for every client.
const OWNERS_OF_A_CLIENT: u32 = 10_000;

impl Member {
    /// Does what is due towards the coordinator.
    pub(super) fn belong(&mut self, env: &mut Env) {
        if !self.coordinator.is_idle() || self.done || env.now_us < self.asleep_until_us {
            return;
        }
        match self.protocol {
            GroupProtocol::Classic => self.belong_classic(env),
            GroupProtocol::Consumer => self.belong_consumer(env),
        }
    }

    pub(super) fn leave(&mut self, env: &mut Env) {
        self.lose_assignment();
        self.let_go(env);
        match self.protocol {
            GroupProtocol::Classic => self.leave_classic(env),
            GroupProtocol::Consumer => self.leave_consumer(env),
        }
    }

    /// The coordinator never answered.
    pub(super) fn unanswered(&mut self, env: &mut Env, call: &Call<Ask>) {
        env.say(self.client, || format!("gives up on {:?}", call.kind));
        match call.kind {
            Ask::Classic(ask) => self.unanswered_classic(ask),
            Ask::Consumer(ask) => self.unanswered_consumer(ask),
        }
    }

    /// The coordinator's answer.
    pub(super) fn told(
        &mut self,
        env: &mut Env,
        (place, call): (usize, Call<Ask>),
        code: i16,
        response: &Response,
    ) {
        if (14..=16).contains(&code) {
            self.coordinator.doubt(env, &call);
        }
        match call.kind {
            Ask::Classic(ask) => self.told_classic(env, ask, (place, call), code, response),
            Ask::Consumer(ask) => self.told_consumer(env, ask, call.asked_us, code, response),
        }
    }

    /// The process is gone: its calls with it, its member id unless it is a static one.
    pub(super) fn drop_membership(&mut self, env: &mut Env) {
        self.coordinator.abandon(env);
        self.begin_as_new();
    }

    pub(super) fn begin_as_new(&mut self) {
        self.stage = Stage::Out;
        self.membership.member.clear();
        self.beats.forget();
        self.lose_assignment();
    }

    /// It left; the next process comes after a while, and may speak the other protocol.
    pub(super) fn has_left(&mut self, env: &mut Env) {
        self.begin_as_new();
        self.maybe_switch(env);
        let away_ms = env.choices.of(self.client).between(Label::Away, 20, 2_000);
        self.sleep(env, away_ms);
    }

    /// The next process is of another release, in groups that go from one protocol to the other.
    pub(super) fn maybe_switch(&mut self, env: &mut Env) {
        if self.plan.switches && env.choices.of(self.client).below(Label::ClientKind, 3) == 2 {
            self.protocol = match self.protocol {
                GroupProtocol::Classic => GroupProtocol::Consumer,
                GroupProtocol::Consumer => GroupProtocol::Classic,
            };
        }
    }

    /// What is under way may end, under the generation it was begun in; nothing new is begun.
    pub(super) fn lose_assignment(&mut self) {
        self.parts.clear();
        self.positions.clear();
        self.drained.clear();
    }

    /// It reads this partition from here on; what was asked before does not count.
    pub(super) fn begin_part(&mut self, part: Part) {
        self.assignment += 1;
        self.parts.insert(part, self.assignment);
    }

    /// Whether the partition is its own still, or again, under that number.
    pub(super) fn has(&self, part: Part, assignment: u64) -> bool {
        self.parts.get(&part) == Some(&assignment)
    }

    /// Whether every partition it is to read is its own.
    pub(super) fn has_all(&self) -> bool {
        (0..self.plan.inputs).all(|part: Part| self.parts.contains_key(&part))
    }

    /// The coordinator calls it so.
    pub(super) fn named(&mut self, member: &str) {
        if self.owner_of != member {
            member.clone_into(&mut self.owner_of);
            let first = (u32::from(self.client) + 1) * OWNERS_OF_A_CLIENT;
            self.owner = self.plan.instance.unwrap_or_else(|| self.owner.max(first) + 1);
        }
        member.clone_into(&mut self.membership.member);
    }

    /// It is about to tell the coordinator that it has nothing but what is in `parts`.
    pub(super) fn let_go(&self, env: &mut Env) {
        let owner = if self.owner == 0 { self.plan.instance.unwrap_or(0) } else { self.owner };
        let event = Event::LetGo {
            group: self.plan.group,
            owner,
            kept: self.parts.keys().copied().collect(),
            protocol: self.protocol,
        };
        env.note(self.client, event);
    }

    /// The coordinator's answer says that it has these partitions, and it is a member until then.
    pub(super) fn holds(&self, env: &mut Env, parts: Vec<Part>, asked_us: u64, until_us: u64) {
        let event = Event::Held {
            group: self.plan.group,
            owner: self.owner,
            epoch: self.membership.generation,
            parts,
            asked_us,
            until_us,
        };
        env.note(self.client, event);
    }
}
