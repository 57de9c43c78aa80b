//! A transactional producer, one batch at a time.

use std::collections::BTreeMap;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::{
    AddPartitionsToTxnRequestData, AddPartitionsToTxnTopic, CreatableTopic,
    CreateTopicsRequestData, EndTxnRequestData, ErrorCode, FindCoordinatorRequestData,
    InitProducerIdRequestData, PartitionProduceData, ProduceRequestData, TopicProduceData,
};
use verdict_core::wire::{Request, Response};

use super::batch::{self, Writer};
use super::{ATTEMPT_PAUSE, ATTEMPTS_MAX, Client, ClientError, check, is_for_now, unexpected};
use crate::clock;

/// Which transaction protocol a producer speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Partitions are added by the client, epochs change with InitProducerId only.
    V1,
    /// KIP-890: partitions are added by Produce, each transaction has an epoch of its own.
    V2,
}

/// What a producer can call, by protocol: InitProducerId, Produce, EndTxn.
impl Protocol {
    const fn versions(self) -> (i16, i16, i16) {
        match self {
            Self::V1 => (4, 11, 3),
            Self::V2 => (5, 12, 5),
        }
    }
}

/// What kind of producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The protocol it speaks.
    pub protocol: Protocol,
    /// Whether it sends a request again, over a new connection, whose answer was lost. Real
    /// clients do, and rely on the broker to carry it out once.
    pub resends: bool,
    /// Its transaction timeout.
    pub timeout_ms: i32,
}

/// A producer with a transactional id.
pub struct Producer {
    client: Client,
    address: String,
    transactional_id: String,
    kind: Kind,
    producer_id: i64,
    producer_epoch: i16,
    /// Next sequence by topic and partition.
    sequences: BTreeMap<(String, i32), i32>,
    /// What was added to the open transaction, for the first protocol.
    added: Vec<(String, i32)>,
}

/// Sends a request again for as long as the broker says "not now".
macro_rules! persistently {
    ($attempt:expr) => {{
        let mut attempts = 0;
        loop {
            attempts += 1;
            match $attempt {
                Err(error) if is_for_now(&error) && attempts < ATTEMPTS_MAX => {
                    tokio::time::sleep(ATTEMPT_PAUSE).await;
                }
                other => break other,
            }
        }
    }};
}

/// As [`persistently`], and over a new connection when the answer was lost, for those who resend.
macro_rules! resending {
    ($producer:ident, $attempt:expr) => {{
        let mut reconnects = 0;
        loop {
            match persistently!($attempt) {
                Err(error) if $producer.may_resend(&error) && reconnects < ATTEMPTS_MAX => {
                    reconnects += 1;
                    $producer.reconnect().await;
                }
                other => break other,
            }
        }
    }};
}

impl Producer {
    /// Connects and initialises: whatever this transactional id left open is aborted, and every
    /// older producer of it fenced.
    ///
    /// # Errors
    /// As the calls.
    pub async fn begin(
        address: &str,
        transactional_id: &str,
        kind: Kind,
    ) -> Result<Self, ClientError> {
        let mut client = Client::connect(address, transactional_id).await?;
        persistently!(find_coordinator(&mut client, transactional_id).await)?;
        let request = Request::InitProducerId(
            InitProducerIdRequestData::default()
                .with_transactional_id(Some(KafkaString::from(transactional_id.to_owned())))
                .with_transaction_timeout_ms(kind.timeout_ms)
                .with_producer_id(-1)
                .with_producer_epoch(-1),
        );
        let (version, _, _) = kind.protocol.versions();
        let (producer_id, producer_epoch) =
            persistently!(init(&mut client, version, &request).await)?;
        Ok(Self {
            client,
            address: address.to_owned(),
            transactional_id: transactional_id.to_owned(),
            kind,
            producer_id,
            producer_epoch,
            sequences: BTreeMap::new(),
            added: Vec::new(),
        })
    }

