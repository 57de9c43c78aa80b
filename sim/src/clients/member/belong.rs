//! Being a member: join, sync, heartbeat, leave.

use verdict_core::wire::Response;

use super::requests::{self as ask, assigned, spread};
use super::{Member, Stage};
use crate::choices::{Choices, Label};
use crate::clients::session::Call;
use crate::history::{Event, Part};
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
const UNKNOWN_MEMBER_ID: i16 = 25;
const REBALANCE_IN_PROGRESS: i16 = 27;
const MEMBER_ID_REQUIRED: i16 = 79;
const GROUP_MAX_SIZE_REACHED: i16 = 81;
const FENCED_INSTANCE_ID: i16 = 82;

/// Numbers of dynamic members in the history: above all instance ids, apart for every client.
const OWNERS_OF_A_CLIENT: u32 = 10_000;

impl Member {
    /// Does what is due towards the coordinator.
    pub(super) fn belong(&mut self, env: &mut Env) {
        if !self.coordinator.is_idle() || self.done || env.now_us < self.asleep_until_us {
            return;
        }
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
        let request = ask::join(&self.membership, self.plan.timeouts, self.variant);
        self.coordinator.call(env, Ask::Join, self.plan.join_version, request);
    }

    fn beat(&mut self, env: &mut Env) {
        let interval_ms = self.plan.timeouts.session_ms.max(3) / 3;
        self.next_beat_us = env.now_us + u64::try_from(interval_ms).unwrap_or(0) * 1_000;
        self.coordinator.call(env, Ask::Beat, 3, ask::heartbeat(&self.membership));
    }

    pub(super) fn leave(&mut self, env: &mut Env) {
        self.lose_assignment();
        self.coordinator.call(env, Ask::Leave, 4, ask::leave(&self.membership));
    }

    /// The process is gone: its calls with it, its member id unless it is a static one.
    pub(super) fn drop_membership(&mut self, env: &mut Env) {
        self.coordinator.abandon(env);
        self.begin_as_new();
    }

    fn begin_as_new(&mut self) {
        self.stage = Stage::Out;
        self.membership.member.clear();
        self.lose_assignment();
    }

    /// What is under way may end, under the generation it was begun in; nothing new is begun.
    fn lose_assignment(&mut self) {
        self.assignment += 1;
        self.parts.clear();
        self.positions.clear();
        self.drained.clear();
    }

    /// The coordinator never answered.
    pub(super) fn unanswered(&mut self, env: &mut Env, call: &Call<Ask>) {
        env.say(self.client, || format!("gives up on {:?}", call.kind));
        match call.kind {
            Ask::Join | Ask::Sync => self.stage = Stage::Out,
            Ask::Beat => {}
            Ask::Leave => self.begin_as_new(),
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
        match (call.kind, code) {
            // COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR.
            (_, 14..=16) => return self.coordinator.retry(env, place, call),
            (Ask::Leave, _) => {
                self.begin_as_new();
                let away_ms = env.choices.of(self.client).between(Label::Away, 20, 2_000);
                return self.sleep(env, away_ms);
            }
            (Ask::Join, 0) => return self.joined(env, response),
            (Ask::Join, MEMBER_ID_REQUIRED) => return self.named(env, response),
            (Ask::Sync, 0) => return self.synced(env, response, call.asked_us),
            (Ask::Beat, 0) => return env.wake(self.client, self.next_beat_us),
            (_, UNKNOWN_MEMBER_ID) => self.begin_as_new(),
            (Ask::Beat | Ask::Sync, ILLEGAL_GENERATION | REBALANCE_IN_PROGRESS) => {
                self.lose_assignment();
            }
            (_, FENCED_INSTANCE_ID) => return self.die(env),
            (_, GROUP_MAX_SIZE_REACHED) => {
                self.begin_as_new();
                return self.sleep(env, 700);
            }
            // A rebalance that a second Join of ours began, a protocol that others do not know, a
            // log that could not be written.
            _ => {
                self.lose_assignment();
                self.sleep(env, 100);
            }
        }
        self.stage = Stage::Out;
    }

    /// It was given an id and is to come again with it, which it does, unless it dies.
    fn named(&mut self, env: &mut Env, response: &Response) {
        let Response::JoinGroup(data) = response else { return };
        data.member_id.as_str().clone_into(&mut self.membership.member);
        if !self.healed && env.choices.of(self.client).below(Label::Operation, 12) == 11 {
            self.die(env);
        }
    }

    fn joined(&mut self, env: &mut Env, response: &Response) {
        let Response::JoinGroup(data) = response else { return };
        if self.owner_of != data.member_id.as_str() {
            data.member_id.as_str().clone_into(&mut self.owner_of);
            let first = (u32::from(self.client) + 1) * OWNERS_OF_A_CLIENT;
            self.owner = self.plan.instance.unwrap_or_else(|| self.owner.max(first) + 1);
        }
        data.member_id.as_str().clone_into(&mut self.membership.member);
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
        self.coordinator.call(env, Ask::Sync, version, request);
    }

    fn synced(&mut self, env: &mut Env, response: &Response, asked_us: u64) {
        let Response::SyncGroup(data) = response else { return };
        self.stage = Stage::Member;
        self.lose_assignment();
        self.parts = assigned(data.assignment.clone());
        let event = Event::Assigned {
            group: self.plan.group,
            generation: self.membership.generation,
            owner: self.owner,
            parts: self.parts.clone(),
            asked_us,
        };
        env.note(self.client, event);
        self.next_beat_us = env.now_us + 100_000;
        env.wake(self.client, self.next_beat_us);
    }

    /// Whether every partition it is to read is its own.
    pub(super) fn has_all(&self) -> bool {
        (0..self.plan.inputs).all(|part: Part| self.parts.contains(&part))
    }
}
