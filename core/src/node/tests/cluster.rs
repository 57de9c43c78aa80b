//! Members of a cluster: two nodes, and a store that takes changes of the newest leader only.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use kacrab_protocol::generated::AddPartitionsToTxnRequestData;

use super::verbs::{
    COMMIT, LONG_MS, Who, add, add_offsets, added, batch, batched, delete_records, end, init,
    offsets_added, produce, txn_offset, txn_offsets,
};
use crate::batch::StoredBatch;
use crate::cluster::{
    Change, ClusterInput, ClusterOutput, Lead, Leader, Member, PeerError, PeerRequestId,
    PlacedTopic, Placement, SharedChange,
};
use crate::config::BrokerConfig;
use crate::io::{FileError, Input, RequestId};
use crate::node::testing::{Bench, Failing};
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
    /// What members gave up.
    given_up: Vec<PartitionId>,
    /// Whether markers between members are lost.
    loses_markers: bool,
}

const fn id(topic: u128) -> PartitionId {
    PartitionId { topic_id: TopicId(topic), partition: 0 }
}

const TRANSACTIONS: PartitionId = id(0x71);
const RECORDS: PartitionId = id(0x72);
const OFFSETS: PartitionId = id(0x73);

impl Pair {
    fn start() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl Fn(&mut BrokerConfig)) -> Self {
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
            members: [1, 2].map(|id| Bench::member(id, &change)).into(),
            topics,
            logs: BTreeMap::new(),
            of_old: Vec::new(),
            under_way: Vec::new(),
            sent: Vec::new(),
            given_up: Vec::new(),
            loses_markers: false,
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
                let log = self.logs.entry(partition).or_default();
                let end = log.last().map_or(0, |last| last.last_offset() + 1);
                assert_eq!(batch.base_offset(), end, "no hole, and nothing twice");
                log.push(batch);
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
                if name == "markers" && self.loses_markers {
                    return;
                }
                if name == "markers" && version >= 2 && self.of_old.contains(&to) {
                    let result = Err(PeerError::UnsupportedVersion);
                    ClusterInput::Answer { id, result }
                } else {
                    let to = usize::try_from(to).unwrap() - 1;
                    let request = self.members[to].send_over(99, version, *request);
                    return self.under_way.push((at, id, to, request));
                }
            }
            ClusterOutput::Resigned { partition, .. } => return self.given_up.push(partition),
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
        self.init_as(node, "a")
    }

    fn init_as(&mut self, node: usize, txn: &str) -> Who {
        let Response::InitProducerId(data) =
            self.ask(node, 4, init(Some(txn), LONG_MS, Who::NOBODY))
        else {
            panic!("another answer");
        };
        assert_eq!(data.error_code, 0);
        Who(data.producer_id, data.producer_epoch)
    }

    /// The error code and offset of a Produce of one record.
    fn write(&mut self, node: usize, who: Who, sequence: i32) -> (i16, i64) {
        self.write_as(node, "a", who, sequence)
    }

    fn write_as(&mut self, node: usize, txn: &str, who: Who, sequence: i32) -> (i16, i64) {
        let request = produce(12, Some(txn), "t-0", batch(who, sequence, 1, true));
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
const STORAGE: i16 = 56;

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

/// What a coordinator answers from its memory alone: version, request, and how to read the code.
fn known_answers(who: Who) -> [(i16, Request); 3] {
    let open = Request::AddPartitionsToTxn(AddPartitionsToTxnRequestData {
        transactions: vec![batched("open", who, true, &["t-0"])],
        ..Default::default()
    });
    let again = add("open", who, &["t-0"]);
    [(5, open), (3, again), (4, end("a", who, COMMIT))]
}

fn code_of(response: &Response) -> i16 {
    match response {
        Response::EndTxn(data) => data.error_code,
        response => added(response.clone())[0],
    }
}

#[test]
fn a_coordinator_promises_nothing_from_memory_once_it_was_replaced() {
    for (replaced, code) in [(false, 0), (true, NOT_COORDINATOR)] {
        for at in 0..3 {
            let mut pair = Pair::start();
            let (ended, open) = (pair.init_as(1, "a"), pair.init_as(1, "open"));
            for (id, who) in [("a", ended), ("open", open)] {
                assert_eq!(added(pair.ask(1, 3, add(id, who, &["t-0"]))), [0]);
            }
            assert_eq!(code_of(&pair.ask(1, 4, end("a", ended, COMMIT))), 0);
            pair.settle();
            if replaced {
                pair.move_to(TRANSACTIONS, 2);
            }
            let who = if at == 2 { ended } else { open };
            let (version, request) = known_answers(who)[at].clone();
            let answer = pair.ask(1, version, request);
            assert_eq!(code_of(&answer), code, "replaced: {replaced}, question {at}");
        }
    }
}

#[test]
fn offsets_are_not_taken_for_a_transaction_that_only_a_coordinator_of_old_knows() {
    let mut pair = Pair::start();
    pair.move_to(OFFSETS, 1);
    pair.tell(1);
    let who = pair.init(1);
    assert_eq!(offsets_added(pair.ask(1, 3, add_offsets("a", who, "g"))), 0);
    pair.move_to(TRANSACTIONS, 2);
    assert_eq!(code_of(&pair.ask(2, 4, end("a", who, COMMIT))), 0);
    pair.settle();
    assert_eq!(pair.log(OFFSETS).len(), 1, "the marker");
    // Of the producer's next transaction, under the same epoch; its coordinator has the one before.
    let staged = pair.ask(1, 3, txn_offset("a", who, "g", "t-0", 7, ""));
    assert_eq!(txn_offsets(staged), NOT_COORDINATOR);
    assert_eq!(pair.log(OFFSETS).len(), 1);
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

const LONG_IDS: [&str; 3] = ["a", "b", "c"];

/// Members whose journal writes one turn of a long transactional id while a second one waits and
/// has no room for a third, three open transactions of such ids, and what ends them.
fn long_transactions() -> (Pair, Vec<(i16, Request)>) {
    let mut pair = Pair::with(|config| config.verdict_journal_bytes = 16_384);
    let mut ends = Vec::new();
    for name in LONG_IDS {
        let name = name.repeat(9_000);
        let who = pair.init_as(1, &name);
        assert_eq!(pair.write_as(2, &name, who, 0).0, 0);
        ends.push((5, end(&name, who, COMMIT)));
    }
    (pair, ends)
}

#[test]
fn a_change_for_which_the_journal_has_no_room_is_taken_back_and_the_lead_kept() {
    let (mut pair, ends) = long_transactions();
    // All decisions are made before any is on disk.
    let ids = pair.members[0].send_at_once(ends.clone());
    pair.settle();
    let codes: Vec<i16> = ids
        .into_iter()
        .map(|id| match pair.members[0].take(id) {
            Some(Response::EndTxn(data)) => data.error_code,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(codes, [0, 0, NOT_COORDINATOR], "the third may be tried again");
    assert_eq!(pair.given_up, []);
    let (version, again) = ends[2].clone();
    let Response::EndTxn(data) = pair.ask(1, version, again) else { panic!("another answer") };
    assert_eq!(data.error_code, 0, "by the same coordinator");
}

/// Found by verdict-sim, seed 9620: the coordinator moved for ever.
#[test]
fn transactions_that_complete_at_once_all_complete_although_the_journal_holds_two_of_them() {
    let (mut pair, ends) = long_transactions();
    pair.loses_markers = true;
    for (version, end) in ends {
        let Response::EndTxn(data) = pair.ask(1, version, end) else { panic!("another answer") };
        assert_eq!(data.error_code, 0);
    }
    // It begins anew: all markers are sent in one request, and all are written when it is answered.
    pair.loses_markers = false;
    pair.move_to(TRANSACTIONS, 1);
    for name in LONG_IDS {
        let again = init(Some(&name.repeat(9_000)), LONG_MS, Who::NOBODY);
        let begins = (0..50).any(|_| {
            pair.members[0].pass_ms(20);
            let Response::InitProducerId(data) = pair.ask(1, 4, again.clone()) else {
                panic!("another answer");
            };
            data.error_code == 0
        });
        assert!(begins, "the transaction before is complete");
    }
    assert_eq!(pair.given_up, []);
}

#[test]
fn a_change_larger_than_the_journal_costs_nobody_the_lead() {
    let mut pair = Pair::with(|config| config.verdict_journal_bytes = 16_384);
    let large = batch(Who::NOBODY, -1, 2_000, false);
    let Response::Produce(data) = pair.ask(2, 12, produce(12, None, "t-0", large)) else {
        panic!("another answer");
    };
    assert_ne!(data.responses[0].partition_responses[0].error_code, 0);
    assert_eq!(pair.given_up, []);
    let who = pair.init(1);
    assert_eq!(pair.write(2, who, 0), (0, 0));
}

#[test]
fn who_can_write_no_more_gives_up_the_lead() {
    let mut pair = Pair::start();
    let who = pair.init(1);
    assert_eq!(pair.write(2, who, 0), (0, 0));
    pair.members[1].files.fail(Failing::Journal, FileError::Io, Some(1));
    assert_eq!(pair.write(2, who, 1).0, STORAGE);
    assert_eq!(pair.given_up, [RECORDS]);
    pair.move_to(RECORDS, 1);
    assert_eq!(pair.write(1, who, 1), (0, 1));
}

#[test]
fn what_a_deletion_has_taken_from_the_files_is_refused_before_it_is_confirmed() {
    let mut pair = Pair::start();
    let who = pair.init(1);
    assert_eq!(pair.write(2, who, 0), (0, 0));
    assert_eq!(pair.end(1, who), 0);
    pair.settle();
    let member = &mut pair.members[1];
    member.send(2, delete_records("t-0", 1));
    assert_eq!(member.node.partitions[&RECORDS].log_start(), 1, "nobody has answered a Confirm");
}

/// Until then the next leader may begin where the log began before (verdict-sim seed 211037).
#[test]
fn a_deletion_moves_the_last_stable_offset_once_it_is_confirmed() {
    let mut pair = Pair::start();
    let who = pair.init(1);
    assert_eq!(pair.write(2, who, 0), (0, 0));
    pair.settle();
    let stable = |pair: &Pair| pair.members[1].node.partitions[&RECORDS].last_stable_offset();
    pair.members[1].send(2, delete_records("t-0", 1));
    assert_eq!((pair.members[1].node.partitions[&RECORDS].log_start(), stable(&pair)), (1, 0));
    pair.settle();
    assert_eq!(stable(&pair), 1);
}
