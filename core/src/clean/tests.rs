//! Cleaning against a naive model: the records a reader must find, however often a log is cleaned.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use bytes::Bytes;
use proptest::prelude::*;

use super::{CleanPlan, Cleaner, Job, JobDone};
use crate::batch::{
    self, Attributes, BatchBuilder, CheckedBatch, Compression, HoldsRecords, Record, StoredBatch,
};
use crate::partition::AbortedTxn;
use crate::types::{Decision, Marker, Offset, ProducerId};

/// A log as a list of batches, with what its partition knows of it.
#[derive(Clone, Debug, Default)]
struct Log {
    batches: Vec<CheckedBatch>,
    end: Offset,
    open: BTreeMap<ProducerId, Offset>,
    aborted: Vec<AbortedTxn>,
    clean_end: Offset,
}

impl Log {
    fn push(&mut self, batch: &CheckedBatch) {
        let stored = batch.clone().store_at(self.end, 0, None);
        let batch = checked(&stored);
        let header = *batch.header();
        self.end = header.last_offset() + 1;
        if header.is_transactional() && !header.is_control() {
            self.open.entry(header.producer_id).or_insert(header.base_offset);
        }
        self.batches.push(batch);
    }

    fn data(&mut self, pid: ProducerId, txn: bool, records: &[(u8, Option<u8>)]) {
        let mut batch = BatchBuilder::new(1_000).producer(pid, 0, 0);
        if txn {
            batch = batch.transactional();
        }
        for (key, value) in records {
            batch.push(Some(&[*key]), value.as_ref().map(core::slice::from_ref), &[]);
        }
        self.push(&batch.build());
    }

    fn end_txn(&mut self, pid: ProducerId, decision: Decision) {
        let marker = Marker {
            producer_id: pid,
            producer_epoch: 0,
            coordinator_epoch: 0,
            decision,
            transaction_version: 2,
        };
        let at = self.end;
        self.push(&batch::control_batch(&marker, 1_000));
        if let Some(first_offset) = self.open.remove(&pid)
            && decision == Decision::Abort
        {
            let oldest = self.open.values().min().copied();
            self.aborted.push(AbortedTxn {
                producer_id: pid,
                first_offset,
                last_offset: at,
                last_stable_offset: oldest.unwrap_or(at + 1),
            });
        }
    }

    /// What read_committed shows, as clients filter it: by the list and by the markers.
    fn committed(&self) -> Vec<Shown> {
        let mut list: Vec<AbortedTxn> = self.aborted.clone();
        list.sort_by_key(|txn| txn.first_offset);
        let (mut list, mut hidden) = (list.into_iter().peekable(), BTreeSet::new());
        let mut shown = Vec::new();
        for batch in &self.batches {
            let header = batch.header();
            while let Some(txn) = list.next_if(|txn| txn.first_offset <= header.last_offset()) {
                hidden.insert(txn.producer_id);
            }
            if header.is_control() {
                if let Some((Decision::Abort, _)) = batch::parse_marker(batch) {
                    hidden.remove(&header.producer_id);
                }
                continue;
            }
            if header.is_transactional() && hidden.contains(&header.producer_id) {
                continue;
            }
            for record in batch::records(batch).map(Result::unwrap) {
                let offset = header.base_offset + i64::from(record.offset_delta);
                let value = record.value.map(|value| value.to_vec());
                shown.push((offset, record.key.unwrap().to_vec(), value));
            }
        }
        shown
    }

    fn plan(&self, now_ms: i64) -> CleanPlan {
        let end = self.open.values().min().copied().unwrap_or(self.end);
        CleanPlan {
            now_ms,
            delete_retention_ms: 100,
            first_dirty: self.clean_end.min(end),
            end,
            holes_end: end,
            aborted: self.aborted.iter().filter(|txn| txn.first_offset < end).copied().collect(),
            map_bytes_max: 1 << 20,
            ..CleanPlan::default()
        }
    }

