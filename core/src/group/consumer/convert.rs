//! A classic group becomes a consumer group when a member joins with the new protocol, and goes
//! back when only members of the old one are left (KIP-848, `group.consumer.migration.policy`).

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::decide::{Downgrade, Plan};
use super::embedded::{Assignment, Named, Subscription};
use super::leave::Leaving;
use super::member::{About, ClassicMember, Holding, Member, MemberState, Partitions, with_epoch};
use super::record::{ConsumerKey, ConsumerRecord};
use super::timers::Alarm;
use crate::config::MigrationPolicy;
use crate::group::classic::{Classic, ClassicMember as OldMember};
use crate::group::records::GroupKey;
use crate::group::{Entry, GroupCoordinator, GroupError, GroupId, GroupState, MemberId, Value};
use crate::time::Now;

impl Plan<'_> {
    /// Begins the decision with what a classic group leaves behind: nothing when it has no
    /// members, else its members, who go on with what they have.
    pub(super) fn upgrade(&mut self, classic: &Classic) -> Result<(), GroupError> {
        let key = GroupKey::Classic(self.id.clone());
        self.entries.push(Entry { key, value: None });
        if classic.state == GroupState::Empty {
            return Ok(());
        }
        let migration = self.consumer.migration;
        let allowed =
            matches!(migration, MigrationPolicy::Upgrade | MigrationPolicy::Bidirectional);
        let fits = classic.members.len() <= self.consumer.members_max;
        if !allowed || !fits || !classic.is_of_consumers() {
            crate::mark!(ConsumerUpgradeRefused);
            return Err(GroupError::GroupIdNotFound);
        }
        crate::mark!(ConsumerUpgraded);
        let mut members = Vec::new();
        for (id, old) in &classic.members {
            members.push((id.clone(), self.upgraded(classic, old)?));
        }
        let idle = members.iter().any(|(_, member)| member.holding.assigned.is_empty());
        self.put_upgraded(classic.generation, members);
        if classic.state != GroupState::Stable || idle {
            // The rebalance that was under way goes on: some have nothing yet, and whoever made
            // it may come back with the same subscription, which asks for none. A group that was
            // read from the log is stable even if its coordinator died in a rebalance.
            self.put_epoch(true);
        }
        Ok(())
    }

    /// What cannot be read, or would lose what a custom assignor said, stays as it is.
    fn upgraded(&self, classic: &Classic, old: &OldMember) -> Result<Member, GroupError> {
        let unreadable = |_| GroupError::GroupIdNotFound;
        let assigned = if old.assignment.is_empty() {
            Partitions::new()
        } else {
            let assignment = Assignment::decode(&old.assignment).map_err(unreadable)?;
            if assignment.has_user_data {
                return Err(GroupError::GroupIdNotFound);
            }
            self.partitions_by_id(assignment.partitions)
        };
        let metadata = match &classic.protocol {
            Some(protocol) => old.metadata(Some(protocol)),
            None => old.protocols.first().map(|one| one.metadata.clone()).unwrap_or_default(),
        };
        let subscription = Subscription::decode(&metadata).map_err(unreadable)?;
        let about = About {
            instance: old.instance.clone(),
            rack: subscription.rack,
            client_id: old.client_id.clone(),
            client_host: old.client_host.clone(),
            topics: subscription.topics.into_iter().collect(),
            rebalance_timeout_ms: old.rebalance_timeout_ms,
            classic: Some(ClassicMember {
                session_timeout_ms: old.session_timeout_ms,
                protocols: old.protocols.clone(),
            }),
            ..About::default()
        };
        let holding = Holding {
            epoch: classic.generation,
            previous_epoch: classic.generation,
            state: MemberState::Stable,
            assigned: with_epoch(&assigned, classic.generation),
            ..Holding::default()
        };
        Ok(Member { about, holding })
    }

    fn put_upgraded(&mut self, epoch: i32, members: Vec<(MemberId, Member)>) {
        for (id, member) in &members {
            let about = ConsumerRecord::Member(Arc::new(member.about.clone()));
            self.put(ConsumerKey::Member(id.clone()), about);
        }
        let topics_hash = self.topics.hash(&self.group.subscribed());
        self.put(ConsumerKey::Group, ConsumerRecord::Group { epoch, topics_hash });
        for (id, member) in &members {
            let target = super::member::without_epochs(&member.holding.assigned);
            self.put(ConsumerKey::Target(id.clone()), ConsumerRecord::Target(Arc::new(target)));
        }
        self.put(ConsumerKey::TargetEpoch, ConsumerRecord::TargetEpoch { epoch, at_ms: 0 });
        for (id, member) in members {
            if let Some(classic) = &member.about.classic {
                self.alarm(Alarm::Session, &id, Some(classic.session_timeout_ms));
            }
            let holding = ConsumerRecord::Current(Arc::new(member.holding));
            self.put(ConsumerKey::Current(id), holding);
        }
    }

    pub(super) fn partitions_by_id(&self, named: Named) -> Partitions {
        let mut partitions = Partitions::new();
        for (topic, of_topic) in named {
            if let Some(id) = self.topics.id(&topic)
                && !of_topic.is_empty()
            {
                partitions.entry(id).or_default().extend(of_topic);
            }
        }
        partitions
    }

    fn may_downgrade(&self, left: usize) -> bool {
        let migration = self.consumer.migration;
        matches!(migration, MigrationPolicy::Downgrade | MigrationPolicy::Bidirectional)
            && left <= self.config.members_max
    }

    /// Whether the group is to be a classic one without these members.
    pub(super) fn may_downgrade_without(&self, leaving: &Leaving) -> bool {
        let mut left = self.group.members.iter().filter(|(id, _)| !leaving.contains(*id));
        let count = left.clone().count();
        count > 0 && left.all(|(_, member)| member.is_classic()) && self.may_downgrade(count)
    }

    /// Whether the group is to be a classic one once this static member speaks the old protocol.
    pub(super) fn may_downgrade_with(&self, replaced: &MemberId) -> bool {
        let members = &self.group.members;
        members.iter().all(|(id, member)| member.is_classic() != (id == replaced))
            && self.may_downgrade(members.len())
    }

    /// Makes the group a classic one, without those who leave.
    pub(super) fn downgrade(
        &mut self,
        leaving: &Leaving,
        rebalance: bool,
    ) -> Result<(), GroupError> {
        crate::mark!(ConsumerDowngraded);
        let members = self.group.members.iter().filter(|(id, _)| !leaving.contains(*id));
        let members: Vec<(MemberId, OldMember)> =
            members.filter_map(|(id, member)| Some((id.clone(), as_classic(member)?))).collect();
        let mut classic = Classic::of_consumers(self.group.epoch, members, self.now.wall_ms);
        let protocol = classic.protocol.clone();
        for (id, member) in &mut classic.members {
            let subscription = member.metadata(protocol.as_deref());
            let named = self.topics.named(&self.group.target(id));
            member.assignment = Assignment::encode(&named, &subscription);
        }
        let mut record = classic.record(|_, member| member.assignment.clone());
        if rebalance {
            // A coordinator that reads this is to have them join again too: what they are assigned
            // leaves out what the one that is gone had. Kafka forgets it, and those partitions are
            // nobody's until somebody joins or leaves (seed 5069).
            record.leader = None;
        }
        let ids: BTreeSet<MemberId> = self.group.members.keys().cloned().collect();
        for id in &ids {
            self.silence(id);
        }
        for key in self.group.keys() {
            self.take_away(key);
        }
        let value = Some(Value::Group(Box::new(record)));
        self.entries.push(Entry { key: GroupKey::Classic(self.id.clone()), value });
        self.becomes = Some(Downgrade { classic, rebalance });
        Ok(())
    }
}

/// A member as the classic group has it; `None` for one that speaks the new protocol.
fn as_classic(member: &Member) -> Option<OldMember> {
    let classic = member.about.classic.as_ref()?;
    let about = &member.about;
    Some(OldMember {
        instance: about.instance.clone(),
        client_id: about.client_id.clone(),
        client_host: about.client_host.clone(),
        rebalance_timeout_ms: about.rebalance_timeout_ms,
        session_timeout_ms: classic.session_timeout_ms,
        protocols: classic.protocols.clone(),
        assignment: bytes::Bytes::new(),
        join: None,
        sync: None,
        is_new: false,
        session_at: None,
    })
}

impl GroupCoordinator {
    /// The sessions of a group that is a classic one now begin, and its next rebalance.
    pub(super) fn downgraded(
        &mut self,
        now: Now,
        partition: i32,
        id: &GroupId,
        downgrade: &Downgrade,
    ) {
        self.in_group(now, partition, id, |classic, turn| {
            classic.loaded(turn);
            if downgrade.rebalance && classic.state == GroupState::Stable {
                classic.prepare(turn);
            }
        });
    }
}
