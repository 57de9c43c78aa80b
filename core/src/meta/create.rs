//! Creating topics: Kafka 4.4.0's checks in their order (`ControllerApis`,
//! `ReplicationControlManager`), and the records of a topic that passes them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;

use super::configs::{invalid, topic_config};
use super::records::{MetaRecord, PartitionRecord};
use super::{CONFIG_OF_TOPIC, Meta, MetaError};
use crate::types::{
    CONSUMER_OFFSETS_TOPIC, METADATA_TOPIC, TRANSACTION_STATE_TOPIC, TopicId, TopicName,
};

/// Longest topic name, in bytes: `name-partition` has to be a folder's name.
pub(crate) const NAME_BYTES_MAX: usize = 249;
/// Kafka's `MAX_PARTITIONS_PER_BATCH`: partitions that one request may create.
pub const PARTITIONS_PER_REQUEST_MAX: usize = 10_000;

/// A topic to create, as CreateTopics asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicSpec {
    /// The name.
    pub name: String,
    /// How many partitions; -1 for `num.partitions`.
    pub partitions: i32,
    /// How many replicas; -1 for the default.
    pub replication_factor: i16,
    /// A manual assignment: each partition's nodes.
    pub assignments: Vec<(i32, Vec<i32>)>,
    /// The topic's own settings.
    pub configs: Vec<(String, Option<String>)>,
}

impl TopicSpec {
    /// A topic with defaults for everything.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: String::from(name),
            partitions: -1,
            replication_factor: -1,
            assignments: vec![],
            configs: vec![],
        }
    }
}

/// A topic that may be created.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicPlan {
    /// The name.
    pub name: TopicName,
    /// The id; zero when only validated.
    pub id: TopicId,
    /// How many partitions.
    pub partitions: i32,
    /// How many replicas: 1.
    pub replication_factor: i16,
    /// The topic's own settings.
    pub configs: BTreeMap<Arc<str>, Arc<str>>,
    /// What to append to the metadata log, in one batch; empty when only validated.
    pub records: Vec<Bytes>,
}

impl Meta {
    /// Plans the topics of one CreateTopics request: one result for each, in order. A planned
    /// topic counts as existing until its records are persisted ([`Meta::replay`]) or
    /// [`Meta::creation_failed`] takes it back.
    pub fn plan_create_all(
        &mut self,
        specs: &[TopicSpec],
        validate_only: bool,
    ) -> Vec<Result<TopicPlan, MetaError>> {
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for spec in specs {
            *count.entry(&spec.name).or_default() += 1;
        }
        let mut left = PARTITIONS_PER_REQUEST_MAX;
        let mut plans = Vec::with_capacity(specs.len());
        for spec in specs {
            plans.push(if count[spec.name.as_str()] > 1 {
                Err(MetaError::DuplicateInRequest)
            } else {
                self.plan_within(spec, validate_only, &mut left)
            });
        }
        plans
    }

    /// Plans one topic; see [`Meta::plan_create_all`].
    ///
    /// # Errors
    /// The first of Kafka's checks that it does not pass.
    pub fn plan_create(
        &mut self,
        spec: &TopicSpec,
        validate_only: bool,
    ) -> Result<TopicPlan, MetaError> {
        self.plan_within(spec, validate_only, &mut { PARTITIONS_PER_REQUEST_MAX })
    }

    fn plan_within(
        &mut self,
        spec: &TopicSpec,
        validate_only: bool,
        partitions_left: &mut usize,
    ) -> Result<TopicPlan, MetaError> {
        if spec.name == METADATA_TOPIC {
            return Err(MetaError::Internal);
        }
        check_topic_name(&spec.name)?;
        let name = TopicName::from(spec.name.as_str());
        if self.topics.contains_key(&name) || self.creating.contains_key(&name) {
            return Err(MetaError::TopicExists);
        }
        if let Some(other) = self.colliding(&spec.name) {
            return Err(MetaError::NameCollision(other));
        }
        let configs = check_configs(&spec.configs)?;
        let partitions = self.check_counts(spec)?;
        *partitions_left = usize::try_from(partitions)
            .ok()
            .and_then(|wanted| partitions_left.checked_sub(wanted))
            .ok_or(MetaError::TooManyPartitions)?;
        let mut plan = TopicPlan {
            name,
            id: TopicId::default(),
            partitions,
            replication_factor: 1,
            configs,
            records: vec![],
        };
        if !validate_only {
            plan.id = self.new_topic_id();
            plan.records = self.creation_records(&plan);
            self.creating.insert(plan.name.clone(), plan.id);
        }
        Ok(plan)
    }

