//! What a producer makes of an answer, or of its absence.

use verdict_core::wire::Response;

use super::{Kind, Producer, ProducerKind};
use crate::clients::ops::Op;
use crate::clients::requests::{base_offset, coordinator_epoch};
use crate::clients::session::Call;
use crate::history::{Event, Outcome};
use crate::world::Env;

/// The coordinator epoch where no marker of a producer was ever written.
pub(super) const UNHEARD_OF: i32 = 0;

impl Producer {
    /// A call succeeded.
    pub(super) fn answered(&mut self, env: &mut Env, call: Call<Kind>, response: &Response) {
        match call.kind {
            Kind::Find => self.found = true,
            Kind::FindGroup(group) => {
                self.groups_found.insert(group);
            }
            Kind::Init => self.initialized(env, response),
            Kind::Add(part) => {
                if let Some(open) = &mut self.open {
                    open.parts.insert(part);
                }
            }
            Kind::AddOffsets(group) => {
                if let Some(open) = &mut self.open {
                    open.groups.insert(group);
                }
            }
            Kind::Produce { part, apps } => {
                self.taken.insert(part);
                self.held.insert(part);
                let base = base_offset(response).filter(|&base| base >= 0);
                for (index, app) in (0_i64..).zip(apps) {
                    let offset = base.map(|base| base + index);
                    env.note(self.client, Event::SendEnded { app, outcome: Outcome::Ok, offset });
                }
            }
            Kind::Offsets { .. } => self.ended(env, &call, Outcome::Ok),
            Kind::End { txn, commit } => {
                self.last_txn = Some((txn, commit));
                self.ended(env, &call, Outcome::Ok);
                self.transaction_ended(response);
                if let (Kind::End { commit, .. }, Some(identity)) = (&call.kind, self.identity) {
                    self.last_ends = [Some((*commit, identity)), self.last_ends[0]];
                }
            }
            Kind::CoordinatorEpoch => {
                let pid = self.identity.map_or(-1, |(pid, _)| pid);
                self.coordinator_epoch =
                    Some(coordinator_epoch(response, pid).unwrap_or(UNHEARD_OF));
            }
            Kind::Plain { .. } | Kind::Contradict { .. } | Kind::Other => {}
        }
    }

    fn initialized(&mut self, env: &mut Env, response: &Response) {
        let Response::InitProducerId(data) = response else { return };
        let (pid, epoch) = (data.producer_id, data.producer_epoch);
        env.say(self.client, || format!("is producer {pid} epoch {epoch}"));
        self.identity = Some((pid, epoch));
        self.sequences.clear();
        self.side_sequences.clear();
        self.taken.clear();
        self.bump = false;
        if let Some((_, id)) = &self.id {
            let id = *id;
            env.note(self.client, Event::Initialized { id, pid, epoch });
        }
    }

    fn transaction_ended(&mut self, response: &Response) {
        self.open = None;
        if self.kind != ProducerKind::V2 {
            return;
        }
        if let Response::EndTxn(data) = response
            && data.producer_id >= 0
        {
            self.identity = Some((data.producer_id, data.producer_epoch));
            self.sequences.clear();
            self.side_sequences.clear();
            self.taken.clear();
        }
    }

    /// The transaction cannot be committed any more. Without one, the producer begins anew.
    pub(super) fn abortable(&mut self, env: &mut Env, call: Call<Kind>) {
        let open = self.open.take();
        self.ended(env, &call, if call.unsure { Outcome::Maybe } else { Outcome::Failed });
        self.open = open;
        match (&mut self.open, &call.kind) {
            (None, _) => self.begin_anew(env),
            (Some(_), Kind::End { commit: false, .. }) => {
                self.open = None;
                self.begin_anew(env);
            }
            (Some(open), kind) => {
                open.failed = true;
                self.bump |= self.kind == ProducerKind::Classic;
                if matches!(kind, Kind::End { .. }) {
                    self.ops.push_front(Op::Abort);
                }
            }
        }
    }

    /// A call's deadline has passed.
    pub(super) fn gave_up(&mut self, env: &mut Env, call: Call<Kind>) {
        env.say(self.client, || format!("gives up on {:?}", call.kind));
        let outcome = if call.unsure { Outcome::Maybe } else { Outcome::Failed };
        match (&call.kind, &mut self.open) {
            (Kind::Produce { .. } | Kind::Offsets { .. }, Some(open)) => {
                open.failed = true;
                self.bump |= self.kind == ProducerKind::Classic;
                self.ended(env, &call, outcome);
            }
            (Kind::Plain { .. }, _) => self.ended(env, &call, Outcome::Failed),
            (
                Kind::Find
                | Kind::FindGroup(_)
                | Kind::Other
                | Kind::Contradict { .. }
                | Kind::CoordinatorEpoch,
                _,
            ) => {
                self.ended(env, &call, outcome);
                self.coordinator_epoch.get_or_insert(0);
            }
            _ => {
                self.ended(env, &call, outcome);
                self.begin_anew(env);
            }
        }
    }
}
