//! Static members (KIP-345, KIP-814).

use super::*;

/// A Stable group of the static members `i` and `j` in generation 1: its leader and the other.
fn two(world: &mut World) -> (As, As) {
    let (i, j) = (static_member("", "i"), static_member("", "j"));
    let (join_i, join_j) = (world.join(&i), world.join(&j));
    world.pass_ms(6_000);
    let (reply_i, reply_j) = (world.joined(join_i), world.joined(join_j));
    let leader_is_i = reply_i.leader == reply_i.member;
    let (i, j) = (As { member: reply_i.member, ..i }, As { member: reply_j.member, ..j });
    assert!(i.member.starts_with("i-"));
    let (leader, other) = if leader_is_i { (i, j) } else { (j, i) };
    let sync = world.sync(&leader, 1, &[(&leader.member, "L"), (&other.member, "O")]);
    assert_eq!(world.synced(sync), Ok(Bytes::from_static(b"L")));
    let sync = world.sync(&other, 1, &[]);
    assert_eq!(world.synced(sync), Ok(Bytes::from_static(b"O")));
    (leader, other)
}

fn restarted(who: &As) -> As {
    As { member: Arc::from(""), ..who.clone() }
}

#[test]
fn a_restarted_follower_keeps_its_assignment_and_fences_its_former_self() {
    let mut world = World::new();
    let (leader, other) = two(&mut world);
    let to = world.join(&restarted(&other));
    let reply = world.joined(to);
    assert_eq!((reply.result, reply.generation), (Ok(()), 1));
    assert_ne!(reply.member, other.member);
    assert!(reply.members.is_empty() && !reply.skip_assignment);
    assert_eq!(world.beat(&leader, 1), Ok(()), "no rebalance");
    assert_eq!(world.beat(&other, 1), Err(GroupError::FencedInstance));
    let now = As { member: reply.member, ..other };
    let sync = world.sync(&now, 1, &[]);
    assert_eq!(world.synced(sync), Ok(Bytes::from_static(b"O")));
    let mut world = world.crash();
    assert_eq!(world.beat(&now, 1), Ok(()), "the new id is persisted");
}

#[test]
fn a_restarted_leader_is_told_to_keep_the_assignment_or_that_another_leads() {
    for new_client in [true, false] {
        let mut world = World::new();
        let (leader, _) = two(&mut world);
        let to = world.join(&As { new_client, ..restarted(&leader) });
        let reply = world.joined(to);
        assert_eq!(reply.generation, 1);
        assert_eq!(reply.skip_assignment, new_client);
        assert_eq!(reply.leader == reply.member, new_client);
        assert_eq!(reply.members.len(), if new_client { 2 } else { 0 });
    }
}

#[test]
fn a_restarted_member_with_another_choice_of_protocols_brings_a_rebalance() {
    let mut world = World::new();
    let (leader, other) = two(&mut world);
    let to = world.join(&As { protocols: &[("sticky", "m")], ..restarted(&other) });
    assert!(world.waits(to));
    assert_eq!(world.beat(&leader, 1), Err(GroupError::RebalanceInProgress));
    let led = world.join(&leader);
    let (reply, led) = (world.joined(to), world.joined(led));
    assert_eq!((reply.generation, led.generation), (2, 2));
    assert_eq!(led.protocol.as_deref(), Some("sticky"));
}

#[test]
fn a_return_that_the_group_does_not_wait_for_joins_like_anybody() {
    let mut world = World::new();
    let (leader, other) = two(&mut world);
    world.persists = false;
    let to = world.join(&restarted(&other));
    let led = world.join(&As { protocols: &[("range", "x"), ("sticky", "m")], ..leader });
    world.persist();
    world.settle();
    let (reply, led) = (world.joined(to), world.joined(led));
    assert_eq!((reply.generation, led.generation), (2, 2));
}

#[test]
fn two_that_return_at_once_are_both_persisted() {
    let mut world = World::new();
    let (leader, other) = two(&mut world);
    world.persists = false;
    let joins = [world.join(&restarted(&leader)), world.join(&restarted(&other))];
    world.persist();
    world.persist();
    world.settle();
    for (to, before) in joins.into_iter().zip([&leader, &other]) {
        let reply = world.joined(to);
        assert_eq!((reply.result, reply.generation), (Ok(()), 1));
        let mut world = world.clone().crash();
        assert_eq!(world.beat(before, 1), Err(GroupError::FencedInstance));
        assert_eq!(world.beat(&As { member: reply.member, ..before.clone() }, 1), Ok(()));
    }
}

#[test]
fn of_two_that_return_under_one_instance_id_the_later_one_counts() {
    let mut world = World::new();
    let (_, other) = two(&mut world);
    world.persists = false;
    let (first, second) = (world.join(&restarted(&other)), world.join(&restarted(&other)));
    world.persist();
    world.persist();
    world.settle();
    assert_eq!(world.joined(first).result, Err(GroupError::FencedInstance));
    let reply = world.joined(second);
    assert_eq!(reply.result, Ok(()));
    let now = As { member: reply.member, ..other };
    assert_eq!(world.crash().beat(&now, 1), Ok(()));
}

#[test]
fn a_return_that_cannot_be_written_changes_nothing() {
    let mut world = World::new();
    let (_, other) = two(&mut world);
    world.persists = false;
    let to = world.join(&restarted(&other));
    world.fail();
    assert_eq!(world.joined(to).result, Err(GroupError::Log(ErrorCode::KafkaStorageError)));
    assert_eq!(world.beat(&other, 1), Ok(()));
}

#[test]
fn a_static_member_may_be_away_for_its_session_and_is_removed_by_its_instance_id() {
    let mut world = World::new();
    let (leader, other) = two(&mut world);
    world.pass_ms(9_000);
    world.beat(&leader, 1).unwrap();
    let to = world.leave(&restarted(&other));
    assert_eq!(world.left(to), Ok(()));
    let to = world.leave(&restarted(&other));
    assert_eq!(world.left(to), Err(GroupError::UnknownMember));
    assert_eq!(world.beat(&leader, 1), Err(GroupError::RebalanceInProgress));
}

#[test]
fn the_wrong_member_under_an_instance_id_is_fenced_everywhere() {
    let mut world = World::new();
    let (leader, other) = two(&mut world);
    let wrong = As { member: leader.member.clone(), ..other.clone() };
    let unknown = As { instance: Some("k"), ..other };
    for (who, error) in
        [(&wrong, GroupError::FencedInstance), (&unknown, GroupError::UnknownMember)]
    {
        assert_eq!(world.beat(who, 1), Err(error));
        let to = world.join(who);
        assert_eq!(world.joined(to).result, Err(error));
        let to = world.sync(who, 1, &[]);
        assert_eq!(world.synced(to), Err(error));
        let to = world.leave(who);
        assert_eq!(world.left(to), Err(error));
    }
}

#[test]
fn a_static_leader_that_stays_away_from_a_rebalance_leads_no_more() {
    let mut world = World::new();
    let (leader, other) = two(&mut world);
    let to = world.join(&As { protocols: &[("range", "new"), ("sticky", "new")], ..other.clone() });
    for _ in 0..7 {
        world.beat(&leader, 1).ok();
        world.pass_ms(5_000);
    }
    let reply = world.joined(to);
    assert_eq!((reply.result, reply.leader), (Ok(()), other.member));
}
