//! O11, by what the coordinator told members, of either protocol: nobody is given a partition that
//! another member certainly has, nobody else commits for it, and member epochs do not go back.
//!
//! A member *certainly* has a partition from the answer that says so until it begins to say that it
//! let go, or until the coordinator may have given up on it. Epochs alone prove nothing: those of a
//! group begin anew when it was empty and changes its protocol. Neither has it for certain what
//! another client may take over under the same instance id: one of the classic protocol sends its
//! JoinGroup until it is answered, and replaces whoever is there (KIP-345; seed 91532).

use std::collections::BTreeMap;

use super::{Facts, Findings};
use crate::history::{ClientId, Event, GroupProtocol, Outcome, Part};

/// What a member was last told.
struct Hold {
    client: ClientId,
    epoch: i32,
    until_us: u64,
    /// Since which answer it has had each partition.
    since: Since,
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

/// When each partition was first told of.
type Since = BTreeMap<Part, u64>;

/// By group and member.
type Holds = BTreeMap<(u16, u32), Hold>;

/// Who last asked to be the member in the classic protocol, until it holds something.
type Joining = BTreeMap<(u16, u32), ClientId>;

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    if facts.damaged {
        return;
    }
    let mut holds = Holds::new();
    let mut joining = Joining::new();
    let mut commits: Vec<Commit> = Vec::new();
    for entry in &facts.history.entries {
        match entry.event {
            Event::LetGo { group, owner, ref kept, protocol } => {
                if protocol == GroupProtocol::Classic {
                    joining.insert((group, owner), entry.client);
                }
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
                let rival = joining.get(&(group, owner)).filter(|rival| **rival != entry.client);
                let mut hold = Hold { client: entry.client, epoch, until_us, since: Since::new() };
                if rival.is_none() {
                    joining.remove(&(group, owner));
                    hold.since = since_when(before.as_ref(), parts, entry.at_us);
                }
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

/// What it had goes on, what it has not had begins now.
fn since_when(before: Option<&Hold>, parts: &[Part], now_us: u64) -> Since {
    let known = |part| before.and_then(|before| before.since.get(part)).copied();
    parts.iter().map(|part| (*part, known(part).unwrap_or(now_us))).collect()
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
