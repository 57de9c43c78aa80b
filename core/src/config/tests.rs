//! Tests of the settings.

use std::string::String;

use super::*;

#[test]
fn every_default_is_what_the_table_says_and_can_be_set() {
    let mut config = BrokerConfig::default();
    for property in PROPERTIES {
        assert_eq!(
            config.get(property.name).as_deref(),
            Some(property.default),
            "{}",
            property.name
        );
        config.set(property.name, property.default).unwrap();
    }
    assert_eq!(config, BrokerConfig::default());
    config.validate().unwrap();
}

#[test]
fn the_defaults_are_those_of_kafka() {
    for (name, default) in [
        ("transaction.max.timeout.ms", "900000"),
        ("transactional.id.expiration.ms", "604800000"),
        ("transaction.state.log.num.partitions", "50"),
        ("transaction.state.log.replication.factor", "1"),
        ("add.partitions.to.txn.retry.backoff.ms", "20"),
        ("producer.id.expiration.ms", "86400000"),
        ("message.max.bytes", "1048588"),
        ("max.decompressed.message.bytes", "2147483639"),
        ("log.message.timestamp.before.max.ms", "9223372036854775807"),
        ("log.segment.bytes", "1073741824"),
        ("socket.request.max.bytes", "104857600"),
        ("group.consumer.migration.policy", "bidirectional"),
    ] {
        assert_eq!(BrokerConfig::default().get(name).as_deref(), Some(default), "{name}");
    }
}

#[test]
fn names_are_sorted_unique_and_either_ours_or_ignored() {
    assert!(IGNORED.is_sorted());
    assert!(PENDING.is_sorted());
    for name in PENDING {
        assert!(PROPERTIES.iter().any(|property| property.name == *name), "{name}");
    }
    for property in PROPERTIES {
        assert!(!is_ignored(property.name), "{}", property.name);
        assert_eq!(PROPERTIES.iter().filter(|p| p.name == property.name).count(), 1);
        assert!(!property.doc.is_empty());
    }
}

#[test]
fn a_refusal_names_its_culprit() {
    let mut config = BrokerConfig::default();
    let before = config.clone();
    for (name, value, message) in [
        ("num.partitons", "3", "no property is called \"num.partitons\""),
        ("zookeeper.connect", "a:1", "no property is called \"zookeeper.connect\""),
        ("num.partitions", "many", "num.partitions: \"many\" is no int"),
        ("num.partitions", "99999999999", "num.partitions: \"99999999999\" is no int"),
        ("delete.topic.enable", "yes", "delete.topic.enable: \"yes\" is no boolean"),
        ("verdict.durability", "none", "verdict.durability: \"none\" is no one of fsync, os"),
        (
            "verdict.feature.transaction.version",
            "3",
            "verdict.feature.transaction.version: 3 is not in 0..=2",
        ),
    ] {
        assert_eq!(std::format!("{}", config.set(name, value).unwrap_err()), message);
    }
    assert!(matches!(
        config.set("num.partitions", "0"),
        Err(ConfigError::OutOfBounds { min: 1, .. })
    ));
    assert_eq!(config, before);
}

#[test]
fn a_properties_file_is_applied_as_java_reads_it() {
    let mut config = BrokerConfig::default();
    let warnings = config
        .apply_properties(
            "# a comment\n! another\n\nnode.id=7\n num.partitions : 3 \n\
             transaction.max.timeout.ms 60000\r\nlog.dirs=/a,\\\n  /b\n\
             listeners=PLAINTEXT://:9092\nlog.retention.ms=\n\
             listener.name.x.ssl.key=1\nlog.cleanup.policy=compact, delete\n\
             verdict.durability=os\nlog.message.timestamp.type=LogAppendTime",
        )
        .unwrap();
    assert_eq!(config.node_id, 7);
    assert_eq!(config.num_partitions, 3);
    assert_eq!(config.transaction_max_timeout_ms, 60_000);
    assert_eq!(config.log_retention_ms, None);
    assert_eq!(config.log_cleanup_policy, CleanupPolicy { delete: true, compact: true });
    assert_eq!(config.verdict_durability, Durability::Os);
    assert_eq!(config.log_message_timestamp_type, MessageTimestampType::LogAppendTime);
    let names: Vec<String> = warnings.into_iter().map(|warning| warning.name).collect();
    assert_eq!(names, ["log.dirs", "listeners", "listener.name.x.ssl.key"]);
}

#[test]
fn a_file_with_one_bad_line_changes_nothing() {
    let mut config = BrokerConfig::default();
    assert!(config.apply_properties("num.partitions=3\nnope=1").is_err());
    assert!(config.apply_properties("num.partitions=3\nlog.retention.hours=0").is_err());
    assert_eq!(config, BrokerConfig::default());
}

#[test]
fn the_finer_unit_wins() {
    let mut config = BrokerConfig::default();
    assert_eq!(config.effective_log_retention_ms(), 168 * 3_600_000);
    config.set("log.retention.minutes", "2").unwrap();
    assert_eq!(config.effective_log_retention_ms(), 120_000);
    config.set("log.retention.ms", "-1").unwrap();
    assert_eq!(config.effective_log_retention_ms(), -1);
    assert_eq!(config.effective_log_roll_ms(), 168 * 3_600_000);
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_properties_file_or_refused(text: String, pick: usize, value: i64) {
        fuzz_properties(text.as_bytes());
        let property = &PROPERTIES[pick % PROPERTIES.len()];
        fuzz_properties(std::format!("{}={value}\n{text}", property.name).as_bytes());
    }
}
