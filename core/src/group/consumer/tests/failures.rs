//! What is decided counts when it is persisted, and not when it is not.

use super::*;
use crate::group::consumer::member::MemberState;

impl World {
    /// A coordinator that starts again has the same group.
    pub(super) fn check_recovery(&self) {
        if self.waiting.is_empty() {
            let loaded = World::consumer_of(&self.reloaded());
            assert_eq!(World::consumer_of(&self.groups), loaded);
        }
    }
}

#[test]
fn an_answer_waits_for_the_log_and_for_what_it_builds_on() {
    let mut world = World::new();
    world.persists = false;
    let first = world.start(&joining("m1", &["a"]));
    let second = world.start(&joining("m2", &["a"]));
    // It changes nothing, but tells of what is not persisted.
    let third = world.start(&beating("m1", 2));
    assert_eq!(world.answers.len(), 0);
    assert!(world.groups.list().unwrap().is_empty(), "nobody sees what is not persisted");
    world.persist();
    world.settle();
    for to in [first, second, third] {
        assert!(world.answer(to).unwrap().is_ok());
    }
    world.check_recovery();
}

#[test]
fn what_could_not_be_written_has_not_happened() {
    let mut world = World::new();
    world.join("m1", &["a"]);
    let before = world.consumer();
    world.persists = false;
    let joins = world.start(&joining("m2", &["a"]));
    let told = world.start(&beating("m1", 2));
    world.fail();
    let failed = Some(Err(GroupError::Log(ErrorCode::KafkaStorageError)));
    assert_eq!(world.answer(joins), failed);
    assert_eq!(world.answer(told), failed, "it built on it");
    assert_eq!(world.consumer(), before);
    world.persists = true;
    world.check_recovery();
    world.join("m2", &["a"]);
}

#[test]
fn what_came_before_what_could_not_be_written_stays() {
    let mut world = World::new();
    world.persists = false;
    let first = world.start(&joining("m1", &["a"]));
    let second = world.start(&joining("m2", &["a"]));
    world.fail_from(1);
    assert!(world.answer(second).unwrap().is_err());
    assert_eq!(world.consumer().members.len(), 1);
    assert!(world.groups.list().unwrap().is_empty(), "the first is not persisted yet");
    let told = world.start(&beating("m1", 2));
    assert_eq!(world.answer(told), None, "it waits for the first");
    world.persist();
    world.settle();
    assert_eq!(world.answer(first).unwrap().unwrap().epoch, 2);
    assert!(world.answer(told).unwrap().is_ok());
    world.check_recovery();
}

#[test]
fn a_group_that_could_not_be_written_is_not_there() {
    let mut world = World::new();
    world.persists = false;
    let joins = world.start(&joining("m1", &["a"]));
    world.fail();
    assert!(world.answer(joins).unwrap().is_err());
    assert!(!world.is_consumer());
    assert_eq!(world.groups.list(), Ok(vec![]));
}

#[test]
fn a_member_whose_removal_could_not_be_written_is_late_again_later() {
    let mut world = World::new();
    world.join("m1", &["a"]);
    world.persists = false;
    world.later(45_500);
    world.fail();
    assert_eq!(world.consumer().members.len(), 1);
    world.persists = true;
    world.later(45_500);
    assert_eq!(world.consumer().members.len(), 0);
    world.check_recovery();
}

#[test]
fn a_restarted_coordinator_knows_its_members_and_gives_them_a_session() {
    let mut world = World::new();
    world.join("m1", &["a"]);
    world.join("m2", &["a"]);
    world.keep("m1").unwrap();
    let before = world.consumer();
    world.restart();
    assert_eq!(world.consumer(), before);
    assert_eq!(world.confirm("m1").unwrap().epoch, 3);
    assert_eq!(world.keep("m2").unwrap().epoch, 3);
    assert_eq!(world.assigned("m2").len(), 2);
    world.later(45_500);
    assert_eq!(world.consumer().state(), ConsumerState::Empty);
}

#[test]
fn a_restarted_coordinator_waits_for_who_is_to_let_go_and_for_nobody_else() {
    let mut world = World::new();
    world.join("m1", &["a"]);
    world.confirm("m1").unwrap();
    world.join("m2", &["a"]);
    world.keep("m1").unwrap();
    assert_eq!(world.consumer().members["m1"].holding.state, MemberState::Unrevoked);
    world.restart();
    for _ in 0..2 * REBALANCE_MS / 4_000 {
        world.later(4_000);
        world.keep("m2").unwrap();
        if world.consumer().members.contains_key("m1") {
            world.keep("m1").unwrap();
        }
    }
    let left = world.consumer();
    let members: Vec<&str> = left.members.keys().map(|id| &**id).collect();
    assert_eq!(members, ["m2"], "the other did not let go in time");
}

#[test]
fn who_waits_when_the_partition_goes_is_told() {
    let mut world = World::new();
    world.persists = false;
    let joins = world.start(&joining("m1", &["a"]));
    world.groups.resign(0);
    world.settle();
    assert_eq!(world.answer(joins), Some(Err(GroupError::NotCoordinator)));
    assert_eq!(world.groups.next_timeout(), None);
}
