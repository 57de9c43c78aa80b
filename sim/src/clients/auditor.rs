//! The client that comes first and last: it creates the topic, and at the end reads every
//! partition in both isolations and every group's offsets.
//!
//! A partition is read committed first: that waits until no transaction is open in it, so the
//! log that the oracles judge all other fetches by, read after it, is the whole one.

use verdict_core::io::ConnId;
use verdict_core::wire::Response;

use super::TOPIC;
use super::admin::list_offsets;
use super::codes::{NONE, NOT_CONTROLLER, OFFSET_OUT_OF_RANGE, TOPIC_ALREADY_EXISTS};
use super::fetching::{fetch, read_fetch};
use super::leader_epochs::{epoch_ends, told};
use super::requests::{
    code_of, create_topic, fetched_offset, find_coordinator, listed_offset, offset_commit,
    offset_fetch,
};
use super::session::Session;
use crate::history::{ClientId, Event, Outcome, Part};
use crate::world::Env;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Create,
    /// The group's coordinator, so that its internal topic is there too.
    Find {
        group: u16,
    },
    /// The first offset of a group whose members consume, so that the group is never forgotten.
    Anchor {
        group: u16,
    },
    Idle,
    /// Where the log begins.
    Earliest {
        part: Part,
        committed: bool,
    },
    /// Until LSO and high watermark are one, from the start to the end.
    Read {
        part: Part,
        committed: bool,
        from: i64,
    },
    Offsets {
        group: u16,
        part: Part,
    },
    /// Where each leader epoch that was read ended.
    Epochs {
        part: Part,
    },
    /// Where the log begins, which may have moved since it was read.
    Start {
        part: Part,
    },
    Done,
}

/// The auditor.
#[derive(Clone, Debug)]
pub struct Auditor {
    client: ClientId,
    parts: Part,
    groups: u16,
    /// The last of the groups has members.
    pipeline: bool,
    /// It does not look for the groups' coordinators before the end: who needs one does.
    finds_late: bool,
    session: Session<Stage>,
    stage: Stage,
    next_us: u64,
    seen: String,
    /// Where each partition ends, as far as it was read.
    ends: Vec<i64>,
    /// The leader epochs of each partition's batches, as far as they were read.
    epochs: Vec<Vec<i32>>,
    /// Where those of one partition ended.
    epoch_ends: Option<Box<Response>>,
}

const MAX_BYTES: i32 = 1 << 20;

impl Auditor {
    /// An auditor of so many partitions and groups.
    #[must_use]
    pub fn new(client: ClientId, parts: Part, groups: u16) -> Self {
        Self {
            client,
            parts,
            groups,
            pipeline: false,
            finds_late: false,
            session: Session::new(client, 1),
            stage: Stage::Create,
            next_us: 0,
            seen: String::new(),
            ends: vec![0; usize::from(parts)],
            epochs: vec![Vec::new(); usize::from(parts)],
            epoch_ends: None,
        }
    }

    /// The same, where the last group has members that consume.
    #[must_use]
    pub const fn with_pipeline(mut self, pipeline: bool) -> Self {
        self.pipeline = pipeline;
        self
    }

    /// The same, leaving the topic of the groups' offsets to those who need it first.
    #[must_use]
    pub const fn with_late_groups(mut self, late: bool) -> Self {
        self.finds_late = late;
        self
    }

    /// Begins the reading at the end.
    pub fn audit(&mut self, env: &mut Env) {
        self.stage = Stage::Earliest { part: 0, committed: true };
        env.wake(self.client, env.now_us);
    }

    /// Where each partition ended when it was read last.
    #[must_use]
    pub fn ends(&self) -> &[i64] {
        &self.ends
    }

    pub(super) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    pub(super) fn waits_for(&self) -> String {
        format!("{:?}: {}", self.stage, self.seen)
    }

    pub(super) fn wake(&mut self, env: &mut Env) {
        let _ = self.session.wake(env);
        if !self.session.is_idle() || env.now_us < self.next_us {
            return;
        }
        let stage = self.stage;
        match stage {
            Stage::Create => {
                self.session.call(env, stage, 7, create_topic(i32::from(self.parts)));
            }
            Stage::Find { group } => {
                self.session.call(env, stage, 4, find_coordinator(&format!("g{group}"), 0));
            }
            Stage::Anchor { group } => {
                let event =
                    Event::OffsetAsked { group, part: 0, offset: 0, txn: None, owner: None };
                env.note(self.client, event);
                self.session.call(env, stage, 8, offset_commit(&format!("g{group}"), 0, 0));
            }
            Stage::Earliest { part, .. } | Stage::Start { part } => {
                self.session.call(env, stage, 7, list_offsets(TOPIC, part, -2));
            }
            Stage::Read { part, committed, from } => {
                self.session.call(env, stage, 12, fetch(part, from, committed, 0, MAX_BYTES));
            }
            Stage::Offsets { group, part } => {
                let request = offset_fetch(&format!("g{group}"), part, true);
                self.session.call(env, stage, 8, request);
            }
            Stage::Epochs { part } => {
                let request = epoch_ends(part, &self.epochs[usize::from(part)]);
                self.session.call(env, stage, 4, request);
            }
            Stage::Idle | Stage::Done => {}
        }
    }

