//! Members of both protocols in one group, and groups that go from one to the other.

use super::*;
use crate::config::MigrationPolicy;
use crate::group::consumer::embedded::Assignment;
use crate::group::{
    GroupState, Heartbeat, JoinGroup, JoinReply, LeavingMember, OwnSettings, SyncGroup, Synced,
};

/// A `ConsumerProtocolSubscription` of version 1 for one topic, with these partitions of it owned.
fn subscription(topic: &str, owned: &[i32]) -> Bytes {
    let mut bytes = vec![0, 1, 0, 0, 0, 1, 0, topic.len() as u8];
    bytes.extend(topic.bytes());
    bytes.extend([0xff; 4]);
    bytes.extend([0, 0, 0, u8::from(!owned.is_empty())]);
    if !owned.is_empty() {
        bytes.extend([0, topic.len() as u8]);
        bytes.extend(topic.bytes());
        bytes.extend((owned.len() as i32).to_be_bytes());
        bytes.extend(owned.iter().flat_map(|partition| partition.to_be_bytes()));
    }
    Bytes::from(bytes)
}

fn classic_join(member: &str, owned: &[i32]) -> JoinGroup {
    let protocol = Protocol { name: Arc::from("range"), metadata: subscription("a", owned) };
    JoinGroup {
        group: group(),
        member: Arc::from(member),
        instance: None,
        client_id: Arc::from("old"),
        client_host: Arc::from("/h"),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: REBALANCE_MS,
        protocol_type: Arc::from(CONSUMER),
        protocols: vec![protocol],
        knows_member_id_required: true,
        knows_skip_assignment: true,
    }
}

impl World {
    fn old_join(&mut self, join: &JoinGroup) -> JoinReply {
        let to = self.ask(|groups, now, to| groups.join(now, to, join.clone()));
        if !self.answers.contains_key(&to) {
            self.later(0);
        }
        match self.answers.remove(&to) {
            Some(GroupReply::Join(reply)) => *reply,
            other => panic!("not {other:?}"),
        }
    }

    fn old_sync(
        &mut self,
        member: &str,
        generation: i32,
        given: &[(&str, &[i32])],
    ) -> Result<Vec<i32>, GroupError> {
        let assignments = given.iter().map(|(member, partitions)| {
            let named = vec![(TopicName::from("a"), partitions.to_vec())];
            (Arc::from(*member), Assignment::encode(&named, &subscription("a", &[])))
        });
        let sync = SyncGroup {
            group: group(),
            generation,
            member: Arc::from(member),
            instance: None,
            protocol_type: Some(Arc::from(CONSUMER)),
            protocol: Some(Arc::from("range")),
            assignments: assignments.collect(),
        };
        let to = self.ask(|groups, now, to| groups.sync(now, to, sync));
        match self.answers.remove(&to) {
            Some(GroupReply::Sync(result)) => {
                result.map(|Synced { assignment, .. }| partitions_of(&assignment))
            }
            other => panic!("not {other:?}"),
        }
    }

    fn old_heartbeat(&mut self, member: &str, generation: i32) -> Result<(), GroupError> {
        let beat =
            Heartbeat { group: group(), generation, member: Arc::from(member), instance: None };
        let result = self.groups.heartbeat(self.now, &beat);
        self.settle();
        result
    }

    /// A member of the old protocol without an id; its id.
    fn old_member(&mut self) -> MemberId {
        let id = self.old_join(&classic_join("", &[])).member;
        let joined = self.old_join(&classic_join(&id, &[]));
        assert_eq!(joined.result, Ok(()));
        id
    }

    fn generation(&self, member: &str) -> i32 {
        self.consumer().members[member].holding.epoch
    }
}

fn partitions_of(assignment: &Bytes) -> Vec<i32> {
    let named = Assignment::decode(assignment).unwrap().partitions;
    named.into_iter().flat_map(|(_, partitions)| partitions).collect()
}

/// A Stable classic group with one member that has everything.
fn classic_world(policy: MigrationPolicy) -> (World, MemberId) {
    let mut world = World::with(|config| config.consumer.migration = policy);
    let old = world.old_member();
    assert_eq!(world.old_sync(&old, 1, &[(&old, &[0, 1, 2, 3])]), Ok(vec![0, 1, 2, 3]));
    (world, old)
}