    /// Creates a topic; one that exists is no error.
    ///
    /// # Errors
    /// As the call.
    pub async fn create_topic(
        client: &mut Client,
        topic: &str,
        partitions: i32,
    ) -> Result<(), ClientError> {
        let creatable = CreatableTopic::default()
            .with_name(KafkaString::from(topic.to_owned()))
            .with_num_partitions(partitions)
            .with_replication_factor(1);
        let data =
            CreateTopicsRequestData::default().with_topics(vec![creatable]).with_timeout_ms(30_000);
        match client.call(5, &Request::CreateTopics(data)).await? {
            Response::CreateTopics(answer) => {
                let exists = ErrorCode::TopicAlreadyExists.code();
                let code = answer.topics.first().map_or(0, |topic| topic.error_code);
                if code == exists { Ok(()) } else { check(code) }
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Its producer id and epoch.
    #[must_use]
    pub const fn identity(&self) -> (i64, i16) {
        (self.producer_id, self.producer_epoch)
    }

    /// The sequence of the next record to a partition.
    #[must_use]
    pub fn next_sequence(&self, topic: &str, partition: i32) -> i32 {
        self.sequences.get(&(topic.to_owned(), partition)).copied().unwrap_or(0)
    }

    /// Writes records to a partition, in the open transaction or as the first of a new one; the
    /// offset of the first of them.
    ///
    /// # Errors
    /// As the calls. The transaction can then only be given up.
    pub async fn send(
        &mut self,
        topic: &str,
        partition: i32,
        apps: &[u64],
    ) -> Result<i64, ClientError> {
        let key = (topic.to_owned(), partition);
        if self.kind.protocol == Protocol::V1 && !self.added.contains(&key) {
            resending!(self, self.add_partition(topic, partition).await)?;
            self.added.push(key.clone());
        }
        let base_sequence = self.next_sequence(topic, partition);
        let writer = Writer {
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            base_sequence,
        };
        let records = batch::transactional(writer, clock::wall_ms(), apps);
        let partition_data =
            PartitionProduceData::default().with_index(partition).with_records(Some(records));
        let topic_data = TopicProduceData::default()
            .with_name(KafkaString::from(topic.to_owned()))
            .with_partition_data(vec![partition_data]);
        let data = ProduceRequestData::default()
            .with_transactional_id(Some(KafkaString::from(self.transactional_id.clone())))
            .with_acks(-1)
            .with_timeout_ms(30_000)
            .with_topic_data(vec![topic_data]);
        let base_offset = resending!(self, self.produce(&data).await)?;
        let count = i32::try_from(apps.len()).unwrap_or(i32::MAX);
        self.sequences.insert(key, base_sequence.wrapping_add(count));
        Ok(base_offset)
    }

    /// Ends the transaction.
    ///
    /// # Errors
    /// As the call. Unless it says [`ClientError::Refused`], the outcome is unknown.
    pub async fn end(&mut self, commit: bool) -> Result<(), ClientError> {
        let request = Request::EndTxn(
            EndTxnRequestData::default()
                .with_transactional_id(KafkaString::from(self.transactional_id.clone()))
                .with_producer_id(self.producer_id)
                .with_producer_epoch(self.producer_epoch)
                .with_committed(commit),
        );
        resending!(self, self.end_once(&request).await)?;
        self.added.clear();
        Ok(())
    }

    fn may_resend(&self, error: &ClientError) -> bool {
        use ClientError::{Closed, Io, Timeout};
        self.kind.resends && matches!(error, Io(_) | Closed | Timeout)
    }

    /// Tries once; without success the next call fails again.
    async fn reconnect(&mut self) {
        tokio::time::sleep(ATTEMPT_PAUSE).await;
        if let Ok(client) = Client::connect(&self.address, &self.transactional_id).await {
            self.client = client;
        }
    }

    async fn end_once(&mut self, request: &Request) -> Result<(), ClientError> {
        let (_, _, version) = self.kind.protocol.versions();
        let answer = match self.client.call(version, request).await? {
            Response::EndTxn(answer) => answer,
            other => return Err(unexpected(&other)),
        };
        check(answer.error_code)?;
        if self.kind.protocol == Protocol::V2 {
            self.producer_id = answer.producer_id;
            self.producer_epoch = answer.producer_epoch;
            self.sequences.clear();
        }
        Ok(())
    }

    async fn add_partition(&mut self, topic: &str, partition: i32) -> Result<(), ClientError> {
        let topic = AddPartitionsToTxnTopic::default()
            .with_name(KafkaString::from(topic.to_owned()))
            .with_partitions(vec![partition]);
        let data = AddPartitionsToTxnRequestData::default()
            .with_v3_and_below_transactional_id(KafkaString::from(self.transactional_id.clone()))
            .with_v3_and_below_producer_id(self.producer_id)
            .with_v3_and_below_producer_epoch(self.producer_epoch)
            .with_v3_and_below_topics(vec![topic]);
        match self.client.call(3, &Request::AddPartitionsToTxn(data)).await? {
            Response::AddPartitionsToTxn(answer) => {
                let mut results = answer
                    .results_by_topic_v3_and_below
                    .iter()
                    .flat_map(|topic| &topic.results_by_partition);
                results.try_for_each(|result| check(result.partition_error_code))
            }
            other => Err(unexpected(&other)),
        }
    }

    async fn produce(&mut self, data: &ProduceRequestData) -> Result<i64, ClientError> {
        let (_, version, _) = self.kind.protocol.versions();
        match self.client.produce(version, data).await? {
            Response::Produce(answer) => {
                let topic = answer.responses.first();
                let result = topic.and_then(|topic| topic.partition_responses.first());
                let result = result.ok_or_else(|| ClientError::Protocol("no result".to_owned()))?;
                check(result.error_code)?;
                Ok(result.base_offset)
            }
            other => Err(unexpected(&other)),
        }
    }
}

/// Asks for the coordinator, as each producer does first: it is what creates the transaction log
/// of a new broker.
async fn find_coordinator(client: &mut Client, transactional_id: &str) -> Result<(), ClientError> {
    const TRANSACTION: i8 = 1;
    let request = Request::FindCoordinator(
        FindCoordinatorRequestData::default()
            .with_key(KafkaString::from(transactional_id.to_owned()))
            .with_key_type(TRANSACTION),
    );
    match client.call(3, &request).await? {
        Response::FindCoordinator(answer) => check(answer.error_code),
        other => Err(unexpected(&other)),
    }
}

async fn init(
    client: &mut Client,
    version: i16,
    request: &Request,
) -> Result<(i64, i16), ClientError> {
    match client.call(version, request).await? {
        Response::InitProducerId(answer) => {
            check(answer.error_code)?;
            Ok((answer.producer_id, answer.producer_epoch))
        }
        other => Err(unexpected(&other)),
    }
}
