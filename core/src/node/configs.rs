//! Changes of what exists, one at a time, and what they mean to the machines.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::Node;
use super::completion::Completion;
use crate::api::Context;
use crate::api::changes::{self, PendingChange};
use crate::config::{BrokerConfig, ConfigError, is_dynamic};
use crate::types::TopicName;

impl Node {
    /// Whether a change of settings or partition counts is being written. The next one waits for
    /// it: it is planned on what is persisted.
    pub(crate) const fn is_changing(&self) -> bool {
        self.changing
    }

    /// Appends a change and answers when it is persisted, or has failed.
    pub(crate) fn append_change(
        &mut self,
        context: &Context,
        records: Vec<Bytes>,
        pending: PendingChange,
    ) {
        if records.is_empty() {
            return changes::respond(self, context.id, pending, true);
        }
        if self.append_metadata(records).is_err() {
            return changes::respond(self, context.id, pending, false);
        }
        self.changing = true;
        changes::wait(self, context, pending);
        self.when_persisted(Completion::Change { request: context.id });
    }

    pub(super) fn change_decided(&mut self, request: crate::io::RequestId, persisted: bool) {
        self.changing = false;
        changes::decided(self, request, persisted);
        self.topics_changed();
    }

    /// Whether these dynamic settings of the broker could be taken: each is one that can change
    /// while it runs, and together with the rest they make sense.
    ///
    /// # Errors
    /// Why not, for people.
    pub(crate) fn check_dynamic(
        &self,
        values: &BTreeMap<Arc<str>, Arc<str>>,
    ) -> Result<(), String> {
        let fixed: Vec<&str> =
            values.keys().map(|name| &**name).filter(|name| !is_dynamic(name)).collect();
        if !fixed.is_empty() {
            let names = fixed.join(", ");
            return Err(alloc::format!("Cannot update these configs dynamically: [{names}]"));
        }
        let mut config = self.static_config.clone();
        let set = |config: &mut BrokerConfig| -> Result<(), ConfigError> {
            for (name, value) in values {
                config.set(name, value)?;
            }
            config.validate()
        };
        set(&mut config).map_err(|error| error.to_string())
    }

    /// The settings of a group changed: they hold from its next heartbeat on.
    pub(super) fn group_config_changed(&mut self, group: &Arc<str>) {
        let own = self.meta.own_settings(&self.config, group);
        self.group.settings_changed(group, own);
    }

    /// The dynamic settings of the broker changed, or were read: from here on they hold.
    pub(super) fn broker_configs_changed(&mut self) {
        let mut config = self.static_config.clone();
        for (name, value) in self.meta.dynamic_configs() {
            // What a later version could set, this one leaves.
            if is_dynamic(name) {
                let _ = config.set(name, value);
            }
        }
        self.config = config;
        let names: Vec<TopicName> = self.meta.topics().map(|topic| topic.name.clone()).collect();
        for name in names {
            self.topic_config_changed(&name);
        }
    }
}
