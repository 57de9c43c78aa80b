//! ConsumerGroupHeartbeat: the one request by which members join, say what they have, are given
//! partitions, and leave (`consumerGroupHeartbeat`).

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::sync::Arc;

use super::decide::{Decided, Plan};
use super::member::{About, Holding, LEFT_TO_RETURN, Member, without_epochs};
use super::record::{ConsumerKey, ConsumerRecord};
use super::regex::RegexChange;
use super::request::{ConsumerBeat, ConsumerHeartbeat};
use super::timers::Alarm;
use crate::group::{GroupCoordinator, GroupError, GroupReply, MemberId};
use crate::io::RequestId;
use crate::time::Now;

impl GroupCoordinator {
    /// A member's heartbeat. The answer comes as [`GroupReply::ConsumerHeartbeat`] when what it
    /// says is persisted.
    pub fn consumer_heartbeat(&mut self, now: Now, to: RequestId, beat: &ConsumerHeartbeat) {
        let done = beat.check().and_then(|()| {
            let partition = self.members_partition(&beat.group)?;
            let create = beat.joins();
            self.decide(now, partition, &beat.group, create, Some(to), |plan| {
                if beat.epoch < 0 { plan.leave(beat) } else { plan.heartbeat(beat) }
            })
        });
        if let Err(error) = done {
            self.reply(to, GroupReply::ConsumerHeartbeat(Box::new(Err(error))));
        }
    }
}

impl Plan<'_> {
    fn heartbeat(&mut self, beat: &ConsumerHeartbeat) -> Decided {
        self.check_room(&beat.member, beat.instance.as_deref())?;
        let id = match &*beat.member {
            "" => Arc::from(self.ids.next_id().to_kafka().to_string()),
            _ => beat.member.clone(),
        };
        let before = match &beat.instance {
            None => self.dynamic_member(&id, beat)?,
            Some(instance) => self.static_member_of(instance, &id, beat)?,
        };
        let about = told(before.as_ref().map(|member| &member.about), beat);
        let before = before.unwrap_or_default();
        let subscription_changed = self.subscribe(&id, &before.about, about)?;
        self.assign();
        self.reconcile(&id, subscription_changed, beat.owned.as_deref())?;
        let session_ms = self.consumer.session_timeout_ms;
        self.alarm(Alarm::Session, &id, Some(session_ms));
        let now = self.group.members.get(&id).map(|member| member.holding.clone());
        let now = now.unwrap_or_default();
        let is_news = beat.joins() || beat.is_full() || now.assigned != before.holding.assigned;
        let reply = ConsumerBeat {
            member: id,
            epoch: now.epoch,
            interval_ms: self.consumer.heartbeat_interval_ms,
            assignment: is_news.then(|| without_epochs(&now.assigned)),
        };
        Ok(Some(GroupReply::ConsumerHeartbeat(Box::new(Ok(reply)))))
    }

    pub(super) fn check_room(&self, id: &str, instance: Option<&str>) -> Result<(), GroupError> {
        let comes_back = instance.is_some_and(|one| self.group.static_member(one).is_some());
        let is_known = comes_back || self.group.members.contains_key(id);
        if !is_known && self.group.members.len() >= self.consumer.members_max {
            crate::mark!(ConsumerGroupFull);
            return Err(GroupError::MaxSizeReached);
        }
        Ok(())
    }

    fn dynamic_member(
        &self,
        id: &MemberId,
        beat: &ConsumerHeartbeat,
    ) -> Result<Option<Member>, GroupError> {
        match self.group.members.get(id) {
            Some(member) => {
                check_epoch(&member.holding, beat)?;
                Ok(Some((**member).clone()))
            }
            None if beat.joins() => Ok(None),
            None => Err(GroupError::UnknownMember),
        }
    }

    fn static_member_of(
        &mut self,
        instance: &Arc<str>,
        id: &MemberId,
        beat: &ConsumerHeartbeat,
    ) -> Result<Option<Member>, GroupError> {
        if !beat.joins() {
            let id = self.static_member(instance, id)?;
            return self.dynamic_member(&id, beat);
        }
        let Some(old) = self.group.static_member(instance).cloned() else {
            return Ok(self.group.members.get(id).map(|member| (**member).clone()));
        };
        let known = self.group.members.get(&old);
        let has_left =
            known.is_some_and(|one| one.is_classic() || one.holding.epoch == LEFT_TO_RETURN);
        if !has_left {
            return Err(GroupError::UnreleasedInstance);
        }
        crate::mark!(ConsumerStaticReturned);
        Ok(self.replace(&old, id))
    }

    /// A static member comes back under another id, with what it had.
    pub(super) fn replace(&mut self, old: &MemberId, new: &MemberId) -> Option<Member> {
        let mut member = self.group.members.get(old).map(|member| (**member).clone())?;
        member.holding.epoch = 0;
        member.holding.previous_epoch = 0;
        let target = Arc::new(self.group.target(old));
        self.remove_member(old);
        self.silence(old);
        let about = ConsumerRecord::Member(Arc::new(member.about.clone()));
        self.put(ConsumerKey::Member(new.clone()), about);
        self.put(ConsumerKey::Target(new.clone()), ConsumerRecord::Target(target));
        let holding = ConsumerRecord::Current(Arc::new(member.holding.clone()));
        self.put(ConsumerKey::Current(new.clone()), holding);
        Some(member)
    }

    /// Takes what a member says of itself, and grows the group's epoch when that asks for a new
    /// assignment. Whether the member's own subscription has changed.
    pub(super) fn subscribe(
        &mut self,
        id: &MemberId,
        before: &About,
        about: About,
    ) -> Result<bool, GroupError> {
        let assignor: Arc<str> = Arc::from(self.group.assignor());
        let topics_changed = about.topics != before.topics;
        let (old, new) = (before.regex().cloned(), about.regex().cloned());
        let is_classic = about.classic.is_some();
        let is_known = self.group.members.contains_key(id);
        if !is_known || about != *before {
            self.put(ConsumerKey::Member(id.clone()), ConsumerRecord::Member(Arc::new(about)));
        }
        let regex = self.regex_changed(old.as_ref(), new.as_ref())?;
        let regex_asks = match is_classic {
            true => regex != RegexChange::None,
            false => regex == RegexChange::Resolved,
        };
        let bump = topics_changed || regex_asks || *self.group.assignor() != *assignor;
        if bump || self.seen_topics < self.topics.version {
            self.put_epoch(bump);
        }
        Ok(topics_changed || regex != RegexChange::None)
    }
}

