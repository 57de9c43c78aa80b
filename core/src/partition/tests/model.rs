//! Deduplication against a model that keeps every batch ever taken and looks through all of them.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, Debug)]
struct Kept {
    data: Data,
    base_offset: Offset,
}

/// What the rules of spec 2.2 and 2.3 say in words; `None` is a refusal.
fn expected(kept: &[Kept], log_end: Offset, sent: Data) -> Option<Offset> {
    let mine: Vec<&Kept> = kept.iter().filter(|kept| kept.data.pid == sent.pid).collect();
    let Some(newest) = mine.last() else {
        return (log_end > 0 || sent.sequence == 0).then_some(log_end);
    };
    let epoch = newest.data.epoch;
    if sent.epoch != epoch {
        return (sent.epoch > epoch && sent.sequence == 0).then_some(log_end);
    }
    let remembered = mine.iter().rev().take_while(|kept| kept.data.epoch == epoch).take(5);
    for kept in remembered {
        if (kept.data.sequence, kept.data.count) == (sent.sequence, sent.count) {
            return Some(kept.base_offset);
        }
    }
    let next = i64::from(newest.data.sequence) + i64::from(newest.data.count);
    (i64::from(sent.sequence) == next % (1 << 31)).then_some(log_end)
}

#[derive(Clone, Debug)]
enum Send {
    Next { pid: ProducerId, count: i32 },
    Again { back: usize },
    Any(Data),
}

fn any_send() -> impl Strategy<Value = Send> {
    let sequence = prop_oneof![0..12_i32, Just(i32::MAX), Just(i32::MAX - 1), Just(i32::MAX - 4)];
    prop_oneof![
        4 => (0..3_i64, 1..4_i32).prop_map(|(pid, count)| Send::Next { pid, count }),
        3 => (0..9_usize).prop_map(|back| Send::Again { back }),
        2 => (0..3_i64, 0..3_i16, sequence, 1..4_i32)
            .prop_map(|(pid, epoch, sequence, count)| Send::Any(data(pid, epoch, sequence, count))),
    ]
}

proptest! {
    #[test]
    fn the_window_answers_as_if_everything_were_kept(
        sends in prop::collection::vec(any_send(), 1..80),
    ) {
        let mut log = Log::new();
        let mut kept: Vec<Kept> = Vec::new();
        for send in sends {
            let newest = |pid| kept.iter().rev().find(|kept| kept.data.pid == pid);
            let sent = match send {
                Send::Any(data) => data,
                Send::Next { pid, count } => {
                    let last = newest(pid).map_or(data(pid, 0, 0, 0), |kept| kept.data);
                    let next = last.sequence.wrapping_add(last.count) & i32::MAX;
                    data(pid, last.epoch, next, count)
                }
                Send::Again { back } => match kept.iter().rev().nth(back) {
                    Some(kept) => kept.data,
                    None => continue,
                },
            };
            let log_end = log.partition.log_end();
            let expected = expected(&kept, log_end, sent);
            prop_assert_eq!(log.send(sent).ok(), expected, "{:?}", sent);
            if expected == Some(log_end) {
                kept.push(Kept { data: sent, base_offset: log_end });
            }
        }
    }
}
