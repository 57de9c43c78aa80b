//! `uniform` when members subscribe to different topics: each keeps what it has, what is free
//! goes to the subscriber with the least, then partitions move from a topic's most loaded
//! subscriber to its least loaded one while that evens them out.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::Group;
use crate::group::MemberId;
use crate::group::consumer::member::Partitions;
use crate::types::TopicId;

/// How often all topics are gone through: moving partitions of one topic may unsettle another.
const PASSES_MAX: usize = 16;

pub(super) fn assign(group: &Group) -> BTreeMap<MemberId, Partitions> {
    let mut work = Work::new(group);
    work.keep(group);
    let topics = work.topics_in_order(group);
    for topic in &topics {
        work.hand_out(group, *topic);
    }
    for _ in 0..PASSES_MAX {
        let moved: usize = topics.iter().map(|topic| work.balance(*topic)).sum();
        if moved == 0 {
            break;
        }
    }
    work.finish()
}

/// Members by their place in the order of ids.
struct Work {
    ids: Vec<MemberId>,
    loads: Vec<usize>,
    owned: BTreeMap<TopicId, BTreeMap<usize, BTreeSet<i32>>>,
    subscribers: BTreeMap<TopicId, Vec<usize>>,
}

impl Work {
    fn new(group: &Group) -> Self {
        let mut subscribers: BTreeMap<TopicId, Vec<usize>> = BTreeMap::new();
        for (index, member) in group.members.values().enumerate() {
            for topic in &member.topics {
                subscribers.entry(*topic).or_default().push(index);
            }
        }
        let ids: Vec<MemberId> = group.members.keys().cloned().collect();
        Self { loads: alloc::vec![0; ids.len()], ids, owned: BTreeMap::new(), subscribers }
    }

    fn keep(&mut self, group: &Group) {
        let mut taken = BTreeSet::new();
        for (index, member) in group.members.values().enumerate() {
            for (topic, partitions) in &member.target {
                if !member.topics.contains(topic) {
                    continue;
                }
                let there = 0..group.partitions_of(*topic);
                for partition in partitions.iter().filter(|at| there.contains(at)) {
                    if taken.insert((*topic, *partition)) {
                        self.give(*topic, *partition, index);
                    }
                }
            }
        }
    }

    fn give(&mut self, topic: TopicId, partition: i32, to: usize) {
        self.owned.entry(topic).or_default().entry(to).or_default().insert(partition);
        self.loads[to] += 1;
    }

    /// Those with the most partitions for each subscriber first, of a tie those with the fewest
    /// subscribers: where there is the least choice.
    fn topics_in_order(&self, group: &Group) -> Vec<TopicId> {
        let mut topics: Vec<(TopicId, u64, u64)> = self
            .subscribers
            .iter()
            .map(|(topic, all)| {
                let partitions = u64::from(group.partitions_of(*topic).unsigned_abs());
                (*topic, partitions, all.len() as u64)
            })
            .collect();
        topics.sort_by(|(id, parts, subs), (other_id, other_parts, other_subs)| {
            // parts / subs against other_parts / other_subs, larger first, without division.
            let (left, right) = (other_parts * subs, parts * other_subs);
            left.cmp(&right).then(subs.cmp(other_subs)).then(id.cmp(other_id))
        });
        topics.into_iter().map(|(topic, ..)| topic).collect()
    }

    /// A topic's subscribers by load.
    fn by_load(&self, topic: TopicId) -> BTreeSet<(usize, usize)> {
        let subscribers = self.subscribers.get(&topic).into_iter().flatten();
        subscribers.map(|index| (self.loads[*index], *index)).collect()
    }

    fn hand_out(&mut self, group: &Group, topic: TopicId) {
        let owned = self.owned.get(&topic).into_iter().flat_map(BTreeMap::values);
        let owned: BTreeSet<i32> = owned.flatten().copied().collect();
        let mut by_load = self.by_load(topic);
        for partition in (0..group.partitions_of(topic)).filter(|at| !owned.contains(at)) {
            let Some((load, index)) = by_load.pop_first() else { return };
            self.give(topic, partition, index);
            by_load.insert((load + 1, index));
        }
    }

    /// How many partitions were moved.
    fn balance(&mut self, topic: TopicId) -> usize {
        let mut by_load = self.by_load(topic);
        let mut moved = 0;
        // Those that have partitions of this topic, by load.
        let mut givers: BTreeSet<(usize, usize)> = by_load
            .iter()
            .filter(|(_, index)| self.owned.get(&topic).is_some_and(|all| all.contains_key(index)))
            .copied()
            .collect();
        while let (Some(most), Some(least)) = (givers.last().copied(), by_load.first().copied()) {
            if most.0 <= least.0 + 1 {
                break;
            }
            let Some(owned) = self.owned.get_mut(&topic) else { break };
            let Some(partition) = owned.get_mut(&most.1).and_then(BTreeSet::pop_last) else {
                break;
            };
            owned.retain(|_, all| !all.is_empty());
            self.loads[most.1] -= 1;
            self.give(topic, partition, least.1);
            moved += 1;
            for one in [most, least] {
                by_load.remove(&one);
                givers.remove(&one);
                let now = (self.loads[one.1], one.1);
                by_load.insert(now);
                if self.owned.get(&topic).is_some_and(|all| all.contains_key(&one.1)) {
                    givers.insert(now);
                }
            }
        }
        moved
    }

    fn finish(self) -> BTreeMap<MemberId, Partitions> {
        let mut targets: Vec<Partitions> = self.ids.iter().map(|_| Partitions::new()).collect();
        for (topic, owners) in self.owned {
            for (index, partitions) in owners.into_iter().filter(|(_, all)| !all.is_empty()) {
                targets[index].insert(topic, partitions);
            }
        }
        self.ids.into_iter().zip(targets).collect()
    }
}
