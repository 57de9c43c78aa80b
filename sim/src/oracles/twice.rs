//! O2: nothing appears twice: not in the log at the end, and not to anybody who read what was
//! deleted since.

use std::collections::BTreeMap;

use super::{Facts, Findings};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let mut places: BTreeMap<u64, (u16, i64)> = BTreeMap::new();
    for (&part, log) in &facts.logs {
        let mut sequences = BTreeMap::new();
        for batch in &log.batches {
            for (at, app) in batch.records() {
                let index = at - batch.base;
                if let Some((other, before)) = places.insert(app, (part, at)) {
                    findings.add(2, || {
                        format!(
                            "record {app} is in the log twice: {other}-{before} and {part}-{at}"
                        )
                    });
                }
                if batch.pid < 0 || batch.sequence < 0 {
                    continue;
                }
                let sequence = (i64::from(batch.sequence) + index) & i64::from(i32::MAX);
                let key = (batch.pid, batch.epoch, sequence);
                if let Some(before) = sequences.insert(key, at) {
                    findings.add(2, || {
                        format!(
                            "producer {} epoch {} sequence {sequence} is in partition {part} twice: {before} and {at}",
                            batch.pid, batch.epoch
                        )
                    });
                }
            }
        }
    }
    read_twice(facts, findings);
    let mut seen: BTreeMap<u64, i64> = BTreeMap::new();
    for (part, log) in &facts.logs {
        for &(offset, app) in &log.visible {
            if let Some(before) = seen.insert(app, offset) {
                findings.add(2, || {
                    format!("read_committed shows record {app} twice: {before} and {part}-{offset}")
                });
            }
        }
    }
}

/// A record that was read once is never read at another place: what is deleted is still known, so
/// that its repeat is none (KIP-360).
fn read_twice(facts: &Facts<'_>, findings: &mut Findings) {
    if facts.damaged {
        return;
    }
    let mut places: BTreeMap<u64, (u16, i64)> = BTreeMap::new();
    for (_, fetch) in facts.fetches() {
        for (at, app) in fetch.batches.iter().flat_map(crate::history::Batch::records) {
            let place = (fetch.part, at);
            let (part, before) = *places.entry(app).or_insert(place);
            if (part, before) != place {
                findings.add(2, || {
                    format!("record {app} was read at {part}-{before} and at {}-{at}", fetch.part)
                });
            }
        }
    }
}
