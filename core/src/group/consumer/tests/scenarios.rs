//! Members come, move to their assignment, and go.

use super::*;
use crate::group::OwnSettings;

#[test]
fn the_first_member_has_everything_at_once() {
    let mut world = World::new();
    let beat = world.beat(&joining("m", &["a", "b"])).unwrap();
    assert_eq!((beat.epoch, beat.interval_ms), (2, 5_000));
    let assignment = beat.assignment.unwrap();
    assert_eq!(assignment[&topic_id("a")], BTreeSet::from([0, 1, 2, 3]));
    assert_eq!(assignment[&topic_id("b")], BTreeSet::from([0, 1]));
    assert_eq!(world.records_since(0), [5, 3, 7, 6, 8]);
    assert_eq!(world.consumer().state(), ConsumerState::Stable);
    assert_eq!(world.keep("m").unwrap().assignment, None, "nothing has changed");
}

#[test]
fn partitions_are_let_go_of_before_they_are_given() {
    let mut world = World::new();
    world.join("m1", &["a"]);
    let joined = world.beat(&joining("m2", &["a"])).unwrap();
    assert_eq!(joined.assignment, Some(Partitions::new()), "m1 still has everything");
    assert_eq!(world.consumer().state(), ConsumerState::Reconciling);
    let told = world.keep("m1").unwrap();
    assert_eq!(told.epoch, 2, "it stays in its epoch until it has let go");
    assert_eq!(told.assignment.unwrap()[&topic_id("a")].len(), 2);
    assert!(world.assigned("m2").is_empty());
    assert_eq!(world.confirm("m1").unwrap().epoch, 3);
    let given = world.keep("m2").unwrap();
    assert_eq!((given.epoch, world.assigned("m2").len()), (3, 2));
    assert_eq!(world.consumer().state(), ConsumerState::Stable);
}

#[test]
fn a_member_that_does_not_let_go_in_time_is_out() {
    let mut world = World::new();
    world.join("m1", &["a"]);
    world.join("m2", &["a"]);
    world.keep("m1").unwrap();
    for _ in 0..3 {
        world.later(REBALANCE_MS as u64 / 3 + 1);
        if world.consumer().members.contains_key("m1") {
            world.keep("m1").unwrap();
        }
        world.keep("m2").unwrap();
    }
    assert_eq!(world.beat(&beating("m1", 2)), Err(GroupError::UnknownMember));
    world.keep("m2").unwrap();
    assert_eq!(world.assigned("m2").len(), 4);
}

#[test]
fn a_silent_member_is_out_after_its_session() {
    let mut world = World::new();
    world.join("m1", &["a"]);
    world.join("m2", &["a"]);
    world.later(44_000);
    world.keep("m2").unwrap();
    world.later(1_500);
    assert_eq!(world.consumer().members.len(), 1);
    world.keep("m2").unwrap();
    assert_eq!(world.assigned("m2").len(), 4);
    world.later(46_000);
    assert_eq!(world.consumer().state(), ConsumerState::Empty);
    assert_eq!(world.groups.next_timeout(), None, "nobody is left to be late");
}

#[test]
fn who_leaves_is_answered_in_its_words_and_the_others_go_on() {
    let mut world = World::new();
    world.join("m1", &["a"]);
    world.join("m2", &["a"]);
    let left = world.beat(&beating("m1", -1)).unwrap();
    assert_eq!((left.epoch, left.interval_ms, &*left.member), (-1, 0, "m1"));
    world.keep("m2").unwrap();
    assert_eq!(world.assigned("m2").len(), 4);
    world.beat(&beating("m2", -1)).unwrap();
    let group = world.groups.describe_consumer("g").unwrap();
    assert_eq!((group.state, group.epoch, group.target_epoch), (ConsumerState::Empty, 5, 5));
}

#[test]
fn a_stranger_leaves_nothing_and_a_static_member_leaves_for_good_or_to_return() {
    let mut world = World::new();
    world.join("m", &["a"]);
    world.beat(&by_instance("i", joining("s", &["a"]))).unwrap();
    let epoch = world.consumer().epoch;
    assert_eq!(world.beat(&beating("x", -1)), Err(GroupError::UnknownMember));
    assert_eq!(world.consumer().epoch, epoch);
    let members = |world: &World| world.consumer().members.len();
    let mut returning = world.clone();
    returning.beat(&by_instance("i", beating("s", -2))).unwrap();
    assert_eq!(members(&returning), 2);
    world.beat(&by_instance("i", beating("s", -1))).unwrap();
    assert_eq!(members(&world), 1);
}

