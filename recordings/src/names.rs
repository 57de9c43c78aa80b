//! What differs from run to run, and the words that stand for it.
//!
//! Producer ids are P1, P2, … and members M1, M2, … in the order in which they appear. Topics,
//! groups and transactional ids get a suffix, so that runs on one broker do not meet. Times count
//! from the begin of the run.

use std::collections::BTreeMap;

use kacrab_protocol::KafkaString;
use verdict_core::types::TopicId;

use crate::args::Fault;

/// The smallest producer id that a file may make up; brokers do not get this far.
const MADE_UP: i64 = 900_000_000;

/// What is shown of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looks {
    /// That it is there, and whose it is.
    #[default]
    Batches,
    /// Its records, without control records.
    Records,
    /// The bytes of control records, and what is in the header for them.
    Bytes,
}

/// What the words of one run stand for.
#[derive(Clone, Debug, Default)]
pub struct Names {
    suffix: String,
    start_ms: i64,
    producers: Vec<i64>,
    members: Vec<String>,
    topic_ids: BTreeMap<String, TopicId>,
    /// Whether requests default to the versions of clients before KIP-890's second part.
    pub classic: bool,
    /// What is shown of the batches that are read.
    pub looks: Looks,
    /// The newest epoch of a transaction coordinator that an answer showed.
    pub coordinator_epoch: i32,
}

/// Makes a string for the wire.
#[must_use]
pub fn wire(text: &str) -> KafkaString {
    KafkaString::from(text.to_owned())
}

impl Names {
    /// No names yet. Files see `name` where the broker sees `name` and `suffix`.
    #[must_use]
    pub fn new(suffix: &str, start_ms: i64) -> Self {
        Self { suffix: suffix.to_owned(), start_ms, ..Self::default() }
    }

    /// The broker's name of a topic, group or transactional id.
    #[must_use]
    pub fn outside(&self, name: &str) -> KafkaString {
        let is_ours = !name.is_empty() && !name.starts_with("__");
        if is_ours { wire(&format!("{name}{}", self.suffix)) } else { wire(name) }
    }

    /// The file's name for a broker's; `None` when it is of another run.
    #[must_use]
    pub fn inside<'a>(&self, name: &'a str) -> Option<&'a str> {
        if name.starts_with("__") { Some(name) } else { name.strip_suffix(self.suffix.as_str()) }
    }

    /// The same, where names of other runs cannot be.
    #[must_use]
    pub fn own<'a>(&self, name: &'a str) -> &'a str {
        self.inside(name).unwrap_or(name)
    }

    /// A time (ms) as the broker has it.
    #[must_use]
    pub const fn time_ms(&self, since_start_ms: i64) -> i64 {
        self.start_ms.saturating_add(since_start_ms)
    }

    /// A time (ms) as the file has it.
    #[must_use]
    pub const fn since_start_ms(&self, time_ms: i64) -> i64 {
        time_ms.saturating_sub(self.start_ms)
    }

    /// Names a producer id.
    pub fn producer(&mut self, id: i64) -> String {
        if !(0..MADE_UP).contains(&id) {
            return if id == -1 { "none".to_owned() } else { id.to_string() };
        }
        let at = self.producers.iter().position(|known| *known == id).unwrap_or_else(|| {
            self.producers.push(id);
            self.producers.len() - 1
        });
        format!("P{}", at + 1)
    }

    /// The id behind `P1`, `none`, or a number that the file makes up.
    ///
    /// # Errors
    /// No answer showed such a producer, or it is none.
    pub fn producer_id(&self, word: &str) -> Result<i64, Fault> {
        if word == "none" {
            return Ok(-1);
        }
        if let Some(number) = word.strip_prefix('P').and_then(|n| n.parse::<usize>().ok()) {
            let known = number.checked_sub(1).and_then(|at| self.producers.get(at));
            return known.copied().ok_or_else(|| format!("no answer showed {word} so far"));
        }
        match word.parse() {
            Ok(id) if !(0..MADE_UP).contains(&id) => Ok(id),
            Ok(_) => Err(format!("{word}: producer ids that are made up begin at {MADE_UP}")),
            Err(_) => Err(format!("{word} is no producer")),
        }
    }

    /// Reads `P1/0`, a producer and its epoch.
    ///
    /// # Errors
    /// It is no such pair.
    pub fn writer(&self, word: &str) -> Result<(i64, i16), Fault> {
        let pair = word.split_once('/').ok_or_else(|| format!("{word} is no P1/0"))?;
        let epoch = pair.1.parse().map_err(|error| format!("{word}: {error}"))?;
        Ok((self.producer_id(pair.0)?, epoch))
    }

    /// Names a member.
    pub fn member(&mut self, id: &str) -> String {
        if id.is_empty() {
            return "none".to_owned();
        }
        let at = self.members.iter().position(|known| known == id).unwrap_or_else(|| {
            self.members.push(id.to_owned());
            self.members.len() - 1
        });
        format!("M{}", at + 1)
    }

    /// The id behind `M1`, or a word that the file makes up.
    ///
    /// # Errors
    /// No answer showed such a member.
    pub fn member_id(&self, word: &str) -> Result<KafkaString, Fault> {
        let Some(number) = word.strip_prefix('M').and_then(|n| n.parse::<usize>().ok()) else {
            return Ok(wire(word));
        };
        let known = number.checked_sub(1).and_then(|at| self.members.get(at));
        known.map(|id| wire(id)).ok_or_else(|| format!("no answer showed {word} so far"))
    }

    /// Keeps the id of a topic.
    pub fn learn_topic(&mut self, name: &str, id: TopicId) {
        self.topic_ids.insert(name.to_owned(), id);
    }

    /// The id of a topic; one that no topic has when it was not created.
    #[must_use]
    pub fn topic_id(&self, name: &str) -> TopicId {
        self.topic_ids.get(name).copied().unwrap_or(TopicId(u128::MAX))
    }

    /// The topic of an answer, which has a name or an id.
    #[must_use]
    pub fn topic(&self, name: &str, id: TopicId) -> String {
        if !name.is_empty() {
            return self.own(name).to_owned();
        }
        let known = self.topic_ids.iter().find(|(_, known)| **known == id);
        known.map_or_else(|| "unknown".to_owned(), |(name, _)| name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_named_in_the_order_in_which_they_appear() {
        let mut names = Names::new("", 0);
        assert_eq!(names.producer(4_000), "P1");
        assert_eq!(names.producer(3_000), "P2");
        assert_eq!(names.producer(4_000), "P1");
        assert_eq!(names.producer(-1), "none");
        assert_eq!(names.producer_id("P2"), Ok(3_000));
        assert!(names.producer_id("P3").is_err());
        assert_eq!(names.writer("900000007/3"), Ok((900_000_007, 3)));
        assert_eq!(names.member("x-1"), "M1");
        assert_eq!(names.member_id("M1"), Ok(wire("x-1")));
    }

    #[test]
    fn names_of_other_runs_are_not_ours() {
        let names = Names::new(".7", 0);
        assert_eq!(names.outside("t").as_str(), "t.7");
        assert_eq!(names.outside("__transaction_state").as_str(), "__transaction_state");
        assert_eq!(names.inside("t.7"), Some("t"));
        assert_eq!(names.inside("t.8"), None);
    }
}
