//! What is around the members of a cluster: who leads what, the store that holds what was
//! committed, and the network between the members.
//!
//! The store takes a change only from the newest leader of its partition. Leadership may move
//! while the old leader still believes; who leads is told to each member in its own time.

use std::collections::BTreeMap;
use std::sync::Arc;

use verdict_core::batch::StoredBatch;
use verdict_core::cluster::{
    Change, ClusterInput, ConfirmId, Lead, Leader, Member, PeerError, PeerRequestId, PlacedTopic,
    Placement, SharedChange,
};
use verdict_core::io::ConnId;
use verdict_core::types::{
    CONSUMER_OFFSETS_TOPIC, PartitionId, TRANSACTION_STATE_TOPIC, TopicId, TopicName, partition_for,
};
use verdict_core::wire::{Request, Response};

use super::env::Env;
use super::names::api_name;
use super::queue::Happening;
use crate::choices::{Choices, Fault, Label};
use crate::clients::{SIDE_PARTS, SIDE_TOPIC, TOPIC};
use crate::history::{ClientId, Part};

/// How long a member waits for the answer of another, in microseconds.
const PEER_TIMEOUT_US: u64 = 1_000_000;
/// Producer ids that a member gets at once.
const PRODUCER_IDS: i64 = 20;
/// Connections between members are numbered from here on.
const FIRST_PEER_CONN: u64 = 1 << 40;

/// What a partition's committed log holds.
#[derive(Clone, Debug, Default)]
struct SharedLog {
    log_start: i64,
    log_end: i64,
    batches: Vec<StoredBatch>,
}

/// A request between members that is under way.
#[derive(Clone, Debug)]
struct Peer {
    from: usize,
    life: u32,
    id: PeerRequestId,
    to: usize,
    /// The sender waits no longer.
    given_up: bool,
}

/// The cluster as its members do not see it.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) size: usize,
    topics: Vec<PlacedTopic>,
    logs: BTreeMap<PartitionId, SharedLog>,
    /// By member: the epochs of what it was given in this life.
    given: Vec<BTreeMap<PartitionId, i32>>,
    /// By member: nothing on the way to the store, or back, arrives before these.
    on_the_way_us: Vec<(u64, u64)>,
    next_producer_id: i64,
    next_conn: u64,
    peers: BTreeMap<ConnId, Peer>,
    /// By member: what it was last told.
    told: Vec<BTreeMap<PartitionId, Leader>>,
    /// Until when a member hears nothing of a partition's new leader.
    hidden: BTreeMap<(usize, PartitionId), u64>,
    /// By member: when it will hear something next.
    next_tell_us: Vec<Option<u64>>,
    /// Until when what one member sends another is lost.
    cuts: BTreeMap<(usize, usize), u64>,
    /// Members that do not know WriteTxnMarkers v2.
    of_old: Vec<usize>,
    /// Which member a client takes for a partition's leader.
    routes: BTreeMap<(ClientId, PartitionId), usize>,
    internal_partitions: (i32, i32),
}

const fn id_of(topic: &PlacedTopic, partition: i32) -> PartitionId {
    PartitionId { topic_id: topic.id, partition }
}