/// What the member says of itself after this heartbeat.
fn told(before: Option<&About>, beat: &ConsumerHeartbeat) -> About {
    let mut about = before.cloned().unwrap_or_default();
    let text = |old: &mut Option<Arc<str>>, new: &Option<Arc<str>>| {
        if new.is_some() {
            old.clone_from(new);
        }
    };
    text(&mut about.instance, &beat.instance);
    text(&mut about.rack, &beat.rack);
    text(&mut about.assignor, &beat.assignor);
    text(&mut about.regex, &beat.regex);
    if let Some(topics) = &beat.topics {
        about.topics = topics.iter().cloned().collect::<BTreeSet<_>>();
    }
    if beat.rebalance_timeout_ms != -1 {
        about.rebalance_timeout_ms = beat.rebalance_timeout_ms;
    }
    about.client_id.clone_from(&beat.client_id);
    about.client_host.clone_from(&beat.client_host);
    about.classic = None;
    about
}

/// A member is in its epoch, or in the one before when the answer with the new one was lost: then
/// it has nothing that it was not given.
fn check_epoch(holding: &Holding, beat: &ConsumerHeartbeat) -> Result<(), GroupError> {
    if beat.joins() || beat.epoch == holding.epoch {
        return Ok(());
    }
    let is_behind = beat.epoch < holding.epoch
        && beat.epoch == holding.previous_epoch
        && holding.covers(beat.owned.as_deref());
    if is_behind {
        crate::mark!(ConsumerEpochAnswerLost);
        return Ok(());
    }
    Err(GroupError::FencedMemberEpoch)
}
