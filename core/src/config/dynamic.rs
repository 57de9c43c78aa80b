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

/// Those of Kafka's that act on SASL listeners only, of which there are none here, as there are none
/// in Apache Kafka without any: taken, told, and without effect. Sorted.
pub const DYNAMIC_WITHOUT_EFFECT: &[&str] = &[
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.principal.to.local.rules",
    "sasl.kerberos.service.name",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
];

/// Whether a property can be changed while the broker runs.
#[must_use]
pub fn is_dynamic(name: &str) -> bool {
    DYNAMIC.binary_search(&name).is_ok() || DYNAMIC_WITHOUT_EFFECT.binary_search(&name).is_ok()
}
