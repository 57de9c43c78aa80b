//! What administrators ask about groups: DescribeGroups, ListGroups, DeleteGroups, OffsetDelete.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::describe_groups_response::{
    DescribedGroup as KafkaGroup, DescribedGroupMember,
};
use kacrab_protocol::generated::list_groups_response::ListedGroup as KafkaListed;
use kacrab_protocol::generated::offset_delete_response::{
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use kacrab_protocol::generated::{
    DeleteGroupsRequestData, DescribeGroupsRequestData, DescribeGroupsResponseData,
    ListGroupsRequestData, ListGroupsResponseData, OffsetDeleteRequestData,
    OffsetDeleteResponseData,
};

use super::Context;
use super::groups::{PendingGroup, code_of, kafka};
use super::offsets::{check_partition, resolve};
use super::operations;
use super::waiting::Pending;
use crate::error::ErrorCode;
use crate::group::{DescribedGroup, GroupError, GroupId, GroupReply};
use crate::io::RequestId;
use crate::node::Node;
use crate::types::{TopicId, TopicName, TopicPartition};
use crate::wire::{DeleteGroupsResponse, DeletedGroup, Response};

/// From this version DescribeGroups says that there is no such group (KIP-1043).
const DESCRIBE_NOT_FOUND: i16 = 6;

/// An administrator's request that waits to be persisted.
#[derive(Clone, Debug)]
pub(crate) enum PendingGroupAdmin {
    DeleteGroups { context: Context, results: Vec<(GroupId, Option<Result<(), GroupError>>)> },
    OffsetDelete { topics: Vec<(KafkaString, Vec<(i32, ErrorCode)>)> },
}

pub(crate) fn describe(node: &mut Node, context: &Context, request: &DescribeGroupsRequestData) {
    let may = operations::if_asked(request.include_authorized_operations, operations::OF_GROUPS);
    let groups = request.groups.iter().map(|id| {
        let found = node.group.describe(id.as_str());
        // Of a group that is not there nothing is told of what may be done with it.
        let authorized_operations = if found.is_ok() { may } else { operations::NOT_ASKED };
        let group_id = id.clone();
        let not_found = || match node.group.has_consumer_group(id.as_str()) {
            true => format!("Group {} is not a classic group.", id.as_str()),
            false => format!("Group {} not found.", id.as_str()),
        };
        let group = described(context.version, found, not_found);
        KafkaGroup { group_id, authorized_operations, ..group }
    });
    let data = DescribeGroupsResponseData { groups: groups.collect(), ..Default::default() };
    node.respond(context.id, Response::DescribeGroups(data));
}

fn described(
    version: i16,
    group: Result<DescribedGroup, GroupError>,
    not_found: impl Fn() -> String,
) -> KafkaGroup {
    let nothing = KafkaGroup::default();
    match group {
        Ok(group) => KafkaGroup {
            group_state: kafka(group.state.name()),
            protocol_type: kafka(&group.protocol_type),
            protocol_data: kafka(&group.protocol),
            members: group
                .members
                .iter()
                .map(|member| DescribedGroupMember {
                    member_id: kafka(&member.id),
                    group_instance_id: member.instance.as_deref().map(kafka),
                    client_id: kafka(&member.client_id),
                    client_host: kafka(&member.client_host),
                    member_metadata: member.metadata.clone(),
                    member_assignment: member.assignment.clone(),
                    ..Default::default()
                })
                .collect(),
            ..nothing
        },
        Err(GroupError::GroupIdNotFound) => KafkaGroup {
            group_state: kafka("Dead"),
            error_code: match version {
                DESCRIBE_NOT_FOUND.. => ErrorCode::GroupIdNotFound.code(),
                _ => ErrorCode::None.code(),
            },
            error_message: (version >= DESCRIBE_NOT_FOUND).then(|| KafkaString::from(not_found())),
            ..nothing
        },
        Err(error) => KafkaGroup { error_code: ErrorCode::from(&error).code(), ..nothing },
    }
}

pub(crate) fn list(node: &mut Node, context: &Context, request: &ListGroupsRequestData) {
    let data = ListGroupsResponseData::default();
    let data = match node.group.list() {
        Err(error) => ListGroupsResponseData { error_code: ErrorCode::from(&error).code(), ..data },
        Ok(groups) => {
            let wanted = |filter: &[KafkaString], is: &str| {
                filter.is_empty()
                    || filter.iter().any(|one| one.as_str().trim().eq_ignore_ascii_case(is))
            };
            let groups = groups
                .iter()
                .filter(|group| wanted(&request.states_filter, group.state))
                .filter(|group| wanted(&request.types_filter, group.kind))
                .map(|group| KafkaListed {
                    group_id: kafka(&group.id),
                    protocol_type: kafka(&group.protocol_type),
                    group_state: kafka(group.state),
                    group_type: kafka(group.kind),
                    ..Default::default()
                });
            ListGroupsResponseData { groups: groups.collect(), ..data }
        }
    };
    node.respond(context.id, Response::ListGroups(data));
}

pub(crate) fn delete(node: &mut Node, context: Context, request: &DeleteGroupsRequestData) {
    let (conn, id) = (context.conn, context.id);
    // Each group once, in the order they came.
    let mut seen = BTreeSet::new();
    let groups = request.groups_names.iter().map(|id| Arc::from(id.as_str()));
    let groups: Vec<GroupId> = groups.filter(|id: &GroupId| seen.insert(id.clone())).collect();
    let results = groups.iter().map(|group| (group.clone(), None)).collect();
    let pending = PendingGroupAdmin::DeleteGroups { context, results };
    if groups.is_empty() {
        return go_on(node, id, pending);
    }
    node.waiting.insert(conn, id, Pending::Group(PendingGroup::Admin(pending)));
    let now = node.now;
    for group in &groups {
        node.group.delete_group(now, id, group);
    }
}

pub(crate) fn delete_offsets(
    node: &mut Node,
    context: &Context,
    request: &OffsetDeleteRequestData,
) {
    let mut wanted = Vec::new();
    let mut topics = Vec::new();
    for topic in &request.topics {
        let known = resolve(node, false, topic.name.as_str(), TopicId::default());
        let mut codes = Vec::new();
        for part in &topic.partitions {
            let code = check_partition(node, false, known.as_ref(), part.partition_index);
            if code == ErrorCode::None {
                let partition = part.partition_index;
                let topic = TopicName::from(topic.name.as_str());
                wanted.push(TopicPartition { topic, partition });
            }
            codes.push((part.partition_index, code));
        }
        topics.push((topic.name.clone(), codes));
    }
    let pending = PendingGroupAdmin::OffsetDelete { topics };
    // Asked also when no partition is left: there may be no such group.
    let id = context.id;
    node.waiting.insert(context.conn, id, Pending::Group(PendingGroup::Admin(pending)));
    let now = node.now;
    node.group.delete_offsets(now, id, &Arc::from(request.group_id.as_str()), wanted);
}

/// The group coordinator's word.
pub(super) fn reply(
    node: &mut Node,
    id: RequestId,
    mut pending: PendingGroupAdmin,
    reply: GroupReply,
) {
    match (&mut pending, reply) {
        (PendingGroupAdmin::DeleteGroups { results, .. }, GroupReply::Deleted(group, result)) => {
            if let Some((_, slot)) = results.iter_mut().find(|(id, _)| *id == group) {
                *slot = Some(result);
            }
        }
        (PendingGroupAdmin::OffsetDelete { topics }, GroupReply::OffsetsDeleted(Ok(results))) => {
            let mut results = results.into_iter();
            for (_, code) in topics.iter_mut().flat_map(|(_, partitions)| partitions) {
                if *code == ErrorCode::None {
                    *code = results.next().map_or(ErrorCode::None, |(_, one)| code_of(one));
                }
            }
        }
        (PendingGroupAdmin::OffsetDelete { .. }, GroupReply::OffsetsDeleted(Err(error))) => {
            let error_code = ErrorCode::from(&error).code();
            let data = OffsetDeleteResponseData { error_code, ..Default::default() };
            return node.respond(id, Response::OffsetDelete(data));
        }
        _ => {}
    }
    go_on(node, id, pending);
}

/// Answers, or waits for the groups that are left.
fn go_on(node: &mut Node, id: RequestId, pending: PendingGroupAdmin) {
    let response = match pending {
        PendingGroupAdmin::DeleteGroups { context, results } => {
            if results.iter().any(|(_, result)| result.is_none()) {
                let conn = context.conn;
                let pending = PendingGroupAdmin::DeleteGroups { context, results };
                let pending = Pending::Group(PendingGroup::Admin(pending));
                return node.waiting.insert(conn, id, pending);
            }
            deleted(results)
        }
        PendingGroupAdmin::OffsetDelete { topics } => offsets_deleted(topics),
    };
    node.respond(id, response);
}

fn deleted(results: Vec<(GroupId, Option<Result<(), GroupError>>)>) -> Response {
    let results = results.into_iter().map(|(group, result)| {
        let error = result.and_then(Result::err);
        DeletedGroup {
            group_id: kafka(&group),
            error_code: error.map_or(ErrorCode::None, |error| (&error).into()).code(),
            // Apache Kafka has the field and leaves it null.
            error_message: None,
        }
    });
    let results = results.collect();
    Response::DeleteGroups(DeleteGroupsResponse { throttle_time_ms: 0, results })
}

fn offsets_deleted(topics: Vec<(KafkaString, Vec<(i32, ErrorCode)>)>) -> Response {
    let topics = topics.into_iter().map(|(name, partitions)| OffsetDeleteResponseTopic {
        name,
        partitions: partitions
            .into_iter()
            .map(|(partition_index, code)| OffsetDeleteResponsePartition {
                partition_index,
                error_code: code.code(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    });
    let topics = topics.collect();
    Response::OffsetDelete(OffsetDeleteResponseData { topics, ..Default::default() })
}
