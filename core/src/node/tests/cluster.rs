//! Members of a cluster: two nodes, and a store that takes changes of the newest leader only.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::verbs::{COMMIT, LONG_MS, Who, batch, end, init, produce};
use crate::batch::StoredBatch;
use crate::cluster::{
    Change, ClusterInput, ClusterOutput, Lead, Leader, Member, PeerError, PeerRequestId,
    PlacedTopic, Placement, SharedChange,
};
use crate::io::{Input, RequestId};
use crate::node::testing::Bench;
use crate::types::{
    CONSUMER_OFFSETS_TOPIC, PartitionId, TRANSACTION_STATE_TOPIC, TopicId, TopicName,
};
use crate::wire::{Request, Response};

/// Two members, the committed logs, and who leads: `__transaction_state` member 1, the others
/// member 2.
struct Pair {
    members: Vec<Bench>,
    topics: Vec<PlacedTopic>,
    logs: BTreeMap<PartitionId, Vec<StoredBatch>>,
    /// Members that know only WriteTxnMarkers v1.
    of_old: Vec<i32>,
    under_way: Vec<(usize, PeerRequestId, usize, RequestId)>,
    /// Version and name of every request between members.
    sent: Vec<(i32, i16, &'static str)>,
}

const fn id(topic: u128) -> PartitionId {
    PartitionId { topic_id: TopicId(topic), partition: 0 }
}

const TRANSACTIONS: PartitionId = id(0x71);
const RECORDS: PartitionId = id(0x72);
const OFFSETS: PartitionId = id(0x73);

impl Pair {
    fn start() -> Self {
        let topic = |id: PartitionId, name: &str, node: i32| PlacedTopic {
            name: TopicName::from(name),
            id: id.topic_id,
            configs: Vec::new(),
            leaders: vec![Leader { node, epoch: 1 }],
        };
        let topics = vec![
            topic(TRANSACTIONS, TRANSACTION_STATE_TOPIC, 1),
            topic(RECORDS, "t", 2),
            topic(OFFSETS, CONSUMER_OFFSETS_TOPIC, 2),
        ];
        let mut pair = Self {
            members: vec![Bench::member(1), Bench::member(2)],
            topics,
            logs: BTreeMap::new(),
            of_old: Vec::new(),
            under_way: Vec::new(),
            sent: Vec::new(),
        };
        for at in [0, 1] {
            pair.tell(at);
        }
        for (id, node) in [(TRANSACTIONS, 1), (RECORDS, 2), (OFFSETS, 2)] {
            pair.give(id, node);
        }
        pair
    }

    fn news(&mut self, at: usize, input: ClusterInput) {
        self.members[at].input(Input::Cluster(Box::new(input)));
        self.settle();
    }

    fn tell(&mut self, at: usize) {
        let member = |id: i32| Member { id, host: alloc::format!("b{id}"), port: 9092 };
        let members = vec![member(1), member(2)];
        let placement = Placement { members, topics: self.topics.clone() };
        self.news(at, ClusterInput::Placement(Arc::new(placement)));
    }

    fn leader(&mut self, id: PartitionId) -> &mut Leader {
        let topic = self.topics.iter_mut().find(|topic| topic.id == id.topic_id).unwrap();
        &mut topic.leaders[0]
    }

    fn give(&mut self, id: PartitionId, node: i32) {
        let epoch = self.leader(id).epoch;
        let batches = self.logs.get(&id).cloned().unwrap_or_default();
        let lead = Lead { partition: id, epoch, log_start: 0, batches };
        self.news(usize::try_from(node).unwrap() - 1, ClusterInput::Lead(lead));
    }

    /// A partition moves; only its new leader hears of it.
    fn move_to(&mut self, id: PartitionId, node: i32) {
        let leader = self.leader(id);
        *leader = Leader { node, epoch: leader.epoch + 1 };
        self.give(id, node);
    }

    fn commit(&mut self, node: i32, changes: Vec<SharedChange>) -> Vec<PartitionId> {
        let mut fenced = Vec::new();
        for SharedChange { partition, epoch, what } in changes {
            if *self.leader(partition) != (Leader { node, epoch }) {
                fenced.push(partition);
            } else if let Change::Append(batch) = what {
                self.logs.entry(partition).or_default().push(batch);
            }
        }
        fenced
    }

