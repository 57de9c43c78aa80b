//! Classic groups as clients meet them: whole requests on files in memory.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::join_group_request::JoinGroupRequestProtocol;
use kacrab_protocol::generated::leave_group_request::MemberIdentity;
use kacrab_protocol::generated::sync_group_request::SyncGroupRequestAssignment;
use kacrab_protocol::generated::{
    DeleteGroupsRequestData, DescribeGroupsRequestData, FindCoordinatorRequestData,
    HeartbeatRequestData, JoinGroupRequestData, JoinGroupResponseData, LeaveGroupRequestData,
    ListGroupsRequestData, SyncGroupRequestData,
};

use super::testing::Bench;
use crate::error::ErrorCode;
use crate::io::{ConnId, Input, RequestId};
use crate::wire::{Request, Response};

const G: KafkaString = KafkaString::from_static("g");

fn join(member: &KafkaString) -> Request {
    Request::JoinGroup(JoinGroupRequestData {
        group_id: G,
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 30_000,
        member_id: member.clone(),
        protocol_type: KafkaString::from_static("consumer"),
        protocols: vec![JoinGroupRequestProtocol {
            name: KafkaString::from_static("range"),
            metadata: Bytes::from_static(b"meta"),
            ..Default::default()
        }],
        ..Default::default()
    })
}

fn sync(
    member: &KafkaString,
    generation_id: i32,
    given: &[(&KafkaString, &'static [u8])],
) -> Request {
    let given = given.iter().map(|(member, assignment)| SyncGroupRequestAssignment {
        member_id: (*member).clone(),
        assignment: Bytes::from_static(assignment),
        ..Default::default()
    });
    Request::SyncGroup(SyncGroupRequestData {
        group_id: G,
        generation_id,
        member_id: member.clone(),
        protocol_type: Some(KafkaString::from_static("consumer")),
        protocol_name: Some(KafkaString::from_static("range")),
        assignments: given.collect(),
        ..Default::default()
    })
}

fn beat(bench: &mut Bench, member: &KafkaString, generation_id: i32) -> ErrorCode {
    let request = Request::Heartbeat(HeartbeatRequestData {
        group_id: G,
        generation_id,
        member_id: member.clone(),
        ..Default::default()
    });
    let Response::Heartbeat(answer) = bench.ask(4, request) else { panic!() };
    ErrorCode::from(answer.error_code)
}

/// A node that coordinates groups: as in Kafka, who asks for the coordinator has it be there.
fn serving() -> Bench {
    let mut bench = Bench::start();
    let coordinator_keys = vec![G];
    let request = FindCoordinatorRequestData { coordinator_keys, ..Default::default() };
    let id = bench.send(4, Request::FindCoordinator(request));
    bench.pass_ms(1_000);
    let Some(Response::FindCoordinator(found)) = bench.take(id) else { panic!() };
    assert_eq!(found.coordinators.len(), 1);
    bench
}

fn joined(bench: &mut Bench, id: RequestId) -> JoinGroupResponseData {
    let Some(Response::JoinGroup(answer)) = bench.take(id) else { panic!("no answer to a Join") };
    answer
}

/// A member's id, and its Join that waits.
fn enter(bench: &mut Bench) -> (KafkaString, RequestId) {
    let Response::JoinGroup(answer) = bench.ask(9, join(&KafkaString::default())) else { panic!() };
    assert_eq!(answer.error_code, ErrorCode::MemberIdRequired.code());
    assert_eq!((answer.generation_id, answer.protocol_name), (-1, None));
    let id = bench.send(9, join(&answer.member_id));
    (answer.member_id, id)
}

fn assignment(bench: &mut Bench, id: RequestId) -> Bytes {
    let Some(Response::SyncGroup(answer)) = bench.take(id) else { panic!("no answer to a Sync") };
    assert_eq!(answer.error_code, 0);
    answer.assignment
}

#[test]
fn two_members_share_a_group_through_a_crash_and_leave_it() {
    let mut bench = serving();
    let conn = ConnId(1);
    bench.input(Input::ConnectionOpened { conn, host: Arc::from("/10.0.0.1") });
    let ((a, join_a), (b, join_b)) = (enter(&mut bench), enter(&mut bench));
    bench.pass_ms(7_000);
    let (reply_a, reply_b) = (joined(&mut bench, join_a), joined(&mut bench, join_b));
    assert_eq!(reply_a.leader, reply_b.leader);
    let (leader, other) = if reply_a.leader == a { (a, b) } else { (b, a) };
    let waiting = bench.send(5, sync(&other, 1, &[]));
    let led = bench.send(5, sync(&leader, 1, &[(&leader, b"L"), (&other, b"O")]));
    assert_eq!(assignment(&mut bench, led), "L");
    assert_eq!(assignment(&mut bench, waiting), "O");

    let mut bench = bench.crash();
    assert_eq!(beat(&mut bench, &other, 1), ErrorCode::None);
    let again = bench.send(5, sync(&other, 1, &[]));
    assert_eq!(assignment(&mut bench, again), "O");
    let request = DescribeGroupsRequestData { groups: vec![G], ..Default::default() };
    let described = bench.ask(6, Request::DescribeGroups(request));
    let Response::DescribeGroups(described) = described else { panic!() };
    let group = &described.groups[0];
    assert_eq!((group.group_state.as_str(), group.protocol_data.as_str()), ("Stable", "range"));
    assert_eq!(group.members[0].client_host.as_str(), "/10.0.0.1");
    assert_eq!(group.members[0].member_metadata, "meta");

    for member in [&leader, &other] {
        let members = vec![MemberIdentity { member_id: member.clone(), ..Default::default() }];
        let request = LeaveGroupRequestData { group_id: G, members, ..Default::default() };
        let Response::LeaveGroup(left) = bench.ask(5, Request::LeaveGroup(request)) else {
            panic!()
        };
        assert_eq!((left.error_code, left.members[0].error_code), (0, 0));
    }
    bench.pass_ms(60_000);
    let Response::ListGroups(listed) =
        bench.ask(5, Request::ListGroups(ListGroupsRequestData::default()))
    else {
        panic!()
    };
    assert_eq!(listed.groups[0].group_state.as_str(), "Empty");
    let groups_names = vec![G, KafkaString::from_static("none")];
    let request = DeleteGroupsRequestData { groups_names, ..Default::default() };
    let Response::DeleteGroups(deleted) = bench.ask(3, Request::DeleteGroups(request)) else {
        panic!()
    };
    let codes: Vec<i16> = deleted.results.iter().map(|one| one.error_code).collect();
    assert_eq!(codes, [0, ErrorCode::GroupIdNotFound.code()]);
}

#[test]
fn a_connection_that_closes_while_its_join_waits_leaves_its_member_to_its_session() {
    let mut bench = serving();
    let (member, join) = enter(&mut bench);
    bench.input(Input::ConnectionClosed { conn: ConnId(1) });
    bench.pass_ms(7_000);
    assert_eq!(bench.take(join), None);
    assert_eq!(beat(&mut bench, &member, 1), ErrorCode::None);
    bench.pass_ms(60_000);
    assert_eq!(beat(&mut bench, &member, 1), ErrorCode::UnknownMemberId);
}
