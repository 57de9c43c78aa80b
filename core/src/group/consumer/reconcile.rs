//! One step of a member towards its target assignment: it lets go first, then is given what
//! nobody else holds (Kafka's `CurrentAssignmentBuilder`).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::member::{Epochs, Holding, MemberState, Partitions};
use crate::group::GroupError;
use crate::types::TopicId;

/// Partitions that a member says it has; `None` when it does not say.
pub(super) type Owned<'a> = Option<&'a [(TopicId, Vec<i32>)]>;

/// What a step depends on.
pub(super) struct Step<'a> {
    pub(super) target_epoch: i32,
    pub(super) target: &'a Partitions,
    pub(super) subscribed: &'a BTreeSet<TopicId>,
    pub(super) subscription_changed: bool,
    pub(super) owned: Owned<'a>,
    /// Whether another member holds the partition.
    pub(super) is_held: &'a dyn Fn(TopicId, i32) -> bool,
}

impl Step<'_> {
    /// What the member has after the step.
    pub(super) fn next(&self, member: &Holding) -> Result<Holding, GroupError> {
        match member.state {
            MemberState::Stable if member.epoch != self.target_epoch => {
                Ok(self.towards_target(member, member.epoch))
            }
            MemberState::Stable => Ok(self.within_epoch(member)),
            MemberState::Unrevoked if self.still_owns(&member.revoking) => {
                Ok(self.within_epoch(member))
            }
            MemberState::Unrevoked | MemberState::Unreleased => {
                Ok(self.towards_target(member, member.epoch))
            }
            // Of a later release: whoever has nothing can begin anew.
            MemberState::Unknown => match self.owned {
                Some([]) => Ok(self.towards_target(member, self.target_epoch)),
                _ => Err(GroupError::FencedMemberEpoch),
            },
        }
    }

    /// Whether the member has not said that it has let go of all of these.
    fn still_owns(&self, revoked: &Epochs) -> bool {
        let Some(owned) = self.owned else { return true };
        owned.iter().any(|(topic, partitions)| {
            let revoked = revoked.get(topic);
            revoked.is_some_and(|one| partitions.iter().any(|at| one.contains_key(at)))
        })
    }

    /// Topics that it no longer subscribes to are taken from it at once.
    fn within_epoch(&self, member: &Holding) -> Holding {
        let unsubscribed = |topic: &TopicId| !self.subscribed.contains(topic);
        if !self.subscription_changed || !member.assigned.keys().any(unsubscribed) {
            return member.clone();
        }
        let (gone, assigned): (Epochs, Epochs) =
            member.assigned.clone().into_iter().partition(|(topic, _)| unsubscribed(topic));
        let mut revoking = member.revoking.clone();
        for (topic, partitions) in gone {
            revoking.entry(topic).or_default().extend(partitions);
        }
        if self.still_owns(&revoking) {
            return moved(member, MemberState::Unrevoked, member.epoch, assigned, revoking);
        }
        moved(member, member.state, member.epoch, assigned, member.revoking.clone())
    }

    fn towards_target(&self, member: &Holding, epoch: i32) -> Holding {
        let nothing = BTreeSet::new();
        let target_of = |topic: &TopicId| match self.subscribed.contains(topic) {
            true => self.target.get(topic).unwrap_or(&nothing),
            false => &nothing,
        };
        let mut assigned = Epochs::new();
        let mut revoking = Epochs::new();
        for (topic, partitions) in &member.assigned {
            let target = target_of(topic);
            for (partition, since) in partitions {
                let to = if target.contains(partition) { &mut assigned } else { &mut revoking };
                to.entry(*topic).or_default().insert(*partition, *since);
            }
        }
        if !revoking.is_empty() && self.still_owns(&revoking) {
            return moved(member, MemberState::Unrevoked, epoch, assigned, revoking);
        }
        let mut state = MemberState::Stable;
        for topic in self.target.keys() {
            for partition in target_of(topic) {
                let has = |all: &BTreeMap<i32, i32>| all.contains_key(partition);
                if assigned.get(topic).is_some_and(has) {
                    continue;
                }
                if (self.is_held)(*topic, *partition) {
                    crate::mark!(ConsumerWaitsForRelease);
                    state = MemberState::Unreleased;
                } else {
                    let given = assigned.entry(*topic).or_default();
                    given.insert(*partition, self.target_epoch);
                }
            }
        }
        moved(member, state, self.target_epoch, assigned, Epochs::new())
    }
}

fn moved(
    before: &Holding,
    state: MemberState,
    epoch: i32,
    assigned: Epochs,
    revoking: Epochs,
) -> Holding {
    Holding { epoch, previous_epoch: before.epoch, state, assigned, revoking }
}
