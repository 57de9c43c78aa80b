//! The choices of a run, by lane, and their text: dull runs as one word.
//!
//! A lane is written as `label` or `label@owner`, its choices as words: `x57` are 57 dull ones,
//! `3/10` is the pick 3 of 10 (with `/10` left out where it is the one of the word before).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::source::Lane;
use super::{Choice, Label};

/// The choices of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    lanes: BTreeMap<Lane, Vec<Choice>>,
}

/// Why a text is no recording: the lane or the word that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingError(pub String);

impl core::fmt::Display for RecordingError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "\"{}\" is no recorded choice", self.0)
    }
}

impl core::error::Error for RecordingError {}

/// More choices of one lane than any run makes; a file that claims more is refused.
const MOST_CHOICES: usize = 10_000_000;

impl Recording {
    /// Adds a choice at the end of its lane.
    pub fn push(&mut self, lane: Lane, choice: Choice) {
        self.lanes.entry(lane).or_default().push(choice);
    }

    /// The lanes with their choices.
    pub fn lanes(&self) -> impl Iterator<Item = (Lane, &Vec<Choice>)> {
        self.lanes.iter().map(|(&lane, choices)| (lane, choices))
    }

    /// The choices of one lane.
    #[must_use]
    pub fn lane(&self, lane: Lane) -> &[Choice] {
        self.lanes.get(&lane).map_or(&[], Vec::as_slice)
    }

    /// Sets the choices of one lane.
    pub fn set_lane(&mut self, lane: Lane, choices: Vec<Choice>) {
        self.lanes.insert(lane, choices);
    }

    /// How many choices are not dull.
    #[must_use]
    pub fn lively(&self) -> usize {
        self.lanes.values().flatten().filter(|choice| choice.picked > 0).count()
    }

    /// How many faults struck: the choices of labels that are faults which said yes.
    #[must_use]
    pub fn faults(&self) -> usize {
        let of_faults = self.lanes.iter().filter(|((label, _), _)| label.is_fault());
        of_faults.flat_map(|(_, choices)| choices).filter(|choice| choice.picked > 0).count()
    }

    /// Without what answers the same when left out: dull choices at the ends of lanes.
    #[must_use]
    pub fn trimmed(&self) -> Self {
        let trim = |choices: &Vec<Choice>| {
            let end = choices.iter().rposition(|choice| choice.picked > 0).map_or(0, |at| at + 1);
            choices[..end].to_vec()
        };
        let lanes = self.lanes.iter().map(|(&lane, choices)| (lane, trim(choices)));
        Self { lanes: lanes.filter(|(_, choices)| !choices.is_empty()).collect() }
    }

    /// The texts of all lanes, without dull ends.
    #[must_use]
    pub fn to_texts(&self) -> BTreeMap<String, String> {
        let name = |(label, owner): Lane| match owner {
            0 => label.name().to_owned(),
            owner => format!("{}@{owner}", label.name()),
        };
        let trimmed = self.trimmed();
        trimmed.lanes.iter().map(|(&lane, choices)| (name(lane), text(choices))).collect()
    }

    /// Reads the texts of lanes.
    ///
    /// # Errors
    ///
    /// When a name is no lane's, or a word is none.
    pub fn from_texts(texts: &BTreeMap<String, String>) -> Result<Self, RecordingError> {
        let mut recording = Self::default();
        for (name, text) in texts {
            let error = || RecordingError(name.clone());
            let (label, owner) = name.split_once('@').unwrap_or((name, "0"));
            let label = Label::from_name(label).ok_or_else(error)?;
            let owner = owner.parse().map_err(|_| error())?;
            recording.set_lane((label, owner), parse(text)?);
        }
        Ok(recording)
    }
}

fn text(choices: &[Choice]) -> String {
    let mut text = String::new();
    let (mut dull, mut n) = (0_usize, 0);
    for choice in choices {
        if choice.picked == 0 {
            dull += 1;
            continue;
        }
        if dull > 0 {
            let _ = write!(text, "x{dull} ");
            dull = 0;
        }
        let _ = write!(text, "{}", choice.picked);
        if choice.n != n {
            let _ = write!(text, "/{}", choice.n);
            n = choice.n;
        }
        text.push(' ');
    }
    text.truncate(text.trim_end().len());
    text
}

fn parse(text: &str) -> Result<Vec<Choice>, RecordingError> {
    let mut choices = Vec::new();
    let mut known_n = 2;
    for word in text.split_whitespace() {
        let error = || RecordingError(word.to_owned());
        if let Some(count) = word.strip_prefix('x') {
            let count: usize = count.parse().map_err(|_| error())?;
            if choices.len().saturating_add(count) > MOST_CHOICES {
                return Err(error());
            }
            choices.resize(choices.len() + count, Choice { n: known_n, picked: 0 });
            continue;
        }
        let (picked, n) = match word.split_once('/') {
            Some((picked, n)) => (picked, n.parse().map_err(|_| error())?),
            None => (word, known_n),
        };
        known_n = n;
        let picked = picked.parse().ok().filter(|&picked| picked < n).ok_or_else(error)?;
        choices.push(Choice { n, picked });
    }
    Ok(choices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(picks: &[u32]) -> Recording {
        let mut recording = Recording::default();
        for &picked in picks {
            recording.push((Label::Latency, 3), Choice { n: 951, picked });
        }
        recording
    }

    #[test]
    fn dull_choices_are_one_word_and_left_out_at_the_end() {
        let texts = recorded(&[0, 0, 7, 0, 8, 9, 0, 0]).to_texts();
        let expected = [("net.latency@3".to_owned(), "x2 7/951 x1 8 9".to_owned())];
        assert_eq!(texts, BTreeMap::from(expected));
    }

    #[test]
    fn a_text_gives_the_picks_it_was_made_of() {
        let first = recorded(&[0, 0, 7, 0, 8, 950, 0]);
        let read = Recording::from_texts(&first.to_texts()).expect("it was written so");
        let picks = |recording: &Recording| -> Vec<u32> {
            recording.lane((Label::Latency, 3)).iter().map(|choice| choice.picked).collect()
        };
        assert_eq!(picks(&read), picks(&first.trimmed()));
        assert_eq!(read.to_texts(), first.to_texts());
    }

    #[test]
    fn what_is_no_choice_is_refused() {
        let lane = |name: &str, text: &str| BTreeMap::from([(name.to_owned(), text.to_owned())]);
        for (name, text) in [
            ("net.latency@x", "1/2"),
            ("no.such.label", "1/2"),
            ("net.latency", "x99999999999"),
            ("net.latency", "5/5"),
            ("net.latency", "a/b"),
        ] {
            assert!(Recording::from_texts(&lane(name, text)).is_err(), "{name} {text}");
        }
    }
}
