//! The verbs of the tests: one request each, with plain values in and out. Partitions are written
//! "t-0"; a refused request is its error number.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::add_partitions_to_txn_request::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use kacrab_protocol::generated::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kacrab_protocol::generated::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsTopic,
};
use kacrab_protocol::generated::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use kacrab_protocol::generated::{
    AddOffsetsToTxnRequestData, AddPartitionsToTxnRequestData, CreateTopicsRequestData,
    DeleteRecordsRequestData, DeleteTopicsRequestData, EndTxnRequestData,
    FindCoordinatorRequestData, InitProducerIdRequestData, WriteTxnMarkersRequestData,
};

use crate::batch::{BatchBuilder, Screened};
use crate::config::BrokerConfig;
use crate::node::testing::Bench;
use crate::types::{Decision, TopicId, TopicName};
use crate::wire::{
    ProduceRequest, ProduceTopic, Request, Response, TxnOffsetCommitPartition,
    TxnOffsetCommitRequest, TxnOffsetCommitTopic,
};

/// A producer: its id and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Who(pub(super) i64, pub(super) i16);

impl Who {
    pub(super) const NOBODY: Self = Self(-1, -1);

    pub(super) const fn epoch(self, epoch: i16) -> Self {
        Self(self.0, epoch)
    }

    pub(super) const fn next_epoch(self) -> Self {
        Self(self.0, self.1 + 1)
    }
}

pub(super) const COMMIT: Decision = Decision::Commit;
pub(super) const ABORT: Decision = Decision::Abort;

/// The transaction timeout of tests that do not care, in ms.
pub(super) const LONG_MS: i32 = 60_000;

/// Which flavour of transactions: the request versions that a client of it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flavour {
    pub(super) produce: i16,
    pub(super) end: i16,
    pub(super) add: i16,
    pub(super) offsets: i16,
}

pub(super) const CLASSIC: Flavour = Flavour { produce: 11, end: 4, add: 3, offsets: 4 };
pub(super) const OLD: Flavour = Flavour { produce: 9, end: 1, add: 0, offsets: 2 };
pub(super) const TV2: Flavour = Flavour { produce: 12, end: 5, add: 3, offsets: 5 };

impl Flavour {
    pub(super) const fn is_tv2(self) -> bool {
        self.end >= 5
    }
}

pub(super) fn text(text: &str) -> KafkaString {
    KafkaString::from(text.to_string())
}

pub(super) fn split(to: &str) -> (&str, i32) {
    let (topic, partition) = to.rsplit_once('-').unwrap();
    (topic, partition.parse().unwrap())
}

/// A batch of `count` records.
pub(super) fn batch(who: Who, sequence: i32, count: i32, transactional: bool) -> Screened {
    let mut batch = BatchBuilder::new(1_000_000).producer(who.0, who.1, sequence);
    if transactional {
        batch = batch.transactional();
    }
    for i in 0..count {
        let value = alloc::format!("{}/{}/{}", who.0, who.1, i64::from(sequence) + i64::from(i));
        batch.push(Some(b"k"), Some(value.as_bytes()), &[]);
    }
    Screened::Batch(batch.build())
}

pub(super) fn produce(version: i16, id: Option<&str>, to: &str, batch: Screened) -> Request {
    let (topic, partition) = split(to);
    assert!(version < 13, "by name");
    Request::Produce(ProduceRequest {
        transactional_id: id.map(text),
        acks: -1,
        timeout_ms: 30_000,
        topics: vec![ProduceTopic {
            name: TopicName::from(topic),
            topic_id: TopicId::default(),
            partitions: vec![(partition, batch)],
        }],
    })
}

pub(super) fn init(id: Option<&str>, timeout_ms: i32, who: Who) -> Request {
    Request::InitProducerId(InitProducerIdRequestData {
        transactional_id: id.map(text),
        transaction_timeout_ms: timeout_ms,
        producer_id: who.0,
        producer_epoch: who.1,
        ..Default::default()
    })
}

pub(super) fn end(id: &str, who: Who, decision: Decision) -> Request {
    Request::EndTxn(EndTxnRequestData {
        transactional_id: text(id),
        producer_id: who.0,
        producer_epoch: who.1,
        committed: decision == COMMIT,
        ..Default::default()
    })
}

