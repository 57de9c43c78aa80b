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

/// What a member is answered, in order: it joins; joins under another id; says its epoch, a later
/// one, an earlier one; says its epoch under another id; leaves; leaves to return.
type Answers = [Result<(), GroupError>; 8];

fn asked(its_epoch: i32) -> [ConsumerHeartbeat; 8] {
    [
        joining("m", &["a"]),
        joining("m2", &["a"]),
        beating("m", its_epoch),
        beating("m", its_epoch + 1),
        beating("m", 1),
        beating("m2", its_epoch),
        beating("m", -1),
        beating("m", -2),
    ]
}

/// Of nobody: it may join, and that is all.
fn unknown(error: GroupError) -> Answers {
    let mut answers = [Err(error); 8];
    answers[..2].fill(Ok(()));
    answers
}

/// Of a member: `joins` when it joins anew, `its_epoch` when it says its own.
fn known(joins: Result<(), GroupError>, its_epoch: Result<(), GroupError>) -> Answers {
    let fenced = Err(GroupError::FencedMemberEpoch);
    let other = Err(GroupError::FencedInstance);
    [joins, joins, its_epoch, fenced, fenced, other, Ok(()), Ok(())]
}

#[test]
fn a_member_in_every_state_says_everything() {
    use GroupError::{FencedMemberEpoch, GroupIdNotFound, UnknownMember, UnreleasedInstance};
    let here = known(Err(UnreleasedInstance), Ok(()));
    let table: [(&str, Answers); 6] = [
        ("unknown group", unknown(GroupIdNotFound)),
        ("unknown", unknown(UnknownMember)),
        ("unreleased", here),
        ("stable", here),
        ("unrevoked", here),
        // Its epoch is -2: any other is ahead of it.
        ("left to return", known(Ok(()), Err(FencedMemberEpoch))),
    ];
    for (state, expected) in table {
        let world = in_state(state);
        let epoch = World::consumer_of(&world.groups)
            .and_then(|group| group.members.get("m").map(|member| member.holding.epoch))
            .filter(|epoch| *epoch > 0)
            .unwrap_or(3);
        for (asked, expected) in asked(epoch).into_iter().zip(expected) {
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
