//! WriteTxnMarkers as a request: of other brokers' coordinators, and of an operator who ends a
//! hanging transaction. Spec 6.4.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use kacrab_protocol::generated::WriteTxnMarkersRequestData;
use kacrab_protocol::generated::write_txn_markers_response::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponseData,
};

use super::Context;
use super::waiting::Pending;
use crate::error::ErrorCode;
use crate::io::RequestId;
use crate::node::{MarkerReply, Message, Node};
use crate::types::{Decision, Marker, ProducerId, TopicPartition};
use crate::wire::Response;

/// A WriteTxnMarkers that waits for its markers to be persisted.
#[derive(Clone, Debug)]
pub(crate) struct PendingMarkers {
    open: usize,
    /// By producer id, as Kafka groups them: two markers of one producer share a list.
    results: BTreeMap<ProducerId, Vec<(TopicPartition, ErrorCode)>>,
    producers: Vec<ProducerId>,
}

pub(crate) fn handle(node: &mut Node, context: Context, request: WriteTxnMarkersRequestData) {
    let (conn, id, version) = (context.conn, context.id, context.version);
    let mut pending = PendingMarkers { open: 0, results: BTreeMap::new(), producers: Vec::new() };
    let mut sent = Vec::new();
    for (index, marker) in request.markers.iter().enumerate() {
        pending.producers.push(marker.producer_id);
        pending.results.entry(marker.producer_id).or_default();
        let decided = Marker {
            producer_id: marker.producer_id,
            producer_epoch: marker.producer_epoch,
            decision: if marker.transaction_result { Decision::Commit } else { Decision::Abort },
            coordinator_epoch: marker.coordinator_epoch,
            transaction_version: if version >= 2 { marker.transaction_version } else { 0 },
        };
        for topic in &marker.topics {
            for &partition in &topic.partition_indexes {
                let to = TopicPartition::new(topic.name.as_str(), partition);
                let reply = MarkerReply::Request { id, marker: index, to: to.clone() };
                sent.push(Message::WriteMarker { to, marker: decided, reply });
            }
        }
    }
    pending.open = sent.len();
    node.waiting.insert(conn, id, Pending::Markers(pending));
    for message in sent {
        node.send(message);
    }
    respond_if_done(node, id);
}

/// One partition of one marker is done.
pub(crate) fn done(
    node: &mut Node,
    id: RequestId,
    marker: usize,
    to: &TopicPartition,
    result: Result<(), ErrorCode>,
) {
    let Some(Pending::Markers(pending)) = node.waiting.get_mut(id) else { return };
    let Some(producer_id) = pending.producers.get(marker) else { return };
    let code = result.err().unwrap_or(ErrorCode::None);
    pending.results.entry(*producer_id).or_default().push((to.clone(), code));
    pending.open -= 1;
    respond_if_done(node, id);
}

fn respond_if_done(node: &mut Node, id: RequestId) {
    if !matches!(node.waiting.get(id), Some(Pending::Markers(pending)) if pending.open == 0) {
        return;
    }
    let Some(Pending::Markers(pending)) = node.waiting.take(id) else { return };
    let markers = pending
        .results
        .into_iter()
        .map(|(producer_id, results)| WritableTxnMarkerResult {
            producer_id,
            topics: topics_of(results),
            ..Default::default()
        })
        .collect();
    let data = WriteTxnMarkersResponseData { markers, ..Default::default() };
    node.respond(id, Response::WriteTxnMarkers(data));
}

fn topics_of(results: Vec<(TopicPartition, ErrorCode)>) -> Vec<WritableTxnMarkerTopicResult> {
    let mut topics: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (to, code) in results {
        topics.entry(to.topic).or_default().push(WritableTxnMarkerPartitionResult {
            partition_index: to.partition,
            error_code: code.code(),
            ..Default::default()
        });
    }
    topics
        .into_iter()
        .map(|(name, partitions)| WritableTxnMarkerTopicResult {
            name: name.to_kafka(),
            partitions,
            ..Default::default()
        })
        .collect()
}
