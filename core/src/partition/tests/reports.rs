//! The public reports that a partition alone can get right or wrong, by number.

use super::*;
use crate::error::ErrorCode;

const P: ProducerId = 1;
const Q: ProducerId = 2;
const R: ProducerId = 3;

#[test]
fn p01_a_retry_inside_the_window_gets_its_old_offset_and_one_outside_does_not() {
    let mut log = Log::new();
    for n in 0..6 {
        assert_eq!(log.send(data(P, 0, 3 * n, 3)), Ok(i64::from(3 * n)));
    }
    for n in (1..6).rev() {
        assert_eq!(log.send(data(P, 0, 3 * n, 3)), Ok(i64::from(3 * n)));
    }
    assert!(is_out_of_order(&log.send(data(P, 0, 0, 3))));
    assert!(is_out_of_order(&log.send(data(P, 0, 3, 2))));
    assert_eq!(log.send(data(P, 0, 18, 3)), Ok(18));
    assert_eq!(log.send(data(Q, 0, 0, 3)), Ok(21));
    assert_eq!(log.send(data(P, 0, 18, 3)), Ok(18));
    assert_eq!(log.partition.log_end(), 24);
}

#[test]
fn p02_the_window_survives_a_restart() {
    let mut log = Log::new();
    for n in 0..5 {
        log.send(data(P, 0, 3 * n, 3)).expect("in order");
    }
    log.persist();
    let snapshot = Some((15, log.partition.snapshot()));
    for snapshot in [snapshot, None] {
        let mut again = Log { partition: log.restarted(snapshot), batches: Vec::new() };
        assert_eq!(again.send(data(P, 0, 12, 3)), Ok(12));
        assert_eq!(again.send(data(P, 0, 3, 3)), Ok(3));
        assert_eq!(again.send(data(P, 0, 0, 3)), Ok(0));
        assert_eq!(again.send(data(P, 0, 15, 3)), Ok(15));
        assert_eq!(again.partition.log_end(), 18);
    }
}

#[test]
fn p03_the_second_batch_cannot_overtake_the_first_on_a_new_log() {
    let mut log = Log::new();
    assert!(is_out_of_order(&log.send(data(P, 0, 17, 5))));
    assert_eq!(log.send(data(P, 0, 0, 17)), Ok(0));
    assert_eq!(log.send(data(P, 0, 17, 5)), Ok(17));

    let mut used = Log::new();
    used.plain(1);
    assert_eq!(used.send(data(Q, 0, 17, 5)), Ok(1));
    used.persist();
    used.partition.delete_records_to(6);
    assert_eq!(used.send(data(R, 0, 9, 1)), Ok(6));
}

#[test]
fn p03_a_version_2_transaction_of_an_unknown_producer_begins_at_0() {
    let mut log = Log::new();
    log.plain(1);
    let verify = |log: &mut Log, sequence| match log
        .partition
        .begin_verification(NOW_MS, P, 0, sequence, true)
    {
        Ok(Verification::Needed(guard)) => Some(guard),
        other => panic!("verification is needed, not {other:?}"),
    };
    let guard = verify(&mut log, 5);
    assert!(is_out_of_order(&log.append(txn(P, 0, 5, 1), guard)));
    let guard = verify(&mut log, 0);
    assert!(log.append(txn(P, 0, 0, 1), guard).is_ok());
}

#[test]
fn p04_sequences_wrap() {
    let mut log = Log::new();
    log.plain(1);
    assert_eq!(log.send(data(P, 0, 2_147_483_640, 5)), Ok(1));
    assert_eq!(log.send(data(P, 0, 2_147_483_645, 5)), Ok(6));
    assert_eq!(log.send(data(P, 0, 2, 2)), Ok(11));
    assert!(is_out_of_order(&log.send(data(P, 0, 0, 1))));
    assert_eq!(log.send(data(P, 0, 2_147_483_645, 5)), Ok(6));
    assert_eq!(log.partition.log_end(), 13);
    let described = log.partition.producers().next().expect("P");
    assert_eq!(described.last_sequence, 3);
    let end = data(Q, 0, i32::MAX, 1);
    assert_eq!(log.send(end), Ok(13));
    assert_eq!(log.send(data(Q, 0, 0, 1)), Ok(14));
}

