//! Retention by time and size, and the segments it works on.

use super::looks::UNCOMMITTED;
use super::verbs::{produce, produced};
use crate::batch::{BatchBuilder, Screened};
use crate::node::testing::Bench;

/// How often the tests' nodes look.
const LOOK_MS: u64 = 1_000;

fn bench(configs: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::open_with(|config| config.log_retention_check_interval_ms = 1_000);
    bench.topic_with("t", 1, configs);
    bench
}

impl Bench {
    /// Writes one record of that age and size; its offset.
    fn aged(&mut self, age_ms: i64, bytes: usize) -> i64 {
        let mut batch = BatchBuilder::new(self.wall_ms() - age_ms);
        batch.push(Some(b"k"), Some(&alloc::vec![b'v'; bytes]), &[]);
        let request = produce(11, None, "t-0", Screened::Batch(batch.build()));
        produced(self.ask(11, request)).expect("it is written")
    }

    fn start_of_log(&mut self) -> i64 {
        self.pass_ms(2 * LOOK_MS);
        self.list_offset(UNCOMMITTED, "t-0", -2).unwrap().0
    }
}

#[test]
fn a_segment_goes_when_its_youngest_record_is_too_old() {
    let mut bench = bench(&[("segment.ms", "10000"), ("retention.ms", "60000")]);
    for age_ms in [90_000, 85_000, 70_000, 30_000, 5_000] {
        bench.aged(age_ms, 10);
    }
    // Segments: 0 and 1; 2; 3; 4.
    assert_eq!(bench.start_of_log(), 3);
    bench.pass_ms(40_000);
    assert_eq!(bench.start_of_log(), 4);
    let mut bench = bench.crash();
    assert_eq!(bench.start_of_log(), 4, "it is there after a crash");
    assert_eq!(bench.aged(0, 10), 5);
}

#[test]
fn a_log_whose_records_are_all_too_old_is_empty_and_goes_on() {
    let mut bench = bench(&[("retention.ms", "60000")]);
    bench.aged(90_000, 10);
    bench.aged(80_000, 10);
    assert_eq!(bench.start_of_log(), 2);
    assert_eq!(bench.log_bytes("t"), 0, "the newest segment is gone, too");
    assert_eq!(bench.aged(0, 10), 2);
    assert_eq!(bench.start_of_log(), 2);
    let mut bench = bench.crash();
    assert_eq!(bench.start_of_log(), 2);
    assert_eq!(bench.ends("t-0"), (3, 3));
}

#[test]
fn the_oldest_segments_go_when_the_log_is_too_large() {
    let mut bench = bench(&[
        ("segment.bytes", "1048576"),
        ("retention.bytes", "1300000"),
        ("retention.ms", "-1"),
    ]);
    for _ in 0..10 {
        bench.aged(1_000_000, 400_000);
    }
    // Two records to a segment: five segments, of which the last two are kept, for without the
    // one before them the log would be smaller than it may be.
    assert_eq!(bench.start_of_log(), 6);
}

#[test]
fn nothing_goes_that_the_policy_or_the_settings_keep() {
    for configs in [
        &[("cleanup.policy", "compact"), ("retention.ms", "1")][..],
        &[("cleanup.policy", ""), ("retention.ms", "1")],
        &[("retention.ms", "-1"), ("retention.bytes", "-1")],
    ] {
        let mut bench = bench(configs);
        bench.aged(900_000, 10);
        assert_eq!(bench.start_of_log(), 0, "{configs:?}");
    }
}

#[test]
fn a_shorter_retention_takes_hold_without_a_restart() {
    let mut bench = bench(&[]);
    bench.aged(90_000, 10);
    assert_eq!(bench.start_of_log(), 0);
    assert_eq!(bench.alter(2, "t", &[("retention.ms", 0, Some("60000"))]), 0);
    assert_eq!(bench.start_of_log(), 1);
}
