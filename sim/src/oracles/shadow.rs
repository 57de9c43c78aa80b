//! O12: a node that starts from what is durable serves everything that anybody was told of.

use std::collections::BTreeMap;

use super::{Facts, Findings};
use crate::history::{Batch, Event, Outcome, Part};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    if facts.damaged {
        return;
    }
    let mut seen: BTreeMap<Part, BTreeMap<i64, &Batch>> = BTreeMap::new();
    let mut acknowledged: BTreeMap<Part, BTreeMap<i64, u64>> = BTreeMap::new();
    for entry in &facts.history.entries {
        match &entry.event {
            Event::Fetched(fetch) => {
                let of = seen.entry(fetch.part).or_default();
                of.extend(fetch.batches.iter().map(|batch| (batch.base, batch)));
            }
            &Event::SendEnded { app, outcome: Outcome::Ok, offset: Some(offset) } => {
                if let Some(known) = facts.apps.get(&app) {
                    acknowledged.entry(known.part).or_default().insert(offset, app);
                }
            }
            Event::Recovered { part, log_start, batches } => {
                if facts.compacted {
                    // What is not there may have been cleaned away.
                    continue;
                }
                let there: BTreeMap<i64, &Batch> =
                    batches.iter().map(|batch| (batch.base, batch)).collect();
                let shown = seen.entry(*part).or_default().range(log_start..);
                for (base, batch) in shown.filter(|(base, batch)| there.get(base) != Some(batch)) {
                    findings.add(12, || {
                        format!(
                            "at {} us a recovery of partition {part} has no batch {base} of records {:?}, which a reader had seen; it has {:?}",
                            entry.at_us, batch.apps, there.get(base).map(|known| &known.apps)
                        )
                    });
                }
                let taken = acknowledged.entry(*part).or_default().range(log_start..);
                for (&offset, &app) in taken.filter(|&(&at, &app)| record(&there, at) != Some(app))
                {
                    findings.add(12, || {
                        format!(
                            "at {} us a recovery of partition {part} has {:?} at {offset}, where record {app} was acknowledged",
                            entry.at_us, record(&there, offset)
                        )
                    });
                }
            }
            Event::Unrecovered { reason } => {
                findings.add(12, || format!("at {} us a recovery failed: {reason}", entry.at_us));
            }
            _ => {}
        }
    }
}

fn record(batches: &BTreeMap<i64, &Batch>, offset: i64) -> Option<u64> {
    let (base, batch) = batches.range(..=offset).next_back()?;
    batch.apps.get(usize::try_from(offset - base).ok()?).copied()
}
