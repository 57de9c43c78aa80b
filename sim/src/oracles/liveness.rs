//! O14: once faults stop, everything open ends and everyone works again.

use super::{Facts, Findings};
use crate::history::Event;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    if facts.damaged {
        return;
    }
    for entry in &facts.history.entries {
        if let Event::Stuck { reason } = &entry.event {
            findings.add(14, || reason.clone());
        }
    }
    for (part, log) in &facts.logs {
        if let Some(span) = log.spans.iter().find(|span| span.marker.is_none()) {
            findings.add(14, || {
                format!(
                    "partition {part}: the transaction of producer {} from offset {} is open at the end",
                    span.pid, span.first
                )
            });
        }
    }
}
