//! Produce: screened batches → verification with the coordinator → append → answer when
//! persisted.
//!
//! The order of checks is Kafka's (spec 2.1): the request as a whole, then topics and record
//! sets, then the transaction (KIP-890), then acks, then each partition's own rules.

mod answer;
mod verify;

use alloc::string::String;
use alloc::vec::Vec;

use self::answer::{PartResult, fail_request, finish_if_done};
pub(crate) use self::answer::{failed, persisted, timed_out};
pub(crate) use self::verify::{retry_concurrent, verified, verify_again};
use super::Context;
use super::waiting::Pending;
use crate::batch::{BatchFault, BatchHeader, CheckedBatch, FaultScope, Screened};
use crate::config::BrokerConfig;
use crate::error::ErrorCode;
use crate::io::RequestId;
use crate::node::{Completion, Node, Timer};
use crate::partition::{Appended, Guard, Origin};
use crate::time::Timestamp;
use crate::types::{PartitionId, TopicId, TopicName, TopicPartition};
use crate::wire::ProduceRequest;

/// The client id that may write to internal topics (Kafka's `AdminClient`).
const ADMIN_CLIENT_ID: &str = "__admin_client";

/// A Produce that is under way.
#[derive(Clone, Debug)]
pub(crate) struct PendingProduce {
    context: Context,
    transactional_id: Option<String>,
    acks: i16,
    deadline: Timestamp,
    /// When the coordinator was first asked (spec 7.5).
    verifying_since: Option<Timestamp>,
    /// The topics of the answer: name, id, number of partitions.
    topics: Vec<(TopicName, TopicId, usize)>,
    parts: Vec<Part>,
    /// Parts without a result.
    open: usize,
    /// Set while a `VerifyAgain` timer runs.
    retry_at: Option<Timestamp>,
}

/// One partition of a Produce.
#[derive(Clone, Debug)]
struct Part {
    index: i32,
    topic: TopicName,
    id: Option<PartitionId>,
    batch: Option<Result<CheckedBatch, BatchFault>>,
    guard: Option<Guard>,
    /// The coordinator's word is awaited.
    verifying: bool,
    /// What the answer will say once the append is persisted.
    appended: Option<Appended>,
    result: Option<PartResult>,
}

impl Part {
    /// The header of its batch, also of one that is faulty, as far as it can be read.
    fn header(&self) -> Option<&BatchHeader> {
        match self.batch.as_ref()? {
            Ok(batch) => Some(batch.header()),
            Err(fault) => fault.header.as_ref(),
        }
    }
}

impl PendingProduce {
    /// The partitions that the coordinator was asked about.
    pub(super) fn verifying(&self) -> impl Iterator<Item = TopicPartition> + '_ {
        let asked = self.parts.iter().filter(|part| part.verifying);
        asked.map(|part| TopicPartition { topic: part.topic.clone(), partition: part.index })
    }

    fn set_result(&mut self, part: usize, result: PartResult) {
        if let Some(part) = self.parts.get_mut(part)
            && part.result.is_none()
        {
            part.result = Some(result);
            part.verifying = false;
            self.open -= 1;
        }
    }

    /// Indexes of the parts that have a batch and no result yet.
    fn open_parts(&self) -> Vec<usize> {
        (0..self.parts.len()).filter(|&i| self.parts[i].result.is_none()).collect()
    }
}

pub(crate) fn handle(node: &mut Node, context: Context, request: ProduceRequest) {
    let id = context.id;
    let conn = context.conn;
    let sets = || request.topics.iter().flat_map(|topic| &topic.partitions).map(|(_, set)| set);
    let transactional = sets().any(Screened::is_transactional);
    let corrupt = sets()
        .any(|set| matches!(set, Screened::Fault(fault) if fault.scope() == FaultScope::Request));
    let timeout_ms = u64::try_from(request.timeout_ms).unwrap_or(0);
    let mut pending = prepare(node, context, request);
    pending.deadline = node.now.at.after_ms(timeout_ms);
    if corrupt {
        return fail_request(node, pending, ErrorCode::CorruptMessage);
    }
    if transactional && pending.transactional_id.is_none() {
        return fail_request(node, pending, ErrorCode::TransactionalIdAuthorizationFailed);
    }
    if several_producers(&pending) {
        return fail_request(node, pending, ErrorCode::InvalidProducerIdMapping);
    }
    node.waiting.insert(conn, id, Pending::Produce(pending));
    verify::begin(node, id);
}

/// Topic and shape checks; parts that fail them have a result already.
fn prepare(node: &Node, context: Context, request: ProduceRequest) -> PendingProduce {
    let mut topics = Vec::new();
    let mut parts = Vec::new();
    for topic in request.topics {
        let by_id = context.version >= 13;
        let name = if by_id {
            node.meta.topic_by_id(topic.topic_id).map(|known| known.name.clone())
        } else {
            Some(topic.name.clone())
        };
        let shown = name.clone().unwrap_or_else(|| topic.name.clone());
        topics.push((shown.clone(), topic.topic_id, topic.partitions.len()));
        for (index, set) in topic.partitions {
            let to = TopicPartition { topic: shown.clone(), partition: index };
            let partition = node.meta.partition_id(&to);
            let mut part = Part {
                index,
                topic: shown.clone(),
                id: partition,
                batch: None,
                guard: None,
                verifying: false,
                appended: None,
                result: None,
            };
            match (name.is_some(), partition) {
                (false, _) => part.result = Some(PartResult::code(ErrorCode::UnknownTopicId)),
                (true, None) => {
                    part.result = Some(PartResult::code(ErrorCode::UnknownTopicOrPartition));
                }
                (true, Some(_)) => screen_part(&mut part, set),
            }
            parts.push(part);
        }
    }
    let open = parts.iter().filter(|part| part.result.is_none()).count();
    PendingProduce {
        transactional_id: request.transactional_id.map(|id| id.as_str().into()),
        acks: request.acks,
        deadline: Timestamp::default(),
        verifying_since: None,
        topics,
        parts,
        open,
        retry_at: None,
        context,
    }
}

