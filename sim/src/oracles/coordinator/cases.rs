//! The history, sorted by transactional id.

use std::collections::{BTreeMap, BTreeSet};

use super::Facts;
use super::request::Request;
use super::state::{Asking, INVALID_TXN_STATE, Reply};
use crate::history::{ClientId, Event, Part, TxnAsk};

/// What stands for an answer that binds nobody: NOT_COORDINATOR.
const UNTOLD: Reply = Reply { code: 16, pid: -1, epoch: -1 };

/// What happened.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Asked(usize),
    Answered(usize),
    Settled(usize),
    Crashed,
    Jumped,
    /// The epoch of a producer id was moved.
    Moved(i64, i16),
}

/// What happened to one transactional id.
#[derive(Debug, Default)]
pub(super) struct Case {
    pub(super) requests: Vec<Request>,
    pub(super) steps: Vec<(u64, Step)>,
}

/// What happened to each transactional id.
pub(super) fn cases(facts: &Facts<'_>) -> BTreeMap<u32, Case> {
    let mut cases: BTreeMap<u32, Case> = BTreeMap::new();
    let mut places: BTreeMap<u64, (u32, usize)> = BTreeMap::new();
    // Whom an operator's markers are for, and where.
    let mut marked: BTreeSet<(i64, Part)> = BTreeSet::new();
    // What each client sent over the connection that it has.
    let mut sent: BTreeMap<ClientId, (u64, Vec<(u32, usize)>)> = BTreeMap::new();
    for entry in &facts.history.entries {
        let at_us = entry.at_us;
        match &entry.event {
            &Event::TxnAsked { request, conn, id, pid, epoch, ref ask } => {
                let (over, before) = sent.entry(entry.client).or_default();
                if *over != conn && conn != 0 {
                    *over = conn;
                    for (id, place) in core::mem::take(before) {
                        if let Some(case) = cases.get_mut(&id) {
                            case.requests[place].given_up_us = at_us;
                        }
                    }
                }
                let case = cases.entry(id).or_default();
                let place = case.requests.len();
                places.insert(request, (id, place));
                before.push((id, place));
                let asking = Asking { ask: ask.clone(), pid, epoch };
                let (asked_us, given_up_us, answered) = (at_us, u64::MAX, None);
                let client = entry.client;
                case.requests.push(Request {
                    asking,
                    client,
                    asked_us,
                    answered,
                    rumour: None,
                    given_up_us,
                    lost: false,
                });
                case.steps.push((at_us, Step::Asked(place)));
            }
            &Event::TxnAnswered { request, code, pid, epoch, of_old } => {
                let Some(&(id, place)) = places.get(&request) else { continue };
                let Some(case) = cases.get_mut(&id) else { continue };
                let request = &mut case.requests[place];
                let reply = Reply { code, pid, epoch };
                let rumour = of_old && !was_written(&request.asking, code);
                let binds = !rumour && !may_be_spoilt(&request.asking, code, &marked);
                request.rumour = (rumour && code == 0).then_some(reply);
                request.answered = Some((at_us, if binds { reply } else { UNTOLD }));
                case.steps.push((at_us, Step::Answered(place)));
            }
            &Event::TxnSettled { request, arrived } => {
                let Some(&(id, place)) = places.get(&request) else { continue };
                let Some(case) = cases.get_mut(&id) else { continue };
                case.requests[place].lost = !arrived;
                case.steps.push((at_us, Step::Settled(place)));
            }
            &Event::MarkerAsked { part, pid } => {
                marked.insert((pid, part));
            }
            Event::Crashed => {
                cases.values_mut().for_each(|case| case.steps.push((at_us, Step::Crashed)));
            }
            Event::ClockJumped => {
                cases.values_mut().for_each(|case| case.steps.push((at_us, Step::Jumped)));
            }
            &Event::EpochMoved { id, pid, epoch } => {
                let case = cases.entry(id).or_default();
                case.steps.push((at_us, Step::Moved(pid, epoch)));
            }
            _ => {}
        }
    }
    cases
}

/// What had to be written, and was, is as good an answer as any other, whoever gives it.
const fn was_written(asking: &Asking, code: i16) -> bool {
    code == 0 && matches!(asking.ask, TxnAsk::Init { .. })
}

/// Whether a batch may have been refused for a marker that came while it waited for its verification.
fn may_be_spoilt(asking: &Asking, code: i16, marked: &BTreeSet<(i64, Part)>) -> bool {
    let TxnAsk::Produce { part: Some(part), adds: false } = asking.ask else { return false };
    code == INVALID_TXN_STATE && marked.contains(&(asking.pid, part))
}
