//! A way through what happened to one transactional id, with all states that it may be in.

use std::collections::{BTreeMap, BTreeSet};

use super::cases::{Case, Step};
use super::request::{Means, Request};
use super::state::{Levels, Phase, Reply, State};
use crate::history::TxnAsk;

/// More possible states than this are not followed.
const MOST_STATES: usize = 300;

/// The states an id may be in, each with when its transaction was begun at the earliest; `None`
/// while that is not known.
type States = Option<BTreeMap<State, u64>>;

/// A way through what happened to one id.
pub(super) struct Walk<'c> {
    levels: Levels,
    /// Whether the coordinator is one of several brokers.
    members: bool,
    case: &'c Case,
    states: States,
    /// Requests that may be done yet.
    live: BTreeSet<usize>,
    /// Requests that failed, and may turn up as done when the node comes back.
    dormant: BTreeSet<usize>,
    jumped_us: Option<u64>,
    /// What was asked last.
    newest: usize,
    /// When the states were last unknown.
    unknown_since_us: u64,
    timeout_us: u64,
}

impl<'c> Walk<'c> {
    pub(super) fn new(case: &'c Case, levels: Levels, members: bool) -> Self {
        let timeout = |request: &Request| match request.asking.ask {
            TxnAsk::Init { timeout_ms } => u64::try_from(timeout_ms).ok(),
            _ => None,
        };
        let timeout_ms = case.requests.iter().filter_map(timeout).min().unwrap_or(0);
        Self {
            levels,
            members,
            case,
            states: Some(BTreeMap::from([(State::unknown(), 0)])),
            live: BTreeSet::new(),
            dormant: BTreeSet::new(),
            jumped_us: None,
            newest: 0,
            unknown_since_us: 0,
            // The broker's clock counts milliseconds.
            timeout_us: (timeout_ms * 1_000).saturating_sub(1_000),
        }
    }

    /// The first answer that nothing explains, in words.
    pub(super) fn unexplained(mut self) -> Option<String> {
        for &(at_us, step) in &self.case.steps {
            match step {
                Step::Asked(place) => {
                    self.newest = place;
                    let request = &self.case.requests[place];
                    if request.means() != Means::Nothing
                        && (!request.is_data()
                            || request.adds_by_itself()
                            || request.means() == Means::Decided)
                    {
                        self.live.insert(place);
                    }
                }
                Step::Jumped => self.jumped_us = Some(at_us),
                Step::Moved(pid, epoch) => self.moved(at_us, (pid, epoch)),
                Step::Crashed => self.crashed(at_us),
                Step::Settled(place) => self.settled(at_us, place),
                Step::Answered(place) => {
                    if let Some(what) = self.answered(at_us, place) {
                        return Some(what);
                    }
                }
            }
        }
        None
    }

    fn answered(&mut self, at_us: u64, place: usize) -> Option<String> {
        let request = &self.case.requests[place];
        let (_, reply) = request.answered?;
        self.close(at_us);
        let succeeded = reply.code == 0;
        if let Some(known) = core::mem::take(&mut self.states) {
            let before: Vec<State> = known.keys().take(3).cloned().collect();
            let fits = |(mut state, since): (State, u64)| match request.means() {
                Means::Decided => state.done.remove(&place).then_some((state, since)),
                Means::Open if succeeded && request.adds_by_itself() => {
                    state.after_taking(&request.asking).map(|state| (state, since))
                }
                Means::Open | Means::Nothing => Some((state, since)),
            };
            let after = earliest(known.into_iter().filter_map(fits));
            if after.is_empty() {
                return Some(format!(
                    "at {at_us} us client {} was answered code {} ({} {}) to {:?} as producer {} epoch {}, asked at {} us, which nothing before explains; it may have been {before:?}",
                    request.client,
                    reply.code,
                    reply.pid,
                    reply.epoch,
                    request.asking.ask,
                    request.asking.pid,
                    request.asking.epoch,
                    request.asked_us
                ));
            }
            self.states = Some(after);
        } else if succeeded && matches!(request.asking.ask, TxnAsk::Init { .. }) {
            self.begin_again(place, reply);
        }
        if succeeded || request.means() != Means::Open {
            self.live.remove(&place);
        } else if !request.is_data() {
            self.forget(&BTreeSet::from([place]));
            self.dormant.insert(place);
        }
        if succeeded && !request.is_data() {
            self.settle(request.asked_us);
        }
        None
    }

