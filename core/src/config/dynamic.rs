//! Settings of the broker that AlterConfigs changes while it runs: those of Kafka's dynamic ones
//! (`DynamicBrokerConfig`) that take effect at once here. The others are read-only: a change that
//! is accepted and does nothing would be a lie.

use super::IGNORED;

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

/// Those of Kafka's dynamic ones that act on SASL listeners only, of which there are none here, as
/// there are none in Apache Kafka without any: taken, told, and without effect.
pub fn dynamic_without_effect() -> impl Iterator<Item = &'static str> {
    let of_sasl =
        |name: &str| name.starts_with("sasl.kerberos.") || name.starts_with("sasl.login.refresh.");
    IGNORED.iter().copied().filter(move |name| of_sasl(name))
}

/// Whether a property can be changed while the broker runs.
#[must_use]
pub fn is_dynamic(name: &str) -> bool {
    DYNAMIC.binary_search(&name).is_ok() || dynamic_without_effect().any(|known| known == name)
}
