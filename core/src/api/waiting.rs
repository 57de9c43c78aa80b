//! Requests that wait, by their id.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::add_partitions::PendingAddPartitions;
use super::changes::PendingChange;
use super::delete_records::PendingDeleteRecords;
use super::fetch::PendingFetch;
use super::groups::PendingGroup;
use super::list_offsets::PendingListOffsets;
use super::offsets::PendingCommit;
use super::produce::PendingProduce;
use super::topics::{PendingCreateTopics, PendingDeleteTopics};
use super::transactions::PendingTransaction;
use super::txn_offsets::PendingTxnOffsets;
use super::write_txn_markers::PendingMarkers;
use crate::io::{ConnId, RequestId};
use crate::node::{Loading, Node};
use crate::txn::VerifyId;
use crate::types::{Offset, PartitionId};

/// What a waiting request waits with.
#[derive(Clone, Debug)]
pub(crate) enum Pending {
    Produce(PendingProduce),
    Fetch(PendingFetch),
    ListOffsets(PendingListOffsets),
    Transaction(PendingTransaction),
    AddPartitions(PendingAddPartitions),
    Commit(PendingCommit),
    TxnOffsets(PendingTxnOffsets),
    Markers(PendingMarkers),
    DeleteRecords(PendingDeleteRecords),
    CreateTopics(PendingCreateTopics),
    DeleteTopics(PendingDeleteTopics),
    Group(PendingGroup),
    Change(Box<PendingChange>),
}

/// What a read of stored bytes is for.
#[derive(Clone, Debug)]
pub(crate) enum ReadPurpose {
    /// A coordinator or the metadata image loads its log.
    Load { loading: Loading, id: PartitionId, next: Offset },
    /// One partition of a Fetch.
    Fetch { request: RequestId, topic: usize, partition: usize },
    /// One partition of a ListOffsets by timestamp.
    ListOffsets { request: RequestId, part: usize },
}

/// All waiting requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    requests: BTreeMap<RequestId, (ConnId, Pending)>,
    connections: BTreeSet<(ConnId, RequestId)>,
    verifications: BTreeMap<VerifyId, RequestId>,
    /// Produces that met a transaction of this id while it was ending.
    concurrent: BTreeMap<String, BTreeSet<RequestId>>,
    /// Fetches that wait for a partition to move.
    watchers: BTreeSet<(PartitionId, RequestId)>,
    /// Where open connections come from, as far as the driver has said.
    hosts: BTreeMap<ConnId, Arc<str>>,
}

impl Waiting {
    pub(crate) fn insert(&mut self, conn: ConnId, id: RequestId, pending: Pending) {
        self.connections.insert((conn, id));
        self.requests.insert(id, (conn, pending));
    }

    pub(crate) fn get(&self, id: RequestId) -> Option<&Pending> {
        self.requests.get(&id).map(|(_, pending)| pending)
    }

    pub(crate) fn get_mut(&mut self, id: RequestId) -> Option<&mut Pending> {
        self.requests.get_mut(&id).map(|(_, pending)| pending)
    }

    pub(crate) fn take(&mut self, id: RequestId) -> Option<Pending> {
        let (conn, pending) = self.requests.remove(&id)?;
        self.connections.remove(&(conn, id));
        Some(pending)
    }

    pub(crate) fn of_connection(&self, conn: ConnId) -> Vec<RequestId> {
        let all = (conn, RequestId(0))..=(conn, RequestId(u64::MAX));
        self.connections.range(all).map(|(_, id)| *id).collect()
    }

    pub(crate) fn set_host(&mut self, conn: ConnId, host: Arc<str>) {
        self.hosts.insert(conn, host);
    }

    pub(crate) fn forget_host(&mut self, conn: ConnId) {
        self.hosts.remove(&conn);
    }

    /// Where a connection comes from, as Kafka writes it; "" when nobody has said.
    pub(crate) fn host(&self, conn: ConnId) -> Arc<str> {
        self.hosts.get(&conn).cloned().unwrap_or_else(|| Arc::from(""))
    }

    /// Lets a request wait for the coordinator's answer.
    pub(crate) fn verify(&mut self, verify: VerifyId, id: RequestId) {
        self.verifications.insert(verify, id);
    }

    pub(crate) fn verified(&mut self, verify: VerifyId) -> Option<RequestId> {
        self.verifications.remove(&verify)
    }

    pub(crate) fn concurrent_insert(&mut self, transactional_id: String, id: RequestId) {
        self.concurrent.entry(transactional_id).or_default().insert(id);
    }

    pub(crate) fn concurrent_remove(&mut self, transactional_id: &str, id: RequestId) {
        if let Some(waiting) = self.concurrent.get_mut(transactional_id) {
            waiting.remove(&id);
            if waiting.is_empty() {
                self.concurrent.remove(transactional_id);
            }
        }
    }

    pub(crate) fn concurrent_take(&mut self, transactional_id: &str) -> BTreeSet<RequestId> {
        self.concurrent.remove(transactional_id).unwrap_or_default()
    }

    pub(crate) fn watch(&mut self, partition: PartitionId, id: RequestId) {
        self.watchers.insert((partition, id));
    }

    pub(crate) fn unwatch(&mut self, partition: PartitionId, id: RequestId) {
        self.watchers.remove(&(partition, id));
    }

    pub(crate) fn watchers_of(&self, partition: PartitionId) -> Vec<RequestId> {
        let all = (partition, RequestId(0))..=(partition, RequestId(u64::MAX));
        self.watchers.range(all).map(|(_, id)| *id).collect()
    }
}

/// Lets go of what a dropped request holds elsewhere.
pub(super) fn cancel(node: &mut Node, id: RequestId, pending: &Pending) {
    match pending {
        Pending::Fetch(fetch) => super::fetch::cancel(node, id, fetch),
        Pending::Produce(produce) => super::produce::cancel(node, id, produce),
        _ => {}
    }
}