    /// Cleans it as a store would, in pieces of so many bytes; the cleaned batches and the rest.
    fn clean(&mut self, plan: CleanPlan, piece: usize) {
        let (end, first_dirty) = (plan.end, plan.first_dirty);
        let at = |offset| move |batch: &CheckedBatch| batch.header().base_offset < offset;
        let count = self.batches.partition_point(at(end));
        let rest = self.batches.split_off(count);
        let clean =
            self.batches.partition_point(|batch| batch.header().last_offset() < first_dirty);
        let bytes = |batches: &[CheckedBatch]| {
            batch::join(&batches.iter().map(|batch| batch.bytes().clone()).collect::<Vec<_>>())
        };
        let cleaner = Box::new(Cleaner::new(plan));
        let (mut cleaner, _) = drive(true, cleaner, &bytes(&self.batches[clean..]), piece);
        self.clean_end = cleaner.clean_end();
        cleaner.begin_filter();
        let (mut cleaner, kept) = drive(false, cleaner, &bytes(&self.batches), piece);
        let left = cleaner.take_aborted();
        self.aborted.retain(|txn| txn.last_offset >= end);
        self.aborted.splice(0..0, left);
        self.batches = kept;
        self.batches.extend(rest);
    }
}

fn checked(stored: &StoredBatch) -> CheckedBatch {
    batch::batches(stored.to_bytes()).next().unwrap().unwrap()
}

fn drive(
    collects: bool,
    mut cleaner: Box<Cleaner>,
    bytes: &Bytes,
    piece: usize,
) -> (Box<Cleaner>, Vec<CheckedBatch>) {
    let (mut at, mut size, mut kept) = (0, piece, Vec::new());
    while at < bytes.len() {
        let part = bytes.slice(at..bytes.len().min(at + size));
        let job = if collects { Job::collect(cleaner, part) } else { Job::filter(cleaner, part) };
        let JobDone { cleaner: back, piece: found } = job.run();
        cleaner = back;
        if cleaner.is_full() && collects {
            break;
        }
        let found = found.expect("good batches");
        kept.extend(found.kept);
        at += found.consumed as usize;
        size = if found.consumed == 0 { size.max(found.needed as usize).max(61) } else { piece };
    }
    (cleaner, kept)
}

/// A record as a reader sees it: offset, key, value.
type Shown = (Offset, Vec<u8>, Option<Vec<u8>>);

/// What a reader that keeps a table makes of the records.
fn table(shown: &[Shown]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut table = BTreeMap::new();
    for (_, key, value) in shown {
        match value {
            Some(value) => table.insert(key.clone(), value.clone()),
            None => table.remove(key),
        };
    }
    table
}

fn keys(log: &Log) -> Vec<(Offset, u8)> {
    log.committed().into_iter().map(|(offset, key, _)| (offset, key[0])).collect()
}

#[derive(Clone, Debug)]
enum Action {
    Data { pid: ProducerId, txn: bool, records: Vec<(u8, Option<u8>)> },
    End { pid: ProducerId, commit: bool },
    Clean { piece: usize, small: bool, wait_ms: i64, remember: u8 },
}

fn action() -> impl Strategy<Value = Action> {
    let record = (0..6_u8, prop::option::weighted(0.8, any::<u8>()));
    prop_oneof![
        6 => (1..4_i64, any::<bool>(), prop::collection::vec(record, 1..4))
            .prop_map(|(pid, txn, records)| Action::Data { pid, txn, records }),
        4 => (1..4_i64, any::<bool>()).prop_map(|(pid, commit)| Action::End { pid, commit }),
        2 => (61..900_usize, any::<bool>(), 0..150_i64, any::<u8>())
            .prop_map(|(piece, small, wait_ms, remember)| {
                Action::Clean { piece, small, wait_ms, remember }
            }),
    ]
}

