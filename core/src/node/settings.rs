//! The broker's settings as each machine wants them.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::sync::Arc;

use super::Node;
use crate::batch::{Compression, TimestampType};
use crate::config::{BrokerConfig, Durability};
use crate::group::{ConsumerConfig, GroupConfig};
use crate::meta::{MetaConfig, TopicSettings};
use crate::partition::LogConfig;
use crate::store::{self, StoreConfig};
use crate::txn::TxnConfig;
use crate::types::TopicName;

/// Tombstones of expired transactional ids in one batch, in bytes, at most (spec 5.7).
const TOMBSTONE_BATCH_BYTES: i32 = 16_384;

/// What part of the journal's size a log gathers before its segment is written: 256 KiB of 64 MiB.
const WRITE_BEHIND_PARTS: u64 = 256;
/// How much of the journal there is for each file that a checkpoint syncs at once: 2,048 of 64 MiB.
const JOURNAL_BYTES_PER_SYNCED_FILE: u64 = 32 << 10;

/// Bytes of a batch that is placed, unless the settings say otherwise.
const PLACE_BYTES: u64 = 64 << 10;

fn ms(value: i32) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub(super) fn txn(config: &BrokerConfig) -> TxnConfig {
    let tombstones = TOMBSTONE_BATCH_BYTES.min(config.message_max_bytes);
    TxnConfig {
        partitions: config.transaction_state_log_num_partitions,
        max_timeout_ms: config.transaction_max_timeout_ms,
        id_expiration_ms: i64::from(config.transactional_id_expiration_ms),
        abort_sweep_ms: ms(config.transaction_abort_timed_out_transaction_cleanup_interval_ms),
        expiry_sweep_ms: ms(config.transaction_remove_expired_transaction_cleanup_interval_ms),
        two_phase_commit: config.transaction_two_phase_commit_enable,
        transaction_version: config.transaction_version,
        max_tombstone_batch_bytes: usize::try_from(tombstones).unwrap_or(0),
    }
}

pub(super) fn group(config: &BrokerConfig) -> GroupConfig {
    GroupConfig {
        partitions: config.offsets_topic_num_partitions,
        offset_metadata_units_max: usize::try_from(config.offset_metadata_max_bytes).unwrap_or(0),
        offsets_retention_ms: config.offsets_retention_ms(),
        initial_rebalance_delay_ms: config.group_initial_rebalance_delay_ms,
        session_timeout_min_ms: config.group_min_session_timeout_ms,
        session_timeout_max_ms: config.group_max_session_timeout_ms,
        members_max: usize::try_from(config.group_max_size).unwrap_or(0),
        consumer: consumer(config),
        entropy: config.entropy,
    }
}

fn consumer(config: &BrokerConfig) -> ConsumerConfig {
    ConsumerConfig {
        session_timeout_ms: config.group_consumer_session_timeout_ms,
        heartbeat_interval_ms: config.group_consumer_heartbeat_interval_ms,
        members_max: usize::try_from(config.group_consumer_max_size).unwrap_or(0),
        assignment_interval_ms: config.group_consumer_assignment_interval_ms,
        regex_refresh_interval_ms: config.group_consumer_regex_refresh_interval_ms,
        migration: config.group_consumer_migration_policy,
    }
}

pub(super) fn store(config: &BrokerConfig) -> StoreConfig {
    StoreConfig {
        durability: match config.verdict_durability {
            Durability::Fsync => store::Durability::Fsync,
            Durability::Os => store::Durability::Os,
        },
        journal_bytes: config.verdict_journal_bytes,
        index_interval_bytes: u32::try_from(config.log_index_interval_bytes).unwrap_or(0),
        cache_bytes: config.verdict_cache_bytes,
        checkpoint_interval_ms: config.verdict_checkpoint_interval_ms,
        write_behind_bytes: config.verdict_journal_bytes / WRITE_BEHIND_PARTS,
        sync_files_max: usize::try_from(
            config.verdict_journal_bytes / JOURNAL_BYTES_PER_SYNCED_FILE,
        )
        .unwrap_or(usize::MAX)
        .max(1),
        place_bytes_min: place_bytes_min(config),
        ..StoreConfig::default()
    }
}

