//! Settings of the broker that AlterConfigs changes while it runs: those of Kafka's dynamic ones
//! (`DynamicBrokerConfig`) that take effect at once here. The others are read-only: a change that
//! is accepted and does nothing would be a lie.

/// Their names, sorted.
pub const DYNAMIC: &[&str] = &[
    "log.cleanup.policy",
    "log.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms",
    "log.message.timestamp.type",
    "log.retention.bytes",
    "log.retention.ms",
    "log.roll.ms",
    "log.segment.bytes",
    "message.max.bytes",
    "producer.id.expiration.ms",
    "transaction.partition.verification.enable",
];

/// Whether a property can be changed while the broker runs.
#[must_use]
pub fn is_dynamic(name: &str) -> bool {
    DYNAMIC.binary_search(&name).is_ok()
}
