//! Fetch, long poll included (spec 8.3), with and without a session (KIP-227).
//!
//! A Fetch is evaluated when it arrives; it is answered when its bytes reach `min_bytes`, when a
//! partition has an error, or at its deadline. While it waits, a partition that moves is looked at
//! by itself: only when that may be enough is everything evaluated anew, so that a consumer of a
//! thousand partitions does not make each append to one of them a thousand times as dear.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::FetchRequestData;
use kacrab_protocol::generated::fetch_request::FetchTopic;
use kacrab_protocol::generated::fetch_response::{
    AbortedTransaction, FetchResponseData, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint,
    PartitionData,
};

use super::Context;
use super::fetch_sessions::{Cached, FINAL_EPOCH, INITIAL_EPOCH, Key, Limits, Told};
use super::waiting::{Pending, ReadPurpose};
use crate::batch::BatchHeader;
use crate::cluster::{Leader, NodeId};
use crate::error::ErrorCode;
use crate::io::{FileRun, RequestId};
use crate::mark;
use crate::node::{Node, Timer};
use crate::partition::Partition;
use crate::store::{Batches, Place, ReadOutcome, StorageError};
use crate::time::Timestamp;
use crate::types::{Isolation, Offset, PartitionId, TopicId, TopicName, TopicPartition};
use crate::wire::{FetchResponse, Response};

/// From this version topics are named by id.
const BY_ID: i16 = 13;

/// A Fetch that waits.
#[derive(Clone, Debug)]
pub(crate) struct PendingFetch {
    context: Context,
    isolation: Isolation,
    min_bytes: usize,
    max_bytes: u32,
    deadline: Timestamp,
    topics: Vec<Topic>,
    /// Bytes there were when it was last looked at, over all partitions.
    total: usize,
    session: Use,
    /// Reads of files that are under way; nothing is evaluated anew before they are back.
    reads: usize,
    /// Where each partition is in `topics`, ascending; empty until it waits for them to move.
    watched: Vec<(PartitionId, usize, usize)>,
}

#[derive(Clone, Debug)]
struct Topic {
    name: TopicName,
    /// The name in the request: "" from v13 on.
    sent: TopicName,
    topic_id: TopicId,
    partitions: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    index: i32,
    id: Result<PartitionId, ErrorCode>,
    offset: Offset,
    leader_epoch: i32,
    max_bytes: u32,
    data: PartitionData,
    records: Vec<Bytes>,
    /// Where they lie.
    place: Option<Place>,
    /// Bytes there were when it was last looked at.
    bytes: usize,
    error: bool,
}

/// What becomes of the answer.
#[derive(Clone, Copy, Debug)]
enum Use {
    /// It is a full one.
    Sessionless,
    /// It is a full one, and the first of a session.
    Creates,
    /// It tells what is new to the session, which has to be at this epoch still.
    Continues { id: i32, epoch: i32 },
}

pub(crate) fn handle(node: &mut Node, context: Context, request: FetchRequestData) {
    let session = match take_up(node, context.version, &request) {
        Ok(session) => session,
        Err(code) => return refuse(node, context.id, code),
    };
    let isolation = match request.isolation_level {
        1 => Isolation::ReadCommitted,
        _ => Isolation::ReadUncommitted,
    };
    let wait_ms = u64::try_from(request.max_wait_ms).unwrap_or(0);
    let max_bytes = u32::try_from(request.max_bytes.min(node.config.fetch_max_bytes)).unwrap_or(0);
    let topics = match session {
        Use::Continues { id, .. } => of_session(node, id, context.version),
        _ => of_request(node, &request, context.version),
    };
    let fetch = PendingFetch {
        isolation,
        min_bytes: usize::try_from(request.min_bytes).unwrap_or(0),
        max_bytes,
        deadline: node.now.at.after_ms(wait_ms),
        total: 0,
        topics,
        session,
        reads: 0,
        watched: Vec::new(),
        context,
    };
    evaluate(node, fetch);
}

