//! Topics, their ids and settings, features, producer id blocks and boots: an image of the
//! metadata log (`PartitionId::METADATA`), whose records have Kafka's KRaft schemas.
//!
//! # Rules
//! * The image changes only in [`Meta::replay`], record by record, when the record is persisted
//!   or read at recovery. The planning functions (`plan_…`) return records to append, and keep
//!   nothing but what is in flight: names being created or deleted, producer ids being reserved.
//! * The records of one plan are appended in one batch, so that they are persisted together.
//! * A block of producer ids is handed out once, in the life that planned it (P32).

mod alter;
mod cluster;
mod configs;
mod create;
mod describe;
mod error;
mod features;
pub mod fuzz;
mod groups;
mod ids;
pub mod records;
#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;

use self::records::MetaRecord;
use crate::types::{Offset, PartitionId, ProducerId, TopicId, TopicName, TopicPartition};

pub use self::alter::{AlterOp, AlterOpKind, BrokerPlan, NewPartitions};
pub use self::cluster::CLUSTER_ID_CONFIG;
pub use self::configs::{
    ConfigKind, TOPIC_CONFIGS, TOPIC_PENDING, TopicConfig, TopicSettings, topic_config,
};
pub(crate) use self::create::NAME_BYTES_MAX;
pub use self::create::{PARTITIONS_PER_REQUEST_MAX, TopicPlan, TopicSpec, check_topic_name};
pub use self::describe::{ConfigSource, Described, Synonym};
pub use self::error::MetaError;
pub use self::features::{
    Features, GROUP_VERSION, SUPPORTED, SupportedFeature, TRANSACTION_VERSION,
};
pub use self::groups::{GROUP_CONFIGS, GroupConfigKey};
pub use self::ids::IdSource;

/// Producer ids in one block.
pub const PRODUCER_ID_BLOCK: i64 = 1_000;
/// Kafka's `ConfigResource.Type` of topics.
const CONFIG_OF_TOPIC: i8 = 2;
/// Kafka's `ConfigResource.Type` of brokers.
const CONFIG_OF_BROKER: i8 = 4;
/// Kafka's `ConfigResource.Type` of groups.
const CONFIG_OF_GROUP: i8 = 32;

/// What the metadata needs of the broker's settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MetaConfig {
    /// `node.id`.
    pub node_id: i32,
    /// Host that clients are told to connect to.
    pub advertised_host: Arc<str>,
    /// Port that clients are told to connect to.
    pub advertised_port: u16,
    /// `num.partitions`.
    pub num_partitions: i32,
    /// The level that a new cluster finalizes transaction.version at.
    pub transaction_version: i16,
    /// Names the log directory in registrations and partitions; 0 is none in particular.
    pub directory_id: u128,
    /// The broker's settings that differ from their defaults, checked; what is given in hours or
    /// minutes stands in ms.
    pub static_configs: BTreeMap<Arc<str>, Arc<str>>,
}

impl Default for MetaConfig {
    fn default() -> Self {
        Self {
            node_id: 1,
            advertised_host: Arc::from("localhost"),
            advertised_port: 9092,
            num_partitions: 1,
            transaction_version: 2,
            directory_id: 0,
            static_configs: BTreeMap::new(),
        }
    }
}

/// A topic of the image.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Topic {
    /// Its name.
    pub name: TopicName,
    /// Its id.
    pub id: TopicId,
    /// Its partitions are `0..partitions`.
    pub partitions: i32,
    /// Its own settings; the rest comes from the broker or the defaults.
    pub configs: BTreeMap<Arc<str>, Arc<str>>,
}

