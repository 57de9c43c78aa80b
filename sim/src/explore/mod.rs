//! Many seeds, on many threads.

mod run;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use verdict_core::marks::Mark;

pub use self::run::{Failure, Run, faults_of, history_of, run_seed, run_world};
use crate::trace::{Trace, mix};

/// What to explore.
#[derive(Clone, Copy, Debug)]
pub struct Exploration {
    /// The first seed.
    pub from: u64,
    /// How many.
    pub seeds: u64,
    /// On how many threads.
    pub jobs: usize,
    /// Every how manyth seed is run twice and its hashes compared; 0 for none.
    pub check_every: u64,
    /// Stop after so many failing seeds.
    pub most_failures: usize,
}

/// What exploring found.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Seeds that were run.
    pub seeds: u64,
    /// Inputs that nodes were handed.
    pub inputs: u64,
    /// Requests that clients sent.
    pub operations: u64,
    /// Lives that nodes had.
    pub lives: u64,
    /// The worlds' time, added up.
    pub simulated: Duration,
    /// How often each mark was hit, in the order of `Mark::ALL`.
    pub marks: Vec<u64>,
    /// The failing seeds, ascending.
    pub failures: Vec<(u64, Failure)>,
    /// The seeds' hashes, mixed in the order of the seeds.
    pub hash: u64,
}

impl Summary {
    fn add(&mut self, seed: u64, run: &Run, hashes: &mut Vec<(u64, u64)>) {
        self.seeds += 1;
        self.inputs += run.inputs;
        self.operations += run.operations;
        self.lives += run.lives;
        self.simulated += run.simulated;
        self.marks.resize(Mark::ALL.len(), 0);
        for (sum, count) in self.marks.iter_mut().zip(&run.marks) {
            *sum += count;
        }
        hashes.push((seed, run.hash));
        if let Some(failure) = &run.failure {
            self.failures.push((seed, failure.clone()));
        }
    }

    /// The marks that no seed hit.
    pub fn marks_missed(&self) -> impl Iterator<Item = Mark> + '_ {
        Mark::ALL.iter().zip(&self.marks).filter(|&(_, &count)| count == 0).map(|(&mark, _)| mark)
    }
}

/// Explores. `progress` is called with every failing seed as soon as it is known.
#[must_use]
pub fn explore(plan: Exploration, progress: impl Fn(u64, &Failure) + Sync) -> Summary {
    let next = AtomicU64::new(plan.from);
    let stop = AtomicBool::new(false);
    let shared = Mutex::new((Summary::default(), Vec::new()));
    let end = plan.from + plan.seeds;
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs.max(1) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    let run = checked(seed, plan.check_every);
                    if let Some(failure) = &run.failure {
                        progress(seed, failure);
                    }
                    let mut shared = shared.lock().expect("no thread panics with the summary");
                    let (summary, hashes) = &mut *shared;
                    summary.add(seed, &run, hashes);
                    if summary.failures.len() >= plan.most_failures {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let (mut summary, mut hashes) = shared.into_inner().expect("no thread panics with the summary");
    hashes.sort_unstable();
    summary.hash = hashes.iter().fold(0, |hash, &(seed, of)| mix(mix(hash, seed), of));
    summary.failures.sort_by_key(|&(seed, _)| seed);
    summary
}

/// Runs a seed, and now and then twice.
fn checked(seed: u64, check_every: u64) -> Run {
    let mut run = run_seed(seed, Trace::quiet());
    if check_every > 0 && seed.is_multiple_of(check_every) && run.failure.is_none() {
        let again = run_seed(seed, Trace::quiet());
        if again.hash != run.hash {
            run.failure = Some(Failure::Nondeterminism { first: run.hash, second: again.hash });
        }
    }
    run
}