#[test]
fn a_classic_group_is_upgraded_member_by_member_and_goes_on() {
    let (mut world, old) = classic_world(MigrationPolicy::Bidirectional);
    let joined = world.beat(&joining("new", &["a"])).unwrap();
    assert!(world.is_consumer());
    assert_eq!(joined.assignment, Some(Partitions::new()), "the old member has everything");
    world.check_recovery();
    let about = world.consumer().members[&old].about.clone();
    assert_eq!((&*about.client_id, &*about.client_host), ("old", "/h"));
    assert_eq!(about.rebalance_timeout_ms, REBALANCE_MS);
    assert_eq!(world.old_heartbeat(&old, 1), Err(GroupError::RebalanceInProgress));
    // It joins saying what it has, and is told to let go; it joins again without that.
    let joined = world.old_join(&classic_join(&old, &[0, 1, 2, 3]));
    let kept = world.old_sync(&old, joined.generation, &[]).unwrap();
    assert_eq!(kept, [0, 1]);
    assert_eq!(
        world.old_heartbeat(&old, joined.generation),
        Err(GroupError::RebalanceInProgress),
        "it is to say that it has let go"
    );
    let joined = world.old_join(&classic_join(&old, &[0, 1]));
    assert_eq!(joined.generation, world.consumer().epoch);
    assert_eq!(world.old_sync(&old, joined.generation, &[]), Ok(vec![0, 1]));
    world.keep("new").unwrap();
    assert_eq!(world.assigned("new").len(), 2);
    assert_eq!(world.old_heartbeat(&old, joined.generation), Ok(()));
    assert_eq!(world.consumer().state(), ConsumerState::Stable);
    world.check_recovery();
}

/// What the static member "i" is given that comes back with the new protocol.
fn given_on_return(world: &mut World) -> Vec<i32> {
    let joined = world.beat(&by_instance("i", joining("new", &["a"]))).unwrap();
    joined.assignment.iter().flatten().flat_map(|(_, at)| at).copied().collect()
}

/// It says nothing new, and nobody had been given anything yet.
#[test]
fn a_static_member_that_joined_and_never_synced_is_given_partitions_with_the_new_protocol() {
    let mut world = World::with(|config| config.consumer.migration = MigrationPolicy::Upgrade);
    let old = JoinGroup { instance: Some(Arc::from("i")), ..classic_join("", &[]) };
    assert_eq!(world.old_join(&old).result, Ok(()));
    assert_eq!(given_on_return(&mut world), [0, 1, 2, 3]);
    world.check_recovery();
}

/// As a group is that was read from the log after its coordinator died in a rebalance.
#[test]
fn a_static_member_of_a_stable_group_that_was_given_nothing_is_given_partitions_when_it_returns() {
    let mut world = World::with(|config| config.consumer.migration = MigrationPolicy::Upgrade);
    let old = JoinGroup { instance: Some(Arc::from("i")), ..classic_join("", &[]) };
    let joined = world.old_join(&old);
    assert_eq!(world.old_sync(&joined.member, 1, &[(&joined.member, &[])]), Ok(Vec::new()));
    assert_eq!(world.groups.state("g"), Some(GroupState::Stable));
    assert_eq!(given_on_return(&mut world), [0, 1, 2, 3]);
    world.check_recovery();
}

/// With nobody left who speaks the new protocol, only their joins have a target computed.
#[test]
fn when_the_last_new_member_goes_and_the_group_may_not_go_back_the_old_ones_join_again() {
    let (mut world, old) = classic_world(MigrationPolicy::Upgrade);
    world.beat(&joining("new", &["a"])).unwrap();
    let joined = world.old_join(&classic_join(&old, &[]));
    assert_eq!(world.old_sync(&old, joined.generation, &[]), Ok(vec![0, 1]));
    world.keep("new").unwrap();
    world.beat(&beating("new", -1)).unwrap();
    assert!(world.is_consumer());
    let told = world.old_heartbeat(&old, joined.generation);
    assert_eq!(told, Err(GroupError::RebalanceInProgress));
    let joined = world.old_join(&classic_join(&old, &[0, 1]));
    assert_eq!(world.old_sync(&old, joined.generation, &[]), Ok(vec![0, 1, 2, 3]));
    assert_eq!(world.old_heartbeat(&old, joined.generation), Ok(()));
}

