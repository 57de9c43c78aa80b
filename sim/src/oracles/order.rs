//! O3: what one producer sent to one partition is there in the order it was sent, without a hole.

use std::collections::BTreeMap;

use super::{Facts, Findings};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    for (part, log) in &facts.logs {
        let mut next: BTreeMap<(i64, i16), i32> = BTreeMap::new();
        for batch in &log.batches {
            if batch.kind.is_marker() || batch.pid < 0 || batch.sequence < 0 {
                continue;
            }
            let key = (batch.pid, batch.epoch);
            // A log whose start moved may have lost the first ones.
            let expected = match next.get(&key) {
                Some(&expected) => expected,
                None if log.start > 0 || facts.compacted => batch.sequence,
                // The end of the sequences is far: some begin near it, in a log that takes that.
                None => facts.first_sequence(batch.pid, batch.epoch, *part),
            };
            let ahead = batch.sequence.wrapping_sub(expected) & i32::MAX;
            // Of a compacted log aborted batches are gone; those that are left are in order.
            let fits = ahead == 0 || (facts.compacted && ahead < i32::MAX / 2);
            if !fits {
                findings.add(3, || {
                    format!(
                        "partition {part} offset {}: producer {} epoch {} has sequence {} where {expected} was next",
                        batch.base, batch.pid, batch.epoch, batch.sequence
                    )
                });
            }
            let count = i32::try_from(batch.last - batch.base + 1).unwrap_or(i32::MAX);
            next.insert(key, batch.sequence.wrapping_add(count) & i32::MAX);
        }
    }
}
