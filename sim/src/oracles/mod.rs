//! The judges: each reads a history and says what no exactly-once broker may do.
//!
//! A compacted topic may lose what cleaning may take: see `cleaning`.
//!
//! They judge what clients saw and what the log holds at the end, never the broker's memory, and
//! depend on nothing but [`crate::history`]. Names and numbers as in docs and reports:
//!
//! | oracle | says |
//! | --- | --- |
//! | O1 | no acknowledged record is lost, none has a hole before it |
//! | O2 | nothing appears twice |
//! | O3 | order per producer and partition is the order of sending |
//! | O4 | read_committed shows no open and no aborted record |
//! | O5 | a transaction is visible in all its partitions or in none |
//! | O6 | LSO is the first open offset or the high watermark, and never goes back |
//! | O7 | the aborted list names what it must and hides nothing else |
//! | O8 | a decision that was acknowledged never flips |
//! | O9 | epochs of producers, coordinators and leaders never go back; one outcome per transaction |
//! | O10 | after a fence was acknowledged nothing of an older epoch is taken |
//! | O11 | a group's offsets commit exactly with their transaction, each record it consumed counts once, a partition is with one member |
//! | O12 | a node that starts from what is durable serves all that anybody was told of |
//! | O13 | every answer is one that a sequential coordinator could have given, and nobody who keeps to the rules is refused |
//! | O14 | once faults stop, everything open ends and everyone works again |
//! | O15 | a transaction of two phases is there if and only if the database outside decided so |
//! | O16 | a file that an answer names holds the bytes that the answer says |

mod cleaning;
mod coordinator;
mod decision;
mod durability;
mod epochs;
mod facts;
mod fence;
mod group_offsets;
mod leader_epochs;
mod liveness;
mod lso;
mod members;
mod named_files;
mod order;
mod ownership;
mod refusals;
mod shadow;
#[cfg(test)]
mod tests;
mod twice;
mod two_phase;
mod visibility;

use core::fmt;

pub use self::facts::Facts;
use crate::history::History;

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The oracle's number: 5 for O5.
    pub oracle: u8,
    /// What was seen, in words.
    pub what: String,
}

impl Violation {
    /// Whether it says that something did not happen, rather than that something wrong did.
    #[must_use]
    pub const fn is_liveness(&self) -> bool {
        self.oracle == 14
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "O{}: {}", self.oracle, self.what)
    }
}

/// Where oracles put what they find.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Violation>);

impl Findings {
    /// Adds a finding; of one oracle the first few are enough.
    fn add(&mut self, oracle: u8, what: impl FnOnce() -> String) {
        if self.0.iter().filter(|found| found.oracle == oracle).count() < 3 {
            self.0.push(Violation { oracle, what: what() });
        }
    }
}

/// Judges a history by all oracles; empty when nothing is wrong.
#[must_use]
pub fn judge(history: &History) -> Vec<Violation> {
    let facts = Facts::of(history);
    let mut findings = Findings::default();
    durability::judge(&facts, &mut findings);
    twice::judge(&facts, &mut findings);
    order::judge(&facts, &mut findings);
    visibility::judge(&facts, &mut findings);
    lso::judge(&facts, &mut findings);
    decision::judge(&facts, &mut findings);
    epochs::judge(&facts, &mut findings);
    leader_epochs::judge(&facts, &mut findings);
    fence::judge(&facts, &mut findings);
    group_offsets::judge(&facts, &mut findings);
    members::judge(&facts, &mut findings);
    ownership::judge(&facts, &mut findings);
    shadow::judge(&facts, &mut findings);
    refusals::judge(&facts, &mut findings);
    two_phase::judge(&facts, &mut findings);
    named_files::judge(&facts, &mut findings);
    coordinator::judge(&facts, &mut findings);
    liveness::judge(&facts, &mut findings);
    findings.0
}
