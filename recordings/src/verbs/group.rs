//! Members of groups, classic and of KIP-848, as far as transactions need them.

use bytes::{BufMut, Bytes, BytesMut};
use kacrab_protocol::generated::join_group_request::JoinGroupRequestProtocol;
use kacrab_protocol::generated::leave_group_request::MemberIdentity;
use kacrab_protocol::generated::{
    ConsumerGroupHeartbeatRequestData, ConsumerGroupHeartbeatResponseData, HeartbeatRequestData,
    JoinGroupRequestData, JoinGroupResponseData, LeaveGroupRequestData, LeaveGroupResponseData,
    SyncGroupRequestData,
};
use verdict_core::wire::Request;

use super::{Call, code, each, result};
use crate::args::{Args, Fault};
use crate::names::{Names, wire};

const PROTOCOL_TYPE: &str = "consumer";
const PROTOCOL: &str = "range";

fn member(args: &mut Args<'_>, names: &Names) -> Result<kacrab_protocol::KafkaString, Fault> {
    names.member_id(&args.named::<String>("member")?.unwrap_or_default())
}

fn instance(args: &mut Args<'_>) -> Result<Option<kacrab_protocol::KafkaString>, Fault> {
    Ok(args.named::<String>("instance")?.map(|id| wire(&id)))
}

/// A subscription, version 0, to nothing.
fn subscription() -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_i16(0);
    bytes.put_i32(0);
    bytes.put_i32(-1);
    bytes.freeze()
}

/// `join GROUP [member=M1] [instance=I] [session=MS] [rebalance=MS]`: JoinGroup.
pub(super) fn join(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let protocol =
        JoinGroupRequestProtocol::default().with_name(wire(PROTOCOL)).with_metadata(subscription());
    let data = JoinGroupRequestData::default()
        .with_group_id(names.outside(args.word("a group")?))
        .with_session_timeout_ms(args.named("session")?.unwrap_or(30_000))
        .with_rebalance_timeout_ms(args.named("rebalance")?.unwrap_or(30_000))
        .with_member_id(member(args, names)?)
        .with_group_instance_id(instance(args)?)
        .with_protocol_type(wire(PROTOCOL_TYPE))
        .with_protocols(vec![protocol]);
    Ok(Call::new(args.version(9), Request::JoinGroup(data)))
}

pub(super) fn show_join(data: &JoinGroupResponseData, names: &mut Names) -> String {
    let error = code(data.error_code);
    let member = names.member(data.member_id.as_str());
    match data.error_code {
        0 => {
            let leader = names.member(data.leader.as_str());
            format!("{error} {member} gen={} leader={leader}", data.generation_id)
        }
        79 => format!("{error} {member}"),
        _ => error,
    }
}

/// `sync GROUP member=M1 gen=N [instance=I]`: SyncGroup; the leader assigns nothing.
pub(super) fn sync(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let data = SyncGroupRequestData::default()
        .with_group_id(names.outside(args.word("a group")?))
        .with_generation_id(args.named("gen")?.unwrap_or(-1))
        .with_member_id(member(args, names)?)
        .with_group_instance_id(instance(args)?)
        .with_protocol_type(Some(wire(PROTOCOL_TYPE)))
        .with_protocol_name(Some(wire(PROTOCOL)));
    Ok(Call::new(args.version(5), Request::SyncGroup(data)))
}

/// `beat GROUP member=M1 gen=N [instance=I]`: Heartbeat.
pub(super) fn beat(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let data = HeartbeatRequestData::default()
        .with_group_id(names.outside(args.word("a group")?))
        .with_generation_id(args.named("gen")?.unwrap_or(-1))
        .with_member_id(member(args, names)?)
        .with_group_instance_id(instance(args)?);
    Ok(Call::new(args.version(4), Request::Heartbeat(data)))
}

/// `leave GROUP member=M1 [instance=I]`: LeaveGroup.
pub(super) fn leave(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let version = args.version(5);
    let group = names.outside(args.word("a group")?);
    let member = member(args, names)?;
    let data = LeaveGroupRequestData::default().with_group_id(group);
    let data = if version < 3 {
        data.with_member_id(member)
    } else {
        let identity = MemberIdentity::default()
            .with_member_id(member)
            .with_group_instance_id(instance(args)?);
        data.with_members(vec![identity])
    };
    Ok(Call::new(version, Request::LeaveGroup(data)))
}

pub(super) fn show_leave(version: i16, data: &LeaveGroupResponseData, names: &mut Names) -> String {
    if version < 3 || data.error_code != 0 {
        return code(data.error_code);
    }
    let results = data
        .members
        .iter()
        .map(|left| (names.member(left.member_id.as_str()), code(left.error_code)));
    each(results.collect())
}

/// `member GROUP member=ID epoch=N [subscribe=TOPIC]`: ConsumerGroupHeartbeat; epoch 0 joins, -1
/// leaves. The member's id is the file's.
pub(super) fn member_of(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let epoch = args.named("epoch")?.unwrap_or(0);
    let topic = args.named::<String>("subscribe")?;
    let topics = topic.map(|topic| vec![names.outside(&topic)]);
    let data = ConsumerGroupHeartbeatRequestData::default()
        .with_group_id(names.outside(args.word("a group")?))
        .with_member_id(member(args, names)?)
        .with_member_epoch(epoch)
        .with_rebalance_timeout_ms(if epoch == 0 { 30_000 } else { -1 })
        .with_topic_partitions((epoch == 0).then(Vec::new))
        .with_subscribed_topic_names(topics);
    Ok(Call::new(args.version(1), Request::ConsumerGroupHeartbeat(data)))
}

pub(super) fn show_member(data: &ConsumerGroupHeartbeatResponseData) -> String {
    result(data.error_code, || format!("epoch={}", data.member_epoch))
}