#[test]
fn when_the_last_new_member_goes_the_group_is_a_classic_one_again() {
    let (mut world, old) = classic_world(MigrationPolicy::Bidirectional);
    world.beat(&joining("new", &["a"])).unwrap();
    world.beat(&beating("new", -1)).unwrap();
    assert!(!world.is_consumer());
    assert_eq!(world.groups.state("g"), Some(GroupState::PreparingRebalance));
    assert_eq!(world.old_heartbeat(&old, 2), Err(GroupError::RebalanceInProgress));
    let joined = world.old_join(&classic_join(&old, &[0, 1, 2, 3]));
    assert_eq!((joined.result, joined.generation), (Ok(()), 3));
    world.check_recovery();
    world.later(10_001);
    world.later(10_001);
    assert_eq!(world.groups.state("g"), Some(GroupState::Empty));
}

#[test]
fn the_policy_says_which_way_a_group_may_go() {
    for (policy, up) in [
        (MigrationPolicy::Bidirectional, true),
        (MigrationPolicy::Upgrade, true),
        (MigrationPolicy::Downgrade, false),
        (MigrationPolicy::Disabled, false),
    ] {
        let (mut world, _) = classic_world(policy);
        let joined = world.beat(&joining("new", &["a"])).map(|_| ());
        let expected = if up { Ok(()) } else { Err(GroupError::GroupIdNotFound) };
        assert_eq!(joined, expected, "{policy:?}");
        assert_eq!(world.is_consumer(), up);
        if policy == MigrationPolicy::Upgrade {
            world.beat(&beating("new", -1)).unwrap();
            assert!(world.is_consumer(), "it may not go back");
        }
    }
    let mut world = World::with(|config| config.consumer.migration = MigrationPolicy::Disabled);
    world.join("new", &["a"]);
    let refused = world.old_join(&classic_join("", &[]));
    assert_eq!(refused.result, Err(GroupError::InconsistentProtocol));
}

#[test]
fn groups_that_are_not_of_consumers_and_custom_assignments_stay_classic() {
    let mut world = World::new();
    let connect = JoinGroup { protocol_type: Arc::from("connect"), ..classic_join("", &[]) };
    let id = world.old_join(&connect).member;
    world.old_join(&JoinGroup { member: id, ..connect });
    assert_eq!(world.beat(&joining("new", &["a"])), Err(GroupError::GroupIdNotFound));
    assert_eq!(world.groups.state("g"), Some(GroupState::CompletingRebalance), "as it was");
}

#[test]
fn an_upgrade_that_could_not_be_written_leaves_the_classic_group() {
    let (mut world, old) = classic_world(MigrationPolicy::Bidirectional);
    world.persists = false;
    let joins = world.start(&joining("new", &["a"]));
    world.fail();
    assert!(world.answer(joins).unwrap().is_err());
    assert!(!world.is_consumer());
    assert_eq!(world.old_heartbeat(&old, 1), Ok(()));
    world.persists = true;
    world.later(10_001);
    assert_eq!(world.groups.state("g"), Some(GroupState::Empty), "its session goes on");
}

/// verdict-sim seed 5149: nobody was waited for any more, and who joined waited for ever.
#[test]
fn a_rebalance_goes_on_after_an_upgrade_that_could_not_be_written() {
    let mut world = World::with(|config| config.initial_rebalance_delay_ms = 3_000);
    let id = world.old_join(&classic_join("", &[])).member;
    let join = |world: &mut World| {
        world.ask(|groups, now, to| groups.join(now, to, classic_join(&id, &[])))
    };
    let first = join(&mut world);
    assert_eq!(world.groups.state("g"), Some(GroupState::PreparingRebalance));
    world.persists = false;
    world.start(&joining("new", &["a"]));
    world.fail();
    world.persists = true;
    assert!(world.answers.contains_key(&first), "it was told to join again");
    assert_eq!(world.groups.state("g"), Some(GroupState::PreparingRebalance));
    let again = join(&mut world);
    world.later(1);
    assert!(world.answers.contains_key(&again), "everybody is there");
    assert_eq!(world.groups.state("g"), Some(GroupState::CompletingRebalance));
}

