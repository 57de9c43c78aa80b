//! The cluster's id and the boots of its node.
//!
//! The id is drawn at the first boot and kept as a ConfigRecord of all brokers named
//! [`CLUSTER_ID_CONFIG`]. Each boot writes a RegisterBrokerRecord whose broker epoch is the
//! number of the boot, from 1; the leader epoch of every partition is one less, so it begins at 0
//! and rises with each boot, which keeps what an older life wrote apart from this one's.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;

use super::features::{SUPPORTED, TRANSACTION_VERSION};
use super::records::{MetaRecord, RegisterBroker};
use super::{CONFIG_OF_BROKER, Meta};

/// Where the cluster's id is kept.
pub const CLUSTER_ID_CONFIG: &str = "verdict.cluster.id";

/// Kafka's number for the PLAINTEXT protocol.
const PLAINTEXT: i16 = 0;

impl Meta {
    /// The records of this boot, to be appended in one batch before anything is served. At the
    /// first boot the features come first, as in every metadata log, then the cluster's id.
    pub fn plan_boot(&mut self) -> Vec<Bytes> {
        let mut records = vec![];
        if self.features.is_empty() {
            records.extend(self.initial_features());
        }
        if self.cluster_id.is_none() {
            records.push(MetaRecord::Config {
                resource_type: CONFIG_OF_BROKER,
                resource: Arc::from(""),
                name: Arc::from(CLUSTER_ID_CONFIG),
                value: Some(Arc::from(self.ids.next_id().to_kafka().to_string())),
            });
        }
        let incarnation = self.ids.next_id().0;
        records.push(MetaRecord::RegisterBroker(RegisterBroker {
            broker_id: self.config.node_id,
            incarnation,
            broker_epoch: self.broker_epoch.saturating_add(1),
            endpoints: vec![(
                Arc::from("PLAINTEXT"),
                self.config.advertised_host.clone(),
                self.config.advertised_port,
                PLAINTEXT,
            )],
            features: SUPPORTED.iter().map(|f| (Arc::from(f.name), f.min, f.max)).collect(),
            fenced: false,
            log_dirs: vec![self.config.directory_id],
        }));
        records.iter().map(MetaRecord::encode).collect()
    }

    fn initial_features(&self) -> impl Iterator<Item = MetaRecord> {
        let transaction_version = self.config.transaction_version;
        let levels = SUPPORTED.iter().map(move |feature| {
            let is_transaction = feature.name == TRANSACTION_VERSION;
            (feature.name, if is_transaction { transaction_version } else { feature.initial })
        });
        levels
            .filter(|(_, level)| *level > 0)
            .map(|(name, level)| MetaRecord::FeatureLevel { name: Arc::from(name), level })
    }

    /// The cluster's id in Kafka's form, 22 digits of URL safe base64; `None` before the first
    /// boot is persisted.
    #[must_use]
    pub fn cluster_id(&self) -> Option<&str> {
        self.cluster_id.as_deref()
    }

    /// The number of this boot, from 1; 0 before the first one is persisted.
    #[must_use]
    pub const fn broker_epoch(&self) -> i64 {
        self.broker_epoch
    }

    /// The leader epoch of every partition in this life: 0 in the first.
    #[must_use]
    pub fn leader_epoch(&self) -> i32 {
        i32::try_from(self.broker_epoch.saturating_sub(1).max(0)).unwrap_or(i32::MAX)
    }
}
