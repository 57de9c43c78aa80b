//! Consumer groups: the coordinator assigns, and every member moves to its assignment at its own
//! pace (KIP-848, Kafka's `ConsumerGroup` and that part of its `GroupMetadataManager`).
//!
//! # Rules
//! * Every decision is a list of records. They are replayed at once, and what was decided is told
//!   when they are persisted; a decision that could not be written is taken back, with everything
//!   that was built on it. Who only looks (describe, list) sees what is persisted.
//! * A partition goes to a member when nobody else holds it: its former owner has said that it
//!   let go, or is out of the group.
//! * A group's epoch grows with whatever asks for a new assignment; the target assignment follows
//!   it, and each member's epoch follows the target's.
//! * Regular expressions take time linear in the topics' names; a client's pattern is bounded.

mod assign;
mod classic;
mod commit;
mod convert;
mod counts;
mod decide;
mod describe;
mod embedded;
mod heartbeat;
mod leave;
mod member;
mod persist;
mod reconcile;
mod record;
mod regex;
mod request;
mod state;
mod target;
#[cfg(test)]
mod tests;
mod timers;
mod topics;

pub use self::describe::{DescribedConsumer, DescribedConsumerGroup};
pub use self::member::Partitions;
pub(super) use self::persist::{Unpersisted, apply};
pub use self::record::ConsumerKey;
pub(super) use self::record::ConsumerRecord;
pub use self::request::{ConsumerBeat, ConsumerHeartbeat};
pub(super) use self::state::Consumer;
pub use self::state::ConsumerState;
pub(super) use self::timers::Alarm;
pub(super) use self::topics::Topics;

/// The kind of consumer groups, and of classic groups that can become one.
pub(super) const CONSUMER: &str = "consumer";

/// What a consumer group reads of the broker's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConsumerConfig {
    /// `group.consumer.session.timeout.ms`, in ms.
    pub session_timeout_ms: i32,
    /// `group.consumer.heartbeat.interval.ms`, in ms.
    pub heartbeat_interval_ms: i32,
    /// `group.consumer.max.size`: most members of a group.
    pub members_max: usize,
    /// `group.consumer.assignment.interval.ms`: least time between two assignments of a group.
    pub assignment_interval_ms: i32,
    /// `group.consumer.regex.refresh.interval.ms`: how long the topics of a regular expression
    /// count when no topic is created, in ms.
    pub regex_refresh_interval_ms: i32,
    /// `group.consumer.migration.policy`.
    pub migration: crate::config::MigrationPolicy,
}

impl Default for ConsumerConfig {
    fn default() -> Self {
        Self {
            session_timeout_ms: 45_000,
            heartbeat_interval_ms: 5_000,
            members_max: i32::MAX as usize,
            assignment_interval_ms: 1_000,
            regex_refresh_interval_ms: 600_000,
            migration: crate::config::MigrationPolicy::Bidirectional,
        }
    }
}
