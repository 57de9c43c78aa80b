//! Being a member by the classic protocol: join, sync, heartbeat, leave. It lets go of everything
//! before it joins again, as an eager assignor wants it.

use verdict_core::wire::{Request, Response};

use super::belong::{self, FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID};
use super::requests::{self as ask, assigned, spread};
use super::{Member, Stage};
use crate::choices::{Choices, Label};
use crate::clients::session::Call;
use crate::history::Event;
use crate::world::Env;

/// What a call to the coordinator was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Join,
    Sync,
    Beat,
    Leave,
}

const ILLEGAL_GENERATION: i16 = 22;
const REBALANCE_IN_PROGRESS: i16 = 27;
const MEMBER_ID_REQUIRED: i16 = 79;

impl Member {
    pub(super) fn belong_classic(&mut self, env: &mut Env) {
        match self.stage {
            Stage::Out => self.join(env),
            Stage::Joined => {}
            Stage::Member if env.now_us < self.next_beat_us => {
                env.wake(self.client, self.next_beat_us);
            }
            Stage::Member if self.healed => self.beat(env),
            Stage::Member => match env.choices.of(self.client).below(Label::Operation, 40) {
                36 => self.leave(env),
                // It subscribes to something else, or, with what it has, is not sure any more.
                37 => {
                    self.variant += 1;
                    self.lose_assignment();
                    self.join(env);
                }
                38 => {
                    self.lose_assignment();
                    self.join(env);
                }
                // It is busy for longer than its session, as one that collects garbage.
                39 => {
                    let ms = u64::try_from(self.plan.timeouts.session_ms).unwrap_or(0);
                    self.sleep(env, ms + 300);
                }
                _ => self.beat(env),
            },
        }
    }

    fn join(&mut self, env: &mut Env) {
        self.stage = Stage::Out;
        self.let_go(env);
        let request = ask::join(&self.membership, self.plan.timeouts, self.variant);
        self.ask(env, Ask::Join, self.plan.join_version, request);
    }

    fn beat(&mut self, env: &mut Env) {
        let interval_ms = self.plan.timeouts.session_ms.max(3) / 3;
        self.next_beat_us = env.now_us + u64::try_from(interval_ms).unwrap_or(0) * 1_000;
        self.ask(env, Ask::Beat, 3, ask::heartbeat(&self.membership));
    }

    pub(super) fn leave_classic(&mut self, env: &mut Env) {
        self.ask(env, Ask::Leave, 4, ask::leave(&self.membership));
    }

    fn ask(&mut self, env: &mut Env, ask: Ask, version: i16, request: Request) {
        self.coordinator.call(env, belong::Ask::Classic(ask), version, request);
    }

    pub(super) fn unanswered_classic(&mut self, ask: Ask) {
        match ask {
            Ask::Join | Ask::Sync => self.stage = Stage::Out,
            Ask::Beat => {}
            Ask::Leave => self.begin_as_new(),
        }
    }

    pub(super) fn told_classic(
        &mut self,
        env: &mut Env,
        ask: Ask,
        (place, call): (usize, Call<belong::Ask>),
        code: i16,
        response: &Response,
    ) {
        match (ask, code) {
            // COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR.
            (_, 14..=16) => return self.coordinator.retry(env, place, call),
            (Ask::Leave, _) => return self.has_left(env),
            (Ask::Join, 0) => return self.joined(env, response),
            (Ask::Join, MEMBER_ID_REQUIRED) => return self.was_given_an_id(env, response),
            (Ask::Sync, 0) => return self.synced(env, response, call.asked_us),
            (Ask::Beat, 0) => return env.wake(self.client, self.next_beat_us),
            (_, UNKNOWN_MEMBER_ID) => self.begin_as_new(),
            (Ask::Beat | Ask::Sync, ILLEGAL_GENERATION | REBALANCE_IN_PROGRESS) => {
                self.lose_assignment();
            }
            (_, FENCED_INSTANCE_ID) => return self.die(env),
            (_, GROUP_MAX_SIZE_REACHED) => {
                self.begin_as_new();
                self.sleep(env, 700);
            }
            // A rebalance that a second Join of ours began, a protocol that others do not know, a
            // group of the other protocol, a log that could not be written.
            _ => {
                self.lose_assignment();
                self.sleep(env, 100);
            }
        }
        self.stage = Stage::Out;
    }

    /// It was given an id and is to come again with it, which it does, unless it dies.
    fn was_given_an_id(&mut self, env: &mut Env, response: &Response) {
        let Response::JoinGroup(data) = response else { return };
        data.member_id.as_str().clone_into(&mut self.membership.member);
        if !self.healed && env.choices.of(self.client).below(Label::Operation, 12) == 11 {
            self.die(env);
        }
    }

    fn joined(&mut self, env: &mut Env, response: &Response) {
        let Response::JoinGroup(data) = response else { return };
        self.named(data.member_id.as_str());
        self.membership.generation = data.generation_id;
        self.stage = Stage::Joined;
        if !self.healed && env.choices.of(self.client).below(Label::Operation, 24) == 23 {
            // The others wait for it until they do not any more.
            return self.die(env);
        }
        let leads = data.leader.as_str() == data.member_id.as_str() && !data.skip_assignment;
        let members = data.members.iter().map(|one| one.member_id.as_str().to_owned());
        let plan = if leads { spread(members.collect(), self.plan.inputs) } else { Vec::new() };
        let request = ask::sync(&self.membership, &plan);
        let version = if self.plan.join_version >= 7 { 5 } else { 3 };
        self.ask(env, Ask::Sync, version, request);
    }

    fn synced(&mut self, env: &mut Env, response: &Response, asked_us: u64) {
        let Response::SyncGroup(data) = response else { return };
        self.stage = Stage::Member;
        self.lose_assignment();
        let parts = assigned(data.assignment.clone());
        parts.iter().for_each(|&part| self.begin_part(part));
        let event = Event::Assigned {
            group: self.plan.group,
            generation: self.membership.generation,
            owner: self.owner,
            parts: parts.clone(),
            asked_us,
        };
        env.note(self.client, event);
        // Nothing says until when: a Sync of a stable group does not begin the session anew, and
        // while the coordinator loads it says to every heartbeat that all is well.
        self.holds(env, parts, asked_us, asked_us);
        self.next_beat_us = env.now_us + 100_000;
        env.wake(self.client, self.next_beat_us);
    }
}
