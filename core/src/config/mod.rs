//! The broker's settings under Kafka's own property names.
//!
//! A name that neither Kafka 4.4.0 nor Verdict has is refused, where Apache Kafka only warns: a
//! misspelt setting of an exactly-once broker should not pass unnoticed. Names that Kafka has and
//! we do not act upon are accepted, with a warning.

mod dynamic;
mod file;
mod ignored;
#[cfg(test)]
mod manual_tests;
mod pending;
mod properties;
mod table;
#[cfg(test)]
mod tests;
mod value;

use alloc::string::String;
use alloc::vec::Vec;

use thiserror::Error;

pub use self::dynamic::{DYNAMIC, dynamic_without_effect, is_dynamic};
pub use self::file::{Entry, entries, split};
pub use self::ignored::{IGNORED, is_ignored};
pub use self::pending::{PENDING, has_no_effect};
pub use self::properties::Property;
pub use self::table::{BrokerConfig, PROPERTIES};
use self::value::Refused;
pub use self::value::{
    CleanupPolicy, CompressionType, Durability, MessageTimestampType, MigrationPolicy, Ratio,
};

/// Why settings are refused. Each names its culprit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No such property.
    #[error("no property is called {name:?}")]
    UnknownProperty {
        /// The name.
        name: String,
    },
    /// A value of the wrong type.
    #[error("{name}: {value:?} is no {expected}")]
    BadValue {
        /// The property.
        name: String,
        /// The value.
        value: String,
        /// What it should have been.
        expected: &'static str,
    },
    /// A number beyond its bounds.
    #[error("{name}: {value} is not in {min}..={max}")]
    OutOfBounds {
        /// The property.
        name: String,
        /// The value.
        value: String,
        /// The smallest allowed.
        min: i64,
        /// The largest allowed.
        max: i64,
    },
    /// Two values that do not go together.
    #[error("{name}: {rule}")]
    Contradiction {
        /// The property to change.
        name: &'static str,
        /// What it must keep to.
        rule: &'static str,
    },
}

/// Why a properties file is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileError {
    /// One line of it.
    #[error("line {line}: {error}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        error: ConfigError,
    },
    /// The whole of it: two values that do not go together.
    #[error(transparent)]
    Whole(#[from] ConfigError),
}

/// A property that was accepted and does nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name} has no effect here")]
pub struct ConfigWarning {
    /// The property.
    pub name: String,
}

impl BrokerConfig {
    /// Sets one property. One that Kafka has and we do not act upon changes nothing; ask
    /// [`is_ignored`].
    ///
    /// # Errors
    ///
    /// The property is unknown, or the value is not one of its own. Nothing was changed.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        match self.set_field(name, value) {
            Some(Ok(())) => Ok(()),
            Some(Err(Refused::NotA(expected))) => {
                Err(ConfigError::BadValue { name: name.into(), value: value.into(), expected })
            }
            Some(Err(Refused::OutOfBounds { min, max })) => {
                Err(ConfigError::OutOfBounds { name: name.into(), value: value.into(), min, max })
            }
            None if is_ignored(name) => Ok(()),
            None => Err(ConfigError::UnknownProperty { name: name.into() }),
        }
    }

    /// Sets what a properties file says, all of it or nothing, and checks the whole. Returns the
    /// properties that have no effect.
    ///
    /// # Errors
    ///
    /// The first line that is refused, or two values that do not go together.
    pub fn apply_properties(&mut self, text: &str) -> Result<Vec<ConfigWarning>, FileError> {
        let mut changed = self.clone();
        let mut warnings = Vec::new();
        for Entry { line, name, value } in entries(text) {
            changed.set(&name, &value).map_err(|error| FileError::Line { line, error })?;
            if has_no_effect(&name) {
                warnings.push(ConfigWarning { name });
            }
        }
        changed.validate()?;
        *self = changed;
        Ok(warnings)
    }

    /// Checks what one property alone cannot say.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Contradiction`], the first that is found.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let consumer = |smallest, value, largest| smallest <= value && value <= largest;
        let rules = [
            (
                self.effective_log_retention_ms() != 0,
                "log.retention.ms",
                "must be -1 (unlimited) or at least 1, also when given in minutes or hours",
            ),
            (self.log_roll_ms.is_none_or(|ms| ms >= 1), "log.roll.ms", "must be at least 1"),
            (
                self.group_min_session_timeout_ms <= self.group_max_session_timeout_ms,
                "group.min.session.timeout.ms",
                "must not exceed group.max.session.timeout.ms",
            ),
            (
                consumer(
                    self.group_consumer_min_session_timeout_ms,
                    self.group_consumer_session_timeout_ms,
                    self.group_consumer_max_session_timeout_ms,
                ),
                "group.consumer.session.timeout.ms",
                "must lie between its min and max",
            ),
            (
                consumer(
                    self.group_consumer_min_heartbeat_interval_ms,
                    self.group_consumer_heartbeat_interval_ms,
                    self.group_consumer_max_heartbeat_interval_ms,
                ),
                "group.consumer.heartbeat.interval.ms",
                "must lie between its min and max",
            ),
            (
                self.group_consumer_heartbeat_interval_ms < self.group_consumer_session_timeout_ms,
                "group.consumer.heartbeat.interval.ms",
                "must be less than group.consumer.session.timeout.ms",
            ),
            (
                self.queued_max_request_bytes <= 0
                    || self.queued_max_request_bytes >= i64::from(self.socket_request_max_bytes),
                "queued.max.request.bytes",
                "must hold one request of socket.request.max.bytes",
            ),
        ];
        match rules.into_iter().find(|(holds, ..)| !holds) {
            Some((_, name, rule)) => Err(ConfigError::Contradiction { name, rule }),
            None => Ok(()),
        }
    }

    /// The age at which records may be deleted, in ms, whichever unit it was given in; -1 keeps
    /// them.
    #[must_use]
    pub fn effective_log_retention_ms(&self) -> i64 {
        let hours = i64::from(self.log_retention_hours) * 3_600_000;
        let minutes = self.log_retention_minutes.map(|minutes| i64::from(minutes) * 60_000);
        let ms = self.log_retention_ms.or(minutes).unwrap_or(hours);
        if ms < 0 { -1 } else { ms }
    }

    /// The age at which a segment is closed, in ms, whichever unit it was given in.
    #[must_use]
    pub fn effective_log_roll_ms(&self) -> i64 {
        self.log_roll_ms.unwrap_or(i64::from(self.log_roll_hours) * 3_600_000)
    }

    /// How long an unused group's offsets are kept, in ms.
    #[must_use]
    pub fn offsets_retention_ms(&self) -> i64 {
        i64::from(self.offsets_retention_minutes) * 60_000
    }
}

/// Body of a fuzz target: any text as a properties file.
pub fn fuzz_properties(data: &[u8]) {
    let mut config = BrokerConfig::default();
    let Ok(text) = core::str::from_utf8(data) else { return };
    if config.apply_properties(text).is_ok() {
        assert_eq!(config.validate(), Ok(()), "what was applied holds");
    }
}
