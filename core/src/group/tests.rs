//! What the group coordinator answers, row by row.

use alloc::vec;

use super::*;
use crate::time::Now;
use crate::types::{TopicId, TopicName};

pub(super) const NOW: Now = Now { at: crate::time::Timestamp(0), wall_ms: 1_000 };
const TO: RequestId = RequestId(1);

pub(super) fn in0() -> TopicPartition {
    TopicPartition::new("in", 0)
}

pub(super) fn coordinator() -> GroupCoordinator {
    let mut groups = GroupCoordinator::new(GroupConfig { partitions: 1, ..Default::default() });
    groups.load(0);
    groups.loaded(NOW, 0);
    groups
}

pub(super) fn commit_of(group: &str, offset: Offset) -> OffsetCommit {
    OffsetCommit {
        group: Arc::from(group),
        generation: -1,
        member: Arc::from(""),
        instance: None,
        retention_ms: None,
        version: 5,
        partitions: vec![CommitPartition {
            tp: in0(),
            topic_id: TopicId(7),
            offset,
            leader_epoch: 2,
            metadata: None,
        }],
    }
}

pub(super) const fn txn(producer_id: ProducerId) -> TxnOffsets {
    TxnOffsets { producer_id, producer_epoch: 0, guard: None }
}

/// Takes the one append that is waiting to be made.
pub(super) fn the_append(groups: &mut GroupCoordinator) -> AppendId {
    match groups.poll_effect() {
        Some(GroupEffect::Append { id, .. }) => id,
        other => panic!("an append was expected, not {other:?}"),
    }
}

fn codes(groups: &mut GroupCoordinator) -> Vec<ErrorCode> {
    match groups.poll_effect() {
        Some(GroupEffect::Reply { reply: GroupReply::Commit(parts), .. }) => parts
            .iter()
            .map(|(_, result)| result.as_ref().err().map_or(ErrorCode::None, ErrorCode::from))
            .collect(),
        other => panic!("an answer was expected, not {other:?}"),
    }
}

fn persist(groups: &mut GroupCoordinator, base_offset: Offset) -> Vec<ErrorCode> {
    let id = the_append(groups);
    groups.appended(NOW, id, Ok(base_offset));
    codes(groups)
}

fn fetch(groups: &GroupCoordinator, group: &str, require_stable: bool) -> FetchedOffset {
    groups.fetch(group, &[(in0(), TopicId(7))], require_stable).unwrap()[0].1.clone()
}

fn at(offset: Offset) -> FetchedOffset {
    FetchedOffset::Committed { offset, leader_epoch: 2, metadata: Arc::from("") }
}

#[test]
fn a_commit_is_visible_when_it_is_persisted_and_answered_then() {
    let mut groups = coordinator();
    groups.commit(NOW, TO, &commit_of("g", 4));
    let id = the_append(&mut groups);
    assert_eq!(groups.poll_effect(), None);
    assert_eq!(fetch(&groups, "g", true), FetchedOffset::None);
    groups.appended(NOW, id, Ok(0));
    assert_eq!(codes(&mut groups), [ErrorCode::None]);
    assert_eq!(fetch(&groups, "g", true), at(4));
}

#[test]
fn staged_offsets_are_unstable_from_their_append_to_their_marker() {
    for (decision, after) in [(Decision::Commit, at(10)), (Decision::Abort, at(4))] {
        let mut groups = coordinator();
        groups.commit(NOW, TO, &commit_of("g", 4));
        persist(&mut groups, 0);
        groups.commit_txn(NOW, TO, &commit_of("g", 10), txn(5));
        assert_eq!(fetch(&groups, "g", true), FetchedOffset::Unstable, "appended only");
        assert_eq!(persist(&mut groups, 1), [ErrorCode::None]);
        assert_eq!(fetch(&groups, "g", true), FetchedOffset::Unstable);
        assert_eq!(fetch(&groups, "g", false), at(4));
        groups.marker(0, 5, decision);
        assert_eq!(fetch(&groups, "g", true), after);
    }
}

