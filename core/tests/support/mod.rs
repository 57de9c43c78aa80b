//! A node on files in memory, from the outside: what the tests and benches of this crate's public
//! face are driven by.

#![allow(dead_code, reason = "each test and bench uses a part of it")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::create_topics_request::CreatableTopic;
use kacrab_protocol::generated::fetch_request::{FetchPartition, FetchTopic};
use kacrab_protocol::generated::{
    CreateTopicsRequestData, EndTxnRequestData, FetchRequestData, FindCoordinatorRequestData,
    InitProducerIdRequestData,
};
use verdict_core::batch::{BatchBuilder, ScreenLimits, screen};
use verdict_core::config::BrokerConfig;
use verdict_core::io::{
    ConnId, FileError, FileOp, FileOutcome, FileResult, Input, Output, RequestId, Ticket,
};
use verdict_core::node::Node;
use verdict_core::time::{Now, Timestamp};
use verdict_core::types::{TopicId, TopicName};
use verdict_core::wire::{ProduceRequest, ProduceTopic, Request, Response};

/// The Produce version that adds partitions to transactions and names topics.
pub(crate) const PRODUCE: i16 = 12;
pub(crate) const FETCH: i16 = 12;
pub(crate) const END_TXN: i16 = 5;
const INIT_PRODUCER_ID: i16 = 5;

/// Files in memory. What is written is durable at once.
#[derive(Clone, Default)]
pub(crate) struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    fn perform(&mut self, op: FileOp) -> FileResult {
        match op {
            FileOp::List { folder } => return Ok(FileOutcome::Names(self.list(folder.as_str()))),
            FileOp::Length { path } => {
                let length = self.0.get(path.as_str()).map(|bytes| bytes.len() as u64);
                return Ok(FileOutcome::Length(length));
            }
            FileOp::Read { path, position, length } => {
                let bytes = self.0.get(path.as_str()).ok_or(FileError::NotFound)?;
                let start = (position as usize).min(bytes.len());
                let end = start.saturating_add(length as usize).min(bytes.len());
                return Ok(FileOutcome::Bytes(Bytes::copy_from_slice(&bytes[start..end])));
            }
            FileOp::Write { path, position, data, .. } => {
                let file = self.0.entry(path.as_str().into()).or_default();
                let mut at = position as usize;
                for part in data {
                    let end = at + part.len();
                    file.resize(file.len().max(end), 0);
                    file[at..end].copy_from_slice(&part);
                    at = end;
                }
            }
            FileOp::Truncate { path, length } | FileOp::Allocate { path, length } => {
                self.0.entry(path.as_str().into()).or_default().resize(length as usize, 0);
            }
            FileOp::Rename { source, target } => {
                let bytes = self.0.remove(source.as_str()).ok_or(FileError::NotFound)?;
                self.0.insert(target.as_str().into(), bytes);
            }
            FileOp::Remove { path } => {
                self.0.remove(path.as_str());
            }
            FileOp::RemoveFolder { folder } => {
                let prefix = format!("{folder}/");
                self.0.retain(|path, _| !path.starts_with(&prefix));
            }
            FileOp::Sync { .. }
            | FileOp::SyncFolder { .. }
            | FileOp::SyncAll { .. }
            | FileOp::CreateFolder { .. } => {}
        }
        Ok(FileOutcome::Done)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let below = self.0.range(prefix.clone()..).take_while(|(p, _)| p.starts_with(&prefix));
        let mut names: Vec<String> = below
            .map(|(path, _)| path[prefix.len()..].split('/').next().unwrap_or_default().to_owned())
            .collect();
        names.dedup();
        names
    }
}

/// Runs something and counts in it.
pub(crate) type Meter = fn(&mut dyn FnMut()) -> u64;

