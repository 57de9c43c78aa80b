//! O13: every answer of a transaction coordinator is one that a sequential one could have given.
//!
//! For each transactional id the set of states that the coordinator may be in is followed through
//! the history ([`state`]). A request changes the state once, at some time between its sending and
//! its answer; one that is never answered, or whose answer leaves it open, may do so at any time
//! from its sending on. Markers get written and overdue transactions are aborted at any time. An
//! answer that no possible state explains is a violation: a sole owner that is fenced, a repeat of
//! EndTxn that is refused, a partition that was added and is not known.
//!
//! # What may still happen
//! * A request that the protocol protects (see the fault model) may arrive at any time. Another one
//!   not after its sender went on over another connection, once a later request succeeded.
//! * An error code such as NOT_COORDINATOR leaves open whether the request was done before it. What
//!   was written in part may turn up when the node dies, for nothing need be written over it.
//! * A wall clock that jumped may abort any open transaction.
//! * One of several brokers does not say that a partition is in a transaction while another transition
//!   is on its way, which may never arrive (seed 1069552).
//! * An operator's marker that arrives while a batch waits for its verification has the batch refused
//!   (spec 7.6; seed 1168388).
//! * What a coordinator answers that is replaced and has not heard of it is no answer: it is as of
//!   then, or was done before.
//! * Where the states are too many, an id is not judged until it is given to a producer again.

mod cases;
mod few;
mod request;
mod state;
#[cfg(test)]
mod tests;
mod walk;

use self::cases::cases;
use self::state::Levels;
use self::walk::Walk;
use super::{Facts, Findings};
use crate::history::Event;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    if facts.damaged {
        return;
    }
    let levels = levels(facts);
    let members = facts.history.entries.iter().any(|entry| entry.event == Event::Members);
    for (id, case) in cases(facts) {
        if let Some(what) = Walk::new(&case, levels, members).unexplained() {
            findings.add(13, || format!("transactional id {id}: {what}"));
        }
    }
}

/// The levels that transaction.version may have had; any where none is said.
fn levels(facts: &Facts<'_>) -> Levels {
    let said = facts.history.entries.iter().filter_map(|entry| match entry.event {
        Event::Level { level } => Some(level),
        _ => None,
    });
    Levels::of(said)
}
