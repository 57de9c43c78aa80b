//! Requests: what each API asks of the machines, and the answer it makes of what they say.
//!
//! One file per API family. A request that cannot be answered at once is kept in [`Waiting`]
//! until its last part is there, its deadline passes, or its connection closes.

mod add_partitions;
mod admin;
mod api_versions;
pub(crate) mod changes;
mod cluster;
mod configs;
mod consumer_groups;
pub(crate) mod delete_records;
pub(crate) mod fetch;
mod fetch_sessions;
mod group_admin;
pub(crate) mod groups;
mod leader_epochs;
mod list_offsets;
pub(crate) mod offsets;
mod operations;
pub(crate) mod produce;
mod quorum;
mod replicas;
mod security;
pub(crate) mod topics;
pub(crate) mod transactions;
mod txn_offsets;
mod waiting;
pub(crate) mod write_txn_markers;

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub(crate) use self::fetch_sessions::FetchSessions;
pub(crate) use self::waiting::{Pending, ReadPurpose, Waiting};
use crate::error::ErrorCode;
use crate::io::{ConnId, Output, RequestId};
use crate::node::Node;
use crate::store::{Batches, StorageError};
use crate::txn::VerifyId;
use crate::types::TopicPartition;
use crate::wire::Request;

/// Who asks, and in which version the answer is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) id: RequestId,
    pub(crate) conn: ConnId,
    pub(crate) version: i16,
    pub(crate) client_id: Arc<str>,
    /// It was parked for a topic's creation, and is not parked for one again.
    pub(crate) resumed: bool,
}

/// Takes a request.
pub(crate) fn dispatch(node: &mut Node, context: Context, request: Request) {
    if !node.view().is_serving() && !matches!(request, Request::ApiVersions(_)) {
        return refuse_all(node, &context, &request);
    }
    resume(node, context, request);
}

/// Takes a request, or takes it up again.
pub(crate) fn resume(node: &mut Node, context: Context, request: Request) {
    match request {
        Request::ApiVersions(request) => api_versions::handle(node, &context, &request),
        Request::ApiVersionsUnsupported => api_versions::unsupported(node, &context),
        Request::Metadata(request) => topics::metadata(node, context, request),
        Request::CreateTopics(_)
        | Request::DeleteTopics(_)
        | Request::CreatePartitions(_)
        | Request::AlterConfigs(_)
        | Request::IncrementalAlterConfigs(_)
        | Request::UpdateFeatures(_)
            if node.cluster.is_some() =>
        {
            refuse_as_member(node, &context, &request);
        }
        Request::CreateTopics(request) => topics::create(node, context, request),
        Request::DeleteTopics(request) => topics::delete(node, context, request),
        Request::DeleteRecords(request) => delete_records::handle(node, context, request),
        Request::InitProducerId(request) => transactions::init_producer_id(node, context, request),
        Request::FindCoordinator(request) => cluster::find_coordinator(node, context, request),
        Request::AddPartitionsToTxn(request) => add_partitions::handle(node, context, request),
        Request::AddOffsetsToTxn(request) => transactions::add_offsets(node, context, request),
        Request::Produce(request) => produce::handle(node, context, request),
        Request::TxnOffsetCommit(request) => txn_offsets::handle(node, context, request),
        Request::OffsetCommit(request) => offsets::commit(node, context, request),
        Request::OffsetFetch(request) => offsets::fetch(node, &context, request),
        Request::JoinGroup(request) => groups::join(node, context, request),
        Request::SyncGroup(request) => groups::sync(node, context, request),
        Request::Heartbeat(request) => groups::heartbeat(node, &context, &request),
        Request::LeaveGroup(request) => groups::leave(node, &context, &request),
        Request::ConsumerGroupHeartbeat(request) => {
            consumer_groups::heartbeat(node, context, &request);
        }
        Request::ConsumerGroupDescribe(request) => {
            consumer_groups::describe(node, &context, &request);
        }
        Request::DescribeGroups(request) => group_admin::describe(node, &context, &request),
        Request::ListGroups(request) => group_admin::list(node, &context, &request),
        Request::DeleteGroups(request) => group_admin::delete(node, context, &request),
        Request::OffsetDelete(request) => group_admin::delete_offsets(node, &context, &request),
        Request::EndTxn(request) => transactions::end_txn(node, context, request),
        Request::WriteTxnMarkers(request) => write_txn_markers::handle(node, context, request),
        Request::Fetch(request) => fetch::handle(node, context, request),
        Request::ListOffsets(request) => list_offsets::handle(node, context, request),
        Request::DescribeProducers(request) => {
            admin::describe_producers(node, &context, &request);
        }
        Request::DescribeTransactions(request) => {
            admin::describe_transactions(node, &context, &request);
        }
        Request::ListTransactions(request) => admin::list_transactions(node, &context, &request),
        Request::DescribeCluster(request) => cluster::describe(node, &context, &request),
        other => resume_admin(node, context, other),
    }
}

