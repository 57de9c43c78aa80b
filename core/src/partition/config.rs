//! The settings of a topic that its partitions' logs obey (Kafka's `LogConfig`).

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
    /// `segment.ms`: how far a segment's records may lie apart in time.
    pub segment_ms: i64,
    /// Whether `cleanup.policy` contains `delete`.
    pub deleted: bool,
    /// `retention.ms`; -1 keeps all.
    pub retention_ms: i64,
    /// `retention.bytes`; -1 keeps all.
    pub retention_bytes: i64,
    /// Whether `cleanup.policy` contains `compact`, so that every record needs a key.
    pub compacted: bool,
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
            segment_ms: 604_800_000,
            deleted: true,
            retention_ms: 604_800_000,
            retention_bytes: -1,
            compacted: false,
        }
    }
}