#[test]
fn what_a_member_has_and_is_to_have_is_described_by_name() {
    let mut world = World::new();
    world.join("m", &["a"]);
    world.keep("m").unwrap();
    let described = world.groups.describe_consumer("g").unwrap().members.remove(0);
    let all = vec![(topic_id("a"), TopicName::from("a"), vec![0, 1, 2, 3])];
    assert_eq!((&described.assignment, &described.target), (&all, &all));
    assert_eq!((&*described.client_id, &*described.client_host), ("c", "/h"));
    assert!(!described.is_classic && world.groups.has_consumer_group("g"));
    assert!(!world.groups.has_consumer_group("other"));
    let about = world.consumer().members["m"].about.clone();
    assert_eq!(about.rebalance_timeout_ms, REBALANCE_MS, "a heartbeat that says none changes none");
}

#[test]
fn a_static_member_that_comes_back_has_what_it_had() {
    let mut world = World::new();
    world.beat(&by_instance("i", joining("m1", &["a"]))).unwrap();
    world.join("m2", &["a"]);
    world.beat(&by_instance("i", beating("m1", 2))).unwrap();
    world.confirm("m1").unwrap();
    world.keep("m2").unwrap();
    let had = world.assigned("m1");
    let refused = world.beat(&by_instance("i", joining("m3", &["a"])));
    assert_eq!(refused, Err(GroupError::UnreleasedInstance), "m1 has not left");
    let epoch = world.consumer().epoch;
    world.beat(&by_instance("i", beating("m1", -2))).unwrap();
    let back = world.beat(&by_instance("i", joining("m3", &["a"]))).unwrap();
    assert_eq!((back.epoch, world.consumer().epoch), (epoch, epoch), "nobody else notices");
    assert_eq!(world.assigned("m3"), had);
    let fenced = world.beat(&by_instance("i", beating("m1", epoch)));
    assert_eq!(fenced, Err(GroupError::FencedInstance));
}

#[test]
fn a_static_member_that_does_not_come_back_is_out_after_its_session() {
    let mut world = World::new();
    world.beat(&by_instance("i", joining("m1", &["a"]))).unwrap();
    world.beat(&by_instance("i", beating("m1", -2))).unwrap();
    world.later(45_500);
    assert_eq!(world.consumer().state(), ConsumerState::Empty);
}

#[test]
fn topics_that_come_and_grow_are_assigned_and_those_that_go_are_not() {
    let mut world = World::new();
    world.join("m", &["a", "c"]);
    world.topic("c", 1);
    world.keep("m").unwrap();
    assert_eq!(world.assigned("m").len(), 5);
    world.topic("a", 6);
    world.keep("m").unwrap();
    assert_eq!(world.assigned("m").len(), 7);
    world.delete_topic("a");
    world.keep("m").unwrap();
    world.confirm("m").unwrap();
    assert_eq!(world.assigned("m"), [("c", 0)]);
}

#[test]
fn assignments_keep_their_distance() {
    let mut world = World::with(|config| config.consumer.assignment_interval_ms = 1_000);
    world.join("m1", &["a"]);
    world.join("m2", &["a"]);
    assert_eq!(world.consumer().state(), ConsumerState::Assigning);
    world.later(999);
    world.keep("m1").unwrap();
    assert_eq!(world.consumer().state(), ConsumerState::Assigning);
    world.later(1);
    world.keep("m1").unwrap();
    assert_eq!(world.consumer().state(), ConsumerState::Reconciling);
}

#[test]
fn the_members_vote_for_the_assignor() {
    let mut world = World::new();
    let range = |member| ConsumerHeartbeat {
        assignor: Some(Arc::from("range")),
        ..joining(member, &["a", "b"])
    };
    world.beat(&range("m1")).unwrap();
    world.beat(&range("m2")).unwrap();
    world.join("m3", &["a", "b"]);
    assert_eq!(&*world.groups.describe_consumer("g").unwrap().assignor, "range");
    let unknown = ConsumerHeartbeat { assignor: Some(Arc::from("x")), ..joining("m4", &["a"]) };
    assert!(matches!(world.beat(&unknown), Err(GroupError::UnsupportedAssignor(_))));
}

fn by(member: &str, regex: &str) -> ConsumerHeartbeat {
    ConsumerHeartbeat { topics: None, regex: Some(Arc::from(regex)), ..joining(member, &[]) }
}