#[test]
fn the_later_of_two_staged_offsets_wins_and_the_next_transaction_does_not_see_it_p19() {
    let mut groups = coordinator();
    groups.commit_txn(NOW, TO, &commit_of("g", 5), txn(5));
    persist(&mut groups, 0);
    groups.commit_txn(NOW, TO, &commit_of("g", 7), txn(5));
    persist(&mut groups, 1);
    groups.marker(0, 5, Decision::Commit);
    assert_eq!(fetch(&groups, "g", true), at(7));
    groups.marker(0, 5, Decision::Abort);
    groups.marker(0, 5, Decision::Commit);
    assert_eq!(fetch(&groups, "g", true), at(7));
}

#[test]
fn a_plain_commit_made_later_in_the_log_beats_the_transactions_offset() {
    let mut groups = coordinator();
    groups.commit_txn(NOW, TO, &commit_of("g", 10), txn(5));
    persist(&mut groups, 0);
    groups.commit(NOW, TO, &commit_of("g", 20));
    persist(&mut groups, 1);
    groups.marker(0, 5, Decision::Commit);
    assert_eq!(fetch(&groups, "g", true), at(20));
}

#[test]
fn the_marker_of_one_transaction_leaves_the_others_staged_offset_alone_p20() {
    let mut groups = coordinator();
    for (base, producer, offset) in [(0, 5, 10), (1, 6, 20)] {
        groups.commit_txn(NOW, TO, &commit_of("g", offset), txn(producer));
        persist(&mut groups, base);
    }
    groups.marker(0, 5, Decision::Commit);
    assert_eq!(fetch(&groups, "g", true), FetchedOffset::Unstable);
    assert_eq!(fetch(&groups, "g", false), at(10));
    groups.marker(0, 6, Decision::Abort);
    assert_eq!(fetch(&groups, "g", true), at(10));
}

#[test]
fn who_may_commit_to_a_group_without_members_p21() {
    use ErrorCode::{GroupIdNotFound, IllegalGeneration, None as Ok, UnknownMemberId};
    let table = [
        // known group, transactional, version, generation, member, answer
        (false, true, 5, 5, "", IllegalGeneration),
        (false, true, 6, 5, "", GroupIdNotFound),
        (false, true, 3, -1, "", Ok),
        (false, true, 6, -1, "m1", Ok),
        (false, false, 8, 0, "m1", IllegalGeneration),
        (false, false, 9, 0, "m1", GroupIdNotFound),
        (false, false, 9, -1, "", Ok),
        (true, true, 5, 5, "", UnknownMemberId),
        (true, true, 6, 1, "m1", UnknownMemberId),
        (true, true, 5, -1, "", Ok),
        (true, true, 5, -1, "m1", Ok),
        (true, false, 9, 5, "", UnknownMemberId),
        (true, false, 9, 0, "m1", UnknownMemberId),
        (true, false, 2, -1, "m1", Ok),
    ];
    for row in table {
        let (known, transactional, version, generation, member, code) = row;
        let mut groups = coordinator();
        if known {
            groups.commit(NOW, TO, &commit_of("g", 4));
            persist(&mut groups, 0);
        }
        let before = groups.clone();
        let member = Arc::from(member);
        let commit = OffsetCommit { version, generation, member, ..commit_of("g", 9) };
        if transactional {
            groups.commit_txn(NOW, TO, &commit, txn(5));
        } else {
            groups.commit(NOW, TO, &commit);
        }
        if code == Ok {
            assert_eq!(persist(&mut groups, 1), [Ok], "{row:?}");
        } else {
            assert_eq!(codes(&mut groups), [code], "{row:?}");
            assert_eq!(groups, before, "a refused commit stages nothing: {row:?}");
        }
    }
}

#[test]
fn only_transactional_commits_refuse_the_empty_group_id() {
    let mut groups = coordinator();
    groups.commit_txn(NOW, TO, &commit_of("", 4), txn(5));
    assert_eq!(codes(&mut groups), [ErrorCode::InvalidGroupId]);
    groups.commit(NOW, TO, &commit_of("", 4));
    assert_eq!(persist(&mut groups, 0), [ErrorCode::None]);
    assert_eq!(fetch(&groups, "", true), at(4));
}