proptest! {
    #[test]
    fn cleaning_leaves_of_every_key_the_newest_committed_value_and_nothing_that_was_not_there(
        actions in prop::collection::vec(action(), 1..80),
    ) {
        let (mut log, mut whole) = (Log::default(), Log::default());
        let mut now_ms = 1_000;
        for action in actions {
            match action {
                Action::Data { pid, txn, records } => {
                    let txn = txn || log.open.contains_key(&pid);
                    log.data(pid, txn, &records);
                    whole.data(pid, txn, &records);
                }
                Action::End { pid, commit } => {
                    let decision = if commit { Decision::Commit } else { Decision::Abort };
                    log.end_txn(pid, decision);
                    whole.end_txn(pid, decision);
                }
                Action::Clean { piece, small, wait_ms, remember } => {
                    now_ms += wait_ms;
                    let mut plan = log.plan(now_ms);
                    plan.map_bytes_max = if small { 120 } else { 1 << 20 };
                    plan.remembered = log
                        .batches
                        .iter()
                        .map(|batch| batch.header().last_offset())
                        .filter(|offset| offset % 8 == i64::from(remember % 8))
                        .collect();
                    let (remembered, end) = (plan.remembered.clone(), plan.end);
                    log.clean(plan, piece);
                    let left: BTreeSet<Offset> =
                        log.batches.iter().map(|batch| batch.header().last_offset()).collect();
                    prop_assert!(remembered.is_subset(&left), "what is remembered stays");
                    prop_assert!(end == 0 || left.contains(&(end - 1)), "the last batch stays");
                }
            }
            let (cleaned, all) = (log.committed(), whole.committed());
            prop_assert_eq!(table(&cleaned), table(&all));
            let known: BTreeSet<_> = all.into_iter().collect();
            prop_assert!(cleaned.iter().all(|record| known.contains(record)), "nothing is made up");
            let ascending = log.batches.windows(2).all(|pair| {
                pair[0].header().last_offset() < pair[1].header().base_offset
            });
            prop_assert!(ascending, "offsets rise");
        }
    }
}

const P: ProducerId = 1;
const Q: ProducerId = 2;

/// Report P34.
#[test]
fn a_committed_value_stays_when_later_ones_of_its_key_were_aborted_or_are_open() {
    let mut log = Log::default();
    log.data(P, true, &[(1, Some(1))]);
    log.end_txn(P, Decision::Commit);
    log.data(P, true, &[(1, Some(2))]);
    log.end_txn(P, Decision::Abort);
    log.data(Q, true, &[(1, Some(3))]);
    log.end_txn(Q, Decision::Abort);
    log.data(3, true, &[(1, Some(4))]);
    let before = log.committed();
    assert_eq!(before[0], (0, [1].into(), Some([1].into())));
    let plan = log.plan(0);
    assert_eq!(plan.end, 6, "nothing at or above the last stable offset");
    log.clean(plan, 4096);
    assert_eq!(log.committed()[0], before[0]);
    let left: Vec<Offset> = log.batches.iter().map(|batch| batch.header().base_offset).collect();
    assert_eq!(left, [0, 1, 3, 5, 6], "the markers of aborted records stay at first");
}

#[test]
fn a_marker_goes_one_retention_after_the_last_record_of_its_transaction_did() {
    let mut log = Log::default();
    log.data(P, true, &[(1, Some(1))]);
    log.end_txn(P, Decision::Abort);
    log.data(Q, false, &[(9, Some(9))]);
    let there = |log: &Log| log.batches.iter().any(|batch| batch.header().is_control());
    log.clean(log.plan(1_000), 4096);
    assert!(there(&log) && log.aborted.len() == 1, "its record went only now");
    log.clean(log.plan(2_000), 4096);
    assert!(there(&log) && log.aborted.is_empty(), "its retention begins");
    let marker = log.batches.iter().find(|batch| batch.header().is_control()).unwrap();
    assert_eq!(marker.header().delete_horizon_ms(), Some(2_100));
    assert!(batch::parse_marker(marker).is_some());
    log.clean(log.plan(2_099), 4096);
    assert!(there(&log));
    log.clean(log.plan(2_100), 4096);
    assert!(!there(&log));
}

#[test]
fn a_tombstone_hides_older_values_at_once_and_goes_after_its_retention() {
    let mut log = Log::default();
    log.data(P, false, &[(1, Some(1)), (2, Some(2))]);
    log.data(P, false, &[(1, None)]);
    log.data(P, false, &[(3, Some(3))]);
    log.clean(log.plan(1_000), 4096);
    assert_eq!(keys(&log), [(1, 2), (2, 1), (3, 3)]);
    assert_eq!(log.batches[1].header().delete_horizon_ms(), Some(1_100));
    log.clean(log.plan(1_099), 4096);
    assert_eq!(keys(&log), [(1, 2), (2, 1), (3, 3)]);
    log.clean(log.plan(1_100), 4096);
    assert_eq!(keys(&log), [(1, 2), (3, 3)]);
}

