//! Making choices dull, earlier and lower.

use super::Shrinker;
use crate::choices::{Choice, Label, Lane};
use crate::record::RecordedRun;

impl Shrinker<'_> {
    fn lanes(&self, wanted: impl Fn(Label) -> bool) -> Vec<Lane> {
        self.best.choices.lanes().map(|(lane, _)| lane).filter(|lane| wanted(lane.0)).collect()
    }

    fn lively_at(&self, lane: Lane) -> Vec<usize> {
        let choices = self.best.choices.lane(lane).iter().enumerate();
        choices.filter(|(_, choice)| choice.picked > 0).map(|(at, _)| at).collect()
    }

    fn with_lane(&self, lane: Lane, change: impl FnOnce(&mut Vec<Choice>)) -> RecordedRun {
        let mut candidate = self.best.clone();
        let mut choices = candidate.choices.lane(lane).to_vec();
        change(&mut choices);
        candidate.choices.set_lane(lane, choices);
        candidate
    }

    /// A kind of fault does not exist.
    pub(super) fn drop_fault_kinds(&mut self) {
        let lane = (Label::FaultOn, 0);
        for at in self.lively_at(lane) {
            let candidate = self.with_lane(lane, |choices| {
                if let Some(choice) = choices.get_mut(at) {
                    choice.picked = 0;
                }
            });
            self.attempt(candidate);
        }
    }

    /// Single faults, and spans of them, do not strike.
    pub(super) fn dull_faults(&mut self) {
        for lane in self.lanes(Label::is_fault) {
            self.dull_lane(lane, 1);
        }
    }

    /// Everything else is dull: a lane as a whole, then spans, down to single choices where there
    /// are few.
    pub(super) fn dull_lanes(&mut self) {
        for lane in self.lanes(|label| !label.is_fault()) {
            let least = if self.lively_at(lane).len() > 64 { 16 } else { 1 };
            self.dull_lane(lane, least);
        }
    }

    fn dull_lane(&mut self, lane: Lane, least: usize) {
        let lively = self.lively_at(lane);
        self.spans(lively.len(), |this, from, to| {
            if to - from < least {
                return;
            }
            let candidate = this.with_lane(lane, |choices| {
                for &at in &lively[from..to] {
                    if let Some(choice) = choices.get_mut(at) {
                        choice.picked = 0;
                    }
                }
            });
            this.attempt(candidate);
        });
    }

    /// Deletes dull choices before lively ones, so that a fault strikes earlier and less has to
    /// happen before it.
    pub(super) fn strike_earlier(&mut self) {
        for lane in self.lanes(Label::is_fault) {
            let mut size = self.best.choices.lane(lane).len();
            while size > 0 && !(self.time_is_up)() {
                let mut from = 0;
                while from < self.best.choices.lane(lane).len() {
                    let span = self.best.choices.lane(lane).iter().skip(from).take(size);
                    let dull = span.take_while(|choice| choice.picked == 0).count();
                    if dull == size {
                        let candidate = self.with_lane(lane, |choices| {
                            choices.drain(from..from + size);
                        });
                        if self.attempt(candidate) {
                            continue;
                        }
                    }
                    from += size.max(1);
                }
                size /= 2;
            }
        }
    }

    /// Lowers numbers: by halves towards 0.
    pub(super) fn lower_numbers(&mut self) {
        for lane in self.lanes(|label| !label.is_fault()) {
            let lively = self.lively_at(lane);
            if lively.len() > 48 {
                continue;
            }
            for at in lively {
                let mut low = 0;
                while !(self.time_is_up)() {
                    let Some(&choice) = self.best.choices.lane(lane).get(at) else { break };
                    let middle = low + choice.picked.saturating_sub(low) / 2;
                    if choice.picked <= low + 1 || middle == choice.picked {
                        break;
                    }
                    let lower = self.with_lane(lane, |choices| choices[at].picked = middle);
                    if !self.attempt_lower(lower) {
                        low = middle;
                    }
                }
            }
        }
    }

    /// A lower number makes a run smaller by nothing else that is counted.
    fn attempt_lower(&mut self, candidate: RecordedRun) -> bool {
        let cost = self.cost;
        self.cost.2 += 1;
        let taken = self.attempt(candidate);
        if !taken {
            self.cost = cost;
        }
        taken
    }

    /// The candidate with every struck fault at another moment, earlier ones being likelier: with
    /// less to do there are fewer moments.
    pub(super) fn with_faults_moved(&mut self, candidate: &RecordedRun) -> RecordedRun {
        let mut moved = candidate.clone();
        let lanes: Vec<(Lane, Vec<Choice>)> = candidate
            .choices
            .lanes()
            .filter(|((label, _), choices)| {
                label.is_fault() && choices.iter().any(|choice| choice.picked > 0)
            })
            .map(|(lane, choices)| (lane, choices.clone()))
            .collect();
        for (lane, choices) in lanes {
            let struck = choices.iter().filter(|choice| choice.picked > 0).count();
            let most = 1 + self.below(choices.len());
            let mut at_new = vec![Choice { n: 2, picked: 0 }; most.max(struck)];
            for _ in 0..struck {
                let at = self.below(most);
                at_new[at].picked = 1;
            }
            moved.choices.set_lane(lane, at_new);
        }
        moved
    }
}
