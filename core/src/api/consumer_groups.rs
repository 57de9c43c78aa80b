//! What members and administrators of consumer groups ask (KIP-848): ConsumerGroupHeartbeat and
//! ConsumerGroupDescribe.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::consumer_group_describe_response::{
    Assignment as DescribedAssignment, DescribedGroup, Member,
    TopicPartitions as DescribedPartitions,
};
use kacrab_protocol::generated::consumer_group_heartbeat_request::TopicPartitions as OwnedPartitions;
use kacrab_protocol::generated::consumer_group_heartbeat_response::{Assignment, TopicPartitions};
use kacrab_protocol::generated::{
    ConsumerGroupDescribeRequestData, ConsumerGroupDescribeResponseData,
    ConsumerGroupHeartbeatRequestData, ConsumerGroupHeartbeatResponseData,
};

use super::Context;
use super::groups::{PendingGroup, kafka};
use super::offsets::text;
use super::operations;
use super::waiting::Pending;
use crate::error::ErrorCode;
use crate::group::{
    ConsumerBeat, ConsumerHeartbeat, DescribedConsumer, DescribedConsumerGroup, GroupError,
};
use crate::meta::GROUP_VERSION;
use crate::node::Node;
use crate::types::{TopicId, TopicName};
use crate::wire::Response;

/// The type of a member that speaks the classic protocol, and of one that does not.
const MEMBER_CLASSIC: i8 = 0;
const MEMBER_CONSUMER: i8 = 1;

/// Consumer groups are for clusters whose finalized `group.version` says so.
fn is_enabled(node: &Node) -> bool {
    node.meta.feature_level(GROUP_VERSION) >= 1
}

pub(crate) fn heartbeat(
    node: &mut Node,
    context: Context,
    request: &ConsumerGroupHeartbeatRequestData,
) {
    let (conn, id) = (context.conn, context.id);
    if !is_enabled(node) {
        let data = ConsumerGroupHeartbeatResponseData::default()
            .with_error_code(ErrorCode::UnsupportedVersion.code());
        return node.respond(id, Response::ConsumerGroupHeartbeat(data));
    }
    let topics = request.subscribed_topic_names.as_ref();
    let owned = request.topic_partitions.as_ref().map(|owned| {
        let topic = |one: &OwnedPartitions| (TopicId::from(one.topic_id), one.partitions.clone());
        owned.iter().map(topic).collect()
    });
    let beat = ConsumerHeartbeat {
        version: context.version,
        group: Arc::from(request.group_id.as_str()),
        member: Arc::from(request.member_id.as_str()),
        epoch: request.member_epoch,
        instance: text(request.instance_id.as_ref()),
        rack: text(request.rack_id.as_ref()),
        rebalance_timeout_ms: request.rebalance_timeout_ms,
        topics: topics
            .map(|topics| topics.iter().map(|name| TopicName::from(name.as_str())).collect()),
        regex: text(request.subscribed_topic_regex.as_ref()),
        assignor: text(request.server_assignor.as_ref()),
        owned,
        client_id: context.client_id,
        client_host: node.waiting.host(conn),
    };
    node.waiting.insert(conn, id, Pending::Group(PendingGroup::ConsumerHeartbeat));
    let now = node.now;
    node.group.consumer_heartbeat(now, id, &beat);
}

/// The group coordinator's word.
pub(super) fn beat(result: Result<ConsumerBeat, GroupError>) -> Response {
    let data = ConsumerGroupHeartbeatResponseData::default();
    Response::ConsumerGroupHeartbeat(match result {
        Ok(beat) => data
            .with_member_id(Some(kafka(&beat.member)))
            .with_member_epoch(beat.epoch)
            .with_heartbeat_interval_ms(beat.interval_ms)
            .with_assignment(beat.assignment.map(|partitions| {
                let topics = partitions.into_iter().map(|(topic, partitions)| TopicPartitions {
                    topic_id: topic.to_kafka(),
                    partitions: partitions.into_iter().collect(),
                    ..Default::default()
                });
                Box::new(Assignment { topic_partitions: topics.collect(), ..Default::default() })
            })),
        Err(error) => data
            .with_error_code(ErrorCode::from(&error).code())
            .with_error_message(Some(KafkaString::from(error.to_string()))),
    })
}

pub(crate) fn describe(
    node: &mut Node,
    context: &Context,
    request: &ConsumerGroupDescribeRequestData,
) {
    let enabled = is_enabled(node);
    let may = operations::if_asked(request.include_authorized_operations, operations::OF_GROUPS);
    let groups = request.group_ids.iter().map(|id| {
        let found = match (enabled, id.as_str()) {
            (false, _) => Err(GroupError::UnsupportedVersion),
            (true, "") => Err(GroupError::InvalidGroupId),
            (true, group) => node.group.describe_consumer(group),
        };
        match found {
            Ok(group) => {
                DescribedGroup { authorized_operations: may, ..described(id.clone(), &group) }
            }
            Err(error) => refused(node, id, error),
        }
    });
    let data = ConsumerGroupDescribeResponseData { groups: groups.collect(), ..Default::default() };
    node.respond(context.id, Response::ConsumerGroupDescribe(data));
}

fn refused(node: &Node, id: &KafkaString, error: GroupError) -> DescribedGroup {
    let is_classic = node.group.state(id.as_str()).is_some();
    let message = (error == GroupError::GroupIdNotFound).then(|| match is_classic {
        true => format!("Group {} is not a consumer group.", id.as_str()),
        false => format!("Group {} not found.", id.as_str()),
    });
    DescribedGroup {
        group_id: id.clone(),
        error_code: ErrorCode::from(&error).code(),
        error_message: message.map(KafkaString::from),
        ..Default::default()
    }
}

fn described(group_id: KafkaString, group: &DescribedConsumerGroup) -> DescribedGroup {
    DescribedGroup {
        group_id,
        group_state: kafka(group.state.name()),
        group_epoch: group.epoch,
        assignment_epoch: group.target_epoch,
        assignor_name: kafka(&group.assignor),
        members: group.members.iter().map(member).collect(),
        ..Default::default()
    }
}

fn member(member: &DescribedConsumer) -> Member {
    Member {
        member_id: kafka(&member.id),
        instance_id: member.instance.as_deref().map(kafka),
        rack_id: member.rack.as_deref().map(kafka),
        member_epoch: member.epoch,
        client_id: kafka(&member.client_id),
        client_host: kafka(&member.client_host),
        subscribed_topic_names: member.topics.iter().map(TopicName::to_kafka).collect(),
        subscribed_topic_regex: member.regex.as_deref().map(kafka),
        assignment: assignment(&member.assignment),
        target_assignment: assignment(&member.target),
        member_type: if member.is_classic { MEMBER_CLASSIC } else { MEMBER_CONSUMER },
        ..Default::default()
    }
}

fn assignment(partitions: &[(TopicId, TopicName, Vec<i32>)]) -> DescribedAssignment {
    let topics = partitions.iter().map(|(topic_id, name, partitions)| DescribedPartitions {
        topic_id: topic_id.to_kafka(),
        topic_name: name.to_kafka(),
        partitions: partitions.clone(),
        ..Default::default()
    });
    DescribedAssignment { topic_partitions: topics.collect(), ..Default::default() }
}