#[test]
fn an_empty_group_is_whatever_comes_next() {
    let mut world = World::new();
    world.join("new", &["a"]);
    world.beat(&beating("new", -1)).unwrap();
    let old = world.old_member();
    assert!(!world.is_consumer());
    world.check_recovery();
    let leaving = vec![LeavingMember { id: old, instance: None }];
    world.ask(|groups, now, to| groups.leave(now, to, &group(), leaving));
    assert_eq!(world.groups.state("g"), Some(GroupState::Empty));
    world.join("new", &["a"]);
    assert!(world.is_consumer());
    world.check_recovery();
}

#[test]
fn an_old_member_that_is_told_to_join_and_does_not_is_out() {
    let (mut world, old) = classic_world(MigrationPolicy::Bidirectional);
    world.join("new", &["a"]);
    for _ in 0..4 {
        let generation = world.generation(&old);
        assert_eq!(world.old_heartbeat(&old, generation), Err(GroupError::RebalanceInProgress));
        world.keep("new").unwrap();
        world.later(8_000);
        if !world.consumer().members.contains_key(&old) {
            break;
        }
    }
    assert!(!world.consumer().members.contains_key(&old));
    world.keep("new").unwrap();
    assert_eq!(world.assigned("new").len(), 4);
}

#[test]
fn an_old_member_leaves_a_consumer_group() {
    let (mut world, old) = classic_world(MigrationPolicy::Bidirectional);
    world.join("new", &["a"]);
    let leaving = vec![
        LeavingMember { id: old.clone(), instance: None },
        LeavingMember { id: Arc::from("x"), instance: None },
    ];
    let to = world.ask(|groups, now, to| groups.leave(now, to, &group(), leaving));
    let Some(GroupReply::Leave(reply)) = world.answers.remove(&to) else { panic!("no answer") };
    let results: Vec<_> = reply.members.iter().map(|(_, result)| *result).collect();
    assert_eq!(results, [Ok(()), Err(GroupError::UnknownMember)]);
    assert_eq!(world.consumer().members.len(), 1);
}

/// verdict-sim seed 5069: the last member of the new protocol took its partitions with it.
#[test]
fn the_rebalance_of_a_downgraded_group_outlives_its_coordinator() {
    let (mut world, old) = classic_world(MigrationPolicy::Bidirectional);
    world.join("new", &["a"]);
    world.beat(&beating("new", -1)).unwrap();
    assert_eq!(world.groups.state("g"), Some(GroupState::PreparingRebalance));
    world.groups = world.reloaded();
    assert_eq!(world.groups.state("g"), Some(GroupState::PreparingRebalance));
    let joined = world.old_join(&classic_join(&old, &[0, 1, 2, 3]));
    assert_eq!(joined.leader, old);
    let given = world.old_sync(&old, joined.generation, &[(&old, &[0, 1, 2, 3])]);
    assert_eq!(given, Ok(vec![0, 1, 2, 3]));
    world.groups = world.reloaded();
    assert_eq!(world.groups.state("g"), Some(GroupState::Stable), "once is enough");
}

#[test]
fn a_downgrade_that_could_not_be_written_answers_who_waits_and_leaves_the_consumer_group() {
    let (mut world, old) = classic_world(MigrationPolicy::Bidirectional);
    world.beat(&joining("new", &["a"])).unwrap();
    let before = world.consumer();
    world.persists = false;
    world.start(&beating("new", -1));
    let joined = world.old_join(&classic_join(&old, &[0, 1, 2, 3]));
    let sync = SyncGroup {
        group: group(),
        generation: joined.generation,
        member: old,
        instance: None,
        protocol_type: None,
        protocol: None,
        assignments: BTreeMap::new(),
    };
    let waits = world.ask(|groups, now, to| groups.sync(now, to, sync));
    assert!(!world.answers.contains_key(&waits), "its assignment is being written");
    world.fail();
    assert!(matches!(world.answers.remove(&waits), Some(GroupReply::Sync(Err(_)))));
    assert_eq!(world.consumer(), before);
    world.persists = true;
    world.keep("new").unwrap();
    world.check_recovery();
}

