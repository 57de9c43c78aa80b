//! How clients find out who leads: they ask any member (Metadata for partitions, FindCoordinator
//! for ids and groups) and believe the answer until it fails them.

use std::collections::BTreeMap;

use verdict_core::io::ConnId;
use verdict_core::types::PartitionId;
use verdict_core::wire::{Request, Response};

use super::{GROUP, TRANSACTIONAL_ID};
use crate::choices::{Choices, Label};
use crate::clients::{find_coordinator, metadata};
use crate::history::ClientId;
use crate::world::env::Env;

/// How long a client waits for somebody to tell it who leads, in microseconds.
const PATIENCE_US: u64 = 500_000;
/// How long it waits before it asks again.
const BACKOFF_US: u64 = 30_000;

/// A question that is under way, or that is not to be asked again before a point of time.
#[derive(Clone, Copy, Debug)]
struct Asked {
    conn: Option<ConnId>,
    until_us: u64,
}

/// What clients believe.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    /// Whether they ask; else the world tells them.
    asks: bool,
    known: BTreeMap<(ClientId, PartitionId), usize>,
    asked: BTreeMap<(ClientId, PartitionId), Asked>,
}

impl Routes {
    pub(super) fn new(asks: bool) -> Self {
        Self { asks, ..Self::default() }
    }

    fn of_conn(&self, conn: ConnId) -> Option<(ClientId, PartitionId)> {
        self.asked.iter().find(|(_, asked)| asked.conn == Some(conn)).map(|(key, _)| *key)
    }
}

/// What of an answer says who leads.
fn leader_in(response: &Response, partition: i32) -> Option<i32> {
    let (code, node) = match response {
        Response::FindCoordinator(data) => {
            let found = data.coordinators.first()?;
            (found.error_code, found.node_id)
        }
        Response::Metadata(data) => {
            let partitions = &data.topics.first()?.partitions;
            let found = partitions.iter().find(|found| found.partition_index == partition)?;
            (found.error_code, found.leader_id)
        }
        _ => return None,
    };
    (code == 0 && node > 0).then_some(node)
}

/// The transactional id (1) or group (0) whose coordinator a request is for.
pub(super) fn coordinated(request: &Request) -> Option<(i8, &str)> {
    Some(match request {
        Request::InitProducerId(init) => {
            (TRANSACTIONAL_ID, init.transactional_id.as_ref()?.as_str())
        }
        Request::AddPartitionsToTxn(add) => {
            (TRANSACTIONAL_ID, add.v3_and_below_transactional_id.as_str())
        }
        Request::AddOffsetsToTxn(add) => (TRANSACTIONAL_ID, add.transactional_id.as_str()),
        Request::EndTxn(end) => (TRANSACTIONAL_ID, end.transactional_id.as_str()),
        Request::TxnOffsetCommit(commit) => (GROUP, commit.group_id.as_str()),
        Request::OffsetCommit(commit) => (GROUP, commit.group_id.as_str()),
        Request::OffsetFetch(fetch) => (GROUP, fetch.groups.first()?.group_id.as_str()),
        Request::JoinGroup(join) => (GROUP, join.group_id.as_str()),
        Request::SyncGroup(sync) => (GROUP, sync.group_id.as_str()),
        Request::Heartbeat(beat) => (GROUP, beat.group_id.as_str()),
        Request::LeaveGroup(leave) => (GROUP, leave.group_id.as_str()),
        Request::ConsumerGroupHeartbeat(beat) => (GROUP, beat.group_id.as_str()),
        Request::ConsumerGroupDescribe(describe) => (GROUP, describe.group_ids.first()?.as_str()),
        _ => return None,
    })
}

impl Env {
    /// The broker that a client sends a request to; `None` when it has to ask first, and will be
    /// woken.
    pub(crate) fn route(&mut self, client: ClientId, request: &Request) -> Option<usize> {
        let Some(cluster) = &self.cluster else { return Some(0) };
        let Some(id) = cluster.target(request) else {
            return Some(usize::from(client) % cluster.size);
        };
        if let Some(&known) = cluster.routes.known.get(&(client, id)) {
            return Some(known);
        }
        if cluster.routes.asks {
            self.ask_who_leads(client, id, request);
            return None;
        }
        let leader = self.leader_now(id);
        self.cluster.as_mut()?.routes.known.insert((client, id), leader);
        Some(leader)
    }

