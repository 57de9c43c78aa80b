//! Being a member by the consumer protocol (KIP-848): one heartbeat for everything.
//!
//! As the Java client does: it joins in epoch 0; it lets go of what is taken from it before it
//! takes what it is given, and then says what it has; after a heartbeat that nobody answered it
//! says everything anew. A member that lost its membership comes again under its id; a process
//! that died under another one.

use verdict_core::wire::{Request, Response};

use super::belong::{self, FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID};
use super::heartbeat::{self, ASSIGNORS, LEAVES, Partitions, Says, Subscription, WILL_BE_BACK};
use super::{Member, Stage};
use crate::choices::{Choices, Label};
use crate::history::Part;
use crate::world::Env;

/// What a call to the coordinator was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Join,
    Beat,
    Leave,
    Describe,
}

const FENCED_MEMBER_EPOCH: i16 = 110;
const UNRELEASED_INSTANCE_ID: i16 = 111;
const UNSUPPORTED_ASSIGNOR: i16 = 112;
const GROUP_ID_NOT_FOUND: i16 = 69;
const INVALID_REGULAR_EXPRESSION: i16 = 128;

/// What a member knows that speaks the consumer protocol.
#[derive(Clone, Debug, Default)]
pub(super) struct Beats {
    /// Member ids that its processes have made.
    ids: u32,
    interval_us: u64,
    /// Which of the subscriptions, and which of the assignors.
    subscription: u32,
    assignor: u32,
    /// It has asked for other topics since it was last told to keep what it has.
    strays: bool,
    /// What the coordinator wants it to have.
    target: Partitions,
    /// What it has and has not told that it let go of.
    owned: Partitions,
    /// What it has is news to the coordinator.
    owned_is_news: bool,
    /// The next heartbeat says everything.
    says_all: bool,
    /// It is letting go of what is not in `target`.
    letting_go: Option<LettingGo>,
    /// When it asked for the last answer that took nothing from it.
    calm_us: u64,
}

/// How it lets go.
#[derive(Clone, Copy, Debug)]
struct LettingGo {
    at_us: u64,
    /// Not before the transaction over such a partition is over.
    patient: bool,
}

impl Beats {
    /// The process is gone.
    pub(super) fn forget(&mut self) {
        self.lose();
        (self.subscription, self.assignor, self.strays) = (0, 0, false);
    }

    fn lose(&mut self) {
        self.target.clear();
        self.owned.clear();
        self.letting_go = None;
        (self.owned_is_news, self.says_all) = (false, false);
    }

    /// Faults are over: it wants the one topic.
    pub(super) fn calm_down(&mut self) {
        (self.subscription, self.assignor, self.says_all) = (0, 0, true);
        if let Some(letting_go) = &mut self.letting_go {
            letting_go.at_us = 0;
        }
    }

    fn owes(&self) -> bool {
        self.owned.iter().any(|(topic, partitions)| {
            let target = self.target.get(topic);
            partitions.iter().any(|part| target.is_none_or(|target| !target.contains(part)))
        })
    }
}

impl Member {
    pub(super) fn belong_consumer(&mut self, env: &mut Env) {
        if self.topic.is_none() {
            return;
        }
        let sends_from_us = self.coordinator.sends_from_us();
        if env.now_us < sends_from_us {
            return env.wake(self.client, sends_from_us);
        }
        if self.stage != Stage::Member {
            // Epochs do not move when a static member is replaced (seed 7338), and begin again when a
            // group that was empty has gone (74766): one that comes back under its id may be given
            // the epoch it had, and its old transaction would be let in. Clients come back from
            // within their poll.
            if self.turn.is_some() {
                return;
            }
            return self.join_by_heartbeat(env);
        }
        self.maybe_let_go(env);
        if self.beats.owned_is_news {
            return self.beat_once(env);
        }
        if env.now_us < self.next_beat_us {
            return env.wake(self.client, self.next_beat_us);
        }
        if self.healed {
            return self.beat_once(env);
        }
        match env.choices.of(self.client).below(Label::Operation, 40) {
            30 => {
                self.next_beat_us = env.now_us + self.beats.interval_us;
                let request = heartbeat::describe(&self.membership.group);
                return self.ask_consumer(env, Ask::Describe, request);
            }
            31 | 32 => {
                let count = Subscription::count(self.plan.heartbeat_version);
                self.beats.subscription = env.choices.of(self.client).below(Label::Target, count);
                self.beats.strays |= self.beats.subscription != 0;
                self.beats.says_all = true;
            }
            33 => {
                let count = ASSIGNORS.len() as u32;
                self.beats.assignor = env.choices.of(self.client).below(Label::Target, count);
                self.beats.says_all = true;
            }
            34 | 35 => self.beats.says_all = true,
            36 => return self.leave(env),
            // It begins anew as it was.
            37 => return self.lose_membership(env),
            // It is busy for longer than its session, as one that collects garbage.
            38 | 39 => {
                let ms = u64::try_from(self.plan.consumer_session_ms).unwrap_or(0);
                return self.sleep(env, ms + 300);
            }
            _ => {}
        }
        self.beat_once(env);
    }