    pub(super) fn cut(&mut self, env: &mut Env, conn: ConnId) {
        self.session.cut(env, conn);
    }

    pub(super) fn answer(&mut self, env: &mut Env, conn: ConnId, corr: u32, response: Response) {
        let Some((place, call)) = self.session.take(conn, corr) else { return };
        let code = code_of(&response);
        if let (Stage::Read { part, committed, .. }, OFFSET_OUT_OF_RANGE) = (call.kind, code) {
            self.stage = Stage::Earliest { part, committed };
            return self.wake(env);
        }
        let exists = matches!(code, TOPIC_ALREADY_EXISTS | NOT_CONTROLLER);
        if code != NONE && !(call.kind == Stage::Create && exists) {
            self.seen = format!("error code {code}");
            return self.session.retry(env, place, call);
        }
        match call.kind {
            Stage::Create | Stage::Find { .. } => {
                let created = call.kind == Stage::Create;
                let next = if let Stage::Find { group } = call.kind { group + 1 } else { 0 };
                if next < self.groups && !(created && self.finds_late) {
                    self.stage = Stage::Find { group: next };
                } else if self.finds_late && !created {
                    self.stage = Stage::Offsets { group: 0, part: 0 };
                } else if self.pipeline {
                    self.stage = Stage::Anchor { group: next - 1 };
                } else {
                    self.stage = Stage::Idle;
                    env.topic_is_there();
                }
            }
            Stage::Anchor { group } => {
                let (part, offset, outcome) = (0, 0, Outcome::Ok);
                env.note(self.client, Event::OffsetEnded { group, part, offset, outcome });
                self.stage = Stage::Idle;
                env.topic_is_there();
            }
            Stage::Earliest { part, committed } => {
                let from = listed_offset(&response).unwrap_or(0).max(0);
                self.epochs[usize::from(part)].clear();
                self.stage = Stage::Read { part, committed, from };
            }
            Stage::Read { part, committed, from } => {
                self.read(env, &response, (part, from, committed), call.asked_us);
            }
            Stage::Offsets { group, part } => {
                let offset = fetched_offset(&response).unwrap_or(-1);
                let asked_us = call.asked_us;
                let seen = Event::OffsetSeen { group, part, offset, asked_us, is_final: true };
                env.note(self.client, seen);
                self.stage = if part + 1 < self.parts {
                    Stage::Offsets { group, part: part + 1 }
                } else if group + 1 < self.groups {
                    Stage::Offsets { group: group + 1, part: 0 }
                } else {
                    self.epochs_from(0)
                };
            }
            Stage::Epochs { part } => {
                self.epoch_ends = Some(Box::new(response));
                self.stage = Stage::Start { part };
            }
            Stage::Start { part } => {
                let start = listed_offset(&response).unwrap_or(0);
                let epochs = std::mem::take(&mut self.epochs[usize::from(part)]);
                if let Some(ends) = self.epoch_ends.take() {
                    let all = told(&ends, part, &epochs, start);
                    all.for_each(|event| env.note(self.client, event));
                }
                self.stage = self.epochs_from(part + 1);
            }
            Stage::Idle | Stage::Done => {}
        }
        self.wake(env);
    }

    fn read(&mut self, env: &mut Env, response: &Response, key: (Part, i64, bool), asked_us: u64) {
        let (part, from, committed) = key;
        let Ok(Some(mut fetched)) = read_fetch(response, key, asked_us) else {
            self.seen = "a fetch that cannot be read".to_owned();
            self.next_us = env.now_us + 500_000;
            return env.wake(self.client, self.next_us);
        };
        let (stable, watermark) = (fetched.last_stable, fetched.high_watermark);
        if stable < watermark {
            self.seen =
                format!("partition {part} has LSO {stable} below high watermark {watermark}");
            self.next_us = env.now_us + 250_000;
            return env.wake(self.client, self.next_us);
        }
        let end = fetched.batches.last().map_or(from, |batch| batch.last + 1);
        self.seen = format!("partition {part} read to {end} of {watermark}");
        fetched.is_final = true;
        let epochs = &mut self.epochs[usize::from(part)];
        epochs.extend(fetched.batches.iter().map(|batch| batch.leader_epoch));
        epochs.dedup();
        if let Some(known) = self.ends.get_mut(usize::from(part)) {
            *known = end;
        }
        env.note(self.client, Event::Fetched(Box::new(fetched)));
        self.stage = if end < watermark {
            Stage::Read { part, committed, from: end }
        } else if committed {
            Stage::Earliest { part, committed: false }
        } else if part + 1 < self.parts {
            Stage::Earliest { part: part + 1, committed: true }
        } else if self.groups > 0 && self.finds_late {
            Stage::Find { group: 0 }
        } else if self.groups > 0 {
            Stage::Offsets { group: 0, part: 0 }
        } else {
            self.epochs_from(0)
        };
    }

    /// The leader epochs of the next partition that has any.
    fn epochs_from(&self, part: Part) -> Stage {
        let mut parts = (part..).zip(self.epochs.iter().skip(usize::from(part)));
        let next = parts.find(|(_, epochs)| !epochs.is_empty());
        next.map_or(Stage::Done, |(part, _)| Stage::Epochs { part })
    }
}