    /// Does what the members ask for until they ask no more.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            for at in 0..self.members.len() {
                for output in core::mem::take(&mut self.members[at].wanted) {
                    moved = true;
                    self.serve(at, output);
                }
            }
            for (from, id, to, request) in core::mem::take(&mut self.under_way) {
                if let Some(response) = self.members[to].take(request) {
                    moved = true;
                    let input = ClusterInput::Answer { id, result: Ok(response) };
                    self.members[from].input(Input::Cluster(Box::new(input)));
                } else {
                    self.under_way.push((from, id, to, request));
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn serve(&mut self, at: usize, output: ClusterOutput) {
        let input = match output {
            ClusterOutput::Confirm { id, changes } => {
                let fenced = self.commit(i32::try_from(at).unwrap() + 1, changes);
                ClusterInput::Confirmed { id, fenced }
            }
            ClusterOutput::WantProducerIds => ClusterInput::ProducerIds { first: 7_000, count: 10 },
            ClusterOutput::Request { id, to, version, request } => {
                let name = match &*request {
                    Request::WriteTxnMarkers(_) => "markers",
                    _ => "partitions",
                };
                self.sent.push((to, version, name));
                if name == "markers" && version >= 2 && self.of_old.contains(&to) {
                    let result = Err(PeerError::UnsupportedVersion);
                    ClusterInput::Answer { id, result }
                } else {
                    let to = usize::try_from(to).unwrap() - 1;
                    let request = self.members[to].send_over(99, version, *request);
                    return self.under_way.push((at, id, to, request));
                }
            }
            ClusterOutput::Resigned { .. } => return,
        };
        self.members[at].input(Input::Cluster(Box::new(input)));
    }

    /// Asks a member, and lets time pass until it has answered.
    fn ask(&mut self, node: usize, version: i16, request: Request) -> Response {
        let id = self.members[node - 1].send(version, request);
        for _ in 0..200 {
            self.settle();
            if let Some(answer) = self.members[node - 1].take(id) {
                return answer;
            }
            self.members.iter_mut().for_each(|member| member.pass_ms(20));
        }
        panic!("no answer");
    }

    fn init(&mut self, node: usize) -> Who {
        let Response::InitProducerId(data) =
            self.ask(node, 4, init(Some("a"), LONG_MS, Who::NOBODY))
        else {
            panic!("another answer");
        };
        assert_eq!(data.error_code, 0);
        Who(data.producer_id, data.producer_epoch)
    }

    /// The error code and offset of a Produce of one record.
    fn write(&mut self, node: usize, who: Who, sequence: i32) -> (i16, i64) {
        let request = produce(12, Some("a"), "t-0", batch(who, sequence, 1, true));
        let Response::Produce(data) = self.ask(node, 12, request) else {
            panic!("another answer");
        };
        let part = &data.responses[0].partition_responses[0];
        (part.error_code, part.base_offset)
    }

    fn end(&mut self, node: usize, who: Who) -> i16 {
        let Response::EndTxn(data) = self.ask(node, 5, end("a", who, COMMIT)) else {
            panic!("another answer");
        };
        data.error_code
    }

    fn log(&self, id: PartitionId) -> &[StoredBatch] {
        self.logs.get(&id).map_or(&[], Vec::as_slice)
    }
}

const NOT_LEADER: i16 = 6;
const NOT_COORDINATOR: i16 = 16;

#[test]
fn a_transaction_commits_in_a_partition_of_another_member() {
    let mut pair = Pair::start();
    let who = pair.init(1);
    assert_eq!(pair.write(2, who, 0), (0, 0));
    assert_eq!(pair.end(1, who), 0);
    pair.settle();
    assert_eq!(pair.log(RECORDS).len(), 2, "the record and its marker");
    assert!(pair.log(RECORDS)[1].header().is_control());
    assert_eq!(pair.sent, [(1, 5, "partitions"), (2, 2, "markers")]);
}

#[test]
fn a_member_that_does_not_know_markers_of_version_2_gets_version_1() {
    let mut pair = Pair::start();
    pair.of_old.push(2);
    let who = pair.init(1);
    for (sequence, at) in [(0, 0), (0, 2)] {
        let who = who.epoch(who.1 + i16::try_from(at / 2).unwrap());
        assert_eq!(pair.write(2, who, sequence), (0, at));
        assert_eq!(pair.end(1, who), 0);
        pair.settle();
    }
    let markers: Vec<i16> =
        pair.sent.iter().filter(|(.., name)| *name == "markers").map(|sent| sent.1).collect();
    assert_eq!(markers, [2, 1, 1], "and keeps getting it");
}

#[test]
fn a_leader_that_was_replaced_cannot_acknowledge() {
    let mut pair = Pair::start();
    let who = pair.init(1);
    assert_eq!(pair.write(2, who, 0), (0, 0));
    pair.move_to(RECORDS, 1);
    assert_eq!(pair.write(2, who, 1).0, NOT_LEADER, "the store has refused it");
    assert_eq!(pair.log(RECORDS).len(), 1);
    assert_eq!(pair.write(1, who, 1), (0, 1), "the new leader goes on where the old one was");
    assert_eq!(pair.write(1, who, 0), (0, 0), "and knows what the old one took");
}

#[test]
fn a_coordinator_that_was_replaced_cannot_decide() {
    let mut pair = Pair::start();
    let who = pair.init(1);
    assert_eq!(pair.write(2, who, 0), (0, 0));
    pair.move_to(TRANSACTIONS, 2);
    assert_eq!(pair.end(1, who), NOT_COORDINATOR);
    assert_eq!(pair.log(RECORDS).len(), 1, "no marker");
    assert_eq!(pair.end(2, who), 0, "the new one has the transaction and decides");
    pair.settle();
    assert_eq!(pair.log(RECORDS).len(), 2);
}

#[test]
fn a_marker_of_a_coordinator_that_was_replaced_is_fenced_by_its_epoch() {
    let mut pair = Pair::start();
    let who = pair.init(1);
    assert_eq!(pair.write(2, who, 0), (0, 0));
    assert_eq!(pair.end(1, who), 0);
    pair.settle();
    pair.move_to(TRANSACTIONS, 2);
    let next = who.next_epoch();
    assert_eq!(pair.write(2, next, 0), (0, 2));
    assert_eq!(pair.end(2, next), 0);
    pair.settle();
    assert_eq!(pair.members[1].marker(2, next.next_epoch(), COMMIT, 1, "t-0"), 52);
}

#[test]
fn news_that_are_older_than_what_is_known_change_nothing() {
    let mut pair = Pair::start();
    let old = pair.topics.clone();
    pair.move_to(RECORDS, 1);
    let new = core::mem::replace(&mut pair.topics, old);
    pair.tell(0);
    pair.topics = new;
    let who = pair.init(1);
    assert_eq!(pair.write(1, who, 0), (0, 0));
}