    fn join_by_heartbeat(&mut self, env: &mut Env) {
        if self.membership.member.is_empty() && self.plan.heartbeat_version >= 1 {
            self.beats.ids += 1;
            self.membership.member = format!("m{}-{}", self.client, self.beats.ids);
        }
        self.stage = Stage::Out;
        self.let_go(env);
        self.beats.owned.clear();
        let says = Says { about: Some(self.about()), owned: Some(&self.beats.owned) };
        let version = self.plan.heartbeat_version;
        let request = heartbeat::heartbeat(&self.membership, 0, version, says);
        self.ask_consumer(env, Ask::Join, request);
    }

    fn about(&self) -> (i32, Subscription, Option<&'static str>, Option<&'static str>) {
        let rack = ["r0", "r1"].get(usize::from(self.client) % 3).copied();
        let assignor = ASSIGNORS.get(self.beats.assignor as usize).copied().flatten();
        let subscription = Subscription::nth(self.beats.subscription);
        (self.plan.timeouts.rebalance_ms, subscription, rack, assignor)
    }

    fn beat_once(&mut self, env: &mut Env) {
        self.next_beat_us = env.now_us + self.beats.interval_us;
        if self.beats.owned_is_news {
            self.let_go(env);
        }
        let all = core::mem::take(&mut self.beats.says_all);
        let owned = core::mem::take(&mut self.beats.owned_is_news) || all;
        let says =
            Says { about: all.then(|| self.about()), owned: owned.then_some(&self.beats.owned) };
        let (epoch, version) = (self.membership.generation, self.plan.heartbeat_version);
        let request = heartbeat::heartbeat(&self.membership, epoch, version, says);
        self.ask_consumer(env, Ask::Beat, request);
    }

    pub(super) fn leave_consumer(&mut self, env: &mut Env) {
        let is_static = self.membership.instance.is_some();
        let returns = is_static && env.choices.of(self.client).below(Label::Decision, 2) == 1;
        let epoch = if returns { WILL_BE_BACK } else { LEAVES };
        let version = self.plan.heartbeat_version;
        let request = heartbeat::heartbeat(&self.membership, epoch, version, Says::default());
        self.ask_consumer(env, Ask::Leave, request);
    }

    /// It is tried once: the next one says everything.
    fn ask_consumer(&mut self, env: &mut Env, ask: Ask, request: Request) {
        let version = self.plan.heartbeat_version;
        self.coordinator.call_within(env, belong::Ask::Consumer(ask), (version, request), 0);
    }

    pub(super) fn unanswered_consumer(&mut self, ask: Ask) {
        match ask {
            Ask::Join | Ask::Describe => {}
            Ask::Beat => self.beats.says_all = true,
            Ask::Leave => self.begin_as_new(),
        }
    }

    pub(super) fn told_consumer(
        &mut self,
        env: &mut Env,
        ask: Ask,
        asked_us: u64,
        code: i16,
        response: &Response,
    ) {
        match (ask, code) {
            (Ask::Describe, _) => {}
            (Ask::Leave, _) => self.has_left(env),
            (Ask::Join | Ask::Beat, 0) => self.was_heard(env, asked_us, response),
            (_, UNKNOWN_MEMBER_ID | FENCED_MEMBER_EPOCH) => {
                self.lose_membership(env);
                if ask == Ask::Join {
                    self.sleep(env, 150);
                }
            }
            // The group speaks the other protocol: fatal to the Java client.
            (_, FENCED_INSTANCE_ID | GROUP_ID_NOT_FOUND) => self.die(env),
            (Ask::Join, UNRELEASED_INSTANCE_ID) => self.sleep(env, 200),
            (_, UNSUPPORTED_ASSIGNOR) => (self.beats.assignor, self.beats.says_all) = (0, true),
            (_, INVALID_REGULAR_EXPRESSION) => {
                (self.beats.subscription, self.beats.says_all) = (0, true);
            }
            (Ask::Join, GROUP_MAX_SIZE_REACHED) => self.sleep(env, 700),
            (Ask::Join, _) => self.sleep(env, 60),
            // The coordinator is elsewhere or loads, or could not write: it goes on as it was.
            (Ask::Beat, _) => {
                self.beats.says_all = true;
                self.next_beat_us = env.now_us + 60_000;
                env.wake(self.client, self.next_beat_us);
            }
        }
    }

