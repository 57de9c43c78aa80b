//! Taking back equals never having appended; recovering equals having lived on.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Send(Data),
    Mark(Marker),
    /// Makes this share of the appends in flight durable, in quarters.
    Persist(i64),
    /// Takes back this share of the appends in flight, in quarters.
    RollBack(i64),
    Snapshot,
}

fn any_step() -> impl Strategy<Value = Step> {
    let next = (0..3_i64, 0..3_i16, 0..6_i32, 1..4_i32, any::<bool>());
    let send = next.prop_map(|(pid, epoch, sequence, count, transactional)| {
        Step::Send(Data { pid, epoch, sequence, count, transactional })
    });
    let mark = (0..3_i64, 0..3_i16, any::<bool>(), 0..3_i32, 0..3_i8);
    let mark = mark.prop_map(|(pid, epoch, commit, coordinator_epoch, version)| {
        let decision = if commit { Decision::Commit } else { Decision::Abort };
        Step::Mark(Marker { coordinator_epoch, ..marker(pid, epoch, decision, version) })
    });
    prop_oneof![
        6 => send,
        3 => mark,
        2 => (1..5_i64).prop_map(Step::Persist),
        2 => (1..5_i64).prop_map(Step::RollBack),
        1 => Just(Step::Snapshot),
    ]
}

/// A log, and the steps that changed it, each with the last offset it got.
struct Run {
    log: Log,
    taken: Vec<(Step, Offset)>,
    snapshot: Option<(Offset, Bytes)>,
}

fn run(steps: &[Step]) -> Run {
    let mut run = Run { log: Log::new(), taken: Vec::new(), snapshot: None };
    for step in steps {
        let log = &mut run.log;
        let before = log.partition.log_end();
        match step {
            Step::Send(data) => {
                // Follow the producer's sequence half of the time, so that batches are taken.
                let mut data = *data;
                if let Some(entry) =
                    log.partition.producers.get(&data.pid).filter(|_| data.count > 1)
                {
                    data.sequence = entry.next_sequence();
                    data.epoch = entry.producer_epoch;
                }
                let _ = log.send(data);
                if log.partition.log_end() > before {
                    run.taken.push((Step::Send(data), log.partition.log_end() - 1));
                }
            }
            Step::Mark(marker) => {
                if log.mark(marker).is_ok() {
                    run.taken.push((*step, before));
                }
            }
            Step::Persist(quarters) => {
                let high_watermark = log.partition.high_watermark();
                let reach = high_watermark + (before - high_watermark) * quarters / 4;
                let last = run.taken.iter().rev().find(|(_, last)| *last < reach);
                if let Some((_, last)) = last {
                    log.partition.persisted(*last);
                }
            }
            Step::RollBack(quarters) => {
                let high_watermark = log.partition.high_watermark();
                let from = before - (before - high_watermark) * quarters / 4;
                log.partition.roll_back(from);
                run.taken.retain(|(_, last)| *last < from);
                log.batches.retain(|batch| batch.last_offset() < from);
            }
            Step::Snapshot => {
                run.snapshot = Some((log.partition.high_watermark(), log.partition.snapshot()));
            }
        }
    }
    run
}

fn replayed(taken: &[(Step, Offset)]) -> Log {
    let mut log = Log::new();
    for (step, last) in taken {
        match step {
            Step::Send(data) => drop(log.send(*data).expect("it was taken before")),
            Step::Mark(marker) => drop(log.mark(marker).expect("it was taken before")),
            _ => {}
        }
        assert_eq!(log.partition.log_end(), last + 1);
    }
    if !taken.is_empty() {
        log.persist();
    }
    log
}

proptest! {
    #[test]
    fn taking_back_equals_never_having_appended(
        steps in prop::collection::vec(any_step(), 1..60),
    ) {
        let mut run = run(&steps);
        let high_watermark = run.log.partition.high_watermark();
        run.taken.retain(|(_, last)| *last < high_watermark);
        let only_persisted = replayed(&run.taken);
        prop_assert_eq!(run.log.partition.snapshot(), only_persisted.partition.snapshot());
        run.log.partition.roll_back(0);
        prop_assert_eq!(run.log.partition, only_persisted.partition);
    }

    #[test]
    fn recovering_equals_having_lived_on(
        steps in prop::collection::vec(any_step(), 1..60),
        with_snapshot in any::<bool>(),
    ) {
        let mut run = run(&steps);
        run.log.partition.roll_back(0);
        let live = &run.log.partition;
        let recovered = run.log.restarted(run.snapshot.filter(|_| with_snapshot));
        prop_assert_eq!(&recovered.producers, &live.producers);
        prop_assert_eq!(&recovered.transactions, &live.transactions);
        prop_assert!(recovered.aborted.iter().eq(live.aborted.iter()));
        prop_assert_eq!(recovered.last_stable_offset(), live.last_stable_offset());
        prop_assert_eq!(recovered.high_watermark(), live.log_end());
        prop_assert_eq!(recovered.snapshot(), live.snapshot());
    }

    #[test]
    fn the_aborted_list_is_what_looking_at_every_transaction_gives(
        steps in prop::collection::vec(any_step(), 1..60),
    ) {
        let mut log = run(&steps).log;
        log.persist();
        let stable = log.lso();
        for from in 0..=stable {
            for bound in from..=stable {
                let mut all: Vec<AbortedTxn> = log
                    .partition
                    .aborted
                    .iter()
                    .filter(|txn| txn.last_offset >= from && txn.first_offset < bound)
                    .copied()
                    .collect();
                all.sort_by_key(|txn| txn.first_offset);
                prop_assert_eq!(log.partition.aborted_in(from, bound), all);
            }
        }
    }

    #[test]
    fn the_stable_offset_never_goes_back(steps in prop::collection::vec(any_step(), 1..60)) {
        let mut before = 0;
        for end in 1..=steps.len() {
            let stable = run(&steps[..end]).log.lso();
            prop_assert!(stable >= before, "{} after {}", stable, before);
            before = stable;
        }
    }
}
