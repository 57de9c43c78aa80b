//! A transactional producer, one batch at a time.

use std::collections::BTreeMap;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::{
    AddPartitionsToTxnRequestData, AddPartitionsToTxnTopic, CreatableTopic,
    CreateTopicsRequestData, EndTxnRequestData, ErrorCode, InitProducerIdRequestData,
    PartitionProduceData, ProduceRequestData, TopicProduceData,
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

/// A producer with a transactional id.
pub struct Producer {
    client: Client,
    transactional_id: String,
    protocol: Protocol,
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

impl Producer {
    /// Connects and initialises: whatever this transactional id left open is aborted, and every
    /// older producer of it fenced.
    ///
    /// # Errors
    /// As the calls.
    pub async fn begin(
        address: &str,
        transactional_id: &str,
        protocol: Protocol,
        timeout_ms: i32,
    ) -> Result<Self, ClientError> {
        let mut client = Client::connect(address, transactional_id).await?;
        let request = Request::InitProducerId(
            InitProducerIdRequestData::default()
                .with_transactional_id(Some(KafkaString::from(transactional_id.to_owned())))
                .with_transaction_timeout_ms(timeout_ms)
                .with_producer_id(-1)
                .with_producer_epoch(-1),
        );
        let (version, _, _) = protocol.versions();
        let (producer_id, producer_epoch) =
            persistently!(init(&mut client, version, &request).await)?;
        Ok(Self {
            client,
            transactional_id: transactional_id.to_owned(),
            protocol,
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

    /// Writes values to a partition, in the open transaction or as the first of a new one.
    ///
    /// # Errors
    /// As the calls. The transaction can then only be given up.
    pub async fn send(
        &mut self,
        topic: &str,
        partition: i32,
        values: &[String],
    ) -> Result<(), ClientError> {
        let key = (topic.to_owned(), partition);
        if self.protocol == Protocol::V1 && !self.added.contains(&key) {
            persistently!(self.add_partition(topic, partition).await)?;
            self.added.push(key.clone());
        }
        let base_sequence = self.sequences.get(&key).copied().unwrap_or(0);
        let writer = Writer {
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            base_sequence,
        };
        let records = batch::transactional(writer, clock::wall_ms(), values);
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
        persistently!(self.produce(&data).await)?;
        let count = i32::try_from(values.len()).unwrap_or(i32::MAX);
        self.sequences.insert(key, base_sequence.wrapping_add(count));
        Ok(())
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
        persistently!(self.end_once(&request).await)?;
        self.added.clear();
        Ok(())
    }

    async fn end_once(&mut self, request: &Request) -> Result<(), ClientError> {
        let (_, _, version) = self.protocol.versions();
        let answer = match self.client.call(version, request).await? {
            Response::EndTxn(answer) => answer,
            other => return Err(unexpected(&other)),
        };
        check(answer.error_code)?;
        if self.protocol == Protocol::V2 {
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

    async fn produce(&mut self, data: &ProduceRequestData) -> Result<(), ClientError> {
        let (_, version, _) = self.protocol.versions();
        match self.client.produce(version, data).await? {
            Response::Produce(answer) => {
                let mut results =
                    answer.responses.iter().flat_map(|topic| &topic.partition_responses);
                results.try_for_each(|result| check(result.error_code))
            }
            other => Err(unexpected(&other)),
        }
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