/// When the patterns of the group were matched last, in ms of the wall clock.
fn matched_at(world: &World) -> Vec<i64> {
    world.consumer().regexes.values().map(|one| one.at_ms).collect()
}

#[test]
fn patterns_are_matched_again_for_what_is_new_and_no_more_often_than_that() {
    let mut world = World::new();
    world.beat(&by("m", "a")).unwrap();
    let first = world.now.wall_ms;
    assert_eq!(matched_at(&world), [first]);
    for _ in 0..3 {
        world.later(12_000);
        world.keep("m").unwrap();
    }
    assert_eq!(matched_at(&world), [first], "nothing is new");
    world.topic("c", 1);
    world.keep("m").unwrap();
    let second = world.now.wall_ms;
    assert_eq!(matched_at(&world), [second], "a topic is");
    world.later(9_000);
    world.beat(&by("m2", "b")).unwrap();
    assert_eq!(matched_at(&world), [second], "it was done a moment ago");
    world.later(1_001);
    world.keep("m").unwrap();
    assert_eq!(matched_at(&world), [world.now.wall_ms; 2], "a pattern is");
    world.keep("m2").unwrap();
    world.keep("m2").unwrap();
    assert_eq!(world.assigned("m2"), [("b", 0), ("b", 1)]);
}

#[test]
fn matching_that_finds_the_same_topics_is_no_reason_to_assign_anew() {
    let mut world = World::new();
    world.beat(&by("m", "a|x.*")).unwrap();
    world.keep("m").unwrap();
    let epoch = world.consumer().epoch;
    world.later(10_001);
    world.topic("c", 1);
    world.keep("m").unwrap();
    assert_eq!(matched_at(&world), [world.now.wall_ms]);
    assert_eq!(world.consumer().epoch, epoch);
}

#[test]
fn a_pattern_that_another_member_had_matched_is_known_at_once() {
    let mut world = World::new();
    world.beat(&by("m1", "a")).unwrap();
    world.keep("m1").unwrap();
    let joined = world.beat(&by("m2", "a")).unwrap();
    assert_eq!(joined.epoch, world.consumer().epoch);
    assert_eq!(world.consumer().target(&Arc::from("m2")).len(), 1, "it has a target already");
}

#[test]
fn a_pattern_goes_with_the_last_member_that_has_it() {
    let mut world = World::new();
    world.join("named", &["a"]);
    world.beat(&by("m1", "b")).unwrap();
    world.beat(&by("m2", "b")).unwrap();
    world.beat(&beating("m1", -1)).unwrap();
    assert_eq!(world.consumer().regexes.len(), 1);
    world.beat(&beating("m2", -1)).unwrap();
    assert!(world.consumer().regexes.is_empty());
}

#[test]
fn a_heartbeat_without_news_writes_nothing() {
    let mut world = World::new();
    world.join("m", &["a"]);
    world.beat(&by("p", "b")).unwrap();
    for _ in 0..3 {
        world.confirm("m").unwrap();
        world.confirm("p").unwrap();
    }
    let (written, epoch) = (world.log.len(), world.consumer().epoch);
    for member in ["m", "p"] {
        world.keep(member).unwrap();
        world.confirm(member).unwrap();
    }
    assert_eq!((world.log.len(), world.consumer().epoch), (written, epoch));
}

#[test]
fn a_heartbeat_that_says_everything_is_answered_with_everything() {
    let mut world = World::new();
    world.join("m", &["a"]);
    let owned = Some(vec![(topic_id("a"), vec![0, 1, 2, 3])]);
    let topics = Some(vec![TopicName::from("a")]);
    let full =
        ConsumerHeartbeat { rebalance_timeout_ms: REBALANCE_MS, topics, owned, ..beating("m", 2) };
    let is_told = |world: &mut World, beat: ConsumerHeartbeat| {
        world.beat(&beat).unwrap().assignment.is_some()
    };
    assert!(is_told(&mut world, full.clone()));
    assert!(!is_told(&mut world, ConsumerHeartbeat { rebalance_timeout_ms: -1, ..full.clone() }));
    assert!(!is_told(&mut world, ConsumerHeartbeat { topics: None, ..full.clone() }));
    assert!(!is_told(&mut world, ConsumerHeartbeat { owned: None, ..full }));
}

