//! The sequential coordinator of oracle O13 against the recordings: what Apache Kafka answered is
//! what the model says a coordinator may answer.
//!
//! The simulator holds Verdict's node to the model, `replay.rs` holds it to the recordings; here the
//! recordings are held to the model, so that none of the three can go its own way.
//!
//! # Rules
//! * What a step asks and what was answered becomes a history ([`history`]), which the oracle judges.
//!   A step that is repeated while the broker is busy may have been told so once before.
//! * Where Verdict answers better on purpose, the model is Verdict's.
//! * What the model does not know is left out and named: two-phase commit, ids that expire.

mod telling;

use std::path::PathBuf;

use telling::{Answers, Telling};
use verdict_recordings::Recording;
use verdict_sim::oracles::judge;

/// Recordings of what the model does not know, and why.
const NOT_MODELLED: [(&str, &str); 3] = [
    ("two-phase-commit-does-not-time-out", "KIP-939: oracle O15 judges it"),
    ("two-phase-commit-keeps-what-was-prepared", "KIP-939: oracle O15 judges it"),
    ("report-p23-an-expired-id", "ids do not expire in a simulated world"),
];

fn recordings() -> Vec<Recording> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../scenarios/recordings");
    let entries = std::fs::read_dir(folder).expect("the recordings are there");
    let mut all: Vec<Recording> = entries
        .map(|entry| {
            let path = entry.expect("a readable folder").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("a readable file");
            Recording::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"))
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// What the model cannot explain of a recording, by line.
fn unexplained(recording: &Recording, answers: Answers) -> Option<(usize, String)> {
    let mut telling = Telling::new(answers);
    for (number, line) in (1..).zip(&recording.lines) {
        let before = telling.clone();
        telling.line(line, false);
        let Some(what) = fault(&telling) else { continue };
        let mut busy_before = before;
        busy_before.line(line, true);
        if fault(&busy_before).is_some() {
            return Some((number, format!("{}: {what}", line.question())));
        }
        telling = busy_before;
    }
    None
}

fn fault(telling: &Telling) -> Option<String> {
    let findings = judge(&telling.history);
    findings.into_iter().find(|found| found.oracle == 13).map(|found| found.what)
}

fn modelled() -> impl Iterator<Item = Recording> {
    let is_known = |name: &str| NOT_MODELLED.iter().all(|(other, _)| *other != name);
    recordings().into_iter().filter(move |recording| is_known(&recording.name))
}

#[test]
fn what_was_recorded_is_what_the_model_of_o13_allows() {
    let mut found = Vec::new();
    for recording in modelled() {
        // Behind a better answer the two go different ways.
        let better = telling::first_better_line(&recording).unwrap_or(usize::MAX);
        for answers in [Answers::Kafkas, Answers::Verdicts] {
            let fault = unexplained(&recording, answers);
            let is_ours = |line: usize| answers == Answers::Kafkas && line >= better;
            if let Some((line, what)) = fault.filter(|(line, _)| !is_ours(*line)) {
                found.push(format!("{}.txt:{line} ({answers:?}): {what}", recording.name));
            }
        }
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn an_answer_that_no_coordinator_gives_is_found_in_every_kind_of_request() {
    let lies = [
        "a init tx -> NONE P1/0\na init tx -> NONE P1/2",
        "a init tx -> NONE P1/0\na end tx P1/0 commit v4 -> NONE",
        "a init tx -> NONE P1/0\na end tx P1/0 commit -> NONE P1/1",
        "a init tx -> NONE P1/0\na end tx P1/0 abort -> NONE P1/0",
        "a init tx -> NONE P1/0\na add tx P1/0 t-0 -> INVALID_TXN_STATE",
        "a init tx -> NONE P1/0\na add tx P1/1 t-0 -> NONE",
        "a init tx -> NONE P1/0\na offsets-to tx g P1/0 -> PRODUCER_FENCED",
        "a init tx -> NONE P1/0\na add tx P1/0 t-0 -> NONE\na produce tx P1/0 seq=0 t-0 v11 -> INVALID_TXN_STATE",
        "a init tx -> NONE P1/0\na offsets-to tx g P1/0 -> NONE\na txn-commit tx g P1/0 t-0@5 v4 -> TRANSACTION_ABORTABLE",
        "a init tx -> NONE P1/0\na add tx P1/0 t-0 -> NONE\nb init tx once -> NONE P1/1",
        "a init tx -> NONE P1/0\na add tx P1/0 t-0 -> NONE\na end tx P1/0 abort v4 -> NONE\na end tx P1/0 commit v4 -> NONE",
        "a init tx times=32767 -> NONE P1/0 … NONE P1/32766\na init tx -> NONE P1/32767",
    ];
    for lie in lies {
        let recording = Recording::parse("lie", lie).expect("it can be read");
        let found = unexplained(&recording, Answers::Kafkas);
        assert_eq!(found.map(|(line, _)| line), Some(recording.lines.len()), "{lie}");
    }
}

#[test]
fn most_requests_of_the_recordings_are_judged() {
    let mut asked = 0;
    for recording in modelled() {
        let mut telling = Telling::new(Answers::Kafkas);
        recording.lines.iter().for_each(|line| telling.line(line, false));
        asked += telling.asked();
    }
    assert!(asked > 400, "only {asked} requests were judged");
}