/// What a persisted record means to the node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MetaChange {
    /// A topic came to be; its partitions follow.
    TopicCreated {
        /// Its id.
        id: TopicId,
        /// Its name.
        name: TopicName,
    },
    /// A partition came to be: the node creates its log.
    PartitionCreated {
        /// The partition.
        id: PartitionId,
        /// The same by name.
        topic: TopicPartition,
    },
    /// A topic is gone: the node deletes the logs of partitions `0..partitions`.
    TopicDeleted {
        /// Its id.
        id: TopicId,
        /// Its name.
        name: TopicName,
        /// How many partitions it had.
        partitions: i32,
    },
    /// A setting of a topic changed.
    TopicConfigChanged {
        /// The topic.
        name: TopicName,
    },
    /// A dynamic setting of this broker changed.
    BrokerConfigChanged,
    /// A setting of a group changed.
    GroupConfigChanged {
        /// The group.
        group: Arc<str>,
    },
    /// A block of producer ids that this life planned may be given out.
    ProducerIds {
        /// The first.
        first: ProducerId,
        /// How many.
        count: i64,
    },
    /// A feature was finalized.
    Feature {
        /// The feature.
        name: Arc<str>,
        /// The level, 0 for off.
        level: i16,
    },
    /// A boot is on record: partitions are led at this epoch from here on.
    Booted {
        /// The leader epoch.
        epoch: i32,
    },
    /// Nothing the node has to act on.
    Other,
}

/// The image of the metadata log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Meta {
    config: MetaConfig,
    ids: IdSource,
    topics: BTreeMap<TopicName, Topic>,
    by_id: BTreeMap<TopicId, TopicName>,
    /// Dynamic settings of all brokers, and of this one.
    cluster_configs: BTreeMap<Arc<str>, Arc<str>>,
    broker_configs: BTreeMap<Arc<str>, Arc<str>>,
    /// Settings of groups, whether those are there or not.
    group_configs: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<str>>>,
    features: BTreeMap<Arc<str>, i16>,
    features_epoch: Offset,
    cluster_id: Option<Arc<str>>,
    broker_epoch: i64,
    next_producer_id: ProducerId,
    /// Topics whose creation is planned and not persisted.
    creating: BTreeMap<TopicName, TopicId>,
    /// Topics whose removal is planned and not persisted.
    deleting: BTreeSet<TopicId>,
    /// First ids of blocks this life planned, by the id that follows the block.
    reserving: BTreeMap<ProducerId, ProducerId>,
    /// The id that follows the last planned block; never goes back.
    next_planned_producer_id: ProducerId,
}

impl Meta {
    /// The image of an empty log.
    #[must_use]
    pub const fn new(config: MetaConfig, ids: IdSource) -> Self {
        Self {
            config,
            ids,
            topics: BTreeMap::new(),
            by_id: BTreeMap::new(),
            cluster_configs: BTreeMap::new(),
            broker_configs: BTreeMap::new(),
            group_configs: BTreeMap::new(),
            features: BTreeMap::new(),
            features_epoch: -1,
            cluster_id: None,
            broker_epoch: 0,
            next_producer_id: 0,
            creating: BTreeMap::new(),
            deleting: BTreeSet::new(),
            reserving: BTreeMap::new(),
            next_planned_producer_id: 0,
        }
    }

    /// Takes a persisted record and its offset in the metadata log, in the order of the log.
    ///
    /// # Errors
    /// When the record cannot be read. The image is then not that of the log: the node must not
    /// serve from it.
    pub fn replay(&mut self, offset: Offset, record: &[u8]) -> Result<MetaChange, MetaError> {
        Ok(match MetaRecord::decode(record)? {
            MetaRecord::RegisterBroker(record) => {
                self.broker_epoch = self.broker_epoch.max(record.broker_epoch);
                MetaChange::Booted { epoch: self.leader_epoch() }
            }
            MetaRecord::Topic { name, id } => self.replay_topic(name, id),
            MetaRecord::Partition(record) => {
                self.replay_partition(record.topic_id, record.partition)
            }
            MetaRecord::Config { resource_type, resource, name, value } => {
                self.replay_config(resource_type, &resource, name, value)
            }
            MetaRecord::RemoveTopic { id } => self.replay_removal(id),
            MetaRecord::FeatureLevel { name, level } => {
                self.features_epoch = offset;
                self.features.insert(name.clone(), level);
                MetaChange::Feature { name, level }
            }
            MetaRecord::ProducerIds { next, .. } => self.replay_producer_ids(next),
            MetaRecord::Other(_) => MetaChange::Other,
        })
    }

    fn replay_topic(&mut self, name: TopicName, id: TopicId) -> MetaChange {
        self.creating.remove(&name);
        self.by_id.insert(id, name.clone());
        let configs = BTreeMap::new();
        let topic = Topic { name: name.clone(), id, partitions: 0, configs };
        self.topics.insert(name.clone(), topic);
        MetaChange::TopicCreated { id, name }
    }

