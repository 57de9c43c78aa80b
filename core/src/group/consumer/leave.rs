//! Members go: by themselves, or because they are late.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;

use super::decide::{Decided, Plan};
use super::member::{Epochs, LEFT_TO_RETURN};
use super::record::{ConsumerKey, ConsumerRecord};
use super::request::{ConsumerBeat, ConsumerHeartbeat};
use crate::group::{GroupError, GroupReply, MemberId};

/// Who goes.
pub(super) type Leaving = BTreeSet<MemberId>;

impl Plan<'_> {
    /// A heartbeat of epoch -1 or -2.
    pub(super) fn leave(&mut self, beat: &ConsumerHeartbeat) -> Decided {
        let id = match &beat.instance {
            None if self.group.members.contains_key(&beat.member) => beat.member.clone(),
            None => return Err(GroupError::UnknownMember),
            Some(instance) => self.static_member(instance, &beat.member)?,
        };
        if beat.instance.is_some() && beat.epoch == LEFT_TO_RETURN {
            self.leave_to_return(&id);
        } else {
            self.fence(&Leaving::from([id]))?;
        }
        let reply = ConsumerBeat {
            member: beat.member.clone(),
            epoch: beat.epoch,
            interval_ms: 0,
            assignment: None,
        };
        Ok(Some(GroupReply::ConsumerHeartbeat(Box::new(Ok(reply)))))
    }

    /// The static member of this instance, if it is `member`.
    pub(super) fn static_member(
        &self,
        instance: &str,
        member: &str,
    ) -> Result<MemberId, GroupError> {
        let known = self.group.static_member(instance).ok_or(GroupError::UnknownMember)?;
        if **known == *member { Ok(known.clone()) } else { Err(GroupError::FencedInstance) }
    }

    /// It keeps its partitions until its session ends, in whatever epoch it comes back.
    fn leave_to_return(&mut self, id: &MemberId) {
        let Some(member) = self.group.members.get(id) else { return };
        let mut holding = member.holding.clone();
        holding.epoch = LEFT_TO_RETURN;
        holding.revoking = Epochs::new();
        for partitions in holding.assigned.values_mut() {
            partitions.values_mut().for_each(|epoch| *epoch = 0);
        }
        self.put(ConsumerKey::Current(id.clone()), ConsumerRecord::Current(Arc::new(holding)));
    }

    /// Takes members out. When only members that speak the classic protocol are left, the group
    /// becomes a classic one, if it may.
    pub(super) fn fence(&mut self, leaving: &Leaving) -> Result<(), GroupError> {
        if leaving.is_empty() {
            return Ok(());
        }
        for id in leaving {
            self.silence(id);
        }
        if self.may_downgrade_without(leaving) {
            return self.downgrade(leaving, true);
        }
        let is_last = leaving.len() == self.group.members.len();
        let members = leaving.iter().filter_map(|id| self.group.members.get(id));
        let regexes: BTreeSet<Arc<str>> =
            members.filter_map(|member| member.about.regex().cloned()).collect();
        for id in leaving {
            self.remove_member(id);
        }
        for regex in regexes {
            if self.group.subscribers(&regex) == 0 {
                self.take_away(ConsumerKey::Regex(regex));
            }
        }
        self.put_epoch(true);
        if is_last {
            let epoch = self.group.epoch;
            self.put(ConsumerKey::TargetEpoch, ConsumerRecord::TargetEpoch { epoch, at_ms: 0 });
        }
        Ok(())
    }

    pub(super) fn remove_member(&mut self, id: &MemberId) {
        self.take_away(ConsumerKey::Current(id.clone()));
        self.take_away(ConsumerKey::Target(id.clone()));
        self.take_away(ConsumerKey::Member(id.clone()));
    }
}
