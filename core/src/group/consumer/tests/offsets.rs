//! Offsets of consumer groups: who may commit, fetch and delete them, and when they go.

use super::*;
use crate::group::commit::{CommitPartition, OffsetCommit, TxnOffsets};
use crate::types::TopicPartition;

fn commit_of(member: &str, epoch: i32, version: i16, partition: i32) -> OffsetCommit {
    OffsetCommit {
        group: group(),
        generation: epoch,
        member: Arc::from(member),
        instance: None,
        retention_ms: None,
        version,
        partitions: vec![CommitPartition {
            tp: TopicPartition::new("a", partition),
            topic_id: topic_id("a"),
            offset: 1,
            leader_epoch: -1,
            metadata: None,
        }],
    }
}

impl World {
    fn commit(&mut self, commit: &OffsetCommit, transactional: bool) -> Result<(), GroupError> {
        let txn = TxnOffsets { producer_id: 1, producer_epoch: 0, guard: None };
        let to = self.ask(|groups, now, to| match transactional {
            true => groups.commit_txn(now, to, commit, txn),
            false => groups.commit(now, to, commit),
        });
        match self.answers.remove(&to) {
            Some(GroupReply::Commit(parts)) => parts[0].1,
            other => panic!("not {other:?}"),
        }
    }
}

#[test]
fn who_may_commit() {
    use GroupError::{IllegalGeneration, StaleMemberEpoch, UnknownMember, UnsupportedVersion};
    let mut world = World::new();
    world.join("m1", &["a"]);
    world.join("m2", &["a"]);
    world.keep("m1").unwrap();
    world.confirm("m1").unwrap();
    world.keep("m2").unwrap();
    // m1 has 0 and 1 since epoch 2, m2 has 2 and 3 since epoch 3; both are in epoch 3.
    let table = [
        // member, epoch, version, partition, transactional, answer
        ("m1", 3, 9, 0, false, Ok(())),
        ("m1", 2, 9, 0, false, Ok(())),
        ("m1", 2, 9, 2, false, Err(StaleMemberEpoch)),
        ("m1", 3, 9, 2, false, Ok(())),
        ("x", -1, 5, 0, true, Err(UnknownMember)),
        ("m2", 2, 9, 2, false, Err(StaleMemberEpoch)),
        ("m1", 4, 9, 0, false, Err(StaleMemberEpoch)),
        ("m1", 3, 8, 0, false, Err(UnsupportedVersion)),
        ("x", 3, 9, 0, false, Err(UnknownMember)),
        ("", -1, 9, 0, false, Err(UnknownMember)),
        ("", -1, 5, 0, true, Ok(())),
        ("m1", 3, 5, 0, true, Ok(())),
        ("m1", 4, 5, 0, true, Err(IllegalGeneration)),
        ("m1", 4, 6, 0, true, Err(StaleMemberEpoch)),
    ];
    for (member, epoch, version, partition, transactional, answer) in table {
        let commit = commit_of(member, epoch, version, partition);
        let mut world = world.clone();
        let what = (member, epoch, version, partition, transactional);
        assert_eq!(world.commit(&commit, transactional), answer, "{what:?}");
    }
    world.beat(&beating("m1", -1)).unwrap();
    world.beat(&beating("m2", -1)).unwrap();
    assert_eq!(world.commit(&commit_of("", -1, 9, 0), false), Ok(()), "nobody is in it");
    let zombie = world.commit(&commit_of("m1", 0, 9, 0), false);
    assert_eq!(zombie, Err(UnknownMember), "an epoch is a member's");
}

#[test]
fn a_consumer_group_is_no_classic_group_to_whoever_describes_it() {
    let mut world = World::new();
    world.join("m", &["a"]);
    assert_eq!(world.groups.describe("g"), Err(GroupError::GroupIdNotFound));
}

#[test]
fn who_may_fetch() {
    use GroupError::{StaleMemberEpoch, UnknownMember};
    let mut world = World::new();
    world.join("m", &["a"]);
    let fetch = |member, epoch| world.groups.check_fetch("g", member, epoch);
    assert_eq!(fetch(None, -1), Ok(()));
    assert_eq!(fetch(Some("m"), 2), Ok(()));
    assert_eq!(fetch(Some("m"), 1), Err(StaleMemberEpoch));
    assert_eq!(fetch(Some("x"), 2), Err(UnknownMember));
    assert_eq!(fetch(None, 2), Err(UnknownMember));
    assert_eq!(fetch(None, 0), Err(UnknownMember));
    assert_eq!(world.groups.check_fetch("other", Some("m"), 2), Ok(()));
}

#[test]
fn offsets_of_subscribed_topics_stay_and_others_age_from_their_commit() {
    let mut world = World::with(|config| config.offsets_retention_ms = 1_000);
    world.join("m", &["a"]);
    assert_eq!(world.commit(&commit_of("m", 2, 9, 0), false), Ok(()));
    world.later(2_000);
    let now = world.now;
    world.groups.expire_offsets(now);
    world.settle();
    assert_eq!(world.groups.fetch_all("g", |_| topic_id("a"), false).unwrap().len(), 1);
    let deleted = world.ask(|groups, now, to| {
        groups.delete_offsets(now, to, &group(), vec![TopicPartition::new("a", 0)]);
    });
    match world.answers.remove(&deleted) {
        Some(GroupReply::OffsetsDeleted(Ok(parts))) => {
            assert_eq!(parts[0].1, Err(GroupError::SubscribedToTopic));
        }
        other => panic!("not {other:?}"),
    }
    world.beat(&beating("m", -1)).unwrap();
    let now = world.now;
    world.groups.expire_offsets(now);
    world.settle();
    assert_eq!(world.groups.list(), Ok(vec![]), "the group goes with its last offset");
    world.restart();
    assert_eq!(world.groups.list(), Ok(vec![]));
}

#[test]
fn a_consumer_group_without_members_stays_while_it_has_offsets_or_a_transaction_may_give_it_some() {
    let plain = (false, commit_of("m", 2, 9, 0));
    let staged = (true, commit_of("m", 2, 9, 0));
    for (transactional, commit) in [plain, staged] {
        let mut world = World::new();
        world.join("m", &["a"]);
        assert_eq!(world.commit(&commit, transactional), Ok(()));
        world.beat(&beating("m", -1)).unwrap();
        let written = world.log.len();
        let now = world.now;
        world.groups.expire_offsets(now);
        world.settle();
        assert_eq!(world.log.len(), written, "staged: {transactional}");
        assert!(world.is_consumer(), "staged: {transactional}");
        world.restart();
        assert!(world.is_consumer(), "staged: {transactional}");
    }
}
