//! Time is over for a member of a consumer group.

use super::decide::Plan;
use super::leave::Leaving;
use super::member::MemberState;
use crate::group::classic::TimerKey;
use crate::group::{GroupCoordinator, GroupId, MemberId, group_in};
use crate::time::Now;

/// What a member of a consumer group has a deadline for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::group) enum Alarm {
    /// To say that it is there.
    Session,
    /// To let go of partitions.
    Rebalance,
    /// To join again, of one that speaks the classic protocol.
    Join,
    /// To ask for its assignment, of one that speaks the classic protocol.
    Sync,
}

impl Alarm {
    const ALL: [Self; 4] = [Self::Session, Self::Rebalance, Self::Join, Self::Sync];
}

/// What is done with a deadline; times in ms from now.
#[derive(Clone, Copy, Debug)]
pub(super) enum Setting {
    Off,
    In(i32),
    InUnlessSet(i32),
}

impl Plan<'_> {
    /// Nothing is waited for of a member any more.
    pub(super) fn silence(&mut self, member: &MemberId) {
        for alarm in Alarm::ALL {
            self.alarm(alarm, member, None);
        }
    }
}

impl GroupCoordinator {
    /// Sets a deadline, or takes it away.
    pub(super) fn set_alarm(
        &mut self,
        now: Now,
        partition: i32,
        id: &GroupId,
        alarm: Alarm,
        member: &MemberId,
        setting: Setting,
    ) {
        let Some(found) = group_in(&mut self.shards, partition, id) else { return };
        let key = || TimerKey::Consumer(alarm, member.clone());
        let slot = (alarm, member.clone());
        if matches!(setting, Setting::InUnlessSet(_)) && found.alarms.contains_key(&slot) {
            return;
        }
        if let Some(at) = found.alarms.remove(&slot) {
            self.timers.cancel(at, id, key());
        }
        if let Setting::In(ms) | Setting::InUnlessSet(ms) = setting {
            let at = now.at.after_ms(u64::try_from(ms).unwrap_or(0));
            self.timers.set(at, id, key());
            found.alarms.insert(slot, at);
        }
    }

    /// All deadlines of a group go.
    pub(in crate::group) fn drop_alarms(&mut self, partition: i32, id: &GroupId) {
        let Some(found) = group_in(&mut self.shards, partition, id) else { return };
        for ((alarm, member), at) in core::mem::take(&mut found.alarms) {
            self.timers.cancel(at, id, TimerKey::Consumer(alarm, member));
        }
    }

    /// A deadline has passed: the member is out of the group.
    pub(in crate::group) fn alarm_over(
        &mut self,
        now: Now,
        partition: i32,
        id: &GroupId,
        alarm: Alarm,
        member: &MemberId,
    ) {
        if let Some(found) = group_in(&mut self.shards, partition, id) {
            found.alarms.remove(&(alarm, member.clone()));
        }
        // Nobody waits for it, and a group or a member that is gone needs nothing.
        let _ = self.decide(now, partition, id, false, None, |plan| {
            let known = plan.group.members.get(member);
            let is_late = known.is_some_and(|known| {
                alarm != Alarm::Rebalance || known.holding.state == MemberState::Unrevoked
            });
            if is_late {
                match alarm {
                    Alarm::Session => crate::mark!(ConsumerSessionOver),
                    Alarm::Rebalance => crate::mark!(ConsumerRebalanceOver),
                    Alarm::Join | Alarm::Sync => crate::mark!(ConsumerClassicMemberLate),
                }
                plan.fence(&Leaving::from([member.clone()]))?;
            }
            Ok(None)
        });
    }
}