/// Kafka's `FetchManager.newContext`.
fn take_up(node: &mut Node, version: i16, request: &FetchRequestData) -> Result<Use, ErrorCode> {
    let (id, epoch) = (request.session_id, request.session_epoch);
    if matches!(epoch, INITIAL_EPOCH | FINAL_EPOCH) {
        node.fetch_sessions.remove(id);
        return Ok(if epoch == FINAL_EPOCH { Use::Sessionless } else { Use::Creates });
    }
    let changed = request.topics.iter().flat_map(|topic| {
        let name = TopicName::from(topic.topic.as_str());
        let topic_id = TopicId::from(topic.topic_id);
        topic.partitions.iter().map(move |part| {
            let cached =
                Cached::new(part.fetch_offset, part.current_leader_epoch, part.partition_max_bytes);
            ((name.clone(), topic_id, part.partition), cached)
        })
    });
    let forgotten = request.forgotten_topics_data.iter().flat_map(|topic| {
        let name = TopicName::from(topic.topic.as_str());
        let topic_id = TopicId::from(topic.topic_id);
        topic.partitions.iter().map(move |partition| (name.clone(), topic_id, *partition))
    });
    let now_ms = node.now.at.as_ms();
    let by_id = version >= BY_ID;
    let sessions = &mut node.fetch_sessions;
    let next = sessions.update(now_ms, id, epoch, by_id, changed, forgotten)?;
    Ok(next.map_or(Use::Sessionless, |epoch| Use::Continues { id, epoch }))
}

fn refuse(node: &mut Node, id: RequestId, code: ErrorCode) {
    let data = FetchResponseData { error_code: code.code(), ..Default::default() };
    node.respond(id, Response::Fetch(FetchResponse { data, ..FetchResponse::default() }));
}

/// The partitions that a full request names.
fn of_request(node: &Node, request: &FetchRequestData, version: i16) -> Vec<Topic> {
    let topic = |topic: &FetchTopic| {
        let by_id = version >= BY_ID;
        let topic_id = TopicId::from(topic.topic_id);
        let sent = TopicName::from(topic.topic.as_str());
        let name = known_name(node, by_id, &sent, topic_id);
        let partitions = topic.partitions.iter().map(|part| {
            let cached =
                Cached::new(part.fetch_offset, part.current_leader_epoch, part.partition_max_bytes);
            prepare(node, name.as_ref(), part.partition, &cached)
        });
        let partitions = partitions.collect();
        Topic { name: name.unwrap_or_else(|| sent.clone()), sent, topic_id, partitions }
    };
    request.topics.iter().map(topic).collect()
}

/// The partitions that a session holds, in its order.
fn of_session(node: &Node, id: i32, version: i16) -> Vec<Topic> {
    let mut topics: Vec<Topic> = Vec::new();
    for ((sent, topic_id, index), cached) in node.fetch_sessions.partitions(id) {
        let name = known_name(node, version >= BY_ID, sent, *topic_id);
        let part = prepare(node, name.as_ref(), *index, cached);
        match topics.last_mut() {
            Some(topic) if topic.sent == *sent && topic.topic_id == *topic_id => {
                topic.partitions.push(part);
            }
            _ => topics.push(Topic {
                name: name.unwrap_or_else(|| sent.clone()),
                sent: sent.clone(),
                topic_id: *topic_id,
                partitions: alloc::vec![part],
            }),
        }
    }
    topics
}

fn known_name(node: &Node, by_id: bool, sent: &TopicName, id: TopicId) -> Option<TopicName> {
    if by_id {
        node.meta.topic_by_id(id).map(|known| known.name.clone())
    } else {
        Some(sent.clone())
    }
}

fn prepare(node: &Node, name: Option<&TopicName>, index: i32, wanted: &Cached) -> Part {
    let id = match name {
        None => Err(ErrorCode::UnknownTopicId),
        Some(name) => node
            .meta
            .partition_id(&TopicPartition { topic: name.clone(), partition: index })
            .ok_or(ErrorCode::UnknownTopicOrPartition),
    };
    Part {
        index,
        id,
        offset: wanted.offset,
        leader_epoch: wanted.leader_epoch,
        max_bytes: u32::try_from(wanted.max_bytes).unwrap_or(0),
        data: PartitionData::default(),
        records: Vec::new(),
        place: None,
        bytes: 0,
        error: false,
    }
}