/// The settings that a broker gives its internal topics.
fn configs_of(topic: &str) -> Vec<(String, String)> {
    let internal = [("cleanup.policy", "compact"), ("segment.bytes", "104857600")];
    let configs: &[_] = if matches!(topic, TRANSACTION_STATE_TOPIC | CONSUMER_OFFSETS_TOPIC) {
        &internal
    } else {
        &[]
    };
    configs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

impl Cluster {
    /// A cluster of so many members; partitions are led by one after the other, from `first` on.
    pub(super) fn new(
        size: usize,
        of_old: Vec<usize>,
        parts: Part,
        internal_partitions: (i32, i32),
        first: usize,
    ) -> Self {
        let (offsets, transactions) = internal_partitions;
        let mut next = first;
        let mut topic = |number: u128, name: &str, partitions: i32| PlacedTopic {
            name: TopicName::from(name),
            id: TopicId(0x7000 + number),
            configs: configs_of(name),
            leaders: (0..partitions)
                .map(|_| {
                    next += 1;
                    Leader { node: ((next - 1) % size) as i32 + 1, epoch: 0 }
                })
                .collect(),
        };
        let topics = vec![
            topic(1, TRANSACTION_STATE_TOPIC, transactions),
            topic(2, TOPIC, i32::from(parts)),
            topic(3, CONSUMER_OFFSETS_TOPIC, offsets),
            topic(4, SIDE_TOPIC, SIDE_PARTS),
        ];
        Self {
            size,
            topics,
            logs: BTreeMap::new(),
            given: vec![BTreeMap::new(); size],
            on_the_way_us: vec![(0, 0); size],
            next_producer_id: 0,
            next_conn: FIRST_PEER_CONN,
            peers: BTreeMap::new(),
            told: vec![BTreeMap::new(); size],
            hidden: BTreeMap::new(),
            next_tell_us: vec![None; size],
            cuts: BTreeMap::new(),
            of_old,
            routes: BTreeMap::new(),
            internal_partitions,
        }
    }

    fn leader_mut(&mut self, id: PartitionId) -> Option<&mut Leader> {
        let topic = self.topics.iter_mut().find(|topic| topic.id == id.topic_id)?;
        topic.leaders.get_mut(usize::try_from(id.partition).ok()?)
    }

    fn partition_named(&self, topic: &str, partition: i32) -> Option<PartitionId> {
        let topic = self.topics.iter().find(|known| known.name.as_str() == topic)?;
        (usize::try_from(partition).ok()? < topic.leaders.len()).then(|| id_of(topic, partition))
    }

    fn placement(&mut self, broker: usize, now_us: u64) -> Placement {
        let mut topics = self.topics.clone();
        for topic in &mut topics {
            for (partition, leader) in (0..).zip(&mut topic.leaders) {
                let id = PartitionId { topic_id: topic.id, partition };
                let hidden = self.hidden.get(&(broker, id)).is_some_and(|&until| until > now_us);
                if hidden
                    && leader.node != broker as i32 + 1
                    && let Some(&old) = self.told[broker].get(&id)
                {
                    *leader = old;
                }
                self.told[broker].insert(id, *leader);
            }
        }
        let members = (0..self.size)
            .map(|at| Member { id: at as i32 + 1, host: format!("b{at}"), port: 9092 + at as i32 })
            .collect();
        Placement { members, topics }
    }

    /// All partitions, with their leaders.
    fn led(&self) -> Vec<(PartitionId, Leader)> {
        let of_topic = |topic: &PlacedTopic| {
            let id = topic.id;
            let leaders = (0..).zip(topic.leaders.clone());
            leaders
                .map(move |(partition, leader)| (PartitionId { topic_id: id, partition }, leader))
        };
        self.topics.iter().flat_map(of_topic).collect()
    }

    /// What a member is to be told now.
    pub(super) fn news_for(
        &mut self,
        broker: usize,
        now_us: u64,
        again: bool,
    ) -> Vec<ClusterInput> {
        self.next_tell_us[broker] = None;
        let mut news = vec![ClusterInput::Placement(Arc::new(self.placement(broker, now_us)))];
        for (partition, leader) in self.led() {
            let given = self.given[broker].get(&partition);
            let known = given.is_some_and(|&at| at >= leader.epoch) && !again;
            if leader.node != broker as i32 + 1 || known {
                continue;
            }
            self.given[broker].insert(partition, leader.epoch);
            let log = self.logs.entry(partition).or_default();
            news.push(ClusterInput::Lead(Lead {
                partition,
                epoch: leader.epoch,
                log_start: log.log_start,
                batches: log.batches.clone(),
            }));
        }
        news
    }

    /// The store is asked to take what a turn changed; the partitions whose changes it refused.
    fn commit(&mut self, broker: usize, changes: Vec<SharedChange>) -> Vec<PartitionId> {
        let mut fenced = Vec::new();
        for SharedChange { partition, epoch, what } in changes {
            let Some(leader) = self.leader_mut(partition).copied() else { continue };
            if leader != (Leader { node: broker as i32 + 1, epoch }) {
                if !fenced.contains(&partition) {
                    fenced.push(partition);
                }
                continue;
            }
            let log = self.logs.entry(partition).or_default();
            match what {
                Change::Append(batch) => {
                    assert_eq!(
                        batch.base_offset(),
                        log.log_end,
                        "b{broker} commits a batch of {partition:?} that leaves a hole, or is there"
                    );
                    log.log_end = batch.last_offset() + 1;
                    log.batches.push(batch);
                }
                Change::LogStart(offset) => log.log_start = log.log_start.max(offset),
            }
        }
        fenced
    }

    /// The partition whose leader a request is for; `None` when any member will do.
    fn target(&self, request: &Request) -> Option<PartitionId> {
        let (offsets, transactions) = self.internal_partitions;
        let txn = |id: &str| {
            self.partition_named(TRANSACTION_STATE_TOPIC, partition_for(id, transactions))
        };
        let group =
            |id: &str| self.partition_named(CONSUMER_OFFSETS_TOPIC, partition_for(id, offsets));
        match request {
            Request::Produce(produce) => {
                let topic = produce.topics.first()?;
                self.partition_named(topic.name.as_str(), topic.partitions.first()?.0)
            }
            Request::Fetch(fetch) => {
                let topic = fetch.topics.first()?;
                self.partition_named(topic.topic.as_str(), topic.partitions.first()?.partition)
            }
            Request::ListOffsets(list) => {
                let topic = list.topics.first()?;
                let part = topic.partitions.first()?.partition_index;
                self.partition_named(topic.name.as_str(), part)
            }
            Request::DeleteRecords(delete) => {
                let topic = delete.topics.first()?;
                let part = topic.partitions.first()?.partition_index;
                self.partition_named(topic.name.as_str(), part)
            }
            Request::WriteTxnMarkers(markers) => {
                let topic = markers.markers.first()?.topics.first()?;
                self.partition_named(topic.name.as_str(), *topic.partition_indexes.first()?)
            }
            Request::InitProducerId(init) => txn(init.transactional_id.as_ref()?.as_str()),
            Request::AddPartitionsToTxn(add) => txn(add.v3_and_below_transactional_id.as_str()),
            Request::AddOffsetsToTxn(add) => txn(add.transactional_id.as_str()),
            Request::EndTxn(end) => txn(end.transactional_id.as_str()),
            Request::TxnOffsetCommit(commit) => group(commit.group_id.as_str()),
            Request::OffsetCommit(commit) => group(commit.group_id.as_str()),
            Request::OffsetFetch(fetch) => group(fetch.groups.first()?.group_id.as_str()),
            _ => None,
        }
    }

    /// Where a client sends a request: to whom it last heard leads, until that fails.
    pub(super) fn route(&mut self, client: ClientId, request: &Request) -> usize {
        let Some(id) = self.target(request) else { return usize::from(client) % self.size };
        if let Some(&known) = self.routes.get(&(client, id)) {
            return known;
        }
        let leader = self.leader_mut(id).map_or(0, |leader| leader.node as usize - 1);
        self.routes.insert((client, id), leader);
        leader
    }

    /// A client asks anew who leads what it takes this member to lead.
    pub(super) fn forget_routes(&mut self, client: ClientId, broker: usize) {
        self.routes.retain(|(of, _), to| *of != client || *to != broker);
    }
}

/// What happens between members; all of it does nothing in a world of one node.
impl Env {
    fn cluster_mut(&mut self) -> &mut Cluster {
        self.cluster.as_mut().expect("only members ask for what a cluster does")
    }

    /// A member asks the store to commit.
    pub(super) fn confirm(
        &mut self,
        (broker, life): (usize, u32),
        id: ConfirmId,
        changes: Vec<SharedChange>,
    ) {
        let mut travel = self.choices.between(Label::Latency, 50, 500);
        if self.choices.chance(Label::ConfirmDelayed, self.profile.rate(Fault::ConfirmDelayed)) {
            travel += self.choices.between(Label::ConfirmFate, 10_000, 2_000_000);
        }
        let now_us = self.now_us;
        let on_the_way = &mut self.cluster_mut().on_the_way_us[broker].0;
        let at = (now_us + travel).max(*on_the_way + 1);
        *on_the_way = at;
        self.queue.push(at, Happening::Confirm { broker, life, id, changes });
    }

    /// That has reached the store, whether or not the member still lives.
    pub(super) fn commit(
        &mut self,
        (broker, life): (usize, u32),
        id: ConfirmId,
        changes: Vec<SharedChange>,
    ) {
        let fenced = self.cluster_mut().commit(broker, changes);
        let travel = self.choices.between(Label::Latency, 50, 500);
        let now_us = self.now_us;
        let on_the_way = &mut self.cluster_mut().on_the_way_us[broker].1;
        let at = (now_us + travel).max(*on_the_way + 1);
        *on_the_way = at;
        let input = Box::new(ClusterInput::Confirmed { id, fenced });
        self.queue.push(at, Happening::News { broker, life, input });
    }

    /// A member wants producer ids.
    pub(super) fn give_producer_ids(&mut self, broker: usize, life: u32) {
        let at = self.now_us + self.choices.between(Label::Latency, 50, 1_000);
        let first = self.cluster_mut().next_producer_id;
        self.cluster_mut().next_producer_id += PRODUCER_IDS;
        let input = Box::new(ClusterInput::ProducerIds { first, count: PRODUCER_IDS });
        self.queue.push(at, Happening::News { broker, life, input });
    }

    /// A partition gets a new leader; the old one, and the others, hear of it in their own time.
    pub(super) fn move_leader(&mut self, id: PartitionId, to: usize) {
        let Some(leader) = self.cluster_mut().leader_mut(id) else { return };
        let old = leader.node as usize - 1;
        *leader = Leader { node: to as i32 + 1, epoch: leader.epoch + 1 };
        let epoch = leader.epoch;
        let now_us = self.now_us;
        if self.trace.wants_lines() {
            let text = format!("{id:?} moves from b{old} to b{to} at epoch {epoch}");
            self.trace.line(now_us, "world", &text);
        }
        self.tell(to);
        for other in (0..self.cluster_mut().size).filter(|other| *other != to) {
            if self.choices.chance(Label::NewsLate, self.profile.rate(Fault::NewsLate)) {
                let until = now_us + self.choices.between(Label::News, 100_000, 6_000_000);
                self.cluster_mut().hidden.insert((other, id), until);
                self.queue.push(until, Happening::Tell { broker: other });
            } else {
                self.tell(other);
            }
        }
    }

    /// A member will hear who leads what.
    fn tell(&mut self, broker: usize) {
        let at = self.now_us + self.choices.between(Label::News, 100, 10_000);
        let planned = &mut self.cluster_mut().next_tell_us[broker];
        if planned.is_none_or(|planned| planned > at) {
            *planned = Some(at);
            self.queue.push(at, Happening::Tell { broker });
        }
    }

    /// Nothing is kept from anybody any more.
    pub(super) fn heal_cluster(&mut self) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.hidden.clear();
        cluster.cuts.clear();
        for broker in 0..cluster.size {
            cluster.next_tell_us[broker] = None;
            self.queue.push(self.now_us, Happening::Tell { broker });
        }
    }

    /// A random partition moves to a random member.
    pub(super) fn move_something(&mut self) {
        let led = self.cluster_mut().led();
        let size = self.cluster_mut().size as u32;
        // Coordinators' partitions come up as often as all others together.
        let internal = self.choices.below(Label::Move, 2) == 0;
        let (_, transactions) = self.cluster_mut().internal_partitions;
        let among = if internal { &led[..transactions as usize] } else { &led[..] };
        let (id, _) = among[self.choices.below(Label::Move, among.len() as u32) as usize];
        let to = self.choices.below(Label::Move, size) as usize;
        self.move_leader(id, to);
    }

    /// A named partition moves; the other members hear of it so much later.
    pub(super) fn move_named(&mut self, topic: &str, partition: i32, to: usize, late_us: u64) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(id) = cluster.partition_named(topic, partition) else { return };
        let until = self.now_us + late_us;
        for other in (0..cluster.size).filter(|other| late_us > 0 && *other != to) {
            cluster.hidden.insert((other, id), until);
            self.queue.push(until, Happening::Tell { broker: other });
        }
        self.move_leader(id, to);
    }

    /// A member is there again: what it led, it leads at a new epoch.
    pub(super) fn member_is_ready(&mut self, broker: usize) {
        if self.cluster.is_none() {
            return;
        }
        self.cluster_mut().given[broker].clear();
        self.cluster_mut().told[broker].clear();
        self.cluster_mut().next_tell_us[broker] = None;
        let moves =
            self.choices.chance(Label::LeaderMoves, self.profile.rate(Fault::LeaderMoves) * 20);
        for (id, leader) in self.cluster_mut().led() {
            if leader.node == broker as i32 + 1 {
                let size = self.cluster_mut().size as u32;
                let to =
                    if moves { self.choices.below(Label::Move, size) as usize } else { broker };
                self.move_leader(id, to);
            }
        }
        self.tell(broker);
    }

    /// A member gives a partition up.
    pub(super) fn resigned(&mut self, broker: usize, id: PartitionId, epoch: i32) {
        let led = self.cluster_mut().leader_mut(id).copied();
        if led == Some(Leader { node: broker as i32 + 1, epoch }) {
            let size = self.cluster_mut().size as u32;
            let to = self.choices.below(Label::Move, size) as usize;
            self.move_leader(id, to);
        }
    }

    /// A member sends another a request. The network decides what becomes of it.
    pub(super) fn send_to_peer(
        &mut self,
        (from, life): (usize, u32),
        id: PeerRequestId,
        to: i32,
        version: i16,
        request: Box<Request>,
    ) {
        let to = to as usize - 1;
        let travel = self.choices.between(Label::Latency, 50, 1_000);
        let markers = matches!(&*request, Request::WriteTxnMarkers(_));
        if markers && version >= 2 && self.cluster_mut().of_old.contains(&to) {
            let result = Err(PeerError::UnsupportedVersion);
            let input = Box::new(ClusterInput::Answer { id, result });
            return self
                .queue
                .push(self.now_us + travel, Happening::News { broker: from, life, input });
        }
        let cluster = self.cluster_mut();
        let conn = ConnId(cluster.next_conn);
        cluster.next_conn += 1;
        cluster.peers.insert(conn, Peer { from, life, id, to, given_up: false });
        self.queue.push(self.now_us + PEER_TIMEOUT_US, Happening::PeerTimeout { conn });
        self.maybe_cut(from, to);
        let api = api_name(&request);
        let pinned = self.pins.request(&format!("peer {api}"), from as ClientId);
        let mut delay = if let Some(super::pins::Act::Delay(us)) = pinned { us } else { 0 };
        if pinned == Some(super::pins::Act::Drop) || self.is_cut(from, to) {
            return;
        }
        if self.choices.chance(Label::PeerDelayed, self.profile.rate(Fault::PeerDelayed)) {
            delay += self.choices.between(Label::PeerFate, 100_000, 4_000_000);
        }
        let at = self.now_us + travel + delay;
        let corr = 0;
        self.queue.push(at, Happening::Arrive { conn, corr, version, request });
    }

    /// Now and then the network between two members is cut for a while, one way or both.
    fn maybe_cut(&mut self, from: usize, to: usize) {
        if !self.choices.chance(Label::PeersCut, self.profile.rate(Fault::PeersCut)) {
            return;
        }
        let until = self.now_us + self.choices.between(Label::PeerFate, 100_000, 5_000_000);
        let ways: &[_] = match self.choices.below(Label::PeerFate, 3) {
            0 => &[(from, to)],
            1 => &[(to, from)],
            _ => &[(from, to), (to, from)],
        };
        for way in ways {
            self.cluster_mut().cuts.insert(*way, until);
        }
    }

    fn is_cut(&mut self, from: usize, to: usize) -> bool {
        let now_us = self.now_us;
        let until = self.cluster_mut().cuts.get(&(from, to)).copied();
        until.is_some_and(|until| until > now_us)
            || self.choices.chance(Label::PeerLost, self.profile.rate(Fault::PeerLost))
    }

    /// Both ends have forgotten a connection between members.
    pub(super) fn forget_peer(&mut self, conn: ConnId) {
        if let Some(cluster) = &mut self.cluster {
            cluster.peers.remove(&conn);
        }
    }

    /// The member a connection between members leads to.
    pub(super) fn peer_broker(&self, conn: ConnId) -> Option<usize> {
        self.cluster.as_ref()?.peers.get(&conn).map(|peer| peer.to)
    }

    /// Whether the sender of a request between members waits no longer; `None` for a client's.
    pub(super) fn peer_gave_up(&self, conn: ConnId) -> Option<bool> {
        self.cluster.as_ref()?.peers.get(&conn).map(|peer| peer.given_up)
    }

    /// A member answers another; `false` when the connection is a client's.
    pub(super) fn respond_to_peer(&mut self, conn: ConnId, api: &str, response: &Response) -> bool {
        let Some(cluster) = &self.cluster else { return false };
        let Some(peer) = cluster.peers.get(&conn).cloned() else { return false };
        let pinned = self.pins.response(&format!("peer {api}"), peer.from as ClientId);
        let lost = pinned == Some(super::pins::Act::Drop) || self.is_cut(peer.to, peer.from);
        if !lost {
            self.end_peer(conn, &Ok(response.clone()));
            self.queue.push(self.now_us + 1, Happening::ConnClosed { conn });
        }
        // Of a lost one the sender learns when it has waited long enough.
        true
    }

    /// A request between members ends without an answer; `false` when there is none.
    pub(super) fn break_peer(&mut self, conn: ConnId) -> bool {
        let is_peer = self.peer_broker(conn).is_some();
        if is_peer {
            self.end_peer(conn, &Err(PeerError::Disconnected));
        }
        is_peer
    }

    fn end_peer(&mut self, conn: ConnId, result: &Result<Response, PeerError>) {
        let Some(peer) = self.cluster_mut().peers.get_mut(&conn) else { return };
        if std::mem::replace(&mut peer.given_up, true) {
            return;
        }
        let (broker, life, id) = (peer.from, peer.life, peer.id);
        let mut at = self.now_us + self.choices.between(Label::Latency, 50, 1_000);
        if self.choices.chance(Label::PeerSlow, self.profile.rate(Fault::PeerSlow)) {
            at += self.choices.between(Label::PeerFate, 1_000, 80_000);
        }
        let input = Box::new(ClusterInput::Answer { id, result: result.clone() });
        self.queue.push(at, Happening::News { broker, life, input });
    }
}
