//! What members of classic groups ask, and what they read from the answers.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kacrab_protocol::generated as k;
use verdict_core::wire::{
    Request, TxnOffsetCommitPartition, TxnOffsetCommitRequest, TxnOffsetCommitTopic,
};

use crate::clients::TOPIC;
use crate::clients::requests::text;
use crate::history::Part;

/// The name of the one assignor.
const PROTOCOL: &str = "spread";

/// Who a member is, as far as it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Membership {
    pub(super) group: String,
    /// "" until the coordinator has given one.
    pub(super) member: String,
    pub(super) instance: Option<String>,
    pub(super) generation: i32,
}

/// How long a member may be silent, and how long a rebalance may take, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// `session.timeout.ms`.
    pub session_ms: i32,
    /// `max.poll.interval.ms`, which is the rebalance timeout.
    pub rebalance_ms: i32,
}

/// `variant` is told apart by the coordinator: another one is another subscription.
pub(super) fn join(of: &Membership, timeouts: Timeouts, variant: i32) -> Request {
    let mut metadata = BytesMut::new();
    metadata.put_i16(0);
    metadata.put_i32(1);
    metadata.put_i16(TOPIC.len() as i16);
    metadata.put_slice(TOPIC.as_bytes());
    metadata.put_i32(4);
    metadata.put_i32(variant);
    let protocol = k::join_group_request::JoinGroupRequestProtocol {
        name: text(PROTOCOL),
        metadata: metadata.freeze(),
        ..Default::default()
    };
    Request::JoinGroup(k::JoinGroupRequestData {
        group_id: text(&of.group),
        session_timeout_ms: timeouts.session_ms,
        rebalance_timeout_ms: timeouts.rebalance_ms,
        member_id: text(&of.member),
        group_instance_id: of.instance.as_deref().map(text),
        protocol_type: text("consumer"),
        protocols: vec![protocol],
        ..Default::default()
    })
}

/// `plan`: what the leader gives to whom.
pub(super) fn sync(of: &Membership, plan: &[(String, Vec<Part>)]) -> Request {
    let assignments =
        plan.iter().map(|(member, parts)| k::sync_group_request::SyncGroupRequestAssignment {
            member_id: text(member),
            assignment: assignment(parts),
            ..Default::default()
        });
    Request::SyncGroup(k::SyncGroupRequestData {
        group_id: text(&of.group),
        generation_id: of.generation,
        member_id: text(&of.member),
        group_instance_id: of.instance.as_deref().map(text),
        protocol_type: Some(text("consumer")),
        protocol_name: Some(text(PROTOCOL)),
        assignments: assignments.collect(),
        ..Default::default()
    })
}

pub(super) fn heartbeat(of: &Membership) -> Request {
    Request::Heartbeat(k::HeartbeatRequestData {
        group_id: text(&of.group),
        generation_id: of.generation,
        member_id: text(&of.member),
        group_instance_id: of.instance.as_deref().map(text),
        ..Default::default()
    })
}

pub(super) fn leave(of: &Membership) -> Request {
    let member = k::leave_group_request::MemberIdentity {
        member_id: text(&of.member),
        group_instance_id: of.instance.as_deref().map(text),
        ..Default::default()
    };
    Request::LeaveGroup(k::LeaveGroupRequestData {
        group_id: text(&of.group),
        members: vec![member],
        ..Default::default()
    })
}

/// Offsets in a transaction, as a member of its generation.
pub(super) fn txn_offset_commit(
    id: &str,
    (pid, epoch): (i64, i16),
    of: &Membership,
    part: Part,
    offset: i64,
) -> Request {
    Request::TxnOffsetCommit(TxnOffsetCommitRequest {
        transactional_id: text(id),
        group_id: text(&of.group),
        producer_id: pid,
        producer_epoch: epoch,
        generation_id: of.generation,
        member_id: text(&of.member),
        group_instance_id: of.instance.as_deref().map(text),
        topics: vec![TxnOffsetCommitTopic {
            name: TOPIC.into(),
            topic_id: verdict_core::types::TopicId(0),
            partitions: vec![TxnOffsetCommitPartition {
                partition: i32::from(part),
                committed_offset: offset,
                committed_leader_epoch: -1,
                committed_metadata: None,
            }],
        }],
    })
}

/// A `ConsumerProtocolAssignment` of version 0: what a coordinator reads that takes over a group.
fn assignment(parts: &[Part]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(20 + parts.len() * 4);
    bytes.put_i16(0);
    bytes.put_i32(1);
    bytes.put_i16(TOPIC.len() as i16);
    bytes.put_slice(TOPIC.as_bytes());
    bytes.put_i32(parts.len() as i32);
    parts.iter().for_each(|&part| bytes.put_i32(i32::from(part)));
    bytes.put_i32(-1);
    bytes.freeze()
}

/// The partitions of the topic in an assignment; none in an empty one.
pub(super) fn assigned(mut bytes: Bytes) -> Vec<Part> {
    let mut parts = Vec::new();
    let Ok(_version) = bytes.try_get_i16() else { return parts };
    for _ in 0..bytes.try_get_i32().unwrap_or(0) {
        let length = usize::from(bytes.try_get_u16().unwrap_or(0)).min(bytes.len());
        let topic = bytes.split_to(length);
        for _ in 0..bytes.try_get_i32().unwrap_or(0) {
            let Ok(part) = bytes.try_get_i32() else { return parts };
            if topic == TOPIC.as_bytes() {
                parts.push(part as Part);
            }
        }
    }
    parts
}

/// Every partition to one of the members, in turn.
pub(super) fn spread(mut members: Vec<String>, parts: Part) -> Vec<(String, Vec<Part>)> {
    members.sort();
    let count = members.len();
    let of = |at: usize| (0..parts).filter(|&part| usize::from(part) % count == at).collect();
    members.into_iter().enumerate().map(|(at, member)| (member, of(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partition_goes_to_one_member() {
        let plan = spread(vec!["b".to_owned(), "a".to_owned()], 3);
        assert_eq!(plan, [("a".to_owned(), vec![0, 2]), ("b".to_owned(), vec![1])]);
    }

    #[test]
    fn an_assignment_is_read_back() {
        let of = Membership::default();
        let Request::SyncGroup(request) = sync(&of, &[("a".to_owned(), vec![0, 258])]) else {
            panic!("a Sync is a Sync");
        };
        assert_eq!(assigned(request.assignments[0].assignment.clone()), [0, 258]);
    }
}