    /// Who leads in truth.
    fn leader_now(&self, id: PartitionId) -> usize {
        let leader = self.cluster.as_ref().and_then(|cluster| cluster.leader(id));
        leader.map_or(0, |leader| leader.node as usize - 1)
    }

    /// The same, for a sender that does not wait.
    pub(in crate::world) fn route_now(&mut self, client: ClientId, request: &Request) -> usize {
        let Some(cluster) = &self.cluster else { return 0 };
        let Some(id) = cluster.target(request) else { return usize::from(client) % cluster.size };
        let known = cluster.routes.known.get(&(client, id)).copied();
        known.unwrap_or_else(|| self.leader_now(id))
    }

    /// What a client takes a broker for was wrong, or the broker does not answer.
    pub(crate) fn forget_routes(&mut self, client: ClientId, broker: usize) {
        if let Some(cluster) = &mut self.cluster {
            cluster.routes.known.retain(|(of, _), to| *of != client || *to != broker);
        }
    }

    /// The broker that a request would go to may be the wrong one.
    pub(crate) fn doubt_route(&mut self, client: ClientId, request: &Request) {
        if self.cluster.is_some() {
            let broker = self.route_now(client, request);
            self.forget_routes(client, broker);
        }
    }

    fn ask_who_leads(&mut self, client: ClientId, id: PartitionId, request: &Request) {
        let now_us = self.now_us;
        let Some(cluster) = &self.cluster else { return };
        if let Some(asked) = cluster.routes.asked.get(&(client, id)).copied() {
            if asked.until_us > now_us {
                // It is woken then.
                return;
            }
            if let Some(conn) = asked.conn {
                self.close(conn);
            }
        }
        let Some(cluster) = &self.cluster else { return };
        let (size, topic) = (cluster.size as u32, cluster.topic_of(id));
        let (version, question) = match coordinated(request) {
            Some((kind, key)) => (4, find_coordinator(key, kind)),
            None => (12, metadata(topic)),
        };
        let broker = self.choices.of(client).below(Label::Asked, size) as usize;
        let conn = self.connect(client, broker);
        let asked = Asked { conn: Some(conn), until_us: now_us + PATIENCE_US };
        if let Some(cluster) = &mut self.cluster {
            cluster.routes.asked.insert((client, id), asked);
        }
        self.send(conn, 0, version, question);
        self.wake(client, asked.until_us);
    }

    /// Whether an answer told a client who leads; it may go on.
    pub(in crate::world) fn was_told_who_leads(
        &mut self,
        conn: ConnId,
        response: &Response,
    ) -> bool {
        let Some(cluster) = &mut self.cluster else { return false };
        let Some(key) = cluster.routes.of_conn(conn) else { return false };
        if let Some(node) = leader_in(response, key.1.partition) {
            cluster.routes.asked.remove(&key);
            cluster.routes.known.insert(key, node as usize - 1);
            self.wake(key.0, self.now_us);
        } else {
            self.asks_later(key);
        }
        self.close(conn);
        true
    }

    /// Whether a connection that is gone was for such a question.
    pub(in crate::world) fn was_asking(&mut self, conn: ConnId) -> bool {
        let asking = self.cluster.as_ref().and_then(|cluster| cluster.routes.of_conn(conn));
        if let Some(key) = asking {
            self.asks_later(key);
        }
        asking.is_some()
    }

    fn asks_later(&mut self, key: (ClientId, PartitionId)) {
        let until_us = self.now_us + BACKOFF_US;
        if let Some(cluster) = &mut self.cluster {
            cluster.routes.asked.insert(key, Asked { conn: None, until_us });
        }
        self.wake(key.0, until_us);
    }
}
