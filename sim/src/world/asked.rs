//! What clients ask of transaction coordinators, and are answered, written into the history.
//!
//! Not in a world that forgets transactional ids, where an observer cannot know what the coordinator
//! knows. In one of several brokers a coordinator that is none any more may answer what was: such
//! answers are marked.

use std::collections::{BTreeMap, BTreeSet};

use kacrab_protocol::generated::{EndTxnResponseData, InitProducerIdResponseData};
use verdict_core::io::ConnId;
use verdict_core::types::PartitionId;
use verdict_core::wire::{Request, Response};

use super::Env;
use crate::clients::{TOPIC, code_of};
use crate::disk::AgedEpochs;
use crate::history::{ClientId, Event, Part, TxnAsk};

/// The transactional ids, and the requests about them that are out.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    ids: BTreeMap<String, u32>,
    /// Noted and not answered yet.
    out: BTreeSet<(ConnId, u32)>,
    /// Handed to the node that lives, and not answered with success; in a cluster with the
    /// partition whose leader coordinates the id, and without what another member is asked for.
    begun: BTreeMap<(ConnId, u32), Option<PartitionId>>,
}

/// Numbers of attempts: those of a connection are told apart by their correlation id.
const fn number(conn: ConnId, corr: u32) -> u64 {
    (conn.0 << 32) | corr as u64
}

/// The transactional id of a request, its producer id and epoch, and what it asks.
fn about(request: &Request, version: i16) -> Option<(&str, i64, i16, TxnAsk)> {
    Some(match request {
        Request::InitProducerId(init) => {
            let ask = TxnAsk::Init { timeout_ms: init.transaction_timeout_ms };
            let id = init.transactional_id.as_ref()?.as_str();
            (id, init.producer_id, init.producer_epoch, ask)
        }
        Request::AddPartitionsToTxn(add) if version < 4 => {
            let topics =
                add.v3_and_below_topics.iter().filter(|topic| topic.name.as_str() == TOPIC);
            let parts = topics.flat_map(|topic| topic.partitions.iter().map(|&part| part as Part));
            let ask = TxnAsk::AddPartitions { parts: parts.collect() };
            let id = add.v3_and_below_transactional_id.as_str();
            (id, add.v3_and_below_producer_id, add.v3_and_below_producer_epoch, ask)
        }
        Request::AddOffsetsToTxn(add) => {
            let ask = TxnAsk::AddOffsets { group: group_number(add.group_id.as_str())? };
            (add.transactional_id.as_str(), add.producer_id, add.producer_epoch, ask)
        }
        Request::EndTxn(end) => {
            let ask = TxnAsk::End { commit: end.committed, bumps: version >= 5 };
            (end.transactional_id.as_str(), end.producer_id, end.producer_epoch, ask)
        }
        Request::Produce(produce) => {
            let id = produce.transactional_id.as_ref()?.as_str();
            let topic = produce.topics.first()?;
            let (part, records) = topic.partitions.first()?;
            let header = records.header()?;
            let part = (topic.name.as_str() == TOPIC).then_some(*part as Part);
            let ask = TxnAsk::Produce { part, adds: version >= 12 };
            (id, header.producer_id, header.producer_epoch, ask)
        }
        Request::TxnOffsetCommit(commit) => {
            let group = group_number(commit.group_id.as_str())?;
            let ask = TxnAsk::CommitOffsets { group, adds: version >= 5 };
            (commit.transactional_id.as_str(), commit.producer_id, commit.producer_epoch, ask)
        }
        _ => return None,
    })
}

fn group_number(name: &str) -> Option<u16> {
    name.strip_prefix('g')?.parse().ok()
}

impl Env {
    /// The same, where these are the transactional ids, with their numbers.
    pub(super) fn with_ids(mut self, ids: impl Iterator<Item = (String, u32)>) -> Self {
        self.asked.ids = ids.collect();
        self
    }

