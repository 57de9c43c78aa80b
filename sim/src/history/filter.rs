//! What a read_committed application is shown: the filter of the Java client (spec 8.3).

use std::collections::BTreeSet;

use super::{BatchKind, Fetch};

/// A record that reached the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its offset.
    pub offset: i64,
    /// Its application id.
    pub app: u64,
}

/// The records of a fetch that the application sees.
///
/// As the Java client does: the aborted list, sorted by first offset; before each batch the
/// entries at or below its last offset make their producers aborted ones; an abort marker ends
/// that; batches of aborted producers, and all markers, are dropped.
#[must_use]
pub fn deliver(fetch: &Fetch) -> Vec<Delivered> {
    let mut aborted = fetch.aborted.clone();
    aborted.sort_by_key(|&(_, first)| first);
    let mut aborted = aborted.into_iter().peekable();
    let mut dropping = BTreeSet::new();
    let mut delivered = Vec::new();
    for batch in &fetch.batches {
        if fetch.committed {
            while let Some((pid, _)) = aborted.next_if(|&(_, first)| first <= batch.last) {
                dropping.insert(pid);
            }
            if batch.kind == BatchKind::AbortMarker {
                dropping.remove(&batch.pid);
            }
            if batch.kind == BatchKind::Transactional && dropping.contains(&batch.pid) {
                continue;
            }
        }
        if batch.kind.is_marker() {
            continue;
        }
        for (offset, app) in batch.records() {
            if offset >= fetch.from {
                delivered.push(Delivered { offset, app });
            }
        }
    }
    delivered
}
