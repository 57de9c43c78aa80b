//! What members live through, in virtual time.

use super::*;

#[test]
fn two_members_join_sync_heartbeat_and_one_leaves() {
    let mut world = World::new();
    let (leader, other) = world.two();
    assert_eq!(world.beat(&leader, 1), Ok(()));
    let leave = world.leave(&other);
    assert_eq!(world.left(leave), Ok(()));
    assert_eq!(world.beat(&leader, 1), Err(GroupError::RebalanceInProgress));
    let again = world.join(&leader);
    let reply = world.joined(again);
    assert_eq!((reply.generation, reply.members.len()), (2, 1));
    let sync = world.sync(&leader, 2, &[(&leader.member, "all")]);
    assert_eq!(world.synced(sync), Ok(Bytes::from_static(b"all")));
}

#[test]
fn the_leader_alone_is_told_of_everybody_and_member_ids_begin_with_the_clients() {
    let mut world = World::new();
    let (a, join_a) = world.enter(&member(""));
    let (b, join_b) = world.enter(&member(""));
    assert!(a.member.starts_with("c-") && a.member != b.member);
    assert_eq!(a.member.len(), 2 + 36);
    assert!(world.waits(join_a), "the first rebalance is delayed");
    world.pass_ms(6_000);
    let replies = [world.joined(join_a), world.joined(join_b)];
    let leaders = replies.iter().filter(|one| one.leader == one.member).collect::<Vec<_>>();
    assert_eq!(leaders.len(), 1);
    assert_eq!(leaders[0].members.len(), 2);
    assert_eq!(replies.iter().map(|one| one.members.len()).sum::<usize>(), 2);
    assert_eq!(replies[0].protocol.as_deref(), Some("range"));
}

#[test]
fn a_first_rebalance_is_extended_while_members_come_and_no_further_than_its_timeout() {
    let mut world = World::new();
    let (_, first) = world.enter(&member(""));
    world.pass_ms(2_900);
    let (_, second) = world.enter(&member(""));
    world.pass_ms(200);
    assert!(world.waits(first), "a member came: three seconds more");
    world.pass_ms(3_000);
    assert!(!world.waits(first) && !world.waits(second));
    let mut world = World::new();
    let (_, first) = world.enter(&member(""));
    for _ in 0..9 {
        world.pass_ms(2_900);
        world.enter(&member(""));
        assert!(world.waits(first));
    }
    world.pass_ms(5_000);
    assert!(!world.waits(first), "thirty seconds are the limit");
}

#[test]
fn a_silent_member_is_out_after_its_session_and_the_others_rebalance() {
    let mut world = World::new();
    let (leader, other) = world.two();
    for _ in 0..4 {
        world.pass_ms(3_000);
        let _ = world.beat(&leader, 1);
    }
    assert_eq!(world.beat(&leader, 1), Err(GroupError::RebalanceInProgress));
    assert_eq!(world.beat(&other, 1), Err(GroupError::UnknownMember));
    let again = world.join(&leader);
    assert_eq!(world.joined(again).generation, 2);
    world.pass_ms(60_000);
    assert_eq!(world.state(), Some(GroupState::Empty), "it never asked for its assignment");
}

#[test]
fn a_commit_is_a_sign_of_life_and_a_lost_connection_is_none() {
    let mut world = World::new();
    let (leader, other) = world.two();
    for _ in 0..4 {
        world.pass_ms(3_000);
        world.beat(&other, 1).unwrap();
        let to = world.ask();
        world.groups.commit(world.now, to, &offsets::commit(&leader.member, None, 1, 9));
        world.settle();
        assert_eq!(offsets::code(&mut world, to), ErrorCode::None);
    }
    assert_eq!(world.beat(&leader, 1), Ok(()));
}

#[test]
fn who_does_not_join_again_in_time_is_out_and_another_leads() {
    let mut world = World::new();
    let (leader, other) = world.two();
    let (third, join) = world.enter(&member(""));
    assert!(world.waits(join));
    for _ in 0..9 {
        world.pass_ms(3_000);
        for who in [&leader, &other] {
            assert_eq!(world.beat(who, 1), Err(GroupError::RebalanceInProgress));
        }
    }
    let again = world.join(&other);
    world.pass_ms(4_000);
    let (reply, third_reply) = (world.joined(again), world.joined(join));
    assert_eq!((reply.generation, reply.leader), (2, third_reply.leader.clone()));
    assert_ne!(third_reply.leader, leader.member);
    assert_eq!(third_reply.member, third.member);
    assert_eq!(world.beat(&leader, 2), Err(GroupError::UnknownMember));
}