    fn replay_partition(&mut self, topic_id: TopicId, partition: i32) -> MetaChange {
        let Some(topic) = self.by_id.get(&topic_id).and_then(|name| self.topics.get_mut(name))
        else {
            return MetaChange::Other;
        };
        topic.partitions = topic.partitions.max(partition.saturating_add(1));
        MetaChange::PartitionCreated {
            id: PartitionId { topic_id, partition },
            topic: TopicPartition { topic: topic.name.clone(), partition },
        }
    }

    fn replay_config(
        &mut self,
        resource_type: i8,
        resource: &str,
        name: Arc<str>,
        value: Option<Arc<str>>,
    ) -> MetaChange {
        if resource_type == CONFIG_OF_BROKER && &*name == CLUSTER_ID_CONFIG {
            self.cluster_id = value;
            return MetaChange::Other;
        }
        let (configs, change) = match resource_type {
            CONFIG_OF_TOPIC => {
                let Some(topic) = self.topics.get_mut(resource) else { return MetaChange::Other };
                let name = topic.name.clone();
                (&mut topic.configs, MetaChange::TopicConfigChanged { name })
            }
            CONFIG_OF_BROKER if resource.is_empty() => {
                (&mut self.cluster_configs, MetaChange::BrokerConfigChanged)
            }
            CONFIG_OF_BROKER if self.is_this_broker(resource) => {
                (&mut self.broker_configs, MetaChange::BrokerConfigChanged)
            }
            CONFIG_OF_GROUP => return self.replay_group_config(resource, name, value),
            _ => return MetaChange::Other,
        };
        match value {
            Some(value) => configs.insert(name, value),
            None => configs.remove(&name),
        };
        change
    }

    fn replay_group_config(
        &mut self,
        group: &str,
        name: Arc<str>,
        value: Option<Arc<str>>,
    ) -> MetaChange {
        let group: Arc<str> = Arc::from(group);
        let configs = self.group_configs.entry(group.clone()).or_default();
        match value {
            Some(value) => configs.insert(name, value),
            None => configs.remove(&name),
        };
        if configs.is_empty() {
            self.group_configs.remove(&group);
        }
        MetaChange::GroupConfigChanged { group }
    }

    fn replay_removal(&mut self, id: TopicId) -> MetaChange {
        self.deleting.remove(&id);
        let removed = self.by_id.remove(&id).and_then(|name| self.topics.remove(&name));
        removed.map_or(MetaChange::Other, |topic| MetaChange::TopicDeleted {
            id,
            name: topic.name,
            partitions: topic.partitions,
        })
    }

    /// Only a block that this life planned is handed on: those of older lives, met at recovery,
    /// may be in use already.
    fn replay_producer_ids(&mut self, next: ProducerId) -> MetaChange {
        self.next_producer_id = self.next_producer_id.max(next);
        self.reserving.remove(&next).map_or(MetaChange::Other, |first| MetaChange::ProducerIds {
            first,
            count: next.saturating_sub(first),
        })
    }

    /// Reserves the next block of producer ids; [`MetaChange::ProducerIds`] hands it out when the
    /// record is persisted. A plan that could not be written only leaves a gap.
    ///
    /// # Errors
    /// When there are none left.
    pub fn plan_producer_ids(&mut self) -> Result<Vec<Bytes>, MetaError> {
        let first = self.next_producer_id.max(self.next_planned_producer_id);
        let next = first.checked_add(PRODUCER_ID_BLOCK).ok_or(MetaError::ProducerIdsExhausted)?;
        self.next_planned_producer_id = next;
        self.reserving.insert(next, first);
        let broker_id = self.config.node_id;
        let record = MetaRecord::ProducerIds { broker_id, broker_epoch: self.broker_epoch, next };
        Ok(vec![record.encode()])
    }

    /// Plans the deletion of a topic by name, unless one is planned already.
    ///
    /// # Errors
    /// When there is no such topic, or it is internal.
    pub fn plan_delete(&mut self, name: &str) -> Result<Vec<Bytes>, MetaError> {
        let topic = self.topics.get(name).ok_or(MetaError::UnknownTopic)?;
        let id = topic.id;
        if topic.name.is_internal() {
            return Err(MetaError::Internal);
        }
        if !self.deleting.insert(id) {
            return Err(MetaError::UnknownTopic);
        }
        Ok(vec![MetaRecord::RemoveTopic { id }.encode()])
    }

