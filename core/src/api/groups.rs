//! What members of classic groups ask: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.
//!
//! A Join waits until its generation begins, a Sync until the leader's assignment is persisted.
//! A connection that closes meanwhile drops the answer, not the member: its session tells.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::join_group_response::JoinGroupResponseMember;
use kacrab_protocol::generated::leave_group_response::MemberResponse;
use kacrab_protocol::generated::{
    HeartbeatRequestData, HeartbeatResponseData, JoinGroupRequestData, JoinGroupResponseData,
    LeaveGroupRequestData, LeaveGroupResponseData, SyncGroupRequestData, SyncGroupResponseData,
};

use super::Context;
use super::group_admin::PendingGroupAdmin;
use super::offsets::text;
use super::waiting::Pending;
use crate::error::ErrorCode;
use crate::group::{
    GroupError, GroupReply, Heartbeat, JoinGroup, JoinReply, LeaveReply, LeavingMember, Protocol,
    SyncGroup, Synced,
};
use crate::io::RequestId;
use crate::node::Node;
use crate::wire::Response;

/// From this version a member is given its id before it joins (KIP-394).
const JOIN_KNOWS_MEMBER_ID_REQUIRED: i16 = 4;
/// From this version the protocol's name may be null.
const JOIN_NULL_PROTOCOL: i16 = 7;
/// From this version a leader can be told to keep the assignment (KIP-814).
const JOIN_KNOWS_SKIP: i16 = 9;
/// From this version a Sync must say what it takes the group for (KIP-559).
const SYNC_NAMES_PROTOCOL: i16 = 5;
/// From this version several members can leave at once (KIP-345).
const LEAVE_LISTS_MEMBERS: i16 = 3;

/// A request about a group that waits.
#[derive(Clone, Debug)]
pub(crate) enum PendingGroup {
    Join { version: i16 },
    Sync,
    Leave { version: i16 },
    ConsumerHeartbeat,
    Admin(PendingGroupAdmin),
}

pub(super) fn kafka(text: &str) -> KafkaString {
    KafkaString::from(String::from(text))
}

pub(super) fn code_of(result: Result<(), GroupError>) -> ErrorCode {
    result.err().map_or(ErrorCode::None, |error| (&error).into())
}