/// With fsync each log of a turn would have a sync of its own in front of the journal's, which
/// costs more than a second write of its batches.
fn place_bytes_min(config: &BrokerConfig) -> u64 {
    match (config.verdict_place_bytes, config.verdict_durability) {
        (i64::MAX, _) | (..0, Durability::Fsync) => u64::MAX,
        (..0, Durability::Os) => PLACE_BYTES,
        (bytes, _) => bytes.unsigned_abs(),
    }
}

/// The settings that differ from their defaults. Times that can be given in several units stand
/// under the name in ms, which is the one that topics fall back to.
fn static_configs(config: &BrokerConfig) -> BTreeMap<Arc<str>, Arc<str>> {
    let defaults = BrokerConfig::default();
    let mut given: BTreeMap<Arc<str>, Arc<str>> = config
        .differing(&defaults)
        .into_iter()
        .map(|(name, value)| (Arc::from(name), Arc::from(value)))
        .collect();
    let in_ms = [
        ("log.retention.ms", BrokerConfig::effective_log_retention_ms as fn(&BrokerConfig) -> i64),
        ("log.roll.ms", BrokerConfig::effective_log_roll_ms),
    ];
    for (name, ms) in in_ms {
        if ms(config) != ms(&defaults) {
            given.insert(Arc::from(name), Arc::from(ms(config).to_string().as_str()));
        }
    }
    given
}

pub(super) fn meta(config: &BrokerConfig) -> MetaConfig {
    let static_configs = static_configs(config);
    MetaConfig {
        node_id: config.node_id,
        advertised_host: Arc::from(config.advertised_host.as_str()),
        advertised_port: u16::try_from(config.advertised_port).unwrap_or(0),
        num_partitions: config.num_partitions,
        transaction_version: config.transaction_version,
        directory_id: 0,
        static_configs,
    }
}

impl Node {
    /// A topic's settings as its partitions obey them.
    pub(crate) fn log_config(&self, topic: &TopicName) -> LogConfig {
        self.meta
            .topic(topic.as_str())
            .map(|topic| log_config(&self.meta.settings(topic), &self.config))
            .unwrap_or_default()
    }
}

