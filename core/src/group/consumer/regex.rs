//! Subscriptions by regular expression (KIP-848, RE2's syntax).
//!
//! A group's patterns are matched against all topics when one is new, when topics were created,
//! and every `group.consumer.regex.refresh.interval.ms`; never more often than every 10 s.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;

use super::decide::Plan;
use super::record::{ConsumerKey, ConsumerRecord, Resolved};
use crate::group::{GroupCoordinator, GroupError, GroupId};
use crate::pattern::whole_match;
use crate::time::Now;

/// Least time between two matchings of a group's patterns, in ms.
const REFRESH_MIN_MS: i64 = 10_000;

/// What a change of a member's pattern comes to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RegexChange {
    None,
    /// Its topics are not known yet.
    Unresolved,
    /// Its topics are known.
    Resolved,
}

impl Plan<'_> {
    /// A member's pattern was `old` and is `new`; its record has been put.
    pub(super) fn regex_changed(
        &mut self,
        old: Option<&Arc<str>>,
        new: Option<&Arc<str>>,
    ) -> Result<RegexChange, GroupError> {
        let mut change = RegexChange::None;
        if old != new {
            change = RegexChange::Unresolved;
            if let Some(old) = old
                && self.group.subscribers(old) == 0
            {
                self.take_away(ConsumerKey::Regex(old.clone()));
            }
            match new {
                Some(new) if self.group.subscribers(new) == 1 => {
                    whole_match(new)?;
                }
                Some(new) if self.group.regexes.contains_key(new) => {
                    change = RegexChange::Resolved;
                }
                Some(_) => {}
                None => change = RegexChange::Resolved,
            }
        }
        self.match_topics = self.wants_matching();
        Ok(change)
    }

    fn wants_matching(&self) -> bool {
        let patterns = self.group.pattern_count();
        if patterns == 0 {
            return false;
        }
        let Some(last) = self.group.regexes.values().next() else { return true };
        let age_ms = self.now.wall_ms.saturating_sub(last.at_ms);
        // A clock that went back is no reason to wait.
        if (0..=REFRESH_MIN_MS).contains(&age_ms) {
            return false;
        }
        let refresh_ms = i64::from(self.config.consumer.regex_refresh_interval_ms);
        patterns != self.group.regexes.len()
            || u64::try_from(last.version).unwrap_or(0) < self.topics.created_version
            || !(0..=refresh_ms).contains(&age_ms)
    }

    fn match_all(&mut self) {
        let mut bump = false;
        for pattern in self.group.patterns() {
            // One that is none matches nothing: it came from a record.
            let matcher = whole_match(&pattern).ok();
            let names = self.topics.all_names();
            let topics: BTreeSet<_> = names
                .filter(|name| matcher.as_ref().is_some_and(|one| one.is_match(name.as_str())))
                .cloned()
                .collect();
            let former = self.group.regexes.get(&pattern);
            bump |= former.map_or(!topics.is_empty(), |former| former.topics != topics);
            let version = i64::try_from(self.topics.version).unwrap_or(i64::MAX);
            let at_ms = self.now.wall_ms;
            let resolved = Arc::new(Resolved { topics, version, at_ms });
            self.put(ConsumerKey::Regex(pattern), ConsumerRecord::Regex(resolved));
        }
        self.put_epoch(bump);
    }
}

impl GroupCoordinator {
    /// Matches a group's patterns: a decision of its own, behind the one that asked for it.
    pub(super) fn match_topics(&mut self, now: Now, partition: i32, id: &GroupId) {
        // The group is there, and nobody waits for it.
        let _ = self.decide(now, partition, id, false, None, |plan| {
            plan.match_all();
            Ok(None)
        });
    }
}
