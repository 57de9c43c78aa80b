//! Consumer groups: a coordinator, its clock, its topics, its log, and whoever asks it.

mod failures;
mod migration;
mod offsets;
mod properties;
mod records;
mod scenarios;
mod table;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;

use super::member::Epochs;
use super::*;
use crate::batch::BatchHeader;
use crate::error::ErrorCode;
use crate::group::records::GroupKey;
use crate::group::{
    AppendId, GroupConfig, GroupCoordinator, GroupEffect, GroupError, GroupId, GroupReply,
    LoadedBatch, MemberId, Phase, Protocol,
};
use crate::io::RequestId;
use crate::time::{Now, Timestamp};
use crate::types::{Offset, TopicId, TopicName};

/// A record of the offsets log; without a value a tombstone.
type KeyValue = (Bytes, Option<Bytes>);

const REBALANCE_MS: i32 = 30_000;

/// A topic's id in these tests: its name's first byte.
fn topic_id(name: &str) -> TopicId {
    TopicId(u128::from(name.as_bytes()[0]))
}

fn group() -> GroupId {
    Arc::from("g")
}

#[derive(Clone, Debug)]
struct World {
    groups: GroupCoordinator,
    config: GroupConfig,
    now: Now,
    topics: BTreeMap<&'static str, i32>,
    changes: Offset,
    /// What is persisted.
    log: Vec<KeyValue>,
    /// What is not persisted yet.
    waiting: Vec<(AppendId, Vec<KeyValue>)>,
    answers: BTreeMap<RequestId, GroupReply>,
    asked: u64,
    persists: bool,
}

