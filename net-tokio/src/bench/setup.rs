//! What workloads need before they begin: topics, coordinators, producers.

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::{
    CreatableTopic, CreatePartitionsRequestData, CreatePartitionsTopic, CreateTopicsRequestData,
    ErrorCode, FindCoordinatorRequestData, InitProducerIdRequestData, MetadataRequestData,
    MetadataRequestTopic,
};
use verdict_core::types::Isolation;
use verdict_core::wire::{Request, Response};

use super::link::{Link, LinkError, check, persistently};
use super::reader::{Reader, Wish};
use super::template::Identity;

/// `FindCoordinator`'s kinds of key.
const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
/// How long a transaction may be open, in ms.
const TRANSACTION_TIMEOUT_MS: i32 = 60_000;
/// Partitions of one request: Apache Kafka writes 10,000 records for one at most.
const PARTITIONS_AT_ONCE: i32 = 5_000;

/// Creates a topic and waits until its partitions are led: the metadata know of a leader some time
/// before Apache Kafka's broker knows that it is the one.
pub(super) fn create_topic(address: &str, topic: &str, partitions: i32) -> Result<(), LinkError> {
    let link = &mut Link::connect(address)?;
    let creatable = CreatableTopic::default()
        .with_name(KafkaString::from(topic.to_owned()))
        .with_num_partitions(partitions.min(PARTITIONS_AT_ONCE))
        .with_replication_factor(1);
    let data =
        CreateTopicsRequestData::default().with_topics(vec![creatable]).with_timeout_ms(30_000);
    let Response::CreateTopics(answer) = link.call(5, &Request::CreateTopics(data))? else {
        return Err(LinkError::Unexpected);
    };
    let code = answer.topics.first().map_or(0, |topic| topic.error_code);
    if code != ErrorCode::TopicAlreadyExists.code() {
        check("CreateTopics", code)?;
    }
    let mut count = PARTITIONS_AT_ONCE;
    while count < partitions {
        persistently(|| led(link, topic, count))?;
        count = partitions.min(count + PARTITIONS_AT_ONCE);
        grow(link, topic, count)?;
    }
    persistently(|| led(link, topic, partitions))?;
    let wish = Wish { max_wait_ms: 0, ..Wish::usual(Isolation::ReadUncommitted) };
    let mut reader = Reader::new(Link::connect(address)?, topic, 0..partitions, wish);
    persistently(|| reader.fetch())?;
    Ok(())
}

fn grow(link: &mut Link, topic: &str, count: i32) -> Result<(), LinkError> {
    let topic = CreatePartitionsTopic::default()
        .with_name(KafkaString::from(topic.to_owned()))
        .with_count(count)
        .with_assignments(None);
    let data =
        CreatePartitionsRequestData::default().with_topics(vec![topic]).with_timeout_ms(30_000);
    let Response::CreatePartitions(answer) = link.call(2, &Request::CreatePartitions(data))? else {
        return Err(LinkError::Unexpected);
    };
    check("CreatePartitions", answer.results.first().map_or(0, |result| result.error_code))
}

fn led(link: &mut Link, topic: &str, partitions: i32) -> Result<(), LinkError> {
    let asked =
        MetadataRequestTopic::default().with_name(Some(KafkaString::from(topic.to_owned())));
    let data = MetadataRequestData::default()
        .with_topics(Some(vec![asked]))
        .with_allow_auto_topic_creation(false);
    let Response::Metadata(answer) = link.call(9, &Request::Metadata(data))? else {
        return Err(LinkError::Unexpected);
    };
    let topic = answer.topics.first().ok_or(LinkError::Unexpected)?;
    check("Metadata", topic.error_code)?;
    let led = topic.partitions.iter().filter(|partition| partition.error_code == 0).count();
    if led < usize::try_from(partitions).unwrap_or(0) {
        return check("Metadata", ErrorCode::LeaderNotAvailable.code());
    }
    Ok(())
}

/// Waits until there is a coordinator for a transactional id.
pub(super) fn find_transaction_coordinator(link: &mut Link, id: &str) -> Result<(), LinkError> {
    find_coordinator(link, id, TRANSACTION)
}

/// Waits until there is a coordinator for a group.
pub(super) fn find_group_coordinator(link: &mut Link, group: &str) -> Result<(), LinkError> {
    find_coordinator(link, group, GROUP)
}

fn find_coordinator(link: &mut Link, key: &str, kind: i8) -> Result<(), LinkError> {
    let data = FindCoordinatorRequestData::default()
        .with_key_type(kind)
        .with_coordinator_keys(vec![KafkaString::from(key.to_owned())]);
    let request = Request::FindCoordinator(data);
    persistently(|| match link.call(4, &request)? {
        Response::FindCoordinator(answer) => {
            let code = answer.coordinators.first().map_or(0, |found| found.error_code);
            check("FindCoordinator", code)
        }
        _ => Err(LinkError::Unexpected),
    })
}

/// A producer, transactional when it has an id.
pub(super) fn init_producer(
    link: &mut Link,
    transactional_id: Option<&str>,
) -> Result<Identity, LinkError> {
    if let Some(id) = transactional_id {
        find_transaction_coordinator(link, id)?;
    }
    let data = InitProducerIdRequestData::default()
        .with_transactional_id(transactional_id.map(|id| KafkaString::from(id.to_owned())))
        .with_transaction_timeout_ms(TRANSACTION_TIMEOUT_MS)
        .with_producer_id(-1)
        .with_producer_epoch(-1);
    let request = Request::InitProducerId(data);
    persistently(|| match link.call(5, &request)? {
        Response::InitProducerId(answer) => {
            check("InitProducerId", answer.error_code)?;
            let (producer_id, producer_epoch) = (answer.producer_id, answer.producer_epoch);
            Ok(Identity { producer_id, producer_epoch })
        }
        _ => Err(LinkError::Unexpected),
    })
}