#[test]
fn who_never_asks_for_its_assignment_is_out() {
    let mut world = World::new();
    let (leader, other) = world.two();
    let (third, join) = world.enter(&member(""));
    let (again, other_again) = (world.join(&leader), world.join(&other));
    let replies = [world.joined(join), world.joined(again), world.joined(other_again)];
    assert!(replies.iter().all(|one| one.generation == 2));
    let sync = world.sync(&leader, 2, &[]);
    assert_eq!(world.synced(sync), Ok(Bytes::new()), "who is not mentioned gets nothing");
    let sync = world.sync(&other, 2, &[]);
    assert_eq!(world.synced(sync), Ok(Bytes::new()));
    for _ in 0..10 {
        world.pass_ms(3_000);
        for who in [&leader, &other, &third] {
            let _ = world.beat(who, 2);
        }
    }
    world.pass_ms(1_000);
    assert_eq!(world.beat(&leader, 2), Err(GroupError::RebalanceInProgress));
    assert_eq!(world.beat(&third, 2), Err(GroupError::UnknownMember));
}

#[test]
fn an_assignment_counts_when_it_is_persisted() {
    let mut world = World::new();
    let (leader, join) = world.enter(&member(""));
    world.pass_ms(4_000);
    world.joined(join);
    world.persists = false;
    let sync = world.sync(&leader, 1, &[(&leader.member, "all")]);
    assert!(world.waits(sync));
    assert_eq!(world.state(), Some(GroupState::CompletingRebalance));
    world.persist();
    world.settle();
    assert_eq!(world.synced(sync), Ok(Bytes::from_static(b"all")));
}

#[test]
fn an_assignment_that_cannot_be_written_makes_the_members_join_again() {
    let mut world = World::new();
    let (leader, join) = world.enter(&member(""));
    world.pass_ms(4_000);
    world.joined(join);
    world.persists = false;
    let sync = world.sync(&leader, 1, &[(&leader.member, "all")]);
    world.fail();
    assert_eq!(world.synced(sync), Err(GroupError::Log(ErrorCode::KafkaStorageError)));
    assert_eq!(world.beat(&leader, 1), Err(GroupError::RebalanceInProgress));
}

#[test]
fn an_assignment_of_a_generation_that_is_over_changes_nothing() {
    let mut world = World::new();
    let (leader, join) = world.enter(&member(""));
    world.pass_ms(4_000);
    world.joined(join);
    world.persists = false;
    let sync = world.sync(&leader, 1, &[(&leader.member, "all")]);
    let (_, join) = world.enter(&member(""));
    assert_eq!(world.synced(sync), Err(GroupError::RebalanceInProgress));
    world.persist();
    world.settle();
    assert_eq!(world.state(), Some(GroupState::PreparingRebalance));
    let again = world.join(&leader);
    assert_eq!((world.joined(join).generation, world.joined(again).generation), (2, 2));
}

#[test]
fn a_coordinator_that_starts_again_knows_the_members_and_restarts_their_sessions() {
    let mut world = World::new();
    let (leader, other) = world.two();
    world.pass_ms(9_000);
    let mut world = world.crash();
    assert_eq!(world.state(), Some(GroupState::Stable));
    world.pass_ms(9_000);
    assert_eq!(world.beat(&leader, 1), Ok(()));
    assert_eq!(world.beat(&other, 1), Ok(()));
    let sync = world.sync(&other, 1, &[]);
    assert_eq!(world.synced(sync), Ok(Bytes::from_static(b"O")));
    world.pass_ms(11_000);
    world.pass_ms(60_000);
    assert_eq!(world.state(), Some(GroupState::Empty));
    let world = world.crash();
    assert_eq!(world.state(), Some(GroupState::Empty));
    assert_eq!(world.groups.next_timeout(), None);
}

#[test]
fn an_id_that_is_not_joined_with_lapses_and_holds_up_a_rebalance_until_then() {
    let mut world = World::new();
    let (leader, other) = world.two();
    let to = world.join(&member(""));
    let pending = As { member: world.joined(to).member, ..member("") };
    let again = As { protocols: &[("range", "new"), ("sticky", "m")], ..other.clone() };
    let (again, led) = (world.join(&again), world.join(&leader));
    assert!(world.waits(again) && world.waits(led), "the id may still be joined with");
    world.pass_ms(10_000);
    assert_eq!((world.joined(again).generation, world.joined(led).generation), (2, 2));
    let to = world.join(&pending);
    assert_eq!(world.joined(to).result, Err(GroupError::UnknownMember));
}

#[test]
fn a_full_group_refuses_new_members_and_keeps_its_own() {
    let mut world = World::with(|config| config.members_max = 2);
    let (leader, _) = world.two();
    let to = world.join(&As { new_client: false, ..member("") });
    assert_eq!(world.joined(to).result, Err(GroupError::MaxSizeReached));
    assert_eq!(world.beat(&leader, 1), Ok(()));
}

#[test]
fn a_group_that_waits_for_its_members_is_full_with_as_many_as_wait() {
    let mut world = World::with(|config| config.members_max = 1);
    let (first, join) = world.enter(&member(""));
    let to = world.join(&As { new_client: false, ..member("") });
    assert_eq!(world.joined(to).result, Err(GroupError::MaxSizeReached));
    world.pass_ms(6_000);
    let reply = world.joined(join);
    assert_eq!((reply.result, reply.leader), (Ok(()), first.member));
}

