//! Settings, partition counts and features that change while the node runs: what is answered, that
//! it holds at once, and that it is there after a crash.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use kacrab_protocol::generated::create_partitions_request::CreatePartitionsTopic;
use kacrab_protocol::generated::describe_configs_request::DescribeConfigsResource;
use kacrab_protocol::generated::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use kacrab_protocol::generated::update_features_request::FeatureUpdateKey;
use kacrab_protocol::generated::{
    AlterConfigsRequestData, CreatePartitionsRequestData, DescribeConfigsRequestData,
    IncrementalAlterConfigsRequestData, UpdateFeaturesRequestData, alter_configs_request,
};

use super::verbs::{Who, batch, produce, produced, text};
use crate::error::ErrorCode;
use crate::node::testing::Bench;
use crate::wire::{Request, Response};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

type Step<'a> = (&'a str, i8, Option<&'a str>);

fn steps(kind: i8, name: &str, steps: &[Step<'_>], validate_only: bool) -> Request {
    let configs = steps.iter().map(|(name, config_operation, value)| AlterableConfig {
        name: text(name),
        config_operation: *config_operation,
        value: value.map(text),
        ..Default::default()
    });
    let resource = AlterConfigsResource {
        resource_type: kind,
        resource_name: text(name),
        configs: configs.collect(),
        ..Default::default()
    };
    let resources = vec![resource];
    let data =
        IncrementalAlterConfigsRequestData { resources, validate_only, ..Default::default() };
    Request::IncrementalAlterConfigs(data)
}

fn codes(response: Response) -> Vec<i16> {
    match response {
        Response::IncrementalAlterConfigs(answer) => {
            answer.responses.iter().map(|one| one.error_code).collect()
        }
        Response::AlterConfigs(answer) => {
            answer.responses.iter().map(|one| one.error_code).collect()
        }
        Response::CreatePartitions(answer) => {
            answer.results.iter().map(|one| one.error_code).collect()
        }
        other => panic!("{other:?}"),
    }
}

impl Bench {
    pub(super) fn alter(&mut self, kind: i8, name: &str, change: &[Step<'_>]) -> i16 {
        codes(self.ask(1, steps(kind, name, change, false)))[0]
    }

    /// A setting's value and source.
    fn told(&mut self, kind: i8, name: &str, config: &str) -> (Option<alloc::string::String>, i8) {
        let resource = DescribeConfigsResource {
            resource_type: kind,
            resource_name: text(name),
            configuration_keys: Some(vec![text(config)]),
            ..Default::default()
        };
        let resources = vec![resource];
        let data = DescribeConfigsRequestData { resources, ..Default::default() };
        let Response::DescribeConfigs(answer) = self.ask(4, Request::DescribeConfigs(data)) else {
            panic!("another answer")
        };
        let [config] = &answer.results[0].configs[..] else { panic!("{:?}", answer.results) };
        (config.value.as_ref().map(|value| value.as_str().to_string()), config.config_source)
    }

    fn grow(&mut self, name: &str, count: i32, validate_only: bool) -> i16 {
        let topics = vec![CreatePartitionsTopic { name: text(name), count, ..Default::default() }];
        let data = CreatePartitionsRequestData { topics, validate_only, ..Default::default() };
        codes(self.ask(3, Request::CreatePartitions(data)))[0]
    }
}

#[test]
fn a_topics_setting_holds_at_once_and_after_a_crash() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    assert_eq!(bench.alter(TOPIC, "t", &[("max.message.bytes", SET, Some("100"))]), 0);
    let big = || produce(11, None, "t-0", batch(Who::NOBODY, -1, 20, false));
    let too_large = Err(ErrorCode::MessageTooLarge.code());
    assert_eq!(produced(bench.ask(11, big())), too_large);
    let mut bench = bench.crash();
    assert_eq!(bench.told(TOPIC, "t", "max.message.bytes"), (Some("100".into()), 1));
    assert_eq!(produced(bench.ask(11, big())), too_large);
    assert_eq!(bench.alter(TOPIC, "t", &[("max.message.bytes", DELETE, None)]), 0);
    assert_eq!(bench.told(TOPIC, "t", "max.message.bytes"), (Some("1048588".into()), 5));
    assert_eq!(produced(bench.ask(11, big())), Ok(0));
}

#[test]
fn a_change_of_settings_is_refused_as_kafka_does() {
    use ErrorCode::{
        InvalidConfig, InvalidRequest, InvalidTopicException, UnknownTopicOrPartition,
    };
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let table: [(i8, &str, &[Step<'_>], ErrorCode); 18] = [
        (TOPIC, "nope", &[("retention.ms", SET, Some("1"))], UnknownTopicOrPartition),
        (TOPIC, "a b", &[("retention.ms", SET, Some("1"))], InvalidTopicException),
        (TOPIC, "", &[("retention.ms", SET, Some("1"))], InvalidRequest),
        (TOPIC, "t", &[("retention.ms", SET, Some("soon"))], InvalidConfig),
        (TOPIC, "t", &[("retention.ms", SET, Some("-2"))], InvalidConfig),
        (TOPIC, "t", &[("foo.bar", SET, Some("1"))], InvalidConfig),
        (TOPIC, "t", &[("retention.ms", APPEND, Some("1"))], InvalidConfig),
        (TOPIC, "t", &[("retention.ms", SET, None)], InvalidRequest),
        (TOPIC, "t", &[("retention.ms", 9, Some("1"))], InvalidRequest),
        (
            TOPIC,
            "t",
            &[("retention.ms", SET, Some("1")), ("retention.ms", SET, Some("2"))],
            InvalidRequest,
        ),
        (
            TOPIC,
            "t",
            &[("min.compaction.lag.ms", SET, Some("9")), ("max.compaction.lag.ms", SET, Some("5"))],
            InvalidConfig,
        ),
        (BROKER, "1", &[("node.id", SET, Some("5"))], InvalidRequest),
        (BROKER, "1", &[("message.max.bytes", SET, Some("x"))], InvalidRequest),
        (BROKER, "2", &[("message.max.bytes", SET, Some("1"))], InvalidRequest),
        (BROKER, "x", &[("message.max.bytes", SET, Some("1"))], InvalidRequest),
        (BROKER, "", &[("message.max.bytes", SET, Some("-5"))], InvalidRequest),
        (8, "1", &[("kafka", SET, Some("INFO"))], InvalidRequest),
        (99, "1", &[("a", SET, Some("b"))], InvalidRequest),
    ];
    for (kind, name, change, expected) in table {
        assert_eq!(bench.alter(kind, name, change), expected.code(), "{name:?} {change:?}");
    }
    assert_eq!(bench.told(TOPIC, "t", "retention.ms").1, 5, "nothing was changed");
}

#[test]
fn a_resource_is_described_once_in_an_answer() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let resource = |name| DescribeConfigsResource {
        resource_type: TOPIC,
        resource_name: text(name),
        ..Default::default()
    };
    let resources = vec![resource("t"), resource("u"), resource("t")];
    let data = DescribeConfigsRequestData { resources, ..Default::default() };
    let Response::DescribeConfigs(answer) = bench.ask(4, Request::DescribeConfigs(data)) else {
        panic!("another answer")
    };
    let codes: Vec<i16> = answer.results.iter().map(|one| one.error_code).collect();
    let twice = ErrorCode::InvalidRequest.code();
    assert_eq!(codes, [twice, ErrorCode::UnknownTopicOrPartition.code(), twice]);
}

#[test]
fn words_are_added_to_a_list_and_taken_out_of_it() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let mut change = |kind, word| {
        assert_eq!(bench.alter(TOPIC, "t", &[("cleanup.policy", kind, Some(word))]), 0);
        bench.told(TOPIC, "t", "cleanup.policy").0.unwrap()
    };
    assert_eq!(change(APPEND, "compact"), "delete,compact");
    assert_eq!(change(APPEND, "compact"), "delete,compact");
    assert_eq!(change(SUBTRACT, "delete"), "compact");
    assert_eq!(change(SUBTRACT, "compact"), "");
}

#[test]
fn changes_that_come_together_are_made_one_after_the_other() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let one = |kind, word| steps(TOPIC, "t", &[("cleanup.policy", kind, Some(word))], false);
    let ids = bench.send_at_once(vec![
        (1, one(APPEND, "compact")),
        (1, one(SUBTRACT, "delete")),
        (1, one(APPEND, "delete")),
    ]);
    for id in ids {
        assert_eq!(codes(bench.await_answer(id)), [0]);
    }
    assert_eq!(bench.told(TOPIC, "t", "cleanup.policy").0.unwrap(), "compact,delete");
}