/// What is kept of a request must not keep the whole frame.
fn copied(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

pub(crate) fn join(node: &mut Node, context: Context, request: JoinGroupRequestData) {
    let (conn, id, version) = (context.conn, context.id, context.version);
    let protocols = request.protocols.iter().map(|one| Protocol {
        name: Arc::from(one.name.as_str()),
        metadata: copied(&one.metadata),
    });
    let join = JoinGroup {
        group: Arc::from(request.group_id.as_str()),
        member: Arc::from(request.member_id.as_str()),
        instance: text(request.group_instance_id.as_ref()),
        client_id: context.client_id,
        client_host: node.waiting.host(conn),
        session_timeout_ms: request.session_timeout_ms,
        // v0 knew one timeout only.
        rebalance_timeout_ms: match version {
            0 => request.session_timeout_ms,
            _ => request.rebalance_timeout_ms,
        },
        protocol_type: Arc::from(request.protocol_type.as_str()),
        protocols: protocols.collect(),
        knows_member_id_required: version >= JOIN_KNOWS_MEMBER_ID_REQUIRED,
        knows_skip_assignment: version >= JOIN_KNOWS_SKIP,
    };
    node.waiting.insert(conn, id, Pending::Group(PendingGroup::Join { version }));
    let now = node.now;
    node.group.join(now, id, join);
}

pub(crate) fn sync(node: &mut Node, context: Context, request: SyncGroupRequestData) {
    let (conn, id) = (context.conn, context.id);
    node.waiting.insert(conn, id, Pending::Group(PendingGroup::Sync));
    let names_protocol = request.protocol_type.is_some() && request.protocol_name.is_some();
    if context.version >= SYNC_NAMES_PROTOCOL && !names_protocol {
        return reply(node, id, GroupReply::Sync(Err(GroupError::InconsistentProtocol)));
    }
    let assignments = request.assignments.iter();
    let sync = SyncGroup {
        group: Arc::from(request.group_id.as_str()),
        generation: request.generation_id,
        member: Arc::from(request.member_id.as_str()),
        instance: text(request.group_instance_id.as_ref()),
        protocol_type: text(request.protocol_type.as_ref()),
        protocol: text(request.protocol_name.as_ref()),
        assignments: assignments
            .map(|one| (Arc::from(one.member_id.as_str()), copied(&one.assignment)))
            .collect(),
    };
    let now = node.now;
    node.group.sync(now, id, sync);
}

pub(crate) fn heartbeat(node: &mut Node, context: &Context, request: &HeartbeatRequestData) {
    let beat = Heartbeat {
        group: Arc::from(request.group_id.as_str()),
        generation: request.generation_id,
        member: Arc::from(request.member_id.as_str()),
        instance: text(request.group_instance_id.as_ref()),
    };
    let now = node.now;
    let code = code_of(node.group.heartbeat(now, &beat));
    let data = HeartbeatResponseData { error_code: code.code(), ..Default::default() };
    node.respond(context.id, Response::Heartbeat(data));
}

pub(crate) fn leave(node: &mut Node, context: &Context, request: &LeaveGroupRequestData) {
    let (conn, id, version) = (context.conn, context.id, context.version);
    let leaving = if version < LEAVE_LISTS_MEMBERS {
        vec![LeavingMember { id: Arc::from(request.member_id.as_str()), instance: None }]
    } else {
        let members = request.members.iter().map(|one| LeavingMember {
            id: Arc::from(one.member_id.as_str()),
            instance: text(one.group_instance_id.as_ref()),
        });
        members.collect()
    };
    node.waiting.insert(conn, id, Pending::Group(PendingGroup::Leave { version }));
    let now = node.now;
    node.group.leave(now, id, &Arc::from(request.group_id.as_str()), leaving);
}

/// The group coordinator's word on anything but a commit.
pub(crate) fn reply(node: &mut Node, id: RequestId, reply: GroupReply) {
    let Some(Pending::Group(pending)) = node.waiting.take(id) else { return };
    let response = match (pending, reply) {
        (PendingGroup::Join { version }, GroupReply::Join(reply)) => joined(version, *reply),
        (PendingGroup::Sync, GroupReply::Sync(result)) => synced(result),
        (PendingGroup::Leave { version }, GroupReply::Leave(reply)) => left(version, &reply),
        (PendingGroup::ConsumerHeartbeat, GroupReply::ConsumerHeartbeat(result)) => {
            super::consumer_groups::beat(*result)
        }
        (PendingGroup::Admin(pending), reply) => {
            return super::group_admin::reply(node, id, pending, reply);
        }
        _ => return,
    };
    node.respond(id, response);
}

fn joined(version: i16, reply: JoinReply) -> Response {
    let protocol = reply.protocol.as_deref().map(kafka);
    let members = reply.members.iter().map(|member| JoinGroupResponseMember {
        member_id: kafka(&member.id),
        group_instance_id: member.instance.as_deref().map(kafka),
        metadata: member.metadata.clone(),
        ..Default::default()
    });
    Response::JoinGroup(JoinGroupResponseData {
        error_code: code_of(reply.result).code(),
        generation_id: reply.generation,
        protocol_type: reply.protocol_type.as_deref().map(kafka),
        protocol_name: match protocol {
            None if version < JOIN_NULL_PROTOCOL => Some(KafkaString::default()),
            protocol => protocol,
        },
        leader: kafka(&reply.leader),
        skip_assignment: reply.skip_assignment,
        member_id: kafka(&reply.member),
        members: members.collect(),
        ..Default::default()
    })
}

fn synced(result: Result<Synced, GroupError>) -> Response {
    let data = SyncGroupResponseData::default();
    Response::SyncGroup(match result {
        Ok(synced) => SyncGroupResponseData {
            protocol_type: synced.protocol_type.as_deref().map(kafka),
            protocol_name: synced.protocol.as_deref().map(kafka),
            assignment: synced.assignment,
            ..data
        },
        Err(error) => SyncGroupResponseData { error_code: ErrorCode::from(&error).code(), ..data },
    })
}

fn left(version: i16, reply: &LeaveReply) -> Response {
    let whole = code_of(reply.result);
    let data = LeaveGroupResponseData::default();
    if version < LEAVE_LISTS_MEMBERS {
        let member = reply.members.first().map_or(ErrorCode::None, |(_, result)| code_of(*result));
        let code = if whole == ErrorCode::None { member } else { whole };
        return Response::LeaveGroup(LeaveGroupResponseData { error_code: code.code(), ..data });
    }
    let members = reply.members.iter().map(|(member, result)| MemberResponse {
        member_id: kafka(&member.id),
        group_instance_id: member.instance.as_deref().map(kafka),
        error_code: code_of(*result).code(),
        ..Default::default()
    });
    let members = members.collect();
    Response::LeaveGroup(LeaveGroupResponseData { error_code: whole.code(), members, ..data })
}