/// A record set whose shape is wrong has its answer at once; other faults take part in the
/// transaction step first.
fn screen_part(part: &mut Part, set: Screened) {
    match set {
        Screened::Batch(batch) => part.batch = Some(Ok(batch)),
        Screened::Empty => part.result = Some(PartResult::code(ErrorCode::InvalidRecord)),
        Screened::Fault(fault) if fault.scope() == FaultScope::Shape => {
            part.result = Some(PartResult::fault(&fault));
        }
        Screened::Fault(fault) => part.batch = Some(Err(fault)),
    }
}

/// The answer to a faulty batch once it is its turn: the topic's size limit comes before what
/// only a look into the batch shows.
fn refuse_fault(node: &Node, part: &Part, fault: &BatchFault) -> PartResult {
    let limit = node.log_config(&part.topic).max_message_bytes;
    let too_large = i32::try_from(fault.size).map_or(true, |size| size > limit);
    if too_large && fault.scope() == FaultScope::AfterSize {
        PartResult::code(ErrorCode::MessageTooLarge)
    } else {
        PartResult::fault(fault)
    }
}

/// One request may carry one producer only (`ReplicaManager.handleProduceAppend`).
fn several_producers(pending: &PendingProduce) -> bool {
    let mut producers = pending
        .parts
        .iter()
        .filter_map(Part::header)
        .filter(|header| header.is_transactional() && header.has_producer())
        .map(|header| (header.producer_id, header.producer_epoch));
    let first = producers.next();
    producers.any(|other| Some(other) != first)
}

/// Every part is verified or needs no verification: append what is left, in one turn.
fn append_all(node: &mut Node, id: RequestId) {
    let Some(Pending::Produce(pending)) = node.waiting.get(id) else { return };
    let acks_valid = matches!(pending.acks, -1..=1);
    let admin = &*pending.context.client_id == ADMIN_CLIENT_ID;
    for index in pending.open_parts() {
        let Some(Pending::Produce(pending)) = node.waiting.get(id) else { return };
        let part = &pending.parts[index];
        let result = if !acks_valid {
            Err(PartResult::code(ErrorCode::InvalidRequiredAcks))
        } else if part.topic.is_internal() && !admin {
            Err(PartResult::code(ErrorCode::InvalidTopicException))
        } else {
            append_part(node, id, index)
        };
        let Some(Pending::Produce(pending)) = node.waiting.get_mut(id) else { return };
        match result {
            Ok(appended) => pending.parts[index].appended = Some(appended),
            Err(result) => pending.set_result(index, result),
        }
    }
    let Some(Pending::Produce(pending)) = node.waiting.get(id) else { return };
    if pending.open > 0 && pending.acks != 0 {
        let deadline = pending.deadline;
        node.timers.set(deadline, Timer::Deadline(id));
    }
    finish_if_done(node, id);
}

fn append_part(node: &mut Node, id: RequestId, index: usize) -> Result<Appended, PartResult> {
    let Some(Pending::Produce(pending)) = node.waiting.get(id) else {
        return Err(PartResult::code(ErrorCode::UnknownServerError));
    };
    let part = &pending.parts[index];
    let guard = part.guard;
    let (partition, batch) = match (part.id, &part.batch) {
        (Some(partition), Some(Ok(batch))) => (partition, batch.clone()),
        (_, Some(Err(fault))) => return Err(refuse_fault(node, part, fault)),
        _ => return Err(PartResult::code(ErrorCode::UnknownServerError)),
    };
    let log_start = node.partitions.get(&partition).map(crate::partition::Partition::log_start);
    let appended = node
        .append(partition, &batch, Origin::Client, guard)
        .map_err(|refused| PartResult::refused(&refused, log_start))?;
    node.when_persisted(Completion::Produce { request: id, part: index, partition });
    node.split_large_turn();
    Ok(appended)
}

/// A dropped request lets go of its timers.
pub(crate) fn cancel(node: &mut Node, id: RequestId, pending: &PendingProduce) {
    node.timers.cancel(pending.deadline, Timer::Deadline(id));
    if let Some(at) = pending.retry_at {
        node.timers.cancel(at, Timer::VerifyAgain(id));
    }
}

/// How long the broker itself retries a transaction that is still ending (spec 7.5), in ms.
fn retry_bound_ms(config: &BrokerConfig) -> u64 {
    let bound = config.add_partitions_to_txn_retry_backoff_max_ms.min(config.request_timeout_ms);
    u64::try_from(bound).unwrap_or(0)
}
