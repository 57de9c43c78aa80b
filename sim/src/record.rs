//! Recorded runs: a violation as a file that any build can run again.
//!
//! The file is a scenario file with `[recorded]`: `replay` takes it, and so does the test that
//! replays `seeds/`. It names the commit and the configuration hash of its world; on another
//! commit the same choices may mean another world, which is said and run all the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choices::Recording;
use crate::explore::{Failure, Run, config_hash, plan_of, record_seed, run_recorded};
use crate::marks::names_hit;
use crate::scenario::Found;
use crate::trace::Trace;
use crate::world::{Cuts, Seed};

/// A run that can be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRun {
    /// The choices.
    pub choices: Recording,
    /// What shrinking left out.
    pub cuts: Cuts,
}

/// The table `[recorded]` of a file.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct RecordedTable {
    /// The hash of the plan that the choices draw.
    pub config: String,
    /// The hash of the run's trace.
    pub hash: String,
    /// Client operations and faults that are left.
    pub steps: u64,
    /// What shrinking left out.
    #[serde(default)]
    pub cuts: Vec<String>,
    /// Marks that the run hits.
    #[serde(default)]
    pub marks: Vec<String>,
    /// The choices, by lane.
    pub choices: BTreeMap<String, String>,
}

/// A recorded run as it is written.
#[derive(Clone, Debug, Serialize)]
struct RecordedFile {
    title: String,
    seed: Option<u64>,
    found: Found,
    recorded: RecordedTable,
}

impl RecordedRun {
    /// Runs a seed and records it.
    #[must_use]
    pub fn of_seed(seed: impl Into<Seed>) -> (Self, Run) {
        let mut run = record_seed(seed.into(), Trace::quiet());
        let choices = run.recording.take().unwrap_or_default();
        (Self { choices, cuts: Cuts::default() }, run)
    }

    /// Runs it again.
    #[must_use]
    pub fn run(&self, trace: Trace) -> Run {
        run_recorded(&self.choices, &self.cuts, trace)
    }

    /// How many steps it has: operations of clients that were planned and not cut, and faults
    /// that struck.
    #[must_use]
    pub fn steps(&self) -> usize {
        plan_of(&self.choices, &self.cuts).size() + self.choices.faults()
    }

    /// The hash of its plan.
    #[must_use]
    pub fn config(&self) -> String {
        format!("{:016x}", config_hash(&plan_of(&self.choices, &self.cuts)))
    }

    /// Reads the table of a file.
    ///
    /// # Errors
    ///
    /// When a choice or a cut is none, in words.
    pub fn from_table(table: &RecordedTable) -> Result<Self, String> {
        let choices = Recording::from_texts(&table.choices).map_err(|error| error.to_string())?;
        let cuts = Cuts::from_texts(&table.cuts).ok_or("a cut that is none")?;
        Ok(Self { choices, cuts })
    }

    /// The table of a file.
    #[must_use]
    pub fn to_table(&self, run: &Run) -> RecordedTable {
        RecordedTable {
            config: self.config(),
            hash: format!("{:016x}", run.hash),
            steps: self.steps() as u64,
            cuts: self.cuts.to_texts(),
            marks: names_hit(&run.marks),
            choices: self.choices.to_texts(),
        }
    }

    /// The text of its file.
    ///
    /// # Errors
    ///
    /// When it cannot be written as TOML.
    pub fn to_file(
        &self,
        seed: Option<u64>,
        run: &Run,
        failure: &Failure,
        commit: &str,
    ) -> Result<String, toml::ser::Error> {
        let by = failure.found_by();
        let origin =
            seed.map_or_else(|| "a recorded run".to_owned(), |seed| format!("seed {seed}"));
        let plan = plan_of(&self.choices, &self.cuts);
        let faults = plan.profile.on().map(|(fault, rate)| format!("{} {rate}", fault.name()));
        toml::to_string_pretty(&RecordedFile {
            title: format!("{origin}: found by {by}"),
            seed,
            found: Found {
                by,
                what: failure.to_string(),
                commit: commit.to_owned(),
                faults: faults.collect(),
            },
            recorded: self.to_table(run),
        })
    }
}
