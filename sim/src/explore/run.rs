//! One seed: draw its world, run it, judge it; panics of the core are findings, not crashes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::choices::{Recording, Source};
use crate::history::History;
use crate::marks;
use crate::oracles::{Violation, judge};
use crate::trace::{Trace, hash_bytes};
use crate::world::pins::Pins;
use crate::world::{Cuts, Outcome, Plan, Seed, World};

/// What was wrong with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The core panicked: one of its invariants broke.
    Panic(String),
    /// Oracles found something.
    Violations(Vec<Violation>),
    /// Two runs of one seed differ.
    Nondeterminism {
        /// The first run's hash.
        first: u64,
        /// The second run's hash.
        second: u64,
    },
    /// The world could not even be built.
    Setup(String),
}

impl Failure {
    /// Who found it: an oracle, `panic`, `nondeterminism` or `setup`.
    #[must_use]
    pub fn found_by(&self) -> String {
        match self {
            Self::Panic(_) => "panic".to_owned(),
            Self::Setup(_) => "setup".to_owned(),
            Self::Nondeterminism { .. } => "nondeterminism".to_owned(),
            Self::Violations(found) => {
                found.first().map_or_else(String::new, |first| format!("O{}", first.oracle))
            }
        }
    }

    /// The exit code that tells this kind from the others.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Panic(_) | Self::Setup(_) => 127,
            Self::Violations(found) if found.iter().all(Violation::is_liveness) => 128,
            Self::Violations(_) => 129,
            Self::Nondeterminism { .. } => 130,
        }
    }
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Panic(what) => write!(f, "broken invariant: {what}"),
            Self::Setup(what) => write!(f, "no world: {what}"),
            Self::Nondeterminism { first, second } => {
                write!(f, "nondeterminism: {first:016x} and {second:016x}")
            }
            Self::Violations(found) => {
                for (index, violation) in found.iter().enumerate() {
                    if index > 0 {
                        writeln!(f)?;
                    }
                    write!(f, "{violation}")?;
                }
                Ok(())
            }
        }
    }
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was wrong, if anything.
    pub failure: Option<Failure>,
    /// The hash of everything that happened.
    pub hash: u64,
    /// Inputs that nodes were handed.
    pub inputs: u64,
    /// Requests that clients sent.
    pub operations: u64,
    /// How long it was in the world's time.
    pub simulated: Duration,
    /// Lives that nodes had.
    pub lives: u64,
    /// How often each mark was hit, in the order of `Mark::ALL`.
    pub marks: Vec<u64>,
    /// Pinned faults that never struck.
    pub unused_pins: Vec<String>,
    /// The lines of the trace, when they were kept.
    pub lines: Vec<String>,
    /// The choices, when they were recorded.
    pub recording: Option<Recording>,
}

/// Runs one seed.
#[must_use]
pub fn run_seed(seed: impl Into<Seed>, trace: Trace) -> Run {
    let Seed { number, size } = seed.into();
    run_world(|| {
        let mut choices = Source::seeded(number);
        let plan = Plan::draw(&mut choices, size);
        World::new(plan, choices, trace, Pins::default())
    })
}

/// Runs one seed and keeps its choices.
#[must_use]
pub fn record_seed(seed: Seed, trace: Trace) -> Run {
    run_world(|| {
        let mut choices = Source::seeded(seed.number);
        choices.record();
        let plan = Plan::draw(&mut choices, seed.size);
        World::new(plan, choices, trace, Pins::default())
    })
}

/// Runs recorded choices without what is cut, and records them anew.
#[must_use]
pub fn run_recorded(recording: &Recording, cuts: &Cuts, trace: Trace) -> Run {
    run_world(|| {
        let mut choices = Source::recorded(recording);
        choices.record();
        let plan = Plan::draw(&mut choices, None).without(cuts);
        World::new(plan, choices, trace, Pins::default())
    })
}

/// The plan that recorded choices draw, without what is cut.
#[must_use]
pub fn plan_of(recording: &Recording, cuts: &Cuts) -> Plan {
    Plan::draw(&mut Source::recorded(recording), None).without(cuts)
}

/// Whether a seed's world has several brokers.
#[must_use]
pub fn has_several_brokers(seed: Seed) -> bool {
    Plan::draw(&mut Source::seeded(seed.number), seed.size).brokers.count > 1
}

/// A number that tells plans apart: settings, clients with their steps, faults with their rates.
#[must_use]
pub fn config_hash(plan: &Plan) -> u64 {
    hash_bytes(format!("{plan:?}").as_bytes())
}

/// Runs one seed for its history.
///
/// # Errors
///
/// When there is no such world.
pub fn history_of(seed: impl Into<Seed>) -> Result<History, String> {
    let Seed { number, size } = seed.into();
    let mut choices = Source::seeded(number);
    let plan = Plan::draw(&mut choices, size);
    let mut world = World::new(plan, choices, Trace::quiet(), Pins::default())?;
    world.run();
    Ok(world.outcome().history)
}

/// Runs and judges a world.
#[must_use]
pub fn run_world(make: impl FnOnce() -> Result<World, String>) -> Run {
    marks::install();
    let _ = marks::take();
    let mut world = match catch_unwind(AssertUnwindSafe(make)) {
        Ok(Ok(world)) => world,
        Ok(Err(why)) => return failed(Failure::Setup(why), marks::take()),
        Err(panic) => return failed(Failure::Panic(words(panic.as_ref())), marks::take()),
    };
    let panic = catch_unwind(AssertUnwindSafe(|| world.run())).err();
    let mut run = finished(world.outcome(), marks::take());
    if let Some(panic) = panic {
        run.failure = Some(Failure::Panic(words(panic.as_ref())));
    }
    run
}

fn words(panic: &(dyn core::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "a panic without words".to_owned())
}

fn finished(mut outcome: Outcome, marks: Vec<u64>) -> Run {
    let violations = judge(&outcome.history);
    Run {
        failure: (!violations.is_empty()).then_some(Failure::Violations(violations)),
        hash: outcome.trace.hash(),
        inputs: outcome.inputs,
        operations: outcome.operations,
        simulated: Duration::from_micros(outcome.simulated_us),
        lives: outcome.lives,
        marks,
        unused_pins: outcome.unused_pins,
        lines: outcome.trace.take_lines(),
        recording: outcome.choices.take_recording(),
    }
}

fn failed(failure: Failure, marks: Vec<u64>) -> Run {
    Run {
        failure: Some(failure),
        hash: 0,
        inputs: 0,
        operations: 0,
        simulated: Duration::ZERO,
        lives: 0,
        marks,
        unused_pins: Vec::new(),
        lines: Vec::new(),
        recording: None,
    }
}
