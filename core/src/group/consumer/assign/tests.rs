//! Assignments are whole, balanced and sticky.

use alloc::format;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

/// A group: for each member the topics it subscribes to, and how many partitions each topic has.
fn group(members: &[Vec<u128>], partitions: &[i32]) -> Group {
    let members = members.iter().enumerate().map(|(index, topics)| {
        let topics = topics.iter().map(|topic| TopicId(*topic)).collect();
        (Arc::from(format!("m{index:03}")), Subscriber { topics, ..Subscriber::default() })
    });
    let partitions = (0..).map(TopicId).zip(partitions.iter().copied());
    Group { members: members.collect(), partitions: partitions.collect() }
}

fn with_targets(mut group: Group, targets: &BTreeMap<MemberId, Partitions>) -> Group {
    for (id, member) in &mut group.members {
        member.target = targets.get(id).cloned().unwrap_or_default();
    }
    group
}

fn load(target: &Partitions) -> usize {
    target.values().map(BTreeSet::len).sum()
}

fn owners(targets: &BTreeMap<MemberId, Partitions>) -> BTreeMap<(TopicId, i32), MemberId> {
    let mut owners = BTreeMap::new();
    for (id, target) in targets {
        for at in target.iter().flat_map(|(topic, all)| all.iter().map(|at| (*topic, *at))) {
            assert!(owners.insert(at, id.clone()).is_none(), "{at:?} has two owners");
        }
    }
    owners
}

/// Every partition of a subscribed topic has one owner, who subscribes to it.
fn assert_whole(group: &Group, targets: &BTreeMap<MemberId, Partitions>) {
    let owners = owners(targets);
    let mut wanted = BTreeSet::new();
    for topic in group.members.values().flat_map(|member| &member.topics) {
        wanted.extend((0..group.partitions_of(*topic)).map(|at| (*topic, at)));
    }
    assert_eq!(owners.keys().copied().collect::<BTreeSet<_>>(), wanted);
    for ((topic, _), owner) in owners {
        assert!(group.members[&owner].topics.contains(&topic), "{owner} did not ask");
    }
    assert_eq!(targets.len(), group.members.len());
}

/// Nobody could be helped by whoever has two more and something to give.
fn assert_balanced(group: &Group, targets: &BTreeMap<MemberId, Partitions>) {
    for (poor, member) in &group.members {
        for (rich, target) in targets {
            let could_give = target.keys().any(|topic| member.topics.contains(topic));
            let (rich_load, poor_load) = (load(target), load(&targets[poor]));
            assert!(
                !could_give || rich_load <= poor_load + 1,
                "{rich} has {rich_load}, {poor} {poor_load}"
            );
        }
    }
}

fn subscriptions() -> impl Strategy<Value = (Vec<Vec<u128>>, Vec<i32>)> {
    let topics = prop::collection::vec(0_i32..12, 1..5);
    topics.prop_flat_map(|partitions| {
        let topic = 0..partitions.len() as u128;
        let of_member = prop::collection::vec(topic, 0..4);
        (prop::collection::vec(of_member, 1..8), Just(partitions))
    })
}

proptest! {
    #[test]
    fn uniform_is_whole_and_balanced((members, partitions) in subscriptions()) {
        let group = group(&members, &partitions);
        let targets = assign(UNIFORM, &group);
        assert_whole(&group, &targets);
        assert_balanced(&group, &targets);
    }

    #[test]
    fn range_is_whole((members, partitions) in subscriptions()) {
        let group = group(&members, &partitions);
        assert_whole(&group, &assign(RANGE, &group));
    }

    #[test]
    fn uniform_changes_nothing_that_need_not_change((members, partitions) in subscriptions()) {
        let group = group(&members, &partitions);
        let targets = assign(UNIFORM, &group);
        let again = assign(UNIFORM, &with_targets(group, &targets));
        prop_assert_eq!(again, targets);
    }

    #[test]
    fn a_member_that_comes_takes_no_more_than_its_share(
        members in 1_usize..9, partitions in prop::collection::vec(0_i32..20, 1..4),
    ) {
        let topics: Vec<u128> = (0..partitions.len() as u128).collect();
        let all = alloc::vec![topics; members + 1];
        let before = assign(UNIFORM, &group(&all[..members], &partitions));
        let grown = with_targets(group(&all, &partitions), &before);
        let after = assign(UNIFORM, &grown);
        assert_whole(&grown, &after);
        assert_balanced(&grown, &after);
        let former = owners(&before);
        let moved = owners(&after).iter().filter(|(at, owner)| former[*at] != **owner).count();
        let total: i32 = partitions.iter().sum();
        prop_assert!(moved <= total as usize / (members + 1) + 1, "{} moved", moved);
    }

    #[test]
    fn former_targets_of_any_kind_do_no_harm(
        (members, partitions) in subscriptions(), former in subscriptions(),
    ) {
        let former = group(&former.0, &former.1);
        let targets = assign(UNIFORM, &former);
        let group = with_targets(group(&members, &partitions), &targets);
        for assignor in [UNIFORM, RANGE] {
            assert_whole(&group, &assign(assignor, &group));
        }
    }
}

#[test]
fn range_gives_neighbours_and_static_members_come_first() {
    let mut group = group(&[alloc::vec![0, 1], alloc::vec![0, 1]], &[3, 4]);
    let last: MemberId = Arc::from("m001");
    group.members.get_mut(&last).unwrap().instance = Some(Arc::from("i"));
    let targets = assign(RANGE, &group);
    let of = |id: &str, topic: u128| -> Vec<i32> {
        targets[id][&TopicId(topic)].iter().copied().collect()
    };
    assert_eq!((of("m001", 0), of("m000", 0)), (alloc::vec![0, 1], alloc::vec![2]));
    assert_eq!((of("m001", 1), of("m000", 1)), (alloc::vec![0, 1], alloc::vec![2, 3]));
}
