//! An administrator and a careless application in one: what happens beside the records and
//! offsets that the oracles know.
//!
//! It creates, fills, reads and deletes a topic of its own ([`SIDE_TOPIC`]) that transactions of
//! others run over, asks for offsets by timestamp, deletes records where the world has that, and
//! sends what must be refused. In some worlds it moves the level of `transaction.version`, too, and
//! back once the faults are over. Nobody judges its answers; the others must not suffer from it.

use kacrab_protocol::generated as k;
use verdict_core::io::ConnId;
use verdict_core::types::TopicId;
use verdict_core::wire::{ProduceRequest, ProduceTopic, Request, Response};

use super::records::{Writer, batch, padded, screened};
use super::requests::{self as ask, text};
use super::session::Session;
use super::{SIDE_TOPIC, TOPIC};
use crate::choices::{Choices, Label};
use crate::history::{ClientId, Event, Outcome, Part};
use crate::world::Env;

/// What a call was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A record that has to be refused.
    Refused(u64),
    /// The level of a feature is to be what it was.
    LevelBack,
    Other,
}

/// An administrator.
#[derive(Clone, Debug)]
pub struct Admin {
    client: ClientId,
    parts: Part,
    /// Whether it deletes records of the topic that the oracles know.
    trims: bool,
    /// Whether it does so all the time, up to the end.
    trims_often: bool,
    /// The level of transaction.version that the world began with, where it moves.
    home_level: Option<i16>,
    /// How the move back is called: Apache Kafka tells upgrades from downgrades.
    upgrade_type: i8,
    session: Session<Kind>,
    next_us: u64,
    done: bool,
}

/// Partitions of its topic.
pub(crate) const SIDE_PARTS: i32 = 3;
/// Kafka's numbers of an upgrade and of a downgrade that may lose something.
const UPGRADE: i8 = 1;
const DOWNGRADE: i8 = 3;
/// How far before or after now its timestamps are, in ms.
const DAY_MS: i64 = 86_400_000;

impl Admin {
    /// An administrator of a world whose topic has so many partitions.
    #[must_use]
    pub fn new(client: ClientId, parts: Part, trims: bool) -> Self {
        let session = Session::new(client, 1);
        Self {
            client,
            parts,
            trims,
            trims_often: false,
            home_level: None,
            upgrade_type: UPGRADE,
            session,
            next_us: 0,
            done: false,
        }
    }

    /// The same, deleting all records of a partition again and again.
    #[must_use]
    pub const fn with_frequent_trims(mut self, often: bool) -> Self {
        self.trims_often = often;
        self
    }

    /// The same, moving the level of transaction.version away from this one, and back in the end.
    #[must_use]
    pub const fn moving_levels(mut self, home: i16) -> Self {
        self.home_level = Some(home);
        self
    }

    /// Whether the others cannot end what they began before it is done.
    pub(crate) const fn moves_levels(&self) -> bool {
        self.home_level.is_some()
    }

    pub(super) const fn is_done(&self) -> bool {
        self.done
    }

    pub(super) fn waits_for(&self) -> String {
        format!("its last act, or level {:?}", self.home_level)
    }

    pub(super) fn heal(&mut self, env: &mut Env) {
        self.done = true;
        if self.home_level.is_some() {
            self.done = false;
            self.session.abandon(env);
            self.move_back(env);
        }
    }

    fn move_back(&mut self, env: &mut Env) {
        let Some(level) = self.home_level else { return };
        env.note_level(level);
        let request = update_level(level, self.upgrade_type);
        self.session.call(env, Kind::LevelBack, 2, request);
    }

    pub(super) fn wake(&mut self, env: &mut Env) {
        match self.session.wake(env).map(|call| call.kind) {
            Some(Kind::Refused(app)) => self.was_refused(env, app),
            Some(Kind::LevelBack) => self.move_back(env),
            Some(Kind::Other) | None => {}
        }
        if self.done || !self.session.is_idle() || env.now_us < self.next_us {
            return;
        }
        self.act(env);
    }

    pub(super) fn cut(&mut self, env: &mut Env, conn: ConnId) {
        self.session.cut(env, conn);
    }

