//! Report P34, retention by time and size, and segments that grow old: through the whole node.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::looks::{COMMITTED, UNCOMMITTED};
use super::verbs::{ABORT, COMMIT, TV2, Who, produce, produced};
use crate::batch::{self, BatchBuilder, BatchHeader, Screened};
use crate::config::BrokerConfig;
use crate::node::testing::Bench;
use crate::types::{PartitionId, TopicPartition};

/// Small segments, and a cleaner that is never far away.
fn tidy(config: &mut BrokerConfig) {
    config.segment_bytes_max = 600;
    config.log_cleaner_backoff_ms = 1_000;
    config.log_cleaner_min_cleanable_ratio.ppm = 0;
    config.log_retention_check_interval_ms = 1_000;
}

const COMPACT: [(&str, &str); 2] = [("cleanup.policy", "compact"), ("delete.retention.ms", "0")];

impl Bench {
    fn partition(&self, to: &str) -> PartitionId {
        let (topic, partition) = super::verbs::split(to);
        self.node.meta.partition_id(&TopicPartition::new(topic, partition)).unwrap()
    }

    /// Everything of a partition that a reader of this isolation gets: offsets and values.
    fn contents(&mut self, isolation: i8, to: &str) -> Vec<(i64, String)> {
        let mut next = self.list_offset(isolation, to, -2).unwrap().0;
        let end = self.list_offset(isolation, to, -1).unwrap().0;
        let mut all = Vec::new();
        while next < end {
            let seen = self.fetch(isolation, to, next);
            assert_eq!(seen.code, 0);
            let last = batch::headers(core::slice::from_ref(&seen.bytes)).last();
            all.extend(seen.visible.iter().copied().zip(seen.values.iter().cloned()));
            next = last.map(|last: BatchHeader| last.last_offset() + 1).expect("no empty answer");
        }
        all
    }

    /// Records of one key, by nobody, one batch each.
    fn fill(&mut self, to: &str, key: &str, values: core::ops::Range<i32>) {
        for value in values {
            let batch = BatchBuilder::new(self.now.wall_ms).record(
                Some(key.to_string().into()),
                Some(alloc::format!("{key}{value}").into()),
                &[],
            );
            let batch = Screened::Batch(batch.build());
            produced(self.ask(9, produce(9, None, to, batch))).unwrap();
        }
    }
}

#[test]
fn of_every_key_the_last_committed_value_is_there_however_a_log_was_cleaned() {
    for crash in [false, true] {
        let mut bench = Bench::open_with(tidy);
        bench.topic_with("t", 1, &COMPACT);
        bench.fill("t-0", "a", 0..20);
        let mut p = bench.init("p").unwrap();
        bench.write_as(TV2, "p", "t-0", p, 0, 1).unwrap();
        p = bench.end(5, "p", p, COMMIT).unwrap();
        let committed = bench.contents(COMMITTED, "t-0").last().cloned().unwrap();
        for _ in 0..6 {
            bench.write_as(TV2, "p", "t-0", p, 0, 2).unwrap();
            p = bench.end(5, "p", p, ABORT).unwrap();
        }
        bench.fill("t-0", "b", 0..20);
        let before = bench.node.store.log_bytes(bench.partition("t-0"));
        bench.pass_ms(20_000);
        if crash {
            bench = bench.crash();
            bench.pass_ms(20_000);
        }
        for isolation in [COMMITTED, UNCOMMITTED] {
            let seen = bench.contents(isolation, "t-0");
            let has = |value: &str| seen.iter().any(|(_, seen)| seen == value);
            assert!(has("a19") && has("b19") && seen.contains(&committed), "{seen:?}");
            assert!(!has("a0") && !has("a18"), "{seen:?}");
        }
        let after = bench.node.store.log_bytes(bench.partition("t-0"));
        assert!(after < before / 2, "{after} of {before}");
        assert_eq!(bench.faults, [""; 0]);
        bench.write_as(TV2, "p", "t-0", p, 0, 1).unwrap();
        bench.end(5, "p", p, COMMIT).unwrap();
        assert!(bench.contents(COMMITTED, "t-0").last().unwrap().1.ends_with("/0"));
    }
}

/// Once the abort's marker is gone nothing would end it for a reader that the list names it to.
#[test]
fn what_a_producer_committed_behind_an_abort_is_read_when_the_aborts_marker_was_cleaned_away() {
    let mut bench = Bench::open_with(tidy);
    bench.topic_with("t", 1, &COMPACT);
    let mut p = bench.init("p").unwrap();
    for decision in [ABORT, COMMIT] {
        bench.write_as(TV2, "p", "t-0", p, 0, 2).unwrap();
        p = bench.end(5, "p", p, decision).unwrap();
    }
    let committed = bench.contents(COMMITTED, "t-0");
    assert!(!committed.is_empty());
    let id = bench.partition("t-0");
    let aborted = |bench: &Bench| bench.node.partitions.get(&id).unwrap().aborted_in(0, 1 << 40);
    assert_eq!(aborted(&bench).len(), 1);
    for round in 0..4 {
        bench.fill("t-0", "b", 20 * round..20 * (round + 1));
        bench.pass_ms(20_000);
    }
    assert_eq!(aborted(&bench), [], "its marker is gone");
    let seen = bench.contents(COMMITTED, "t-0");
    let left: Vec<_> = committed.iter().filter(|one| seen.contains(one)).collect();
    assert!(!left.is_empty(), "{seen:?}");
}

