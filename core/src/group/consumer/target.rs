//! The target assignment of a group, and a member's step towards it.

use alloc::sync::Arc;

use super::assign;
use super::decide::Plan;
use super::member::{Holding, Member, MemberState, Partitions};
use super::reconcile::{Owned, Step};
use super::record::{ConsumerKey, ConsumerRecord};
use super::timers::Alarm;
use crate::group::{GroupError, MemberId};

impl Plan<'_> {
    /// Computes the target assignment when the group's epoch is ahead of it, though not more often
    /// than `group.consumer.assignment.interval.ms` says.
    pub(super) fn assign(&mut self) {
        if self.group.target_epoch >= self.group.epoch || !self.may_assign_now() {
            return;
        }
        let mut group = assign::Group::default();
        for (id, member) in &self.group.members {
            let topics = self.group.topic_ids_of(member, self.topics);
            for topic in &topics {
                group.partitions.entry(*topic).or_insert_with(|| self.topics.partitions(*topic));
            }
            let instance = member.about.instance.clone();
            let target = self.group.target(id);
            group.members.insert(id.clone(), assign::Subscriber { instance, topics, target });
        }
        for (id, target) in assign::assign(self.group.assignor(), &group) {
            let is_same = self.group.targets.get(&id).is_some_and(|former| **former == target);
            if !is_same {
                self.put(ConsumerKey::Target(id), ConsumerRecord::Target(Arc::new(target)));
            }
        }
        let (epoch, at_ms) = (self.group.epoch, self.now.wall_ms);
        self.put(ConsumerKey::TargetEpoch, ConsumerRecord::TargetEpoch { epoch, at_ms });
    }

    /// Whether the last assignment was computed long enough ago for another one.
    pub(super) fn may_assign_now(&self) -> bool {
        let last_ms = self.group.target_at_ms;
        let interval_ms = i64::from(self.consumer.assignment_interval_ms);
        let age_ms = self.now.wall_ms.saturating_sub(last_ms);
        // A clock that went back is no reason to wait.
        let may = last_ms == 0 || !(0..interval_ms).contains(&age_ms);
        if !may {
            crate::mark!(ConsumerAssignmentPutOff);
        }
        may
    }

    /// Takes a member one step towards its target.
    pub(super) fn reconcile(
        &mut self,
        id: &MemberId,
        subscription_changed: bool,
        owned: Owned<'_>,
    ) -> Result<(), GroupError> {
        let Some(member) = self.group.members.get(id).cloned() else { return Ok(()) };
        let target_epoch = self.group.target_epoch;
        if !subscription_changed && member.holding.is_reconciled_to(target_epoch) {
            return Ok(());
        }
        let next = self.next_holding(id, &member, subscription_changed, owned)?;
        if next == member.holding {
            return Ok(());
        }
        if !member.is_classic() {
            let lets_go = next.state == MemberState::Unrevoked;
            let ms = Some(member.about.rebalance_timeout_ms).filter(|_| lets_go);
            self.alarm(Alarm::Rebalance, id, ms);
        }
        self.put(ConsumerKey::Current(id.clone()), ConsumerRecord::Current(Arc::new(next)));
        Ok(())
    }

    fn next_holding(
        &self,
        id: &MemberId,
        member: &Member,
        subscription_changed: bool,
        owned: Owned<'_>,
    ) -> Result<Holding, GroupError> {
        let nothing = Partitions::new();
        let group = &self.group;
        let step = Step {
            target_epoch: group.target_epoch,
            target: group.targets.get(id).map_or(&nothing, |target| &**target),
            subscribed: &group.topic_ids_of(member, self.topics),
            subscription_changed,
            owned,
            is_held: &|topic, at| group.owner(topic, at).is_some_and(|owner| owner != id),
        };
        step.next(&member.holding)
    }
}
