//! O8: a decision that was acknowledged never flips.

use super::{Facts, Findings};
use crate::history::Outcome;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    for (part, log) in &facts.logs {
        for span in &log.spans {
            let Some((offset, commit)) = span.marker else { continue };
            for batch in span.batches.iter().filter_map(|&index| log.batches.get(index)) {
                let txn = batch.apps.first().and_then(|app| facts.apps.get(app)?.txn);
                let Some(known) = txn.and_then(|txn| facts.txns.get(&txn)) else { continue };
                if known.ended == Some((true, Outcome::Failed)) && commit {
                    findings.add(8, || {
                        format!("the commit of transaction {txn:?} was refused and its marker is at {part}-{offset}")
                    });
                }
                if let Some((decided, Outcome::Ok)) = known.ended
                    && decided != commit
                {
                    findings.add(8, || {
                        format!(
                            "transaction {txn:?} was acknowledged as {} and has the other marker at {part}-{offset}",
                            if decided { "committed" } else { "aborted" }
                        )
                    });
                }
            }
        }
    }
}
