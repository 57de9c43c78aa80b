//! O9, of leaders: their epochs ascend in a log, and where one ended is where the next began.
//!
//! A consumer that was away asks where the epoch of what it read last ended. An answer below says
//! that records it has seen are gone, one above that records of another log are these.

use super::facts::Log;
use super::{Facts, Findings};
use crate::history::{Event, Part};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    for (part, log) in &facts.logs {
        let pairs = log.batches.iter().zip(log.batches.iter().skip(1));
        for (before, after) in pairs.filter(|(a, b)| b.leader_epoch < a.leader_epoch) {
            findings.add(9, || {
                format!(
                    "partition {part}: batch {} of leader epoch {} stands behind one of {}",
                    after.base, after.leader_epoch, before.leader_epoch
                )
            });
        }
    }
    for entry in &facts.history.entries {
        let &Event::LeaderEpochEnded { part, asked, epoch, end, log_start } = &entry.event else {
            continue;
        };
        if let Some(log) = facts.logs.get(&part) {
            ended(part, log, asked, (epoch, end), log_start, findings);
        }
    }
}

fn ended(
    part: Part,
    log: &Log,
    asked: i32,
    (epoch, end): (i32, i64),
    log_start: i64,
    findings: &mut Findings,
) {
    let behind = log.batches.partition_point(|batch| batch.leader_epoch <= asked);
    let Some(last) = behind.checked_sub(1).and_then(|at| log.batches.get(at)) else { return };
    if last.leader_epoch != asked {
        return;
    }
    // The first records of the next epoch may be cleaned. The newest epoch may have got more since
    // the log was read: a marker that an operator sent (seed 3504).
    let next = log.batches.get(behind).map_or(i64::MAX, |batch| batch.base);
    // An epoch that is not in the log any more ended where the log begins.
    if epoch != asked || end <= last.last || end > next.max(log_start) {
        findings.add(9, || {
            format!(
                "partition {part}: leader epoch {asked} is said to end at {end} of {epoch}, and its last record is {} and the next epoch's first {next}",
                last.last
            )
        });
    }
}