#[test]
fn alter_configs_forgets_what_it_does_not_name() {
    let mut bench = Bench::open();
    bench.topic_with("t", 1, &[("retention.ms", "5"), ("segment.bytes", "2000000")]);
    let config = alter_configs_request::AlterableConfig {
        name: text("retention.ms"),
        value: Some(text("7")),
        ..Default::default()
    };
    let resource = alter_configs_request::AlterConfigsResource {
        resource_type: TOPIC,
        resource_name: text("t"),
        configs: vec![config],
        ..Default::default()
    };
    let resources = vec![resource];
    let data = AlterConfigsRequestData { resources, ..Default::default() };
    assert_eq!(codes(bench.ask(2, Request::AlterConfigs(data))), [0]);
    assert_eq!(bench.told(TOPIC, "t", "retention.ms"), (Some("7".into()), 1));
    assert_eq!(bench.told(TOPIC, "t", "segment.bytes").1, 5);
}

#[test]
fn validating_changes_nothing() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let change = steps(TOPIC, "t", &[("retention.ms", SET, Some("5"))], true);
    assert_eq!(codes(bench.ask(1, change)), [0]);
    assert_eq!(bench.told(TOPIC, "t", "retention.ms").1, 5);
    assert_eq!(bench.grow("t", 5, true), 0);
    assert_eq!(bench.grow("t", 2, false), 0, "it had one");
}