    /// Nothing was known, and now a producer was told who it is.
    fn begin_again(&mut self, place: usize, reply: Reply) {
        if place != self.newest || self.case.requests[place].asked_us < self.unknown_since_us {
            return;
        }
        let mut others = self.live.iter().filter(|&&other| other != place);
        if others.any(|&other| self.case.requests[other].means() == Means::Decided) {
            return;
        }
        let asking = &self.case.requests[place].asking;
        let state = State::initialized((reply.pid, reply.epoch), (asking.pid, asking.epoch));
        self.states = Some(BTreeMap::from([(state, 0)]));
    }

    /// All that may have happened by now has.
    fn close(&mut self, at_us: u64) {
        if let Some(known) = core::mem::take(&mut self.states) {
            self.states = self.closed(at_us, known);
            if self.states.is_none() {
                self.unknown_since_us = at_us;
            }
        }
    }

    /// The epoch of an id whose transaction is over was moved.
    fn moved(&mut self, at_us: u64, (pid, epoch): (i64, i16)) {
        self.close(at_us);
        let Some(known) = core::mem::take(&mut self.states) else { return };
        let moved = known.into_iter().filter_map(|(state, since)| {
            let state = state.aged(pid, epoch)?;
            Some((state, since))
        });
        let moved = earliest(moved);
        // Of what was not to be told apart any more, a part may have been left out.
        if moved.is_empty() {
            self.unknown_since_us = at_us;
        } else {
            self.states = Some(moved);
        }
    }

    /// The node died: what it said had failed may be there when it comes back.
    fn crashed(&mut self, at_us: u64) {
        let dormant = core::mem::take(&mut self.dormant);
        if dormant.is_empty() {
            return;
        }
        self.close(at_us);
        let Some(known) = &mut self.states else { return };
        for place in dormant {
            let request = &self.case.requests[place];
            let turned_up = known.iter().flat_map(|(state, &since)| {
                let outcomes = state.outcomes(&request.asking, false, self.levels).into_iter();
                let since = since.min(request.asked_us);
                outcomes.map(move |(after, _)| (after.unwrap_or_else(|| state.clone()), since))
            });
            for (state, since) in turned_up.collect::<Vec<_>>() {
                let earliest = known.entry(state).or_insert(since);
                *earliest = since.min(*earliest);
            }
        }
    }

    /// A request has no effect any more.
    fn settled(&mut self, at_us: u64, place: usize) {
        let request = &self.case.requests[place];
        if request.means() == Means::Open && self.live.contains(&place) {
            self.close(at_us);
            self.forget(&BTreeSet::from([place]));
        }
    }

    /// These requests are not live any more.
    fn forget(&mut self, over: &BTreeSet<usize>) {
        self.live.retain(|place| !over.contains(place));
        let inits = over.iter().filter(|&&place| self.case.requests[place].is_bare_init()).count();
        if let Some(known) = &mut self.states
            && inits > 0
        {
            let less = |(mut state, since): (State, u64)| {
                state.inits_done = state.inits_done.saturating_sub(inits);
                (state, since)
            };
            *known = earliest(core::mem::take(known).into_iter().map(less));
        }
    }

    /// A request that was asked at that time has succeeded: what was given up on by then, and
    /// cannot arrive late, was done before or never will be.
    fn settle(&mut self, asked_us: u64) {
        let requests = &self.case.requests;
        let known = self.states.iter().flat_map(BTreeMap::keys);
        let oldest = known.map(|state| (state.pid, state.epoch)).min();
        let newest_pid = self.states.iter().flat_map(BTreeMap::keys).map(|state| state.pid).max();
        let is_over = |request: &Request| {
            // Its epoch is gone.
            let fenced = oldest.is_some_and(|(pid, epoch)| {
                request.asking.pid == pid && newest_pid == Some(pid) && request.asking.epoch < epoch
            });
            match request.answered {
                Some((at_us, _)) => request.means() == Means::Open && at_us <= asked_us,
                None if fenced && request.is_data() => true,
                None => !request.is_protected() && request.given_up_us <= asked_us,
            }
        };
        let over = self.live.iter().copied().filter(|&place| is_over(&requests[place])).collect();
        self.forget(&over);
    }