fn topics_of(partitions: &[&str]) -> Vec<AddPartitionsToTxnTopic> {
    partitions
        .iter()
        .map(|to| AddPartitionsToTxnTopic {
            name: text(split(to).0),
            partitions: vec![split(to).1],
            ..Default::default()
        })
        .collect()
}

/// AddPartitionsToTxn of a client.
pub(super) fn add(id: &str, who: Who, partitions: &[&str]) -> Request {
    Request::AddPartitionsToTxn(AddPartitionsToTxnRequestData {
        v3_and_below_transactional_id: text(id),
        v3_and_below_producer_id: who.0,
        v3_and_below_producer_epoch: who.1,
        v3_and_below_topics: topics_of(partitions),
        ..Default::default()
    })
}

/// One transaction of a broker's AddPartitionsToTxn.
pub(super) fn batched(
    id: &str,
    who: Who,
    verify_only: bool,
    partitions: &[&str],
) -> AddPartitionsToTxnTransaction {
    AddPartitionsToTxnTransaction {
        transactional_id: text(id),
        producer_id: who.0,
        producer_epoch: who.1,
        verify_only,
        topics: topics_of(partitions),
        ..Default::default()
    }
}

pub(super) fn add_offsets(id: &str, who: Who, group: &str) -> Request {
    Request::AddOffsetsToTxn(AddOffsetsToTxnRequestData {
        transactional_id: text(id),
        producer_id: who.0,
        producer_epoch: who.1,
        group_id: text(group),
        ..Default::default()
    })
}

pub(super) fn txn_offset(
    id: &str,
    who: Who,
    group: &str,
    to: &str,
    offset: i64,
    metadata: &str,
) -> Request {
    let (topic, partition) = split(to);
    Request::TxnOffsetCommit(TxnOffsetCommitRequest {
        transactional_id: text(id),
        group_id: text(group),
        producer_id: who.0,
        producer_epoch: who.1,
        generation_id: -1,
        member_id: KafkaString::default(),
        group_instance_id: None,
        topics: vec![TxnOffsetCommitTopic {
            name: TopicName::from(topic),
            topic_id: TopicId::default(),
            partitions: vec![TxnOffsetCommitPartition {
                partition,
                committed_offset: offset,
                committed_leader_epoch: -1,
                committed_metadata: Some(text(metadata)),
            }],
        }],
    })
}

/// DeleteRecords up to an offset, -1 for the high watermark.
pub(super) fn delete_records(to: &str, offset: i64) -> Request {
    let (topic, partition) = split(to);
    Request::DeleteRecords(DeleteRecordsRequestData {
        topics: vec![DeleteRecordsTopic {
            name: text(topic),
            partitions: vec![DeleteRecordsPartition {
                partition_index: partition,
                offset,
                ..Default::default()
            }],
            ..Default::default()
        }],
        timeout_ms: 1_000,
        ..Default::default()
    })
}

/// Ok or the error number.
pub(super) const fn ok(code: i16) -> Result<(), i16> {
    if code == 0 { Ok(()) } else { Err(code) }
}

pub(super) fn produced(response: Response) -> Result<i64, i16> {
    let Response::Produce(answer) = response else { panic!("{response:?}") };
    let part = &answer.responses[0].partition_responses[0];
    if part.error_code == 0 {
        return Ok(part.base_offset);
    }
    assert_eq!(part.base_offset, -1, "an error has no offset");
    Err(part.error_code)
}

pub(super) fn inited(response: Response) -> Result<Who, i16> {
    let Response::InitProducerId(answer) = response else { panic!("{response:?}") };
    ok(answer.error_code).map(|()| Who(answer.producer_id, answer.producer_epoch))
}

pub(super) fn ended(response: Response) -> Result<Who, i16> {
    let Response::EndTxn(answer) = response else { panic!("{response:?}") };
    ok(answer.error_code).map(|()| Who(answer.producer_id, answer.producer_epoch))
}

pub(super) fn added(response: Response) -> Vec<i16> {
    let Response::AddPartitionsToTxn(answer) = response else { panic!("{response:?}") };
    assert_eq!(answer.error_code, 0);
    answer
        .results_by_topic_v3_and_below
        .iter()
        .chain(answer.results_by_transaction.iter().flat_map(|txn| &txn.topic_results))
        .flat_map(|topic| &topic.results_by_partition)
        .map(|part| part.partition_error_code)
        .collect()
}

pub(super) fn offsets_added(response: Response) -> i16 {
    let Response::AddOffsetsToTxn(answer) = response else { panic!("{response:?}") };
    answer.error_code
}

