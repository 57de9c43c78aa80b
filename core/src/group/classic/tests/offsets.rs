//! Who may commit offsets to a group with members, delete them, and when they go.

use super::*;
use crate::group::classic::Classic;
use crate::group::metadata_record::GroupMetadata;
use crate::group::{CommitPartition, OffsetCommit, TxnOffsets};
use crate::types::{TopicId, TopicName, TopicPartition};

fn in0() -> TopicPartition {
    TopicPartition::new("in", 0)
}

pub(super) fn commit(
    member: &str,
    instance: Option<&str>,
    generation: i32,
    version: i16,
) -> OffsetCommit {
    OffsetCommit {
        group: Arc::from("g"),
        generation,
        member: Arc::from(member),
        instance: instance.map(Arc::from),
        retention_ms: None,
        version,
        partitions: vec![CommitPartition {
            tp: in0(),
            topic_id: TopicId(7),
            offset: 5,
            leader_epoch: -1,
            metadata: None,
        }],
    }
}

pub(super) fn code(world: &mut World, to: RequestId) -> ErrorCode {
    match world.answers.remove(&to) {
        Some(GroupReply::Commit(parts)) => {
            parts[0].1.as_ref().err().map_or(ErrorCode::None, ErrorCode::from)
        }
        other => panic!("the answer to a commit was expected, not {other:?}"),
    }
}

#[test]
fn who_may_commit_to_a_group_with_members_p21() {
    use ErrorCode::{
        FencedInstanceId as Fenced, IllegalGeneration as Illegal, None as Ok,
        UnknownMemberId as Unknown,
    };
    let mut world = World::new();
    let to = world.join(&static_member("", "i"));
    world.pass_ms(4_000);
    let who = world.joined(to).member;
    let sync = world.sync(&static_member(&who, "i"), 1, &[]);
    world.synced(sync).unwrap();
    // member, instance, generation, in a transaction, otherwise
    let table = [
        (&*who, Some("i"), 1, Ok, Ok),
        (&*who, None, 1, Ok, Ok),
        (&*who, Some("i"), 0, Illegal, Illegal),
        (&*who, Some("i"), 2, Illegal, Illegal),
        ("made-up", None, 1, Unknown, Unknown),
        ("", None, 1, Unknown, Unknown),
        (&*who, None, -1, Illegal, Illegal),
        ("made-up", None, -1, Unknown, Unknown),
        ("made-up", Some("i"), 1, Fenced, Fenced),
        (&*who, Some("j"), 1, Unknown, Unknown),
        ("", None, -1, Ok, Unknown),
    ];
    for row in table {
        let (member, instance, generation, transactional, plain) = row;
        let commit = commit(member, instance, generation, 3);
        let to = world.ask();
        let txn = TxnOffsets { producer_id: 5, producer_epoch: 0, guard: None };
        world.groups.commit_txn(world.now, to, &commit, txn);
        world.settle();
        assert_eq!(code(&mut world, to), transactional, "{row:?}");
        let to = world.ask();
        world.groups.commit(world.now, to, &commit);
        world.settle();
        assert_eq!(code(&mut world, to), plain, "{row:?}");
    }
}

#[test]
fn while_members_wait_for_their_assignment_only_transactions_may_commit() {
    let mut world = World::new();
    let (who, join) = world.enter(&member(""));
    world.pass_ms(4_000);
    world.joined(join);
    let commit = commit(&who.member, None, 1, 9);
    let (plain, staged) = (world.ask(), world.ask());
    world.groups.commit(world.now, plain, &commit);
    let txn = TxnOffsets { producer_id: 5, producer_epoch: 0, guard: None };
    world.groups.commit_txn(world.now, staged, &commit, txn);
    world.settle();
    assert_eq!(code(&mut world, plain), ErrorCode::RebalanceInProgress);
    assert_eq!(code(&mut world, staged), ErrorCode::None);
}

/// `ConsumerProtocolSubscription` version 0 of the topic `in`.
const SUBSCRIBED: &str = "\0\0\0\0\0\x01\0\x02in\0\0\0\0";

/// The only member of a stable group in generation 1 commits offset 9 of `in`.
fn alone_with_an_offset(world: &mut World, who: &As) -> As {
    let (who, join) = world.enter(who);
    world.pass_ms(4_000);
    world.joined(join);
    let sync = world.sync(&who, 1, &[]);
    world.synced(sync).unwrap();
    let to = world.ask();
    world.groups.commit(world.now, to, &commit(&who.member, None, 1, 9));
    world.settle();
    who
}

