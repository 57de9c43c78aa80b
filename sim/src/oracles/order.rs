//! O3: what one producer sent to one partition is there in the order it was sent, without a hole.

use std::collections::BTreeMap;

use super::{Facts, Findings};

/// Some worlds forget a producer that was silent for so long, in microseconds, and then take any
/// sequence of it for the first: also the second of several in flight, when the first one's write
/// failed (seed 6630; as Apache Kafka).
const SILENCE_US: u64 = 16_000_000;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    for (part, log) in &facts.logs {
        let mut next: BTreeMap<(i64, i16), i32> = BTreeMap::new();
        let mut sent: BTreeMap<i64, u64> = BTreeMap::new();
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
            let sent_us =
                batch.apps.first().and_then(|app| facts.apps.get(app)).map(|app| app.sent_us);
            let before_us = sent_us.and_then(|sent_us| sent.insert(batch.pid, sent_us));
            let silent_us =
                sent_us.zip(before_us).map_or(0, |(now, then)| now.saturating_sub(then));
            // Of a compacted log aborted batches are gone; those that are left are in order.
            let may_lack = facts.compacted || silent_us > SILENCE_US;
            let fits = ahead == 0 || (may_lack && ahead < i32::MAX / 2);
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
