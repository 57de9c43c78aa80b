//! O9: epochs never go back, and a transaction has one outcome.

use std::collections::BTreeMap;

use super::{Facts, Findings};
use crate::history::BatchKind;

#[derive(Clone, Copy)]
struct Seen {
    epoch: i16,
    coordinator_epoch: i32,
    /// The epoch of the last data.
    data_epoch: i16,
    /// The last batch of the producer, when it was a marker: its epoch and kind. Only of a marker
    /// with an epoch above the data's, since only then every transaction has an epoch of its own:
    /// without, the next transaction may have a marker here and no data.
    marker: Option<(i16, BatchKind)>,
}

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    for (part, log) in &facts.logs {
        let mut producers: BTreeMap<i64, Seen> = BTreeMap::new();
        for batch in log.batches.iter().filter(|batch| batch.pid >= 0) {
            let seen = producers.entry(batch.pid).or_insert(Seen {
                epoch: batch.epoch,
                coordinator_epoch: -1,
                data_epoch: -1,
                marker: None,
            });
            if batch.epoch < seen.epoch {
                findings.add(9, || {
                    format!(
                        "partition {part} offset {}: producer {} goes back from epoch {} to {}",
                        batch.base, batch.pid, seen.epoch, batch.epoch
                    )
                });
            }
            seen.epoch = seen.epoch.max(batch.epoch);
            if !batch.kind.is_marker() {
                seen.marker = None;
                seen.data_epoch = batch.epoch;
                continue;
            }
            if batch.coordinator_epoch < seen.coordinator_epoch {
                findings.add(9, || {
                    format!(
                        "partition {part} offset {}: coordinator epoch goes back from {} to {}",
                        batch.base, seen.coordinator_epoch, batch.coordinator_epoch
                    )
                });
            }
            seen.coordinator_epoch = seen.coordinator_epoch.max(batch.coordinator_epoch);
            // Between them was data, perhaps, that was cleaned.
            if let Some((epoch, kind)) = seen.marker
                && !facts.compacted
                && epoch == batch.epoch
                && kind != batch.kind
            {
                findings.add(9, || {
                    format!(
                        "partition {part} offset {}: producer {} epoch {epoch} gets a second, different marker",
                        batch.base, batch.pid
                    )
                });
            }
            let own_epoch = batch.epoch > seen.data_epoch && seen.data_epoch >= 0;
            seen.marker = own_epoch.then_some((batch.epoch, batch.kind));
        }
    }
}
