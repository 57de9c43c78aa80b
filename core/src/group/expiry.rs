//! Offsets that nobody committed for `offsets.retention.minutes` go (spec 9.4, 14.1).
//!
//! In a group without members each offset ages from its own commit; an expire timestamp of the
//! commit wins. Offsets of which a transaction is open stay, and so does everything of a group
//! that something is being written for.

use alloc::vec::Vec;

use super::offsets::Group;
use super::records::{GroupKey, OffsetValue};
use super::{Entry, GroupCoordinator, GroupId, InFlight, Phase, Purpose};
use crate::time::Now;

impl GroupCoordinator {
    /// Writes tombstones for the offsets that have expired, and for groups that hold none any
    /// more. To be called every `offsets.retention.check.interval.ms`.
    pub fn expire_offsets(&mut self, now: Now) {
        let mut sweeps = Vec::new();
        for (partition, phase) in &self.shards {
            let Phase::Active(shard) = phase else { continue };
            let idle = shard.groups().filter(|(group, _)| !self.is_being_written(group));
            let entries: Vec<Entry> =
                idle.flat_map(|(group, found)| self.expired_of(now, group, found)).collect();
            if !entries.is_empty() {
                sweeps.push((*partition, entries));
            }
        }
        for (partition, entries) in sweeps {
            crate::mark!(GroupOffsetsExpired);
            self.append(InFlight { partition, txn: None, entries, purpose: Purpose::Cleanup });
        }
    }

    pub(super) fn is_being_written(&self, group: &str) -> bool {
        let mut entries = self.in_flight.values().flat_map(|in_flight| &in_flight.entries);
        entries.any(|entry| entry.is_of(group))
    }

    fn expired_of(&self, now: Now, group: &GroupId, found: &Group) -> Vec<Entry> {
        let expired = found
            .committed
            .iter()
            .filter(|(tp, stored)| !found.open.contains_key(*tp) && self.is_old(now, &stored.value))
            .map(|(tp, _)| GroupKey::Offset { group: group.clone(), tp: tp.clone() });
        let mut keys: Vec<GroupKey> = expired.collect();
        if keys.len() == found.committed.len() && found.open.is_empty() {
            keys.push(GroupKey::Classic(group.clone()));
        }
        keys.into_iter().map(|key| Entry { key, value: None }).collect()
    }

    fn is_old(&self, now: Now, value: &OffsetValue) -> bool {
        let by_age = || value.commit_timestamp_ms.saturating_add(self.config.offsets_retention_ms);
        now.wall_ms >= value.expire_timestamp_ms.unwrap_or_else(by_age)
    }
}