#[test]
fn p06_a_write_after_the_abort_cannot_open_a_transaction() {
    for version in [0, 2] {
        let mut log = Log::with(LogConfig::default());
        let Ok(Verification::Needed(guard)) =
            log.partition.begin_verification(NOW_MS, P, 0, 0, version == 2)
        else {
            panic!("verification is needed")
        };
        let marker_epoch = if version == 2 { 1 } else { 0 };
        log.mark(&marker(P, marker_epoch, Decision::Abort, version)).expect("taken");
        log.persist();
        let late = log.append(txn(P, 0, 0, 3), Some(guard));
        assert!(late.is_err());
        log.persist();
        assert_eq!(log.lso(), log.partition.log_end(), "nothing is open");
    }
}

#[test]
fn p06_without_a_guard_or_with_another_nothing_is_appended() {
    let mut log = Log::with(LogConfig::default());
    for guard in [None, Some(Guard(99))] {
        let error = log.append(txn(P, 0, 0, 1), guard).expect_err("unverified");
        assert_eq!(ErrorCode::from(&error), ErrorCode::InvalidTxnState);
    }
    assert_eq!(log.partition.log_end(), 0);
}

#[test]
fn a_version_2_marker_keeps_the_verification_of_the_next_transaction() {
    let mut log = Log::with(LogConfig::default());
    let Ok(Verification::Needed(guard)) = log.partition.begin_verification(NOW_MS, P, 1, 0, true)
    else {
        panic!("verification is needed")
    };
    log.mark(&marker(P, 1, Decision::Commit, 2)).expect("taken");
    assert!(log.append(txn(P, 1, 0, 1), Some(guard)).is_ok());
    assert_eq!(log.partition.verifications.get(P), None);
    assert_eq!(
        log.partition.begin_verification(NOW_MS, P, 1, 1, true),
        Ok(Verification::NotNeeded)
    );
}

/// A client that was of version 2 went back: the verification that its first epoch left behind is
/// not of the transaction after the marker (seed 14884 of 2026-11-30, several brokers).
#[test]
fn p06_a_marker_ends_a_verification_that_an_older_client_joined_at_a_higher_epoch() {
    let mut log = Log::with(LogConfig::default());
    for (epoch, supports_epoch_bump) in [(0, true), (6, false)] {
        let begun = log.partition.begin_verification(NOW_MS, P, epoch, 0, supports_epoch_bump);
        assert!(matches!(begun, Ok(Verification::Needed(_))));
    }
    let guard = log.partition.verifications.get(P).map(|state| state.guard);
    log.mark(&marker(P, 6, Decision::Abort, 2)).expect("taken");
    let error = log.append(txn(P, 6, 0, 1), guard).expect_err("the transaction is over");
    assert_eq!(ErrorCode::from(&error), ErrorCode::InvalidTxnState);
    assert_eq!(log.partition.log_end(), 1);
}

#[test]
fn a_classic_owner_that_joins_a_verification_loses_it_to_its_own_abort() {
    for before in [0, 4] {
        let mut log = Log::with(LogConfig::default());
        // One of version 2 waits still, for the epoch before or for the same.
        let first = log.partition.begin_verification(NOW_MS, P, before, 0, true);
        let Ok(Verification::Needed(guard)) = first else { panic!("verification is needed") };
        assert_eq!(log.partition.begin_verification(NOW_MS, P, 4, 0, false), first);
        log.mark(&marker(P, 4, Decision::Abort, 0)).expect("taken");
        log.persist();
        assert!(log.append(txn(P, 4, 0, 1), Some(guard)).is_err(), "epoch {before} before");
        assert_eq!(log.lso(), log.partition.log_end(), "nothing is open");
    }
}

