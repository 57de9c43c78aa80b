//! Messages to machines of other members: AddPartitionsToTxn v5 and WriteTxnMarkers.
//!
//! WriteTxnMarkers is tried as v2, which tells the leader the transaction's version so that it
//! can fence strictly; a member that does not know v2 gets v1 (KIP-1228). What is queued for one
//! member when a message comes up leaves with it in one request, as Kafka's senders batch.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::add_partitions_to_txn_request::{
    AddPartitionsToTxnRequestData, AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use kacrab_protocol::generated::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequestData,
};
use kacrab_protocol::generated::{AddPartitionsToTxnResponseData, WriteTxnMarkersResponseData};

use super::super::Node;
use super::super::message::{MarkerReply, Message};
use crate::cluster::{ClusterOutput, NodeId, PeerError, PeerRequestId};
use crate::error::ErrorCode;
use crate::io::Output;
use crate::mark;
use crate::txn::{MarkerToken, VerifyId};
use crate::types::{
    Decision, Marker, ProducerEpoch, ProducerId, TRANSACTION_STATE_TOPIC, TopicPartition,
};
use crate::wire::{Request, Response};

/// The version in which members add and verify partitions.
const ADD_PARTITIONS: i16 = 5;
/// WriteTxnMarkers with the transaction's version in it.
const MARKERS: i16 = 2;
/// WriteTxnMarkers for members that do not know that.
const MARKERS_OF_OLD: i16 = 1;

/// A marker for another member's partition.
#[derive(Clone, Debug)]
struct Owed {
    token: MarkerToken,
    to: TopicPartition,
    marker: Marker,
}

/// A question for another member's coordinator.
#[derive(Clone, Debug)]
struct Question {
    verify: VerifyId,
    transactional_id: KafkaString,
    producer_id: ProducerId,
    producer_epoch: ProducerEpoch,
    partitions: Vec<TopicPartition>,
    add: bool,
}

/// What a request under way is for.
#[derive(Clone, Debug)]
enum Asked {
    Markers { to: NodeId, owed: Vec<Owed> },
    Questions(Vec<(VerifyId, KafkaString)>),
}

/// Requests under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Peers {
    asked: BTreeMap<PeerRequestId, Asked>,
    next: u64,
    /// Members that do not know WriteTxnMarkers v2, as long as the connection lasts.
    of_old: BTreeSet<NodeId>,
}

impl Node {
    /// Sends a message to the member it is for; gives back what is for a machine here.
    pub(in crate::node) fn deliver_to_peer(&mut self, message: Message) -> Option<Message> {
        if self.cluster.is_none() {
            return Some(message);
        }
        match &message {
            Message::Verify { .. }
            | Message::WriteMarker { reply: MarkerReply::Coordinator(_), .. } => {}
            _ => return Some(message),
        }
        match self.destination(&message) {
            Some(to) if to == self.config.node_id => Some(message),
            Some(to) => {
                self.send_to_peer(to, message);
                None
            }
            None => {
                self.answer_unreachable(message, ErrorCode::CoordinatorNotAvailable);
                None
            }
        }
    }

    fn destination(&self, message: &Message) -> Option<NodeId> {
        let to = match message {
            Message::Verify { transactional_id, .. } => {
                let partition = self.txn.partition_of(transactional_id);
                TopicPartition::new(TRANSACTION_STATE_TOPIC, partition)
            }
            Message::WriteMarker { to, .. } => to.clone(),
            Message::Verified { .. } | Message::MarkerWritten { .. } => return None,
        };
        Some(self.leader_of(self.meta.partition_id(&to)?)?.node)
    }

    fn answer_unreachable(&mut self, message: Message, code: ErrorCode) {
        match message {
            Message::Verify { verify, .. } => {
                self.send(Message::Verified { verify, whole: code, results: Vec::new() });
            }
            Message::WriteMarker { reply, .. } => {
                self.send(Message::MarkerWritten { reply, result: Err(code) });
            }
            Message::Verified { .. } | Message::MarkerWritten { .. } => {}
        }
    }

    /// One request for the message and for what is queued behind it for the same member.
    fn send_to_peer(&mut self, to: NodeId, message: Message) {
        let marker = matches!(message, Message::WriteMarker { .. });
        let mut batch = alloc::vec![message];
        let queued = core::mem::take(&mut self.messages);
        for other in queued {
            let same =
                matches!(other, Message::WriteMarker { reply: MarkerReply::Coordinator(_), .. })
                    == marker
                    && !matches!(other, Message::Verified { .. } | Message::MarkerWritten { .. })
                    && self.destination(&other) == Some(to);
            if same {
                mark!(PeerRequestBatched);
                batch.push(other);
            } else {
                self.messages.push_back(other);
            }
        }
        if marker {
            let owed = batch.into_iter().filter_map(owed).collect();
            self.send_markers(to, owed);
        } else {
            self.send_questions(to, batch.into_iter().filter_map(question).collect());
        }
    }