#[test]
fn a_loaded_group_rebalances_only_when_it_has_more_members_than_it_may_have() {
    for (members_max, state) in
        [(1, GroupState::PreparingRebalance), (2, GroupState::Stable), (3, GroupState::Stable)]
    {
        let mut world = World::new();
        world.two();
        world.groups.config.members_max = members_max;
        assert_eq!(world.crash().state(), Some(state), "{members_max} may be in it");
    }
}

#[test]
fn the_leave_of_a_stranger_disturbs_nobody() {
    let mut world = World::new();
    let (leader, other) = world.two();
    let to = world.leave(&member("stranger"));
    assert_eq!(world.left(to), Err(GroupError::UnknownMember));
    assert_eq!(world.state(), Some(GroupState::Stable));
    for who in [&leader, &other] {
        assert_eq!(world.beat(who, 1), Ok(()));
    }
}

#[test]
fn the_protocol_that_most_members_like_best_is_chosen() {
    const RANGE_FIRST: &[(&str, &str)] = &[("range", "m"), ("sticky", "m")];
    const STICKY_FIRST: &[(&str, &str)] = &[("sticky", "m"), ("range", "m")];
    let mut world = World::new();
    let joins = [RANGE_FIRST, STICKY_FIRST, STICKY_FIRST]
        .map(|protocols| world.enter(&As { protocols, ..member("") }).1);
    world.pass_ms(9_000);
    for to in joins {
        assert_eq!(world.joined(to).protocol.as_deref(), Some("sticky"));
    }
}

#[test]
fn a_sync_that_names_another_protocol_than_the_groups_is_refused() {
    let mut world = World::new();
    let (leader, _) = world.two();
    for (kind, protocol, answer) in [
        (Some("consumer"), Some("range"), Ok(())),
        (Some("connect"), Some("range"), Err(GroupError::InconsistentProtocol)),
        (Some("consumer"), Some("sticky"), Err(GroupError::InconsistentProtocol)),
        (None, Some("sticky"), Err(GroupError::InconsistentProtocol)),
    ] {
        let to = world.ask();
        let sync = SyncGroup {
            group: "g".into(),
            generation: 1,
            member: leader.member.clone(),
            instance: None,
            protocol_type: kind.map(Arc::from),
            protocol: protocol.map(Arc::from),
            assignments: BTreeMap::new(),
        };
        world.groups.sync(world.now, to, sync);
        world.settle();
        assert_eq!(world.synced(to).map(|_| ()), answer, "{kind:?} {protocol:?}");
    }
}

#[test]
fn the_second_join_and_sync_of_a_member_answer_the_first() {
    let mut world = World::new();
    let (a, first) = world.enter(&member(""));
    let second = world.join(&a);
    assert_eq!(world.joined(first).result, Err(GroupError::RebalanceInProgress));
    let (b, join_b) = world.enter(&member(""));
    world.pass_ms(6_000);
    let leads = world.joined(second).leader == a.member;
    world.joined(join_b);
    let other = if leads { &b } else { &a };
    let first = world.sync(other, 1, &[]);
    let second = world.sync(other, 1, &[]);
    assert_eq!(world.synced(first), Err(GroupError::RebalanceInProgress));
    assert!(world.waits(second));
}

#[test]
fn resigning_answers_everybody_who_waits_and_leaves_no_timer() {
    let mut world = World::new();
    let (a, join) = world.enter(&member(""));
    world.pass_ms(4_000);
    world.joined(join);
    let (_, join) = world.enter(&member(""));
    world.groups.resign(0);
    world.settle();
    assert_eq!(world.joined(join).result, Err(GroupError::NotCoordinator));
    assert_eq!(world.groups.next_timeout(), None);
    assert_eq!(world.beat(&a, 1), Err(GroupError::NotCoordinator));
}

#[test]
fn an_empty_group_without_offsets_is_forgotten_and_can_be_deleted() {
    let mut world = World::new();
    let (leader, other) = world.two();
    let to = world.ask();
    world.groups.delete_group(world.now, to, &Arc::from("g"));
    world.settle();
    let refused = GroupReply::Deleted(Arc::from("g"), Err(GroupError::NonEmptyGroup));
    assert_eq!(world.answers.remove(&to), Some(refused));
    for who in [&leader, &other] {
        let to = world.leave(who);
        assert_eq!(world.left(to), Ok(()));
    }
    // The one that is left over joins no more: its session, then the join's time.
    world.pass_ms(60_000);
    assert_eq!(world.state(), Some(GroupState::Empty));
    world.groups.expire_offsets(world.now);
    world.settle();
    assert_eq!(world.state(), None);
    assert_eq!(world.clone().crash().state(), None);
}
