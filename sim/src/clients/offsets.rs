//! A client that commits a group's offsets outside transactions, and reads them.

use verdict_core::io::ConnId;
use verdict_core::wire::Response;

use super::codes::{NONE, leaves_open};
use super::requests::{code_of, fetched_offset, find_coordinator, offset_commit, offset_fetch};
use super::session::{Call, Session};
use crate::choices::{Choices, Label};
use crate::history::{ClientId, Event, Outcome, Part};
use crate::world::Env;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Find,
    Commit { part: Part, offset: i64 },
    Fetch { part: Part },
}

/// A keeper of offsets.
#[derive(Clone, Debug)]
pub struct OffsetKeeper {
    client: ClientId,
    group: u16,
    /// Whether it commits too, or only reads.
    commits: bool,
    parts: Part,
    session: Session<Kind>,
    /// Whether it has found the group's coordinator; `None` until it has thought about that.
    found: Option<bool>,
    next_us: u64,
    done: bool,
}

impl OffsetKeeper {
    /// A keeper of one group's offsets.
    #[must_use]
    pub fn new(client: ClientId, group: u16, commits: bool, parts: Part) -> Self {
        let session = Session::new(client, 1);
        Self { client, group, commits, parts, session, found: None, next_us: 0, done: false }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    pub(super) fn heal(&mut self) {
        self.done = true;
    }

    pub(super) fn wake(&mut self, env: &mut Env) {
        if let Some(call) = self.session.wake(env) {
            let outcome = if call.unsure { Outcome::Maybe } else { Outcome::Failed };
            self.ended(env, &call, outcome);
        }
        if self.done || !self.session.is_idle() || env.now_us < self.next_us {
            return;
        }
        if env.finds_groups() && self.found != Some(true) {
            return self.find(env);
        }
        let part = env.choices.of(self.client).below(Label::Target, u32::from(self.parts)) as Part;
        let group = format!("g{}", self.group);
        if self.commits && env.choices.of(self.client).below(Label::Operation, 2) == 1 {
            let offset = env.next_offset();
            let event =
                Event::OffsetAsked { group: self.group, part, offset, txn: None, owner: None };
            env.note(self.client, event);
            let request = offset_commit(&group, part, offset);
            self.session.call(env, Kind::Commit { part, offset }, 8, request);
        } else {
            let stable = env.choices.of(self.client).below(Label::Operation, 2) == 0;
            let request = offset_fetch(&group, part, stable);
            self.session.call(env, Kind::Fetch { part }, 8, request);
        }
    }

    /// Looks for the coordinator, not always at once: the first to do so creates the topic.
    fn find(&mut self, env: &mut Env) {
        if self.found.is_none() {
            self.found = Some(false);
            let after_ms = env.choices.of(self.client).between(Label::Think, 0, 8_000);
            self.next_us = env.now_us + after_ms * 1_000;
            return env.wake(self.client, self.next_us);
        }
        let request = find_coordinator(&format!("g{}", self.group), 0);
        self.session.call(env, Kind::Find, 4, request);
    }

    pub(super) fn cut(&mut self, env: &mut Env, conn: ConnId) {
        self.session.cut(env, conn);
    }

    pub(super) fn answer(&mut self, env: &mut Env, conn: ConnId, corr: u32, response: Response) {
        let Some((place, mut call)) = self.session.take(conn, corr) else { return };
        call.unsure |= leaves_open(env, code_of(&response));
        if code_of(&response) != NONE {
            return self.session.retry(env, place, call);
        }
        match call.kind {
            Kind::Find => self.found = Some(true),
            Kind::Commit { .. } => self.ended(env, &call, Outcome::Ok),
            Kind::Fetch { part } => {
                let group = self.group;
                let offset = fetched_offset(&response).unwrap_or(-1);
                let asked_us = call.asked_us;
                env.note(
                    self.client,
                    Event::OffsetSeen { group, part, offset, asked_us, is_final: false },
                );
            }
        }
        let think_us = env.choices.of(self.client).between(Label::Think, 20, 400) * 1_000;
        self.next_us = env.now_us + env.rest(think_us);
        env.wake(self.client, self.next_us);
    }

    fn ended(&self, env: &mut Env, call: &Call<Kind>, outcome: Outcome) {
        if let Kind::Commit { part, offset } = call.kind {
            let group = self.group;
            env.note(self.client, Event::OffsetEnded { group, part, offset, outcome });
        }
    }
}