#[test]
fn metadata_is_measured_in_utf_16_units_and_refused_for_its_partition_only() {
    let mut groups = coordinator();
    let mut commit = commit_of("g", 4);
    let mut long = commit.partitions[0].clone();
    long.tp.partition = 1;
    // 2048 characters of two units each fit exactly; one more does not.
    commit.partitions[0].metadata = Some(Arc::from("😀".repeat(2_048)));
    long.metadata = Some(Arc::from("😀".repeat(2_048) + "x"));
    commit.partitions.push(long);
    groups.commit_txn(NOW, TO, &commit, txn(5));
    let codes = persist(&mut groups, 0);
    assert_eq!(codes, [ErrorCode::None, ErrorCode::OffsetMetadataTooLarge]);
    groups.marker(0, 5, Decision::Commit);
    let all = groups.fetch_all("g", |_| TopicId(7), true).unwrap();
    assert_eq!(all.len(), 1);
}

#[test]
fn a_commit_with_nothing_left_writes_nothing_p27() {
    let mut groups = coordinator();
    let mut commit = commit_of("g", 4);
    commit.partitions[0].metadata = Some(Arc::from("x".repeat(4_097)));
    groups.commit_txn(NOW, TO, &commit, txn(5));
    assert_eq!(codes(&mut groups), [ErrorCode::OffsetMetadataTooLarge]);
    assert_eq!(fetch(&groups, "g", true), FetchedOffset::None);
    assert_eq!(groups.state("g"), None);
}

#[test]
fn a_failed_append_leaves_nothing_pending_and_has_its_code_translated_p27() {
    use ErrorCode as E;
    let table = [
        (E::NetworkException, E::CoordinatorLoadInProgress),
        (E::UnknownTopicOrPartition, E::CoordinatorNotAvailable),
        (E::NotEnoughReplicas, E::CoordinatorNotAvailable),
        (E::RequestTimedOut, E::CoordinatorNotAvailable),
        (E::NotLeaderOrFollower, E::NotCoordinator),
        (E::KafkaStorageError, E::NotCoordinator),
        (E::MessageTooLarge, E::UnknownServerError),
        (E::RecordListTooLarge, E::UnknownServerError),
        (E::InvalidFetchSize, E::UnknownServerError),
        (E::InvalidProducerEpoch, E::InvalidProducerEpoch),
        (E::InvalidTxnState, E::InvalidTxnState),
        (E::TransactionAbortable, E::TransactionAbortable),
        (E::ConcurrentTransactions, E::ConcurrentTransactions),
    ];
    for (log, client) in table {
        let mut groups = coordinator();
        groups.commit_txn(NOW, TO, &commit_of("g", 4), txn(5));
        let id = the_append(&mut groups);
        groups.appended(NOW, id, Err(log));
        assert_eq!(codes(&mut groups), [client]);
        assert_eq!(fetch(&groups, "g", true), FetchedOffset::None);
        assert_eq!(groups.state("g"), None);
    }
}

#[test]
fn a_partition_that_is_loading_or_elsewhere_says_so() {
    let mut groups = GroupCoordinator::new(GroupConfig { partitions: 1, ..Default::default() });
    groups.commit(NOW, TO, &commit_of("g", 4));
    assert_eq!(codes(&mut groups), [ErrorCode::NotCoordinator]);
    groups.load(0);
    groups.commit_txn(NOW, TO, &commit_of("g", 4), txn(5));
    assert_eq!(codes(&mut groups), [ErrorCode::CoordinatorLoadInProgress]);
    assert_eq!(groups.fetch("g", &[], true), Err(GroupError::Loading));
    groups.loaded(NOW, 0);
    assert_eq!(groups.fetch("g", &[], true), Ok(vec![]));
}

#[test]
fn resigning_answers_whoever_waits_and_forgets_the_late_result() {
    let mut groups = coordinator();
    groups.commit(NOW, TO, &commit_of("g", 4));
    let id = the_append(&mut groups);
    groups.resign(0);
    assert_eq!(codes(&mut groups), [ErrorCode::NotCoordinator]);
    groups.load(0);
    groups.loaded(NOW, 0);
    groups.appended(NOW, id, Ok(0));
    assert_eq!(fetch(&groups, "g", true), FetchedOffset::None);
}

