//! What is counted of a group's members, so that no heartbeat goes through all of them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use super::member::About;
use crate::types::TopicName;

/// How many members want what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Counts {
    topics: BTreeMap<TopicName, usize>,
    regexes: BTreeMap<Arc<str>, usize>,
    assignors: BTreeMap<Arc<str>, usize>,
}

impl Counts {
    pub(super) fn add(&mut self, about: &About) {
        about.topics.iter().for_each(|topic| add(&mut self.topics, topic));
        about.regex().into_iter().for_each(|regex| add(&mut self.regexes, regex));
        about.assignor.iter().for_each(|assignor| add(&mut self.assignors, assignor));
    }

    pub(super) fn remove(&mut self, about: &About) {
        about.topics.iter().for_each(|topic| remove(&mut self.topics, topic));
        about.regex().into_iter().for_each(|regex| remove(&mut self.regexes, regex));
        about.assignor.iter().for_each(|assignor| remove(&mut self.assignors, assignor));
    }

    /// Topics that a member subscribes to by name.
    pub(super) fn topics(&self) -> impl Iterator<Item = &TopicName> {
        self.topics.keys()
    }

    pub(super) fn has_topic(&self, topic: &TopicName) -> bool {
        self.topics.contains_key(topic)
    }

    /// How many members subscribe by a regular expression.
    pub(super) fn of_regex(&self, regex: &str) -> usize {
        self.regexes.get(regex).copied().unwrap_or(0)
    }

    pub(super) fn regexes(&self) -> BTreeSet<Arc<str>> {
        self.regexes.keys().cloned().collect()
    }

    pub(super) fn regex_count(&self) -> usize {
        self.regexes.len()
    }

    /// The assignor that most members prefer; of a tie the first by name.
    pub(super) fn assignor(&self) -> Option<&str> {
        let most = self.assignors.values().copied().max()?;
        let mut best = self.assignors.iter().filter(|(_, count)| **count == most);
        best.next().map(|(name, _)| &**name)
    }
}

fn add<K: Ord + Clone>(counts: &mut BTreeMap<K, usize>, key: &K) {
    *counts.entry(key.clone()).or_default() += 1;
}

fn remove<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