fn log_config(settings: &TopicSettings, config: &BrokerConfig) -> LogConfig {
    LogConfig {
        max_message_bytes: settings.max_message_bytes,
        timestamp_type: if settings.log_append_time {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        },
        timestamp_before_max_ms: settings.timestamp_before_max_ms,
        timestamp_after_max_ms: settings.timestamp_after_max_ms,
        min_insync_replicas: settings.min_insync_replicas,
        verification_enabled: config.transaction_partition_verification_enable,
        producer_id_expiration_ms: i64::from(config.producer_id_expiration_ms),
        segment_bytes: u32::try_from(settings.segment_bytes).unwrap_or(u32::MAX),
        compacted: settings.compact,
        compression: Compression::of_topic(&settings.compression_type),
        deleted: settings.delete,
        retention_ms: settings.retention_ms,
        retention_bytes: settings.retention_bytes,
        segment_ms: if settings.compact {
            settings.segment_ms.min(settings.max_compaction_lag_ms)
        } else {
            settings.segment_ms
        },
        delete_retention_ms: settings.delete_retention_ms,
        min_compaction_lag_ms: settings.min_compaction_lag_ms,
        max_compaction_lag_ms: settings.max_compaction_lag_ms,
        min_cleanable_dirty_ppm: settings.min_cleanable_dirty_ppm,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_the_store_reaches_it() {
        let config = BrokerConfig {
            verdict_durability: Durability::Os,
            verdict_journal_bytes: 1 << 20,
            log_index_interval_bytes: 123,
            verdict_cache_bytes: 456,
            verdict_place_bytes: 321,
            verdict_checkpoint_interval_ms: 789,
            ..BrokerConfig::default()
        };
        let expected = StoreConfig {
            durability: store::Durability::Os,
            journal_bytes: 1 << 20,
            index_interval_bytes: 123,
            cache_bytes: 456,
            checkpoint_interval_ms: 789,
            write_behind_bytes: 4 << 10,
            sync_files_max: 32,
            place_bytes_min: 321,
            ..StoreConfig::default()
        };
        assert_eq!(store(&config), expected);
        let tiny = BrokerConfig { verdict_journal_bytes: 1, ..config };
        assert_eq!(store(&tiny).sync_files_max, 1);
    }

    #[test]
    fn batches_are_placed_without_fsync_unless_it_is_said_otherwise() {
        use Durability::{Fsync, Os};
        for (bytes, durability, min) in [
            (-1, Fsync, u64::MAX),
            (-1, Os, 64 << 10),
            (0, Fsync, 0),
            (7, Os, 7),
            (i64::MAX, Os, u64::MAX),
        ] {
            let config = BrokerConfig {
                verdict_place_bytes: bytes,
                verdict_durability: durability,
                ..BrokerConfig::default()
            };
            assert_eq!(place_bytes_min(&config), min, "{bytes} {durability:?}");
        }
    }

    #[test]
    fn every_setting_of_transactions_reaches_their_coordinator() {
        let config = BrokerConfig {
            transaction_state_log_num_partitions: 3,
            transaction_max_timeout_ms: 4,
            transactional_id_expiration_ms: 5,
            transaction_abort_timed_out_transaction_cleanup_interval_ms: 6,
            transaction_remove_expired_transaction_cleanup_interval_ms: 7,
            transaction_two_phase_commit_enable: true,
            transaction_version: 1,
            message_max_bytes: 8,
            ..BrokerConfig::default()
        };
        let expected = TxnConfig {
            partitions: 3,
            max_timeout_ms: 4,
            id_expiration_ms: 5,
            abort_sweep_ms: 6,
            expiry_sweep_ms: 7,
            two_phase_commit: true,
            transaction_version: 1,
            max_tombstone_batch_bytes: 8,
        };
        assert_eq!(txn(&config), expected);
    }

    #[test]
    fn every_setting_of_groups_reaches_their_coordinator() {
        let config = BrokerConfig {
            offsets_topic_num_partitions: 3,
            offset_metadata_max_bytes: 4,
            group_initial_rebalance_delay_ms: 5,
            group_min_session_timeout_ms: 6,
            group_max_session_timeout_ms: 7,
            group_max_size: 8,
            group_consumer_session_timeout_ms: 9,
            group_consumer_heartbeat_interval_ms: 10,
            group_consumer_max_size: 11,
            group_consumer_assignment_interval_ms: 12,
            group_consumer_regex_refresh_interval_ms: 13,
            entropy: 14,
            ..BrokerConfig::default()
        };
        let given = group(&config);
        let numbers = (given.partitions, given.offset_metadata_units_max, given.members_max);
        assert_eq!((numbers, given.entropy), ((3, 4, 8), 14));
        let times = [
            given.initial_rebalance_delay_ms,
            given.session_timeout_min_ms,
            given.session_timeout_max_ms,
            given.consumer.session_timeout_ms,
            given.consumer.heartbeat_interval_ms,
        ];
        assert_eq!((times, given.consumer.members_max), ([5, 6, 7, 9, 10], 11));
        assert_eq!(given.offsets_retention_ms, config.offsets_retention_ms());
        assert_eq!(given.consumer.assignment_interval_ms, 12);
        assert_eq!(given.consumer.regex_refresh_interval_ms, 13);
    }

    #[test]
    fn only_what_differs_from_the_defaults_is_told_to_topics() {
        assert!(static_configs(&BrokerConfig::default()).is_empty());
        let config = BrokerConfig { log_roll_hours: 1, ..BrokerConfig::default() };
        let given = static_configs(&config);
        assert_eq!(given.get("log.roll.ms").map(|ms| &**ms), Some("3600000"));
        assert_eq!(given.get("log.retention.ms"), None);
    }
}
