//! The words of a step: in order, by name, and the version of the request.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;
use std::str::FromStr;

/// What is wrong with a step, for people.
pub type Fault = String;

/// The words behind a verb, taken one by one; what nobody takes is a fault.
#[derive(Clone, Debug, Default)]
pub struct Args<'a> {
    words: VecDeque<&'a str>,
    named: BTreeMap<&'a str, &'a str>,
    version: Option<i16>,
}

/// A topic's name and a partition's index, as in `t-0`.
pub type Place<'a> = (&'a str, i32);

/// Reads `t-0`.
#[must_use]
pub fn place(word: &str) -> Option<Place<'_>> {
    let (topic, index) = word.rsplit_once('-')?;
    Some((topic, index.parse().ok()?))
}

fn version(word: &str) -> Option<i16> {
    word.strip_prefix('v')?.parse().ok()
}

impl<'a> Args<'a> {
    /// Sorts words: `v5` is a version, `a=b` goes by name, the rest by order. `""` is empty.
    pub fn new(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut args = Self::default();
        for word in words {
            if let Some(version) = version(word) {
                args.version = Some(version);
            } else if let Some((name, value)) = word.split_once('=') {
                args.named.insert(name, value);
            } else {
                args.words.push_back(if word == "\"\"" { "" } else { word });
            }
        }
        args
    }

    /// The version of the request.
    #[must_use]
    pub fn version(&self, default: i16) -> i16 {
        self.version.unwrap_or(default)
    }

    /// The next word.
    ///
    /// # Errors
    /// There is none.
    pub fn word(&mut self, what: &str) -> Result<&'a str, Fault> {
        self.words.pop_front().ok_or_else(|| format!("{what} is missing"))
    }

    /// The first word that `is` likes.
    pub fn find<T>(&mut self, is: impl Fn(&'a str) -> Option<T>) -> Option<T> {
        let (at, found) =
            self.words.iter().enumerate().find_map(|(at, word)| Some((at, is(word)?)))?;
        self.words.remove(at);
        Some(found)
    }

    /// All words that `is` likes, at least one.
    ///
    /// # Errors
    /// There is none.
    pub fn all<T>(
        &mut self,
        what: &str,
        is: impl Fn(&'a str) -> Option<T>,
    ) -> Result<Vec<T>, Fault> {
        let found: Vec<T> = std::iter::from_fn(|| self.find(&is)).collect();
        if found.is_empty() { Err(format!("{what} is missing")) } else { Ok(found) }
    }

    /// Whether a word is there.
    pub fn flag(&mut self, flag: &str) -> bool {
        self.find(|word| (word == flag).then_some(())).is_some()
    }

    /// The value of a name, read as a `T`.
    ///
    /// # Errors
    /// The value is no `T`.
    pub fn named<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, Fault>
    where
        T::Err: Display,
    {
        let Some(value) = self.named.remove(name) else { return Ok(None) };
        value.parse().map(Some).map_err(|error| format!("{name}={value}: {error}"))
    }

    /// What is left of the names.
    pub fn rest(&mut self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        std::mem::take(&mut self.named).into_iter()
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// A word that nobody took.
    pub fn finish(self) -> Result<(), Fault> {
        let named = self.named.iter().map(|(name, value)| format!("{name}={value}"));
        match self.words.iter().map(ToString::to_string).chain(named).next() {
            Some(word) => Err(format!("{word:?} means nothing here")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_by_kind_and_what_is_left_is_a_fault() {
        let mut args = Args::new("tx t-0 t-1 once seq=4 v11 odd".split(' '));
        assert_eq!(args.version(3), 11);
        assert!(args.flag("once"));
        assert_eq!(args.all("a partition", place), Ok(vec![("t", 0), ("t", 1)]));
        assert_eq!(args.word("an id"), Ok("tx"));
        assert_eq!(args.named::<i32>("seq"), Ok(Some(4)));
        assert_eq!(args.named::<i32>("gen"), Ok(None));
        assert_eq!(args.finish(), Err("\"odd\" means nothing here".to_owned()));
    }

    #[test]
    fn a_value_of_the_wrong_kind_names_itself() {
        let fault = Args::new(["seq=x"]).named::<i32>("seq").expect_err("x is no number");
        assert!(fault.starts_with("seq=x: "), "{fault}");
    }
}
