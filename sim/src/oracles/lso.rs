//! O6: the last stable offset.

use std::collections::BTreeMap;

use super::facts::Log;
use super::{Facts, Findings};
use crate::history::{Event, Fetch, Part};

/// When an answer came, and the highest last stable offset and high watermark up to it.
type Highest = (u64, i64, i64);

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let mut seen: BTreeMap<(Part, usize), Vec<Highest>> = BTreeMap::new();
    for (at_us, fetch) in facts.fetches() {
        bounds(at_us, fetch, findings);
        let before = seen.entry((fetch.part, fetch.broker)).or_default();
        // Answers that had come before this one was asked for bound it from below.
        let known = before.partition_point(|&(at, _, _)| at <= fetch.asked_us);
        let (_, stable, watermark) = known.checked_sub(1).map_or((0, -1, -1), |i| before[i]);
        let went_on = !facts.may_be_cut();
        if went_on && fetch.last_stable < stable {
            findings.add(6, || {
                format!(
                    "partition {}: LSO went back from {stable} to {} at {at_us} us",
                    fetch.part, fetch.last_stable
                )
            });
        }
        if went_on && fetch.high_watermark < watermark {
            findings.add(6, || {
                format!(
                    "partition {}: high watermark went back from {watermark} to {} at {at_us} us",
                    fetch.part, fetch.high_watermark
                )
            });
        }
        let (_, stable, watermark) = before.last().copied().unwrap_or((0, -1, -1));
        before.push((at_us, stable.max(fetch.last_stable), watermark.max(fetch.high_watermark)));
        if let Some(log) = facts.logs.get(&fetch.part) {
            exact(facts, log, at_us, fetch, findings);
        }
    }
    for entry in &facts.history.entries {
        listed(facts, entry.at_us, &entry.event, findings);
    }
}

/// ListOffsets of the end: not beyond a transaction whose commit was not asked for yet, nor before
/// what was acknowledged already.
fn listed(facts: &Facts<'_>, at_us: u64, event: &Event, findings: &mut Findings) {
    let &Event::Listed { part, committed, offset, asked_us } = event else { return };
    let Some(log) = facts.logs.get(&part) else { return };
    let open = log.spans.iter().find(|span| {
        let app = span.batches.first().and_then(|&at| log.batches[at].apps.first());
        let txn = app.and_then(|app| facts.apps.get(app)?.txn).and_then(|txn| facts.txns.get(&txn));
        let committed = span.marker.is_some_and(|(_, commit)| commit);
        let asked = txn.and_then(|txn| txn.commit_asked_us);
        // What was deleted of an open transaction does not count as open.
        span.first.max(log.start) < offset
            && committed
            && asked.is_some_and(|asked_us| asked_us > at_us)
    });
    if let Some(span) = open.filter(|_| committed) {
        findings.add(6, || {
            format!(
                "partition {part}: at {at_us} us committed records are said to end at {offset}, with a transaction open from {} on",
                span.first
            )
        });
    }
    let known = facts.ends_acknowledged(part, asked_us);
    if !committed && offset < known {
        findings.add(1, || {
            format!("partition {part}: at {at_us} us it is said to end at {offset}, with {known} acknowledged before")
        });
    }
}

fn bounds(at_us: u64, fetch: &Fetch, findings: &mut Findings) {
    if fetch.last_stable > fetch.high_watermark {
        findings.add(6, || {
            format!(
                "partition {}: LSO {} above the high watermark {} at {at_us} us",
                fetch.part, fetch.last_stable, fetch.high_watermark
            )
        });
    }
    let bound = if fetch.committed { fetch.last_stable } else { fetch.high_watermark };
    if fetch.batches.last().is_some_and(|batch| batch.last >= bound) {
        findings.add(6, || {
            format!("partition {}: a fetch went past its bound {bound} at {at_us} us", fetch.part)
        });
    }
}

/// By the log: the first offset of the oldest transaction that was open at the high watermark.
fn exact(facts: &Facts<'_>, log: &Log, at_us: u64, fetch: &Fetch, findings: &mut Findings) {
    let watermark = fetch.high_watermark;
    let open = log.spans.iter().find(|span| {
        span.first < watermark && span.marker.is_none_or(|(offset, _)| offset >= watermark)
    });
    let expected = open.map_or(watermark, |span| span.first.max(fetch.log_start));
    // What was open below the start of the log as it is at the end is not known any more.
    let deleted = log.start > 0 && fetch.last_stable <= log.start.max(fetch.log_start);
    // A compacted log does not show all transactions that there were.
    let deleted = deleted || facts.compacted;
    // A deletion that nobody confirmed yet moves where reads may begin and not the last stable
    // offset; it may come to nothing, and then the log begins at the end where it did before
    // (seed 476398).
    let pending = open.is_some_and(|span| fetch.last_stable >= span.first);
    if fetch.last_stable != expected && !((deleted || pending) && fetch.last_stable < expected) {
        findings.add(6, || {
            format!(
                "partition {}: LSO {} at {at_us} us where the log says {expected} (high watermark {watermark})",
                fetch.part, fetch.last_stable
            )
        });
    }
}
