//! From decided to persisted, or back.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::decide::Downgrade;
use super::record::{ConsumerKey, ConsumerRecord};
use super::state::Consumer;
use super::timers::{Alarm, Setting};
use crate::group::classic::Classic;
use crate::group::offsets::Group;
use crate::group::records::GroupKey;
use crate::group::{
    AppendId, Entry, GroupCoordinator, GroupError, GroupId, GroupReply, InFlight, MemberId, Phase,
    Purpose, Value, group_in,
};
use crate::io::RequestId;
use crate::time::Now;

/// What a group goes back to when a decision cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) struct Unpersisted {
    /// How many decisions are being written.
    in_flight: usize,
    /// The last of them.
    last: AppendId,
    consumer: Option<Arc<Consumer>>,
    /// The classic group, when a decision has changed what the group is.
    classic: Option<Box<Classic>>,
}

/// What [`super::decide`] came to.
pub(super) struct Decision {
    pub(super) group: Arc<Consumer>,
    pub(super) seen_topics: u64,
    pub(super) becomes: Option<Downgrade>,
    pub(super) entries: Vec<Entry>,
}

/// Applies a record to a consumer group that may not be there.
pub(in crate::group) fn apply(
    group: &mut Option<Arc<Consumer>>,
    key: &ConsumerKey,
    value: Option<&ConsumerRecord>,
) {
    match (key, value) {
        (ConsumerKey::Group, None) => *group = None,
        (_, None) => {
            if let Some(group) = group {
                Arc::make_mut(group).replay(key, None);
            }
        }
        (_, Some(_)) => Arc::make_mut(group.get_or_insert_default()).replay(key, value),
    }
}

impl Group {
    /// Whether nothing of it is persisted yet.
    pub(in crate::group) fn is_unborn(&self) -> bool {
        let was = self.unpersisted.as_ref();
        let was_nothing = was.is_some_and(|was| was.consumer.is_none() && was.classic.is_none());
        was_nothing && self.committed.is_empty() && self.open.is_empty()
    }

    /// The consumer group as far as it is persisted.
    pub(in crate::group) fn persisted_consumer(&self) -> Option<&Arc<Consumer>> {
        match &self.unpersisted {
            Some(unpersisted) => unpersisted.consumer.as_ref(),
            None => self.consumer.as_ref(),
        }
    }
}

impl GroupCoordinator {
    /// Takes a decision into memory and has it written.
    pub(super) fn commit_decision(
        &mut self,
        now: Now,
        partition: i32,
        id: &GroupId,
        decision: Decision,
        answer: Option<(RequestId, GroupReply)>,
    ) {
        let Some(Phase::Active(shard)) = self.shards.get_mut(&partition) else { return };
        shard.create(id, now.wall_ms);
        let Some(found) = shard.group_mut(id) else { return };
        let Decision { group, seen_topics, becomes, entries } = decision;
        let before = found.consumer.take();
        let before_classic = becomes.as_ref().map(|_| Box::new(found.classic.clone()));
        let dissolved = entries.iter().any(|entry| {
            matches!(&entry.key, GroupKey::Consumer { what: ConsumerKey::Group, .. })
                && entry.value.is_none()
        });
        found.consumer = Some(group).filter(|_| !dissolved);
        found.seen_topics = seen_topics;
        if let Some(downgrade) = &becomes {
            found.classic = downgrade.classic.clone();
        }
        if entries.is_empty() {
            return self.answer_after(partition, id, answer);
        }
        let last = AppendId(self.next_append);
        let base = found.unpersisted.get_or_insert_with(|| {
            Box::new(Unpersisted { in_flight: 0, last, consumer: before, classic: None })
        });
        base.in_flight += 1;
        base.last = last;
        if base.classic.is_none() {
            base.classic = before_classic;
        }
        let waiting = answer.into_iter().collect();
        let purpose = Purpose::Consumer { group: id.clone(), waiting };
        self.append(now, InFlight { partition, txn: None, entries, purpose });
        if let Some(downgrade) = becomes {
            self.downgraded(now, partition, id, &downgrade);
        }
    }

    /// Remembers what a classic group was, should becoming a consumer group fail.
    pub(super) fn retire_classic(&mut self, now: Now, partition: i32, id: &GroupId) {
        let Some(found) = group_in(&mut self.shards, partition, id) else { return };
        if found.classic == Classic::default() {
            return;
        }
        self.in_group(now, partition, id, Classic::retire);
        let Some(found) = group_in(&mut self.shards, partition, id) else { return };
        let classic = core::mem::take(&mut found.classic);
        let last = AppendId(self.next_append);
        let base = found.unpersisted.get_or_insert_with(|| {
            Box::new(Unpersisted { in_flight: 0, last, consumer: None, classic: None })
        });
        base.classic.get_or_insert_with(|| Box::new(classic));
    }

