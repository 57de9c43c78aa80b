//! Settings that are known and checked, and that nothing reads yet: what they are for is not built.
//! Setting one draws a warning. Whoever builds it takes its line out.

/// Their names, sorted.
pub const PENDING: &[&str] = &[
    "default.replication.factor",
    "log.index.size.max.bytes",
    "log.segment.delete.delay.ms",
    "metadata.log.segment.bytes",
    "offsets.commit.timeout.ms",
    "offsets.load.buffer.size",
    "offsets.topic.replication.factor",
    "queued.max.request.bytes",
    "replica.fetch.max.bytes",
    "replica.fetch.min.bytes",
    "replica.fetch.response.max.bytes",
    "replica.fetch.wait.max.ms",
    "replica.lag.time.max.ms",
    "transaction.state.log.load.buffer.size",
    "transaction.state.log.min.isr",
    "transaction.state.log.replication.factor",
    "unclean.leader.election.enable",
    "unstable.feature.versions.enable",
];

/// Whether setting a property changes nothing: one that Verdict does not have, or not yet.
#[must_use]
pub fn has_no_effect(name: &str) -> bool {
    PENDING.binary_search(&name).is_ok() || super::is_ignored(name)
}
