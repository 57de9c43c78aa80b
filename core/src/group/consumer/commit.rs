//! Which commits and fetches of offsets a consumer group takes from whom
//! (`ConsumerGroup.validateOffsetCommit`, `validateOffsetFetch`).

use super::member::Member;
use super::state::Consumer;
use crate::group::{GroupError, OffsetCommit};

/// First version of OffsetCommit that carries member epochs.
const VERSION_MEMBER_EPOCH: i16 = 9;

impl Consumer {
    /// A member commits in its epoch, or in an older one for partitions that it has had since
    /// before that. Without members, whoever names no epoch may.
    pub(in crate::group) fn check_commit(
        &self,
        commit: &OffsetCommit,
        transactional: bool,
    ) -> Result<(), GroupError> {
        if commit.generation < 0 && self.members.is_empty() {
            return Ok(());
        }
        // Old clients commit in a transaction without saying who they are (KAFKA-18060).
        let names_nobody = commit.member.is_empty() && commit.instance.is_none();
        if transactional && commit.generation == -1 && names_nobody {
            return Ok(());
        }
        let member = self.members.get(&commit.member).ok_or(GroupError::UnknownMember)?;
        if !transactional && !member.is_classic() && commit.version < VERSION_MEMBER_EPOCH {
            return Err(GroupError::UnsupportedVersion);
        }
        let epoch = commit.generation;
        let stale = stale(member);
        if epoch > member.holding.epoch {
            return Err(stale);
        }
        let is_older = epoch < member.holding.epoch;
        let was_given_before = |one: &crate::group::CommitPartition| {
            let since = member.holding.since(one.topic_id, one.tp.partition);
            since.is_some_and(|since| since <= epoch)
        };
        if is_older && !commit.partitions.iter().all(was_given_before) {
            crate::mark!(ConsumerCommitOfZombie);
            return Err(stale);
        }
        Ok(())
    }

    /// Who names a member is to be in its epoch.
    pub(in crate::group) fn check_fetch(
        &self,
        member: Option<&str>,
        epoch: i32,
    ) -> Result<(), GroupError> {
        if member.is_none() && epoch < 0 {
            return Ok(());
        }
        let known = member.and_then(|member| self.members.get(member));
        let known = known.ok_or(GroupError::UnknownMember)?;
        if known.holding.epoch == epoch { Ok(()) } else { Err(stale(known)) }
    }
}

const fn stale(member: &Member) -> GroupError {
    if member.is_classic() { GroupError::IllegalGeneration } else { GroupError::StaleMemberEpoch }
}
