//! SyncGroup (spec 14.1; `classicGroupSyncToClassicGroup`).

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::state::Classic;
use super::{MemberId, SyncGroup, Synced, Turn};
use crate::group::{GroupCoordinator, GroupError, GroupId, GroupReply, GroupState, Purpose};
use crate::io::RequestId;
use crate::time::Now;

impl GroupCoordinator {
    /// A member asks for its assignment. The answer comes as [`GroupReply::Sync`] when the
    /// leader's assignment is persisted.
    pub fn sync(&mut self, now: Now, to: RequestId, sync: SyncGroup) {
        let group = sync.group.clone();
        let refused = match self.members_partition(&group) {
            Ok(partition) if self.is_consumer_group(partition, &group) => {
                return self.sync_consumer_group(now, partition, to, &sync);
            }
            Ok(partition) => {
                let done = self.in_group(now, partition, &group, |classic, turn| {
                    classic.sync(turn, to, sync);
                });
                done.is_none().then_some(GroupError::UnknownMember)
            }
            Err(error) => Some(error),
        };
        if let Some(error) = refused {
            self.reply(to, GroupReply::Sync(Err(error)));
        }
    }

    /// The leader's assignment is persisted, or is not.
    pub(in crate::group) fn assigned(
        &mut self,
        now: Now,
        partition: i32,
        group: &GroupId,
        assignment: &Assignment,
        outcome: Result<(), GroupError>,
    ) {
        self.in_group(now, partition, group, |classic, turn| {
            classic.assigned(turn, assignment, outcome);
        });
    }
}

/// An assignment on its way into the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) struct Assignment {
    pub(in crate::group) generation: i32,
    pub(in crate::group) members: BTreeMap<MemberId, Bytes>,
}

impl Classic {
    fn sync(&mut self, turn: &mut Turn<'_>, to: RequestId, sync: SyncGroup) {
        if let Err(error) = self.check_sync(&sync) {
            return turn.reply_sync(to, Err(error));
        }
        let id = sync.member;
        match self.state {
            GroupState::Empty | GroupState::Dead => {
                turn.reply_sync(to, Err(GroupError::UnknownMember));
            }
            GroupState::PreparingRebalance => {
                turn.reply_sync(to, Err(GroupError::RebalanceInProgress));
            }
            GroupState::CompletingRebalance => {
                self.wait_for_assignment(turn, to, &id);
                if self.is_leader(&id) {
                    self.write_assignment(turn, sync.assignments);
                }
            }
            GroupState::Stable => {
                self.has_synced(turn, &id);
                let assignment = self.members.get(&id).map(|one| one.assignment.clone());
                let synced = self.synced(assignment.unwrap_or_default());
                turn.reply_sync(to, Ok(synced));
            }
        }
    }

    fn check_sync(&self, sync: &SyncGroup) -> Result<(), GroupError> {
        self.check_member(&sync.member, sync.instance.as_deref())?;
        if sync.generation != self.generation {
            return Err(GroupError::IllegalGeneration);
        }
        let differs = |said: &Option<Arc<str>>, is: &Option<Arc<str>>| said.is_some() && said != is;
        if differs(&sync.protocol_type, &self.protocol_type)
            || differs(&sync.protocol, &self.protocol)
        {
            return Err(GroupError::InconsistentProtocol);
        }
        Ok(())
    }

    fn wait_for_assignment(&mut self, turn: &mut Turn<'_>, to: RequestId, id: &MemberId) {
        self.has_synced(turn, id);
        let Some(member) = self.members.get_mut(id) else { return };
        if let Some(older) = member.sync.replace(to) {
            crate::mark!(GroupSyncTwice);
            turn.reply_sync(older, Err(GroupError::RebalanceInProgress));
        }
    }

    fn has_synced(&mut self, turn: &mut Turn<'_>, id: &MemberId) {
        self.pending_syncs.remove(id);
        if self.pending_syncs.is_empty() {
            self.set_sync_timer(turn, None);
        }
    }

    /// Members that the leader did not mention get nothing.
    fn write_assignment(&mut self, turn: &mut Turn<'_>, given: BTreeMap<MemberId, Bytes>) {
        let of = |id: &MemberId| given.get(id).cloned().unwrap_or_default();
        let record = self.record(|id, _| of(id));
        let members = self.members.keys().map(|id| (id.clone(), of(id))).collect();
        let assignment = Assignment { generation: self.generation, members };
        let group = turn.group.clone();
        turn.write(record, Purpose::Assigned { group, assignment });
    }

    fn assigned(
        &mut self,
        turn: &mut Turn<'_>,
        assignment: &Assignment,
        outcome: Result<(), GroupError>,
    ) {
        let is_current = self.state == GroupState::CompletingRebalance
            && self.generation == assignment.generation;
        if !is_current {
            crate::mark!(GroupMovedOnBeforeAssignment);
            return;
        }
        if let Err(error) = outcome {
            crate::mark!(GroupAssignmentNotWritten);
            self.fail_assignment(turn, error);
            return self.prepare(turn);
        }
        for (id, given) in &assignment.members {
            if let Some(member) = self.members.get_mut(id) {
                member.assignment = given.clone();
            }
        }
        self.transition(turn, GroupState::Stable);
        for id in self.members.keys().cloned().collect::<Vec<MemberId>>() {
            let Some(member) = self.members.get_mut(&id) else { continue };
            let (waiting, given) = (member.sync.take(), member.assignment.clone());
            if let Some(to) = waiting {
                let synced = self.synced(given);
                turn.reply_sync(to, Ok(synced));
                self.refresh_session(turn, &id);
            }
        }
    }

    fn synced(&self, assignment: Bytes) -> Synced {
        Synced {
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            assignment,
        }
    }
}
