//! The nightly run: hours of seeds, with the alarm tested first.
//!
//! It fails when the canary is not found, when a seed fails, when a mark stays at zero for
//! [`SEEDS_TO_HIT`] seeds, or when another process gives other hashes. A stop (Ctrl-C) ends it
//! like its time does: with everything that was found.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::canary;
use crate::explore::{Exploration, Failure, Summary, explore, explore_until};
use crate::out;
use crate::record::RecordedRun;
use crate::report::{SEEDS_TO_HIT, averages, marks_due, progress, speed};
use crate::save::{commit, save_seed, save_shrunk, shrunk_name};
use crate::say;

/// What to do at night.
#[derive(Clone, Debug)]
pub struct Nightly {
    /// For how long.
    pub time: Duration,
    /// On how many threads.
    pub jobs: usize,
    /// The first seed.
    pub from: u64,
    /// Where failures go.
    pub save: PathBuf,
    /// How often to say how far it is.
    pub every: Duration,
    /// How long each failure may be shrunk.
    pub shrink: Duration,
    /// How many seeds another process runs again.
    pub sample: u64,
}

/// How a night ended.
#[derive(Clone, Debug)]
pub struct Night {
    /// The seeds.
    pub summary: Summary,
    /// Everything that has to be looked at, in words.
    pub complaints: Vec<String>,
    /// 0, or what tells the worst finding from others.
    pub exit_code: u8,
}

/// The worst of exit codes: a broken invariant, then safety, nondeterminism, liveness.
#[must_use]
pub fn worst(codes: impl Iterator<Item = u8>) -> u8 {
    let rank = |code: u8| [127, 129, 130, 128].iter().position(|&known| known == code);
    codes.filter(|&code| code != 0).min_by_key(|&code| rank(code).unwrap_or(9)).unwrap_or(0)
}

impl Nightly {
    /// Runs until the time is over or somebody stops it. Prints as it goes.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "how long a night is, is no part of any run")]
    pub fn run(&self, stop: &AtomicBool) -> Night {
        let began = Instant::now();
        let mut complaints = Vec::new();
        match canary::ring() {
            Err(silent) => complaints.push(format!("CANARY: {silent}")),
            Ok(_) => say!("canary: found, as it has to be"),
        }
        let commit = commit();
        let said = Mutex::new(Instant::now());
        let plan = Exploration {
            from: self.from,
            seeds: u64::MAX,
            jobs: self.jobs,
            check_every: 100,
            most_failures: 50,
            ..Exploration::default()
        };
        let failing = |seed: u64, failure: &Failure| {
            // Nobody may read any more: it is saved before it is said.
            let saved = save_seed(&self.save, seed.into(), &commit);
            out::found(failure.exit_code());
            say!("seed {seed}: {failure}");
            match saved {
                Ok(path) => say!("  saved: {}", path.display()),
                Err(error) => say!("  not saved: {error}"),
            }
        };
        let summary = explore_until(plan, stop, failing, |summary, _, _| {
            if began.elapsed() >= self.time {
                stop.store(true, Ordering::Relaxed);
            }
            let mut said = said.lock().expect("no thread panics while it prints");
            if said.elapsed() >= self.every {
                *said = Instant::now();
                say!("{}", progress(summary, began.elapsed(), self.jobs));
            }
        });
        let took = began.elapsed();
        self.shrink_all(&summary, &commit);
        let codes = summary.failures.iter().map(|(_, failure)| failure.exit_code());
        let mut codes: Vec<u8> = codes.collect();
        complaints.extend(summary.failures.iter().map(|(seed, failure)| {
            let text = failure.to_string();
            let first = text.lines().next().unwrap_or_default();
            format!("seed {seed}: {first}")
        }));
        let due = marks_due(&summary);
        if summary.seeds >= SEEDS_TO_HIT && !due.is_empty() {
            complaints.push(format!("not hit in {} seeds: {}", summary.seeds, due.join(" ")));
        }
        let second = self.second_process();
        if let Err(differs) = &second {
            complaints.push(differs.clone());
            codes.push(130);
        }
        if codes.is_empty() && !complaints.is_empty() {
            codes.push(1);
        }
        say!("{}", self.screen(&summary, &complaints, second.is_ok(), took));
        Night { summary, complaints, exit_code: worst(codes.into_iter()) }
    }

    /// Shrinks the first failure of every oracle; the others are most often the same.
    fn shrink_all(&self, summary: &Summary, commit: &str) {
        let mut seen = Vec::new();
        for (seed, failure) in &summary.failures {
            if seen.contains(&failure.found_by()) {
                continue;
            }
            seen.push(failure.found_by());
            let (recorded, _) = RecordedRun::of_seed(*seed);
            let target = shrunk_name(&self.save.join(format!("seed-{seed}.toml")));
            match save_shrunk(&target, &recorded, Some(*seed), commit, self.shrink) {
                Ok(Some((shrunk, _))) => say!(
                    "seed {seed}: {} steps, shrunk to {}: {}",
                    recorded.steps(),
                    shrunk.run.steps(),
                    target.display()
                ),
                Ok(None) => say!("seed {seed}: fails no more when it is run again"),
                Err(error) => say!("seed {seed}: not saved: {error}"),
            }
        }
    }

    /// Asks another process for the hash of a sample. An error says that there is none, or that it
    /// does not agree.
    fn second_process(&self) -> Result<(), String> {
        let (from, seeds, jobs) = (self.from, self.sample, self.jobs);
        let plan = Exploration { from, seeds, jobs, ..Exploration::default() };
        let here = format!("{:016x}", explore(plan, |_, _| {}).hash);
        let output = std::env::current_exe().and_then(|program| {
            Command::new(program)
                .args(["hash", "--seeds", &self.sample.to_string()])
                .args(["--from", &self.from.to_string()])
                .output()
        });
        let output = output.map_err(|error| format!("no second process: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let there = text.split_whitespace().next().unwrap_or("nothing");
        if there == here {
            return Ok(());
        }
        Err(format!("nondeterminism: {here} here, {there} in another process"))
    }

    fn screen(
        &self,
        summary: &Summary,
        complaints: &[String],
        agrees: bool,
        took: Duration,
    ) -> String {
        let sample = format!("; {} seeds agree in two processes", self.sample);
        let mut lines = vec![
            "== the night".to_owned(),
            speed(summary, took, self.jobs),
            averages(summary),
            format!("seeds {} to {}", self.from, self.from + summary.seeds),
            format!("hash {:016x}{}", summary.hash, if agrees { &*sample } else { "" }),
            format!("{} marks that these worlds drive never hit", marks_due(summary).len()),
            format!("{} failing seeds, in {}", summary.failures.len(), self.save.display()),
        ];
        lines.extend(complaints.iter().take(12).map(|complaint| format!("FAILED {complaint}")));
        if complaints.len() > 12 {
            lines.push(format!("and {} more", complaints.len() - 12));
        }
        lines.push(if complaints.is_empty() { "nothing found" } else { "FAILED" }.to_owned());
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_findings_is_a_broken_invariant_then_safety() {
        assert_eq!(worst([128, 129, 127].into_iter()), 127);
        assert_eq!(worst([128, 130, 129].into_iter()), 129);
        assert_eq!(worst([128, 1].into_iter()), 128);
        assert_eq!(worst([1].into_iter()), 1);
        assert_eq!(worst(core::iter::empty()), 0);
    }
}