#[test]
fn an_offset_of_a_deleted_namesake_is_no_offset() {
    let mut groups = coordinator();
    groups.commit(NOW, TO, &commit_of("g", 4));
    persist(&mut groups, 0);
    let other = groups.fetch("g", &[(in0(), TopicId(8))], false).unwrap();
    assert_eq!(other[0].1, FetchedOffset::None);
    let unknown = groups.fetch("g", &[(in0(), TopicId(0))], false).unwrap();
    assert_eq!(unknown[0].1, at(4));
    assert_eq!(groups.fetch_all("g", |_: &TopicName| TopicId(8), false), Ok(vec![]));
}

#[test]
fn fetching_all_lists_what_was_committed_and_calls_it_unstable_under_an_open_transaction() {
    let mut groups = coordinator();
    groups.commit_txn(NOW, TO, &commit_of("g", 4), txn(5));
    persist(&mut groups, 0);
    assert_eq!(groups.fetch_all("g", |_| TopicId(7), true), Ok(vec![]));
    groups.commit(NOW, TO, &commit_of("g", 3));
    persist(&mut groups, 1);
    assert_eq!(groups.fetch_all("g", |_| TopicId(7), false).unwrap(), [(in0(), at(3))]);
    let stable = groups.fetch_all("g", |_| TopicId(7), true).unwrap();
    assert_eq!(stable, [(in0(), FetchedOffset::Unstable)]);
}

#[test]
fn a_retention_time_writes_value_version_1() {
    let mut groups = coordinator();
    let commit = OffsetCommit { retention_ms: Some(500), ..commit_of("g", 4) };
    groups.commit(NOW, TO, &commit);
    let Some(GroupEffect::Append { records, .. }) = groups.poll_effect() else {
        panic!("an append was expected");
    };
    let value = OffsetValue::decode(records[0].1.as_ref().unwrap()).unwrap();
    assert_eq!(value.expire_timestamp_ms, Some(1_500));
    let commit = OffsetCommit { retention_ms: Some(-1), ..commit_of("g", 4) };
    groups.commit(NOW, TO, &commit);
    let Some(GroupEffect::Append { records, .. }) = groups.poll_effect() else {
        panic!("an append was expected");
    };
    assert_eq!(records[0].1.as_ref().unwrap()[..2], [0, 4]);
}

#[test]
fn a_deleted_topic_takes_committed_and_staged_offsets() {
    let mut groups = coordinator();
    groups.commit(NOW, TO, &commit_of("g", 4));
    persist(&mut groups, 0);
    groups.commit_txn(NOW, TO, &commit_of("g", 10), txn(5));
    persist(&mut groups, 1);
    groups.partitions_deleted(NOW, &[in0()]);
    let id = the_append(&mut groups);
    groups.appended(NOW, id, Ok(2));
    groups.marker(0, 5, Decision::Commit);
    assert_eq!(fetch(&groups, "g", true), FetchedOffset::None);
    groups.partitions_deleted(NOW, &[in0()]);
    assert_eq!(groups.poll_effect(), None);
}

#[test]
fn a_deleted_topic_takes_what_is_only_committed_and_what_is_only_staged() {
    for staged in [false, true] {
        let mut groups = coordinator();
        if staged {
            groups.commit_txn(NOW, TO, &commit_of("g", 4), txn(5));
        } else {
            groups.commit(NOW, TO, &commit_of("g", 4));
        }
        persist(&mut groups, 0);
        groups.partitions_deleted(NOW, &[in0()]);
        let id = the_append(&mut groups);
        groups.appended(NOW, id, Ok(1));
        groups.marker(0, 5, Decision::Commit);
        assert_eq!(fetch(&groups, "g", true), FetchedOffset::None, "staged: {staged}");
    }
}

#[test]
fn a_group_that_is_being_deleted_is_not_found_by_another_deletion() {
    let mut groups = coordinator();
    let group: GroupId = Arc::from("g");
    groups.commit(NOW, TO, &commit_of("g", 4));
    persist(&mut groups, 0);
    groups.delete_group(NOW, TO, &group);
    the_append(&mut groups);
    groups.delete_group(NOW, TO, &group);
    let refused = GroupReply::Deleted(group.clone(), Err(GroupError::GroupIdNotFound));
    assert_eq!(groups.poll_effect(), Some(GroupEffect::Reply { to: TO, reply: refused }));
    groups.delete_offsets(NOW, TO, &group, vec![in0()]);
    let refused = GroupReply::OffsetsDeleted(Err(GroupError::GroupIdNotFound));
    assert_eq!(groups.poll_effect(), Some(GroupEffect::Reply { to: TO, reply: refused }));
}