    fn send_markers(&mut self, to: NodeId, owed: Vec<Owed>) {
        let Some(cluster) = &self.cluster else { return };
        let old = cluster.peers.of_old.contains(&to);
        let version = if old { MARKERS_OF_OLD } else { MARKERS };
        let request = Request::WriteTxnMarkers(markers_request(&owed, version));
        self.ask(to, version, request, Asked::Markers { to, owed });
    }

    fn send_questions(&mut self, to: NodeId, questions: Vec<Question>) {
        let asked =
            questions.iter().map(|one| (one.verify, one.transactional_id.clone())).collect();
        let transactions = questions.into_iter().map(transaction).collect();
        let data = AddPartitionsToTxnRequestData { transactions, ..Default::default() };
        let request = Request::AddPartitionsToTxn(data);
        self.ask(to, ADD_PARTITIONS, request, Asked::Questions(asked));
    }

    fn ask(&mut self, to: NodeId, version: i16, request: Request, asked: Asked) {
        let Some(cluster) = &mut self.cluster else { return };
        let id = PeerRequestId(cluster.peers.next);
        cluster.peers.next += 1;
        cluster.peers.asked.insert(id, asked);
        let request = Box::new(request);
        self.output(Output::Cluster(ClusterOutput::Request { id, to, version, request }));
    }

    /// A request to another member has ended.
    pub(super) fn peer_answered(&mut self, id: PeerRequestId, result: Result<Response, PeerError>) {
        let Some(cluster) = &mut self.cluster else { return };
        match (cluster.peers.asked.remove(&id), result) {
            (Some(Asked::Markers { to, owed }), Err(PeerError::UnsupportedVersion))
                if cluster.peers.of_old.insert(to) =>
            {
                mark!(MarkersFellBack);
                self.send_markers(to, owed);
            }
            (Some(Asked::Markers { owed, .. }), Ok(Response::WriteTxnMarkers(data))) => {
                self.markers_answered(owed, &data);
            }
            (Some(Asked::Markers { to, owed }), _) => {
                cluster.peers.of_old.remove(&to);
                mark!(MarkersUnanswered);
                for one in owed {
                    self.marker_written(one.token, Err(ErrorCode::NetworkException));
                }
            }
            (Some(Asked::Questions(asked)), Ok(Response::AddPartitionsToTxn(data))) => {
                self.questions_answered(asked, &data);
            }
            (Some(Asked::Questions(asked)), _) => {
                mark!(VerifyUnanswered);
                for (verify, _) in asked {
                    let whole = ErrorCode::NetworkException;
                    self.send(Message::Verified { verify, whole, results: Vec::new() });
                }
            }
            (None, _) => {}
        }
    }

    fn marker_written(&mut self, token: MarkerToken, result: Result<(), ErrorCode>) {
        if result == Err(ErrorCode::TransactionCoordinatorFenced) {
            mark!(MarkerFencedByCoordinatorEpoch);
        }
        self.send(Message::MarkerWritten { reply: MarkerReply::Coordinator(token), result });
    }

    fn markers_answered(&mut self, owed: Vec<Owed>, data: &WriteTxnMarkersResponseData) {
        let mut codes = BTreeMap::new();
        for marker in &data.markers {
            for topic in &marker.topics {
                for part in &topic.partitions {
                    let to = TopicPartition::new(topic.name.as_str(), part.partition_index);
                    codes.insert((marker.producer_id, to), ErrorCode::from(part.error_code));
                }
            }
        }
        for Owed { token, to, marker } in owed {
            // A partition that the answer lacks is asked about again.
            let code = codes.get(&(marker.producer_id, to)).copied();
            let result = match code.unwrap_or(ErrorCode::UnknownServerError) {
                ErrorCode::None => Ok(()),
                code => Err(code),
            };
            self.marker_written(token, result);
        }
    }

