//! Members that speak the classic protocol in a consumer group: their generation is their epoch,
//! their rebalance a join and a sync by themselves.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::CONSUMER;
use super::decide::{Decided, Plan};
use super::embedded::{Assignment, Subscription};
use super::leave::Leaving;
use super::member::{About, ClassicMember, Holding, Member, MemberState, without_epochs};
use super::timers::Alarm;
use crate::config::MigrationPolicy;
use crate::group::{
    GroupCoordinator, GroupError, GroupId, GroupReply, Heartbeat, JoinGroup, JoinReply, LeaveReply,
    LeavingMember, MemberId, Phase, SyncGroup, Synced,
};
use crate::io::RequestId;
use crate::time::Now;
use crate::types::TopicId;

impl GroupCoordinator {
    /// Whether requests of the classic protocol about this group are for a consumer group. One
    /// without members makes way for a classic one when somebody joins.
    pub(in crate::group) fn is_consumer_group(&self, partition: i32, id: &str) -> bool {
        let Some(Phase::Active(shard)) = self.shards.get(&partition) else { return false };
        shard.group(id).is_some_and(|found| found.consumer.is_some())
    }

    /// A consumer group without members goes.
    pub(in crate::group) fn drop_empty_consumer_group(
        &mut self,
        now: Now,
        partition: i32,
        id: &GroupId,
    ) {
        // It is there or it is not; nobody waits for it.
        let _ = self.decide(now, partition, id, false, None, |plan| {
            if plan.group.members.is_empty() {
                for key in plan.group.keys() {
                    plan.take_away(key);
                }
            }
            Ok(None)
        });
    }

    pub(in crate::group) fn join_consumer_group(
        &mut self,
        now: Now,
        partition: i32,
        to: RequestId,
        join: &JoinGroup,
    ) {
        let group = &join.group;
        let done =
            self.decide(now, partition, group, false, Some(to), |plan| plan.join_classic(join));
        if let Err(error) = done {
            let reply = Box::new(JoinReply::refused(join.member.clone(), error));
            self.reply(to, GroupReply::Join(reply));
        }
    }

    pub(in crate::group) fn sync_consumer_group(
        &mut self,
        now: Now,
        partition: i32,
        to: RequestId,
        sync: &SyncGroup,
    ) {
        let group = &sync.group;
        let done =
            self.decide(now, partition, group, false, Some(to), |plan| plan.sync_classic(sync));
        if let Err(error) = done {
            self.reply(to, GroupReply::Sync(Err(error)));
        }
    }

    pub(in crate::group) fn heartbeat_in_consumer_group(
        &mut self,
        now: Now,
        partition: i32,
        beat: &Heartbeat,
    ) -> Result<(), GroupError> {
        let mut result = Ok(());
        self.decide(now, partition, &beat.group, false, None, |plan| {
            result = plan.heartbeat_classic(beat)?;
            Ok(None)
        })?;
        result
    }

    pub(in crate::group) fn leave_consumer_group(
        &mut self,
        now: Now,
        partition: i32,
        to: RequestId,
        group: &GroupId,
        leaving: Vec<LeavingMember>,
    ) {
        let done =
            self.decide(now, partition, group, false, Some(to), |plan| plan.leave_classic(leaving));
        if let Err(error) = done {
            let reply = LeaveReply { result: Err(error), members: Vec::new() };
            self.reply(to, GroupReply::Leave(Box::new(reply)));
        }
    }
}

