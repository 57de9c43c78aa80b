//! `range`: of each topic every subscriber gets a run of neighbouring partitions, the first ones
//! one more when they do not divide evenly. Topics with equally many partitions and the same
//! subscribers are assigned alike. Static members come first, by instance id.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Group, Subscriber};
use crate::group::MemberId;
use crate::group::consumer::member::Partitions;
use crate::types::TopicId;

pub(super) fn assign(group: &Group) -> BTreeMap<MemberId, Partitions> {
    let mut members: Vec<(&MemberId, &Subscriber)> = group.members.iter().collect();
    members.sort_by_key(|(id, member)| (member.instance.is_none(), &member.instance, *id));
    let mut subscribers: BTreeMap<TopicId, Vec<&MemberId>> = BTreeMap::new();
    for (id, member) in &members {
        for topic in &member.topics {
            subscribers.entry(*topic).or_default().push(id);
        }
    }
    let mut targets: BTreeMap<MemberId, Partitions> =
        group.members.keys().map(|id| (id.clone(), Partitions::new())).collect();
    for (topic, subscribers) in subscribers {
        let mut next = 0;
        let mut left = i32::try_from(subscribers.len()).unwrap_or(i32::MAX);
        let mut partitions = group.partitions_of(topic);
        for id in subscribers {
            // The rest, divided among those that are left, rounded up.
            let quota = partitions / left + i32::from(partitions % left > 0);
            if quota > 0 {
                let target = targets.entry(id.clone()).or_default();
                target.insert(topic, (next..next + quota).collect());
            }
            next += quota;
            partitions -= quota;
            left -= 1;
        }
    }
    targets
}