/// Reads what there is, and answers or waits. The Fetch is not among the waiting requests.
fn evaluate(node: &mut Node, mut fetch: PendingFetch) {
    let id = fetch.context.id;
    let mut budget = fetch.max_bytes;
    let mut total = 0_usize;
    let mut first = true;
    let isolation = fetch.isolation;
    for (topic, entry) in fetch.topics.iter_mut().enumerate() {
        for (partition, part) in entry.partitions.iter_mut().enumerate() {
            let limit = part.max_bytes.min(budget);
            match read_part(node, part, isolation, limit, first) {
                Read::Bytes(bytes) => {
                    part.bytes = bytes;
                    total += bytes;
                    first &= bytes == 0;
                    budget = budget.saturating_sub(u32::try_from(bytes).unwrap_or(u32::MAX));
                }
                Read::Pending(read) => {
                    fetch.reads += 1;
                    first = false;
                    total = total.saturating_add(limit as usize);
                    budget = budget.saturating_sub(limit);
                    let purpose = ReadPurpose::Fetch { request: id, topic, partition };
                    node.reads.insert(read, purpose);
                }
            }
        }
    }
    fetch.total = total;
    let failed = fetch.topics.iter().flat_map(|topic| &topic.partitions).any(|part| part.error);
    let empty = fetch.topics.iter().all(|topic| topic.partitions.is_empty());
    let over = node.now.at >= fetch.deadline;
    let done = total >= fetch.min_bytes || failed || empty || over;
    if fetch.reads == 0 && done {
        return respond(node, fetch);
    }
    if fetch.reads > 0 {
        mark!(FetchReadsFile);
    } else if fetch.watched.is_empty() {
        watch(node, &mut fetch);
    }
    let conn = fetch.context.conn;
    node.waiting.insert(conn, id, Pending::Fetch(fetch));
}

enum Read {
    Bytes(usize),
    Pending(crate::store::ReadId),
}

/// Fills one partition's answer as far as it can be at once.
fn read_part(
    node: &mut Node,
    part: &mut Part,
    isolation: Isolation,
    limit: u32,
    at_least_one: bool,
) -> Read {
    (part.records, part.place) = (Vec::new(), None);
    part.error = false;
    let mut data = empty_answer(part.index);
    let id = match part.id {
        Ok(id) => id,
        Err(code) => return fail(part, data, code),
    };
    let Some(partition) = node.partitions.get(&id) else {
        let gone = !node.meta.has_partition(id);
        let code =
            if gone { ErrorCode::UnknownTopicOrPartition } else { ErrorCode::NotLeaderOrFollower };
        return fail(part, data, code);
    };
    if let Err(code) = check_epoch(partition, part.leader_epoch) {
        return fail(part, data, code);
    }
    data.high_watermark = partition.high_watermark();
    data.last_stable_offset = partition.last_stable_offset();
    data.log_start_offset = partition.log_start();
    if part.offset < partition.log_start() || part.offset > partition.log_end() {
        data.high_watermark = -1;
        data.last_stable_offset = -1;
        data.log_start_offset = -1;
        return fail(part, data, ErrorCode::OffsetOutOfRange);
    }
    let bound = partition.fetch_bound(isolation);
    let outcome = if part.offset >= bound {
        ReadOutcome::Ready(Batches::default())
    } else {
        node.store.read(id, part.offset, bound, limit, at_least_one)
    };
    match outcome {
        ReadOutcome::Ready(found) => {
            set_records(node, part, data, isolation, found);
            Read::Bytes(part.records.iter().map(Bytes::len).sum())
        }
        ReadOutcome::Pending(read) => {
            part.data = data;
            Read::Pending(read)
        }
        ReadOutcome::Error(error) => fail(part, data, storage_code(error)),
    }
}

