//! The file lanes: one worker each for the journal, for syncs, and for everything else; and one for
//! jobs.
//!
//! Operations of a lane run one after the other in the order they were submitted; the lanes run
//! beside each other. What takes less time than the way to a lane is done by who drives the node, and
//! so is, until the node serves, what it waits for anyway: a start is one operation after the other.
//! The queues have no bound of their own: the core bounds what it has in flight.
//!
//! A lane that has a result drives the node if nobody does, but not for long: its next operation
//! waits for it.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use verdict_core::clean::Job;
use verdict_core::io::{FileError, FileOp, FileResult, Lane, Ticket};

use crate::driven::Driven;
use crate::files::Files;
use crate::node_loop::{NodeMachine, Urgent};
use crate::rt::{self, Worker};
use crate::serve::Phase;

/// Bytes of a write that is performed rather than handed over.
const BRIEF_BYTES_MAX: usize = 64 * 1024;

/// Inputs that a lane handles in a row: its result and what may have come meanwhile.
const LANE_BUDGET: u32 = 4;

/// The way to the lanes and to the jobs' worker; they end when it is dropped.
pub(crate) struct Lanes {
    files: Arc<dyn Files>,
    journal: mpsc::UnboundedSender<(Ticket, FileOp)>,
    data: mpsc::UnboundedSender<(Ticket, FileOp)>,
    sync: mpsc::UnboundedSender<(Ticket, FileOp)>,
    jobs: mpsc::UnboundedSender<(Ticket, Job)>,
}

impl Lanes {
    /// Starts the lanes. Results go to `node`.
    pub(crate) fn start(
        files: &Arc<dyn Files>,
        node: &Arc<Driven<NodeMachine>>,
        phase: &watch::Receiver<Phase>,
    ) -> std::io::Result<(Self, Vec<Worker>)> {
        let (journal, journal_ops) = mpsc::unbounded_channel();
        let (data, data_ops) = mpsc::unbounded_channel();
        let (sync, sync_ops) = mpsc::unbounded_channel();
        let mut workers = Vec::new();
        for (name, ops) in [("journal", journal_ops), ("data", data_ops), ("sync", sync_ops)] {
            let work = run(Arc::clone(files), ops, Arc::clone(node), phase.clone());
            workers.push(rt::dedicated(name, work)?);
        }
        let (jobs, waiting) = mpsc::unbounded_channel();
        workers.push(rt::dedicated("jobs", run_jobs(waiting, Arc::clone(node), phase.clone()))?);
        Ok((Self { files: Arc::clone(files), journal, data, sync, jobs }, workers))
    }

    /// Where the operations are performed.
    pub(crate) fn files(&self) -> &dyn Files {
        &*self.files
    }

    /// Queues a job.
    pub(crate) fn submit_job(&self, ticket: Ticket, job: Job) {
        // As below: the worker is gone only when the broker is being killed.
        self.jobs.send((ticket, job)).unwrap_or(());
    }

    /// Performs an operation at once, if that takes less than handing it over, or queues it.
    ///
    /// A small write to the journal that need not reach the disk is a copy into the page cache. The
    /// core has one of them under way at a time, so none is overtaken. Nor is any of the data lane
    /// while the node is `starting`: all of them are performed at once then.
    pub(crate) fn submit(
        &self,
        ticket: Ticket,
        op: FileOp,
        starting: bool,
    ) -> Option<(Ticket, FileResult)> {
        let at_once = is_brief(&op) || (starting && op.lane() == Lane::Data);
        if at_once && self.files.latency(&op).is_none() {
            return Some((ticket, perform(&*self.files, ticket, op)));
        }
        let lane = match op.lane() {
            Lane::Journal => &self.journal,
            Lane::Data => &self.data,
            Lane::Sync => &self.sync,
        };
        // A lane is gone only when the broker is being killed; then nobody waits for the result.
        lane.send((ticket, op)).unwrap_or(());
        None
    }
}

async fn run_jobs(
    mut jobs: mpsc::UnboundedReceiver<(Ticket, Job)>,
    node: Arc<Driven<NodeMachine>>,
    phase: watch::Receiver<Phase>,
) {
    while let Some((ticket, job)) = jobs.recv().await {
        let result = Box::new(job.run());
        let killed = *phase.borrow() == Phase::Kill;
        if killed || node.urge(Urgent::JobDone { ticket, done: result }, LANE_BUDGET).is_err() {
            return;
        }
    }
}

fn is_brief(op: &FileOp) -> bool {
    match op {
        FileOp::Write { data, sync: false, lane: Lane::Journal, .. } => {
            data.iter().map(Bytes::len).sum::<usize>() <= BRIEF_BYTES_MAX
        }
        _ => false,
    }
}

fn perform(files: &dyn Files, ticket: Ticket, op: FileOp) -> FileResult {
    let result = files.perform(op);
    if let Err(error @ (FileError::NoSpace | FileError::Io)) = &result {
        tracing::error!(ticket = ticket.0, %error, "a file operation failed");
    }
    result
}

async fn run(
    files: Arc<dyn Files>,
    mut ops: mpsc::UnboundedReceiver<(Ticket, FileOp)>,
    node: Arc<Driven<NodeMachine>>,
    phase: watch::Receiver<Phase>,
) {
    while let Some((ticket, op)) = ops.recv().await {
        if let Some(latency) = files.latency(&op) {
            tokio::time::sleep(latency).await;
        }
        if *phase.borrow() == Phase::Kill {
            return;
        }
        let result = perform(&*files, ticket, op);
        if node.urge(Urgent::FileDone { ticket, result }, LANE_BUDGET).is_err() {
            return;
        }
    }
}
