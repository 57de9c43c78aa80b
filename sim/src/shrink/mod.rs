//! Makes a recorded run small, and keeps the oracle that spoke.
//!
//! Coarse first: whole clients, whole kinds of faults, whole transactions, then single steps and
//! single faults; then choices are set to dull, spans of dull ones before a fault are deleted (so
//! that it strikes earlier), and numbers are lowered. What is left out makes later inputs come
//! earlier, so a cut that fails is tried again with the faults that are left at other moments.
//! All of it again until nothing helps or the time is up.

mod lanes;
mod plan;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::explore::Failure;
use crate::record::RecordedRun;
use crate::trace::{Trace, mix};

/// What shrinking did.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest run found.
    pub run: RecordedRun,
    /// How many runs it took.
    pub tries: u64,
    /// Whether nothing more could be done, rather than the time being up.
    pub finished: bool,
}

/// How small a run is: steps, then choices that are not dull, then their length.
type Cost = (usize, usize, usize);

pub(crate) struct Shrinker<'c> {
    best: RecordedRun,
    cost: Cost,
    found_by: String,
    tries: u64,
    random: u64,
    time_is_up: &'c dyn Fn() -> bool,
}

/// Makes a run small within a time; `None` when the run finds nothing to begin with.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "how long people wait is no part of a run")]
pub fn shrink(run: &RecordedRun, limit: Duration) -> Option<Shrunk> {
    let began = std::time::Instant::now();
    let time_is_up = move || began.elapsed() >= limit;
    shrink_until(run, &time_is_up)
}

/// Makes a run small until somebody says that it is enough.
pub(crate) fn shrink_until(run: &RecordedRun, time_is_up: &dyn Fn() -> bool) -> Option<Shrunk> {
    let first = run.run(Trace::quiet());
    let found_by = first.failure.as_ref().map(Failure::found_by)?;
    let mut best = run.clone();
    if let Some(recording) = first.recording {
        best.choices = recording.trimmed();
    }
    let cost = cost(&best);
    let mut shrinker = Shrinker { best, cost, found_by, tries: 1, random: 1, time_is_up };
    let mut finished = false;
    while !time_is_up() && !finished {
        let before = shrinker.cost;
        shrinker.drop_clients();
        shrinker.drop_fault_kinds();
        shrinker.drop_transactions();
        shrinker.drop_steps();
        shrinker.dull_faults();
        shrinker.dull_lanes();
        shrinker.strike_earlier();
        shrinker.lower_numbers();
        finished = shrinker.cost == before;
    }
    let finished = finished && !time_is_up();
    Some(Shrunk { run: shrinker.best, tries: shrinker.tries, finished })
}

fn cost(run: &RecordedRun) -> Cost {
    let length = run.choices.lanes().map(|(_, choices)| choices.len()).sum();
    (run.steps(), run.choices.lively(), length)
}

impl Shrinker<'_> {
    /// Takes a candidate when it is smaller and the same oracle speaks.
    fn attempt(&mut self, candidate: RecordedRun) -> bool {
        if (self.time_is_up)() || candidate == self.best {
            return false;
        }
        self.tries += 1;
        let run = candidate.run(Trace::quiet());
        if run.failure.as_ref().map(Failure::found_by).as_ref() != Some(&self.found_by) {
            return false;
        }
        // What the run did not ask for is gone from its own recording.
        let choices = run.recording.map_or(candidate.choices, |recording| recording.trimmed());
        let normal = RecordedRun { choices, cuts: candidate.cuts };
        let cost = cost(&normal);
        if cost >= self.cost {
            return false;
        }
        (self.best, self.cost) = (normal, cost);
        true
    }

    /// The same, and when it fails a few times more with the faults at other moments.
    fn attempt_moved(&mut self, candidate: RecordedRun, times: u32) -> bool {
        if self.attempt(candidate.clone()) {
            return true;
        }
        if candidate.choices.faults() == 0 {
            return false;
        }
        (0..times).any(|_| {
            let moved = self.with_faults_moved(&candidate);
            self.attempt(moved)
        })
    }

    /// A number below `n`, for the search only.
    fn below(&mut self, n: usize) -> usize {
        self.random = mix(self.random, 0x5eed);
        (self.random % n.max(1) as u64) as usize
    }

    /// Tries to leave out spans of `count` things, halves first, then smaller ones.
    fn spans(&mut self, count: usize, mut smaller: impl FnMut(&mut Self, usize, usize)) {
        let mut size = count;
        while size > 0 && !(self.time_is_up)() {
            let mut from = 0;
            while from < count {
                smaller(self, from, (from + size).min(count));
                from += size;
            }
            size /= 2;
        }
    }
}
