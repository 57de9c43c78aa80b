//! Many seeds, on many threads.

mod run;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use verdict_core::marks::Mark;

pub use self::run::{Failure, Run, history_of, record_seed, run_seed, run_world};
pub use self::run::{config_hash, has_several_brokers, plan_of, run_recorded};
use crate::trace::{Trace, mix};
use crate::world::{Seed, Size};

/// What to explore.
#[derive(Clone, Copy, Debug)]
pub struct Exploration {
    /// The first seed.
    pub from: u64,
    /// The size of all worlds; `None` draws each.
    pub size: Option<Size>,
    /// Only seeds whose world has several brokers; the others are passed over.
    pub clusters: bool,
    /// How many.
    pub seeds: u64,
    /// On how many threads.
    pub jobs: usize,
    /// Every how manyth seed is run twice and its hashes compared; 0 for none.
    pub check_every: u64,
    /// Stop after so many failing seeds.
    pub most_failures: usize,
}

impl Default for Exploration {
    /// No seeds, on one thread, none run twice, and all failures.
    fn default() -> Self {
        Self {
            from: 0,
            size: None,
            clusters: false,
            seeds: 0,
            jobs: 1,
            check_every: 0,
            most_failures: usize::MAX,
        }
    }
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
    /// The sum of the seeds' hashes, each mixed with its seed: the same in whatever order they
    /// ran, and nothing to be kept of each.
    pub hash: u64,
}

impl Summary {
    fn add(&mut self, seed: u64, run: &Run) {
        self.seeds += 1;
        self.inputs += run.inputs;
        self.operations += run.operations;
        self.lives += run.lives;
        self.simulated += run.simulated;
        self.marks.resize(Mark::ALL.len(), 0);
        for (sum, count) in self.marks.iter_mut().zip(&run.marks) {
            *sum += count;
        }
        self.hash = self.hash.wrapping_add(mix(mix(0, seed), run.hash));
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
    explore_until(plan, &AtomicBool::new(false), progress, |_, _, _| {})
}

/// Explores until the plan is done or somebody stops it, and keeps what was found. `after` is
/// called after every seed, with the sums and with what its run was.
#[must_use]
pub fn explore_until(
    plan: Exploration,
    stop: &AtomicBool,
    progress: impl Fn(u64, &Failure) + Sync,
    after: impl Fn(&Summary, u64, &Run) + Sync,
) -> Summary {
    let next = AtomicU64::new(plan.from);
    let shared = Mutex::new(Summary::default());
    let enough = AtomicBool::new(false);
    let end = plan.from.saturating_add(plan.seeds);
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs.max(1) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) && !enough.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    let numbered = Seed { number: seed, size: plan.size };
                    if plan.clusters && !has_several_brokers(numbered) {
                        continue;
                    }
                    let run = checked(numbered, plan.check_every);
                    if let Some(failure) = &run.failure {
                        progress(seed, failure);
                    }
                    let mut summary = shared.lock().expect("no thread panics with the summary");
                    summary.add(seed, &run);
                    after(&summary, seed, &run);
                    if summary.failures.len() >= plan.most_failures {
                        enough.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut summary = shared.into_inner().expect("no thread panics with the summary");
    summary.failures.sort_by_key(|&(seed, _)| seed);
    summary
}

/// Runs a seed, and now and then twice.
fn checked(seed: Seed, check_every: u64) -> Run {
    let mut run = run_seed(seed, Trace::quiet());
    if check_every > 0 && seed.number.is_multiple_of(check_every) && run.failure.is_none() {
        let again = run_seed(seed, Trace::quiet());
        if again.hash != run.hash {
            run.failure = Some(Failure::Nondeterminism { first: run.hash, second: again.hash });
        }
    }
    run
}
