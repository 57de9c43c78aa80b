//! `uniform` when everybody subscribes to the same topics: shares differ by one partition at
//! most, and a member keeps what it has up to its share.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::Group;
use crate::group::MemberId;
use crate::group::consumer::member::Partitions;
use crate::types::TopicId;

pub(super) fn assign(group: &Group) -> BTreeMap<MemberId, Partitions> {
    let Some(topics) = group.members.values().next().map(|member| &member.topics) else {
        return BTreeMap::new();
    };
    let of_topic = |topic: TopicId| (0..group.partitions_of(topic)).map(move |at| (topic, at));
    let mut unassigned: BTreeSet<(TopicId, i32)> =
        topics.iter().copied().flat_map(of_topic).collect();
    let members = group.members.len();
    let quota = unassigned.len() / members;
    // So many members get one more; those that have it already come first.
    let mut extra = unassigned.len() % members;
    let mut targets: BTreeMap<MemberId, Partitions> = BTreeMap::new();
    let mut unfilled: Vec<(&MemberId, usize)> = Vec::new();
    for (index, (id, member)) in group.members.iter().enumerate() {
        let former = member.target.iter();
        let former = former.flat_map(|(topic, all)| all.iter().map(|at| (*topic, *at)));
        let former: Vec<_> = former.filter(|at| unassigned.contains(at)).collect();
        let members_left = members - index;
        let has_extra = extra > 0 && (former.len() > quota || members_left <= extra);
        let share = quota + usize::from(has_extra);
        extra -= usize::from(has_extra);
        let target = targets.entry(id.clone()).or_default();
        for (topic, partition) in former.iter().take(share) {
            unassigned.remove(&(*topic, *partition));
            target.entry(*topic).or_default().insert(*partition);
        }
        if former.len() < share {
            unfilled.push((id, share - former.len()));
        }
    }
    let mut rest = unassigned.into_iter();
    for (id, missing) in unfilled {
        let target = targets.entry(id.clone()).or_default();
        for (topic, partition) in rest.by_ref().take(missing) {
            target.entry(topic).or_default().insert(partition);
        }
    }
    targets
}
