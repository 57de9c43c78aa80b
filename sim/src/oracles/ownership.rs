//! O11, by what the coordinator told members, of either protocol: nobody is given a partition that
//! another member certainly has, nobody else commits for it, and member epochs do not go back.
//!
//! A member *certainly* has a partition from the answer that says so until it begins to say that it
//! let go, or until the coordinator may have given up on it. Epochs alone prove nothing: those of a
//! group begin anew when it was empty and changes its protocol.

use std::collections::BTreeMap;

use super::{Facts, Findings};
use crate::history::{ClientId, Event, Outcome, Part};

/// What a member was last told.
struct Hold {
    client: ClientId,
    epoch: i32,
    until_us: u64,
    /// Since which answer it has had each partition.
    since: BTreeMap<Part, u64>,
}

/// A commit that has not ended.
struct Commit {
    client: ClientId,
    group: u16,
    part: Part,
    offset: i64,
    owner: u32,
    asked_us: u64,
}

/// By group and member.
type Holds = BTreeMap<(u16, u32), Hold>;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    if facts.damaged {
        return;
    }
    let mut holds = Holds::new();
    let mut commits: Vec<Commit> = Vec::new();
    for entry in &facts.history.entries {
        match entry.event {
            Event::LetGo { group, owner, ref kept, .. } => {
                if kept.is_empty() {
                    holds.remove(&(group, owner));
                } else if let Some(hold) = holds.get_mut(&(group, owner)) {
                    hold.since.retain(|part, _| kept.contains(part));
                }
            }
            Event::Held { group, owner, epoch, ref parts, asked_us, until_us } => {
                for part in parts {
                    let time = (asked_us, entry.at_us);
                    if let Some(other) = certain_owner(&holds, (group, *part), owner, time) {
                        findings.add(11, || {
                            format!("group {group}: partition {part} was given to member {owner} while member {other} had it, at {} us", entry.at_us)
                        });
                    }
                }
                let before = holds.remove(&(group, owner)).filter(|old| old.client == entry.client);
                if let Some(before) = before.as_ref().filter(|before| before.epoch > epoch) {
                    findings.add(11, || {
                        format!(
                            "group {group}: member {owner} went back from epoch {} to {epoch}",
                            before.epoch
                        )
                    });
                }
                let since = |part: &Part| {
                    let since = before.as_ref().and_then(|before| before.since.get(part));
                    (*part, since.copied().unwrap_or(entry.at_us))
                };
                let since = parts.iter().map(since).collect();
                let hold = Hold { client: entry.client, epoch, until_us, since };
                holds.insert((group, owner), hold);
            }
            Event::OffsetAsked { group, part, offset, owner: Some(owner), .. } => {
                let (client, asked_us) = (entry.client, entry.at_us);
                commits.push(Commit { client, group, part, offset, owner, asked_us });
            }
            Event::OffsetEnded { group, part, offset, outcome } => {
                let is_it = |one: &Commit| {
                    (one.client, one.group, one.part, one.offset)
                        == (entry.client, group, part, offset)
                };
                let Some(place) = commits.iter().position(is_it) else { continue };
                let commit = commits.swap_remove(place);
                let time = (commit.asked_us, entry.at_us);
                let other = certain_owner(&holds, (group, part), commit.owner, time);
                if let Some(other) = other.filter(|_| outcome == Outcome::Ok) {
                    findings.add(11, || {
                        format!("group {group}: member {} committed offset {offset} of partition {part} while member {other} had it", commit.owner)
                    });
                }
            }
            _ => {}
        }
    }
}

/// A member other than `owner` that has had the partition for all of that time.
fn certain_owner(
    holds: &Holds,
    (group, part): (u16, Part),
    owner: u32,
    (from_us, to_us): (u64, u64),
) -> Option<u32> {
    let of_group = holds.range((group, 0)..=(group, u32::MAX));
    let mut others = of_group.filter(|((_, other), _)| *other != owner);
    let other = others.find(|(_, hold)| {
        let since = hold.since.get(&part);
        since.is_some_and(|since| *since <= from_us) && hold.until_us >= to_us
    });
    other.map(|((_, other), _)| *other)
}