fn empty_answer(index: i32) -> PartitionData {
    PartitionData {
        partition_index: index,
        high_watermark: -1,
        last_stable_offset: -1,
        log_start_offset: -1,
        aborted_transactions: None,
        preferred_read_replica: -1,
        ..Default::default()
    }
}

fn fail(part: &mut Part, mut data: PartitionData, code: ErrorCode) -> Read {
    data.error_code = code.code();
    part.data = data;
    part.error = true;
    Read::Bytes(0)
}

pub(super) fn check_epoch(partition: &Partition, asked: i32) -> Result<(), ErrorCode> {
    let ours = partition.leader_epoch();
    match asked {
        -1 => Ok(()),
        asked if asked < ours => Err(ErrorCode::FencedLeaderEpoch),
        asked if asked > ours => Err(ErrorCode::UnknownLeaderEpoch),
        _ => Ok(()),
    }
}

const fn storage_code(error: StorageError) -> ErrorCode {
    match error {
        StorageError::BelowLogStart => ErrorCode::OffsetOutOfRange,
        _ => ErrorCode::KafkaStorageError,
    }
}

/// Puts batches into a partition's answer, and beside them the aborted transactions that reach
/// into them. The list is there, maybe empty, for read_committed, and null otherwise.
fn set_records(
    node: &Node,
    part: &mut Part,
    mut data: PartitionData,
    isolation: Isolation,
    found: Batches,
) {
    if isolation == Isolation::ReadCommitted
        && let Some(partition) = part.id.ok().and_then(|id| node.partitions.get(&id))
    {
        // Where nothing is answered there is nothing to hide, as in Kafka.
        let upper = end_of(&found.parts);
        let aborted = upper.map_or_else(Vec::new, |upper| partition.aborted_in(part.offset, upper));
        data.aborted_transactions = Some(
            aborted
                .into_iter()
                .map(|txn| AbortedTransaction {
                    producer_id: txn.producer_id,
                    first_offset: txn.first_offset,
                    ..Default::default()
                })
                .collect(),
        );
    }
    part.data = data;
    (part.records, part.place) = (found.parts, found.place);
}

/// The offset after the last batch of a read.
fn end_of(records: &[Bytes]) -> Option<Offset> {
    let mut end = None;
    for batch in crate::batch::headers(records) {
        end = Some(BatchHeader::last_offset(&batch) + 1);
    }
    end
}

/// A read of a file is back.
pub(crate) fn read_done(
    node: &mut Node,
    id: RequestId,
    topic: usize,
    partition: usize,
    result: Result<Batches, StorageError>,
) {
    let Some(Pending::Fetch(fetch)) = node.waiting.get_mut(id) else { return };
    fetch.reads -= 1;
    let isolation = fetch.isolation;
    let Some(part) = fetch.topics.get(topic).and_then(|t| t.partitions.get(partition)) else {
        return;
    };
    let mut part = part.clone();
    let data = core::mem::take(&mut part.data);
    // What became of the log while the file was read: the aborted transactions of deleted records
    // are forgotten, and without them the records would count as committed.
    let is_here = part.id.is_ok_and(|id| node.partitions.contains_key(&id));
    match result {
        Ok(_) if !is_here => {
            fail(&mut part, data, ErrorCode::NotLeaderOrFollower);
        }
        Err(StorageError::BelowLogStart) => {
            mark!(FetchLostItsRecords);
            let data = empty_answer(part.index);
            fail(&mut part, data, ErrorCode::OffsetOutOfRange);
        }
        Ok(found) => set_records(node, &mut part, data, isolation, found),
        Err(error) => {
            fail(&mut part, data, storage_code(error));
        }
    }
    let Some(Pending::Fetch(fetch)) = node.waiting.get_mut(id) else { return };
    fetch.topics[topic].partitions[partition] = part;
    if fetch.reads == 0
        && let Some(Pending::Fetch(fetch)) = node.waiting.take(id)
    {
        respond(node, fetch);
    }
}

