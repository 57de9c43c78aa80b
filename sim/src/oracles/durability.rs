//! O1: no acknowledged record is lost.

use std::collections::{BTreeMap, BTreeSet};

use super::cleaning::agree;
use super::facts::Log;
use super::{Facts, Findings};
use crate::history::{Delivered as Seen, Fetch, Outcome, deliver};

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
            places.extend(batch.records().map(|(at, app)| (app, (part, at))));
        }
        visible.extend(log.visible.iter().map(|&(_, app)| app));
    }
    for (&app, known) in &facts.apps {
        let place = places.get(&app);
        let start = facts.logs.get(&known.part).map_or(0, |log| log.start);
        match (known.outcome, place, known.offset) {
            (Outcome::Ok, None, at) if facts.may_be_cleaned(app, at, &facts.newest) => {}
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
            let cleaned = facts.may_be_cleaned(*app, record.offset, &facts.newest);
            if record.outcome == Outcome::Ok && !visible.contains(app) && !gone && !cleaned {
                findings.add(1, || {
                    format!("transaction {txn} was committed, its record {app} is not visible")
                });
            }
        }
    }
}

/// What a reader was once given, acknowledged or not, stays where it was seen.
fn stays(facts: &Facts<'_>, findings: &mut Findings) {
    for (at_us, fetch) in facts.fetches().filter(|(_, fetch)| !fetch.is_final) {
        let Some(log) = facts.logs.get(&fetch.part).filter(|log| at_us <= log.read_us) else {
            continue;
        };
        if facts.compacted {
            left_by_cleaning(facts, log, at_us, fetch, findings);
            continue;
        }
        for batch in fetch.batches.iter().filter(|batch| batch.base >= log.start) {
            let known = log.batch_at(batch.base);
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

/// Of a compacted log: a batch that is there still is of the same producer, with its records where
/// they were; no committed record is gone but what cleaning may take; no marker before what it
/// decided.
fn left_by_cleaning(
    facts: &Facts<'_>,
    log: &Log,
    at_us: u64,
    fetch: &Fetch,
    findings: &mut Findings,
) {
    let part = fetch.part;
    for batch in fetch.batches.iter().filter(|batch| batch.base >= log.start) {
        if let Some(known) = log.batch_at(batch.base).filter(|known| !agree(known, batch)) {
            findings.add(1, || {
                format!("a fetch of partition {part} at {at_us} us showed {batch:?}, of which {known:?} was left")
            });
        }
        if batch.kind.is_marker() {
            let lacks = log.spans.iter().find(|span| {
                span.pid == batch.pid
                    && span.first < batch.base
                    && span.marker.is_none_or(|(offset, _)| offset > batch.base)
            });
            if let Some(span) = lacks {
                findings.add(1, || {
                    format!(
                        "partition {part}: the marker at {} is gone, what it decided at {} is not",
                        batch.base, span.first
                    )
                });
            }
        }
    }
    let there: BTreeSet<(i64, u64)> = log.visible.iter().copied().collect();
    for seen in deliver(fetch).iter().filter(|seen| fetch.committed && seen.offset >= log.start) {
        let Seen { offset, app } = *seen;
        if !there.contains(&(offset, app))
            && !facts.may_be_cleaned(app, Some(offset), &facts.newest)
        {
            findings.add(1, || {
                format!("read_committed showed record {app} at {part}-{offset} at {at_us} us, and cleaning took it")
            });
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