pub(super) fn txn_offsets(response: Response) -> i16 {
    let Response::TxnOffsetCommit(answer) = response else { panic!("{response:?}") };
    answer.topics[0].partitions[0].1.code()
}

pub(super) fn create_topics(name: &str, partitions: i32, configs: &[(&str, &str)]) -> Request {
    let configs = configs
        .iter()
        .map(|(name, value)| CreatableTopicConfig {
            name: text(name),
            value: Some(text(value)),
            ..Default::default()
        })
        .collect();
    Request::CreateTopics(CreateTopicsRequestData {
        topics: vec![CreatableTopic {
            name: text(name),
            num_partitions: partitions,
            replication_factor: 1,
            configs,
            ..Default::default()
        }],
        timeout_ms: 1_000,
        ..Default::default()
    })
}

pub(super) fn delete_topics(name: &str) -> Request {
    Request::DeleteTopics(DeleteTopicsRequestData {
        topic_names: vec![text(name)],
        timeout_ms: 1_000,
        ..Default::default()
    })
}

pub(super) fn find_coordinator(key: &str, key_type: i8) -> Request {
    Request::FindCoordinator(FindCoordinatorRequestData {
        key: text(key),
        key_type,
        coordinator_keys: vec![text(key)],
        ..Default::default()
    })
}

impl Bench {
    /// A node with both coordinators' topics, as the first client makes them.
    pub(super) fn open() -> Self {
        Self::open_with(|_| {})
    }

    pub(super) fn open_with(change: impl FnOnce(&mut BrokerConfig)) -> Self {
        let mut bench = Self::with(change);
        for key_type in [0, 1] {
            bench.ask(4, find_coordinator("any", key_type));
        }
        bench
    }

    /// Creates a topic.
    pub(super) fn topic(&mut self, name: &str, partitions: i32) {
        self.topic_with(name, partitions, &[]);
    }

    pub(super) fn topic_with(&mut self, name: &str, partitions: i32, configs: &[(&str, &str)]) {
        let request = create_topics(name, partitions, configs);
        let Response::CreateTopics(answer) = self.ask(7, request) else { panic!() };
        assert_eq!(answer.topics[0].error_code, 0, "{answer:?}");
    }

    pub(super) fn delete_topic(&mut self, name: &str) -> i16 {
        let Response::DeleteTopics(answer) = self.ask(5, delete_topics(name)) else { panic!() };
        answer.responses[0].error_code
    }

    /// DeleteRecords up to an offset, -1 for the high watermark: the new start.
    pub(super) fn delete_records(&mut self, to: &str, offset: i64) -> Result<i64, i16> {
        let request = delete_records(to, offset);
        let Response::DeleteRecords(answer) = self.ask(2, request) else { panic!() };
        let part = &answer.topics[0].partitions[0];
        ok(part.error_code).map(|()| part.low_watermark)
    }

    /// A producer id without a transactional id.
    pub(super) fn idempotent(&mut self) -> Who {
        inited(self.ask(5, init(None, LONG_MS, Who::NOBODY))).unwrap()
    }

    /// InitProducerId of a new instance.
    pub(super) fn init(&mut self, id: &str) -> Result<Who, i16> {
        self.init_for(id, LONG_MS)
    }

    pub(super) fn init_for(&mut self, id: &str, timeout_ms: i32) -> Result<Who, i16> {
        inited(self.ask(5, init(Some(id), timeout_ms, Who::NOBODY)))
    }

    /// InitProducerId of an instance that goes on.
    pub(super) fn init_as(&mut self, version: i16, id: &str, who: Who) -> Result<Who, i16> {
        inited(self.ask(version, init(Some(id), LONG_MS, who)))
    }

    /// InitProducerId as a client does it: again while the last transaction ends.
    pub(super) fn init_until(&mut self, id: &str) -> Who {
        for _ in 0..100 {
            match self.init(id) {
                Ok(who) => return who,
                Err(14 | 15 | 16 | 51) => self.pass_ms(20),
                Err(code) => panic!("{code}"),
            }
        }
        panic!("{id} never becomes free");
    }

    /// Records without a producer.
    pub(super) fn plain(&mut self, to: &str, count: i32) -> i64 {
        let batch = batch(Who::NOBODY, -1, count, false);
        produced(self.ask(9, produce(9, None, to, batch))).unwrap()
    }

