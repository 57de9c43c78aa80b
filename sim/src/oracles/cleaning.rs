//! What log cleaning may take from a compacted topic, and nothing else: records of transactions
//! that were not committed, records with a newer committed one of their key, and tombstones whose
//! time is over, together with what they superseded.

use std::collections::BTreeMap;

use super::Facts;
use crate::history::{Batch, Outcome, Part, is_tombstone, key_of};

/// Of every key of a partition the offset of the newest record that is there.
#[derive(Clone, Debug, Default)]
pub(super) struct Newest(BTreeMap<(Part, u64), i64>);

impl Newest {
    /// Takes note of a record that is there.
    pub(super) fn add(&mut self, part: Part, offset: i64, app: u64) {
        let newest = self.0.entry((part, key_of(app))).or_insert(offset);
        *newest = (*newest).max(offset);
    }

    /// What there is of one partition.
    pub(super) fn of(part: Part, batches: &[Batch]) -> Self {
        let mut newest = Self::default();
        for (offset, app) in batches.iter().flat_map(Batch::records) {
            newest.add(part, offset, app);
        }
        newest
    }
}

/// Whether one may be what cleaning left of the other, or was before a crash undid the cleaning.
pub(super) fn agree(one: &Batch, other: &Batch) -> bool {
    let same = one.identity() == other.identity();
    let emptied = one.is_emptied_marker() || other.is_emptied_marker();
    let moved = || {
        let records: BTreeMap<i64, u64> = one.records().collect();
        other.records().any(|(at, app)| records.get(&at).is_some_and(|known| *known != app))
    };
    one.base == other.base && one.last == other.last && (same || emptied) && !moved()
}

impl Facts<'_> {
    /// Whether a record may be gone that was at `at`, when these are the newest of their keys.
    pub(super) fn may_be_cleaned(&self, app: u64, at: Option<i64>, newest: &Newest) -> bool {
        let (Some(known), true) = (self.apps.get(&app), self.compacted) else { return false };
        let txn = known.txn.map(|txn| self.txns.get(&txn).and_then(|txn| txn.ended));
        if txn.is_some_and(|ended| ended != Some((true, Outcome::Ok))) {
            return true;
        }
        let at = at.or(known.offset).unwrap_or(-1);
        let key = (known.part, key_of(app));
        if newest.0.get(&key).is_some_and(|&newer| newer > at) {
            return true;
        }
        let above = |other: &u64| {
            let other = self.apps.get(other);
            other.is_some_and(|it| {
                it.outcome != Outcome::Failed && it.offset.is_none_or(|offset| offset > at)
            })
        };
        self.tombstones_expire
            && (is_tombstone(app)
                || self.tombstones.get(&key).is_some_and(|those| those.iter().any(above)))
    }
}