    /// Plans the deletion of a topic by id, unless one is planned already.
    ///
    /// # Errors
    /// When there is no such topic, or it is internal.
    pub fn plan_delete_by_id(&mut self, id: TopicId) -> Result<Vec<Bytes>, MetaError> {
        let name = self.by_id.get(&id).cloned().ok_or(MetaError::UnknownTopicId)?;
        self.plan_delete(name.as_str()).map_err(|error| match error {
            MetaError::UnknownTopic => MetaError::UnknownTopicId,
            other => other,
        })
    }

    /// The deletion of a topic could not be written: it stays.
    pub fn deletion_failed(&mut self, id: TopicId) {
        crate::mark!(MetaDeletionFailed);
        self.deleting.remove(&id);
    }

    /// Whether a topic's removal is planned and not yet persisted.
    #[must_use]
    pub fn is_being_deleted(&self, id: TopicId) -> bool {
        self.deleting.contains(&id)
    }

    /// A planned record could not be written: what it was to change is as it was. True when it
    /// was a block of producer ids, of which only a gap is left.
    pub fn append_failed(&mut self, record: &[u8]) -> bool {
        match MetaRecord::decode(record) {
            Ok(MetaRecord::Topic { name, .. }) => self.creation_failed(&name),
            Ok(MetaRecord::RemoveTopic { id }) => self.deletion_failed(id),
            Ok(MetaRecord::ProducerIds { next, .. }) => {
                self.reserving.remove(&next);
                return true;
            }
            _ => {}
        }
        false
    }

    /// Every partition of every topic, by id and by name.
    #[must_use]
    pub fn partitions(&self) -> Vec<(PartitionId, TopicPartition)> {
        let of_topic = |topic: &Topic| {
            let (topic_id, name) = (topic.id, topic.name.clone());
            (0..topic.partitions).map(move |partition| {
                let topic = name.clone();
                (PartitionId { topic_id, partition }, TopicPartition { topic, partition })
            })
        };
        self.topics.values().flat_map(of_topic).collect()
    }

    /// Whether a partition of that id exists.
    #[must_use]
    pub fn has_partition(&self, id: PartitionId) -> bool {
        self.topic_by_id(id.topic_id)
            .is_some_and(|topic| (0..topic.partitions).contains(&id.partition))
    }

    /// All topics, by name.
    pub fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.topics.values()
    }

    /// A topic by name.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<&Topic> {
        self.topics.get(name)
    }

    /// A topic by id.
    #[must_use]
    pub fn topic_by_id(&self, id: TopicId) -> Option<&Topic> {
        self.by_id.get(&id).and_then(|name| self.topics.get(name))
    }

    /// The id of a partition that exists.
    #[must_use]
    pub fn partition_id(&self, tp: &TopicPartition) -> Option<PartitionId> {
        let topic = self.topics.get(&tp.topic)?;
        (0..topic.partitions)
            .contains(&tp.partition)
            .then_some(PartitionId { topic_id: topic.id, partition: tp.partition })
    }

    /// A topic's settings, typed; what the node makes the partition's log settings of.
    #[must_use]
    pub fn settings(&self, topic: &Topic) -> TopicSettings {
        TopicSettings::read(|config| self.given_value(topic, config))
    }

    /// The record that moves a feature to a level.
    #[must_use]
    pub fn plan_feature(&self, name: &str, level: i16) -> Bytes {
        MetaRecord::FeatureLevel { name: Arc::from(name), level }.encode()
    }

    /// Features as ApiVersions tells of them.
    #[must_use]
    pub fn features(&self) -> Features {
        let finalized = self.features.iter().filter(|(_, level)| **level > 0);
        Features {
            supported: SUPPORTED,
            finalized: finalized.map(|(name, level)| (name.clone(), *level)).collect(),
            epoch: self.features_epoch,
        }
    }

    /// The finalized level of a feature, 0 when it is off.
    #[must_use]
    pub fn feature_level(&self, name: &str) -> i16 {
        self.features.get(name).copied().unwrap_or(0)
    }
}
