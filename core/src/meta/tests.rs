//! What may be created, what a boot writes, and that the image is a replay of the log.

use alloc::string::{String, ToString};

use proptest::prelude::*;

use super::*;
use crate::error::ErrorCode;

fn empty() -> Meta {
    Meta::new(MetaConfig::default(), IdSource::new(42))
}

/// Replays records as if they were persisted at the end of the log.
fn persist(meta: &mut Meta, log: &mut Vec<Bytes>, records: Vec<Bytes>) -> Vec<MetaChange> {
    let mut changes = vec![];
    for record in records {
        changes.push(meta.replay(log.len() as Offset, &record).unwrap());
        log.push(record);
    }
    changes
}

fn booted() -> (Meta, Vec<Bytes>) {
    let (mut meta, mut log) = (empty(), vec![]);
    let boot = meta.plan_boot();
    persist(&mut meta, &mut log, boot);
    (meta, log)
}

fn create(meta: &mut Meta, log: &mut Vec<Bytes>, spec: &TopicSpec) -> TopicId {
    let plan = meta.plan_create(spec, false).unwrap();
    persist(meta, log, plan.records);
    plan.id
}

fn reload(log: &[Bytes]) -> Meta {
    let mut meta = empty();
    for (offset, record) in (0..).zip(log) {
        meta.replay(offset, record).unwrap();
    }
    meta
}

fn code(result: Result<TopicPlan, MetaError>) -> ErrorCode {
    result.as_ref().err().map_or(ErrorCode::None, ErrorCode::from)
}

#[test]
fn the_first_boot_writes_features_and_the_cluster_id_later_ones_only_themselves() {
    let (mut meta, mut log) = booted();
    assert_eq!(log.len(), 8);
    let cluster_id = meta.cluster_id().unwrap().to_string();
    assert_eq!(cluster_id.len(), 22);
    assert_eq!((meta.broker_epoch(), meta.leader_epoch()), (1, 0));
    let again = meta.plan_boot();
    assert_eq!(again.len(), 1);
    let changes = persist(&mut meta, &mut log, again);
    assert_eq!(changes, [MetaChange::Booted { epoch: 1 }]);
    assert_eq!(meta.cluster_id(), Some(cluster_id.as_str()));
}

#[test]
fn features_are_those_of_a_cluster_formatted_by_kafka_4_4() {
    let (meta, _) = booted();
    let features = meta.features();
    assert_eq!(features.epoch, 5);
    let finalized: Vec<_> = features.finalized.iter().map(|(n, level)| (&**n, *level)).collect();
    let expected = [
        ("eligible.leader.replicas.version", 1),
        ("group.version", 1),
        ("metadata.version", 33),
        ("share.version", 2),
        ("streams.version", 1),
        ("transaction.version", 2),
    ];
    assert_eq!(finalized, expected);
    assert_eq!(meta.feature_level(TRANSACTION_VERSION), 2);
    assert_eq!(meta.feature_level("kraft.version"), 0);
}

#[test]
fn a_cluster_may_begin_at_transaction_version_0() {
    let config = MetaConfig { transaction_version: 0, ..MetaConfig::default() };
    let (mut meta, mut log) = (Meta::new(config, IdSource::new(1)), vec![]);
    let boot = meta.plan_boot();
    persist(&mut meta, &mut log, boot);
    assert!(!meta.features().finalized.iter().any(|(name, _)| &**name == TRANSACTION_VERSION));
}

#[test]
fn a_topic_exists_when_its_records_are_persisted() {
    let (mut meta, mut log) = booted();
    let spec = TopicSpec { partitions: 2, ..TopicSpec::named("in") };
    let plan = meta.plan_create(&spec, false).unwrap();
    assert_eq!(meta.topic("in"), None);
    let changes = persist(&mut meta, &mut log, plan.records);
    let partition = |partition| MetaChange::PartitionCreated {
        id: PartitionId { topic_id: plan.id, partition },
        topic: TopicPartition::new("in", partition),
    };
    let name = TopicName::from("in");
    let created = MetaChange::TopicCreated { id: plan.id, name };
    assert_eq!(changes, [created, partition(0), partition(1)]);
    let found = meta.partition_id(&TopicPartition::new("in", 1));
    assert_eq!(found, Some(PartitionId { topic_id: plan.id, partition: 1 }));
    assert_eq!(meta.partition_id(&TopicPartition::new("in", 2)), None);
    assert_eq!(meta.partition_id(&TopicPartition::new("in", -1)), None);
    assert_eq!(meta.topic_by_id(plan.id).unwrap().partitions, 2);
}

