//! LeaveGroup (spec 14.1; `classicGroupLeaveToClassicGroup`).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::state::Classic;
use super::{LeaveReply, MemberId, Turn};
use crate::group::{GroupCoordinator, GroupError, GroupId, GroupReply, Purpose};
use crate::io::RequestId;
use crate::time::Now;

/// Who is to leave.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeavingMember {
    /// The member; "" when an administrator names the instance id only.
    pub id: MemberId,
    /// The instance id of a static member.
    pub instance: Option<Arc<str>>,
}

impl GroupCoordinator {
    /// Members leave. The answer comes as [`GroupReply::Leave`]; when it was the last member,
    /// after that is persisted.
    pub fn leave(&mut self, now: Now, to: RequestId, group: &GroupId, leaving: Vec<LeavingMember>) {
        let partition = match self.members_partition(group) {
            Ok(partition) => partition,
            Err(error) => {
                let reply = LeaveReply { result: Err(error), members: Vec::new() };
                return self.reply(to, GroupReply::Leave(Box::new(reply)));
            }
        };
        if self.is_consumer_group(partition, group) {
            return self.leave_consumer_group(now, partition, to, group, leaving);
        }
        let members = leaving.clone();
        let done = self.in_group(now, partition, group, |classic, turn| {
            classic.leave(turn, to, members);
        });
        if done.is_none() {
            let unknown = |one| (one, Err(GroupError::UnknownMember));
            let members = leaving.into_iter().map(unknown).collect();
            let reply = LeaveReply { result: Ok(()), members };
            self.reply(to, GroupReply::Leave(Box::new(reply)));
        }
    }
}

impl Classic {
    fn leave(&mut self, turn: &mut Turn<'_>, to: RequestId, leaving: Vec<LeavingMember>) {
        let mut members = Vec::with_capacity(leaving.len());
        for one in leaving {
            let result = self.leave_one(turn, &one);
            members.push((one, result));
        }
        let reply = Box::new(LeaveReply { result: Ok(()), members });
        if reply.members.iter().any(|(_, result)| result.is_ok()) && !self.is_idle() {
            self.rebalance_or_complete(turn);
        }
        // The answer waits for what it brought about to be persisted.
        if let Some((_, Purpose::Emptied { leaving })) = turn.writes.last_mut() {
            *leaving = Some((to, reply));
        } else {
            turn.reply(to, GroupReply::Leave(reply));
        }
    }

    fn leave_one(&mut self, turn: &mut Turn<'_>, one: &LeavingMember) -> Result<(), GroupError> {
        if one.id.is_empty() {
            let named = one.instance.as_ref().and_then(|instance| self.statics.get(instance));
            let id = named.cloned().ok_or(GroupError::UnknownMember)?;
            self.remove(turn, &id, GroupError::UnknownMember);
        } else if self.pending_joins.contains_key(&one.id) {
            self.remove_pending_join(turn, &one.id);
        } else {
            self.check_member(&one.id, one.instance.as_deref())?;
            self.remove(turn, &one.id, GroupError::UnknownMember);
        }
        Ok(())
    }
}
