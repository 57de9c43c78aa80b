//! Histories of one transactional id that a sequential coordinator explains, and that none does.

use crate::history::{Event, History, TxnAsk};
use crate::oracles::judge;

const TIMEOUT_MS: i32 = 3_000;

const INIT: TxnAsk = TxnAsk::Init { timeout_ms: TIMEOUT_MS };
const COMMIT: TxnAsk = TxnAsk::End { commit: true, bumps: false };
const ABORT: TxnAsk = TxnAsk::End { commit: false, bumps: false };
const COMMIT_V5: TxnAsk = TxnAsk::End { commit: true, bumps: true };
const ABORT_V5: TxnAsk = TxnAsk::End { commit: false, bumps: true };
const PRODUCE: TxnAsk = TxnAsk::Produce { part: Some(0), adds: true };
const OFFSETS: TxnAsk = TxnAsk::CommitOffsets { group: 0, adds: false };
const ADD_OFFSETS: TxnAsk = TxnAsk::AddOffsets { group: 0 };

fn add() -> TxnAsk {
    TxnAsk::AddPartitions { parts: vec![0] }
}

const NOBODY: (i64, i16) = (-1, -1);
const A0: (i64, i16) = (7, 0);
const A1: (i64, i16) = (7, 1);
const A2: (i64, i16) = (7, 2);

/// A line of a history.
#[derive(Clone, Debug)]
enum Line {
    /// Asked as this producer and answered: code, and what the answer tells.
    Ask(TxnAsk, (i64, i16), i16, (i64, i16)),
    /// Asked by another client.
    Other(TxnAsk, (i64, i16), i16, (i64, i16)),
    /// Asked, never answered, and the connection given up.
    Lost(TxnAsk, (i64, i16)),
    /// So many ms pass.
    Wait(u64),
    Jump,
    /// The epoch is another one from here on.
    Moved((i64, i16)),
    Crash,
}
use Line::{Ask, Crash, Jump, Lost, Moved, Other, Wait};

/// Asked and answered without more than a code.
fn told(ask: TxnAsk, who: (i64, i16), code: i16) -> Line {
    Ask(ask, who, code, NOBODY)
}

fn history(lines: &[Line]) -> History {
    let mut history = History::default();
    let (mut at_us, mut conn, mut request) = (0, 1, 0);
    for line in lines {
        at_us += 1_000;
        match line {
            Ask(ask, who, ..) | Other(ask, who, ..) | Lost(ask, who) => {
                request += 1;
                let client = if matches!(line, Other(..)) { 2 } else { 1 };
                let asked = Event::TxnAsked {
                    request,
                    conn: conn + u64::from(client) * 100,
                    id: 1,
                    pid: who.0,
                    epoch: who.1,
                    ask: ask.clone(),
                };
                history.push(at_us, client, asked);
                at_us += 1_000;
                if let Ask(_, _, code, (pid, epoch)) | Other(_, _, code, (pid, epoch)) = *line {
                    history.push(
                        at_us,
                        client,
                        Event::TxnAnswered { request, code, pid, epoch, of_old: false },
                    );
                } else {
                    conn += 1;
                }
            }
            Wait(ms) => at_us += ms * 1_000,
            Jump => history.push(at_us, 0, Event::ClockJumped),
            Crash => history.push(at_us, 0, Event::Crashed),
            &Moved((pid, epoch)) => {
                history.push(at_us, 0, Event::EpochMoved { id: 1, pid, epoch });
            }
        }
    }
    history
}

fn explained(lines: &[Line]) -> bool {
    judge(&history(lines)).is_empty()
}

/// A producer of old that has begun a transaction.
fn begun() -> Vec<Line> {
    vec![Ask(INIT, NOBODY, 0, A0), told(add(), A0, 0)]
}

/// A version 2 producer that has begun a transaction.
fn begun_v2() -> Vec<Line> {
    vec![Ask(INIT, NOBODY, 0, A0), told(PRODUCE, A0, 0)]
}

fn after(mut before: Vec<Line>, lines: impl IntoIterator<Item = Line>) -> Vec<Line> {
    before.extend(lines);
    before
}

