//! Scenarios: named situations with their faults pinned to named points, all other choices dull.
//!
//! A scenario names the coverage marks it must hit. When it no longer hits them, or a pinned
//! fault no longer strikes, it is *stale* and fails: it would otherwise go on passing without
//! testing what it is named after.

mod format;
mod members;

use core::fmt;
use std::path::Path;

use verdict_core::marks::Mark;

use self::format::File;
pub use self::format::Found;
use crate::choices::{Profile, Source};
use crate::clients::OpError;
use crate::explore::{Failure, Run, run_seed, run_world};
use crate::record::RecordedRun;
use crate::trace::Trace;
use crate::world::pins::{Pin, Pins};
use crate::world::{Brokers, Plan, Seed, Size, World, base_properties};

/// Why a file is no scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioError {
    /// It cannot be read.
    File(String),
    /// The core has no such mark.
    Mark(String),
    /// Worlds have no such size.
    Size(String),
    /// There is no such kind of client.
    Client(String),
    /// There is no such fault.
    Fault(String),
    /// There is no such operation.
    Op(OpError),
    /// `expect` is neither `pass` nor `violates On`.
    Expect(String),
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(why) => write!(f, "{why}"),
            Self::Mark(name) => write!(f, "the core has no mark \"{name}\""),
            Self::Size(name) => write!(f, "\"{name}\" is no size of a world"),
            Self::Client(kind) => write!(f, "\"{kind}\" is no kind of client"),
            Self::Fault(text) => write!(f, "\"{text}\" is no fault"),
            Self::Op(error) => write!(f, "{error}"),
            Self::Expect(text) => write!(f, "\"{text}\" is nothing to expect"),
        }
    }
}

impl core::error::Error for ScenarioError {}

impl From<OpError> for ScenarioError {
    fn from(error: OpError) -> Self {
        Self::Op(error)
    }
}

/// What a scenario is to end in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing found.
    Pass,
    /// This oracle speaks.
    Violates(u8),
}

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What happens, in one sentence.
    pub title: String,
    /// What it is to end in.
    pub expect: Expect,
    /// The marks that have to be hit.
    pub marks: Vec<Mark>,
    /// The marks that have to be hit exactly so often.
    pub counts: Vec<(Mark, u64)>,
    /// The recorded run that the file is, if it is one.
    pub recorded: Option<RecordedRun>,
    file: File,
    pins: Vec<Pin>,
}

impl Scenario {
    /// Reads a scenario's text.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let file: File =
            toml::from_str(text).map_err(|error| ScenarioError::File(error.to_string()))?;
        let expect = match file.expect.as_str() {
            "pass" => Expect::Pass,
            other => Expect::Violates(
                other
                    .strip_prefix("violates O")
                    .and_then(|number| number.parse().ok())
                    .ok_or_else(|| ScenarioError::Expect(other.to_owned()))?,
            ),
        };
        if let Some(size) = file.size.as_deref().filter(|size| Size::from_name(size).is_none()) {
            return Err(ScenarioError::Size(size.to_owned()));
        }
        file.make_clients()?;
        let (pins, marks) = (file.make_pins()?, file.make_marks()?);
        let counts = file.make_counts()?;
        let recorded = file.recorded.as_ref().map(RecordedRun::from_table).transpose();
        let recorded = recorded.map_err(ScenarioError::File)?;
        Ok(Self { title: file.title.clone(), expect, marks, counts, recorded, file, pins })
    }

    /// Reads a scenario's file.
    ///
    /// # Errors
    ///
    /// When it cannot be read or is none.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ScenarioError::File(format!("{}: {error}", path.display())))?;
        Self::parse(&text)
    }

    /// Runs it.
    #[must_use]
    pub fn run(&self, trace: Trace) -> Run {
        if let Some(recorded) = &self.recorded {
            return recorded.run(trace);
        }
        if self.file.explored {
            return run_seed(self.seed().unwrap_or(Seed::from(0)), trace);
        }
        run_world(|| {
            let choices = self.file.seed.map_or_else(Source::dull, Source::seeded);
            let cluster = &self.file.cluster;
            let mut properties = base_properties();
            let pipeline = self.file.has_members();
            if pipeline {
                properties.extend(members::properties(cluster.session_ms));
            }
            properties.extend(cluster.properties.clone());
            let plan = Plan {
                properties,
                parts: self.file.parts(),
                groups: cluster.groups + u16::from(pipeline),
                clients: self.file.make_clients().map_err(|error| error.to_string())?,
                profile: Profile::dull(),
                work_us: cluster.work_ms * 1_000,
                leisure: 1,
                intensity: 1,
                forgets_producers: false,
                ages_epochs: false,
                holes_rot: 0,
                compacts: None,
                pipeline,
                late_groups: cluster.late_groups,
                timeout_ms: cluster.timeout_ms,
                brokers: Brokers {
                    count: cluster.brokers,
                    of_old: cluster.of_old.clone(),
                    first_leader: 0,
                    asked: cluster.asked,
                },
                later_group_size: None,
                lying_disk: false,
            };
            World::new(plan, choices, trace, Pins::new(self.pins.clone()))
        })
    }

    /// The seed of the file, with the size of its world.
    #[must_use]
    pub fn seed(&self) -> Option<Seed> {
        let size = self.file.size.as_deref().and_then(Size::from_name);
        self.file.seed.map(|number| Seed { number, size })
    }

    /// Whether `seed` draws the whole world.
    #[must_use]
    pub const fn is_explored(&self) -> bool {
        self.file.explored
    }

    /// What a recorded run's file says about where it was made that does not hold here: another
    /// commit, another world, another trace. It is run all the same.
    #[must_use]
    pub fn differences(&self, commit: &str, run: &Run) -> Vec<String> {
        let (Some(table), Some(recorded)) = (&self.file.recorded, &self.recorded) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        if let Some(on) = self.file.found.as_ref().map(|found| &found.commit)
            && on != commit
        {
            found.push(format!("recorded on commit {on}, this is {commit}"));
        }
        let config = recorded.config();
        if table.config != config {
            found.push(format!("configuration {} when recorded, {config} now", table.config));
        }
        let hash = format!("{:016x}", run.hash);
        if table.hash != hash {
            found.push(format!("trace {} when recorded, {hash} now", table.hash));
        }
        found
    }

    /// What is wrong with a run of this scenario; `None` when it went as it is to.
    #[must_use]
    pub fn complaint(&self, run: &Run) -> Option<String> {
        match (self.expect, &run.failure) {
            (Expect::Pass, Some(failure)) => return Some(failure.to_string()),
            (Expect::Violates(oracle), Some(Failure::Violations(found)))
                if found.iter().any(|violation| violation.oracle == oracle) => {}
            (Expect::Violates(oracle), found) => {
                return Some(format!(
                    "O{oracle} was to speak; found: {}",
                    found.as_ref().map_or("nothing".to_owned(), ToString::to_string)
                ));
            }
            (Expect::Pass, None) => {}
        }
        if let Some(pin) = run.unused_pins.first() {
            return Some(format!("stale: the fault at {pin} never struck"));
        }
        let hits = |mark: Mark| run.marks.get(mark as usize).copied().unwrap_or(0);
        if let Some(&(mark, count)) = self.counts.iter().find(|&&(mark, count)| hits(mark) != count)
        {
            return Some(format!(
                "stale: the mark {} was hit {} times, not {count}",
                mark.name(),
                hits(mark)
            ));
        }
        let missed = self.marks.iter().find(|&&mark| run.marks.get(mark as usize) == Some(&0));
        missed.map(|mark| format!("stale: the mark {} was not hit", mark.name()))
    }
}