    /// It is no member any more, and comes again under its id.
    fn lose_membership(&mut self, env: &mut Env) {
        self.stage = Stage::Out;
        self.beats.lose();
        self.lose_assignment();
        env.wake(self.client, env.now_us);
    }

    fn was_heard(&mut self, env: &mut Env, asked_us: u64, response: &Response) {
        let Response::ConsumerGroupHeartbeat(data) = response else { return };
        if let Some(member) = &data.member_id {
            self.named(member.as_str());
        }
        self.membership.generation = data.member_epoch;
        if self.stage != Stage::Member {
            self.stage = Stage::Member;
            self.beats.calm_us = asked_us;
        }
        self.beats.interval_us = u64::try_from(data.heartbeat_interval_ms).unwrap_or(0) * 1_000;
        self.next_beat_us = env.now_us + self.beats.interval_us;
        if let Some(target) = heartbeat::assignment(data) {
            self.beats.target = target;
        }
        let mine = self.parts_in(&self.beats.target);
        self.parts.retain(|part, _| mine.contains(part));
        self.positions.retain(|part, _| mine.contains(part));
        self.drained.retain(|part| mine.contains(part));
        if self.beats.owes() {
            self.begin_to_let_go(env);
        } else {
            self.beats.letting_go = None;
            self.beats.calm_us = asked_us;
            self.beats.strays = self.beats.subscription != 0;
            self.take_over();
        }
        self.tell_what_it_holds(env, asked_us);
        env.wake(self.client, self.next_beat_us);
    }

    /// When the coordinator may have given up on it at the earliest: its session began when it
    /// asked, and its time to let go with the first question after the last calm answer.
    fn tell_what_it_holds(&self, env: &mut Env, asked_us: u64) {
        let us = |ms: i32| u64::try_from(ms).unwrap_or(0) * 1_000;
        let session_over_us = asked_us + us(self.plan.consumer_session_ms);
        let until_us =
            session_over_us.min(self.beats.calm_us + us(self.plan.timeouts.rebalance_ms));
        let mut parts = self.parts_in(&self.beats.target);
        parts.extend(self.parts_in(&self.beats.owned));
        parts.sort_unstable();
        parts.dedup();
        self.holds(env, parts, asked_us, until_us);
    }

    fn parts_in(&self, partitions: &Partitions) -> Vec<Part> {
        let of_topic = self.topic.and_then(|topic| partitions.get(&topic));
        let parts = of_topic.into_iter().flatten().map(|&part| part as Part);
        parts.filter(|part| *part < self.plan.inputs).collect()
    }

    fn begin_to_let_go(&mut self, env: &mut Env) {
        if self.beats.letting_go.is_some() {
            return;
        }
        let how =
            if self.healed { 0 } else { env.choices.of(self.client).below(Label::Decision, 4) };
        let late_ms = if how == 3 { self.plan.timeouts.rebalance_ms + 300 } else { 0 };
        let at_us = env.now_us + u64::try_from(late_ms).unwrap_or(0) * 1_000;
        // What a member gives up itself, by asking for other topics, is taken from it within its
        // epoch, which moves with the group's next assignment, and that may be put off. Until then
        // nothing tells its old transaction from a new one, in Apache Kafka neither, and others may
        // have the partition (seed 463983). A client asks for other topics between transactions.
        let patient = how < 2 || self.beats.strays;
        self.beats.letting_go = Some(LettingGo { at_us, patient });
        env.wake(self.client, at_us);
    }

    /// What is taken from it is no longer in use: it takes what it is given instead.
    fn maybe_let_go(&mut self, env: &Env) {
        let Some(letting_go) = self.beats.letting_go else { return };
        let in_use = self.part_of_turn().is_some_and(|part| {
            self.parts_in(&self.beats.owned).contains(&part) && !self.parts.contains_key(&part)
        });
        if env.now_us < letting_go.at_us || (letting_go.patient && in_use) {
            return;
        }
        self.beats.letting_go = None;
        self.take_over();
    }

    fn take_over(&mut self) {
        let beats = &mut self.beats;
        if beats.owned != beats.target {
            beats.owned.clone_from(&beats.target);
            beats.owned_is_news = true;
        }
        for part in self.parts_in(&self.beats.target) {
            if !self.parts.contains_key(&part) {
                self.begin_part(part);
            }
        }
    }
}