    /// Writes down that an attempt was sent, or is under way `beside` those the client knows.
    pub(super) fn note_request(
        &mut self,
        (client, conn, corr): (ClientId, ConnId, u32),
        version: i16,
        request: &Request,
        beside: bool,
    ) {
        if self.forgets_ids() {
            return;
        }
        let Some((id, pid, epoch, ask)) = about(request, version) else { return };
        let Some(&id) = self.asked.ids.get(id) else { return };
        self.asked.out.insert((conn, corr));
        let request = number(conn, corr);
        let conn = if beside { 0 } else { conn.0 };
        let event = Event::TxnAsked { request, conn, id, pid, epoch, ask };
        self.history.push(self.now_us, client, event);
    }

    /// An attempt never arrived.
    pub(super) fn note_lost(&mut self, conn: ConnId, corr: u32) {
        if self.asked.out.remove(&(conn, corr)) {
            let (request, arrived) = (number(conn, corr), false);
            self.history.push(self.now_us, 0, Event::TxnSettled { request, arrived });
        }
    }

    /// The node begins with an attempt.
    pub(super) fn note_begun(&mut self, broker: usize, at: (ConnId, u32), request: &Request) {
        let coordinated = self.begins_with(broker, at, request);
        let counts = coordinated.is_some() || !self.is_cluster();
        if counts && self.asked.out.contains(&at) {
            self.asked.begun.insert(at, coordinated);
        }
    }

    /// The node died: what it had begun with was done by now, or never will be. In a cluster what
    /// it wants committed may be under way still.
    pub(super) fn note_death(&mut self) {
        if !self.is_cluster() {
            self.settle(|_| true);
        }
    }

    /// Another coordinator begins: what the one before had begun with was done by now, or never
    /// will be. Its wall clock may be another one.
    pub(super) fn note_moved(&mut self, id: PartitionId) {
        self.settle(|coordinated| coordinated == Some(id));
        if self.clocks_differ && self.coordinates_ids(id) {
            self.history.push(self.now_us, 0, Event::ClockJumped);
        }
    }

    fn settle(&mut self, is_over: impl Fn(Option<PartitionId>) -> bool) {
        let begun = core::mem::take(&mut self.asked.begun).into_iter();
        let (over, left): (BTreeMap<_, _>, _) = begun.partition(|(_, of)| is_over(*of));
        self.asked.begun = left;
        for (conn, corr) in over.into_keys() {
            let (request, arrived) = (number(conn, corr), true);
            self.history.push(self.now_us, 0, Event::TxnSettled { request, arrived });
        }
    }

    /// Writes down which epochs were moved.
    pub(super) fn note_aged(&mut self, aged: AgedEpochs) {
        self.has_aged_epochs = true;
        for (id, moved) in aged {
            if let (Some(&id), Some((pid, epoch))) = (self.asked.ids.get(&id), moved) {
                self.history.push(self.now_us, 0, Event::EpochMoved { id, pid, epoch });
            }
        }
    }

    /// Writes down that the level of transaction.version may be this one from now on.
    pub fn note_level(&mut self, level: i16) {
        self.history.push(self.now_us, 0, Event::Level { level });
    }

    /// Writes down an answer to such an attempt.
    pub(super) fn note_answer(
        &mut self,
        client: ClientId,
        conn: ConnId,
        corr: u32,
        response: &Response,
    ) {
        if !self.asked.out.remove(&(conn, corr)) {
            return;
        }
        let (pid, epoch) = match response {
            Response::InitProducerId(InitProducerIdResponseData {
                producer_id,
                producer_epoch,
                ..
            })
            | Response::EndTxn(EndTxnResponseData { producer_id, producer_epoch, .. }) => {
                (*producer_id, *producer_epoch)
            }
            _ => (-1, -1),
        };
        let (request, code) = (number(conn, corr), code_of(response));
        if code == 0 {
            self.asked.begun.remove(&(conn, corr));
        }
        let of_old = self.is_answered_by_old();
        let answered = Event::TxnAnswered { request, code, pid, epoch, of_old };
        self.history.push(self.now_us, client, answered);
    }
}