#[test]
fn nothing_at_or_above_the_last_stable_offset_is_cleaned() {
    let mut bench = Bench::open_with(tidy);
    bench.topic_with("t", 1, &COMPACT);
    let p = bench.init("p").unwrap();
    bench.write_as(TV2, "p", "t-0", p, 0, 1).unwrap();
    bench.fill("t-0", "a", 0..30);
    bench.pass_ms(20_000);
    assert_eq!(bench.contents(UNCOMMITTED, "t-0").len(), 31);
    bench.end(5, "p", p, COMMIT).unwrap();
    bench.fill("t-0", "a", 30..31);
    bench.pass_ms(20_000);
    assert!(bench.contents(UNCOMMITTED, "t-0").len() < 12);
}

#[test]
fn a_repeat_is_recognized_although_its_record_was_cleaned() {
    let mut bench = Bench::open_with(tidy);
    bench.topic_with("t", 1, &COMPACT);
    let p = bench.idempotent();
    for sequence in 0..5 {
        assert_eq!(bench.write("t-0", p, sequence, 1), Ok(i64::from(sequence)));
    }
    bench.fill("t-0", "k", 0..30);
    bench.pass_ms(20_000);
    assert!(bench.contents(UNCOMMITTED, "t-0").iter().all(|(offset, _)| *offset > 4));
    // Without the snapshot the log alone has to say it.
    let mut bench = bench.restart_after(|files| files.remove_all(".snapshot"));
    for sequence in [0, 2, 4] {
        assert_eq!(bench.write("t-0", p, sequence, 1), Ok(i64::from(sequence)), "{sequence}");
    }
    assert_eq!(bench.write("t-0", p, 6, 1), Err(45));
    assert_eq!(bench.write("t-0", p, 5, 1), Ok(35));
}

#[test]
fn the_logs_of_the_coordinators_stay_small_and_say_the_same() {
    let mut bench = Bench::open_with(tidy);
    bench.topic("t", 1);
    let mut p = bench.init("p").unwrap();
    for offset in 0..60 {
        assert_eq!(bench.stage(TV2, "p", p, "g", "t-0", offset), 0);
        p = bench.end(5, "p", p, if offset % 3 == 2 { ABORT } else { COMMIT }).unwrap();
    }
    let sizes = |bench: &Bench| -> Vec<u64> {
        [
            "__consumer_offsets-0",
            "__consumer_offsets-1",
            "__transaction_state-0",
            "__transaction_state-1",
        ]
        .map(|to| bench.node.store.log_bytes(bench.partition(to)))
        .to_vec()
    };
    let before: u64 = sizes(&bench).iter().sum();
    bench.pass_ms(60_000);
    let after: u64 = sizes(&bench).iter().sum();
    assert!(after < before / 3, "{after} of {before}");
    let mut bench = bench.crash();
    bench.pass_ms(1_000);
    assert_eq!(bench.group_offset("g", "t-0", true), Ok(58));
    assert_eq!(bench.describe("p").unwrap().1, Who(p.0, p.1));
    assert_eq!(bench.stage(TV2, "p", p, "g", "t-0", 99), 0);
    bench.end(5, "p", p, COMMIT).unwrap();
    assert_eq!(bench.group_offset("g", "t-0", true), Ok(99));
}

#[test]
fn what_is_older_or_more_than_a_topic_keeps_goes() {
    let mut bench = Bench::open_with(tidy);
    bench.topic_with("old", 1, &[("retention.ms", "5000")]);
    bench.topic_with("big", 1, &[("retention.bytes", "1500")]);
    bench.topic_with("kept", 1, &[("retention.ms", "-1")]);
    for to in ["old-0", "big-0", "kept-0"] {
        bench.fill(to, "k", 0..30);
    }
    bench.pass_ms(2_000);
    assert_eq!(bench.list_offset(COMMITTED, "old-0", -2), Ok((0, -1)));
    let size = bench.node.store.log_bytes(bench.partition("big-0"));
    assert!((1_500..2_100).contains(&size), "{size}");
    bench.fill("old-0", "k", 30..31);
    bench.pass_ms(8_000);
    let bench = &mut bench.crash();
    assert_eq!(bench.list_offset(COMMITTED, "old-0", -2), Ok((31, -1)), "also the newest segment");
    assert_eq!(bench.node.store.log_bytes(bench.partition("old-0")), 0);
    assert_eq!(bench.list_offset(COMMITTED, "kept-0", -2), Ok((0, -1)));
    bench.fill("old-0", "k", 31..32);
    assert_eq!(bench.contents(COMMITTED, "old-0"), [(31, "k31".into())]);
}

#[test]
fn a_segment_is_closed_when_its_records_are_old() {
    let mut bench = Bench::open_with(|config| {
        tidy(config);
        config.segment_bytes_max = 0;
    });
    bench.topic_with("t", 1, &[("segment.ms", "1000")]);
    bench.fill("t-0", "k", 0..3);
    bench.now.wall_ms += 1_001;
    bench.fill("t-0", "k", 3..4);
    // Written behind: by the next checkpoint at the latest.
    bench.pass_ms(120_000);
    let path = "t-0/00000000000000000003.log";
    assert!(bench.files.length(path) > 0);
}
