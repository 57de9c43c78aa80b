//! Writes down what clients did and saw, for the simulator's oracles to judge.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use verdict_sim::history::{ClientId, Event, Fetch, History, Outcome, Txn, deliver};
use verdict_sim::oracles::{self, Violation};

/// A history that many clients write at once.
#[derive(Clone)]
pub struct Recorder {
    start: Instant,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    history: History,
    last_app: u64,
    last_txn: Txn,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { start: Instant::now(), shared: Arc::default() }
    }
}

impl Recorder {
    /// The time of the history.
    #[must_use]
    pub fn now_us(&self) -> u64 {
        let elapsed = Instant::now().saturating_duration_since(self.start);
        u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
    }

    /// Notes that something has just happened.
    pub fn note(&self, client: ClientId, event: Event) {
        let mut shared = self.shared();
        // Read under the lock, so that entries are in the order of their times.
        let now_us = self.now_us();
        shared.history.push(now_us, client, event);
    }

    /// Application ids for so many records, ascending and never given out before.
    #[must_use]
    pub fn next_apps(&self, count: u32) -> Vec<u64> {
        let mut shared = self.shared();
        let first = shared.last_app + 1;
        shared.last_app += u64::from(count);
        (first..=shared.last_app).collect()
    }

    /// A number for a transaction.
    #[must_use]
    pub fn next_txn(&self) -> Txn {
        let mut shared = self.shared();
        shared.last_txn += 1;
        shared.last_txn
    }

    /// Judges the history by all oracles.
    ///
    /// # Errors
    /// What no exactly-once broker may do and this one did.
    pub fn judge(&self) -> Result<Summary, Vec<Violation>> {
        let shared = self.shared();
        let violations = oracles::judge(&shared.history);
        if violations.is_empty() { Ok(summary(&shared.history)) } else { Err(violations) }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a faultless history comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Transactions whose commit was acknowledged.
    pub committed: usize,
    /// Transactions whose abort was acknowledged.
    pub aborted: usize,
    /// All others: an answer was lost, and with it the transaction's end or its outcome.
    pub unknown: usize,
    /// Records that read_committed shows at the end.
    pub records: usize,
    /// Answers to readers.
    pub fetches: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { committed, aborted, unknown, records, fetches } = self;
        write!(
            f,
            "{committed} committed, {aborted} aborted, {unknown} unknown, \
             {records} records, {fetches} fetches"
        )
    }
}

fn summary(history: &History) -> Summary {
    let mut summary = Summary::default();
    let mut begun = 0_usize;
    for entry in &history.entries {
        match &entry.event {
            Event::Begun { .. } => begun += 1,
            Event::Ended { commit: true, outcome: Outcome::Ok, .. } => summary.committed += 1,
            Event::Ended { commit: false, outcome: Outcome::Ok, .. } => summary.aborted += 1,
            Event::Fetched(fetch) => {
                summary.fetches += 1;
                summary.records += shown_at_the_end(fetch);
            }
            _ => {}
        }
    }
    summary.unknown = begun - summary.committed - summary.aborted;
    summary
}

fn shown_at_the_end(fetch: &Fetch) -> usize {
    if fetch.is_final && fetch.committed { deliver(fetch).len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(recorder: &Recorder, outcome: Outcome) -> u64 {
        let txn = recorder.next_txn();
        let app = recorder.next_apps(1)[0];
        recorder.note(1, Event::Begun { txn, id: 1 });
        let (part, pid, epoch, sequence) = (0, 7, 0, 0);
        recorder.note(1, Event::Sent { app, part, txn: Some(txn), pid, epoch, sequence });
        recorder.note(1, Event::SendEnded { app, outcome: Outcome::Ok, offset: Some(0) });
        recorder.note(1, Event::EndAsked { txn, commit: true });
        recorder.note(1, Event::Ended { txn, commit: true, outcome });
        app
    }

    fn empty_log(recorder: &Recorder) {
        for committed in [false, true] {
            let fetch = Fetch {
                broker: 0,
                part: 0,
                committed,
                from: 0,
                asked_us: recorder.now_us(),
                high_watermark: 0,
                last_stable: 0,
                log_start: 0,
                aborted: Vec::new(),
                batches: Vec::new(),
                is_final: true,
            };
            recorder.note(0, Event::Fetched(Box::new(fetch)));
        }
    }

    #[test]
    fn an_acknowledged_record_that_is_gone_is_a_violation() {
        let recorder = Recorder::default();
        transaction(&recorder, Outcome::Ok);
        empty_log(&recorder);
        let violations = recorder.judge().expect_err("lost");
        assert!(violations.iter().all(|violation| violation.oracle == 1), "{violations:?}");
    }

    #[test]
    fn a_faultless_history_is_summed_up() {
        let recorder = Recorder::default();
        let txn = recorder.next_txn();
        recorder.note(1, Event::Begun { txn, id: 1 });
        empty_log(&recorder);
        let expected = Summary { unknown: 1, fetches: 2, ..Summary::default() };
        assert_eq!(recorder.judge(), Ok(expected));
    }

    #[test]
    fn application_ids_ascend() {
        let recorder = Recorder::default();
        assert_eq!(recorder.next_apps(2), [1, 2]);
        assert_eq!(recorder.next_apps(1), [3]);
    }
}