#[test]
fn offsets_of_a_subscribed_topic_stay_and_those_of_an_emptied_group_age_from_then_on() {
    let mut world = World::new();
    let day_ms = 24 * 3_600_000;
    let consumer = As { protocols: &[("range", SUBSCRIBED)], ..member("") };
    let who = alone_with_an_offset(&mut world, &consumer);
    world.now.wall_ms += 8 * day_ms;
    world.groups.expire_offsets(world.now);
    world.settle();
    let fetch =
        |world: &World| world.groups.fetch_all("g", |_: &TopicName| TopicId(7), false).unwrap();
    assert_eq!(fetch(&world).len(), 1, "a member subscribes to it");
    let to = world.ask();
    world.groups.delete_offsets(world.now, to, &Arc::from("g"), vec![in0()]);
    let refused = Ok(vec![(in0(), Err(GroupError::SubscribedToTopic))]);
    world.settle();
    assert_eq!(world.answers.remove(&to), Some(GroupReply::OffsetsDeleted(refused)));
    world.leave(&who);
    world.now.wall_ms += 6 * day_ms;
    world.groups.expire_offsets(world.now);
    world.settle();
    assert_eq!(fetch(&world).len(), 1, "it is empty for six days");
    world.now.wall_ms += day_ms;
    world.groups.expire_offsets(world.now);
    world.settle();
    assert_eq!(world.state(), None);
}

/// A stable group of one with an offset of `in`, eight days later; whether the offset is still there.
fn keeps_its_offset(
    protocols: &'static [(&'static str, &'static str)],
    kind: &'static str,
) -> bool {
    let mut world = World::new();
    world.protocol_type = kind;
    alone_with_an_offset(&mut world, &As { protocols, ..member("") });
    world.now.wall_ms += 8 * 24 * 3_600_000;
    world.groups.expire_offsets(world.now);
    world.settle();
    assert_eq!(world.state(), Some(GroupState::Stable));
    !world.groups.fetch_all("g", |_: &TopicName| TopicId(7), false).unwrap().is_empty()
}

#[test]
fn of_a_stable_group_only_offsets_of_topics_that_nobody_subscribes_to_expire() {
    const ANOTHER: &str = "\0\x01\0\0\0\x01\0\x02no\0\0\0\0";
    assert!(keeps_its_offset(&[("range", SUBSCRIBED)], "consumer"));
    assert!(!keeps_its_offset(&[("range", ANOTHER)], "consumer"));
    assert!(keeps_its_offset(&[("range", "m")], "consumer"), "what it wants cannot be read");
    assert!(keeps_its_offset(&[("v1", ANOTHER)], "connect"), "it has no subscriptions");
}

#[test]
fn a_group_with_members_and_no_offsets_outlives_the_sweep_and_its_coordinator() {
    let mut world = World::new();
    let (leader, _) = world.two();
    world.groups.expire_offsets(world.now);
    world.settle();
    let mut next = world.crash();
    assert_eq!(next.state(), Some(GroupState::Stable));
    assert_eq!(next.beat(&leader, 1), Ok(()));
}

#[test]
fn offsets_of_an_emptied_group_age_from_then_on_for_the_next_coordinator_too() {
    let mut world = World::new();
    let day_ms = 24 * 3_600_000;
    let who = alone_with_an_offset(&mut world, &member(""));
    world.now.wall_ms += 8 * day_ms;
    world.leave(&who);
    let mut world = world.crash();
    world.now.wall_ms += 6 * day_ms;
    world.groups.expire_offsets(world.now);
    world.settle();
    assert_eq!(world.state(), Some(GroupState::Empty), "it is empty for six days");
    world.now.wall_ms += day_ms;
    world.groups.expire_offsets(world.now);
    world.settle();
    assert_eq!(world.state(), None);
}

#[test]
fn a_record_that_does_not_know_since_when_the_group_is_empty_says_so() {
    let record = |state_timestamp_ms| GroupMetadata {
        protocol_type: "consumer".into(),
        generation: 3,
        protocol: None,
        leader: None,
        state_timestamp_ms,
        members: vec![],
    };
    assert_eq!(Classic::from_record(record(-1)).state_since_ms, None);
    assert_eq!(Classic::from_record(record(7)).state_since_ms, Some(7));
    let again = Classic::from_record(record(-1)).record(|_, _| Bytes::new());
    assert_eq!(again, record(-1));
}

#[test]
fn offsets_can_be_deleted_one_by_one_once_nobody_is_subscribed() {
    let mut world = World::new();
    let to = world.ask();
    world.groups.delete_offsets(world.now, to, &Arc::from("g"), vec![in0()]);
    let unknown = GroupReply::OffsetsDeleted(Err(GroupError::GroupIdNotFound));
    world.settle();
    assert_eq!(world.answers.remove(&to), Some(unknown));
    let to = world.ask();
    world.groups.commit(world.now, to, &commit("", None, -1, 9));
    world.settle();
    let to = world.ask();
    let other = TopicPartition::new("other", 1);
    world.groups.delete_offsets(world.now, to, &Arc::from("g"), vec![in0(), other.clone()]);
    world.settle();
    let done = Ok(vec![(in0(), Ok(())), (other, Ok(()))]);
    assert_eq!(world.answers.remove(&to), Some(GroupReply::OffsetsDeleted(done)));
    assert_eq!(world.groups.fetch_all("g", |_: &TopicName| TopicId(7), false), Ok(vec![]));
}