    /// Plans a topic that was created elsewhere; `None` when it is known or on its way.
    pub fn plan_placed(
        &mut self,
        name: &TopicName,
        id: TopicId,
        partitions: i32,
        configs: &[(String, String)],
    ) -> Option<TopicPlan> {
        if self.topics.contains_key(name) || self.creating.contains_key(name) {
            return None;
        }
        let configs = configs.iter().map(|(key, value)| (Arc::from(&**key), Arc::from(&**value)));
        let configs = configs.collect();
        let name = name.clone();
        let mut plan =
            TopicPlan { name, id, partitions, replication_factor: 1, configs, records: vec![] };
        plan.records = self.creation_records(&plan);
        self.creating.insert(plan.name.clone(), id);
        Some(plan)
    }

    /// The creation of a planned topic could not be written: the name is free again.
    pub fn creation_failed(&mut self, name: &TopicName) {
        crate::mark!(MetaCreationFailed);
        self.creating.remove(name);
    }

    /// Whether a topic's creation is planned and not yet persisted.
    #[must_use]
    pub fn is_being_created(&self, name: &str) -> bool {
        self.creating.contains_key(name)
    }

    fn colliding(&self, name: &str) -> Option<Arc<str>> {
        let own = undotted(name);
        let taken = self.topics.keys().chain(self.creating.keys());
        taken
            .filter(|other| other.as_str().len() == name.len())
            .find(|other| undotted(other.as_str()).eq(own.clone()))
            .map(|other| Arc::from(other.as_str()))
    }

    fn check_counts(&self, spec: &TopicSpec) -> Result<i32, MetaError> {
        if !spec.assignments.is_empty() {
            if spec.replication_factor != -1 || spec.partitions != -1 {
                return Err(MetaError::AssignmentWithCounts);
            }
            return self.check_assignments(&spec.assignments);
        }
        if spec.replication_factor != -1 && spec.replication_factor != 1 {
            return Err(MetaError::InvalidReplicationFactor);
        }
        match spec.partitions {
            -1 => Ok(self.config.num_partitions.max(1)),
            partitions if partitions > 0 => Ok(partitions),
            _ => Err(MetaError::InvalidPartitions),
        }
    }

    fn check_assignments(&self, assignments: &[(i32, Vec<i32>)]) -> Result<i32, MetaError> {
        let mut seen = BTreeSet::new();
        for (partition, replicas) in assignments {
            if !seen.insert(*partition) {
                return Err(MetaError::InvalidAssignment("a partition is assigned twice"));
            }
            match replicas.as_slice() {
                [] => return Err(MetaError::InvalidAssignment("a replica list is empty")),
                [node] if *node == self.config.node_id => {}
                _ => return Err(MetaError::InvalidAssignment("a node is not registered")),
            }
        }
        // Ascending by the set: consecutive from 0, or there is a gap.
        if !(0..).zip(&seen).all(|(expected, partition)| expected == *partition) {
            return Err(MetaError::InvalidAssignment("partitions are not consecutive from 0"));
        }
        i32::try_from(seen.len()).map_err(|_| MetaError::TooManyPartitions)
    }

    fn new_topic_id(&mut self) -> TopicId {
        loop {
            let id = self.ids.next_id();
            if !self.by_id.contains_key(&id) && !self.creating.values().any(|other| *other == id) {
                return id;
            }
        }
    }

    /// The topic, its settings, then its partitions, so that a replay knows the settings when
    /// the first partition comes to be.
    fn creation_records(&self, plan: &TopicPlan) -> Vec<Bytes> {
        let topic = MetaRecord::Topic { name: plan.name.clone(), id: plan.id };
        let configs = plan.configs.iter().map(|(name, value)| MetaRecord::Config {
            resource_type: CONFIG_OF_TOPIC,
            resource: Arc::from(plan.name.as_str()),
            name: name.clone(),
            value: Some(value.clone()),
        });
        let partitions = (0..plan.partitions).map(|partition| {
            MetaRecord::Partition(PartitionRecord {
                topic_id: plan.id,
                partition,
                replicas: vec![self.config.node_id],
                leader: self.config.node_id,
                leader_epoch: self.leader_epoch(),
                directories: vec![self.config.directory_id],
            })
        });
        [topic].into_iter().chain(configs).chain(partitions).map(|record| record.encode()).collect()
    }