/// A node with its files and clock.
pub(crate) struct Driver {
    pub(crate) node: Node,
    pub(crate) files: Files,
    now: Now,
    config: BrokerConfig,
    answers: BTreeMap<RequestId, Response>,
    outputs: Vec<Output>,
    next_request: u64,
    /// Counts what it runs, when anything is to be counted.
    pub(crate) meter: Option<Meter>,
    /// The sum of what it counted inside the node.
    pub(crate) counted: u64,
}

impl Driver {
    pub(crate) fn start() -> Self {
        let config = BrokerConfig {
            offsets_topic_num_partitions: 2,
            transaction_state_log_num_partitions: 2,
            entropy: 42,
            ..BrokerConfig::default()
        };
        Self::on(config, Files::default())
    }

    /// A node on what another one left, as after `kill -9`.
    pub(crate) fn crashed(&self) -> Self {
        Self::on(self.config.clone(), self.files.clone())
    }

    fn on(config: BrokerConfig, files: Files) -> Self {
        let mut driver = Self {
            node: Node::new(config.clone()),
            files,
            now: Now { at: Timestamp(1), wall_ms: 1_000_000 },
            config,
            answers: BTreeMap::new(),
            outputs: Vec::with_capacity(4_096),
            next_request: 0,
            meter: None,
            counted: 0,
        };
        driver.input(Input::Start);
        driver
    }

    /// Gives an input and works off what follows from it, files included.
    pub(crate) fn input(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            self.step(input);
            let mut outputs = std::mem::take(&mut self.outputs);
            for output in outputs.drain(..) {
                match output {
                    Output::File { ticket, op } => {
                        inputs.push_back(self.file_done(ticket, op));
                    }
                    Output::Respond { id, response } => {
                        self.answers.insert(id, response);
                    }
                    Output::Fault { reason } => panic!("{reason}"),
                    _ => {}
                }
            }
            self.outputs = outputs;
        }
    }

    fn file_done(&mut self, ticket: Ticket, op: FileOp) -> Input {
        Input::FileDone { ticket, result: self.files.perform(op) }
    }

    fn step(&mut self, input: Input) {
        let (node, now, outputs) = (&mut self.node, self.now, &mut self.outputs);
        let mut input = Some(input);
        let mut work = || {
            if let Some(input) = input.take() {
                node.handle(now, input);
            }
            while let Some(output) = node.poll_output(now) {
                outputs.push(output);
            }
        };
        match self.meter {
            Some(meter) => self.counted += meter(&mut work),
            None => work(),
        }
    }

    /// Lets time pass, with the ticks that are due in it.
    pub(crate) fn pass_ms(&mut self, ms: u64) {
        let end = self.now.at.after_ms(ms);
        while let Some(at) = self.node.next_timeout().filter(|at| *at <= end) {
            self.now.at = Timestamp(at.max(self.now.at).0 + 1);
            self.input(Input::Tick);
        }
        self.now.at = self.now.at.max(end);
    }

    /// Sends a request; its number.
    pub(crate) fn send(&mut self, conn: u64, version: i16, request: Request) -> RequestId {
        self.next_request += 1;
        let id = RequestId(self.next_request);
        let client_id: Arc<str> = Arc::from("test");
        self.input(Input::Request { id, conn: ConnId(conn), version, client_id, request });
        id
    }

    /// The answer, if it is there.
    pub(crate) fn take(&mut self, id: RequestId) -> Option<Response> {
        self.answers.remove(&id)
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

    pub(crate) fn create_topic(&mut self, name: &str, partitions: i32) {
        let topic = CreatableTopic::default()
            .with_name(KafkaString::from(name.to_owned()))
            .with_num_partitions(partitions)
            .with_replication_factor(1);
        let data = CreateTopicsRequestData::default().with_topics(vec![topic]);
        let Response::CreateTopics(answer) = self.ask(5, Request::CreateTopics(data)) else {
            panic!("a CreateTopics")
        };
        assert_eq!(answer.topics[0].error_code, 0, "{answer:?}");
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