impl World {
    /// With topics "a" of 4 and "b" of 2 partitions, and no time between assignments.
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut GroupConfig)) -> Self {
        let mut config = GroupConfig { partitions: 1, entropy: 7, ..Default::default() };
        config.consumer.assignment_interval_ms = 0;
        config.initial_rebalance_delay_ms = 0;
        change(&mut config);
        let now = Now { at: Timestamp(1), wall_ms: 1_000_000 };
        let mut world = Self {
            groups: GroupCoordinator::new(config),
            config,
            now,
            topics: BTreeMap::new(),
            changes: 0,
            log: vec![],
            waiting: vec![],
            answers: BTreeMap::new(),
            asked: 0,
            persists: true,
        };
        world.groups.load(0);
        world.groups.loaded(now, 0);
        world.topic("a", 4);
        world.topic("b", 2);
        world
    }

    fn topic(&mut self, name: &'static str, partitions: i32) {
        self.topics.insert(name, partitions);
        self.changes += 1;
        let (id, at) = (topic_id(name), self.changes);
        self.groups.topic_changed(&TopicName::from(name), id, partitions, at);
    }

    fn delete_topic(&mut self, name: &'static str) {
        self.topics.remove(name);
        self.changes += 1;
        self.groups.topic_gone(topic_id(name), self.changes);
    }

    /// A new life of the coordinator, from what is persisted.
    fn restart(&mut self) {
        self.waiting.clear();
        self.answers.clear();
        self.groups = self.reloaded();
        self.settle();
    }

    fn reloaded(&self) -> GroupCoordinator {
        let mut groups = GroupCoordinator::new(self.config);
        for (name, partitions) in &self.topics {
            groups.topic_changed(
                &TopicName::from(*name),
                topic_id(name),
                *partitions,
                self.changes,
            );
        }
        groups.load(0);
        let header = BatchHeader::decode(&[0; BatchHeader::LENGTH]).unwrap();
        for (offset, (key, value)) in (0..).zip(&self.log) {
            let records = [(offset, Some(key.clone()), value.clone())];
            groups.load_batch(0, &header, LoadedBatch::Records(&records)).unwrap();
        }
        groups.loaded(self.now, 0);
        groups
    }

    fn consumer_of(groups: &GroupCoordinator) -> Option<Arc<Consumer>> {
        let Some(Phase::Active(shard)) = groups.shards.get(&0) else { return None };
        shard.group("g").and_then(|found| found.consumer.clone())
    }

    fn consumer(&self) -> Arc<Consumer> {
        Self::consumer_of(&self.groups).expect("it is a consumer group")
    }

    fn is_consumer(&self) -> bool {
        Self::consumer_of(&self.groups).is_some()
    }

    fn settle(&mut self) {
        while let Some(effect) = self.groups.poll_effect() {
            match effect {
                GroupEffect::Reply { to, reply } => {
                    assert!(self.answers.insert(to, reply).is_none(), "{to:?} answered twice");
                }
                GroupEffect::Append { id, records, .. } => {
                    self.waiting.push((id, records));
                    if self.persists {
                        self.persist();
                    }
                }
            }
        }
    }

    /// Everything that is being written is persisted.
    fn persist(&mut self) {
        for (id, records) in core::mem::take(&mut self.waiting) {
            let base = self.log.len() as Offset;
            self.log.extend(records);
            self.groups.appended(self.now, id, Ok(base));
        }
    }

    fn fail(&mut self) {
        self.fail_from(0);
    }

    /// What is being written fails, but for the first so many.
    fn fail_from(&mut self, first: usize) {
        let from = first.min(self.waiting.len());
        for (id, _) in self.waiting.split_off(from) {
            self.groups.appended(self.now, id, Err(ErrorCode::KafkaStorageError));
        }
        self.settle();
    }

    fn ask(&mut self, ask: impl FnOnce(&mut GroupCoordinator, Now, RequestId)) -> RequestId {
        self.asked += 1;
        let to = RequestId(self.asked);
        ask(&mut self.groups, self.now, to);
        self.settle();
        to
    }

    fn start(&mut self, beat: &ConsumerHeartbeat) -> RequestId {
        self.ask(|groups, now, to| groups.consumer_heartbeat(now, to, beat))
    }

    fn answer(&mut self, to: RequestId) -> Option<Result<ConsumerBeat, GroupError>> {
        match self.answers.remove(&to) {
            Some(GroupReply::ConsumerHeartbeat(result)) => Some(*result),
            None => None,
            other => panic!("a beat was expected, not {other:?}"),
        }
    }

    fn beat(&mut self, beat: &ConsumerHeartbeat) -> Result<ConsumerBeat, GroupError> {
        let to = self.start(beat);
        self.answer(to).expect("it is answered")
    }

    /// Joins with these topics; its epoch.
    fn join(&mut self, member: &str, topics: &[&str]) -> i32 {
        self.beat(&joining(member, topics)).unwrap().epoch
    }

    /// The member's own epoch, without a change; what it says it has.
    fn keep(&mut self, member: &str) -> Result<ConsumerBeat, GroupError> {
        let holding = self.consumer().members[member].holding.clone();
        self.beat(&beating(member, holding.epoch))
    }

    /// The member says that it has what is assigned to it, and nothing else.
    fn confirm(&mut self, member: &str) -> Result<ConsumerBeat, GroupError> {
        let holding = self.consumer().members[member].holding.clone();
        let owned = member::without_epochs(&holding.assigned);
        let owned = owned.into_iter().map(|(topic, one)| (topic, one.into_iter().collect()));
        let beat =
            ConsumerHeartbeat { owned: Some(owned.collect()), ..beating(member, holding.epoch) };
        self.beat(&beat)
    }

    fn later(&mut self, ms: u64) {
        self.now.at = self.now.at.after_ms(ms);
        self.now.wall_ms += ms as i64;
        self.groups.tick(self.now);
        self.settle();
    }

    fn assigned(&self, member: &str) -> Vec<(&'static str, i32)> {
        let holding = &self.consumer().members[member].holding;
        named(&holding.assigned)
    }

    fn records_since(&self, start: usize) -> Vec<i16> {
        let kind = |key: &Bytes| i16::from_be_bytes([key[0], key[1]]);
        self.log[start..].iter().map(|(key, _)| kind(key)).collect()
    }
}

fn named(epochs: &Epochs) -> Vec<(&'static str, i32)> {
    let name = |id: &TopicId| *["a", "b", "c"].iter().find(|n| topic_id(n) == *id).unwrap();
    epochs.iter().flat_map(|(id, one)| one.keys().map(move |at| (name(id), *at))).collect()
}

fn joining(member: &str, topics: &[&str]) -> ConsumerHeartbeat {
    ConsumerHeartbeat {
        rebalance_timeout_ms: REBALANCE_MS,
        topics: Some(topics.iter().map(|name| TopicName::from(*name)).collect()),
        owned: Some(vec![]),
        ..beating(member, 0)
    }
}

fn beating(member: &str, epoch: i32) -> ConsumerHeartbeat {
    ConsumerHeartbeat {
        version: 1,
        group: group(),
        member: Arc::from(member),
        epoch,
        instance: None,
        rack: None,
        rebalance_timeout_ms: -1,
        topics: None,
        regex: None,
        assignor: None,
        owned: None,
        client_id: Arc::from("c"),
        client_host: Arc::from("/h"),
    }
}

fn by_instance(instance: &str, beat: ConsumerHeartbeat) -> ConsumerHeartbeat {
    ConsumerHeartbeat { instance: Some(Arc::from(instance)), ..beat }
}