#[test]
fn a_brokers_setting_is_what_its_topics_fall_back_to_also_after_a_crash() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let set = |value| [("message.max.bytes", SET, Some(value))];
    assert_eq!(bench.alter(BROKER, "", &set("300")), 0);
    assert_eq!(bench.told(TOPIC, "t", "max.message.bytes"), (Some("300".into()), 3));
    assert_eq!(bench.alter(BROKER, "1", &set("100")), 0);
    let mut bench = bench.crash();
    assert_eq!(bench.told(TOPIC, "t", "max.message.bytes"), (Some("100".into()), 2));
    assert_eq!(bench.told(BROKER, "1", "message.max.bytes"), (Some("100".into()), 2));
    let big = produce(11, None, "t-0", batch(Who::NOBODY, -1, 20, false));
    assert_eq!(produced(bench.ask(11, big)), Err(ErrorCode::MessageTooLarge.code()));
    assert_eq!(bench.alter(BROKER, "1", &[("message.max.bytes", DELETE, None)]), 0);
    assert_eq!(bench.told(TOPIC, "t", "max.message.bytes"), (Some("300".into()), 3));
}

#[test]
fn a_setting_of_the_file_is_told_as_one() {
    let mut bench = Bench::open_with(|config| {
        config.message_max_bytes = 777;
        config.log_retention_hours = 1;
    });
    bench.topic("t", 1);
    assert_eq!(bench.told(TOPIC, "t", "max.message.bytes"), (Some("777".into()), 4));
    assert_eq!(bench.told(BROKER, "1", "message.max.bytes"), (Some("777".into()), 4));
    assert_eq!(bench.told(TOPIC, "t", "retention.ms"), (Some("3600000".into()), 4));
}

#[test]
fn a_topic_gets_partitions_that_can_be_written_at_once_and_after_a_crash() {
    let mut bench = Bench::open();
    bench.topic("t", 2);
    for (name, count, code) in [
        ("t", 2, ErrorCode::InvalidPartitions),
        ("t", 1, ErrorCode::InvalidPartitions),
        ("t", 0, ErrorCode::InvalidPartitions),
        ("nope", 3, ErrorCode::UnknownTopicOrPartition),
        ("t", 20_000, ErrorCode::PolicyViolation),
        ("__consumer_offsets", 60, ErrorCode::InvalidRequest),
    ] {
        assert_eq!(bench.grow(name, count, false), code.code(), "{name} {count}");
    }
    assert_eq!(bench.grow("t", 4, false), 0);
    assert_eq!(bench.plain("t-3", 2), 0);
    let mut bench = bench.crash();
    assert_eq!(bench.plain("t-3", 1), 2);
    assert_eq!(bench.plain("t-2", 1), 0);
}