impl Plan<'_> {
    fn join_classic(&mut self, join: &JoinGroup) -> Decided {
        if self.consumer.migration == MigrationPolicy::Disabled {
            return Err(GroupError::InconsistentProtocol);
        }
        let is_new = join.member.is_empty();
        let id: MemberId = match is_new {
            true => Arc::from(self.ids.next_id().to_kafka().to_string()),
            false => join.member.clone(),
        };
        self.check_room(&id, join.instance.as_deref())?;
        self.check_protocols(join)?;
        if is_new && join.instance.is_none() && join.knows_member_id_required {
            let reply = JoinReply::refused(id, GroupError::MemberIdRequired);
            return Ok(Some(GroupReply::Join(Box::new(reply))));
        }
        let protocol = join.protocols.first().ok_or(GroupError::InconsistentProtocol)?;
        let subscription = Subscription::decode(&protocol.metadata)
            .map_err(|_| GroupError::InconsistentProtocol)?;
        let existing = join.instance.as_ref().and_then(|one| self.group.static_member(one));
        let downgrades = existing.is_some_and(|existing| self.may_downgrade_with(existing));
        let before = self.joining_member(join, &id, is_new)?;
        let about = joined(before.as_ref().map(|member| &member.about), join, &subscription);
        let before = before.unwrap_or_default();
        let changed = self.subscribe(&id, &before.about, about)?;
        let owned: Vec<(TopicId, Vec<i32>)> = self
            .partitions_by_id(subscription.owned)
            .into_iter()
            .map(|(topic, one)| (topic, one.into_iter().collect()))
            .collect();
        let rebalance = self.group.target_epoch < self.group.epoch;
        if !downgrades {
            self.assign();
        }
        if !(downgrades && rebalance) {
            self.reconcile(&id, changed, Some(&owned))?;
        }
        let epoch = self.group.members.get(&id).map_or(0, |member| member.holding.epoch);
        self.alarm(Alarm::Join, &id, None);
        self.alarm(Alarm::Session, &id, Some(join.session_timeout_ms));
        self.alarm(Alarm::Sync, &id, Some(join.rebalance_timeout_ms));
        if downgrades {
            self.downgrade(&Leaving::new(), rebalance)?;
        }
        let reply = JoinReply {
            result: Ok(()),
            generation: epoch,
            protocol_type: Some(Arc::from(CONSUMER)),
            protocol: Some(protocol.name.clone()),
            leader: Arc::from(""),
            skip_assignment: false,
            member: id,
            members: Vec::new(),
        };
        Ok(Some(GroupReply::Join(Box::new(reply))))
    }

    /// Its protocols are those of consumers, and one of them is known to all members that speak
    /// the classic protocol.
    fn check_protocols(&self, join: &JoinGroup) -> Result<(), GroupError> {
        let classic = || self.group.members.values().filter_map(|one| one.about.classic.as_ref());
        let by_all = |name: &Arc<str>| {
            classic().all(|member| member.protocols.iter().any(|one| one.name == *name))
        };
        let fits = join.protocols.iter().any(|protocol| by_all(&protocol.name));
        let is_of_consumers = *join.protocol_type == *CONSUMER;
        if is_of_consumers && fits { Ok(()) } else { Err(GroupError::InconsistentProtocol) }
    }

    fn joining_member(
        &mut self,
        join: &JoinGroup,
        id: &MemberId,
        is_new: bool,
    ) -> Result<Option<Member>, GroupError> {
        let Some(instance) = &join.instance else {
            return Ok(self.group.members.get(id).map(|member| (**member).clone()));
        };
        if !is_new {
            let id = self.static_member(instance, id)?;
            return Ok(self.group.members.get(&id).map(|member| (**member).clone()));
        }
        match self.group.static_member(instance).cloned() {
            Some(old) => Ok(self.replace(&old, id)),
            None => Ok(None),
        }
    }

    /// A member that speaks the classic protocol.
    fn classic_member(
        &self,
        member: &str,
        instance: Option<&str>,
    ) -> Result<(MemberId, Arc<Member>, ClassicMember), GroupError> {
        let id: MemberId = match instance {
            Some(instance) => self.static_member(instance, member)?,
            None => Arc::from(member),
        };
        let known = self.group.members.get(&id).ok_or(GroupError::UnknownMember)?;
        let classic = known.about.classic.clone().ok_or(GroupError::UnknownMember)?;
        Ok((id, known.clone(), classic))
    }

    fn sync_classic(&mut self, sync: &SyncGroup) -> Decided {
        let (id, member, classic) = self.classic_member(&sync.member, sync.instance.as_deref())?;
        if sync.generation != member.holding.epoch {
            return Err(GroupError::IllegalGeneration);
        }
        let protocol = classic.protocols.first().ok_or(GroupError::InconsistentProtocol)?;
        let is_other_type = sync.protocol_type.as_deref().is_some_and(|one| one != CONSUMER);
        if is_other_type || sync.protocol.as_ref().is_some_and(|one| *one != protocol.name) {
            return Err(GroupError::InconsistentProtocol);
        }
        if self.group.target_epoch > member.holding.epoch
            && member.holding.state != MemberState::Unrevoked
        {
            self.expect_join(&id, &member);
            return Ok(Some(GroupReply::Sync(Err(GroupError::RebalanceInProgress))));
        }
        self.alarm(Alarm::Sync, &id, None);
        self.alarm(Alarm::Session, &id, Some(classic.session_timeout_ms));
        let named = self.topics.named(&without_epochs(&member.holding.assigned));
        let synced = Synced {
            protocol_type: sync.protocol_type.clone(),
            protocol: sync.protocol.clone(),
            assignment: Assignment::encode(&named, &protocol.metadata),
        };
        Ok(Some(GroupReply::Sync(Ok(synced))))
    }

    /// A member that is to join again has its rebalance timeout for it, from the first time on
    /// that it is told.
    fn expect_join(&mut self, id: &MemberId, member: &Member) {
        self.alarm_if_off(Alarm::Join, id, member.about.rebalance_timeout_ms);
    }

    fn heartbeat_classic(
        &mut self,
        beat: &Heartbeat,
    ) -> Result<Result<(), GroupError>, GroupError> {
        let (id, member, classic) = self.classic_member(&beat.member, beat.instance.as_deref())?;
        let holding = &member.holding;
        if beat.generation != holding.epoch {
            return Err(GroupError::IllegalGeneration);
        }
        self.alarm(Alarm::Session, &id, Some(classic.session_timeout_ms));
        // Kafka asks for the group's epoch: nobody else may come to have the target computed. One
        // that cannot be computed yet is no reason to join.
        let is_behind = holding.epoch < self.group.epoch
            && (holding.epoch < self.group.target_epoch || self.may_assign_now());
        let is_to_join = is_behind
            || holding.state == MemberState::Unrevoked
            || (holding.state == MemberState::Unreleased && !self.waits_for_others(&id, holding));
        if is_to_join {
            crate::mark!(ConsumerClassicMemberToJoin);
            self.expect_join(&id, &member);
            return Ok(Err(GroupError::RebalanceInProgress));
        }
        Ok(Ok(()))
    }

    fn waits_for_others(&self, id: &MemberId, holding: &Holding) -> bool {
        let target = self.group.target(id);
        target.iter().any(|(topic, partitions)| {
            let assigned = holding.assigned.get(topic);
            let has = |at: &i32| assigned.is_some_and(|one| one.contains_key(at));
            partitions.iter().any(|at| !has(at) && self.group.owner(*topic, *at).is_some())
        })
    }

    fn leave_classic(&mut self, leaving: Vec<LeavingMember>) -> Decided {
        let mut members = Vec::with_capacity(leaving.len());
        let mut gone = Leaving::new();
        for one in leaving {
            let found = match &one.instance {
                None if self.group.members.contains_key(&one.id) => Ok(one.id.clone()),
                None => Err(GroupError::UnknownMember),
                Some(instance) if one.id.is_empty() => {
                    self.group.static_member(instance).cloned().ok_or(GroupError::UnknownMember)
                }
                Some(instance) => self.static_member(instance, &one.id),
            };
            members.push((one, found.as_ref().map(|_| ()).map_err(|error| *error)));
            gone.extend(found);
        }
        self.fence(&gone)?;
        Ok(Some(GroupReply::Leave(Box::new(LeaveReply { result: Ok(()), members }))))
    }
}

/// What a member says of itself with a Join.
fn joined(before: Option<&About>, join: &JoinGroup, subscription: &Subscription) -> About {
    let mut about = before.cloned().unwrap_or_default();
    about.instance = join.instance.clone().or(about.instance);
    about.rack = subscription.rack.clone().or(about.rack);
    about.rebalance_timeout_ms = match join.rebalance_timeout_ms {
        -1 => about.rebalance_timeout_ms,
        said => said,
    };
    about.topics = subscription.topics.iter().cloned().collect();
    about.regex = Some(Arc::from(""));
    about.client_id.clone_from(&join.client_id);
    about.client_host.clone_from(&join.client_host);
    // What is kept must not keep the whole frame.
    let copied = |bytes: &Bytes| Bytes::copy_from_slice(bytes);
    let protocols = join.protocols.iter().map(|one| crate::group::Protocol {
        name: one.name.clone(),
        metadata: copied(&one.metadata),
    });
    about.classic = Some(ClassicMember {
        session_timeout_ms: join.session_timeout_ms,
        protocols: protocols.collect(),
    });
    about
}