    fn questions_answered(
        &mut self,
        asked: Vec<(VerifyId, KafkaString)>,
        data: &AddPartitionsToTxnResponseData,
    ) {
        for (verify, transactional_id) in asked {
            let mut whole = ErrorCode::from(data.error_code);
            let of_id = data
                .results_by_transaction
                .iter()
                .find(|result| result.transactional_id == transactional_id);
            if of_id.is_none() && whole == ErrorCode::None {
                whole = ErrorCode::UnknownServerError;
            }
            let results = of_id.into_iter().flat_map(|result| &result.topic_results);
            let results = results.flat_map(|topic| {
                topic.results_by_partition.iter().map(|part| {
                    let to = TopicPartition::new(topic.name.as_str(), part.partition_index);
                    (to, ErrorCode::from(part.partition_error_code))
                })
            });
            let results = results.collect();
            self.send(Message::Verified { verify, whole, results });
        }
    }
}

fn owed(message: Message) -> Option<Owed> {
    match message {
        Message::WriteMarker { to, marker, reply: MarkerReply::Coordinator(token) } => {
            Some(Owed { token, to, marker })
        }
        _ => None,
    }
}

fn question(message: Message) -> Option<Question> {
    match message {
        Message::Verify {
            verify,
            transactional_id,
            producer_id,
            producer_epoch,
            partitions,
            add,
        } => Some(Question {
            verify,
            transactional_id: KafkaString::from(transactional_id),
            producer_id,
            producer_epoch,
            partitions,
            add,
        }),
        _ => None,
    }
}

fn transaction(question: Question) -> AddPartitionsToTxnTransaction {
    AddPartitionsToTxnTransaction {
        transactional_id: question.transactional_id,
        producer_id: question.producer_id,
        producer_epoch: question.producer_epoch,
        verify_only: !question.add,
        topics: by_topic(&question.partitions)
            .into_iter()
            .map(|(name, partitions)| AddPartitionsToTxnTopic {
                name,
                partitions,
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

fn markers_request(owed: &[Owed], version: i16) -> WriteTxnMarkersRequestData {
    let markers = owed.iter().map(|Owed { to, marker, .. }| WritableTxnMarker {
        producer_id: marker.producer_id,
        producer_epoch: marker.producer_epoch,
        transaction_result: marker.decision == Decision::Commit,
        coordinator_epoch: marker.coordinator_epoch,
        transaction_version: if version >= MARKERS { marker.transaction_version } else { 0 },
        topics: alloc::vec![WritableTxnMarkerTopic {
            name: to.topic.to_kafka(),
            partition_indexes: alloc::vec![to.partition],
            ..Default::default()
        }],
        ..Default::default()
    });
    WriteTxnMarkersRequestData { markers: markers.collect(), ..Default::default() }
}

fn by_topic(partitions: &[TopicPartition]) -> Vec<(KafkaString, Vec<i32>)> {
    let mut topics: BTreeMap<_, Vec<i32>> = BTreeMap::new();
    for to in partitions {
        topics.entry(to.topic.clone()).or_default().push(to.partition);
    }
    topics.into_iter().map(|(name, partitions)| (name.to_kafka(), partitions)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TopicName;

    #[test]
    fn a_marker_for_another_member_says_of_which_version_its_transaction_is_if_that_can_be_said() {
        let marker = Marker {
            producer_id: 7,
            producer_epoch: 3,
            decision: Decision::Commit,
            coordinator_epoch: 5,
            transaction_version: 2,
        };
        let abort = Marker { decision: Decision::Abort, ..marker };
        let owed = [marker, abort].map(|marker| Owed {
            token: MarkerToken(1),
            to: TopicPartition::new("t", 4),
            marker,
        });
        for (version, transaction_version) in [(MARKERS, 2), (MARKERS_OF_OLD, 0)] {
            let request = markers_request(&owed, version);
            for (one, commits) in request.markers.iter().zip([true, false]) {
                assert_eq!((one.producer_id, one.producer_epoch), (7, 3));
                assert_eq!((one.coordinator_epoch, one.transaction_result), (5, commits));
                assert_eq!(one.transaction_version, transaction_version);
                assert_eq!(one.topics[0].partition_indexes, [4]);
            }
            assert_eq!(request.markers.len(), 2);
        }
    }

    #[test]
    fn a_question_that_adds_nothing_only_verifies() {
        for add in [false, true] {
            let asked = transaction(Question {
                verify: VerifyId(1),
                transactional_id: TopicName::from("x").to_kafka(),
                producer_id: 7,
                producer_epoch: 3,
                partitions: ["t", "u"].map(|topic| TopicPartition::new(topic, 1)).to_vec(),
                add,
            });
            assert_eq!(asked.verify_only, !add);
            assert_eq!((asked.producer_id, asked.producer_epoch), (7, 3));
            assert_eq!(asked.topics.len(), 2);
        }
    }
}