/// A partition moved: its high watermark, its last stable offset, or it is gone.
pub(crate) fn wake(node: &mut Node, partition: PartitionId) {
    for id in node.waiting.watchers_of(partition) {
        if may_be_done(node, id, partition) {
            evaluate_again(node, id);
        }
    }
}

pub(crate) fn timed_out(node: &mut Node, id: RequestId) {
    evaluate_again(node, id);
}

fn evaluate_again(node: &mut Node, id: RequestId) {
    let reads = matches!(node.waiting.get(id), Some(Pending::Fetch(fetch)) if fetch.reads > 0);
    if !reads && let Some(Pending::Fetch(fetch)) = node.waiting.take(id) {
        evaluate(node, fetch);
    }
}

/// Looks at one partition of a waiting Fetch, and says whether there may be enough now. It never
/// says no when an evaluation of everything would answer.
fn may_be_done(node: &mut Node, id: RequestId, partition: PartitionId) -> bool {
    let Some(Pending::Fetch(fetch)) = node.waiting.get_mut(id) else { return false };
    let from = fetch.watched.partition_point(|(id, ..)| *id < partition);
    let mut enough = false;
    for at in from..fetch.watched.len() {
        let Some(Pending::Fetch(fetch)) = node.waiting.get_mut(id) else { return false };
        let (watched, topic, index) = fetch.watched[at];
        if watched != partition {
            break;
        }
        let (isolation, limit, min_bytes) = (fetch.isolation, fetch.max_bytes, fetch.min_bytes);
        let part = &mut fetch.topics[topic].partitions[index];
        let (before, offset, limit) = (part.bytes, part.offset, part.max_bytes.min(limit));
        let Some(log) = node.partitions.get(&partition) else { return true };
        if offset < log.log_start() || check_epoch(log, part.leader_epoch).is_err() {
            return true;
        }
        let bound = log.fetch_bound(isolation);
        if offset >= bound {
            mark!(FetchWokenInVain);
            continue;
        }
        if min_bytes <= 1 {
            return true;
        }
        let outcome = node.store.peek(partition, offset, bound, limit);
        let Some(bytes) = outcome else { return true };
        let Some(Pending::Fetch(fetch)) = node.waiting.get_mut(id) else { return false };
        fetch.topics[topic].partitions[index].bytes = bytes;
        fetch.total = fetch.total.saturating_sub(before).saturating_add(bytes);
        enough |= fetch.total >= min_bytes;
    }
    enough
}

/// Waits for its partitions to move, and for its deadline.
fn watch(node: &mut Node, fetch: &mut PendingFetch) {
    let id = fetch.context.id;
    for (topic, entry) in fetch.topics.iter().enumerate() {
        for (index, part) in entry.partitions.iter().enumerate() {
            if let Ok(partition) = part.id {
                node.waiting.watch(partition, id);
                fetch.watched.push((partition, topic, index));
            }
        }
    }
    fetch.watched.sort_unstable();
    node.timers.set(fetch.deadline, Timer::Deadline(id));
}

/// A Fetch that ends lets go of its partitions and its timer.
pub(crate) fn cancel(node: &mut Node, id: RequestId, fetch: &PendingFetch) {
    for (partition, ..) in &fetch.watched {
        node.waiting.unwatch(*partition, id);
    }
    node.timers.cancel(fetch.deadline, Timer::Deadline(id));
}

