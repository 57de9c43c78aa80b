//! O11: a group's offsets are those that were committed, and no others.

use std::collections::BTreeMap;

use super::{Facts, Findings};
use crate::history::{Event, Outcome, Part, Txn};

#[derive(Clone, Copy)]
struct Commit {
    asked_us: u64,
    ended_us: u64,
    outcome: Outcome,
    txn: Option<Txn>,
}

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let mut commits: BTreeMap<(u16, Part), BTreeMap<i64, Commit>> = BTreeMap::new();
    let mut txn_ends: BTreeMap<Txn, u64> = BTreeMap::new();
    for entry in &facts.history.entries {
        match entry.event {
            Event::OffsetAsked { group, part, offset, txn } => {
                let commit = Commit {
                    asked_us: entry.at_us,
                    ended_us: u64::MAX,
                    outcome: Outcome::Maybe,
                    txn,
                };
                commits.entry((group, part)).or_default().insert(offset, commit);
            }
            Event::OffsetEnded { group, part, offset, outcome } => {
                let known = commits.get_mut(&(group, part)).and_then(|of| of.get_mut(&offset));
                if let Some(commit) = known {
                    (commit.ended_us, commit.outcome) = (entry.at_us, outcome);
                }
            }
            Event::Ended { txn, .. } => {
                txn_ends.insert(txn, entry.at_us);
            }
            Event::OffsetSeen { group, part, offset, asked_us, is_final } => {
                let none = BTreeMap::new();
                let of = commits.get(&(group, part)).unwrap_or(&none);
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
    commits: &BTreeMap<i64, Commit>,
    offset: i64,
    at_us: u64,
    name: &dyn Fn() -> String,
    findings: &mut Findings,
) {
    if offset < 0 {
        return;
    }
    let Some(commit) = commits.get(&offset) else {
        return findings.add(11, || format!("{}: nobody committed offset {offset}", name()));
    };
    if commit.outcome == Outcome::Failed {
        findings.add(11, || format!("{}: offset {offset} was refused and is there", name()));
    }
    let Some(txn) = commit.txn.and_then(|txn| facts.txns.get(&txn)) else { return };
    let aborted = matches!(txn.ended, Some((false, Outcome::Ok)));
    if txn.commit_asked_us.is_none_or(|asked| asked > at_us) || aborted {
        findings.add(11, || {
            format!(
                "{}: offset {offset} of transaction {:?}, not committed, is there",
                name(),
                commit.txn
            )
        });
    }
}

/// At the end the offset is not older than the newest one whose commit was acknowledged.
fn lost(
    facts: &Facts<'_>,
    commits: &BTreeMap<i64, Commit>,
    txn_ends: &BTreeMap<Txn, u64>,
    offset: i64,
    asked_us: u64,
    name: &dyn Fn() -> String,
    findings: &mut Findings,
) {
    let seen = commits.get(&offset);
    for (&other, commit) in commits.range(offset.saturating_add(1)..) {
        let ended_us = match commit.txn {
            None => commit.ended_us,
            Some(txn) => {
                let committed = facts.txns.get(&txn).and_then(|known| known.ended);
                if committed != Some((true, Outcome::Ok)) {
                    continue;
                }
                txn_ends.get(&txn).copied().unwrap_or(u64::MAX)
            }
        };
        // The one seen must have ended before this one was even asked for, or they raced.
        let seen_ended = seen.map_or(0, |commit| match commit.txn {
            None => commit.ended_us,
            Some(txn) => txn_ends.get(&txn).copied().unwrap_or(u64::MAX),
        });
        if commit.outcome == Outcome::Ok && ended_us < asked_us && seen_ended < commit.asked_us {
            return findings.add(11, || {
                format!("{}: offset {other} was committed, {offset} is there", name())
            });
        }
    }
}