    /// An idempotent batch.
    pub(super) fn write(
        &mut self,
        to: &str,
        who: Who,
        sequence: i32,
        count: i32,
    ) -> Result<i64, i16> {
        let batch = batch(who, sequence, count, false);
        produced(self.ask(12, produce(12, None, to, batch)))
    }

    /// A transactional batch.
    pub(super) fn write_in(
        &mut self,
        version: i16,
        id: &str,
        to: &str,
        who: Who,
        sequence: i32,
        count: i32,
    ) -> Result<i64, i16> {
        let batch = batch(who, sequence, count, true);
        produced(self.ask(version, produce(version, Some(id), to, batch)))
    }

    /// A transactional batch with what its flavour wants before it.
    pub(super) fn write_as(
        &mut self,
        flavour: Flavour,
        id: &str,
        to: &str,
        who: Who,
        sequence: i32,
        count: i32,
    ) -> Result<i64, i16> {
        if !flavour.is_tv2() {
            let codes = self.add(flavour.add, id, who, &[to]);
            if codes != [0] {
                return Err(codes[0]);
            }
        }
        self.write_in(flavour.produce, id, to, who, sequence, count)
    }

    pub(super) fn add(&mut self, version: i16, id: &str, who: Who, to: &[&str]) -> Vec<i16> {
        added(self.ask(version, add(id, who, to)))
    }

    pub(super) fn add_offsets(&mut self, version: i16, id: &str, who: Who, group: &str) -> i16 {
        offsets_added(self.ask(version, add_offsets(id, who, group)))
    }

    /// TxnOffsetCommit without a member.
    pub(super) fn txn_offset(
        &mut self,
        version: i16,
        id: &str,
        who: Who,
        group: &str,
        to: &str,
        offset: i64,
    ) -> i16 {
        txn_offsets(self.ask(version, txn_offset(id, who, group, to, offset, "")))
    }

    /// Stages an offset with what its flavour wants before it.
    pub(super) fn stage(
        &mut self,
        flavour: Flavour,
        id: &str,
        who: Who,
        group: &str,
        to: &str,
        offset: i64,
    ) -> i16 {
        if !flavour.is_tv2() {
            let code = self.add_offsets(3, id, who, group);
            if code != 0 {
                return code;
            }
        }
        self.txn_offset(flavour.offsets, id, who, group, to, offset)
    }

    /// EndTxn; who the producer is afterwards.
    pub(super) fn end(
        &mut self,
        version: i16,
        id: &str,
        who: Who,
        decision: Decision,
    ) -> Result<Who, i16> {
        let after = ended(self.ask(version, end(id, who, decision)))?;
        if version < 5 {
            assert_eq!(after, Who::NOBODY);
            return Ok(who);
        }
        Ok(after)
    }

    /// EndTxn as a client does it: again while it is loaded or in progress.
    pub(super) fn end_until(
        &mut self,
        version: i16,
        id: &str,
        who: Who,
        decision: Decision,
    ) -> Result<Who, i16> {
        for _ in 0..100 {
            match self.end(version, id, who, decision) {
                Err(14 | 15 | 16 | 51) => self.pass_ms(20),
                other => return other,
            }
        }
        panic!("{id} never ends");
    }

    /// WriteTxnMarkers of one marker for one partition.
    pub(super) fn marker(
        &mut self,
        version: i16,
        who: Who,
        decision: Decision,
        coordinator_epoch: i32,
        to: &str,
    ) -> i16 {
        let (topic, partition) = split(to);
        let request = Request::WriteTxnMarkers(WriteTxnMarkersRequestData {
            markers: vec![WritableTxnMarker {
                producer_id: who.0,
                producer_epoch: who.1,
                transaction_result: decision == COMMIT,
                topics: vec![WritableTxnMarkerTopic {
                    name: text(topic),
                    partition_indexes: vec![partition],
                    ..Default::default()
                }],
                coordinator_epoch,
                transaction_version: if version >= 2 { 2 } else { 0 },
                ..Default::default()
            }],
            ..Default::default()
        });
        let Response::WriteTxnMarkers(answer) = self.ask(version, request) else { panic!() };
        assert_eq!(answer.markers[0].producer_id, who.0);
        answer.markers[0].topics[0].partitions[0].error_code
    }
}

/// A name for something counted.
pub(super) fn name(prefix: &str, i: usize) -> String {
    alloc::format!("{prefix}{i}")
}