#[test]
fn a_joined_verification_keeps_its_guard_and_takes_the_lowest_sequence() {
    let mut log = Log::with(LogConfig::default());
    log.plain(1);
    let mut begin = |epoch, sequence| {
        let begun = log.partition.begin_verification(NOW_MS, P, epoch, sequence, false);
        (begun, log.partition.verifications.get(P).map(|state| state.lowest_sequence))
    };
    let (first, lowest) = begin(0, 4);
    assert_eq!(lowest, Some(4));
    assert_eq!(begin(0, 2), (first.clone(), Some(2)));
    assert_eq!(begin(0, 9), (first.clone(), Some(2)));
    assert_eq!(begin(1, 7), (first.clone(), Some(7)));
    let Ok(Verification::Needed(guard)) = first else { panic!("verification is needed") };
    assert!(is_out_of_order(&log.append(txn(P, 1, 8, 1), Some(guard))), "8 is above 7");
    assert_eq!(log.append(txn(P, 1, 7, 1), Some(guard)).map(|_| ()), Ok(()));
}

#[test]
fn verification_refuses_a_fenced_producer_and_skips_what_is_open_or_switched_off() {
    let mut log = Log::new();
    log.send(txn(P, 3, 0, 1)).expect("open");
    let begin =
        |log: &mut Log, epoch, bump| log.partition.begin_verification(NOW_MS, P, epoch, 0, bump);
    assert_eq!(begin(&mut log, 2, false), Ok(Verification::NotNeeded), "switched off");
    assert!(is_fenced(&begin(&mut log, 2, true)));
    assert_eq!(begin(&mut log, 3, true), Ok(Verification::NotNeeded), "open");
    assert!(matches!(begin(&mut log, 4, true), Ok(Verification::Needed(_))));
}

#[test]
fn a_coordinator_writes_without_sequences_but_not_without_a_guard() {
    let mut log = Log::with(LogConfig::default());
    let offsets = batch(txn(P, 0, -1, 1), NOW_MS);
    let mut write = |guard| log.partition.append(NOW_MS, &offsets, Origin::Coordinator, guard);
    assert_eq!(write(None), Err(AppendError::NotVerified { producer_id: P }));
    let Ok(Verification::Needed(guard)) = log.partition.begin_verification(NOW_MS, P, 0, -1, true)
    else {
        panic!("verification is needed")
    };
    for expected in 0..3 {
        let new = log.partition.append(NOW_MS, &offsets, Origin::Coordinator, Some(guard));
        let Ok(Appended::New(new)) = new else { panic!("a coordinator has no duplicates") };
        assert_eq!(new.base_offset, expected);
    }
}

#[test]
fn p07_a_late_marker_does_not_end_the_next_transaction() {
    let mut log = Log::new();
    log.send(txn(P, 0, 0, 3)).expect("first");
    assert_eq!(log.mark(&marker(P, 1, Decision::Commit, 2)), Ok(3));
    log.send(txn(P, 1, 0, 3)).expect("next");
    log.persist();
    let mut legacy = log.clone();

    assert!(is_fenced(&log.mark(&marker(P, 1, Decision::Commit, 2))));
    assert_eq!((log.lso(), log.partition.high_watermark()), (4, 7));
    assert_eq!(log.mark(&marker(P, 2, Decision::Abort, 2)), Ok(7));
    log.persist();
    assert_eq!(log.aborted(0), [(P, 4)]);

    assert_eq!(legacy.mark(&marker(P, 1, Decision::Commit, 0)), Ok(7));
    legacy.persist();
    assert_eq!(legacy.lso(), 8);
    assert_eq!(legacy.mark(&marker(P, 2, Decision::Abort, 2)), Ok(8));
    legacy.persist();
    assert_eq!(legacy.aborted(0), []);
}

#[test]
fn p08_a_repeated_marker_is_taken() {
    let mut log = Log::new();
    log.send(txn(P, 0, 0, 3)).expect("first");
    for offset in 3..6 {
        assert_eq!(log.mark(&marker(P, 1, Decision::Commit, 2)), Ok(offset));
    }
    assert_eq!(log.mark(&marker(P, 1, Decision::Abort, 2)), Ok(6));
    log.persist();
    assert_eq!((log.lso(), log.aborted(0)), (7, Vec::new()));
}