    /// Answers when everything that is being written for the group is written.
    fn answer_after(
        &mut self,
        partition: i32,
        id: &GroupId,
        answer: Option<(RequestId, GroupReply)>,
    ) {
        let Some((to, reply)) = answer else { return };
        let Some(Phase::Active(shard)) = self.shards.get(&partition) else { return };
        let last = shard.group(id).and_then(|found| found.unpersisted.as_ref()).map(|one| one.last);
        let in_flight = last.and_then(|last| self.in_flight.get_mut(&last));
        match in_flight.map(|in_flight| &mut in_flight.purpose) {
            Some(Purpose::Consumer { waiting, .. }) => {
                crate::mark!(ConsumerAnswerWaitsForOthers);
                waiting.push((to, reply));
            }
            _ => self.reply(to, reply),
        }
    }

    /// A decision is persisted, or could not be written.
    pub(in crate::group) fn decision_written(
        &mut self,
        now: Now,
        partition: i32,
        id: &GroupId,
        (append, entries): (AppendId, &[Entry]),
        outcome: Result<(), GroupError>,
    ) {
        let Some(Phase::Active(shard)) = self.shards.get_mut(&partition) else { return };
        let Some(found) = shard.group_mut(id) else { return };
        let Some(base) = &mut found.unpersisted else { return };
        base.in_flight = base.in_flight.saturating_sub(1);
        if outcome.is_err() {
            crate::mark!(ConsumerDecisionTakenBack);
            return self.take_back(now, partition, id, append);
        }
        if base.in_flight == 0 {
            found.unpersisted = None;
        } else {
            base.persisted(entries);
        }
        shard.drop_unused(id);
    }

    /// What could not be written has not happened. What was built on it fails as well; what it was
    /// built on may still be persisted.
    fn take_back(&mut self, now: Now, partition: i32, id: &GroupId, failed: AppendId) {
        let Some(found) = group_in(&mut self.shards, partition, id) else { return };
        let Some(mut base) = found.unpersisted.take() else { return };
        let Unpersisted { consumer, classic: restored, .. } = {
            let mut before = (*base).clone();
            for (append, in_flight) in &self.in_flight {
                if in_flight.decides(partition, id) {
                    base.last = *append;
                    if *append < failed {
                        before.persisted(&in_flight.entries);
                    }
                }
            }
            before
        };
        found.consumer = consumer;
        found.seen_topics = 0;
        if base.in_flight > 0 {
            found.unpersisted = Some(base);
        }
        if let Some(classic) = restored {
            // Whoever waits in the group that it was not to be is told.
            self.in_group(now, partition, id, Classic::retire);
            let Some(found) = group_in(&mut self.shards, partition, id) else { return };
            found.classic = *classic;
            self.in_group(now, partition, id, Classic::taken_back);
        }
        self.restart_sessions(now, partition, id);
        if let Some(Phase::Active(shard)) = self.shards.get_mut(&partition) {
            shard.drop_unused(id);
        }
    }

    /// The sessions of members that have none begin.
    pub(in crate::group) fn restart_sessions(&mut self, now: Now, partition: i32, id: &GroupId) {
        let Some(Phase::Active(shard)) = self.shards.get(&partition) else { return };
        let Some(found) = shard.group(id) else { return };
        let Some(consumer) = &found.consumer else { return };
        let session_ms = self.consumer_config(id).session_timeout_ms;
        let mut wanted: Vec<(Alarm, MemberId, i32)> = vec![];
        for (member, known) in &consumer.members {
            wanted.push((Alarm::Session, member.clone(), session_ms));
            if known.holding.state == super::member::MemberState::Unrevoked {
                let ms = known.about.rebalance_timeout_ms;
                wanted.push((Alarm::Rebalance, member.clone(), ms));
            }
        }
        let has =
            |alarm: Alarm, member: &MemberId| found.alarms.contains_key(&(alarm, member.clone()));
        wanted.retain(|(alarm, member, _)| !has(*alarm, member));
        for (alarm, member, ms) in wanted {
            self.set_alarm(now, partition, id, alarm, &member, Setting::In(ms));
        }
    }
}

impl Unpersisted {
    fn persisted(&mut self, entries: &[Entry]) {
        for entry in entries {
            match (&entry.key, &entry.value) {
                (GroupKey::Consumer { what, .. }, value) => {
                    let value = match value {
                        Some(Value::Consumer(value)) => Some(&**value),
                        _ => None,
                    };
                    apply(&mut self.consumer, what, value);
                }
                (GroupKey::Classic(_), None) => {
                    if let Some(classic) = &mut self.classic {
                        **classic = Classic::default();
                    }
                }
                // From here on the classic group stands for itself.
                (GroupKey::Classic(_), Some(_)) => self.classic = None,
                _ => {}
            }
        }
    }
}
