//! What one run of a workload brings.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// Largest latency that is told apart, in µs.
const LATENCY_MAX_US: u64 = 60_000_000;
/// Significant digits of a latency.
const LATENCY_DIGITS: u8 = 3;

/// Counts and latencies of a run.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// Requests, commits, or whatever the workload counts.
    pub(super) operations: u64,
    /// Records.
    pub(super) records: u64,
    /// Bytes of record batches.
    pub(super) bytes: u64,
    /// How long it took.
    pub(super) elapsed: Duration,
    /// Latencies in µs.
    pub(super) latency_us: Histogram<u64>,
}

impl Default for Sample {
    fn default() -> Self {
        let latency_us = Histogram::new_with_max(LATENCY_MAX_US, LATENCY_DIGITS);
        Self {
            operations: 0,
            records: 0,
            bytes: 0,
            elapsed: Duration::ZERO,
            latency_us: latency_us.expect("three digits up to a minute are a legal histogram"),
        }
    }
}

impl Sample {
    /// Notes how long something took that began at `since`.
    pub(super) fn took(&mut self, since: Instant) {
        let us = u64::try_from(since.elapsed().as_micros()).unwrap_or(LATENCY_MAX_US);
        self.latency_us.saturating_record(us.min(LATENCY_MAX_US));
    }

    /// Adds what a thread that ran beside this one brings; the longer of both times counts.
    pub(super) fn beside(mut self, other: &Self) -> Self {
        self.operations += other.operations;
        self.records += other.records;
        self.bytes += other.bytes;
        self.elapsed = self.elapsed.max(other.elapsed);
        self.latency_us.add(&other.latency_us).expect("all histograms have the same bounds");
        self
    }
}
