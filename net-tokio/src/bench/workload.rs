//! A workload, and the run of one against one broker.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use super::link::LinkError;
use super::process::{Usage, usage};
use super::sample::Sample;

/// One run: where, how long, and what it must not share with other runs.
pub(super) struct Run<'a> {
    pub(super) address: String,
    /// The broker's process, if it can be looked at.
    pub(super) pid: Option<u32>,
    pub(super) time: Duration,
    /// Differs in each run.
    pub(super) tag: String,
    /// Names of what is there from earlier runs, kept from run to run of a broker.
    pub(super) prepared: &'a mut BTreeSet<String>,
    /// Differs from bench to bench.
    pub(super) bench_tag: String,
    /// What the broker used during the measured part.
    pub(super) used: Cell<Option<Usage>>,
    /// What this very process used during it.
    pub(super) used_here: Cell<Option<Usage>>,
}

impl Run<'_> {
    /// A name that no other run uses.
    pub(super) fn name(&self, what: &str) -> String {
        format!("bench-{}-{what}", self.tag)
    }

    /// A name that all runs of this bench share, and whether it is met for the first time.
    pub(super) fn shared_name(&mut self, what: &str) -> (String, bool) {
        let name = format!("bench-{}-{what}", self.bench_tag);
        let is_new = self.prepared.insert(name.clone());
        (name, is_new)
    }

    /// Does what is to be measured, and notes what it costs the broker.
    pub(super) fn measured<T>(&self, work: impl FnOnce(Instant) -> T) -> T {
        let look = || (self.pid.and_then(usage), usage(std::process::id()));
        let (before, here) = look();
        let done = work(Instant::now() + self.time);
        let (after, here_after) = look();
        self.used.set(difference(before, after));
        self.used_here.set(difference(here, here_after));
        done
    }
}

fn difference(before: Option<Usage>, after: Option<Usage>) -> Option<Usage> {
    let (before, after) = (before?, after?);
    Some(Usage { cpu: after.cpu.saturating_sub(before.cpu), resident_kib: after.resident_kib })
}

/// Prepares `count` threads one after the other and runs them beside each other.
pub(super) fn beside<W>(
    run: &Run<'_>,
    count: i32,
    prepare: impl FnMut(i32) -> Result<W, LinkError>,
) -> Result<Sample, LinkError>
where
    W: FnOnce(Instant) -> Result<Sample, LinkError> + Send,
{
    let workers = (0..count).map(prepare).collect::<Result<Vec<_>, _>>()?;
    run.measured(|end| {
        thread::scope(|scope| {
            let threads: Vec<_> =
                workers.into_iter().map(|worker| scope.spawn(move || worker(end))).collect();
            let mut sum = Sample::default();
            for thread in threads {
                sum = sum.beside(&thread.join().expect("a thread of the bench panicked")?);
            }
            Ok(sum)
        })
    })
}
