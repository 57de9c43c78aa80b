//! The settings of consumer groups (KIP-848): what a group may have of its own, and within which
//! bounds of the broker (Kafka: `GroupConfig`, `GroupConfigManager`). Those of share and streams
//! groups, which are not here, are unknown.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use bytes::Bytes;

use super::alter::{AlterOp, Values, apply, config_records, owned};
use super::describe::{ConfigSource, Described, Synonym, default_synonym, described};
use super::{CONFIG_OF_GROUP, Meta, MetaError};
use crate::config::{BrokerConfig, PROPERTIES};
use crate::group::OwnSettings;

/// A setting that a group may have of its own. All are whole numbers of milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct GroupConfigKey {
    /// Its name.
    pub name: &'static str,
    /// The broker's setting, which holds without it.
    pub broker_synonym: &'static str,
    /// What the broker lets a group have.
    bounds: fn(&BrokerConfig) -> RangeInclusive<i32>,
    /// What it is for.
    pub doc: &'static str,
}

const ASSIGNMENT_INTERVAL: &str = "consumer.assignment.interval.ms";
const HEARTBEAT_INTERVAL: &str = "consumer.heartbeat.interval.ms";
const SESSION_TIMEOUT: &str = "consumer.session.timeout.ms";

/// Every setting of groups, by name.
pub const GROUP_CONFIGS: [GroupConfigKey; 3] = [
    GroupConfigKey {
        name: ASSIGNMENT_INTERVAL,
        broker_synonym: "group.consumer.assignment.interval.ms",
        bounds: |_| 0..=15_000,
        doc: "How often the group's assignment is computed at most, in ms.",
    },
    GroupConfigKey {
        name: HEARTBEAT_INTERVAL,
        broker_synonym: "group.consumer.heartbeat.interval.ms",
        bounds: |config| {
            config.group_consumer_min_heartbeat_interval_ms
                ..=config.group_consumer_max_heartbeat_interval_ms
        },
        doc: "How often a member of the group is to send a heartbeat, in ms.",
    },
    GroupConfigKey {
        name: SESSION_TIMEOUT,
        broker_synonym: "group.consumer.session.timeout.ms",
        bounds: |config| {
            config.group_consumer_min_session_timeout_ms
                ..=config.group_consumer_max_session_timeout_ms
        },
        doc: "How long a member of the group may be silent, in ms.",
    },
];

impl Meta {
    /// The records that change some settings of a group.
    ///
    /// # Errors
    /// When a setting is unknown, or its value is none that the broker allows.
    pub fn plan_alter_group(
        &self,
        broker: &BrokerConfig,
        group: &str,
        ops: &[AlterOp],
    ) -> Result<Vec<Bytes>, MetaError> {
        let mut after = self.group_configs.get(group).cloned().unwrap_or_default();
        for op in ops {
            // None is a list.
            apply(&mut after, op, None)?;
        }
        check(broker, &after)?;
        Ok(config_records(CONFIG_OF_GROUP, group, &after, ops.iter().map(|op| &*op.name)))
    }

    /// The records that give a group these settings and no others.
    ///
    /// # Errors
    /// As [`Meta::plan_alter_group`].
    pub fn plan_replace_group(
        &self,
        broker: &BrokerConfig,
        group: &str,
        values: &[(String, String)],
    ) -> Result<Vec<Bytes>, MetaError> {
        let after = owned(values);
        check(broker, &after)?;
        let before = self.group_configs.get(group).into_iter().flat_map(Values::keys);
        let touched = before.chain(after.keys()).map(|name| &**name);
        Ok(config_records(CONFIG_OF_GROUP, group, &after, touched))
    }

    /// The groups that have settings of their own.
    pub fn groups_with_configs(&self) -> impl Iterator<Item = &Arc<str>> {
        self.group_configs.keys()
    }

    /// What a group has of its own, within what the broker allows now.
    #[must_use]
    pub fn own_settings(&self, broker: &BrokerConfig, group: &str) -> OwnSettings {
        let own = |name: &str| -> Option<i32> {
            let key = GROUP_CONFIGS.iter().find(|key| key.name == name)?;
            let value: i32 = self.group_configs.get(group)?.get(name)?.parse().ok()?;
            let bounds = (key.bounds)(broker);
            Some(value.max(*bounds.start()).min(*bounds.end()))
        };
        OwnSettings {
            session_timeout_ms: own(SESSION_TIMEOUT),
            heartbeat_interval_ms: own(HEARTBEAT_INTERVAL),
            assignment_interval_ms: own(ASSIGNMENT_INTERVAL),
        }
    }

    /// Every setting of a group, whether it is there or not.
    pub fn describe_group<'a>(&'a self, group: &str) -> impl Iterator<Item = Described> + 'a {
        let own = self.group_configs.get(group);
        GROUP_CONFIGS.iter().map(move |key| self.describe_group_config(own, key))
    }

    fn describe_group_config(&self, own: Option<&Values>, key: &GroupConfigKey) -> Described {
        let mut synonyms = vec![];
        if let Some(value) = own.and_then(|own| own.get(key.name)) {
            let value = String::from(&**value);
            synonyms.push(Synonym { name: key.name, value, source: ConfigSource::Group });
        }
        synonyms.extend(self.synonyms_of_broker(key.broker_synonym));
        let property = PROPERTIES.iter().find(|property| property.name == key.broker_synonym);
        let property = property.expect("each row names a property of the broker");
        synonyms.extend(default_synonym(key.broker_synonym, property.default));
        let read_only = false;
        Described { name: key.name, doc: key.doc, read_only, ..described(property, synonyms) }
    }
}

/// Kafka's checks, with its words: first that all are known, then each value.
fn check(broker: &BrokerConfig, values: &Values) -> Result<(), MetaError> {
    let key_of = |name: &str| GROUP_CONFIGS.iter().find(|key| key.name == name);
    if let Some(name) = values.keys().find(|name| key_of(name).is_none()) {
        return Err(MetaError::Config(format!("Unknown group config name: {name}").into()));
    }
    for (name, text) in values {
        let Some(key) = key_of(name) else { continue };
        let Ok(value) = text.trim().parse::<i32>() else {
            let message =
                format!("Invalid value {text} for configuration {name}: Not a number of type INT");
            return Err(MetaError::Config(message.into()));
        };
        let bounds = (key.bounds)(broker);
        if !bounds.contains(&value) {
            let (least, most) = bounds.into_inner();
            let message = format!("{name} must be in the range {least} to {most} inclusive.");
            return Err(MetaError::Config(message.into()));
        }
    }
    let effective = |name: &str, of_broker: i32| {
        values.get(name).and_then(|text| text.trim().parse().ok()).unwrap_or(of_broker)
    };
    let heartbeat = effective(HEARTBEAT_INTERVAL, broker.group_consumer_heartbeat_interval_ms);
    if effective(SESSION_TIMEOUT, broker.group_consumer_session_timeout_ms) <= heartbeat {
        let message = format!("{SESSION_TIMEOUT} must be greater than {HEARTBEAT_INTERVAL}");
        return Err(MetaError::Config(message.into()));
    }
    Ok(())
}
