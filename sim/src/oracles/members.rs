//! O11, of groups with members: a partition has one owner in a generation, what the group has
//! committed never goes back, and each record it consumed was made into one record.

use std::collections::{BTreeMap, BTreeSet};

use super::{Facts, Findings};
use crate::history::{Event, GroupProtocol, Part};

pub(super) fn judge(facts: &Facts<'_>, findings: &mut Findings) {
    if facts.damaged {
        return;
    }
    let groups = owners(facts, findings);
    positions(facts, &groups, findings);
    once(facts, findings);
}

/// Of groups with members of the classic protocol only: one owner for a partition of a generation,
/// and no generation after a later one; those of a group that changes its protocol begin anew, and
/// [`super::ownership`] judges it. Gives back the groups that have members.
fn owners(facts: &Facts<'_>, findings: &mut Findings) -> BTreeSet<u16> {
    let entries = &facts.history.entries;
    let consumers: BTreeSet<u16> =
        entries.iter().filter_map(|entry| consumers_of(&entry.event)).collect();
    let mut owned: BTreeMap<(u16, i32, Part), u32> = BTreeMap::new();
    let mut seen: BTreeMap<u16, Vec<(u64, i32)>> = BTreeMap::new();
    for entry in entries {
        let Event::Assigned { group, generation, owner, parts, asked_us } = &entry.event else {
            continue;
        };
        if consumers.contains(group) {
            continue;
        }
        for part in parts {
            let first = *owned.entry((*group, *generation, *part)).or_insert(*owner);
            if first != *owner {
                findings.add(11, || {
                    format!("group {group} generation {generation}: partition {part} belongs to members {first} and {owner}")
                });
            }
        }
        let before = seen.entry(*group).or_default();
        let known = before.partition_point(|&(at, _)| at <= *asked_us);
        let highest = known.checked_sub(1).map_or(0, |at| before[at].1);
        if *generation < highest {
            findings.add(11, || {
                format!("group {group}: generation {generation} was given out after {highest}")
            });
        }
        let highest = before.last().map_or(0, |&(_, one)| one);
        before.push((entry.at_us, highest.max(*generation)));
    }
    seen.into_keys().chain(consumers).collect()
}

/// The group in which a member of the consumer protocol speaks.
const fn consumers_of(event: &Event) -> Option<u16> {
    match event {
        &Event::LetGo { group, protocol: GroupProtocol::Consumer, .. } => Some(group),
        _ => None,
    }
}

/// What a group with members has committed never goes back.
fn positions(facts: &Facts<'_>, groups: &BTreeSet<u16>, findings: &mut Findings) {
    let mut seen: BTreeMap<(u16, Part), Vec<(u64, i64)>> = BTreeMap::new();
    for entry in &facts.history.entries {
        let Event::OffsetSeen { group, part, offset, asked_us, .. } = entry.event else { continue };
        if !groups.contains(&group) {
            continue;
        }
        let before = seen.entry((group, part)).or_default();
        let known = before.partition_point(|&(at, _)| at <= asked_us);
        let highest = known.checked_sub(1).map_or(-1, |at| before[at].1);
        if offset < highest {
            findings.add(11, || {
                format!("group {group} partition {part}: the offset went back from {highest} to {offset} at {} us", entry.at_us)
            });
        }
        let highest = before.last().map_or(-1, |&(_, one)| one);
        before.push((entry.at_us, highest.max(offset)));
    }
}

/// At the end: a record below the group's offset was made into one visible record, one at or
/// above it into none, and one that is not visible itself into none.
fn once(facts: &Facts<'_>, findings: &mut Findings) {
    if !facts.has_logs() {
        return;
    }
    let shown: BTreeMap<u64, (Part, i64)> = facts
        .logs
        .iter()
        .flat_map(|(&part, log)| log.visible.iter().map(move |&(at, app)| (app, (part, at))))
        .collect();
    let mut made: BTreeMap<u16, BTreeMap<u64, Vec<u64>>> = BTreeMap::new();
    // Those of which what was made may have been visible, before it was cleaned away.
    let mut cleaned: BTreeSet<(u16, u64)> = BTreeSet::new();
    let mut ends: BTreeMap<(u16, Part), i64> = BTreeMap::new();
    for entry in &facts.history.entries {
        match entry.event {
            Event::Derived { app, group, from } => {
                let of = made.entry(group).or_default().entry(from).or_default();
                of.extend(shown.contains_key(&app).then_some(app));
                if facts.may_be_cleaned(app, None, &facts.newest) {
                    cleaned.insert((group, from));
                }
            }
            Event::OffsetSeen { group, part, offset, is_final: true, .. } => {
                ends.insert((group, part), offset);
            }
            _ => {}
        }
    }
    for (group, made) in &made {
        for (from, apps) in made {
            if apps.len() > 1 {
                findings.add(2, || {
                    format!("group {group}: record {from} was made into {apps:?}, all visible")
                });
            }
            let Some(part) = facts.apps.get(from).map(|known| known.part) else { continue };
            let Some(log) = facts.logs.get(&part) else { continue };
            let gone = log.start > 0 || facts.may_be_cleaned(*from, None, &facts.newest);
            if !gone && !apps.is_empty() && !shown.contains_key(from) {
                findings.add(4, || {
                    format!("group {group}: record {from}, not visible, was made into {apps:?}")
                });
            }
        }
        for (&(_, part), &end) in ends.iter().filter(|((of, _), _)| of == group) {
            let none = Vec::new();
            for &(at, app) in facts.logs.get(&part).map_or(&none, |log| &log.visible) {
                let count = made.get(&app).map_or(0, Vec::len);
                // It may have been cleaned away when the group read there: each of several brokers
                // cleans what it leads by itself, and the next one not yet; a crash undoes what no
                // checkpoint knew (seed 977409).
                let unseen = facts.may_be_cleaned(app, Some(at), &facts.newest);
                let fits = if at < end {
                    count > 0 || unseen || cleaned.contains(&(*group, app))
                } else {
                    count == 0
                };
                if !fits {
                    findings.add(11, || {
                        format!("group {group}: record {app} at {part}-{at} was made into {count} records, the group's offset is {end}")
                    });
                }
            }
        }
    }
}
