//! Offsets that nobody committed for `offsets.retention.minutes` go (spec 9.4, 14.1).
//!
//! In a group that never had members each offset ages from its own commit, in one that has lost
//! them from then on. While consumers are Stable, those of topics they no longer subscribe to age
//! from their commit; other groups with members keep everything. An expire timestamp of the commit
//! wins. Offsets of which a transaction is open stay, and so does everything of a group that
//! something is being written for.

use alloc::vec::Vec;

use super::offsets::{Group, Stored};
use super::records::{GroupKey, OffsetValue};
use super::{Entry, GroupCoordinator, GroupId, GroupState, InFlight, Phase, Purpose};
use crate::time::Now;
use crate::types::TopicPartition;

impl GroupCoordinator {
    /// Writes tombstones for the offsets that have expired, and for groups that hold none any
    /// more. To be called every `offsets.retention.check.interval.ms`.
    pub fn expire_offsets(&mut self, now: Now) {
        let mut sweeps = Vec::new();
        let mut dissolved = Vec::new();
        for (partition, phase) in &self.shards {
            let Phase::Active(shard) = phase else { continue };
            let idle = shard.groups().filter(|(group, _)| !self.is_being_written(group));
            let mut entries: Vec<Entry> = Vec::new();
            for (group, found) in idle {
                let expired = self.expired_of(now, group, found);
                if found.consumer.is_some() && found.is_left_by_all(expired.len()) {
                    dissolved.push((*partition, group.clone()));
                }
                entries.extend(expired);
            }
            if !entries.is_empty() {
                sweeps.push((*partition, entries));
            }
        }
        for (partition, entries) in sweeps {
            crate::mark!(GroupOffsetsExpired);
            self.append(now, InFlight { partition, txn: None, entries, purpose: Purpose::Cleanup });
        }
        for (partition, group) in dissolved {
            self.drop_empty_consumer_group(now, partition, &group);
        }
    }

    pub(super) fn is_being_written(&self, group: &str) -> bool {
        let mut entries = self.in_flight.values().flat_map(|in_flight| &in_flight.entries);
        entries.any(|entry| entry.is_of(group))
    }

    fn expired_of(&self, now: Now, group: &GroupId, found: &Group) -> Vec<Entry> {
        let old = |tp: &TopicPartition, stored: &Stored| {
            !found.open.contains_key(tp) && self.is_old(now, found, tp, &stored.value)
        };
        let expired = found.committed.iter().filter(|(tp, stored)| old(tp, stored));
        let expired =
            expired.map(|(tp, _)| GroupKey::Offset { group: group.clone(), tp: tp.clone() });
        let mut keys: Vec<GroupKey> = expired.collect();
        let is_idle = found.open.is_empty() && found.classic.is_idle() && found.consumer.is_none();
        if is_idle && keys.len() == found.committed.len() {
            keys.push(GroupKey::Classic(group.clone()));
        }
        keys.into_iter().map(|key| Entry { key, value: None }).collect()
    }

    fn is_old(&self, now: Now, found: &Group, tp: &TopicPartition, value: &OffsetValue) -> bool {
        let committed_ms = value.commit_timestamp_ms;
        let classic = &found.classic;
        let since_ms = match (&classic.protocol_type, classic.state) {
            (None, _) if found.consumer.is_some() => {
                if found.consumer.as_ref().is_some_and(|one| one.is_subscribed(&tp.topic)) {
                    return false;
                }
                committed_ms
            }
            (None, _) => committed_ms,
            (Some(_), GroupState::Empty) => classic.state_since_ms.unwrap_or(committed_ms),
            (Some(_), GroupState::Stable) if classic.subscribed.is_some() => {
                if classic.is_subscribed(&tp.topic) {
                    return false;
                }
                committed_ms
            }
            (Some(_), _) => return false,
        };
        let by_age_ms = since_ms.saturating_add(self.config.offsets_retention_ms);
        now.wall_ms >= value.expire_timestamp_ms.unwrap_or(by_age_ms)
    }
}

impl Group {
    /// Whether nobody and nothing is in it once so many offsets are gone.
    fn is_left_by_all(&self, expired: usize) -> bool {
        let has_members = self.consumer.as_ref().is_some_and(|one| !one.members.is_empty());
        !has_members && self.open.is_empty() && self.committed.len() == expired
    }
}
