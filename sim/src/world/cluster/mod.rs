//! What is around the members of a cluster: who leads what, the store that holds what was
//! committed, and the network between the members.
//!
//! The store takes a change only from the newest leader of its partition. Leadership may move
//! while the old leader still believes ([`moves`]); who leads is told to each member in its own
//! time, and to clients by the members they ask ([`routes`]). What an old leader answers is told
//! from what a leader answers ([`answers`]), for oracles and not for clients.

mod aging;
mod answers;
mod moves;
mod peers;
mod routes;

use std::collections::BTreeMap;
use std::sync::Arc;

use verdict_core::batch::StoredBatch;
use verdict_core::cluster::{
    Change, ClusterInput, ConfirmId, Lead, Leader, Member, PeerRequestId, PlacedTopic, Placement,
    SharedChange,
};
use verdict_core::io::ConnId;
use verdict_core::types::{
    CONSUMER_OFFSETS_TOPIC, PartitionId, TRANSACTION_STATE_TOPIC, TopicId, TopicName, partition_for,
};
use verdict_core::wire::Request;

use self::answers::Answering;
use self::routes::{Routes, coordinated};
use super::env::Env;
use super::queue::Happening;
use crate::choices::{Choices, Fault, Label};
use crate::clients::{SIDE_PARTS, SIDE_TOPIC, TOPIC};
use crate::history::Part;

/// How long a member waits for the answer of another, in microseconds.
const PEER_TIMEOUT_US: u64 = 1_000_000;
/// Producer ids that a member gets at once.
const PRODUCER_IDS: i64 = 20;
/// Connections between members are numbered from here on.
const FIRST_PEER_CONN: u64 = 1 << 40;
/// The kind of key of a group, and of a transactional id, as FindCoordinator numbers them.
const GROUP: i8 = 0;
const TRANSACTIONAL_ID: i8 = 1;

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
    routes: Routes,
    answering: Answering,
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
            routes: Routes::default(),
            answering: Answering::new(size),
            internal_partitions,
        }
    }

    /// The same, whose clients ask its members who leads.
    pub(super) fn asked_by_clients(mut self, asks: bool) -> Self {
        self.routes = Routes::new(asks);
        self
    }

    fn leader(&self, id: PartitionId) -> Option<Leader> {
        let topic = self.topics.iter().find(|topic| topic.id == id.topic_id)?;
        topic.leaders.get(usize::try_from(id.partition).ok()?).copied()
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
        if let Some((kind, key)) = coordinated(request) {
            return self.coordinated_by(kind, key);
        }
        let (topic, partition) = match request {
            Request::Produce(produce) => {
                let topic = produce.topics.first()?;
                (topic.name.as_str(), topic.partitions.first()?.0)
            }
            Request::Fetch(fetch) => {
                let topic = fetch.topics.first()?;
                (topic.topic.as_str(), topic.partitions.first()?.partition)
            }
            Request::ListOffsets(list) => {
                let topic = list.topics.first()?;
                (topic.name.as_str(), topic.partitions.first()?.partition_index)
            }
            Request::OffsetForLeaderEpoch(asked) => {
                let topic = asked.topics.first()?;
                (topic.topic.as_str(), topic.partitions.first()?.partition)
            }
            Request::DeleteRecords(delete) => {
                let topic = delete.topics.first()?;
                (topic.name.as_str(), topic.partitions.first()?.partition_index)
            }
            Request::WriteTxnMarkers(markers) => {
                let topic = markers.markers.first()?.topics.first()?;
                (topic.name.as_str(), *topic.partition_indexes.first()?)
            }
            _ => return None,
        };
        self.partition_named(topic, partition)
    }

    /// The partition whose leader coordinates a group or a transactional id.
    fn coordinated_by(&self, kind: i8, key: &str) -> Option<PartitionId> {
        let (offsets, transactions) = self.internal_partitions;
        let (topic, partitions) = match kind {
            GROUP => (CONSUMER_OFFSETS_TOPIC, offsets),
            _ => (TRANSACTION_STATE_TOPIC, transactions),
        };
        self.partition_named(topic, partition_for(key, partitions))
    }

    /// The name of a partition's topic.
    fn topic_of(&self, id: PartitionId) -> &str {
        let topic = self.topics.iter().find(|topic| topic.id == id.topic_id);
        topic.map_or("", |topic| topic.name.as_str())
    }

    /// What a member of its own would be told, to lead every partition of the clients' topic.
    pub(super) fn committed(&self) -> Vec<ClusterInput> {
        let itself = Leader { node: 1, epoch: 1 };
        let of_clients = self.topics.iter().filter(|topic| topic.name.as_str() == TOPIC);
        let mut topics: Vec<PlacedTopic> = of_clients.cloned().collect();
        let mut leads = Vec::new();
        for topic in &mut topics {
            topic.leaders.fill(itself);
            for (partition, leader) in (0..).zip(&topic.leaders) {
                let partition = PartitionId { topic_id: topic.id, partition };
                let log = self.logs.get(&partition).cloned().unwrap_or_default();
                let (epoch, log_start, batches) = (leader.epoch, log.log_start, log.batches);
                leads.push(ClusterInput::Lead(Lead { partition, epoch, log_start, batches }));
            }
        }
        let members = vec![Member { id: 1, host: "shadow".to_owned(), port: 9092 }];
        let placement = Placement { members, topics };
        let mut inputs = vec![ClusterInput::Placement(Arc::new(placement))];
        inputs.extend(leads);
        inputs
    }
}

/// What happens at the store.
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
}
