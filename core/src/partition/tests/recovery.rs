//! Snapshots: Kafka's bytes, five batches, and nothing that panics.

use std::format;
use std::string::String;

use proptest::prelude::*;

use super::*;
use crate::partition::snapshot::SnapshotError;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of a snapshot between CRC and end, its CRC having been checked.
fn body(bytes: &[u8]) -> String {
    assert_eq!(bytes[2..6], crc32c::crc32c(&bytes[6..]).to_be_bytes());
    assert_eq!(bytes[..2], [0, 1]);
    hex(&bytes[6..])
}

#[test]
fn a_producer_with_one_batch_has_kafkas_bytes() {
    let mut log = Log::new();
    log.send(txn(7, 2, 0, 3)).expect("new");
    log.persist();
    let golden = "00000001\
        0000000000000007\
        0002\
        00000002\
        0000000000000002\
        00000002\
        00000000000003e8\
        ffffffff\
        0000000000000000";
    assert_eq!(body(&log.partition.snapshot()), golden);
}

#[test]
fn older_batches_follow_behind_kafkas_entries() {
    let mut log = Log::new();
    log.send(data(7, 2, 0, 3)).expect("new");
    log.send(data(7, 2, 3, 1)).expect("next");
    log.persist();
    let golden = "00000001\
        0000000000000007\
        0002\
        00000003\
        0000000000000003\
        00000000\
        00000000000003eb\
        ffffffff\
        ffffffffffffffff\
        56445731\
        00000001\
        0000000000000007\
        02\
        00000002\
        0000000000000002\
        00000002\
        00000000000003e8\
        00000003\
        0000000000000003\
        00000000\
        00000000000003eb";
    assert_eq!(body(&log.partition.snapshot()), golden);
}

#[test]
fn a_log_without_producers_has_an_empty_snapshot() {
    assert_eq!(body(&Log::new().partition.snapshot()), "00000000");
}

#[test]
fn p28_a_damaged_snapshot_is_refused_and_the_log_is_read_in_its_place() {
    let mut log = Log::new();
    for n in 0..6 {
        log.send(txn(7, 0, n, 1)).expect("in order");
    }
    log.persist();
    let good = log.partition.snapshot();
    let mut torn = good.to_vec();
    torn[20] ^= 1;
    let mut newer = good.to_vec();
    newer[1] = 2;
    for (bytes, error) in [
        (Bytes::new(), SnapshotError::Length),
        (good.slice(..good.len() - 1), SnapshotError::Crc),
        (torn.into(), SnapshotError::Crc),
        (newer.into(), SnapshotError::Version(2)),
    ] {
        assert_eq!(snapshot::decode(&bytes), Err(error));
        // The tail of the store begins at the log's start then.
        let mut from_log = log.restarted(None);
        assert_eq!(from_log.snapshot(), good);
        assert_eq!(from_log.last_stable_offset(), 0, "its transaction is open");
        from_log.expire_producers(i64::MAX);
        assert_eq!(from_log.producers().count(), 1);
    }
}

#[test]
fn expired_producers_are_not_loaded() {
    let mut log = Log::new();
    log.send(data(7, 0, 0, 1)).expect("new");
    log.send(data(8, 0, 0, 1)).expect("new");
    log.persist();
    let snapshot = Some((2, log.partition.snapshot()));
    let config = LogConfig { producer_id_expiration_ms: 0, ..LogConfig::default() };
    log.partition.set_config(config);
    // At NOW_MS the first is exactly as old as the limit, the second younger.
    let left: Vec<_> =
        log.restarted(snapshot).producers().map(|producer| producer.producer_id).collect();
    assert_eq!(left, [8]);
}

#[test]
fn a_rebuilt_aborted_transaction_is_handed_to_the_store_once() {
    let mut log = Log::new();
    log.send(txn(7, 0, 0, 1)).expect("new");
    log.mark(&marker(7, 0, Decision::Abort, 0)).expect("taken");
    log.persist();
    assert_eq!(log.restarted(None).drain_new_aborted(), [], "the file has it");
    let mut lost = log.clone();
    lost.partition.aborted = AbortedIndex::default();
    let mut again = lost.restarted(None);
    assert_eq!(again.drain_new_aborted().len(), 1);
    assert_eq!(again.drain_new_aborted(), []);
}

#[test]
fn a_restart_begins_a_new_leader_epoch_at_the_logs_end() {
    let mut log = Log::new();
    log.plain(3);
    log.persist();
    let again = log.restarted(None);
    assert_eq!(again.leader_epochs(), [(0, 0), (1, 3)]);
    assert_eq!(again.epoch_end(0), (0, 3));
}

proptest! {
    #[test]
    fn a_snapshot_gives_back_every_entry(
        batches in prop::collection::vec((0..4_i64, 1..4_i32, any::<bool>()), 0..40),
    ) {
        let mut log = Log::new();
        log.plain(1);
        for (pid, count, transactional) in batches {
            let sequence = log.partition.producers.get(&pid).map_or(0, ProducerEntry::next_sequence);
            let _ = log.send(Data { transactional, ..data(pid, 0, sequence, count) });
        }
        log.persist();
        let decoded = snapshot::decode(&log.partition.snapshot()).expect("our own");
        let live: Vec<_> = log.partition.producers.clone().into_iter().collect();
        prop_assert_eq!(decoded, live);
    }

    #[test]
    fn arbitrary_snapshots_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = snapshot::decode(&bytes);
        let mut framed = std::vec![0, 1];
        framed.extend_from_slice(&crc32c::crc32c(&bytes).to_be_bytes());
        framed.extend_from_slice(&bytes);
        let _ = snapshot::decode(&framed);
    }
}