#[test]
fn names_are_checked_as_kafka_does() {
    use ErrorCode::{InvalidRequest, InvalidTopicException, None as Ok, TopicAlreadyExists};
    let (mut meta, mut log) = booted();
    create(&mut meta, &mut log, &TopicSpec::named("a.b"));
    let (longest, too_long) = ("x".repeat(249), "x".repeat(250));
    let table = [
        ("", InvalidTopicException),
        (".", InvalidTopicException),
        ("..", InvalidTopicException),
        ("...", Ok),
        ("a b", InvalidTopicException),
        ("ä", InvalidTopicException),
        ("A-z_0.9", Ok),
        (longest.as_str(), Ok),
        (too_long.as_str(), InvalidTopicException),
        ("a.b", TopicAlreadyExists),
        ("a_b", InvalidTopicException),
        ("a-b", Ok),
        ("__cluster_metadata", InvalidRequest),
    ];
    for (name, expected) in table {
        let plan = meta.plan_create(&TopicSpec::named(name), true);
        assert_eq!(code(plan), expected, "{name}");
    }
}

#[test]
fn counts_and_assignments_are_checked_as_kafka_does() {
    use ErrorCode::{
        InvalidPartitions, InvalidReplicaAssignment, InvalidReplicationFactor, InvalidRequest,
        None as Ok, PolicyViolation,
    };
    let (mut meta, _) = booted();
    type Assignments = &'static [(i32, &'static [i32])];
    let table: [(i32, i16, Assignments, ErrorCode); 17] = [
        (-1, -1, &[], Ok),
        (3, 1, &[], Ok),
        (0, -1, &[], InvalidPartitions),
        (-2, 1, &[], InvalidPartitions),
        (10_000, 1, &[], Ok),
        (10_001, 1, &[], PolicyViolation),
        (i32::MAX, 1, &[], PolicyViolation),
        (1, 0, &[], InvalidReplicationFactor),
        (1, 2, &[], InvalidReplicationFactor),
        (0, -2, &[], InvalidReplicationFactor),
        (-1, -1, &[(1, &[1]), (0, &[1])], Ok),
        (1, -1, &[(0, &[1])], InvalidRequest),
        (-1, 1, &[(0, &[1])], InvalidRequest),
        (-1, -1, &[(1, &[1])], InvalidReplicaAssignment),
        (-1, -1, &[(0, &[])], InvalidReplicaAssignment),
        (-1, -1, &[(0, &[2])], InvalidReplicaAssignment),
        (-1, -1, &[(0, &[1]), (0, &[1])], InvalidReplicaAssignment),
    ];
    for (partitions, replication_factor, assignments, expected) in table {
        let assignments = assignments.iter().map(|(p, nodes)| (*p, nodes.to_vec())).collect();
        let named = TopicSpec::named("t");
        let spec = TopicSpec { partitions, replication_factor, assignments, ..named };
        assert_eq!(code(meta.plan_create(&spec, true)), expected, "{spec:?}");
    }
}

#[test]
fn settings_are_checked_and_typed() {
    let (mut meta, mut log) = booted();
    let with = |configs: &[(&str, Option<&str>)]| TopicSpec {
        configs: configs.iter().map(|(n, v)| (String::from(*n), v.map(String::from))).collect(),
        ..TopicSpec::named("t")
    };
    let table = [
        with(&[("no.such.config", Some("1"))]),
        with(&[("retention.ms", Some("soon"))]),
        with(&[("retention.ms", None)]),
        with(&[("remote.storage.enable", Some("true"))]),
        with(&[("min.compaction.lag.ms", Some("5")), ("max.compaction.lag.ms", Some("4"))]),
    ];
    for spec in table {
        assert_eq!(code(meta.plan_create(&spec, true)), ErrorCode::InvalidConfig, "{spec:?}");
    }
    let good = [
        ("cleanup.policy", Some("compact")),
        ("max.message.bytes", Some("500")),
        ("min.cleanable.dirty.ratio", Some("0.25")),
    ];
    create(&mut meta, &mut log, &with(&good));
    let settings = meta.settings(meta.topic("t").unwrap());
    assert!(settings.compact && !settings.delete);
    assert_eq!(settings.max_message_bytes, 500);
    assert_eq!(settings.min_cleanable_dirty_ppm, 250_000);
    assert_eq!(settings.segment_bytes, 1_073_741_824);
}

