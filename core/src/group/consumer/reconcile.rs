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

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    const A: TopicId = TopicId(1);
    const B: TopicId = TopicId(2);

    fn partitions(all: &[(TopicId, &[i32])]) -> Partitions {
        all.iter().map(|(topic, one)| (*topic, one.iter().copied().collect())).collect()
    }

    /// These partitions, since epoch 5.
    fn since_5(all: &[(TopicId, &[i32])]) -> Epochs {
        let since = |one: &&[i32]| one.iter().map(|at| (*at, 5)).collect();
        all.iter().map(|(topic, one)| (*topic, since(one))).collect()
    }

    fn stable(epoch: i32, assigned: &[(TopicId, &[i32])]) -> Holding {
        Holding { epoch, previous_epoch: 5, assigned: since_5(assigned), ..Holding::default() }
    }

    /// A step of epoch 7 towards partition 0 of both topics, which nobody else has.
    fn step(
        member: &Holding,
        subscribed: &[TopicId],
        subscription_changed: bool,
        owned: Owned<'_>,
    ) -> Result<Holding, GroupError> {
        let target = partitions(&[(A, &[0]), (B, &[0])]);
        let subscribed = subscribed.iter().copied().collect();
        let step = Step {
            target_epoch: 7,
            target: &target,
            subscribed: &subscribed,
            subscription_changed,
            owned,
            is_held: &|_, _| false,
        };
        step.next(member)
    }

    #[test]
    fn a_member_in_the_targets_epoch_has_what_that_gave_it() {
        let member = stable(7, &[(A, &[0])]);
        assert_eq!(step(&member, &[A, B], false, None), Ok(member.clone()));
        assert_eq!(step(&member, &[A, B], true, None), Ok(member), "it gave nothing up");
    }

    #[test]
    fn a_topic_that_a_member_gives_up_is_taken_from_it_at_once_and_once_only() {
        let member = stable(7, &[(A, &[0]), (B, &[0])]);
        assert_eq!(step(&member, &[A], false, None), Ok(member.clone()), "it said nothing new");
        let has_it_still = step(&member, &[A], true, None).unwrap();
        assert_eq!(has_it_still.state, MemberState::Unrevoked);
        assert_eq!(has_it_still.assigned, since_5(&[(A, &[0])]));
        assert_eq!(has_it_still.revoking, since_5(&[(B, &[0])]));
        let owned = [(A, vec![0])];
        let has_let_go = step(&member, &[A], true, Some(&owned)).unwrap();
        assert_eq!(has_let_go.state, MemberState::Stable);
        assert_eq!(has_let_go.assigned, since_5(&[(A, &[0])]));
        assert!(has_let_go.revoking.is_empty());
    }

    #[test]
    fn a_member_in_a_state_of_a_later_release_begins_anew_with_nothing_or_is_fenced() {
        let member = Holding { state: MemberState::Unknown, ..stable(6, &[]) };
        let anew = step(&member, &[A, B], false, Some(&[])).unwrap();
        assert_eq!((anew.state, anew.epoch), (MemberState::Stable, 7));
        assert_eq!(anew.assigned.len(), 2);
        let owned = [(A, vec![0])];
        for owned in [None, Some(&owned[..])] {
            let fenced = step(&member, &[A, B], false, owned);
            assert_eq!(fenced, Err(GroupError::FencedMemberEpoch));
        }
    }
}
