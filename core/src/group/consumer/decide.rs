//! A decision: records, replayed as they are thought of, and what follows from them.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::record::{ConsumerKey, ConsumerRecord};
use super::state::Consumer;
use super::timers::{Alarm, Setting};
use super::topics::Topics;
use crate::group::classic::Classic;
use crate::group::records::GroupKey;
use crate::group::{
    ConsumerConfig, Entry, GroupConfig, GroupCoordinator, GroupError, GroupId, GroupReply,
    MemberId, Phase, Value,
};
use crate::io::RequestId;
use crate::meta::IdSource;
use crate::time::Now;

/// A decision in the making.
pub(super) struct Plan<'a> {
    pub(super) now: Now,
    pub(super) id: &'a GroupId,
    pub(super) topics: &'a Topics,
    pub(super) config: &'a GroupConfig,
    /// What holds for this group.
    pub(super) consumer: ConsumerConfig,
    pub(super) ids: &'a mut IdSource,
    /// The group with what was decided so far.
    pub(super) group: Arc<Consumer>,
    /// Version of the topics when the group last looked at them.
    pub(super) seen_topics: u64,
    /// The patterns of the group are to be matched again.
    pub(super) match_topics: bool,
    /// What the group is from now on, when it is no consumer group any more.
    pub(super) becomes: Option<Downgrade>,
    /// Timers to set, in ms from now, or to take away.
    pub(super) alarms: Vec<(Alarm, MemberId, Setting)>,
    pub(super) entries: Vec<Entry>,
}

/// A classic group that was a consumer group.
pub(super) struct Downgrade {
    pub(super) classic: Classic,
    /// Its members are to join again.
    pub(super) rebalance: bool,
}

impl Plan<'_> {
    pub(super) fn put(&mut self, key: ConsumerKey, value: ConsumerRecord) {
        Arc::make_mut(&mut self.group).replay(&key, Some(&value));
        self.push(key, Some(value));
    }

    pub(super) fn take_away(&mut self, key: ConsumerKey) {
        Arc::make_mut(&mut self.group).replay(&key, None);
        self.push(key, None);
    }

    fn push(&mut self, what: ConsumerKey, value: Option<ConsumerRecord>) {
        let key = GroupKey::Consumer { group: self.id.clone(), what };
        let value = value.map(|value| Value::Consumer(Box::new(value)));
        self.entries.push(Entry { key, value });
    }

    pub(super) fn alarm(&mut self, alarm: Alarm, member: &MemberId, ms: Option<i32>) {
        self.alarms.push((alarm, member.clone(), ms.map_or(Setting::Off, Setting::In)));
    }

    /// Sets a timer unless it is set already.
    pub(super) fn alarm_if_off(&mut self, alarm: Alarm, member: &MemberId, ms: i32) {
        self.alarms.push((alarm, member.clone(), Setting::InUnlessSet(ms)));
    }

    /// Epoch and hash of the subscribed topics.
    pub(super) fn put_epoch(&mut self, bump: bool) {
        let hash = self.topics.hash(&self.group.subscribed());
        self.seen_topics = self.topics.version;
        if bump || hash != self.group.topics_hash {
            let epoch = self.group.epoch.saturating_add(1);
            self.put(ConsumerKey::Group, ConsumerRecord::Group { epoch, topics_hash: hash });
        }
        if self.group.has_topics_record {
            crate::mark!(ConsumerTopicsRecordDropped);
            self.take_away(ConsumerKey::Topics);
        }
    }
}

/// What a decision is answered with; `None` when nobody asked.
pub(super) type Decided = Result<Option<GroupReply>, GroupError>;

impl GroupCoordinator {
    /// Decides something about a consumer group. With `create`, one that is not there comes to be,
    /// and a classic one becomes a consumer group if it may. The answer comes when what was
    /// decided, and what it builds on, is persisted.
    pub(super) fn decide(
        &mut self,
        now: Now,
        partition: i32,
        id: &GroupId,
        create: bool,
        to: Option<RequestId>,
        work: impl FnOnce(&mut Plan<'_>) -> Decided,
    ) -> Result<(), GroupError> {
        let Some(Phase::Active(shard)) = self.shards.get(&partition) else {
            return Err(GroupError::NotCoordinator);
        };
        let found = shard.group(id);
        let known = found.and_then(|found| found.consumer.clone());
        let upgrades = known.is_none();
        if upgrades && !create {
            return Err(GroupError::GroupIdNotFound);
        }
        let mut plan = Plan {
            now,
            id,
            topics: &self.topics,
            config: &self.config,
            consumer: self.consumer_config(id),
            ids: &mut self.ids,
            seen_topics: found.map_or(0, |found| found.seen_topics),
            group: known.unwrap_or_default(),
            match_topics: false,
            becomes: None,
            alarms: Vec::new(),
            entries: Vec::new(),
        };
        if let Some(found) = found.filter(|_| upgrades) {
            plan.upgrade(&found.classic)?;
        }
        let reply = work(&mut plan)?;
        let Plan { group, seen_topics, match_topics, becomes, alarms, entries, .. } = plan;
        if upgrades {
            self.retire_classic(now, partition, id);
        }
        let decision = super::persist::Decision { group, seen_topics, becomes, entries };
        let answer = to.zip(reply);
        self.commit_decision(now, partition, id, decision, answer);
        for (alarm, member, setting) in alarms {
            self.set_alarm(now, partition, id, alarm, &member, setting);
        }
        if match_topics {
            self.match_topics(now, partition, id);
        }
        Ok(())
    }
}
