//! A tiny world around the coordinator: a log that persists when told to, leaders that answer
//! markers when told to, and crashes in between.

mod crash;
mod end_table;
mod failures;
mod gone;
mod init;
mod properties;
mod transitions;
mod two_phase;
mod walks;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;

use super::metadata::Metadata;
use super::*;
use crate::error::ErrorCode;
use crate::types::Decision;

/// The wall clock at the beginning of every world.
const EPOCH_MS: i64 = 1_700_000_000_000;
/// The id most tests use.
const ID: &str = "x";

fn topic(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

fn test_config() -> TxnConfig {
    TxnConfig { partitions: 1, abort_sweep_ms: 500, expiry_sweep_ms: 500, ..TxnConfig::default() }
}

/// InitProducerId of a new instance of the id.
fn plain_init() -> InitProducerId {
    InitProducerId {
        transactional_id: Some(Arc::from(ID)),
        timeout_ms: 60_000,
        producer_id: -1,
        producer_epoch: -1,
        enable_2pc: false,
        keep_prepared: false,
    }
}

type Records = Vec<(Bytes, Option<Bytes>)>;

#[derive(Clone)]
struct World {
    txn: TxnCoordinator,
    now: Now,
    log: Records,
    appends: VecDeque<(AppendId, Records)>,
    markers: VecDeque<(MarkerToken, TopicPartition, Marker)>,
    written: Vec<(TopicPartition, Marker)>,
    replies: Vec<(TxnReplyTo, TxnReply)>,
    coordinator_epoch: i32,
    next_producer_id: i64,
    next_request: u64,
}

impl World {
    fn new(config: TxnConfig) -> Self {
        let mut world = Self {
            txn: TxnCoordinator::new(config),
            now: Now { at: Timestamp(0), wall_ms: EPOCH_MS },
            log: Vec::new(),
            appends: VecDeque::new(),
            markers: VecDeque::new(),
            written: Vec::new(),
            replies: Vec::new(),
            coordinator_epoch: 0,
            next_producer_id: 1000,
            next_request: 0,
        };
        world.txn.prefetch_producer_ids();
        world.load();
        world
    }

    fn v2() -> Self {
        Self::new(test_config())
    }

    fn load(&mut self) {
        self.txn.load(self.now, 0, self.coordinator_epoch);
        for (key, value) in &self.log {
            self.txn.load_record(0, key, value.as_ref()).expect("our own record");
        }
        self.txn.loaded(self.now, 0);
        self.drain();
    }

    /// The node dies; what was not persisted is lost, and a new one reads the log.
    fn crash(&mut self) {
        self.txn = TxnCoordinator::new(self.txn.config().clone());
        self.appends.clear();
        self.markers.clear();
        self.coordinator_epoch += 1;
        self.txn.prefetch_producer_ids();
        self.load();
    }

    fn drain(&mut self) {
        while let Some(effect) = self.txn.poll_effect() {
            match effect {
                TxnEffect::Append { id, partition, records } => {
                    assert_eq!(partition, 0);
                    self.appends.push_back((id, records));
                }
                TxnEffect::Reply { to, reply } => self.replies.push((to, reply)),
                TxnEffect::Marker { to, marker, token } => {
                    self.markers.push_back((token, to, marker));
                }
                TxnEffect::AllocateProducerIds => {
                    self.txn.producer_ids_allocated(self.next_producer_id, 1000);
                    self.next_producer_id += 1000;
                }
            }
        }
    }

    fn persist(&mut self) -> bool {
        let Some((id, records)) = self.appends.pop_front() else { return false };
        self.log.extend(records);
        self.txn.appended(self.now, id, Ok(()));
        self.drain();
        true
    }

    fn fail_append(&mut self, error: LogAppendError) {
        let (id, _) = self.appends.pop_front().expect("an append is under way");
        self.txn.appended(self.now, id, Err(error));
        self.drain();
    }

    fn write_marker(&mut self) -> bool {
        let Some((token, to, marker)) = self.markers.pop_front() else { return false };
        self.written.push((to, marker));
        self.txn.marker_done(self.now, token, Ok(()));
        self.drain();
        true
    }

    fn fail_marker(&mut self, error: ErrorCode) {
        let (token, ..) = self.markers.pop_front().expect("a marker is under way");
        self.txn.marker_done(self.now, token, Err(error));
        self.drain();
    }

    fn settle(&mut self) {
        while self.persist() || self.write_marker() {}
    }

    fn pass(&mut self, ms: u64) {
        self.now.at = self.now.at.after_ms(ms);
        self.now.wall_ms += i64::try_from(ms).expect("a short time");
        self.txn.tick(self.now);
        self.drain();
    }

    fn request(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request)
    }

    fn send_init(&mut self, producer: Option<(i64, i16)>, timeout_ms: i32) -> RequestId {
        let (producer_id, producer_epoch) = producer.unwrap_or((-1, -1));
        self.send_init_as(InitProducerId {
            timeout_ms,
            producer_id,
            producer_epoch,
            ..plain_init()
        })
    }

    fn send_init_as(&mut self, request: InitProducerId) -> RequestId {
        let to = self.request();
        self.txn.init_producer_id(self.now, to, request);
        self.drain();
        to
    }

    fn init_with(&mut self, producer: Option<(i64, i16)>) -> Result<(i64, i16), TxnError> {
        let to = self.send_init(producer, 60_000);
        self.settle();
        self.init_reply(to).map(|given| (given.producer_id, given.producer_epoch))
    }

    fn init_reply(&self, to: RequestId) -> Result<Initialized, TxnError> {
        match self.reply_to(TxnReplyTo::Client(to)) {
            Some(TxnReply::InitProducerId(answer)) => answer,
            other => panic!("not an answer to InitProducerId: {other:?}"),
        }
    }

    fn init(&mut self) -> Result<(i64, i16), TxnError> {
        self.init_with(None)
    }

    fn send_add(&mut self, producer: (i64, i16), partitions: &[i32], version: i16) -> TxnReplyTo {
        let to = TxnReplyTo::Client(self.request());
        let partitions = partitions.iter().map(|p| topic(*p)).collect();
        self.txn.add_partitions(self.now, to, ID, producer.0, producer.1, partitions, version);
        self.drain();
        to
    }

    fn add(&mut self, producer: (i64, i16), partitions: &[i32]) -> Result<(), TxnError> {
        let version = self.txn.config().transaction_version.max(0) & 2;
        self.add_as(producer, partitions, version)
    }

    fn add_as(
        &mut self,
        producer: (i64, i16),
        partitions: &[i32],
        version: i16,
    ) -> Result<(), TxnError> {
        let to = self.send_add(producer, partitions, version);
        self.settle();
        match self.reply_to(to) {
            Some(TxnReply::AddPartitions(answer)) => answer,
            other => panic!("not an answer to AddPartitionsToTxn: {other:?}"),
        }
    }

    fn send_end(&mut self, producer: (i64, i16), decision: Decision, v5: bool) -> RequestId {
        let to = self.request();
        self.txn.end_txn(self.now, to, ID, producer.0, producer.1, decision, v5);
        self.drain();
        to
    }

    fn end_reply(&self, to: RequestId) -> Option<Result<(i64, i16), TxnError>> {
        match self.reply_to(TxnReplyTo::Client(to)) {
            Some(TxnReply::EndTxn(answer)) => Some(answer),
            None => None,
            other => panic!("not an answer to EndTxn: {other:?}"),
        }
    }

    fn end_as(
        &mut self,
        producer: (i64, i16),
        decision: Decision,
        v5: bool,
    ) -> Result<(i64, i16), TxnError> {
        let to = self.send_end(producer, decision, v5);
        self.settle();
        self.end_reply(to).expect("an answer to EndTxn")
    }

    fn end(&mut self, producer: (i64, i16), decision: Decision) -> Result<(i64, i16), TxnError> {
        self.end_as(producer, decision, true)
    }

    fn reply_to(&self, to: TxnReplyTo) -> Option<TxnReply> {
        self.replies.iter().find(|(whom, _)| *whom == to).map(|(_, reply)| reply.clone())
    }

    fn state(&self) -> TxnState {
        self.txn.describe(ID).expect("the id is known").state
    }

    fn producer(&self) -> (i64, i16) {
        let description = self.txn.describe(ID).expect("the id is known");
        (description.producer_id, description.producer_epoch)
    }

    /// Puts metadata in force, and in the log, without the road to it.
    fn preset(&mut self, change: impl FnOnce(&mut Metadata)) {
        let shard = self.txn.shards.get_mut(&0).expect("loaded");
        let mut metadata = shard.get(ID).expect("the id is known").metadata.clone();
        change(&mut metadata);
        let value = records::encode_value(&metadata, self.txn.config.transaction_version);
        self.log.push((records::encode_key(ID), Some(value)));
        shard.put(&Arc::from(ID), metadata);
    }

    /// What the log says is in force, by id.
    fn replayed(&self) -> BTreeMap<Arc<str>, Metadata> {
        let mut replayed = BTreeMap::new();
        for (key, value) in &self.log {
            let id = decode_key(key).expect("our own key");
            match value {
                None => replayed.remove(&id),
                Some(value) => {
                    replayed.insert(id, records::decode_value(value).expect("our own value"))
                }
            };
        }
        replayed
    }

    /// What is in force in memory, as far as the log can tell: version 0 of a value has no tags.
    fn in_force(&self) -> BTreeMap<Arc<str>, Metadata> {
        let written = |id: &str| {
            let key = records::encode_key(id);
            self.log.iter().rev().find(|record| record.0 == key).and_then(|r| r.1.as_ref())
        };
        let shard = self.txn.shards.get(&0).expect("loaded");
        shard
            .entries()
            .filter(|(_, entry)| entry.metadata.producer_epoch >= 0)
            .map(|(id, entry)| {
                let mut metadata = entry.metadata.clone();
                if written(id).is_some_and(|value| value[1] == 0) {
                    (metadata.previous_producer_id, metadata.client_version) = (-1, 0);
                    metadata.last_producer_epoch = -1;
                    metadata.aborted_by_coordinator = false;
                }
                (id.clone(), metadata)
            })
            .collect()
    }
}