#[test]
fn a_topic_without_a_value_takes_the_brokers_and_then_the_default() {
    let static_configs = [("message.max.bytes", "777"), ("log.message.timestamp.type", "nonsense")];
    let static_configs =
        static_configs.map(|(name, value)| (Arc::from(name), Arc::from(value))).into();
    let config = MetaConfig { static_configs, ..MetaConfig::default() };
    let (mut meta, mut log) = (Meta::new(config, IdSource::new(1)), vec![]);
    create(&mut meta, &mut log, &TopicSpec::named("t"));
    let settings = meta.settings(meta.topic("t").unwrap());
    assert_eq!(settings.max_message_bytes, 777);
    assert!(!settings.log_append_time);
}

#[test]
fn a_planned_topic_is_not_planned_again_until_its_creation_failed() {
    let (mut meta, _) = booted();
    let spec = TopicSpec::named("a.b");
    let plan = meta.plan_create(&spec, false).unwrap();
    assert!(meta.is_being_created("a.b"));
    assert_eq!(code(meta.plan_create(&spec, false)), ErrorCode::TopicAlreadyExists);
    let collision = meta.plan_create(&TopicSpec::named("a_b"), false);
    assert_eq!(code(collision), ErrorCode::InvalidTopicException);
    meta.creation_failed(&plan.name);
    assert_eq!(code(meta.plan_create(&spec, false)), ErrorCode::None);
}

#[test]
fn validating_leaves_no_trace() {
    let (mut meta, _) = booted();
    let before = meta.clone();
    let plan = meta.plan_create(&TopicSpec::named("t"), true).unwrap();
    assert!(plan.records.is_empty() && plan.id.is_zero());
    assert_eq!(meta, before);
}

#[test]
fn a_name_that_is_twice_in_a_request_is_refused_twice() {
    let (mut meta, _) = booted();
    let specs = ["a", "b", "a"].map(TopicSpec::named);
    let codes: Vec<_> = meta.plan_create_all(&specs, false).into_iter().map(code).collect();
    let expected = [ErrorCode::InvalidRequest, ErrorCode::None, ErrorCode::InvalidRequest];
    assert_eq!(codes, expected);
}

#[test]
fn a_recreated_topic_has_another_id_and_none_of_the_old_settings() {
    let (mut meta, mut log) = booted();
    let configs = vec![(String::from("retention.ms"), Some(String::from("5")))];
    let old = create(&mut meta, &mut log, &TopicSpec { configs, ..TopicSpec::named("t") });
    let removal = meta.plan_delete("t").unwrap();
    assert_eq!(meta.plan_delete("t"), Err(MetaError::UnknownTopic), "it is being deleted");
    let changes = persist(&mut meta, &mut log, removal);
    let name = TopicName::from("t");
    assert_eq!(changes, [MetaChange::TopicDeleted { id: old, name, partitions: 1 }]);
    assert_eq!(meta.plan_delete_by_id(old), Err(MetaError::UnknownTopicId));
    let new = create(&mut meta, &mut log, &TopicSpec::named("t"));
    assert_ne!(old, new);
    assert!(meta.topic("t").unwrap().configs.is_empty());
}

#[test]
fn a_deletion_that_could_not_be_written_may_be_tried_again() {
    let (mut meta, mut log) = booted();
    let id = create(&mut meta, &mut log, &TopicSpec::named("t"));
    meta.plan_delete_by_id(id).unwrap();
    meta.deletion_failed(id);
    assert!(meta.plan_delete("t").is_ok());
}

