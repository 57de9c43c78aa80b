//! Histories as text: one JSON object a line, in the order of events.
//!
//! A line is an [`Entry`]: `at_us`, `client`, `event` (the event's name in snake case) and the
//! event's own fields, under the names they have in [`Event`](super::Event):
//!
//! ```json
//! {"at_us":1200,"client":3,"event":"sent","app":7,"part":0,"txn":null,"pid":4,"epoch":0,"sequence":0}
//! {"at_us":1900,"client":3,"event":"send_ended","app":7,"outcome":"ok","offset":12}
//! ```
//!
//! A fetch carries its batches decoded, so that the judge needs no broker and no codec.

use super::{Entry, History};

/// A line that is no entry of a history.
#[derive(Debug)]
pub struct BadLine {
    /// Its number, from 1 on.
    pub line: usize,
    /// What is wrong with it.
    pub why: serde_json::Error,
}

impl core::fmt::Display for BadLine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl core::error::Error for BadLine {}

impl History {
    /// Reads a history; empty lines count for nothing.
    ///
    /// # Errors
    ///
    /// The first line that is no entry.
    pub fn from_json_lines(text: &str) -> Result<Self, BadLine> {
        let mut entries: Vec<Entry> = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let entry = serde_json::from_str(line);
            entries.push(entry.map_err(|why| BadLine { line: at + 1, why })?);
        }
        Ok(Self { entries })
    }

    /// Writes a history.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_json_lines(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        for entry in &self.entries {
            serde_json::to_writer(&mut *out, entry)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_that_is_written_is_read_back() {
        let seed = crate::world::Seed { number: 3, size: Some(crate::world::Size::Large) };
        let history = crate::explore::history_of(seed).expect("seed 3 has a world");
        let mut text = Vec::new();
        history.write_json_lines(&mut text).expect("memory takes everything");
        let text = String::from_utf8(text).expect("JSON is UTF-8");
        let read = History::from_json_lines(&text).expect("what was written can be read");
        assert!(read.entries.len() > 100);
        assert_eq!(read.entries, history.entries);
    }

    #[test]
    fn a_line_that_is_no_entry_is_named() {
        let text = "{\"at_us\":1,\"client\":0,\"event\":\"crashed\"}\n\nnonsense\n";
        let bad = History::from_json_lines(text).expect_err("the third line is nonsense");
        assert_eq!(bad.line, 3);
    }
}