#[test]
fn a_batch_that_holds_a_producers_sequences_stays_without_records() {
    let mut log = Log::default();
    let batch = BatchBuilder::new(1_000)
        .producer(P, 3, 40)
        .record(Some(Bytes::from_static(b"k")), Some(Bytes::from_static(b"1")), &[])
        .record(Some(Bytes::from_static(b"k")), Some(Bytes::from_static(b"2")), &[]);
    log.push(&batch.build());
    log.data(Q, false, &[(b'k', Some(3))]);
    let plan = CleanPlan { remembered: [1].into(), ..log.plan(0) };
    log.clean(plan, 4096);
    let kept = log.batches[0].header();
    assert_eq!((kept.base_offset, kept.last_offset(), kept.record_count), (0, 1, 0));
    assert_eq!((kept.producer_id, kept.producer_epoch, kept.base_sequence), (P, 3, 40));
    assert_eq!(kept.last_sequence(), 41);
    log.clean(log.plan(0), 4096);
    assert_eq!(log.batches.len(), 1, "once its producer is forgotten it goes");
}

/// verdict-sim seed 190231: retention had taken the segment with the ABORT marker.
#[test]
fn what_was_aborted_before_the_range_does_not_take_what_its_producer_committed_later() {
    let mut log = Log::default();
    log.data(P, true, &[(b'k', Some(1))]);
    log.end_txn(P, Decision::Abort);
    log.data(P, true, &[(b'k', Some(2))]);
    log.end_txn(P, Decision::Commit);
    log.data(Q, false, &[(b'q', Some(3))]);
    log.batches.drain(..2);
    let plan = CleanPlan { start: 2, ..log.plan(0) };
    log.clean(plan, 4096);
    assert_eq!(keys(&log), [(2, b'k'), (4, b'q')]);
}

#[test]
fn a_marker_that_fences_a_producer_stays_without_its_record() {
    let mut log = Log::default();
    log.end_txn(P, Decision::Commit);
    log.data(Q, false, &[(1, Some(1))]);
    let plan = |log: &Log, now_ms| CleanPlan { fenced: [(P, 0)].into(), ..log.plan(now_ms) };
    log.clean(plan(&log, 1_000), 4096);
    log.clean(plan(&log, 2_000), 4096);
    let kept = log.batches[0].header();
    assert_eq!((kept.record_count, kept.producer_id, kept.is_control()), (0, P, true));
}

#[test]
fn compressed_batches_stay_compressed_and_times_stay_as_they_were() {
    for codec in 1..5 {
        let mut builder = BatchBuilder::new(5_000).producer(P, 0, 0);
        for (key, ms) in [(1_u8, 5_000), (2, 5_007), (1, 5_003)] {
            builder = builder.at(ms);
            builder.push(Some(&[key]), Some(&[7; 300]), &[]);
        }
        let plain = builder.build();
        let all: Vec<Record> = batch::records(&plain).map(Result::unwrap).collect();
        let mut header = *plain.header();
        header.attributes = Attributes(header.attributes.0 | codec);
        let packed = batch::rewrite(&header, &all, None).unwrap();
        assert!(packed.size() < plain.size(), "{codec}");
        let mut log = Log::default();
        log.push(&packed);
        log.clean(log.plan(0), 4096);
        let left = &log.batches[0];
        assert_eq!(left.header().compression(), Compression::of(codec));
        let times: Vec<_> = batch::records(left).map(|r| r.unwrap()).collect();
        let times: Vec<_> = times.iter().map(|r| (r.offset_delta, r.timestamp)).collect();
        assert_eq!(times, [(1, 5_007), (2, 5_003)]);
        assert_eq!(left.header_and_payload().0.max_timestamp, 5_007);
    }
}

#[test]
fn what_the_keys_have_no_room_for_is_for_the_next_time() {
    let mut log = Log::default();
    for key in 0..8 {
        log.data(P, false, &[(key, Some(1))]);
    }
    for key in 0..8 {
        log.data(P, false, &[(key, Some(2))]);
    }
    let plan = CleanPlan { map_bytes_max: 160, ..log.plan(0) };
    log.clean(plan, 4096);
    assert_eq!(log.clean_end, 3, "room for three keys");
    assert_eq!(log.batches.len(), 16);
    for _ in 0..8 {
        let plan = CleanPlan { map_bytes_max: 160, ..log.plan(0) };
        log.clean(plan, 4096);
    }
    assert_eq!(log.clean_end, 16);
    assert_eq!(log.batches.len(), 8);
}
