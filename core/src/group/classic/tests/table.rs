//! The table of spec 14.1, state by state.

use alloc::string::String;

use super::*;
use GroupState::{CompletingRebalance, Empty, PreparingRebalance, Stable};

/// A group in a state, with a member of it and its generation. In Empty it is a former one.
fn in_state(state: GroupState) -> (World, As, i32) {
    let mut world = World::new();
    let (leader, other) = world.two();
    match state {
        Stable => {}
        PreparingRebalance | CompletingRebalance => {
            let again = As { protocols: &[("range", "x"), ("sticky", "m")], ..other };
            world.join(&again);
            if state == CompletingRebalance {
                world.join(&leader);
            }
        }
        _ => {
            for who in [&leader, &other] {
                world.leave(who);
            }
            world.pass_ms(60_000);
        }
    }
    assert_eq!(world.state(), Some(state));
    let generation = if state == CompletingRebalance { 2 } else { 1 };
    (world, leader, generation)
}

#[test]
fn heartbeats() {
    use GroupError::{IllegalGeneration, RebalanceInProgress, UnknownMember};
    for (state, answer) in [
        (Empty, Err(UnknownMember)),
        (PreparingRebalance, Err(RebalanceInProgress)),
        (CompletingRebalance, Ok(())),
        (Stable, Ok(())),
    ] {
        let (mut world, who, generation) = in_state(state);
        assert_eq!(world.beat(&who, generation), answer, "{state:?}");
        if state != Empty {
            assert_eq!(world.beat(&who, generation + 1), Err(IllegalGeneration), "{state:?}");
            assert_eq!(world.beat(&member("x"), generation), Err(UnknownMember), "{state:?}");
        }
    }
    assert_eq!(World::new().beat(&member("x"), 1), Err(UnknownMember), "no such group");
}

#[test]
fn syncs() {
    use GroupError::{IllegalGeneration, RebalanceInProgress, UnknownMember};
    for (state, answer) in [
        (Empty, Err(UnknownMember)),
        (PreparingRebalance, Err(RebalanceInProgress)),
        (CompletingRebalance, Ok("")),
        (Stable, Ok("L")),
    ] {
        let (mut world, who, generation) = in_state(state);
        if state != Empty {
            let to = world.sync(&who, generation + 1, &[]);
            assert_eq!(world.synced(to), Err(IllegalGeneration), "{state:?}");
        }
        let to = world.sync(&who, generation, &[]);
        let answer = answer.map(|text| Bytes::from_static(text.as_bytes()));
        assert_eq!(world.synced(to), answer, "{state:?}");
    }
}

#[test]
fn joins_of_known_members() {
    for (state, leader_waits, unchanged_other_waits) in [
        (PreparingRebalance, false, true),
        (CompletingRebalance, false, false),
        (Stable, true, false),
    ] {
        let (mut world, who, generation) = in_state(state);
        let to = world.join(&who);
        assert_eq!(world.waits(to), leader_waits, "{state:?}");
        if state == CompletingRebalance {
            let reply = world.joined(to);
            assert_eq!((reply.generation, reply.members.len()), (generation, 2));
        }
        let (mut world, _, _) = in_state(state);
        let others = world.groups.describe("g").unwrap().members;
        let other = others.iter().find(|one| one.id != who.member).unwrap();
        let protocols = match state {
            Stable => member("").protocols,
            _ => &[("range", "x"), ("sticky", "m")],
        };
        let to = world.join(&As { protocols, ..member(&other.id) });
        assert_eq!(world.waits(to), unchanged_other_waits, "{state:?}");
    }
    let (mut world, who, _) = in_state(Empty);
    let to = world.join(&who);
    assert_eq!(world.joined(to).result, Err(GroupError::UnknownMember));
}

#[test]
fn joins_that_are_refused_found_no_group() {
    use GroupError::{InconsistentProtocol, UnknownMember};
    for (who, error) in
        [(member("x"), UnknownMember), (As { protocols: &[], ..member("") }, InconsistentProtocol)]
    {
        let mut world = World::new();
        let to = world.join(&who);
        assert_eq!(world.joined(to).result, Err(error));
        assert_eq!((world.state(), world.log.len()), (None, 0));
    }
    for group in [String::new(), "g".repeat(32_768)] {
        let mut world = World::new();
        world.group = group.into();
        let to = world.join(&member(""));
        assert_eq!(world.joined(to).result, Err(GroupError::InvalidGroupId));
    }
    let mut world = World::with(|config| config.session_timeout_min_ms = SESSION_MS + 1);
    let to = world.join(&member(""));
    assert_eq!(world.joined(to).result, Err(GroupError::InvalidSessionTimeout));
}

#[test]
fn a_group_id_and_names_as_long_as_records_have_room_for_are_taken() {
    // The id that is given out ends with 36 characters of a UUID and what is before them.
    let (longest, too_long) = ("n".repeat(32_767 - 37), "n".repeat(32_767 - 36));
    for (client_id, answer) in
        [(longest, GroupError::MemberIdRequired), (too_long, GroupError::InvalidRequest)]
    {
        let mut world = World::new();
        world.group = "g".repeat(32_767).into();
        world.client_id = client_id.into();
        let to = world.join(&member(""));
        assert_eq!(world.joined(to).result, Err(answer));
    }
}

#[test]
fn a_member_without_a_common_protocol_is_refused() {
    let mut world = World::new();
    world.two();
    let to = world.join(&As { protocols: &[("other", "m")], ..member("") });
    assert_eq!(world.joined(to).result, Err(GroupError::InconsistentProtocol));
}

#[test]
fn what_is_described_of_each_state() {
    for (state, protocol, metadata) in
        [(Empty, "", ""), (PreparingRebalance, "", ""), (Stable, "range", "m")]
    {
        let (world, _, _) = in_state(state);
        let group = world.groups.describe("g").unwrap();
        assert_eq!((group.state, &*group.protocol), (state, protocol));
        assert_eq!(&*group.protocol_type, "consumer");
        assert!(group.members.iter().all(|one| one.metadata == metadata.as_bytes()));
        let listed = world.groups.list().unwrap();
        assert_eq!((listed.len(), listed[0].state), (1, state.name()));
    }
}
