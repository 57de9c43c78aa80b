//! `verdict bench`: how fast a broker is, beside another one, seen by a client that is lighter
//! than both.
//!
//! It speaks raw requests over blocking sockets: requests are built once and patched ([`template`]),
//! answers are looked at for their codes and batch headers only. Brokers take turns in every round,
//! so that what happens to the machine happens to both, and the table holds medians over rounds. A
//! first round of each workload warms up and is not counted.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench is about real time, and its threads wait as a client's do"
)]

mod consume;
mod groups;
mod growth;
mod link;
mod list;
mod mixed;
mod paced;
mod process;
mod produce;
mod reader;
mod report;
mod sample;
mod setup;
mod template;
mod transactions;
mod transform;
mod workload;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

use regex::Regex;

pub use self::link::LinkError;
use self::list::Workload;
use self::report::{Figures, Round};
use self::workload::Run;

/// A broker to measure.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its address, `HOST:PORT`.
    pub address: String,
    /// Its process on this machine, for processor time and memory.
    pub pid: Option<u32>,
}

/// What to do.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The brokers, one or two.
    pub targets: Vec<Target>,
    /// Rounds that count.
    pub rounds: u32,
    /// Length of a round of one workload at one broker, in ms.
    pub round_ms: u64,
    /// Which workloads.
    pub workloads: Regex,
    /// Differs from bench to bench, so that topics do.
    pub tag: u64,
}

/// Why a bench ends early.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// No workload has such a name.
    #[error("no workload matches; there are: {0}")]
    NoWorkload(String),
    /// A workload failed.
    #[error("{workload} at {address}: {error}")]
    Workload {
        /// Which.
        workload: String,
        /// Where.
        address: String,
        /// Why.
        error: LinkError,
    },
    /// Nobody takes the results.
    #[error("cannot write the results: {0}")]
    Output(#[from] io::Error),
}

/// Names of the brokers in the table.
const NAMES: [&str; 2] = ["A", "B"];

impl Bench {
    /// Runs all of it; rows are written as they come.
    ///
    /// # Errors
    /// When a workload fails or `out` does.
    pub fn run(&self, out: &mut impl Write) -> Result<(), BenchError> {
        let workloads = self.chosen()?;
        let mut prepared = vec![BTreeSet::new(); self.targets.len()];
        for (name, target) in NAMES.iter().zip(&self.targets) {
            writeln!(out, "{name}: {}", target.address)?;
        }
        let (rounds, ms) = (self.rounds, self.round_ms);
        writeln!(out, "medians of {rounds} rounds of {ms} ms each\n\n{}", report::head())?;
        for workload in &workloads {
            let figures = self.measure(workload, &mut prepared)?;
            for (name, figures) in NAMES.iter().zip(&figures) {
                let label = format!("{} ({})", workload.name, workload.operation);
                writeln!(out, "{}", report::row(&label, name, figures))?;
            }
            if let [first, second] = &figures[..] {
                writeln!(out, "{}", report::ratio_row(&workload.name, first, second))?;
            }
            out.flush()?;
        }
        Ok(())
    }

    fn chosen(&self) -> Result<Vec<Workload>, BenchError> {
        let all = list::all();
        let by_name = !self.workloads.as_str().is_empty();
        let is_chosen = |workload: &&Workload| {
            if by_name { self.workloads.is_match(&workload.name) } else { !workload.is_extra() }
        };
        let chosen: Vec<_> = all.iter().filter(is_chosen).cloned().collect();
        if chosen.is_empty() {
            let names: Vec<_> = all.into_iter().map(|workload| workload.name).collect();
            return Err(BenchError::NoWorkload(names.join(", ")));
        }
        Ok(chosen)
    }

    fn measure(
        &self,
        workload: &Workload,
        prepared: &mut [BTreeSet<String>],
    ) -> Result<Vec<Figures>, BenchError> {
        let mut rounds = vec![Vec::new(); self.targets.len()];
        for round in 0..=self.rounds {
            for place in 0..self.targets.len() {
                // Who goes first changes from round to round.
                let last = self.targets.len() - 1;
                let index = if round % 2 == 0 { place } else { last - place };
                let target = &self.targets[index];
                let measured = self.round(workload, target, round, &mut prepared[index]);
                let measured = measured.map_err(|error| BenchError::Workload {
                    workload: workload.name.clone(),
                    address: target.address.clone(),
                    error,
                })?;
                if round > 0 {
                    rounds[index].push(measured);
                }
            }
        }
        Ok(rounds.iter().map(|rounds| Figures::median(rounds)).collect())
    }

    fn round(
        &self,
        workload: &Workload,
        target: &Target,
        round: u32,
        prepared: &mut BTreeSet<String>,
    ) -> Result<Round, LinkError> {
        let mut run = Run {
            address: target.address.clone(),
            pid: target.pid,
            time: Duration::from_millis(self.round_ms),
            tag: format!("{:x}-{}-{round}", self.tag, workload.name),
            bench_tag: format!("{:x}", self.tag),
            prepared,
            used: Cell::new(None),
            used_here: Cell::new(None),
        };
        let sample = workload.run(&mut run)?;
        Ok(Round { sample, used: run.used.get(), used_here: run.used_here.get() })
    }
}
