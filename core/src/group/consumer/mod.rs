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
mod settings;
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
pub use self::settings::{ConsumerConfig, OwnSettings};
pub(super) use self::state::Consumer;
pub use self::state::ConsumerState;
pub(super) use self::timers::Alarm;
pub(super) use self::topics::Topics;

/// The kind of consumer groups, and of classic groups that can become one.
pub(super) const CONSUMER: &str = "consumer";