#[test]
fn a_classic_marker_keeps_the_window() {
    let mut log = Log::new();
    log.send(txn(P, 0, 0, 3)).expect("first");
    log.mark(&marker(P, 0, Decision::Commit, 0)).expect("taken");
    assert_eq!(log.send(txn(P, 0, 0, 3)), Ok(0));
    log.mark(&marker(P, 1, Decision::Commit, 0)).expect("taken");
    assert!(is_fenced(&log.send(txn(P, 0, 0, 3))));
}

#[test]
fn p12_stable_ends_below_the_first_open_record_until_the_marker_is_durable() {
    let mut log = Log::new();
    log.plain(1);
    log.send(txn(P, 0, 0, 2)).expect("open");
    log.plain(1);
    assert_eq!(log.lso(), 0, "nothing is durable yet");
    log.persist();
    let bound = |log: &Log, isolation| log.partition.fetch_bound(isolation);
    assert_eq!(bound(&log, Isolation::ReadCommitted), 1);
    assert_eq!(bound(&log, Isolation::ReadUncommitted), 4);
    assert_eq!(log.aborted(0), []);
    log.mark(&marker(P, 0, Decision::Abort, 0)).expect("taken");
    assert_eq!(log.lso(), 1, "the marker is not durable yet");
    assert_eq!(log.partition.drain_new_aborted(), []);
    log.persist();
    assert_eq!((log.lso(), log.aborted(0)), (5, std::vec![(P, 1)]));
    assert_eq!(log.partition.drain_new_aborted().len(), 1);
    assert_eq!(log.partition.drain_new_aborted(), []);
}

#[test]
fn p14_the_list_covers_everything_in_the_answer() {
    let mut log = Log::new();
    log.plain(2);
    log.send(txn(P, 0, 0, 1)).expect("@2");
    log.plain(1);
    log.send(txn(R, 0, 0, 1)).expect("@4");
    log.mark(&marker(P, 0, Decision::Abort, 0)).expect("@5");
    log.mark(&marker(R, 0, Decision::Abort, 0)).expect("@6");
    log.persist();
    for from in 0..=5 {
        assert_eq!(log.aborted(from), [(P, 2), (R, 4)], "from {from}");
    }
    assert_eq!(log.aborted(6), [(R, 4)]);
    assert_eq!(log.aborted(7), []);
}

#[test]
fn p15_the_list_is_ascending_by_first_offset_before_and_after_a_restart() {
    let mut log = Log::new();
    log.plain(1);
    log.send(txn(P, 0, 0, 1)).expect("@1");
    log.send(txn(Q, 0, 0, 1)).expect("@2");
    log.mark(&marker(Q, 0, Decision::Abort, 0)).expect("@3");
    log.mark(&marker(P, 0, Decision::Abort, 0)).expect("@4");
    log.persist();
    assert_eq!(log.aborted(0), [(P, 1), (Q, 2)]);
    let again = Log { partition: log.restarted(None), batches: Vec::new() };
    assert_eq!(again.aborted(0), [(P, 1), (Q, 2)]);
}

#[test]
fn p22_an_idle_producer_is_forgotten_and_goes_on() {
    let expiration = LogConfig {
        producer_id_expiration_ms: 100,
        verification_enabled: false,
        ..LogConfig::default()
    };
    let mut log = Log::with(expiration);
    log.send(data(P, 0, 0, 5)).expect("in order");
    log.send(txn(Q, 0, 0, 1)).expect("open");
    log.persist();
    log.partition.expire_producers(NOW_MS + 10_000);
    let left: Vec<_> = log.partition.producers().map(|producer| producer.producer_id).collect();
    assert_eq!(left, [Q], "an open transaction is never forgotten");
    assert_eq!(log.send(data(P, 0, 5, 2)), Ok(6));
    assert_eq!(log.send(data(P, 0, 5, 2)), Ok(6));
    assert!(is_out_of_order(&log.send(data(P, 0, 9, 1))));
}

