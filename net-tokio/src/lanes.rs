//! The file lanes: one worker each for the journal and for everything else; and one for jobs.
//!
//! Operations of a lane run one after the other in the order they were submitted; the lanes run
//! beside each other. The queues have no bound of their own: the core bounds what it has in flight.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use verdict_core::clean::Job;
use verdict_core::io::{FileError, FileOp, Lane, Ticket};

use crate::files::Files;
use crate::node_loop::Urgent;
use crate::rt::{self, Worker};
use crate::serve::Phase;

/// The way to the lanes and to the jobs' worker; they end when it is dropped.
pub(crate) struct Lanes {
    journal: mpsc::UnboundedSender<(Ticket, FileOp)>,
    data: mpsc::UnboundedSender<(Ticket, FileOp)>,
    jobs: mpsc::UnboundedSender<(Ticket, Job)>,
}

impl Lanes {
    /// Starts both lanes. Results go to `done`.
    pub(crate) fn start(
        files: &Arc<dyn Files>,
        done: &mpsc::UnboundedSender<Urgent>,
        phase: &watch::Receiver<Phase>,
    ) -> std::io::Result<(Self, Vec<Worker>)> {
        let (journal, journal_ops) = mpsc::unbounded_channel();
        let (data, data_ops) = mpsc::unbounded_channel();
        let mut workers = Vec::new();
        for (name, ops) in [("journal", journal_ops), ("data", data_ops)] {
            let work = run(Arc::clone(files), ops, done.clone(), phase.clone());
            workers.push(rt::dedicated(name, work)?);
        }
        let (jobs, waiting) = mpsc::unbounded_channel();
        workers.push(rt::dedicated("jobs", run_jobs(waiting, done.clone(), phase.clone()))?);
        Ok((Self { journal, data, jobs }, workers))
    }

    /// Queues a job.
    pub(crate) fn submit_job(&self, ticket: Ticket, job: Job) {
        // As below: the worker is gone only when the broker is being killed.
        self.jobs.send((ticket, job)).unwrap_or(());
    }

    /// Queues an operation.
    pub(crate) fn submit(&self, ticket: Ticket, op: FileOp) {
        let lane = match op.lane() {
            Lane::Journal => &self.journal,
            Lane::Data => &self.data,
        };
        // A lane is gone only when the broker is being killed; then nobody waits for the result.
        lane.send((ticket, op)).unwrap_or(());
    }
}

async fn run_jobs(
    mut jobs: mpsc::UnboundedReceiver<(Ticket, Job)>,
    done: mpsc::UnboundedSender<Urgent>,
    phase: watch::Receiver<Phase>,
) {
    while let Some((ticket, job)) = jobs.recv().await {
        let result = Box::new(job.run());
        let killed = *phase.borrow() == Phase::Kill;
        if killed || done.send(Urgent::JobDone { ticket, done: result }).is_err() {
            return;
        }
    }
}

async fn run(
    files: Arc<dyn Files>,
    mut ops: mpsc::UnboundedReceiver<(Ticket, FileOp)>,
    done: mpsc::UnboundedSender<Urgent>,
    phase: watch::Receiver<Phase>,
) {
    while let Some((ticket, op)) = ops.recv().await {
        if let Some(latency) = files.latency(&op) {
            tokio::time::sleep(latency).await;
        }
        if *phase.borrow() == Phase::Kill {
            return;
        }
        let result = files.perform(op);
        if let Err(error @ (FileError::NoSpace | FileError::Io)) = &result {
            tracing::error!(ticket = ticket.0, %error, "a file operation failed");
        }
        if done.send(Urgent::FileDone { ticket, result }).is_err() {
            return;
        }
    }
}