    /// All states that may be there by a point of time; `None` when they are too many.
    fn closed(&self, now_us: u64, known: BTreeMap<State, u64>) -> States {
        let mut all = known.clone();
        let mut todo: Vec<(State, u64)> = known.into_iter().collect();
        while let Some((state, since)) = todo.pop() {
            for (next, since) in self.successors(now_us, &state, since) {
                let better = all.get(&next).is_none_or(|&known| since < known);
                if better {
                    all.insert(next.clone(), since);
                    todo.push((next, since));
                }
            }
            if all.len() > MOST_STATES {
                return None;
            }
        }
        Some(all)
    }

    fn successors(&self, now_us: u64, state: &State, since: u64) -> Vec<(State, u64)> {
        let mut next: Vec<(State, u64)> = Vec::new();
        next.extend(state.completed().map(|state| (state, since)));
        let overdue = state.phase == Phase::Ongoing && self.is_due(now_us, since);
        if overdue {
            next.extend(state.fenced(self.levels).into_iter().map(|state| (state, since)));
        }
        for &place in &self.live {
            let request = &self.case.requests[place];
            let began = |after: &State| {
                let opens = after.phase == Phase::Ongoing && state.phase != Phase::Ongoing;
                if opens { request.asked_us } else { since }
            };
            if request.adds_by_itself() {
                next.extend(state.opened_for(&request.asking).map(|after| {
                    let since = began(&after);
                    (after, since)
                }));
            }
            let after = match request.means() {
                Means::Decided => self.decided(state, place, overdue),
                Means::Open if !request.is_data() => self.maybe_done(state, place),
                _ => Vec::new(),
            };
            next.extend(after.into_iter().map(|after| {
                let since = began(&after);
                (after, since)
            }));
        }
        next
    }

    fn is_due(&self, now_us: u64, since: u64) -> bool {
        now_us >= since + self.timeout_us || self.jumped_us.is_some_and(|jumped| jumped >= since)
    }

    /// The states after a request whose answer is known.
    fn decided(&self, state: &State, place: usize, overdue: bool) -> Vec<State> {
        let request = &self.case.requests[place];
        let Some((_, told)) = request.answered.filter(|_| !state.done.contains(&place)) else {
            return Vec::new();
        };
        let others =
            || self.live.iter().any(|&other| other != place && self.may_be_pending(state, other));
        let pending = matches!(state.phase, Phase::Prepared(_)) || overdue || others();
        let mut outcomes = state.outcomes(&request.asking, pending, self.levels);
        if self.members && pending && request.is_data() {
            outcomes.push(State::unconfirmed());
        }
        let fits = outcomes.into_iter().filter_map(|(after, reply)| state.told(after, reply, told));
        fits.map(|mut after| {
            after.done.insert(place);
            after
        })
        .collect()
    }

    /// Whether a request's transition may be under way in a state.
    fn may_be_pending(&self, state: &State, place: usize) -> bool {
        let request = &self.case.requests[place];
        let counts = !request.is_data() || request.adds_by_itself();
        let init = matches!(request.asking.ask, TxnAsk::Init { .. });
        counts && !state.done.contains(&place) && (init || state.is_current(&request.asking))
    }

    /// The states after a request that may or may not be done.
    fn maybe_done(&self, state: &State, place: usize) -> Vec<State> {
        let request = &self.case.requests[place];
        let bare = request.is_bare_init();
        let open = |&&other: &&usize| {
            let other = &self.case.requests[other];
            other.is_bare_init() && other.means() == Means::Open
        };
        if bare && state.inits_done >= self.live.iter().filter(open).count() {
            return Vec::new();
        }
        let outcomes = state.outcomes(&request.asking, false, self.levels).into_iter();
        let is_told = |(after, reply): (Option<State>, Reply)| match request.rumour {
            Some(told) => state.told(after, reply, told),
            None => after,
        };
        let changed = outcomes.filter_map(is_told).filter(|after| after != state);
        changed
            .map(|mut after| {
                after.inits_done += usize::from(bare);
                after
            })
            .collect()
    }
}

/// Of states that have become one, the earliest point of time.
fn earliest(states: impl Iterator<Item = (State, u64)>) -> BTreeMap<State, u64> {
    let mut all = BTreeMap::new();
    for (state, since) in states {
        let known = all.entry(state).or_insert(since);
        *known = since.min(*known);
    }
    all
}
