//! O2: nothing appears twice.

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
