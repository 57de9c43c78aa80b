//! Changing what exists: settings of topics and brokers, and more partitions for a topic. Kafka's
//! checks (`ConfigurationControlManager`, `ReplicationControlManager.createPartitions`).
//!
//! The plans are made on what is persisted: the node lets one change of this kind be under way at
//! a time.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::configs::topic_config;
use super::create::{PARTITIONS_PER_REQUEST_MAX, check_settings};
use super::records::{MetaRecord, PartitionRecord};
use super::{CONFIG_OF_BROKER, CONFIG_OF_TOPIC, Meta, MetaError, Topic};
use crate::config::PROPERTIES;

/// What becomes of a setting: Kafka's `AlterConfigOp.OpType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AlterOpKind {
    /// It gets the value.
    Set,
    /// It has no value any more.
    Delete,
    /// The words of the value are added to the list.
    Append,
    /// The words of the value are taken out of the list.
    Subtract,
}

/// One change of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlterOp {
    /// The setting.
    pub name: String,
    /// What becomes of it.
    pub kind: AlterOpKind,
    /// The value; none for a deletion.
    pub value: String,
}

/// More partitions for a topic, as CreatePartitions asks for them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NewPartitions {
    /// The topic.
    pub topic: String,
    /// How many it is to have.
    pub count: i32,
    /// The nodes of each new one, when they are named.
    pub assignments: Option<Vec<Vec<i32>>>,
}

/// Records, and the dynamic settings there are with them.
pub type BrokerPlan = (Vec<Bytes>, BTreeMap<Arc<str>, Arc<str>>);

pub(super) type Values = BTreeMap<Arc<str>, Arc<str>>;

impl Meta {
    /// The records that change some settings of a topic.
    ///
    /// # Errors
    /// The first of Kafka's checks that the change does not pass.
    pub fn plan_alter_topic(&self, name: &str, ops: &[AlterOp]) -> Result<Vec<Bytes>, MetaError> {
        let topic = self.topic(name).ok_or(MetaError::UnknownTopic)?;
        let mut after = topic.configs.clone();
        for op in ops {
            let list = topic_config(&op.name);
            let list = list.map(|config| (config.is_list(), config.default));
            apply(&mut after, op, list)?;
        }
        check_settings(&after)?;
        Ok(config_records(CONFIG_OF_TOPIC, name, &after, ops.iter().map(|op| &*op.name)))
    }

    /// The records that give a topic these settings and no others.
    ///
    /// # Errors
    /// As [`Meta::plan_alter_topic`].
    pub fn plan_replace_topic(
        &self,
        name: &str,
        values: &[(String, String)],
    ) -> Result<Vec<Bytes>, MetaError> {
        let topic = self.topic(name).ok_or(MetaError::UnknownTopic)?;
        let after: Values = owned(values);
        check_settings(&after)?;
        let touched = topic.configs.keys().chain(after.keys()).map(|name| &**name);
        Ok(config_records(CONFIG_OF_TOPIC, name, &after, touched))
    }

    /// The records that change some dynamic settings of this broker, or of all of them for "".
    ///
    /// # Errors
    /// When words are to be added to what is no list.
    pub fn plan_alter_broker(
        &self,
        resource: &str,
        ops: &[AlterOp],
    ) -> Result<BrokerPlan, MetaError> {
        let mut after = self.dynamic_of(resource).clone();
        for op in ops {
            let property = PROPERTIES.iter().find(|property| property.name == op.name);
            let list = property.map(|property| (property.is_list(), property.default));
            apply(&mut after, op, list)?;
        }
        let touched = ops.iter().map(|op| &*op.name);
        Ok((config_records(CONFIG_OF_BROKER, resource, &after, touched), after))
    }

    /// The records that give this broker, or all of them for "", these dynamic settings and no
    /// others.
    #[must_use]
    pub fn plan_replace_broker(&self, resource: &str, values: &[(String, String)]) -> BrokerPlan {
        let after = owned(values);
        let touched = self.dynamic_of(resource).keys().chain(after.keys()).map(|name| &**name);
        (config_records(CONFIG_OF_BROKER, resource, &after, touched), after)
    }

    fn dynamic_of(&self, resource: &str) -> &Values {
        if resource.is_empty() { &self.cluster_configs } else { &self.broker_configs }
    }

