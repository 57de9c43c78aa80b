//! O4, O5 and O7: what read_committed readers are shown.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::Log;
use super::{Facts, Findings};
use crate::history::{Batch, BatchKind, Fetch, Outcome, Txn, deliver};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    for (at_us, fetch) in facts.fetches().filter(|(_, fetch)| fetch.committed) {
        shown(facts, at_us, fetch, findings);
        if let Some(log) = facts.logs.get(&fetch.part) {
            against_log(log, at_us, fetch, findings);
        }
    }
    torn(facts, findings);
}

/// O4 by what clients asked: a visible record was sent, and its commit was asked for before.
fn shown(facts: &Facts<'_>, at_us: u64, fetch: &Fetch, findings: &mut Findings) {
    for seen in deliver(fetch) {
        let Some(known) = facts.apps.get(&seen.app) else {
            findings.add(4, || {
                format!(
                    "partition {} offset {}: nobody sent record {}",
                    fetch.part, seen.offset, seen.app
                )
            });
            continue;
        };
        let Some(txn) = known.txn.and_then(|txn| facts.txns.get(&txn)) else { continue };
        if txn.commit_asked_us.is_none_or(|asked| asked > at_us) {
            findings.add(4, || {
                format!(
                    "read_committed showed record {} at {}-{} of transaction {:?}, whose commit nobody had asked for",
                    seen.app, fetch.part, seen.offset, known.txn
                )
            });
        }
    }
}

/// O4 and O7 by the log: the filter drops exactly the aborted transactions.
fn against_log(log: &Log, at_us: u64, fetch: &Fetch, findings: &mut Findings) {
    let (Some(first), Some(last)) = (fetch.batches.first(), fetch.batches.last()) else { return };
    let shown: BTreeSet<i64> = deliver(fetch).iter().map(|seen| seen.offset).collect();
    // What a cleaning had taken, that a crash undid, was not brought.
    let brought: BTreeSet<(i64, u64)> = fetch.batches.iter().flat_map(Batch::records).collect();
    for span in &log.spans {
        if span.first > last.last {
            break;
        }
        let closed_before_watermark =
            span.marker.filter(|&(offset, _)| offset < fetch.high_watermark);
        for batch in span.batches.iter().filter_map(|&index| log.batches.get(index)) {
            if batch.last < first.base || batch.base > last.last || batch.last < fetch.from {
                continue;
            }
            let mut wanted = batch
                .records()
                .filter(|one| one.0 >= fetch.from && brought.contains(one))
                .peekable();
            if wanted.peek().is_none() {
                continue;
            }
            let is_shown = wanted.any(|(at, _)| shown.contains(&at));
            match closed_before_watermark {
                None if is_shown => findings.add(4, || {
                    format!(
                        "at {at_us} us read_committed showed {}-{} of an open transaction of producer {}",
                        fetch.part, batch.base, span.pid
                    )
                }),
                Some((_, false)) if is_shown => {
                    let named = fetch.aborted.contains(&(span.pid, span.first));
                    let oracle = if named { 4 } else { 7 };
                    findings.add(oracle, || {
                        format!(
                            "at {at_us} us read_committed showed {}-{} of the transaction of producer {} from {} that was aborted; the aborted list {} it",
                            fetch.part, batch.base, span.pid, span.first,
                            if named { "names" } else { "lacks" }
                        )
                    });
                }
                Some((_, true)) if !is_shown => findings.add(7, || {
                    format!(
                        "at {at_us} us the aborted list hid {}-{} of the committed transaction of producer {} from {}",
                        fetch.part, batch.base, span.pid, span.first
                    )
                }),
                _ => {}
            }
        }
    }
    let hidden = fetch.batches.iter().find(|batch| {
        batch.kind == BatchKind::Plain
            && batch.records().any(|(at, _)| at >= fetch.from && !shown.contains(&at))
    });
    if let Some(batch) = hidden {
        findings.add(7, || {
            format!("at {at_us} us {}-{} of no transaction was hidden", fetch.part, batch.base)
        });
    }
}

/// O5: at the end, all of a transaction or nothing.
fn torn(facts: &Facts<'_>, findings: &mut Findings) {
    if !facts.has_logs() || facts.damaged {
        return;
    }
    let visible: BTreeSet<u64> =
        facts.logs.values().flat_map(|log| log.visible.iter().map(|&(_, app)| app)).collect();
    for (txn, known) in &facts.txns {
        let there = known.apps.iter().find(|app| visible.contains(app));
        let missing = known.apps.iter().find(|app| {
            !visible.contains(app)
                && !facts.may_be_cleaned(**app, None, &facts.newest)
                && facts.apps.get(app).is_some_and(|record| {
                    let start = facts.logs.get(&record.part).map_or(0, |log| log.start);
                    record.outcome == Outcome::Ok
                        && record.offset.map_or(start == 0, |offset| offset >= start)
                })
        });
        if let (Some(there), Some(missing)) = (there, missing) {
            findings.add(5, || {
                format!("transaction {txn} is torn: record {there} is visible and {missing} is not")
            });
        }
    }
    let mut decisions: BTreeMap<Txn, (bool, i64)> = BTreeMap::new();
    for log in facts.logs.values() {
        for span in &log.spans {
            let Some((offset, commit)) = span.marker else { continue };
            let apps = span.batches.iter().filter_map(|&index| log.batches.get(index));
            let txns: BTreeSet<Txn> = apps
                .flat_map(|batch| &batch.apps)
                .filter_map(|app| facts.apps.get(app)?.txn)
                .collect();
            for txn in txns {
                let (other, at) = *decisions.entry(txn).or_insert((commit, offset));
                if other != commit {
                    findings.add(5, || {
                        format!("transaction {txn} has both outcomes: the markers at {at} and {offset} differ")
                    });
                }
            }
        }
    }
}
