//! The cost of one request as groups grow: each has a member, and each member commits in turn.

use std::time::Instant;

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::join_group_request::JoinGroupRequestProtocol;
use kacrab_protocol::generated::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kacrab_protocol::generated::sync_group_request::SyncGroupRequestAssignment;
use kacrab_protocol::generated::{
    HeartbeatRequestData, JoinGroupRequestData, OffsetCommitRequestData, SyncGroupRequestData,
};
use verdict_core::wire::{Request, Response};

use super::link::{Link, LinkError, check, persistently};
use super::sample::Sample;
use super::setup::{create_topic, find_group_coordinator};
use super::workload::Run;

/// The last versions in which a member needs no id to join with.
const JOIN_GROUP: i16 = 3;
const SYNC_GROUP: i16 = 2;
const HEARTBEAT: i16 = 2;
const OFFSET_COMMIT: i16 = 6;
/// How long a member may be silent, in ms: longer than a bench.
const SESSION_TIMEOUT_MS: i32 = 300_000;
/// A heartbeat after so many commits.
const COMMITS_PER_HEARTBEAT: usize = 10;

struct Member {
    group: KafkaString,
    id: KafkaString,
    generation: i32,
}

/// So many groups of one member, committing in turn over one connection.
pub(super) fn groups(run: &mut Run<'_>, count: i32) -> Result<Sample, LinkError> {
    let topic = run.name("groups");
    create_topic(&run.address, &topic, 1)?;
    let mut link = Link::connect(&run.address)?;
    find_group_coordinator(&mut link, &topic)?;
    let members = join_all(run, &topic, count)?;
    run.measured(|end| {
        let began = Instant::now();
        let mut sample = Sample::default();
        while Instant::now() < end {
            let at = sample.operations as usize;
            let member = &members[at % members.len()];
            let since = Instant::now();
            commit(&mut link, &topic, member, at as i64)?;
            sample.took(since);
            sample.operations += 1;
            if at.is_multiple_of(COMMITS_PER_HEARTBEAT) {
                heartbeat(&mut link, member)?;
            }
        }
        sample.elapsed = began.elapsed();
        Ok(sample)
    })
}

/// A member for each group. Brokers wait for more members before they answer the first
/// (`group.initial.rebalance.delay.ms`), so all of them join beside each other.
fn join_all(run: &Run<'_>, topic: &str, count: i32) -> Result<Vec<Member>, LinkError> {
    let mut links = Vec::new();
    for index in 0..count {
        let group = KafkaString::from(format!("{topic}-{index}"));
        let mut link = Link::connect(&run.address)?;
        send_join(&mut link, &group)?;
        links.push((group, link));
    }
    links.into_iter().map(|(group, mut link)| joined(&mut link, group)).collect()
}

fn join(group: &KafkaString) -> Request {
    let protocol = JoinGroupRequestProtocol::default()
        .with_name(KafkaString::from_static("range"))
        .with_metadata(Bytes::from_static(&[0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]));
    let data = JoinGroupRequestData::default()
        .with_group_id(group.clone())
        .with_session_timeout_ms(SESSION_TIMEOUT_MS)
        .with_rebalance_timeout_ms(SESSION_TIMEOUT_MS)
        .with_protocol_type(KafkaString::from_static("consumer"))
        .with_protocols(vec![protocol]);
    Request::JoinGroup(data)
}

fn send_join(link: &mut Link, group: &KafkaString) -> Result<(), LinkError> {
    link.post(JOIN_GROUP, &join(group))
}

fn joined(link: &mut Link, group: KafkaString) -> Result<Member, LinkError> {
    let Response::JoinGroup(first) = link.answer(JOIN_GROUP, &join(&group))? else {
        return Err(LinkError::Unexpected);
    };
    let mut answer = Some(first);
    // A coordinator that is still loading refuses for now.
    let answer = persistently(|| {
        let answer = match answer.take() {
            Some(answer) => answer,
            None => match link.call(JOIN_GROUP, &join(&group))? {
                Response::JoinGroup(answer) => answer,
                _ => return Err(LinkError::Unexpected),
            },
        };
        check("JoinGroup", answer.error_code).map(|()| answer)
    })?;
    let member = Member { group, id: answer.member_id, generation: answer.generation_id };
    let assignment = SyncGroupRequestAssignment::default()
        .with_member_id(member.id.clone())
        .with_assignment(Bytes::from_static(&[0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]));
    let data = SyncGroupRequestData::default()
        .with_group_id(member.group.clone())
        .with_generation_id(member.generation)
        .with_member_id(member.id.clone())
        .with_assignments(vec![assignment]);
    match link.call(SYNC_GROUP, &Request::SyncGroup(data))? {
        Response::SyncGroup(answer) => check("SyncGroup", answer.error_code).map(|()| member),
        _ => Err(LinkError::Unexpected),
    }
}

fn commit(link: &mut Link, topic: &str, member: &Member, offset: i64) -> Result<(), LinkError> {
    let partition = OffsetCommitRequestPartition::default()
        .with_partition_index(0)
        .with_committed_offset(offset);
    let topic = OffsetCommitRequestTopic::default()
        .with_name(KafkaString::from(topic.to_owned()))
        .with_partitions(vec![partition]);
    let data = OffsetCommitRequestData::default()
        .with_group_id(member.group.clone())
        .with_generation_id_or_member_epoch(member.generation)
        .with_member_id(member.id.clone())
        .with_topics(vec![topic]);
    let Response::OffsetCommit(answer) = link.call(OFFSET_COMMIT, &Request::OffsetCommit(data))?
    else {
        return Err(LinkError::Unexpected);
    };
    let mut codes = answer.topics.iter().flat_map(|topic| &topic.partitions);
    codes.try_for_each(|partition| check("OffsetCommit", partition.error_code))
}

fn heartbeat(link: &mut Link, member: &Member) -> Result<(), LinkError> {
    let data = HeartbeatRequestData::default()
        .with_group_id(member.group.clone())
        .with_generation_id(member.generation)
        .with_member_id(member.id.clone());
    match link.call(HEARTBEAT, &Request::Heartbeat(data))? {
        Response::Heartbeat(answer) => check("Heartbeat", answer.error_code),
        _ => Err(LinkError::Unexpected),
    }
}