fn respond(node: &mut Node, mut fetch: PendingFetch) {
    let id = fetch.context.id;
    cancel(node, id, &fetch);
    let session_id = match fetch.session {
        Use::Sessionless => 0,
        Use::Creates => create_session(node, &fetch),
        Use::Continues { id: session, epoch } => {
            if !node.fetch_sessions.is_at(session, epoch) {
                return refuse(node, id, ErrorCode::InvalidFetchSessionEpoch);
            }
            keep_news(node, session, &mut fetch);
            session
        }
    };
    let version = fetch.context.version;
    let mut responses = Vec::with_capacity(fetch.topics.len());
    let mut records = Vec::with_capacity(fetch.topics.len());
    let mut leaders = BTreeSet::new();
    let files = name_files(node, &fetch.topics);
    for topic in fetch.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        let mut parts = Vec::with_capacity(topic.partitions.len());
        for mut part in topic.partitions {
            leaders.extend(tell_leader(node, version, &mut part));
            partitions.push(part.data);
            parts.push(part.records);
        }
        responses.push(FetchableTopicResponse {
            topic: topic.name.to_kafka(),
            topic_id: topic.topic_id.to_kafka(),
            partitions,
            ..Default::default()
        });
        records.push(parts);
    }
    let leaders = if version >= 16 { leaders } else { BTreeSet::new() };
    let node_endpoints = leaders
        .into_iter()
        .filter_map(|id| node.member_of(id))
        .map(|member| NodeEndpoint {
            node_id: member.id,
            host: KafkaString::from(member.host),
            port: member.port,
            ..Default::default()
        })
        .collect();
    let data = FetchResponseData { session_id, responses, node_endpoints, ..Default::default() };
    node.respond(id, Response::Fetch(FetchResponse { data, records, files }));
}

/// The files that hold the records of an answer, too, as of now: the number of a partition over
/// all topics, and its file.
fn name_files(node: &Node, topics: &[Topic]) -> Vec<(usize, FileRun)> {
    let min_bytes = node.config.verdict_sendfile_min_bytes;
    let parts = topics.iter().flat_map(|topic| &topic.partitions).enumerate();
    parts
        .filter_map(|(number, part)| {
            let run = node.store.file_run(part.id.ok()?, part.place?, min_bytes)?;
            Some((number, run))
        })
        .collect()
}

/// Names the leader to who asks the wrong one.
fn tell_leader(node: &Node, version: i16, part: &mut Part) -> Option<NodeId> {
    let code = part.data.error_code;
    let wrong = code == ErrorCode::NotLeaderOrFollower.code()
        || code == ErrorCode::FencedLeaderEpoch.code();
    if version < 12 || !wrong {
        return None;
    }
    let Leader { node: leader_id, epoch: leader_epoch } = node.leader_of(part.id.ok()?)?;
    part.data.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch, ..Default::default() };
    Some(leader_id)
}

fn told(part: &Part) -> Told {
    Told {
        has_records: part.records.iter().any(|records| !records.is_empty()),
        failed: part.data.error_code != 0,
        high_watermark: part.data.high_watermark,
        log_start: part.data.log_start_offset,
    }
}

fn key(topic: &Topic, part: &Part) -> Key {
    (topic.sent.clone(), topic.topic_id, part.index)
}

/// The id of the session that begins with this answer; 0 when there is no room for it.
fn create_session(node: &mut Node, fetch: &PendingFetch) -> i32 {
    let slots = usize::try_from(node.config.max_incremental_fetch_session_cache_slots);
    let limits = Limits {
        slots: slots.unwrap_or(0),
        eviction_ms: node.config.verdict_fetch_session_eviction_ms,
    };
    let now_ms = node.now.at.as_ms();
    let parts = fetch.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(move |part| {
            let max_bytes = i32::try_from(part.max_bytes).unwrap_or(i32::MAX);
            let cached = Cached::new(part.offset, part.leader_epoch, max_bytes);
            (key(topic, part), cached, told(part))
        })
    });
    let by_id = fetch.context.version >= BY_ID;
    node.fetch_sessions.create(now_ms, limits, by_id, parts)
}

/// Drops what the session's client knows already.
fn keep_news(node: &mut Node, session: i32, fetch: &mut PendingFetch) {
    let sessions = &mut node.fetch_sessions;
    for topic in &mut fetch.topics {
        let parts = core::mem::take(&mut topic.partitions);
        for part in parts {
            if sessions.tell(session, &key(topic, &part), &told(&part)) {
                topic.partitions.push(part);
            }
        }
    }
    fetch.topics.retain(|topic| !topic.partitions.is_empty());
}
