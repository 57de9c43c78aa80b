//! A node on files in memory, under a clock that only moves when told to.
//!
//! [`Machine`] is the smallest driver there is: it performs every file operation at once, in
//! order, and runs jobs where they arise. Recordings, benches and tests of the crate's public face
//! are driven by it; nothing that serves is. What is in [`Files`] is durable, so that a crash is a
//! new node on the same files.

use crate::config::BrokerConfig;

mod files;
pub mod fuzz;
mod machine;

pub use self::files::Files;
pub use self::machine::{Machine, Meter, Outcome};

/// Settings of a small node whose ids are the same each time.
#[must_use]
pub fn small() -> BrokerConfig {
    BrokerConfig {
        offsets_topic_num_partitions: 2,
        transaction_state_log_num_partitions: 2,
        verdict_journal_bytes: 1 << 20,
        entropy: 42,
        ..BrokerConfig::default()
    }
}
