//! O13: a producer that keeps to the rules is not refused.
//!
//! # Rules
//! * A batch whose predecessors to the same partition were all acknowledged is the next one, or a
//!   repeat of one of the last five: its sequence is never wrong (spec 2.2; KAFKA-5494: all five
//!   that may be in flight are recognised, also after a restart, P02; and whatever became of the
//!   records, KIP-360).
//! * A transactional id that one client alone uses has the producer id that this client was told
//!   last (KAFKA-20357: also when the id changed with the epoch's end and the coordinator died).
//!   Not at the end of the epochs, where a late InitProducerId of its own, or an abort that it did
//!   not ask for, gives the id another producer: the coordinator's oracle judges that.

use std::collections::{BTreeMap, BTreeSet};

use super::{Facts, Findings};
use crate::history::{ClientId, Event, Outcome, Part};

/// INVALID_PRODUCER_ID_MAPPING.
const UNKNOWN_IDENTITY: i16 = 49;

#[derive(Default)]
struct Seen {
    /// Records that are not acknowledged, of each identity and partition.
    unsettled: BTreeMap<(i64, i16, Part), BTreeSet<u64>>,
    /// Who uses a transactional id.
    users: BTreeMap<u32, BTreeSet<ClientId>>,
    /// Transactional ids whose producer's epochs were moved to near their end, and that producer.
    near_end: BTreeSet<(u32, i64)>,
}

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    if facts.damaged {
        return;
    }
    let mut seen = Seen::default();
    for entry in &facts.history.entries {
        if let Event::Begun { id, .. } | Event::Initialized { id, .. } = &entry.event {
            seen.users.entry(*id).or_default().insert(entry.client);
        }
    }
    for entry in &facts.history.entries {
        match entry.event {
            Event::Sent { app, part, pid, epoch, .. } => {
                seen.unsettled.entry((pid, epoch, part)).or_default().insert(app);
            }
            Event::SendEnded { app, outcome: Outcome::Ok, .. } => {
                if let Some(known) = facts.apps.get(&app) {
                    let key = (known.pid, known.epoch, known.part);
                    seen.unsettled.entry(key).or_default().remove(&app);
                }
            }
            // The client that has it need not know: it is told nothing, and may be at epoch 0 (seed
            // 39265).
            Event::EpochMoved { id, pid, .. } => {
                seen.near_end.insert((id, pid));
            }
            // At the end of its epochs an id changes by itself, when a transaction is aborted.
            Event::Refused { code: UNKNOWN_IDENTITY, id: Some(id), pid, epoch, .. }
                if epoch < i16::MAX - 2
                    && !seen.near_end.contains(&(id, pid))
                    && seen.users.get(&id).is_none_or(|users| users.len() <= 1) =>
            {
                findings.add(13, || {
                    format!("at {} us producer {pid} epoch {epoch} of transactional id {id} is unknown, and nobody else uses it", entry.at_us)
                });
            }
            Event::Refused { code: 45 | 46 | 59, pid, epoch, batch: Some((app, part)), .. } => {
                let before = seen.unsettled.get(&(pid, epoch, part));
                if before.and_then(BTreeSet::first).is_none_or(|&first| first >= app) {
                    findings.add(13, || {
                        format!("at {} us record {app} of producer {pid} epoch {epoch} to partition {part} was refused for its sequence, and all before it were acknowledged", entry.at_us)
                    });
                }
            }
            _ => {}
        }
    }
}