/// A consumer group of one new member that has everything, and an old one that waits for its share.
fn consumer_world() -> (World, MemberId) {
    let mut world = World::new();
    world.join("new", &["a"]);
    world.confirm("new").unwrap();
    let old = world.old_join(&classic_join("", &[])).member;
    let joined = world.old_join(&classic_join(&old, &[]));
    assert_eq!(joined.result, Ok(()));
    assert_eq!(world.old_sync(&old, joined.generation, &[]), Ok(vec![]));
    (world, old)
}

#[test]
fn an_old_member_joins_again_when_what_it_waits_for_is_free_and_not_before() {
    let (mut world, old) = consumer_world();
    let generation = world.generation(&old);
    assert_eq!(world.old_heartbeat(&old, generation), Ok(()), "another has them still");
    world.keep("new").unwrap();
    assert_eq!(world.old_heartbeat(&old, generation), Ok(()), "it was told to let go");
    world.confirm("new").unwrap();
    let told = world.old_heartbeat(&old, generation);
    assert_eq!(told, Err(GroupError::RebalanceInProgress));
    let joined = world.old_join(&classic_join(&old, &[]));
    let given = world.old_sync(&old, joined.generation, &[]).unwrap();
    assert_eq!(given.len(), 2);
}

#[test]
fn an_old_member_with_nothing_to_do_is_left_alone_however_long() {
    let (mut world, old) = consumer_world();
    world.keep("new").unwrap();
    world.confirm("new").unwrap();
    let joined = world.old_join(&classic_join(&old, &[]));
    let owned = world.old_sync(&old, joined.generation, &[]).unwrap();
    let epoch = world.consumer().epoch;
    for _ in 0..5 {
        world.later(3_000);
        world.confirm("new").unwrap();
        assert_eq!(world.old_heartbeat(&old, joined.generation), Ok(()));
    }
    let again = world.old_join(&classic_join(&old, &owned));
    assert_eq!((again.result, again.generation), (Ok(()), joined.generation));
    assert_eq!(world.consumer().epoch, epoch, "it said nothing new");
}

#[test]
fn an_old_member_joins_for_a_new_target_and_not_for_one_that_is_put_off() {
    let (mut world, old) = consumer_world();
    world.keep("new").unwrap();
    world.confirm("new").unwrap();
    let generation = world.old_join(&classic_join(&old, &[])).generation;
    assert_eq!(world.old_sync(&old, generation, &[]).map(|given| given.len()), Ok(2));
    let own = OwnSettings { assignment_interval_ms: Some(5_000), ..OwnSettings::default() };
    world.groups.settings_changed(&group(), own);
    world.join("another", &["a"]);
    assert_eq!(world.old_heartbeat(&old, generation), Ok(()), "there is no new target yet");
    world.later(5_001);
    world.keep("new").unwrap();
    let told = world.old_heartbeat(&old, generation);
    assert_eq!(told, Err(GroupError::RebalanceInProgress));
}

#[test]
fn a_sync_of_an_old_member_goes_by_its_protocol_and_by_the_newest_target() {
    let (world, old) = consumer_world();
    let generation = world.generation(&old);
    let sync = |world: &mut World, kind: &str, protocol: &str| {
        let sync = SyncGroup {
            group: group(),
            generation,
            member: old.clone(),
            instance: None,
            protocol_type: Some(Arc::from(kind)),
            protocol: Some(Arc::from(protocol)),
            assignments: BTreeMap::new(),
        };
        let to = world.ask(|groups, now, to| groups.sync(now, to, sync));
        match world.answers.remove(&to) {
            Some(GroupReply::Sync(result)) => result.map(|_| ()),
            other => panic!("not {other:?}"),
        }
    };
    for (kind, protocol, answer) in [
        (CONSUMER, "range", Ok(())),
        ("connect", "range", Err(GroupError::InconsistentProtocol)),
        (CONSUMER, "sticky", Err(GroupError::InconsistentProtocol)),
    ] {
        assert_eq!(sync(&mut world.clone(), kind, protocol), answer, "{kind} {protocol}");
    }
    let mut world = world;
    world.later(2_000);
    world.join("another", &["a"]);
    assert_eq!(sync(&mut world, CONSUMER, "range"), Err(GroupError::RebalanceInProgress));
}