#[test]
fn what_a_coordinator_may_answer_is_explained() {
    let table: Vec<(&str, Vec<Line>)> = vec![
        ("a commit", after(begun(), [told(COMMIT, A0, 0)])),
        ("its repeat", after(begun(), [told(COMMIT, A0, 0), told(COMMIT, A0, 0)])),
        ("markers are out", after(begun(), [told(COMMIT, A0, 0), told(add(), A0, 51)])),
        ("the next transaction", after(begun(), [told(COMMIT, A0, 0), told(add(), A0, 0)])),
        (
            "the answer was lost",
            after(begun(), [Lost(COMMIT, A0), told(COMMIT, A0, 51), told(COMMIT, A0, 0)]),
        ),
        ("a v5 end", after(begun_v2(), [Ask(COMMIT_V5, A0, 0, A1)])),
        ("its repeat, v5", after(begun_v2(), [Lost(COMMIT_V5, A0), Ask(COMMIT_V5, A0, 0, A1)])),
        ("an empty abort", vec![Ask(INIT, NOBODY, 0, A0), Ask(ABORT_V5, A0, 0, A1)]),
        (
            "a new owner",
            after(
                begun(),
                [Other(INIT, NOBODY, 51, NOBODY), Other(INIT, NOBODY, 0, A2), told(COMMIT, A0, 90)],
            ),
        ),
        ("a timeout", after(begun(), [Wait(3_100), told(COMMIT, A0, 90)])),
        ("a timeout before its time, after a jump", after(begun(), [Jump, told(COMMIT, A0, 90)])),
        (
            "an Init that was lost fences",
            after(begun(), [Lost(INIT, NOBODY), told(COMMIT, A0, 90)]),
        ),
        ("a failed write turns up", after(begun(), [told(COMMIT, A0, 16), told(COMMIT, A0, 0)])),
        (
            "a failed write turns up after it was refused",
            after(
                begun(),
                [
                    told(COMMIT, A0, 0),
                    told(add(), A0, 16),
                    told(COMMIT, A0, 0),
                    Crash,
                    told(ABORT, A0, 0),
                ],
            ),
        ),
        ("a failed write is gone", after(begun(), [told(COMMIT, A0, 16), told(add(), A0, 0)])),
        ("offsets", after(begun(), [told(ADD_OFFSETS, A0, 0), told(OFFSETS, A0, 0)])),
        ("offsets that were never added", after(begun(), [told(OFFSETS, A0, 48)])),
        ("a bump", vec![Ask(INIT, NOBODY, 0, A0), Ask(INIT, A0, 0, A1)]),
        ("a repeated bump", vec![Ask(INIT, NOBODY, 0, A0), Lost(INIT, A0), Ask(INIT, A0, 0, A1)]),
        (
            "a bump repeated after a restart",
            vec![Ask(INIT, NOBODY, 0, A0), Lost(INIT, A0), told(INIT, A0, 90)],
        ),
        (
            "epochs were moved",
            vec![Ask(INIT, NOBODY, 0, A0), Moved((7, 32_766)), Ask(INIT, NOBODY, 0, (9, 0))],
        ),
    ];
    for (what, lines) in table {
        assert!(explained(&lines), "{what}: {:?}", judge(&history(&lines)));
    }
}

#[test]
fn what_no_coordinator_answers_is_not_explained() {
    let table: Vec<(&str, Vec<Line>)> = vec![
        ("a commit that was open is refused", after(begun(), [told(COMMIT, A0, 48)])),
        ("a repeat is refused", after(begun(), [told(COMMIT, A0, 0), told(COMMIT, A0, 48)])),
        ("the other decision is taken", after(begun(), [told(COMMIT, A0, 0), told(ABORT, A0, 0)])),
        ("a sole owner is fenced", after(begun(), [told(COMMIT, A0, 90)])),
        ("a sole owner is unknown", after(begun(), [told(COMMIT, A0, 49)])),
        ("nothing is under way", after(begun(), [told(add(), A0, 51)])),
        (
            "one that was fenced is served",
            after(
                begun(),
                [Other(INIT, NOBODY, 51, NOBODY), Other(INIT, NOBODY, 0, A2), told(add(), A0, 0)],
            ),
        ),
        ("an open transaction is given away", after(begun(), [Other(INIT, NOBODY, 0, A1)])),
        ("an epoch is given twice", vec![Ask(INIT, NOBODY, 0, A0), Other(INIT, NOBODY, 0, A0)]),
        ("an epoch is left out", vec![Ask(INIT, NOBODY, 0, A0), Other(INIT, NOBODY, 0, A2)]),
        (
            "the producer id changes before its time",
            vec![Ask(INIT, NOBODY, 0, A0), Other(INIT, NOBODY, 0, (8, 0))],
        ),
        ("a v5 end keeps its epoch", after(begun_v2(), [Ask(COMMIT_V5, A0, 0, A0)])),
        (
            "a v5 repeat is fenced",
            after(begun_v2(), [Ask(COMMIT_V5, A0, 0, A1), Ask(COMMIT_V5, A0, 90, NOBODY)]),
        ),
        ("an empty commit", vec![Ask(INIT, NOBODY, 0, A0), Ask(COMMIT_V5, A0, 0, A1)]),
        (
            "data was taken and the commit says it was not",
            after(begun_v2(), [Ask(COMMIT_V5, A0, 48, NOBODY)]),
        ),
        (
            "offsets were added and are not known",
            after(begun(), [told(ADD_OFFSETS, A0, 0), told(OFFSETS, A0, 48)]),
        ),
        ("a batch of a sole owner is fenced", after(begun_v2(), [told(PRODUCE, A0, 47)])),
        (
            "a fence that failed has raised the epoch",
            after(
                begun(),
                [
                    Other(INIT, NOBODY, 16, NOBODY),
                    Other(INIT, NOBODY, 51, NOBODY),
                    Other(INIT, NOBODY, 0, (7, 3)),
                ],
            ),
        ),
        (
            "a late End of old, settled by what came after it",
            after(
                begun(),
                [
                    Lost(COMMIT, A0),
                    told(COMMIT, A0, 0),
                    told(add(), A0, 0),
                    told(COMMIT, A0, 0),
                    told(add(), A0, 0),
                    told(ABORT, A0, 48),
                ],
            ),
        ),
    ];
    for (what, lines) in table {
        assert!(!explained(&lines), "{what}");
    }
}