/// KAFKA-9144: what counts is the marker, not the data before it.
#[test]
fn p22_a_marker_is_a_sign_of_life_of_its_producer() {
    let expiration = LogConfig {
        producer_id_expiration_ms: 100,
        verification_enabled: false,
        ..LogConfig::default()
    };
    let mut log = Log::with(expiration);
    log.send(txn(P, 0, 0, 1)).expect("open");
    log.plain(500);
    log.mark(&marker(P, 0, Decision::Commit, 1)).expect("500 ms later");
    log.persist();
    log.partition.expire_producers(NOW_MS + 550);
    assert_eq!(log.partition.producers().count(), 1, "49 ms after its marker");
    log.partition.expire_producers(NOW_MS + 700);
    assert_eq!(log.partition.producers().count(), 0);
}

#[test]
fn p25_the_last_epoch_ends_its_transaction_and_fences_the_one_below() {
    let mut log = Log::new();
    log.send(txn(P, 32766, 0, 1)).expect("open");
    assert_eq!(log.mark(&marker(P, 32767, Decision::Commit, 2)), Ok(1));
    assert_eq!(log.mark(&marker(P, 32767, Decision::Commit, 2)), Ok(2));
    assert!(is_fenced(&log.send(txn(P, 32766, 1, 1))));
}

#[test]
fn p28_a_snapshot_holds_nothing_that_is_not_durable() {
    let mut log = Log::new();
    log.send(data(P, 0, 0, 3)).expect("@0");
    log.send(data(P, 0, 3, 3)).expect("@3");
    log.persist();
    log.send(data(P, 0, 6, 3)).expect("in flight");
    log.send(data(Q, 0, 0, 3)).expect("in flight");
    let snapshot = Some((log.partition.high_watermark(), log.partition.snapshot()));
    let mut again = Log { partition: log.restarted(snapshot), batches: Vec::new() };
    assert_eq!(again.partition.log_end(), 6);
    assert_eq!(again.send(data(P, 0, 6, 3)), Ok(6));
    assert_eq!(again.partition.log_end(), 9);
}

#[test]
fn a_plain_batch_inside_an_open_transaction_is_refused() {
    let mut log = Log::new();
    log.send(txn(P, 0, 0, 1)).expect("open");
    let error = log.send(data(P, 0, 1, 1)).expect_err("outside");
    assert_eq!(ErrorCode::from(&error), ErrorCode::InvalidTxnState);
}

#[test]
fn a_marker_of_a_replaced_coordinator_is_refused_after_its_epoch_was_judged() {
    let mut log = Log::new();
    log.mark(&Marker { coordinator_epoch: 5, ..marker(P, 3, Decision::Commit, 0) }).expect("new");
    let old = Marker { coordinator_epoch: 4, ..marker(P, 3, Decision::Commit, 0) };
    let code = |result: Result<Offset, AppendError>| ErrorCode::from(&result.expect_err("fenced"));
    assert_eq!(code(log.mark(&old)), ErrorCode::TransactionCoordinatorFenced);
    let both = Marker { producer_epoch: 2, ..old };
    assert_eq!(code(log.mark(&both)), ErrorCode::InvalidProducerEpoch);
}

#[test]
fn sizes_keys_and_times_are_judged_by_the_topics_settings() {
    let plain = batch(data(-1, -1, -1, 2), NOW_MS);
    let judge = |config: LogConfig, batch: &CheckedBatch| {
        let mut partition = Log::with(config).partition;
        let result = partition.append(NOW_MS, batch, Origin::Client, None);
        result.map_or_else(|error| ErrorCode::from(&error), |_| ErrorCode::None)
    };
    let usual = LogConfig::default;
    let keyless = BatchBuilder::new(NOW_MS).record(None, None, &[]).build();
    let early = BatchBuilder::new(NOW_MS - 101).record(None, None, &[]).build();
    let late = BatchBuilder::new(NOW_MS + 3_600_001).record(None, None, &[]).build();
    let timeless = BatchBuilder::new(-1).record(None, None, &[]).build();
    let strict = || LogConfig { timestamp_before_max_ms: 100, ..usual() };
    let append_time = || LogConfig { timestamp_type: TimestampType::LogAppendTime, ..usual() };
    let size = i32::try_from(plain.size()).expect("a small batch");
    let message = |max_message_bytes| LogConfig { max_message_bytes, ..usual() };
    let segment = |bytes: i32| LogConfig { segment_bytes: bytes.cast_unsigned(), ..usual() };
    for (config, batch, code) in [
        (message(size), &plain, ErrorCode::None),
        (message(size - 1), &plain, ErrorCode::MessageTooLarge),
        (segment(size), &plain, ErrorCode::None),
        (segment(size - 1), &plain, ErrorCode::RecordListTooLarge),
        (LogConfig { compacted: true, ..usual() }, &plain, ErrorCode::None),
        (LogConfig { compacted: true, ..usual() }, &keyless, ErrorCode::InvalidRecord),
        (strict(), &early, ErrorCode::InvalidTimestamp),
        (strict(), &timeless, ErrorCode::None),
        (usual(), &late, ErrorCode::InvalidTimestamp),
        (append_time(), &late, ErrorCode::None),
    ] {
        assert_eq!(judge(config.clone(), batch), code, "{config:?}");
    }
}

