//! The settings of a topic that its partitions' logs obey (Kafka's `LogConfig`).

use crate::batch::Compression;
pub use crate::batch::TimestampType;

/// A topic's settings, as far as appends and reads look at them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogConfig {
    /// `max.message.bytes`: bytes of a batch.
    pub max_message_bytes: i32,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`: how far a record may lie in the past.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`: how far a record may lie in the future.
    pub timestamp_after_max_ms: i64,
    /// `min.insync.replicas`; with one replica every value above 1 refuses acks=all.
    pub min_insync_replicas: i32,
    /// `transaction.partition.verification.enable`.
    pub verification_enabled: bool,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: i64,
    /// `segment.bytes`: no append may be larger.
    pub segment_bytes: u32,
    /// Whether `cleanup.policy` contains `compact`, so that every record needs a key.
    pub compacted: bool,
    /// `compression.type`; `None` keeps what the producer chose.
    pub compression: Option<Compression>,
    /// Whether `cleanup.policy` contains `delete`, so that retention applies.
    pub deleted: bool,
    /// `retention.ms`; negative for any age.
    pub retention_ms: i64,
    /// `retention.bytes`; negative for any size.
    pub retention_bytes: i64,
    /// `segment.ms`, and with compaction not more than `max.compaction.lag.ms`.
    pub segment_ms: i64,
    /// `delete.retention.ms`: how long tombstones and markers stay after they could go.
    pub delete_retention_ms: i64,
    /// `min.compaction.lag.ms`: how long a record is safe from compaction.
    pub min_compaction_lag_ms: i64,
    /// `max.compaction.lag.ms`: how long a record may wait for it.
    pub max_compaction_lag_ms: i64,
    /// `min.cleanable.dirty.ratio` in millionths.
    pub min_cleanable_dirty_ppm: u32,
}

impl Default for LogConfig {
    /// Apache Kafka's defaults.
    fn default() -> Self {
        Self {
            max_message_bytes: 1_048_588,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 3_600_000,
            min_insync_replicas: 1,
            verification_enabled: true,
            producer_id_expiration_ms: 86_400_000,
            segment_bytes: 1 << 30,
            compacted: false,
            compression: None,
            deleted: true,
            retention_ms: 604_800_000,
            retention_bytes: -1,
            segment_ms: 604_800_000,
            delete_retention_ms: 86_400_000,
            min_compaction_lag_ms: 0,
            max_compaction_lag_ms: i64::MAX,
            min_cleanable_dirty_ppm: 500_000,
        }
    }
}
