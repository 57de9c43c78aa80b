//! librdkafka against a broker in this process: idempotence, transactions, isolation, fencing.
#![cfg(not(madsim))]

use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use verdict_net_tokio::test_broker::TestBroker;

const TIMEOUT: Duration = Duration::from_secs(20);

fn producer(broker: &TestBroker, transactional_id: Option<&str>) -> FutureProducer {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", broker.bootstrap())
        .set("enable.idempotence", "true")
        .set("message.timeout.ms", "15000");
    if let Some(id) = transactional_id {
        config.set("transactional.id", id).set("transaction.timeout.ms", "15000");
    }
    config.create().expect("a producer")
}

/// A transactional producer whose id is its own from here on.
fn initialized(broker: &TestBroker, transactional_id: &str) -> FutureProducer {
    let producer = producer(broker, Some(transactional_id));
    producer.init_transactions(TIMEOUT).expect("InitProducerId");
    producer
}

async fn send(producer: &FutureProducer, topic: &str, value: &str) -> Result<i64, KafkaError> {
    let record = FutureRecord::<(), str>::to(topic).payload(value).partition(0);
    let delivered = producer.send(record, TIMEOUT).await;
    delivered.map(|delivery| delivery.offset).map_err(|(error, _)| error)
}

/// What a consumer is shown of partition 0 from its start to its end.
fn read(broker: &TestBroker, topic: &str, isolation: &str) -> Vec<String> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", broker.bootstrap())
        .set("group.id", "nobody")
        .set("enable.auto.commit", "false")
        .set("enable.partition.eof", "true")
        .set("isolation.level", isolation)
        .create()
        .expect("a consumer");
    let mut assignment = TopicPartitionList::new();
    assignment
        .add_partition_offset(topic, 0, Offset::Beginning)
        .expect("the beginning is an offset");
    consumer.assign(&assignment).expect("an assignment");
    let mut values = Vec::new();
    #[expect(clippy::disallowed_methods, reason = "a deadline of a test over real sockets")]
    let deadline = Instant::now() + TIMEOUT;
    #[expect(clippy::disallowed_methods, reason = "a deadline of a test over real sockets")]
    while Instant::now() < deadline {
        match consumer.poll(Duration::from_millis(200)) {
            Some(Ok(message)) => {
                let value = message.payload_view::<str>().expect("a value").expect("UTF-8");
                values.push(value.to_owned());
            }
            Some(Err(KafkaError::PartitionEOF(_))) => return values,
            Some(Err(_)) | None => {}
        }
    }
    panic!("{topic} was not read to its end in time, only {values:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotent_records_are_there_once_and_in_order() {
    let broker = TestBroker::start();
    let producer = producer(&broker, None);
    let sent: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    for value in &sent {
        send(&producer, "idempotent", value).await.expect("delivered");
    }
    assert_eq!(read(&broker, "idempotent", "read_committed"), sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_committed_transaction_is_visible_and_an_aborted_one_only_uncommitted() {
    let broker = TestBroker::start();
    let producer = initialized(&broker, "t");
    producer.begin_transaction().expect("begun");
    send(&producer, "both", "committed").await.expect("delivered");
    producer.commit_transaction(TIMEOUT).expect("committed");
    producer.begin_transaction().expect("begun");
    send(&producer, "both", "aborted").await.expect("delivered");
    producer.abort_transaction(TIMEOUT).expect("aborted");
    assert_eq!(read(&broker, "both", "read_committed"), ["committed"]);
    assert_eq!(read(&broker, "both", "read_uncommitted"), ["committed", "aborted"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_is_hidden_from_read_committed() {
    let broker = TestBroker::start();
    let producer = initialized(&broker, "t");
    producer.begin_transaction().expect("begun");
    send(&producer, "open", "pending").await.expect("delivered");
    assert_eq!(read(&broker, "open", "read_committed"), [""; 0]);
    assert_eq!(read(&broker, "open", "read_uncommitted"), ["pending"]);
    producer.commit_transaction(TIMEOUT).expect("committed");
    assert_eq!(read(&broker, "open", "read_committed"), ["pending"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_producer_of_an_id_fences_the_first() {
    let broker = TestBroker::start();
    let zombie = initialized(&broker, "t");
    zombie.begin_transaction().expect("begun");
    send(&zombie, "fenced", "zombie").await.expect("delivered");
    let heir = initialized(&broker, "t");
    let refused = zombie.commit_transaction(TIMEOUT).expect_err("fenced");
    let code = refused.rdkafka_error_code();
    let fences = [RDKafkaErrorCode::Fenced, RDKafkaErrorCode::InvalidProducerEpoch];
    assert!(code.is_some_and(|code| fences.contains(&code)), "{refused}");
    heir.begin_transaction().expect("begun");
    send(&heir, "fenced", "heir").await.expect("delivered");
    heir.commit_transaction(TIMEOUT).expect("committed");
    assert_eq!(read(&broker, "fenced", "read_committed"), ["heir"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_survive_a_restart_and_a_crash() {
    let mut broker = TestBroker::start();
    let mut expected = Vec::new();
    for round in 0..4 {
        let producer = initialized(&broker, "t");
        producer.begin_transaction().expect("begun");
        let value = format!("round {round}");
        send(&producer, "lives", &value).await.expect("delivered");
        producer.commit_transaction(TIMEOUT).expect("committed");
        expected.push(value);
        if round % 2 == 0 {
            broker.crash();
        } else {
            broker.restart();
        }
        assert_eq!(read(&broker, "lives", "read_committed"), expected);
    }
}