/// The answer to the last request is one of a coordinator that was replaced.
fn of_old(mut history: History) -> History {
    let answers = history.entries.iter_mut().rev();
    for entry in answers {
        if let Event::TxnAnswered { of_old, .. } = &mut entry.event {
            *of_old = true;
            break;
        }
    }
    history
}

#[test]
fn a_coordinator_that_was_replaced_answers_as_of_then_and_binds_nobody() {
    // It knows nothing of the owner that the next coordinator was asked by.
    let lines = after(begun(), [Ask(INIT, NOBODY, 51, NOBODY), told(add(), A0, 0)]);
    assert!(!explained(&lines));
    assert!(judge(&of_old(history(&lines))).is_empty());
    // But what it says that it has written was written.
    let lines = after(begun(), [told(COMMIT, A0, 0), Ask(INIT, NOBODY, 0, (9, 0))]);
    assert!(!judge(&of_old(history(&lines))).is_empty());
}

#[test]
fn one_of_several_coordinators_promises_nothing_while_a_transition_may_never_arrive() {
    let batch = TxnAsk::Produce { part: Some(0), adds: false };
    let refused = after(begun(), [Wait(3_100), told(batch, A0, 51), told(COMMIT, A0, 0)]);
    assert!(!explained(&refused), "the timeout's abort was decided, or there was none");
    let mut history = history(&refused);
    let said = Event::Members;
    history.entries.insert(0, crate::history::Entry { at_us: 0, client: 0, event: said });
    assert!(judge(&history).is_empty());
}

#[test]
fn a_batch_may_be_refused_while_an_operators_marker_is_on_its_way_to_its_partition() {
    let batch = |part| TxnAsk::Produce { part: Some(part), adds: false };
    let refused = after(begun(), [told(batch(0), A0, 48)]);
    assert!(!explained(&refused));
    for (part, pid, may_be) in [(0, 7, true), (1, 7, false), (0, 8, false)] {
        let mut history = history(&refused);
        let said = Event::MarkerAsked { part, pid };
        history.entries.insert(0, crate::history::Entry { at_us: 0, client: 0, event: said });
        assert_eq!(judge(&history).is_empty(), may_be, "partition {part}, producer {pid}");
    }
}

#[test]
fn epochs_that_were_moved_are_known() {
    let ended = after(begun(), [told(COMMIT, A0, 0)]);
    let moved = after(ended, [Moved((7, 32_764))]);
    assert!(explained(&after(moved.clone(), [Ask(INIT, NOBODY, 0, (7, 32_765))])));
    assert!(!explained(&after(moved.clone(), [Ask(INIT, NOBODY, 0, A1)])));
    assert!(explained(&after(moved.clone(), [told(add(), A0, 90)])));
    assert!(!explained(&after(moved, [told(add(), A0, 0)])));
}

#[test]
fn the_level_of_transaction_version_tells_what_may_be_answered() {
    let exhausted = || after(begun(), [told(COMMIT, A0, 0), Moved((7, 32_766))]);
    let begun_again = after(exhausted(), [told(add(), (7, 32_766), 0)]);
    let fenced = after(begun_again, [Ask(INIT, NOBODY, 51, NOBODY), Wait(100)]);
    let kept = after(fenced, [Ask(INIT, NOBODY, 0, (9, 1))]);
    // Only at level 2 is there another producer id, at epoch 0, when the transaction is over.
    assert!(explained_at(2, &kept));
    assert!(!explained_at(1, &kept));
}

/// Whether the lines are explained where transaction.version had no other level than this.
fn explained_at(level: i16, lines: &[Line]) -> bool {
    let mut history = history(lines);
    let said = Event::Level { level };
    history.entries.insert(0, crate::history::Entry { at_us: 0, client: 0, event: said });
    judge(&history).is_empty()
}

#[test]
fn at_level_0_the_producer_id_before_a_rotation_may_be_forgotten() {
    let last = (7, 32_766);
    let exhausted = after(begun(), [told(COMMIT, A0, 0), Moved(last)]);
    let rotated = after(exhausted, [Ask(INIT, NOBODY, 0, (9, 0))]);
    let ended = after(rotated, [told(ABORT_V5, last, 49)]);
    assert!(explained_at(0, &ended));
    assert!(!explained_at(2, &ended));
}
