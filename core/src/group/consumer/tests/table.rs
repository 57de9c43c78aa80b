//! Every state of a member against everything it can say.

use super::*;

/// Brings member "m" of instance "i" into a state, beside a second one.
fn in_state(state: &str) -> World {
    let mut world = World::new();
    if state == "unknown group" {
        return world;
    }
    world.join("other", &["a"]);
    if state == "unknown" {
        return world;
    }
    world.beat(&by_instance("i", joining("m", &["a"]))).unwrap();
    if state == "unreleased" {
        return world;
    }
    world.keep("other").unwrap();
    world.confirm("other").unwrap();
    world.beat(&by_instance("i", beating("m", 3))).unwrap();
    match state {
        "stable" => {}
        "unrevoked" => {
            world.beat(&beating("other", -1)).unwrap();
            world.keep("m").unwrap();
            world.join("third", &["a"]);
            world.keep("m").unwrap();
        }
        "left to return" => {
            world.beat(&by_instance("i", beating("m", -2))).unwrap();
        }
        _ => panic!("{state} is no state"),
    }
    world
}

#[test]
fn a_member_in_every_state_says_everything() {
    use GroupError::{
        FencedInstance, FencedMemberEpoch, GroupIdNotFound, UnknownMember, UnreleasedInstance,
    };
    type Row = (&'static str, [Result<(), GroupError>; 8]);
    let table: [Row; 6] = [
        // In order: joins; joins under another id; its epoch; a later epoch; an earlier epoch;
        // its epoch under another id; leaves; leaves to return.
        (
            "unknown group",
            [
                Ok(()),
                Ok(()),
                Err(GroupIdNotFound),
                Err(GroupIdNotFound),
                Err(GroupIdNotFound),
                Err(GroupIdNotFound),
                Err(GroupIdNotFound),
                Err(GroupIdNotFound),
            ],
        ),
        (
            "unknown",
            [
                Ok(()),
                Ok(()),
                Err(UnknownMember),
                Err(UnknownMember),
                Err(UnknownMember),
                Err(UnknownMember),
                Err(UnknownMember),
                Err(UnknownMember),
            ],
        ),
        ("unreleased", known(Err(UnreleasedInstance), Err(UnreleasedInstance), Ok(()))),
        ("stable", known(Err(UnreleasedInstance), Err(UnreleasedInstance), Ok(()))),
        ("unrevoked", known(Err(UnreleasedInstance), Err(UnreleasedInstance), Ok(()))),
        // Its epoch is -2: any other is ahead of it.
        ("left to return", known(Ok(()), Ok(()), Err(FencedMemberEpoch))),
    ];
    fn known(
        joins: Result<(), GroupError>,
        other: Result<(), GroupError>,
        its: Result<(), GroupError>,
    ) -> [Result<(), GroupError>; 8] {
        [
            joins,
            other,
            its,
            Err(FencedMemberEpoch),
            Err(FencedMemberEpoch),
            Err(FencedInstance),
            Ok(()),
            Ok(()),
        ]
    }
    for (state, expected) in table {
        let world = in_state(state);
        let epoch = World::consumer_of(&world.groups)
            .and_then(|group| group.members.get("m").map(|member| member.holding.epoch))
            .unwrap_or(3);
        let its = if epoch < 0 { 3 } else { epoch };
        let asked = [
            joining("m", &["a"]),
            joining("m2", &["a"]),
            beating("m", its),
            beating("m", its + 1),
            beating("m", 1),
            beating("m2", its),
            beating("m", -1),
            beating("m", -2),
        ];
        for (asked, expected) in asked.into_iter().zip(expected) {
            let mut world = world.clone();
            let answer = world.beat(&by_instance("i", asked.clone()));
            let (member, epoch) = (&asked.member, asked.epoch);
            assert_eq!(answer.map(|_| ()), expected, "{state}: {member} says {epoch}");
            world.check_recovery();
        }
    }
}

#[test]
fn what_is_no_request_is_refused_before_anything_else() {
    let bad = |change: fn(&mut ConsumerHeartbeat)| {
        let mut beat = joining("m", &["a"]);
        change(&mut beat);
        beat
    };
    let table = [
        bad(|beat| beat.group = Arc::from("")),
        bad(|beat| beat.member = Arc::from(" ")),
        bad(|beat| beat.instance = Some(Arc::from(""))),
        bad(|beat| beat.rack = Some(Arc::from(""))),
        bad(|beat| beat.rebalance_timeout_ms = -1),
        bad(|beat| beat.owned = None),
        bad(|beat| beat.owned = Some(vec![(topic_id("a"), vec![0])])),
        bad(|beat| beat.topics = None),
        bad(|beat| beat.epoch = -2),
        bad(|beat| beat.epoch = -3),
        bad(|beat| beat.member = Arc::from("m".repeat(40_000))),
    ];
    let mut world = World::new();
    for beat in table {
        assert_eq!(world.beat(&beat), Err(GroupError::InvalidRequest), "{beat:?}");
    }
    assert!(world.log.is_empty());
}