    /// The `__transaction_state` topic as Kafka creates it (spec 9.2).
    #[must_use]
    pub fn transaction_state_spec(&self, partitions: i32, segment_bytes: i32) -> TopicSpec {
        let segment_bytes = alloc::format!("{segment_bytes}");
        internal_topic(
            TRANSACTION_STATE_TOPIC,
            partitions,
            &[
                ("cleanup.policy", "compact"),
                ("compression.type", "uncompressed"),
                ("min.insync.replicas", "1"),
                ("segment.bytes", &segment_bytes),
                ("unclean.leader.election.enable", "false"),
            ],
        )
    }

    /// The `__consumer_offsets` topic as Kafka creates it.
    #[must_use]
    pub fn consumer_offsets_spec(&self, partitions: i32, segment_bytes: i32) -> TopicSpec {
        let segment_bytes = alloc::format!("{segment_bytes}");
        internal_topic(
            CONSUMER_OFFSETS_TOPIC,
            partitions,
            &[
                ("cleanup.policy", "compact"),
                ("compression.type", "producer"),
                ("segment.bytes", &segment_bytes),
            ],
        )
    }
}

fn internal_topic(name: &str, partitions: i32, configs: &[(&str, &str)]) -> TopicSpec {
    let owned = |(name, value): &(&str, &str)| (String::from(*name), Some(String::from(*value)));
    TopicSpec { partitions, configs: configs.iter().map(owned).collect(), ..TopicSpec::named(name) }
}

fn undotted(name: &str) -> impl Iterator<Item = u8> + Clone {
    name.bytes().map(|byte| if byte == b'.' { b'_' } else { byte })
}

/// Kafka's rules for topic names (`Topic.validate`).
/// Kafka's rules for topic names.
///
/// # Errors
/// When the name breaks one; it says which.
pub fn check_topic_name(name: &str) -> Result<(), MetaError> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let reason = match name {
        "" => "the empty string is not allowed",
        "." | ".." => "'.' and '..' are not allowed",
        _ if name.len() > NAME_BYTES_MAX => "it is longer than 249 characters",
        _ if !name.bytes().all(legal) => {
            "it has a character other than ASCII alphanumerics, '.', '_' and '-'"
        }
        _ => return Ok(()),
    };
    Err(MetaError::InvalidName(reason))
}

fn check_configs(
    given: &[(String, Option<String>)],
) -> Result<BTreeMap<Arc<str>, Arc<str>>, MetaError> {
    let mut configs: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
    for (name, value) in given {
        let Some(value) = value else {
            return Err(invalid(name, "null is not supported for topic configs"));
        };
        configs.insert(Arc::from(name.as_str()), Arc::from(value.as_str()));
    }
    check_settings(&configs)?;
    Ok(configs)
}

/// Kafka's rules for a topic's own settings, each and together (`LogConfig.validate`).
pub(super) fn check_settings(configs: &BTreeMap<Arc<str>, Arc<str>>) -> Result<(), MetaError> {
    for (name, value) in configs {
        let config = topic_config(name).ok_or_else(|| {
            MetaError::Config(alloc::format!("Unknown topic config name: {name}").into())
        })?;
        config.check(value)?;
        if &**name == "remote.storage.enable" && value.trim().eq_ignore_ascii_case("true") {
            return Err(invalid(name, "tiered storage is disabled in the broker"));
        }
    }
    let number = |name: &str, default: i64| {
        configs.get(name).and_then(|value| value.trim().parse::<i64>().ok()).unwrap_or(default)
    };
    if number("min.compaction.lag.ms", 0) > number("max.compaction.lag.ms", i64::MAX) {
        return Err(invalid("max.compaction.lag.ms", "less than min.compaction.lag.ms"));
    }
    Ok(())
}
