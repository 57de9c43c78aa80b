//! What a consumer group reads of the settings: the broker's, and what the group has of its own.

use crate::config::MigrationPolicy;

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
    pub migration: MigrationPolicy,
}

impl Default for ConsumerConfig {
    fn default() -> Self {
        Self {
            session_timeout_ms: 45_000,
            heartbeat_interval_ms: 5_000,
            members_max: i32::MAX as usize,
            assignment_interval_ms: 1_000,
            regex_refresh_interval_ms: 600_000,
            migration: MigrationPolicy::Bidirectional,
        }
    }
}

impl ConsumerConfig {
    /// The same for a group that has these of its own.
    #[must_use]
    pub fn with(mut self, own: &OwnSettings) -> Self {
        let OwnSettings { session_timeout_ms, heartbeat_interval_ms, assignment_interval_ms } =
            *own;
        self.session_timeout_ms = session_timeout_ms.unwrap_or(self.session_timeout_ms);
        self.heartbeat_interval_ms = heartbeat_interval_ms.unwrap_or(self.heartbeat_interval_ms);
        self.assignment_interval_ms = assignment_interval_ms.unwrap_or(self.assignment_interval_ms);
        self
    }
}

/// What a group has of its own (`GroupConfig`); `None` where the broker's holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OwnSettings {
    /// `consumer.session.timeout.ms`, in ms.
    pub session_timeout_ms: Option<i32>,
    /// `consumer.heartbeat.interval.ms`, in ms.
    pub heartbeat_interval_ms: Option<i32>,
    /// `consumer.assignment.interval.ms`, in ms.
    pub assignment_interval_ms: Option<i32>,
}
