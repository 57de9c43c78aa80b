//! From a recording to text, answers under each other.

use std::fmt;

use super::{Act, Ask, Line, Recording};
use crate::peer::Snapshots;

/// Questions longer than this do not push the answers of the others to the right.
const WIDTH_MAX: usize = 52;

impl Line {
    /// What the line says in front of its answer.
    #[must_use]
    pub fn question(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Set(name, value) => format!("set {name}={value}"),
            Self::Act(Act::Classic) => "classic".to_owned(),
            Self::Act(Act::Topic(words)) => format!("topic {}", words.join(" ")),
            Self::Act(Act::Wait(ms)) => format!("wait {ms}"),
            Self::Act(Act::Restart(snapshots)) => stopped("restart", *snapshots),
            Self::Act(Act::Crash(snapshots)) => stopped("crash", *snapshots),
            Self::Ask(Ask { conn, verb, words, .. }) => [conn, verb]
                .into_iter()
                .chain(words)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" "),
        }
    }
}

fn stopped(how: &str, snapshots: Snapshots) -> String {
    match snapshots {
        Snapshots::Kept => how.to_owned(),
        _ => format!("{how} snapshots={}", snapshots.word()),
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked = self.lines.iter().filter(|line| matches!(line, Line::Ask(_)));
        let lengths = asked.map(|line| line.question().len());
        let width = lengths.filter(|length| *length <= WIDTH_MAX).max().unwrap_or(0);
        for line in &self.lines {
            let question = line.question();
            match line {
                Line::Ask(Ask { kafka, ours: Some(ours), .. }) => {
                    writeln!(f, "{question:<width$} -> {kafka} | {ours}")?;
                }
                Line::Ask(Ask { kafka, .. }) if !kafka.is_empty() => {
                    writeln!(f, "{question:<width$} -> {kafka}")?;
                }
                _ => writeln!(f, "{question}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_was_read_with_the_answers_aligned() {
        let text = "# why\nset a.b=1\n\ntopic t 2\na init tx -> NONE P1/0\na end tx P1/0 abort -> NONE | X\n";
        let read = Recording::parse("x", text).expect("it can be read");
        let written = "# why\nset a.b=1\n\ntopic t 2\na init tx           -> NONE P1/0\na end tx P1/0 abort -> NONE | X\n";
        assert_eq!(read.to_string(), written);
        assert_eq!(Recording::parse("x", written), Ok(read));
    }
}
