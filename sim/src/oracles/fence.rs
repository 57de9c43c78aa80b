//! O10: after a fence was acknowledged, nothing that the fenced owner sends is taken.

use std::collections::BTreeMap;

use super::{Facts, Findings};
use crate::history::{Event, Outcome};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    let mut fences: BTreeMap<i64, Vec<(u64, i16)>> = BTreeMap::new();
    for entry in &facts.history.entries {
        if let Event::Initialized { pid, epoch, .. } = entry.event {
            fences.entry(pid).or_default().push((entry.at_us, epoch));
        }
    }
    for (app, known) in &facts.apps {
        if known.txn.is_none() || known.outcome != Outcome::Ok {
            continue;
        }
        let fence = fences.get(&known.pid).and_then(|fences| {
            fences.iter().find(|&&(at, epoch)| at < known.sent_us && epoch > known.epoch)
        });
        if let Some((at, epoch)) = fence {
            findings.add(10, || {
                format!(
                    "record {app} of producer {} epoch {} was sent at {} us and taken, epoch {epoch} was given out at {at} us",
                    known.pid, known.epoch, known.sent_us
                )
            });
        }
    }
}