#[test]
fn an_old_member_needs_a_consumers_protocol_that_the_other_old_ones_know() {
    let (mut world, _) = consumer_world();
    let named = |name: &str| Protocol { name: Arc::from(name), metadata: subscription("a", &[]) };
    let other = JoinGroup { protocols: vec![named("sticky")], ..classic_join("", &[]) };
    assert_eq!(world.old_join(&other).result, Err(GroupError::InconsistentProtocol));
    let connect = JoinGroup { protocol_type: Arc::from("connect"), ..classic_join("", &[]) };
    assert_eq!(world.old_join(&connect).result, Err(GroupError::InconsistentProtocol));
    let both =
        JoinGroup { protocols: vec![named("sticky"), named("range")], ..classic_join("", &[]) };
    assert_eq!(world.old_join(&both).result, Err(GroupError::MemberIdRequired), "it may join");
}

/// A consumer group of a static member "i" and perhaps others, which comes back with the old protocol.
fn with_a_static_member(others: bool, policy: MigrationPolicy) -> World {
    let mut world = World::with(|config| config.consumer.migration = policy);
    world.beat(&by_instance("i", joining("m", &["a"]))).unwrap();
    if others {
        world.join("new", &["a"]);
    }
    world.beat(&by_instance("i", beating("m", -2))).unwrap();
    let back = JoinGroup { instance: Some(Arc::from("i")), ..classic_join("", &[]) };
    assert_eq!(world.old_join(&back).result, Ok(()));
    world
}

#[test]
fn when_the_last_new_member_comes_back_with_the_old_protocol_the_group_is_a_classic_one() {
    use MigrationPolicy::{Bidirectional, Upgrade};
    assert!(!with_a_static_member(false, Bidirectional).is_consumer());
    assert!(with_a_static_member(true, Bidirectional).is_consumer(), "another is new still");
    assert!(with_a_static_member(false, Upgrade).is_consumer(), "it may not go back");
}

#[test]
fn a_static_old_member_comes_back_to_a_consumer_group_in_its_own_place() {
    let mut world = World::new();
    world.join("new", &["a"]);
    let first = JoinGroup { instance: Some(Arc::from("i")), ..classic_join("", &[]) };
    let before = world.old_join(&first).member;
    assert_eq!(world.consumer().members.len(), 2);
    let after = world.old_join(&first);
    assert_eq!(after.result, Ok(()));
    assert_ne!(after.member, before);
    assert_eq!(world.consumer().members.len(), 2, "the same member under another id");
    let known = JoinGroup { member: after.member.clone(), ..first.clone() };
    assert_eq!(world.old_join(&known).result, Ok(()));
    let former = JoinGroup { member: before, ..first };
    assert_eq!(world.old_join(&former).result, Err(GroupError::FencedInstance));
}

#[test]
fn a_static_old_member_is_taken_out_by_its_instance_id_alone_or_with_its_own_member_id() {
    for (names_itself, id, answer) in
        [(true, "", Ok(())), (false, "", Ok(())), (false, "x", Err(GroupError::FencedInstance))]
    {
        let mut world = World::new();
        world.join("new", &["a"]);
        let join = JoinGroup { instance: Some(Arc::from("i")), ..classic_join("", &[]) };
        let member = world.old_join(&join).member;
        let id = if names_itself { member } else { Arc::from(id) };
        let leaving = vec![LeavingMember { id, instance: Some(Arc::from("i")) }];
        let to = world.ask(|groups, now, to| groups.leave(now, to, &group(), leaving));
        let Some(GroupReply::Leave(reply)) = world.answers.remove(&to) else { panic!("no answer") };
        assert_eq!(reply.members[0].1, answer);
        let left = if answer.is_ok() { 1 } else { 2 };
        assert_eq!(world.consumer().members.len(), left);
    }
}