#[test]
fn an_answer_names_the_append_time_only_where_the_topic_has_the_brokers() {
    for (timestamp_type, expected) in
        [(TimestampType::CreateTime, -1), (TimestampType::LogAppendTime, NOW_MS)]
    {
        let mut log = Log::with(LogConfig { timestamp_type, ..LogConfig::default() });
        let Ok(Appended::New(new)) = log.append(data(P, 0, 0, 2), None) else { panic!("taken") };
        assert_eq!(new.log_append_time_ms, expected);
        assert_eq!(new.batch.header().timestamp_type(), timestamp_type);
    }
}

#[test]
fn a_batch_is_kept_in_the_codec_of_its_topic_or_in_the_producers_where_that_has_none() {
    use crate::batch::Compression::{Gzip, Lz4, None as Plain};
    let sent = batch(data(P, 0, 0, 2), NOW_MS);
    for (wanted, kept) in
        [(None, Plain), (Some(Plain), Plain), (Some(Gzip), Gzip), (Some(Lz4), Lz4)]
    {
        let mut log = Log::with(LogConfig { compression: wanted, ..LogConfig::default() });
        let taken = log.partition.append(NOW_MS, &sent, Origin::Client, None);
        let Ok(Appended::New(new)) = taken else { panic!("taken") };
        assert_eq!(new.batch.header().compression(), Some(kept));
    }
}

#[test]
fn refused_records_are_named_by_index_in_kafkas_words() {
    let mut log = Log::new();
    let future = NOW_MS + 7_200_000;
    let batch = BatchBuilder::new(future)
        .record(None, None, &[])
        .at(NOW_MS)
        .record(None, None, &[])
        .at(future)
        .record(None, None, &[])
        .build();
    let error = log.partition.append(NOW_MS, &batch, Origin::Client, None).expect_err("refused");
    let text = std::format!("{error}");
    assert_eq!(text, "One or more records have been rejected due to invalid timestamp");
    let AppendError::InvalidRecords { errors, .. } = error else { panic!("records were refused") };
    assert_eq!(errors.iter().map(|error| error.index).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(
        errors[1].message,
        "Timestamp 7201000 of message with offset 2 is out of range. The timestamp should be \
         within [-9223372036854774807, 3601000]"
    );
}

#[test]
fn a_duplicate_is_answered_with_its_timestamp_and_changes_nothing() {
    let mut log = Log::new();
    log.send(data(P, 0, 0, 2)).expect("new");
    let before = log.partition.clone();
    let again = log.append(data(P, 0, 0, 2), None);
    let expected = Appended::Duplicate { base_offset: 0, last_offset: 1, timestamp_ms: NOW_MS };
    assert_eq!(again, Ok(expected));
    assert_eq!(log.partition, before);
}

#[test]
fn deleting_into_an_open_transaction_moves_the_stable_offset_with_the_log_start() {
    let mut log = Log::new();
    log.send(txn(P, 0, 0, 4)).expect("open");
    log.persist();
    log.partition.delete_records_to(2);
    assert_eq!((log.lso(), log.partition.log_start()), (2, 2));
    log.mark(&marker(P, 0, Decision::Abort, 0)).expect("taken");
    log.persist();
    assert_eq!(log.lso(), 5);
}
