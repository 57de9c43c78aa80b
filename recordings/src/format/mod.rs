//! A recording as text.
//!
//! ```text
//! # What it shows, and where the rule comes from.
//! set transaction.abort.timed.out.transaction.cleanup.interval.ms=500
//! topic t
//! a init tx timeout=1000           -> NONE P1/0
//! wait 3000
//! a end tx P1/0 commit             -> INVALID_TXN_STATE | PRODUCER_FENCED
//! ```
//!
//! Behind `|` stands what Verdict answers where it does better on purpose. Lines that are no steps
//! are kept as they are when a file is written again.

mod parse;
mod write;

pub use self::parse::ParseError;
use crate::peer::Snapshots;

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The file's name without its ending.
    pub name: String,
    /// Its lines, the first is line 1.
    pub lines: Vec<Line>,
}

/// One line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A comment, or nothing.
    Text(String),
    /// `set name=value`: what the broker is to be started with.
    Set(String, String),
    /// What is done without a question of its own.
    Act(Act),
    /// A request.
    Ask(Ask),
}

/// A step without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// `classic`: the default versions are those of clients before transaction.version 2.
    Classic,
    /// `topic NAME [PARTITIONS] [setting=value …]`: creates a topic and waits until it is there.
    Topic(Vec<String>),
    /// `wait MS`.
    Wait(u64),
    /// `restart [snapshots=gone|empty|cut]`: a clean stop and a start.
    Restart(Snapshots),
    /// `crash [snapshots=gone|empty|cut]`: `kill -9` and a start.
    Crash(Snapshots),
}

/// A step with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The connection.
    pub conn: String,
    /// What is asked.
    pub verb: String,
    /// The words behind it.
    pub words: Vec<String>,
    /// What Apache Kafka answers; "" before it was recorded, and where it comes `later`.
    pub kafka: String,
    /// What Verdict answers instead.
    pub ours: Option<String>,
}

impl Ask {
    /// What Verdict is to answer.
    #[must_use]
    pub fn expected(&self) -> &str {
        self.ours.as_deref().unwrap_or(&self.kafka)
    }
}

impl Recording {
    /// The settings that the broker is to be started with.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().filter_map(|line| match line {
            Line::Set(name, value) => Some((name.as_str(), value.as_str())),
            _ => None,
        })
    }

    /// Whether the broker is stopped on the way.
    #[must_use]
    pub fn restarts(&self) -> bool {
        self.lines.iter().any(|line| matches!(line, Line::Act(Act::Restart(_) | Act::Crash(_))))
    }
}