#[test]
fn a_regular_expression_takes_in_topics_as_they_are_created() {
    let mut world = World::new();
    assert_eq!(world.beat(&by("m", "a)(b")), Err(GroupError::InvalidRegularExpression));
    world.beat(&by("m", "a|c")).unwrap();
    world.keep("m").unwrap();
    assert_eq!(world.assigned("m").len(), 4);
    world.topic("c", 2);
    world.keep("m").unwrap();
    assert_eq!(world.assigned("m").len(), 4, "topics were matched a moment ago");
    world.later(10_001);
    world.keep("m").unwrap();
    world.keep("m").unwrap();
    assert_eq!(world.assigned("m").len(), 6);
    let named = ConsumerHeartbeat {
        regex: Some(Arc::from("")),
        topics: Some(vec![TopicName::from("b")]),
        ..beating("m", world.consumer().members["m"].holding.epoch)
    };
    world.beat(&named).unwrap();
    world.confirm("m").unwrap();
    assert_eq!(world.assigned("m"), [("b", 0), ("b", 1)]);
    assert!(world.consumer().regexes.is_empty());
}

#[test]
fn a_full_group_takes_nobody_but_those_it_knows() {
    let mut world = World::with(|config| config.consumer.members_max = 1);
    world.join("m1", &["a"]);
    assert_eq!(world.beat(&joining("m2", &["a"])), Err(GroupError::MaxSizeReached));
    world.join("m1", &["a", "b"]);
}

#[test]
fn a_member_of_version_0_is_given_an_id() {
    let mut world = World::new();
    let beat = ConsumerHeartbeat { version: 0, ..joining("", &["a"]) };
    let given = world.beat(&beat).unwrap();
    assert_eq!(given.member.len(), 22, "a uuid in base64: {}", given.member);
    let again = ConsumerHeartbeat { version: 0, ..beating(&given.member, given.epoch) };
    world.beat(&again).unwrap();
}

#[test]
fn a_lost_answer_is_given_again_and_a_zombie_is_fenced() {
    let mut world = World::new();
    world.join("m1", &["a"]);
    world.join("m2", &["a"]);
    world.keep("m1").unwrap();
    world.confirm("m1").unwrap();
    let all = |epoch, partitions: &[i32]| ConsumerHeartbeat {
        owned: Some(vec![(topic_id("a"), partitions.to_vec())]),
        ..beating("m1", epoch)
    };
    assert_eq!(world.beat(&all(2, &[0, 1])).unwrap().epoch, 3, "the answer was lost");
    assert_eq!(world.beat(&all(2, &[0, 3])), Err(GroupError::FencedMemberEpoch));
    assert_eq!(world.beat(&all(1, &[0, 1])), Err(GroupError::FencedMemberEpoch), "older still");
    assert_eq!(world.beat(&beating("m1", 2)), Err(GroupError::FencedMemberEpoch));
    assert_eq!(world.beat(&beating("m1", 4)), Err(GroupError::FencedMemberEpoch));
}

#[test]
fn deleting_takes_an_empty_group_with_all_its_records() {
    let mut world = World::new();
    world.join("m", &["a"]);
    let delete = |world: &mut World| {
        let to = world.ask(|groups, now, to| groups.delete_group(now, to, &group()));
        match world.answers.remove(&to) {
            Some(GroupReply::Deleted(_, result)) => result,
            other => panic!("not {other:?}"),
        }
    };
    assert_eq!(delete(&mut world), Err(GroupError::NonEmptyGroup));
    world.beat(&beating("m", -1)).unwrap();
    assert_eq!(delete(&mut world), Ok(()));
    assert!(world.groups.list().unwrap().is_empty());
    world.restart();
    assert!(world.groups.list().unwrap().is_empty());
}

#[test]
fn a_group_with_settings_of_its_own_goes_by_them() {
    let mut world = World::new();
    let own = OwnSettings {
        session_timeout_ms: Some(50_000),
        heartbeat_interval_ms: Some(7_000),
        assignment_interval_ms: None,
    };
    world.groups.settings_changed(&Arc::from("g"), own);
    let told = world.beat(&joining("m", &["a"])).unwrap();
    assert_eq!(told.interval_ms, 7_000);
    world.later(49_999);
    assert!(world.consumer().members.contains_key("m"));
    world.later(1);
    assert!(!world.consumer().members.contains_key("m"));
    world.groups.settings_changed(&Arc::from("g"), OwnSettings::default());
    assert_eq!(world.beat(&joining("m", &["a"])).unwrap().interval_ms, 5_000);
}
