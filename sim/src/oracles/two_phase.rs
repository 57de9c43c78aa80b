//! O15: a transaction of two phases is in the log if and only if the database outside decided so.
//!
//! The database's decision is durable before the broker hears of it, and the broker may hear of it
//! from another instance much later. Whatever died in between, at the end a transaction that the
//! database committed is all there, and one that it aborted, or never decided, is not there at
//! all. An instance that keeps a transaction is told of one that was begun and has not ended.

use std::collections::{BTreeMap, BTreeSet};

use super::{Facts, Findings};
use crate::history::{Event, Outcome, Txn};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    if facts.damaged {
        return;
    }
    let mut decided: BTreeMap<Txn, bool> = BTreeMap::new();
    let mut ended: BTreeMap<Txn, u64> = BTreeMap::new();
    let mut ids: BTreeSet<u32> = BTreeSet::new();
    for entry in &facts.history.entries {
        match entry.event {
            Event::Decided { txn, commit } => {
                ids.extend(facts.txns.get(&txn).and_then(|known| known.id));
                decided.insert(txn, commit);
            }
            Event::Kept { id, pid, epoch, txn, asked_us } => {
                ids.insert(id);
                let before = |txn| ended.get(&txn).is_some_and(|&at_us| at_us < asked_us);
                if txn.is_none_or(before) {
                    let what = if txn.is_none() { "nobody began" } else { "had ended" };
                    findings.add(15, || {
                        format!(
                            "at {} us a transaction of producer {pid} epoch {epoch} was kept that {what}",
                            entry.at_us
                        )
                    });
                }
            }
            Event::Ended { txn, outcome: Outcome::Ok, .. } => {
                ended.entry(txn).or_insert(entry.at_us);
            }
            _ => {}
        }
    }
    if facts.has_logs() {
        compare(facts, &decided, &ids, findings);
    }
}

/// The log at the end holds what the databases decided.
fn compare(
    facts: &Facts<'_>,
    decided: &BTreeMap<Txn, bool>,
    ids: &BTreeSet<u32>,
    findings: &mut Findings,
) {
    let visible: BTreeSet<u64> =
        facts.logs.values().flat_map(|log| log.visible.iter().map(|&(_, app)| app)).collect();
    for (txn, known) in
        facts.txns.iter().filter(|(_, of)| of.id.is_some_and(|id| ids.contains(&id)))
    {
        if decided.get(txn) == Some(&true) {
            let missing = known.apps.iter().find(|&&app| {
                !visible.contains(&app)
                    && !is_deleted(facts, app)
                    && !facts.may_be_cleaned(app, None, &facts.newest)
            });
            if let Some(app) = missing {
                findings.add(15, || {
                    format!("the database committed transaction {txn}, and its record {app} is not visible")
                });
            }
        } else if let Some(app) = known.apps.iter().find(|app| visible.contains(app)) {
            let said = if decided.contains_key(txn) { "aborted" } else { "never decided" };
            findings.add(15, || {
                format!("the database {said} transaction {txn}, and its record {app} is visible")
            });
        }
    }
}

/// Whether a record may be below its log's start.
fn is_deleted(facts: &Facts<'_>, app: u64) -> bool {
    facts.apps.get(&app).is_some_and(|record| {
        let start = facts.logs.get(&record.part).map_or(0, |log| log.start);
        record.offset.map_or(start > 0, |offset| offset < start)
    })
}