/// The requests about configuration and the cluster.
fn resume_admin(node: &mut Node, context: Context, request: Request) {
    match request {
        Request::DescribeConfigs(request) => configs::describe(node, &context, &request),
        Request::AlterConfigs(request) => configs::alter(node, context, request),
        Request::IncrementalAlterConfigs(request) => {
            configs::incremental_alter(node, context, request);
        }
        Request::ListConfigResources(request) => configs::list(node, &context, &request),
        Request::CreatePartitions(request) => topics::create_partitions(node, context, request),
        Request::DescribeTopicPartitions(request) => {
            topics::describe_partitions(node, &context, &request);
        }
        Request::OffsetForLeaderEpoch(request) => leader_epochs::handle(node, &context, &request),
        Request::ElectLeaders(request) => replicas::elect_leaders(node, &context, &request),
        Request::AlterPartitionReassignments(request) => {
            replicas::alter_reassignments(node, &context, &request);
        }
        Request::ListPartitionReassignments(_) => replicas::list_reassignments(node, &context),
        Request::DescribeLogDirs(request) => {
            replicas::describe_log_dirs(node, &context, &request);
        }
        Request::AlterReplicaLogDirs(request) => {
            replicas::alter_log_dirs(node, &context, &request);
        }
        Request::DescribeQuorum(request) => quorum::describe(node, &context, &request),
        Request::UpdateFeatures(request) => quorum::update_features(node, context, request),
        Request::DescribeAcls(_) => security::describe_acls(node, &context),
        Request::CreateAcls(request) => security::create_acls(node, &context, &request),
        Request::DeleteAcls(request) => security::delete_acls(node, &context, &request),
        Request::DescribeClientQuotas(_) => security::describe_quotas(node, &context),
        Request::DescribeUserScramCredentials(request) => {
            security::describe_scram(node, &context, &request);
        }
        // `resume` takes the others.
        other => refuse_all(node, &context, &other),
    }
}

/// Topics of a cluster are created and deleted elsewhere: its members only hear of it.
fn refuse_as_member(node: &mut Node, context: &Context, request: &Request) {
    let code = ErrorCode::NotController;
    match crate::wire::error_response(request, context.version, code) {
        Some(response) => node.respond(context.id, response),
        None => node.output(Output::Disconnect { id: context.id, reason: "not the controller" }),
    }
}

/// What stands more than once in a request.
fn repeated<T: Ord + Copy>(items: impl Iterator<Item = T>) -> BTreeSet<T> {
    let mut seen = BTreeSet::new();
    items.filter(|item| !seen.insert(*item)).collect()
}

/// The answer while the node is not serving: the request's own error shape.
fn refuse_all(node: &mut Node, context: &Context, request: &Request) {
    let code = match request {
        Request::Produce(_) | Request::Fetch(_) | Request::ListOffsets(_) => {
            ErrorCode::NotLeaderOrFollower
        }
        Request::InitProducerId(_)
        | Request::AddPartitionsToTxn(_)
        | Request::AddOffsetsToTxn(_)
        | Request::EndTxn(_)
        | Request::TxnOffsetCommit(_)
        | Request::OffsetCommit(_)
        | Request::OffsetFetch(_)
        | Request::JoinGroup(_)
        | Request::SyncGroup(_)
        | Request::LeaveGroup(_)
        | Request::ConsumerGroupHeartbeat(_)
        | Request::ConsumerGroupDescribe(_)
        | Request::DescribeGroups(_)
        | Request::ListGroups(_)
        | Request::DeleteGroups(_)
        | Request::OffsetDelete(_) => ErrorCode::CoordinatorLoadInProgress,
        // A member is to keep its assignment while its group is being loaded.
        Request::Heartbeat(_) => ErrorCode::None,
        _ => ErrorCode::CoordinatorNotAvailable,
    };
    match crate::wire::error_response(request, context.version, code) {
        Some(response) => node.respond(context.id, response),
        None => node.output(Output::Disconnect { id: context.id, reason: "not serving yet" }),
    }
}

/// A connection closed: what it waits for is dropped. What is under way in the machines goes on.
pub(crate) fn forget_connection(node: &mut Node, conn: ConnId) {
    node.waiting.forget_host(conn);
    for id in node.waiting.of_connection(conn) {
        if let Some(pending) = node.waiting.take(id) {
            waiting::cancel(node, id, &pending);
        }
    }
}

/// A waiting request's time is over.
pub(crate) fn deadline(node: &mut Node, id: RequestId) {
    match node.waiting.get(id) {
        Some(Pending::Produce(_)) => produce::timed_out(node, id),
        Some(Pending::Fetch(_)) => fetch::timed_out(node, id),
        _ => {}
    }
}

/// The coordinator's answer to a leader's question.
pub(crate) fn verified(
    node: &mut Node,
    verify: VerifyId,
    whole: ErrorCode,
    mut results: Vec<(TopicPartition, ErrorCode)>,
) {
    let Some(id) = node.waiting.verified(verify) else { return };
    match node.waiting.get(id) {
        Some(Pending::Produce(pending)) => {
            if whole != ErrorCode::None {
                results = pending.verifying().map(|to| (to, whole)).collect();
            }
            produce::verified(node, id, &results);
        }
        Some(Pending::TxnOffsets(_)) => {
            let first = results.first().map_or(ErrorCode::None, |(_, code)| *code);
            let code = if whole == ErrorCode::None { first } else { whole };
            txn_offsets::verified(node, id, code);
        }
        _ => {}
    }
}

/// A read of stored bytes ended.
pub(crate) fn read_done(
    node: &mut Node,
    purpose: ReadPurpose,
    result: Result<Batches, StorageError>,
) {
    match purpose {
        ReadPurpose::Load { loading, id, next } => match result {
            Ok(found) => match node.load_parts(loading, &found.parts) {
                Some(after) if after > next => node.load_on(loading, id, after),
                _ => node.load_failed(loading, &"no batch at the load's offset"),
            },
            Err(error) => node.load_failed(loading, &error),
        },
        ReadPurpose::Fetch { request, topic, partition } => {
            fetch::read_done(node, request, topic, partition, result);
        }
        ReadPurpose::ListOffsets { request, part } => {
            list_offsets::read_done(node, request, part, result);
        }
    }
}