    pub(super) fn answer(&mut self, env: &mut Env, conn: ConnId, corr: u32, response: Response) {
        let Some((_, call)) = self.session.take(conn, corr) else { return };
        if call.kind == Kind::LevelBack {
            self.done = ask::code_of(&response) == super::codes::NONE;
            self.upgrade_type = if self.upgrade_type == UPGRADE { DOWNGRADE } else { UPGRADE };
            if !self.done {
                self.move_back(env);
            }
            return;
        }
        if let Kind::Refused(app) = call.kind {
            if ask::code_of(&response) == super::codes::NONE {
                // The oracles will say that it is there although it says it was refused.
                env.say(self.client, || "a record was taken that had to be refused".to_owned());
            }
            self.was_refused(env, app);
        }
        self.rest(env);
    }

    fn was_refused(&self, env: &mut Env, app: u64) {
        let outcome = Outcome::Failed;
        env.note(self.client, Event::SendEnded { app, outcome, offset: None });
    }

    fn rest(&mut self, env: &mut Env) {
        self.next_us =
            env.now_us + env.choices.of(self.client).between(Label::Think, 5, 400) * 1_000;
        env.wake(self.client, self.next_us);
    }

    fn act(&mut self, env: &mut Env) {
        if self.moves_levels() && env.choices.of(self.client).below(Label::Operation, 8) == 7 {
            let level = env.choices.of(self.client).below(Label::Target, 3) as i16;
            env.note_level(level);
            let kind = [UPGRADE, DOWNGRADE];
            let kind = kind[env.choices.of(self.client).below(Label::Decision, 2) as usize];
            return self.session.call(env, Kind::Other, 2, update_level(level, kind));
        }
        let part = env.choices.of(self.client).below(Label::Target, u32::from(self.parts)) as Part;
        if self.trims_often && env.choices.of(self.client).below(Label::Decision, 3) == 2 {
            return self.session.call(env, Kind::Other, 2, delete_records(TOPIC, part, -1));
        }
        let (version, request) = match env.choices.of(self.client).below(Label::Operation, 14) {
            0..=2 => (7, create_side_topic()),
            3 => (5, delete_side_topic()),
            4 | 5 => (9, self.fill(env, -1)),
            6 => return self.fill_and_forget(env),
            7 => return self.break_the_clock(env, part),
            8 => {
                let back_ms = i64::from(env.choices.of(self.client).below(Label::Count, 30_000));
                (7, list_offsets(TOPIC, part, env.wall_ms() - back_ms))
            }
            9 if self.trims => {
                let offset = i64::from(env.choices.of(self.client).below(Label::Count, 40));
                (2, delete_records(TOPIC, part, offset))
            }
            9 => (2, delete_records(SIDE_TOPIC, part, -1)),
            10 => (8, offset_commit("gu", 0, -1)),
            11 => (8, ask::offset_fetch_of(SIDE_TOPIC, "gu", 0, false)),
            12 => (4, offset_commit("gx", 0, 500)),
            _ => (8, offset_commit("gu", 1, -2)),
        };
        self.session.call(env, Kind::Other, version, request);
    }

    /// Records of no producer for every partition of its topic.
    fn fill(&self, env: &mut Env, acks: i16) -> Request {
        let writer = Writer { pid: -1, epoch: -1, sequence: -1, transactional: false };
        let size = [20, 1_500, 6_000][env.choices.of(self.client).below(Label::Count, 3) as usize];
        let partitions = (0..SIDE_PARTS).map(|part| {
            let records = padded(writer, env.wall_ms(), &[0], size);
            (part, screened(records, 9))
        });
        Request::Produce(ProduceRequest {
            transactional_id: None,
            acks,
            timeout_ms: 300,
            topics: vec![ProduceTopic {
                name: SIDE_TOPIC.into(),
                topic_id: TopicId(0),
                partitions: partitions.collect(),
            }],
        })
    }

    /// The same without waiting for an answer, which never comes.
    fn fill_and_forget(&mut self, env: &mut Env) {
        let request = self.fill(env, 0);
        env.send_aside(self.client, 9, request, 0);
        self.rest(env);
    }

    /// A record of the day after tomorrow, to the topic that the oracles know.
    fn break_the_clock(&mut self, env: &mut Env, part: Part) {
        let app = env.next_app();
        let writer = Writer { pid: -1, epoch: -1, sequence: -1, transactional: false };
        let records = screened(batch(writer, env.wall_ms() + 2 * DAY_MS, &[app]), 9);
        let (pid, epoch, sequence) = (-1, -1, -1);
        env.note(self.client, Event::Sent { app, part, txn: None, pid, epoch, sequence });
        self.session.call(env, Kind::Refused(app), 9, ask::produce(None, part, records, 5_000));
    }
}

