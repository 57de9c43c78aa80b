//! Which value a setting has, and where it comes from (`ConfigHelper`, `DynamicBrokerConfig`).

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::{Meta, TOPIC_CONFIGS, Topic, TopicConfig};
use crate::config::{PROPERTIES, Property, dynamic_without_effect};

/// Kafka's number of the type of texts.
const STRING: i8 = 2;

/// Where a value comes from: Kafka's `ConfigSource`, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigSource {
    /// The topic's own.
    Topic = 1,
    /// Set for this broker while it ran.
    DynamicBroker = 2,
    /// Set for all brokers while they ran.
    DynamicDefaultBroker = 3,
    /// From the broker's file or command line.
    StaticBroker = 4,
    /// The default.
    Default = 5,
    /// The group's own.
    Group = 8,
}

/// A value on the way to the one that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synonym {
    /// The setting that gives it.
    pub name: &'static str,
    /// The value.
    pub value: String,
    /// Where it comes from.
    pub source: ConfigSource,
}

/// A setting and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its name.
    pub name: &'static str,
    /// The value that holds; `None` when it is not set.
    pub value: Option<String>,
    /// Where that comes from.
    pub source: ConfigSource,
    /// Kafka's number of its type.
    pub type_id: i8,
    /// Whether it can only be set before a start.
    pub read_only: bool,
    /// What it is for.
    pub doc: &'static str,
    /// Every value there is for it, the one that holds first.
    pub synonyms: Vec<Synonym>,
}

impl Meta {
    pub(super) fn is_this_broker(&self, resource: &str) -> bool {
        resource.parse() == Ok(self.config.node_id)
    }

    /// The values of a broker setting, the strongest first, without the default.
    fn of_broker<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = (ConfigSource, &'a Arc<str>)> {
        let layers = [
            (ConfigSource::DynamicBroker, &self.broker_configs),
            (ConfigSource::DynamicDefaultBroker, &self.cluster_configs),
            (ConfigSource::StaticBroker, &self.config.static_configs),
        ];
        layers.into_iter().filter_map(move |(source, values)| Some((source, values.get(name)?)))
    }

    /// The same as synonyms.
    pub(super) fn synonyms_of_broker(&self, name: &'static str) -> impl Iterator<Item = Synonym> {
        let of_broker = self.of_broker(name);
        of_broker.map(move |(source, value)| Synonym {
            name,
            value: String::from(&**value),
            source,
        })
    }

    /// The text of a topic's setting when one was given: its own, else the broker's.
    pub(super) fn given_value<'a>(
        &'a self,
        topic: &'a Topic,
        config: &TopicConfig,
    ) -> Option<&'a str> {
        let of_broker = || {
            let mut values = self.of_broker(config.broker_synonym?);
            values.next().map(|(_, value)| value)
        };
        topic.configs.get(config.name).or_else(of_broker).map(|value| &**value)
    }

    /// Every setting of a topic.
    pub fn describe_topic<'a>(&'a self, topic: &'a Topic) -> impl Iterator<Item = Described> + 'a {
        TOPIC_CONFIGS.iter().map(|config| self.describe_topic_config(&topic.configs, config))
    }

    /// One setting of a topic that has these of its own.
    #[must_use]
    pub fn describe_topic_config(
        &self,
        own: &alloc::collections::BTreeMap<Arc<str>, Arc<str>>,
        config: &TopicConfig,
    ) -> Described {
        let mut synonyms = vec![];
        if let Some(value) = own.get(config.name) {
            synonyms.push(Synonym {
                name: config.name,
                value: String::from(&**value),
                source: ConfigSource::Topic,
            });
        }
        if let Some(name) = config.broker_synonym {
            synonyms.extend(self.synonyms_of_broker(name));
            let property = PROPERTIES.iter().find(|property| property.name == name);
            let default = property.map_or(config.default, |property| property.default);
            synonyms.extend(default_synonym(name, default));
        }
        let holds = synonyms.first();
        let value = holds.map_or(config.default, |synonym| &synonym.value);
        Described {
            name: config.name,
            value: Some(String::from(value)),
            source: holds.map_or(ConfigSource::Default, |synonym| synonym.source),
            type_id: config.type_id(),
            read_only: false,
            doc: config.doc,
            synonyms,
        }
    }

    /// Every setting of this broker.
    pub fn describe_broker(&self) -> impl Iterator<Item = Described> + '_ {
        let known = PROPERTIES.iter().map(|property| {
            let mut synonyms: Vec<_> = self.synonyms_of_broker(property.name).collect();
            synonyms.extend(default_synonym(property.name, property.default));
            described(property, synonyms)
        });
        let given = dynamic_without_effect()
            .filter_map(|name| without_effect(name, self.synonyms_of_broker(name).collect()));
        known.chain(given)
    }

    /// The settings that all brokers were given while they ran.
    pub fn describe_cluster_defaults(&self) -> impl Iterator<Item = Described> + '_ {
        let given = |property: &'static Property| {
            let value = self.cluster_configs.get(property.name)?;
            let given = Synonym {
                name: property.name,
                value: String::from(&**value),
                source: ConfigSource::DynamicDefaultBroker,
            };
            Some(described(property, vec![given]))
        };
        let of_sasl = dynamic_without_effect().filter_map(|name| {
            let of_all = |synonym: &Synonym| synonym.source == ConfigSource::DynamicDefaultBroker;
            without_effect(name, self.synonyms_of_broker(name).filter(of_all).collect())
        });
        PROPERTIES.iter().filter_map(given).chain(of_sasl)
    }

    /// The dynamic settings of this broker, the weaker first: each is to be set in this order.
    pub fn dynamic_configs(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.cluster_configs.iter().chain(&self.broker_configs);
        all.map(|(name, value)| (&**name, &**value))
    }
}

/// A default that is not there ("" for "not set") is no value.
pub(super) fn default_synonym(name: &'static str, default: &str) -> Option<Synonym> {
    let value = String::from(default);
    (!default.is_empty()).then_some(Synonym { name, value, source: ConfigSource::Default })
}

/// A setting that is only kept; `None` when it was not given.
fn without_effect(name: &'static str, synonyms: Vec<Synonym>) -> Option<Described> {
    let holds = synonyms.first()?;
    Some(Described {
        name,
        value: Some(holds.value.clone()),
        source: holds.source,
        type_id: STRING,
        read_only: false,
        doc: "Has no effect: there is no SASL listener.",
        synonyms,
    })
}

pub(super) fn described(property: &'static Property, synonyms: Vec<Synonym>) -> Described {
    let holds = synonyms.first();
    Described {
        name: property.name,
        value: holds.map(|synonym| synonym.value.clone()),
        source: holds.map_or(ConfigSource::Default, |synonym| synonym.source),
        type_id: property.type_id(),
        read_only: !property.is_dynamic(),
        doc: property.doc,
        synonyms,
    }
}
