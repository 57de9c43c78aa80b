//! The canary: what has to be found at fault, so that silence means something.
//!
//! Two kinds. A *history* that no exactly-once broker can produce tells that the oracles speak; a
//! *world* whose disk acknowledges syncs that it does not do tells that everything from the
//! choices to the oracles does: the broker acknowledges, dies, and has forgotten.

use crate::explore::Run;
use crate::history::{Event, Fetch, History, Outcome};
use crate::oracles::judge;
use crate::record::RecordedRun;
use crate::trace::Trace;

/// Seeds within which a lying disk has to be found: it takes a crash, which half of them have.
const SEEDS: u64 = 100;

/// The run in which a lying disk is found.
///
/// # Errors
///
/// What is wrong with the alarm, when it does not ring.
pub fn ring() -> Result<(RecordedRun, Run), String> {
    if !judge(&lost_record()).iter().any(|found| found.oracle == 1) {
        return Err("O1 says nothing to a history without an acknowledged record".to_owned());
    }
    find().ok_or_else(|| format!("{SEEDS} seeds on a disk that lies, and nothing was found"))
}

/// A record is acknowledged and, at the end, not there.
fn lost_record() -> History {
    let mut history = History::default();
    let (pid, epoch, sequence) = (1, 0, 0);
    history.push(1, 1, Event::Sent { app: 1, part: 0, txn: None, pid, epoch, sequence });
    history.push(2, 1, Event::SendEnded { app: 1, outcome: Outcome::Ok, offset: Some(0) });
    for committed in [false, true] {
        let fetch = Fetch {
            part: 0,
            committed,
            from: 0,
            asked_us: 3,
            high_watermark: 0,
            last_stable: 0,
            log_start: 0,
            aborted: Vec::new(),
            batches: Vec::new(),
            is_final: true,
            broker: 0,
        };
        history.push(4, 0, Event::Fetched(Box::new(fetch)));
    }
    history
}

/// The first seed at which an oracle finds the lying disk, and its run.
fn find() -> Option<(RecordedRun, Run)> {
    (0..SEEDS).find_map(|seed| {
        let (mut recorded, _) = RecordedRun::of_seed(seed);
        recorded.cuts.lying_disk = true;
        let mut run = recorded.run(Trace::quiet());
        if run.failure.as_ref().is_none_or(|failure| failure.exit_code() != 129) {
            return None;
        }
        recorded.choices = run.recording.take().unwrap_or_default();
        Some((recorded, run))
    })
}

/// The same for tests, which may expect it.
#[cfg(test)]
pub(crate) fn broken_seed() -> (RecordedRun, Run) {
    ring().expect("a disk that lies is found within a hundred seeds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_canary_is_found() {
        assert_eq!(ring().err(), None);
    }
}
