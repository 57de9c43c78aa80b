//! Leaving out what clients do.

use std::collections::BTreeSet;

use super::Shrinker;
use crate::clients::Op;
use crate::explore::plan_of;
use crate::history::ClientId;
use crate::record::RecordedRun;
use crate::world::Cuts;

/// How often a cut is tried with the faults at other moments.
const MOVES: u32 = 12;

impl Shrinker<'_> {
    pub(super) fn drop_clients(&mut self) {
        let clients = plan_of(&self.best.choices, &Cuts::default()).clients.len() as ClientId;
        for client in (1..=clients).rev() {
            if !self.best.cuts.clients.contains(&client) {
                let mut candidate = self.best.clone();
                candidate.cuts.clients.insert(client);
                self.attempt_moved(candidate, MOVES);
            }
        }
    }

    /// Leaves out spans of whole transactions, or of steps outside of any.
    pub(super) fn drop_transactions(&mut self) {
        for (client, units) in self.units(true) {
            self.spans(units.len(), |this, from, to| {
                this.leave_out(client, units[from..to].iter().flatten());
            });
        }
    }

    /// Leaves out spans of steps within transactions.
    pub(super) fn drop_steps(&mut self) {
        for (client, units) in self.units(false) {
            self.spans(units.len(), |this, from, to| {
                this.leave_out(client, units[from..to].iter().flatten());
            });
        }
    }

    fn leave_out<'p>(&mut self, client: ClientId, places: impl Iterator<Item = &'p u32>) {
        let mut candidate: RecordedRun = self.best.clone();
        let left_out = candidate.cuts.steps.entry(client).or_default();
        let before = left_out.len();
        left_out.extend(places);
        if left_out.len() == before {
            return;
        }
        self.attempt_moved(candidate, MOVES);
    }

    /// What is left of each producer's steps, in units that may be left out: a transaction from
    /// its begin to its end as one, or the steps within it one by one. The begin and the end of
    /// a transaction go together, for no client does one without the other.
    fn units(&self, whole: bool) -> Vec<(ClientId, Vec<Vec<u32>>)> {
        let gone = Cuts { clients: self.best.cuts.clients.clone(), ..Cuts::default() };
        let plan = plan_of(&self.best.choices, &gone);
        let cut = |client: ClientId| self.best.cuts.steps.get(&client);
        plan.steps()
            .map(|(client, ops)| {
                let none = BTreeSet::new();
                let cut = cut(client).unwrap_or(&none);
                (client, units_of(&ops, cut, whole))
            })
            .collect()
    }
}

pub(super) fn units_of(ops: &[&Op], cut: &BTreeSet<u32>, whole: bool) -> Vec<Vec<u32>> {
    let mut units: Vec<Vec<u32>> = Vec::new();
    let mut open: Option<Vec<u32>> = None;
    for (place, op) in (0_u32..).zip(ops).filter(|(place, _)| !cut.contains(place)) {
        match op {
            Op::Begin => open = Some(vec![place]),
            Op::Commit | Op::Abort => {
                let mut unit = open.take().unwrap_or_default();
                unit.push(place);
                if whole {
                    units.push(unit);
                }
            }
            _ => match &mut open {
                Some(unit) if whole => unit.push(place),
                _ => units.push(vec![place]),
            },
        }
    }
    units
}