    /// The records that give a topic more partitions. `left` is how many the request may still
    /// create.
    ///
    /// # Errors
    /// The first of Kafka's checks that the wish does not pass.
    pub fn plan_partitions(
        &self,
        wish: &NewPartitions,
        left: &mut usize,
    ) -> Result<Vec<Bytes>, MetaError> {
        let topic = self.topic(&wish.topic).ok_or(MetaError::UnknownTopic)?;
        if topic.name.is_internal() {
            return Err(MetaError::Internal);
        }
        let (has, wants) = (topic.partitions, wish.count);
        if wants == has {
            let message = format!("Topic already has {has} partition(s).");
            return Err(MetaError::PartitionCount(message.into()));
        }
        if wants < has {
            let message = format!(
                "The topic {} currently has {has} partition(s); {wants} would not be an increase.",
                topic.name
            );
            return Err(MetaError::PartitionCount(message.into()));
        }
        let added = usize::try_from(wants.saturating_sub(has)).unwrap_or(usize::MAX);
        self.check_new_assignments(wish, added)?;
        if added > PARTITIONS_PER_REQUEST_MAX {
            return Err(MetaError::TooManyPartitions);
        }
        *left = left.checked_sub(added).ok_or(MetaError::TooManyPartitions)?;
        Ok((has..wants).map(|partition| self.partition_record(topic, partition)).collect())
    }

    fn check_new_assignments(&self, wish: &NewPartitions, added: usize) -> Result<(), MetaError> {
        let Some(assignments) = &wish.assignments else { return Ok(()) };
        if assignments.len() != added {
            let message = format!(
                "Attempted to add {added} additional partition(s), but only {} assignment(s) were \
                 specified.",
                assignments.len()
            );
            return Err(MetaError::PartitionAssignment(message.into()));
        }
        for nodes in assignments {
            match nodes.as_slice() {
                [] => return Err(MetaError::InvalidAssignment("a replica list is empty")),
                [node] if *node == self.config.node_id => {}
                _ => return Err(MetaError::InvalidAssignment("a node is not registered")),
            }
        }
        Ok(())
    }

    fn partition_record(&self, topic: &Topic, partition: i32) -> Bytes {
        let node_id = self.config.node_id;
        let record = PartitionRecord {
            topic_id: topic.id,
            partition,
            replicas: alloc::vec![node_id],
            leader: node_id,
            leader_epoch: self.leader_epoch(),
            directories: alloc::vec![self.config.directory_id],
        };
        MetaRecord::Partition(record).encode()
    }
}

pub(super) fn owned(values: &[(String, String)]) -> Values {
    values.iter().map(|(name, value)| (Arc::from(&**name), Arc::from(&**value))).collect()
}

/// `list` says whether the setting is a list, and its default; `None` when there is no such
/// setting, which only the check of the whole may refuse.
pub(super) fn apply(
    values: &mut Values,
    op: &AlterOp,
    list: Option<(bool, &'static str)>,
) -> Result<(), MetaError> {
    let name: Arc<str> = Arc::from(&*op.name);
    let (verb, adds) = match op.kind {
        AlterOpKind::Set => {
            values.insert(name, Arc::from(&*op.value));
            return Ok(());
        }
        AlterOpKind::Delete => {
            values.remove(&name);
            return Ok(());
        }
        AlterOpKind::Append => ("APPEND", true),
        AlterOpKind::Subtract => ("SUBTRACT", false),
    };
    let Some((true, default)) = list else {
        let message = format!("Can't {verb} to key {name} because its type is not LIST.");
        return Err(MetaError::Config(message.into()));
    };
    let old = values.get(&name).map_or(default, |value| &**value);
    let mut words: Vec<&str> = words(old).collect();
    for word in self::words(&op.value) {
        if adds && !words.contains(&word) {
            words.push(word);
        } else if !adds {
            words.retain(|other| *other != word);
        }
    }
    let after = Arc::from(words.join(","));
    values.insert(name, after);
    Ok(())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty())
}

/// A record for each touched name, once.
pub(super) fn config_records<'a>(
    resource_type: i8,
    resource: &str,
    after: &Values,
    touched: impl Iterator<Item = &'a str>,
) -> Vec<Bytes> {
    let names: alloc::collections::BTreeSet<&str> = touched.collect();
    names
        .into_iter()
        .map(|name| MetaRecord::Config {
            resource_type,
            resource: Arc::from(resource),
            name: Arc::from(name),
            value: after.get(name).cloned(),
        })
        .map(|record| record.encode())
        .collect()
}
