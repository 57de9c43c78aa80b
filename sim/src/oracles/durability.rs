//! O1: no acknowledged record is lost.

use std::collections::{BTreeMap, BTreeSet};

use super::{Facts, Findings};
use crate::history::Outcome;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    holes(facts, findings);
    if !facts.has_logs() || facts.damaged {
        return;
    }
    stays(facts, findings);
    let mut places: BTreeMap<u64, (u16, i64)> = BTreeMap::new();
    let mut visible = BTreeSet::new();
    for (&part, log) in &facts.logs {
        for batch in &log.batches {
            places.extend((batch.base..).zip(&batch.apps).map(|(at, &app)| (app, (part, at))));
        }
        visible.extend(log.visible.iter().map(|&(_, app)| app));
    }
    for (&app, known) in &facts.apps {
        let place = places.get(&app);
        let start = facts.logs.get(&known.part).map_or(0, |log| log.start);
        let committed = known.txn.and_then(|txn| facts.txns.get(&txn)).map(|txn| txn.ended);
        // Of a compacted log aborted records go.
        let may_be_cleaned =
            facts.compacted && committed.is_some_and(|ended| ended != Some((true, Outcome::Ok)));
        match (known.outcome, place, known.offset) {
            (Outcome::Ok, None, _) if may_be_cleaned => {}
            (Outcome::Ok, None, offset) if offset.map_or(start == 0, |offset| offset >= start) => {
                findings.add(1, || {
                    format!("record {app} was acknowledged at {offset:?} and is not in the log")
                });
            }
            (Outcome::Ok, Some(&(part, at)), Some(offset))
                if (part, at) != (known.part, offset) =>
            {
                findings.add(1, || {
                    format!(
                        "record {app} was acknowledged at {}-{offset} and is at {part}-{at}",
                        known.part
                    )
                });
            }
            (Outcome::Failed, Some(&(part, at)), _) => findings
                .add(1, || format!("record {app} was refused and is in the log at {part}-{at}")),
            _ => {}
        }
    }
    for (txn, known) in &facts.txns {
        if known.ended != Some((true, Outcome::Ok)) {
            continue;
        }
        for app in &known.apps {
            let Some(record) = facts.apps.get(app) else { continue };
            let start = facts.logs.get(&record.part).map_or(0, |log| log.start);
            let gone = record.offset.map_or(start > 0, |offset| offset < start);
            if record.outcome == Outcome::Ok && !visible.contains(app) && !gone {
                findings.add(1, || {
                    format!("transaction {txn} was committed, its record {app} is not visible")
                });
            }
        }
    }
}

/// What a reader was once given, acknowledged or not, stays where it was seen.
/// Of a compacted log a batch is cleaned of aborted records, or goes.
fn stays(facts: &Facts<'_>, findings: &mut Findings) {
    if facts.compacted {
        return;
    }
    for (at_us, fetch) in facts.fetches().filter(|(_, fetch)| !fetch.is_final) {
        let Some(log) = facts.logs.get(&fetch.part) else { continue };
        for batch in fetch.batches.iter().filter(|batch| batch.base >= log.start) {
            let found = log.batches.binary_search_by_key(&batch.base, |known| known.base);
            let known = found.ok().and_then(|at| log.batches.get(at));
            if known != Some(batch) {
                findings.add(1, || {
                    format!(
                        "a fetch of partition {} at {at_us} us showed the batch at {}, records {:?}; at the end there is {:?}",
                        fetch.part, batch.base, batch.apps, known.map(|known| &known.apps)
                    )
                });
            }
        }
    }
}

/// Within one answer, batches follow each other without a hole, from where reading began.
fn holes(facts: &Facts<'_>, findings: &mut Findings) {
    for (at_us, fetch) in facts.fetches() {
        let mut next = fetch.from;
        for (index, batch) in fetch.batches.iter().enumerate() {
            let fits = if index == 0 {
                batch.base <= next && next <= batch.last
            } else {
                batch.base == next
            };
            // Of a compacted log whole batches are gone.
            let fits = fits || (facts.compacted && next <= batch.base.max(batch.last));
            if !fits {
                findings.add(1, || {
                    format!(
                        "a fetch of partition {} from {} at {at_us} us expected offset {next} and got {} to {}",
                        fetch.part, fetch.from, batch.base, batch.last
                    )
                });
                break;
            }
            next = batch.last + 1;
        }
    }
}