#[test]
fn internal_topics_are_created_as_kafka_does_and_never_deleted() {
    let (mut meta, mut log) = booted();
    let spec = meta.transaction_state_spec(50, 104_857_600);
    create(&mut meta, &mut log, &spec);
    let spec = meta.consumer_offsets_spec(50, 104_857_600);
    create(&mut meta, &mut log, &spec);
    for name in ["__transaction_state", "__consumer_offsets"] {
        let topic = meta.topic(name).unwrap();
        assert_eq!(topic.partitions, 50);
        let settings = meta.settings(topic);
        assert!(settings.compact && settings.segment_bytes == 104_857_600);
        assert_eq!(meta.plan_delete(name), Err(MetaError::Internal));
    }
}

#[test]
fn blocks_of_producer_ids_are_handed_out_when_persisted_and_only_in_their_life_p32() {
    let (mut meta, mut log) = booted();
    let block = |first| [MetaChange::ProducerIds { first, count: 1_000 }];
    let first = meta.plan_producer_ids().unwrap();
    let second = meta.plan_producer_ids().unwrap();
    assert_eq!(persist(&mut meta, &mut log, first), block(0));
    assert_eq!(persist(&mut meta, &mut log, second), block(1_000));
    let mut next_life = reload(&log);
    let third = next_life.plan_producer_ids().unwrap();
    assert_eq!(persist(&mut next_life, &mut log, third), block(2_000));
}

#[test]
fn a_damaged_record_is_an_error() {
    let (mut meta, _) = booted();
    assert!(matches!(meta.replay(9, &[1, 2, 0, 9]), Err(MetaError::Damaged(_))));
}

#[derive(Clone, Debug)]
enum Step {
    Create(u8, i32),
    Delete(u8),
    Reserve,
    Boot,
    Crash,
}

fn step() -> impl Strategy<Value = (Step, bool)> {
    let step = prop_oneof![
        4 => (0_u8..4, 1_i32..4).prop_map(|(name, partitions)| Step::Create(name, partitions)),
        2 => (0_u8..4).prop_map(Step::Delete),
        3 => Just(Step::Reserve),
        1 => Just(Step::Boot),
        1 => Just(Step::Crash),
    ];
    (step, any::<bool>())
}

/// The image without what is in flight or drawn: what a replay of the log has to give.
fn image(meta: &Meta) -> Meta {
    Meta {
        ids: IdSource::new(0),
        creating: BTreeMap::new(),
        deleting: BTreeSet::new(),
        reserving: BTreeMap::new(),
        next_planned_producer_id: 0,
        ..meta.clone()
    }
}

proptest! {
    #[test]
    fn the_image_is_a_replay_of_the_log_and_no_id_is_given_twice(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let (mut meta, mut log) = booted();
        let mut lives = 0_u128;
        let mut topic_ids = BTreeSet::new();
        let mut blocks = BTreeSet::new();
        for (step, succeeds) in steps {
            let planned = match &step {
                Step::Create(name, partitions) => {
                    let named = TopicSpec::named(&name.to_string());
                    meta.plan_create(&TopicSpec { partitions: *partitions, ..named }, false)
                        .map(|plan| plan.records)
                }
                Step::Delete(name) => meta.plan_delete(&name.to_string()),
                Step::Reserve => meta.plan_producer_ids(),
                Step::Boot => Ok(meta.plan_boot()),
                Step::Crash => {
                    meta = reload(&log);
                    lives += 1;
                    meta.ids = IdSource::new(lives);
                    continue;
                }
            };
            let Ok(records) = planned else { continue };
            if succeeds {
                for change in persist(&mut meta, &mut log, records) {
                    if let MetaChange::TopicCreated { id, .. } = change {
                        prop_assert!(topic_ids.insert(id));
                    } else if let MetaChange::ProducerIds { first, count } = change {
                        prop_assert_eq!(count, PRODUCER_ID_BLOCK);
                        prop_assert!(blocks.insert(first));
                    }
                }
            } else if let Step::Create(name, _) = step {
                meta.creation_failed(&TopicName::from(name.to_string().as_str()));
            } else if let Step::Delete(name) = step {
                let id = meta.topic(&name.to_string()).map(|topic| topic.id);
                meta.deletion_failed(id.expect("a planned deletion is of a topic"));
            }
            prop_assert_eq!(image(&meta), image(&reload(&log)));
        }
    }
}
