//! From text to a recording.

use thiserror::Error;

use super::{Act, Ask, Line, Recording};
use crate::peer::Snapshots;
use crate::verbs;

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {fault}")]
pub struct ParseError {
    /// The recording.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: String,
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    /// The first line that is none of a recording.
    pub fn parse(name: &str, text: &str) -> Result<Self, ParseError> {
        let lines = (1..).zip(text.lines()).map(|(number, text)| {
            line(text).map_err(|fault| ParseError {
                file: format!("{name}.txt"),
                line: number,
                fault,
            })
        });
        Ok(Self { name: name.to_owned(), lines: lines.collect::<Result<_, _>>()? })
    }
}

fn line(text: &str) -> Result<Line, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return Ok(Line::Text(trimmed.to_owned()));
    }
    let (question, answer) = match trimmed.split_once("->") {
        Some((question, answer)) => (question, Some(answer.trim())),
        None => (trimmed, None),
    };
    let mut words = question.split_whitespace();
    let first = words.next().ok_or("an answer without a question")?;
    let rest: Vec<String> = words.map(str::to_owned).collect();
    if let Some(line) = unasked(first, &rest)? {
        return match answer {
            Some(_) => Err(format!("{first} has no answer")),
            None => Ok(line),
        };
    }
    let mut rest = rest.into_iter();
    let verb = rest.next().ok_or_else(|| format!("{first} does nothing"))?;
    if !verbs::is_verb(&verb) {
        return Err(format!("nobody knows how to {verb}"));
    }
    let (kafka, ours) = match answer.unwrap_or_default().split_once(" | ") {
        Some((kafka, ours)) => (kafka.trim().to_owned(), Some(ours.trim().to_owned())),
        None => (answer.unwrap_or_default().to_owned(), None),
    };
    Ok(Line::Ask(Ask { conn: first.to_owned(), verb, words: rest.collect(), kafka, ours }))
}

/// A line that does not begin with a connection.
fn unasked(first: &str, rest: &[String]) -> Result<Option<Line>, String> {
    let line = match (first, rest) {
        ("set", [setting]) => {
            let (name, value) = setting.split_once('=').ok_or("a setting is name=value")?;
            Line::Set(name.to_owned(), value.to_owned())
        }
        ("classic", []) => Line::Act(Act::Classic),
        ("topic", [_, ..]) => Line::Act(Act::Topic(rest.to_vec())),
        ("wait", [ms]) => {
            Line::Act(Act::Wait(ms.parse().map_err(|_| format!("{ms} is no time in ms"))?))
        }
        ("restart", words) => Line::Act(Act::Restart(snapshots(words)?)),
        ("crash", words) => Line::Act(Act::Crash(snapshots(words)?)),
        ("set" | "classic" | "topic" | "wait", _) => {
            return Err(format!("{first} wants other words"));
        }
        _ => return Ok(None),
    };
    Ok(Some(line))
}

/// What becomes of the snapshots while the broker is down.
fn snapshots(words: &[String]) -> Result<Snapshots, String> {
    let [word] = words else {
        let fault = "a broker that stops has snapshots=WORD behind it, or nothing".to_owned();
        return if words.is_empty() { Ok(Snapshots::Kept) } else { Err(fault) };
    };
    let known = word.strip_prefix("snapshots=").and_then(Snapshots::read);
    known.ok_or_else(|| format!("{word}: snapshots=gone, empty or cut"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        Recording::parse("x", text).expect_err("it cannot be read").to_string()
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named_with_its_file() {
        assert_eq!(fault("# x\n\na dance t-0"), "x.txt:3: nobody knows how to dance");
        assert_eq!(fault("wait long"), "x.txt:1: long is no time in ms");
        assert_eq!(fault("wait 5 -> NONE"), "x.txt:1: wait has no answer");
        assert_eq!(fault("topic"), "x.txt:1: topic wants other words");
        assert_eq!(fault("crash hard"), "x.txt:1: hard: snapshots=gone, empty or cut");
    }

    #[test]
    fn both_answers_are_read() {
        let read = Recording::parse("x", "a end tx P1/0 commit -> INVALID_TXN_STATE | NONE P1/1");
        let Line::Ask(ask) = &read.expect("it can be read").lines[0] else { panic!("a request") };
        assert_eq!((ask.conn.as_str(), ask.verb.as_str()), ("a", "end"));
        assert_eq!(ask.words, ["tx", "P1/0", "commit"]);
        assert_eq!((ask.kafka.as_str(), ask.expected()), ("INVALID_TXN_STATE", "NONE P1/1"));
    }
}