#[test]
fn texts_that_no_record_has_room_for_are_refused_and_the_longest_are_taken() {
    let mut groups = GroupCoordinator::new(GroupConfig {
        partitions: 1,
        offset_metadata_units_max: 100_000,
        ..Default::default()
    });
    groups.load(0);
    groups.loaded(NOW, 0);
    let longest = "x".repeat(32_767);
    let too_long = "x".repeat(32_768);
    let with = |group: &str, metadata: &str| {
        let mut commit = commit_of(group, 4);
        commit.partitions[0].metadata = Some(Arc::from(metadata));
        commit
    };
    groups.commit(NOW, TO, &with(&longest, &longest));
    assert_eq!(persist(&mut groups, 0), [ErrorCode::None]);
    groups.commit(NOW, TO, &with(&too_long, ""));
    assert_eq!(codes(&mut groups), [ErrorCode::InvalidGroupId]);
    groups.commit(NOW, TO, &with("g", &too_long));
    assert_eq!(codes(&mut groups), [ErrorCode::OffsetMetadataTooLarge]);
}

#[test]
fn a_group_that_something_is_written_for_does_not_keep_the_offsets_of_others() {
    let mut groups = coordinator();
    groups.commit(NOW, TO, &commit_of("g", 4));
    persist(&mut groups, 0);
    groups.commit(NOW, TO, &commit_of("busy", 4));
    the_append(&mut groups);
    let due = NOW.wall_ms + GroupConfig::default().offsets_retention_ms;
    groups.expire_offsets(Now { wall_ms: due, ..NOW });
    let id = the_append(&mut groups);
    groups.appended(NOW, id, Ok(1));
    assert_eq!(groups.state("g"), None);
}

fn an_offset() -> OffsetValue {
    OffsetValue {
        offset: 4,
        leader_epoch: 2,
        metadata: Arc::from(""),
        commit_timestamp_ms: 0,
        expire_timestamp_ms: None,
        topic_id: TopicId(7),
    }
}

#[test]
fn a_record_of_a_producer_is_staged_only_where_its_batch_is_transactional() {
    let mut groups = GroupCoordinator::new(GroupConfig { partitions: 1, ..Default::default() });
    groups.load(0);
    let value = an_offset();
    let key = GroupKey::Offset { group: Arc::from("g"), tp: in0() }.encode();
    let mut header = BatchHeader::decode(&[0; BatchHeader::LENGTH]).unwrap();
    header.producer_id = 5;
    let records = [(0, Some(key), Some(value.encode()))];
    groups.load_batch(0, &header, LoadedBatch::Records(&records)).unwrap();
    groups.loaded(NOW, 0);
    assert_eq!(fetch(&groups, "g", true), at(4));
}

#[test]
fn an_offset_that_is_being_staged_makes_those_of_its_own_group_unstable() {
    let mut groups = coordinator();
    for group in ["g", "other"] {
        groups.commit(NOW, TO, &commit_of(group, 4));
        persist(&mut groups, 0);
    }
    groups.commit_txn(NOW, TO, &commit_of("g", 10), txn(5));
    assert_eq!(fetch(&groups, "g", true), FetchedOffset::Unstable);
    assert_eq!(fetch(&groups, "other", true), at(4));
}

#[test]
fn an_offset_of_an_older_version_without_an_expire_time_has_none() {
    let mut value = vec![0, 1];
    value.extend_from_slice(&4_i64.to_be_bytes());
    value.extend_from_slice(&[0, 0]);
    value.extend_from_slice(&7_i64.to_be_bytes());
    for (expires, expected) in [(-1_i64, None), (9, Some(9))] {
        let bytes = [&value[..], &expires.to_be_bytes()].concat();
        let decoded = OffsetValue::decode(&bytes).unwrap();
        assert_eq!((decoded.offset, decoded.commit_timestamp_ms), (4, 7));
        assert_eq!(decoded.expire_timestamp_ms, expected);
    }
}

