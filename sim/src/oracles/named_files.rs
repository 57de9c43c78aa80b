//! O16: a file that an answer names holds the bytes that the answer says.

use super::{Facts, Findings};
use crate::history::Event;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    for entry in &facts.history.entries {
        if let Event::Misnamed { what } = &entry.event {
            findings.add(16, || format!("at {} us {what}, and they are not", entry.at_us));
        }
    }
}