/// The level of transaction.version. Refused when it is not the kind of move that it says it is.
fn update_level(level: i16, upgrade_type: i8) -> Request {
    let update = k::update_features_request::FeatureUpdateKey {
        feature: text("transaction.version"),
        max_version_level: level,
        upgrade_type,
        ..Default::default()
    };
    Request::UpdateFeatures(k::UpdateFeaturesRequestData {
        timeout_ms: 5_000,
        feature_updates: vec![update],
        ..Default::default()
    })
}

fn create_side_topic() -> Request {
    // What is sent to it is put into another codec.
    let codec = k::create_topics_request::CreatableTopicConfig {
        name: text("compression.type"),
        value: Some(text("lz4")),
        ..Default::default()
    };
    let topic = k::create_topics_request::CreatableTopic {
        name: text(SIDE_TOPIC),
        num_partitions: SIDE_PARTS,
        replication_factor: 1,
        configs: vec![codec],
        ..Default::default()
    };
    Request::CreateTopics(k::CreateTopicsRequestData {
        topics: vec![topic],
        timeout_ms: 5_000,
        ..Default::default()
    })
}

fn delete_side_topic() -> Request {
    Request::DeleteTopics(k::DeleteTopicsRequestData {
        topic_names: vec![text(SIDE_TOPIC)],
        timeout_ms: 5_000,
        ..Default::default()
    })
}

/// `timestamp_ms`: -2 asks for the first offset.
pub(crate) fn list_offsets(topic: &str, part: Part, timestamp_ms: i64) -> Request {
    list(topic, part, timestamp_ms, false)
}

/// Where a partition ends, in either isolation.
pub(super) fn list_end(topic: &str, part: Part, committed: bool) -> Request {
    list(topic, part, -1, committed)
}

fn list(topic: &str, part: Part, timestamp_ms: i64, committed: bool) -> Request {
    let partition = k::list_offsets_request::ListOffsetsPartition {
        partition_index: i32::from(part),
        current_leader_epoch: -1,
        timestamp: timestamp_ms,
        ..Default::default()
    };
    let topic = k::list_offsets_request::ListOffsetsTopic {
        name: text(topic),
        partitions: vec![partition],
        ..Default::default()
    };
    Request::ListOffsets(k::ListOffsetsRequestData {
        replica_id: -1,
        isolation_level: i8::from(committed),
        topics: vec![topic],
        ..Default::default()
    })
}

/// `offset`: -1 deletes all there is.
fn delete_records(topic: &str, part: Part, offset: i64) -> Request {
    let partition = k::delete_records_request::DeleteRecordsPartition {
        partition_index: i32::from(part),
        offset,
        ..Default::default()
    };
    let topic = k::delete_records_request::DeleteRecordsTopic {
        name: text(topic),
        partitions: vec![partition],
        ..Default::default()
    };
    Request::DeleteRecords(k::DeleteRecordsRequestData {
        topics: vec![topic],
        timeout_ms: 5_000,
        ..Default::default()
    })
}

/// An offset of the side topic; `retention_ms` -1 keeps it for as long as the broker does, -2 makes
/// it one that is refused.
fn offset_commit(group: &str, part: i32, retention_ms: i64) -> Request {
    // Metadata too long, so that nothing is left to be written.
    let metadata = (retention_ms == -2).then(|| text(&"x".repeat(5_000)));
    let partition = k::offset_commit_request::OffsetCommitRequestPartition {
        partition_index: part,
        committed_offset: 1,
        committed_leader_epoch: -1,
        committed_metadata: metadata,
        ..Default::default()
    };
    let topic = k::offset_commit_request::OffsetCommitRequestTopic {
        name: text(SIDE_TOPIC),
        partitions: vec![partition],
        ..Default::default()
    };
    Request::OffsetCommit(k::OffsetCommitRequestData {
        group_id: text(group),
        generation_id_or_member_epoch: -1,
        retention_time_ms: retention_ms.max(-1),
        topics: vec![topic],
        ..Default::default()
    })
}
