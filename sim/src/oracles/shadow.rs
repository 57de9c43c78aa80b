//! O12: a node that starts from what is durable serves everything that anybody was told of.

use std::collections::BTreeMap;

use super::cleaning::{Newest, agree};
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
                let newest = Newest::of(*part, batches);
                let there: BTreeMap<i64, &Batch> =
                    batches.iter().map(|batch| (batch.base, batch)).collect();
                let shown = seen.entry(*part).or_default().range(log_start..);
                let differs =
                    shown.filter(|(base, batch)| !is_left(facts, batch, there.get(base), &newest));
                for (base, batch) in differs {
                    findings.add(12, || {
                        format!(
                            "at {} us a recovery of partition {part} has no batch {base} of records {:?}, which a reader had seen; it has {:?}",
                            entry.at_us, batch.apps, there.get(base).map(|known| &known.apps)
                        )
                    });
                }
                let taken = acknowledged.entry(*part).or_default().range(log_start..);
                let lost = taken.filter(|&(&at, &app)| match record(&there, at) {
                    None => !facts.may_be_cleaned(app, Some(at), &newest),
                    found => found != Some(app),
                });
                for (&offset, &app) in lost {
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
    let (_, batch) = batches.range(..=offset).next_back()?;
    batch.records().find_map(|(at, app)| (at == offset).then_some(app))
}

/// Whether what is there of a batch that a reader saw may be: all of it, but for what was cleaned.
fn is_left(facts: &Facts<'_>, batch: &Batch, there: Option<&&Batch>, newest: &Newest) -> bool {
    if !facts.compacted || there == Some(&batch) {
        return there == Some(&batch);
    }
    there.is_none_or(|it| agree(it, batch))
        && batch.records().all(|(at, app)| {
            there.is_some_and(|it| it.records().any(|one| one == (at, app)))
                || facts.may_be_cleaned(app, Some(at), newest)
        })
}
