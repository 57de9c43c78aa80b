//! Heartbeat (spec 14.1; `classicGroupHeartbeatToClassicGroup`).

use super::state::Classic;
use super::{Heartbeat, MemberId, Turn};
use crate::group::{GroupCoordinator, GroupError, GroupState};
use crate::time::Now;

impl GroupCoordinator {
    /// A member is alive.
    ///
    /// # Errors
    /// What it is to do: join again ([`GroupError::RebalanceInProgress`]), or start over.
    pub fn heartbeat(&mut self, now: Now, beat: &Heartbeat) -> Result<(), GroupError> {
        let partition = match self.members_partition(&beat.group) {
            // It has nothing to ask of the group, and is to keep its assignment meanwhile.
            Err(GroupError::Loading) => return Ok(()),
            found => found?,
        };
        if self.is_consumer_group(partition, &beat.group) {
            return self.heartbeat_in_consumer_group(now, partition, beat);
        }
        let done = self
            .in_group(now, partition, &beat.group, |classic, turn| classic.heartbeat(turn, beat));
        done.unwrap_or(Err(GroupError::UnknownMember))
    }

    /// A commit of a member's is a sign of its life, too.
    pub(in crate::group) fn committed_by(
        &mut self,
        now: Now,
        partition: i32,
        group: &crate::group::GroupId,
        member: &MemberId,
    ) {
        self.in_group(now, partition, group, |classic, turn| {
            if matches!(classic.state, GroupState::Stable | GroupState::PreparingRebalance) {
                classic.refresh_session(turn, member);
            }
        });
    }
}

impl Classic {
    fn heartbeat(&mut self, turn: &mut Turn<'_>, beat: &Heartbeat) -> Result<(), GroupError> {
        self.check_member(&beat.member, beat.instance.as_deref())?;
        if beat.generation != self.generation {
            return Err(GroupError::IllegalGeneration);
        }
        match self.state {
            GroupState::Empty | GroupState::Dead => Err(GroupError::UnknownMember),
            GroupState::PreparingRebalance => {
                self.refresh_session(turn, &beat.member);
                Err(GroupError::RebalanceInProgress)
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                self.refresh_session(turn, &beat.member);
                Ok(())
            }
        }
    }
}