#[test]
fn a_group_is_dead_while_its_deletion_is_written_and_unknown_after() {
    let mut groups = coordinator();
    let group: GroupId = Arc::from("g");
    groups.commit_txn(NOW, TO, &commit_of("g", 4), txn(5));
    persist(&mut groups, 0);
    groups.delete_group(NOW, TO, &group);
    let refused = GroupReply::Deleted(group.clone(), Err(GroupError::NonEmptyGroup));
    assert_eq!(groups.poll_effect(), Some(GroupEffect::Reply { to: TO, reply: refused }));
    groups.marker(0, 5, Decision::Commit);
    groups.delete_group(NOW, TO, &group);
    let id = the_append(&mut groups);
    assert_eq!(groups.state("g"), Some(GroupState::Dead));
    groups.commit(NOW, TO, &commit_of("g", 9));
    assert_eq!(codes(&mut groups), [ErrorCode::CoordinatorNotAvailable]);
    groups.appended(NOW, id, Ok(1));
    assert_eq!(groups.state("g"), None);
    assert_eq!(fetch(&groups, "g", true), FetchedOffset::None);
}

#[test]
fn a_record_that_cannot_be_read_keeps_its_partition_from_being_served() {
    let mut groups = GroupCoordinator::new(GroupConfig { partitions: 1, ..Default::default() });
    groups.load(0);
    let key = GroupKey::Offset { group: Arc::from("g"), tp: in0() }.encode();
    let bad = [(0, Some(key), Some(Bytes::from_static(&[0, 9])))];
    let header = BatchHeader::decode(&[0; BatchHeader::LENGTH]).unwrap();
    let loaded = groups.load_batch(0, &header, LoadedBatch::Records(&bad));
    assert_eq!(loaded, Err(RecordFault::UnknownVersion(9)));
    groups.loaded(NOW, 0);
    assert_eq!(groups.fetch("g", &[], true), Err(GroupError::NotCoordinator));
}

#[test]
fn offsets_expire_after_their_retention_unless_a_transaction_is_open() {
    let at_ms = |wall_ms| Now { wall_ms, ..NOW };
    let due = NOW.wall_ms + GroupConfig::default().offsets_retention_ms;
    let mut groups = coordinator();
    groups.commit(NOW, TO, &commit_of("g", 4));
    persist(&mut groups, 0);
    groups.commit_txn(NOW, TO, &commit_of("g", 10), txn(5));
    persist(&mut groups, 1);
    groups.expire_offsets(at_ms(due));
    assert_eq!(groups.poll_effect(), None, "a transaction is open");
    groups.marker(0, 5, Decision::Abort);
    groups.expire_offsets(at_ms(due - 1));
    assert_eq!(groups.poll_effect(), None, "not due yet");
    groups.expire_offsets(at_ms(due));
    let id = the_append(&mut groups);
    groups.expire_offsets(at_ms(due));
    assert_eq!(groups.poll_effect(), None, "it is being written");
    groups.appended(NOW, id, Ok(2));
    assert_eq!(groups.state("g"), None);
}

#[test]
fn an_expire_timestamp_of_the_commit_wins_over_the_retention() {
    let mut groups = coordinator();
    groups.commit(NOW, TO, &OffsetCommit { retention_ms: Some(500), ..commit_of("g", 4) });
    persist(&mut groups, 0);
    groups.expire_offsets(Now { wall_ms: 1_499, ..NOW });
    assert_eq!(groups.poll_effect(), None);
    groups.expire_offsets(Now { wall_ms: 1_500, ..NOW });
    let id = the_append(&mut groups);
    groups.appended(NOW, id, Ok(1));
    assert_eq!(fetch(&groups, "g", true), FetchedOffset::None);
}

#[test]
fn a_groups_own_tombstone_takes_no_offsets() {
    let mut groups = GroupCoordinator::new(GroupConfig { partitions: 1, ..Default::default() });
    groups.load(0);
    let group: GroupId = Arc::from("g");
    let value = an_offset();
    let offset = GroupKey::Offset { group: group.clone(), tp: in0() }.encode();
    let records = [
        (0, Some(offset), Some(value.encode())),
        (1, Some(GroupKey::Classic(group).encode()), None),
    ];
    let mut header = BatchHeader::decode(&[0; BatchHeader::LENGTH]).unwrap();
    header.producer_id = -1;
    groups.load_batch(0, &header, LoadedBatch::Records(&records)).unwrap();
    groups.loaded(NOW, 0);
    assert_eq!(fetch(&groups, "g", true), at(4));
}
