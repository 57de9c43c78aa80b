//! A node on files in memory, from the outside: what the tests and benches of this crate's public
//! face are driven by.

#![allow(dead_code, reason = "each test and bench uses a part of it")]

use std::ops::{Deref, DerefMut};

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::create_topics_request::CreatableTopic;
use kacrab_protocol::generated::fetch_request::{FetchPartition, FetchTopic};
use kacrab_protocol::generated::{
    CreateTopicsRequestData, EndTxnRequestData, FetchRequestData, FindCoordinatorRequestData,
    InitProducerIdRequestData,
};
use verdict_core::batch::{BatchBuilder, ScreenLimits, screen};
use verdict_core::config::BrokerConfig;
use verdict_core::memory::{Files, Machine};
use verdict_core::time::{Now, Timestamp};
use verdict_core::types::{TopicId, TopicName};
use verdict_core::wire::{ProduceRequest, ProduceTopic, Request, Response};

/// The Produce version that adds partitions to transactions and names topics.
pub(crate) const PRODUCE: i16 = 12;
pub(crate) const FETCH: i16 = 12;
pub(crate) const END_TXN: i16 = 5;
const INIT_PRODUCER_ID: i16 = 5;

/// A node with its files and clock.
pub(crate) struct Driver(Machine);

impl Deref for Driver {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.0
    }
}

impl DerefMut for Driver {
    fn deref_mut(&mut self) -> &mut Machine {
        &mut self.0
    }
}

impl Driver {
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    /// A node with other settings than the usual ones.
    pub(crate) fn with(change: impl FnOnce(&mut BrokerConfig)) -> Self {
        let mut config = BrokerConfig {
            offsets_topic_num_partitions: 2,
            transaction_state_log_num_partitions: 2,
            entropy: 42,
            ..BrokerConfig::default()
        };
        change(&mut config);
        let now = Now { at: Timestamp(1), wall_ms: 1_000_000 };
        Self(Machine::start(config, Files::default(), now))
    }

    /// A node on what another one left, as after `kill -9`.
    pub(crate) fn crashed(&self) -> Self {
        Self(self.0.crashed())
    }

    /// Sends a request that is answered at once or within a second.
    pub(crate) fn ask(&mut self, version: i16, request: Request) -> Response {
        let id = self.send(1, version, request);
        if let Some(answer) = self.take(id) {
            return answer;
        }
        self.pass_ms(1_000);
        self.take(id).expect("an answer")
    }

    /// The new topic's id.
    pub(crate) fn create_topic(&mut self, name: &str, partitions: i32) -> [u8; 16] {
        let topic = CreatableTopic::default()
            .with_name(KafkaString::from(name.to_owned()))
            .with_num_partitions(partitions)
            .with_replication_factor(1);
        let data = CreateTopicsRequestData::default().with_topics(vec![topic]);
        let Response::CreateTopics(answer) = self.ask(7, Request::CreateTopics(data)) else {
            panic!("a CreateTopics")
        };
        assert_eq!(answer.topics[0].error_code, 0, "{answer:?}");
        answer.topics[0].topic_id.to_bytes()
    }

    /// A producer's id and epoch.
    pub(crate) fn init(&mut self, transactional_id: Option<&str>) -> (i64, i16) {
        if let Some(id) = transactional_id {
            let find = FindCoordinatorRequestData::default()
                .with_key_type(1)
                .with_coordinator_keys(vec![KafkaString::from(id.to_owned())]);
            self.ask(4, Request::FindCoordinator(find));
        }
        let data = InitProducerIdRequestData::default()
            .with_transactional_id(transactional_id.map(|id| KafkaString::from(id.to_owned())))
            .with_transaction_timeout_ms(60_000);
        let asked = self.ask(INIT_PRODUCER_ID, Request::InitProducerId(data));
        let Response::InitProducerId(answer) = asked else { panic!("an InitProducerId") };
        assert_eq!(answer.error_code, 0);
        (answer.producer_id, answer.producer_epoch)
    }
}

/// Who writes, and what comes next.
#[derive(Clone, Copy)]
pub(crate) struct Writer {
    pub(crate) producer_id: i64,
    pub(crate) producer_epoch: i16,
    pub(crate) base_sequence: i32,
}

/// A Produce of one batch with one record for each partition.
pub(crate) fn produce(
    topic: &str,
    partitions: std::ops::Range<i32>,
    writer: Writer,
    transactional_id: Option<&str>,
) -> Request {
    let mut batch = BatchBuilder::new(1_000_000).producer(
        writer.producer_id,
        writer.producer_epoch,
        writer.base_sequence,
    );
    if transactional_id.is_some() {
        batch = batch.transactional();
    }
    batch.push(None, Some(&[7; 100]), &[]);
    let bytes = batch.build().bytes().clone();
    let set = || screen(Some(bytes.clone()), PRODUCE, &ScreenLimits::default());
    Request::Produce(ProduceRequest {
        transactional_id: transactional_id.map(|id| KafkaString::from(id.to_owned())),
        acks: -1,
        timeout_ms: 1_000,
        topics: vec![ProduceTopic {
            name: TopicName::from(topic),
            topic_id: TopicId::default(),
            partitions: partitions.map(|index| (index, set())).collect(),
        }],
    })
}

/// A commit.
pub(crate) fn end_txn(transactional_id: &str, writer: Writer) -> Request {
    Request::EndTxn(
        EndTxnRequestData::default()
            .with_transactional_id(KafkaString::from(transactional_id.to_owned()))
            .with_producer_id(writer.producer_id)
            .with_producer_epoch(writer.producer_epoch)
            .with_committed(true),
    )
}

/// A Fetch of these partitions from one offset on.
pub(crate) fn fetch(
    topic: &str,
    partitions: std::ops::Range<i32>,
    offset: i64,
    wait_ms: i32,
) -> Request {
    let partitions = partitions.map(|index| {
        FetchPartition::default()
            .with_partition(index)
            .with_current_leader_epoch(-1)
            .with_fetch_offset(offset)
            .with_partition_max_bytes(1 << 20)
    });
    let topic = FetchTopic::default()
        .with_topic(KafkaString::from(topic.to_owned()))
        .with_partitions(partitions.collect());
    let data = FetchRequestData::default()
        .with_replica_id(-1)
        .with_max_wait_ms(wait_ms)
        .with_min_bytes(1)
        .with_max_bytes(50 << 20)
        .with_isolation_level(1)
        .with_topics(vec![topic]);
    Request::Fetch(data)
}

/// Asserts that every partition of a Produce was taken.
pub(crate) fn assert_produced(response: &Response) {
    let Response::Produce(answer) = response else { panic!("a Produce, not {response:?}") };
    for partition in answer.responses.iter().flat_map(|topic| &topic.partition_responses) {
        assert_eq!(partition.error_code, 0, "{partition:?}");
    }
}
