//! What a run of many seeds tells people: figures, marks, failures.

use std::time::Duration;

use verdict_core::marks::Mark;

use crate::explore::Summary;

/// Seeds within which the nightly run has to hit every mark that standard worlds drive.
pub const SEEDS_TO_HIT: u64 = 50_000;

/// Marks that should have been hit and were not.
#[must_use]
pub fn marks_due(summary: &Summary) -> Vec<&'static str> {
    summary.marks_missed().map(Mark::name).collect()
}

/// Seeds, core inputs (of all threads, and of each) and simulated seconds per second, in one line.
#[must_use]
pub fn speed(summary: &Summary, took: Duration, jobs: usize) -> String {
    let seconds = took.as_secs_f64().max(1e-9);
    let inputs = summary.inputs as f64 / seconds;
    format!(
        "{} seeds in {seconds:.1} s: {:.0} seeds/s, {inputs:.0} core inputs/s ({:.0} a thread), \
         {:.0} simulated s/s",
        summary.seeds,
        summary.seeds as f64 / seconds,
        inputs / jobs.max(1) as f64,
        summary.simulated.as_secs_f64() / seconds
    )
}

/// What a seed was on the average, in one line.
#[must_use]
pub fn averages(summary: &Summary) -> String {
    let per = |sum: u64| sum as f64 / summary.seeds.max(1) as f64;
    format!(
        "per seed: {:.0} client operations, {:.0} core inputs, {:.1} lives of the node",
        per(summary.operations),
        per(summary.inputs),
        per(summary.lives)
    )
}

/// One line about a run that goes on.
#[must_use]
pub fn progress(summary: &Summary, took: Duration, jobs: usize) -> String {
    let resident = resident_mb().map_or_else(String::new, |mb| format!(", {mb} MB"));
    format!(
        "{}, {} failures, {} marks still at 0{resident}",
        speed(summary, took, jobs),
        summary.failures.len(),
        marks_due(summary).len()
    )
}

/// The resident memory of this process, in MB, where the system tells.
#[must_use]
pub fn resident_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1_024)
}
