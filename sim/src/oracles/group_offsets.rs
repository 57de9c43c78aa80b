//! O11: a group's offsets are those that were committed, and no others.

use std::collections::BTreeMap;

use super::{Facts, Findings};
use crate::history::{ClientId, Event, Outcome, Part, Txn};

#[derive(Clone, Copy)]
struct Commit {
    client: ClientId,
    offset: i64,
    asked_us: u64,
    ended_us: u64,
    outcome: Outcome,
    txn: Option<Txn>,
}

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    // In the order of asking.
    let mut commits: BTreeMap<(u16, Part), Vec<Commit>> = BTreeMap::new();
    let mut txn_ends: BTreeMap<Txn, u64> = BTreeMap::new();
    for entry in &facts.history.entries {
        match entry.event {
            Event::OffsetAsked { group, part, offset, txn, .. } => {
                commits.entry((group, part)).or_default().push(Commit {
                    client: entry.client,
                    offset,
                    asked_us: entry.at_us,
                    ended_us: u64::MAX,
                    outcome: Outcome::Maybe,
                    txn,
                });
            }
            Event::OffsetEnded { group, part, offset, outcome } => {
                let of = commits.get_mut(&(group, part));
                let open = |one: &&mut Commit| {
                    let is_it = one.client == entry.client && one.offset == offset;
                    is_it && one.ended_us == u64::MAX
                };
                if let Some(commit) = of.and_then(|of| of.iter_mut().find(open)) {
                    (commit.ended_us, commit.outcome) = (entry.at_us, outcome);
                }
            }
            Event::Ended { txn, .. } => {
                txn_ends.insert(txn, entry.at_us);
            }
            Event::OffsetSeen { group, part, offset, asked_us, is_final } => {
                let of = commits.get(&(group, part)).map_or(&[][..], Vec::as_slice);
                let name = || format!("group {group} partition {part} at {} us", entry.at_us);
                seen(facts, of, offset, entry.at_us, &name, findings);
                if is_final && !facts.damaged {
                    lost(facts, of, &txn_ends, offset, asked_us, &name, findings);
                }
            }
            _ => {}
        }
    }
}

/// What is seen was committed by somebody, and not in a transaction that was not.
fn seen(
    facts: &Facts<'_>,
    commits: &[Commit],
    offset: i64,
    at_us: u64,
    name: &dyn Fn() -> String,
    findings: &mut Findings,
) {
    if offset < 0 {
        return;
    }
    let mut those = commits.iter().filter(|commit| commit.offset == offset).peekable();
    let Some(&&first) = those.peek() else {
        return findings.add(11, || format!("{}: nobody committed offset {offset}", name()));
    };
    if those.any(|commit| may_be_there(facts, commit, at_us)) {
        return;
    }
    findings.add(11, || match (first.outcome, first.txn) {
        (Outcome::Failed, _) => format!("{}: offset {offset} was refused and is there", name()),
        (_, txn) => {
            format!("{}: offset {offset} of transaction {txn:?}, not committed, is there", name())
        }
    });
}

/// Whether a reader may have been told of this commit at that time.
fn may_be_there(facts: &Facts<'_>, commit: &Commit, at_us: u64) -> bool {
    let txn = commit.txn.and_then(|txn| facts.txns.get(&txn));
    let decided = txn.is_none_or(|txn| {
        let aborted = matches!(txn.ended, Some((false, Outcome::Ok)));
        txn.commit_asked_us.is_some_and(|asked| asked <= at_us) && !aborted
    });
    commit.outcome != Outcome::Failed && decided
}

/// At the end the offset is not older than the newest one whose commit was acknowledged.
fn lost(
    facts: &Facts<'_>,
    commits: &[Commit],
    txn_ends: &BTreeMap<Txn, u64>,
    offset: i64,
    asked_us: u64,
    name: &dyn Fn() -> String,
    findings: &mut Findings,
) {
    let end_of = |commit: &Commit| match commit.txn {
        None => commit.ended_us,
        Some(txn) => txn_ends.get(&txn).copied().unwrap_or(u64::MAX),
    };
    // When the last one that explains what is seen was over.
    let those = commits.iter().filter(|commit| commit.offset == offset);
    let those = those.filter(|commit| may_be_there(facts, commit, u64::MAX));
    let seen_ended = those.map(end_of).max().unwrap_or(0);
    for commit in commits.iter().filter(|commit| commit.offset != offset) {
        let committed = commit.txn.is_none_or(|txn| {
            facts.txns.get(&txn).and_then(|known| known.ended) == Some((true, Outcome::Ok))
        });
        // The one seen must have ended before this one was even asked for, or they raced.
        let is_newer = end_of(commit) < asked_us && seen_ended < commit.asked_us;
        if commit.outcome == Outcome::Ok && committed && is_newer {
            return findings.add(11, || {
                format!("{}: offset {} was committed, {offset} is there", name(), commit.offset)
            });
        }
    }
}