#[test]
fn the_level_of_transactions_moves_and_no_other() {
    let mut bench = Bench::open();
    let mut move_to = |feature: &str, max_version_level, upgrade_type| {
        let update = FeatureUpdateKey {
            feature: text(feature),
            max_version_level,
            upgrade_type,
            ..Default::default()
        };
        let data =
            UpdateFeaturesRequestData { feature_updates: vec![update], ..Default::default() };
        let Response::UpdateFeatures(answer) = bench.ask(2, Request::UpdateFeatures(data)) else {
            panic!("another answer")
        };
        answer.error_code
    };
    let refused = ErrorCode::InvalidUpdateVersion.code();
    assert_eq!(move_to("transaction.version", 1, 1), refused, "not an upgrade");
    assert_eq!(move_to("transaction.version", 9, 1), refused);
    assert_eq!(move_to("transaction.version", 1, 9), refused);
    assert_eq!(move_to("foo", 1, 1), refused);
    assert_eq!(move_to("group.version", 0, 3), refused);
    assert_eq!(move_to("transaction.version", 1, 2), 0);
    assert_eq!(move_to("transaction.version", 2, 2), refused, "not a downgrade");
    assert_eq!(move_to("transaction.version", 2, 1), 0);
    assert_eq!(move_to("transaction.version", 2, 1), 0, "it is there");
}

const GROUP: i8 = 32;
const INVALID_CONFIG: i16 = 40;

#[test]
fn a_group_has_settings_of_its_own_within_the_bounds_of_the_broker() {
    let mut bench = Bench::open();
    let session = "consumer.session.timeout.ms";
    assert_eq!(bench.told(GROUP, "g", session), (Some("45000".to_string()), 5));
    assert_eq!(bench.alter(GROUP, "g", &[(session, SET, Some("50000"))]), 0);
    assert_eq!(bench.told(GROUP, "g", session), (Some("50000".to_string()), 8));
    assert_eq!(bench.told(GROUP, "other", session).1, 5);
    for (name, value) in [
        (session, "44999"),
        (session, "60001"),
        (session, "x"),
        ("consumer.heartbeat.interval.ms", "15001"),
        ("share.session.timeout.ms", "45000"),
        ("nosuch", "1"),
    ] {
        let code = bench.alter(GROUP, "g", &[(name, SET, Some(value))]);
        assert_eq!(code, INVALID_CONFIG, "{name}={value}");
    }
    assert_eq!(bench.alter(GROUP, "", &[(session, SET, Some("50000"))]), 42);
    let mut bench = bench.crash();
    assert_eq!(bench.told(GROUP, "g", session), (Some("50000".to_string()), 8));
    assert_eq!(bench.alter(GROUP, "g", &[(session, DELETE, None)]), 0);
    assert_eq!(bench.told(GROUP, "g", session).1, 5);
}

#[test]
fn settings_of_sasl_are_taken_and_told_as_there_is_no_listener_they_act_on() {
    let mut bench = Bench::open();
    let name = "sasl.kerberos.min.time.before.relogin";
    assert_eq!(bench.alter(BROKER, "1", &[(name, SET, Some("58000"))]), 0);
    assert_eq!(bench.told(BROKER, "1", name), (Some("58000".to_string()), 2));
    assert_eq!(bench.alter(BROKER, "", &[(name, SET, Some("59000"))]), 0);
    assert_eq!(bench.told(BROKER, "", name), (Some("59000".to_string()), 3));
    let refresh = "sasl.login.refresh.buffer.seconds";
    assert_eq!(bench.alter(BROKER, "1", &[(refresh, SET, Some("200"))]), 0);
    assert_eq!(bench.told(BROKER, "1", refresh), (Some("200".to_string()), 2));
}
