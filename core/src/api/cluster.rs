//! Who the cluster is, and who coordinates a key: DescribeCluster, FindCoordinator.

use alloc::string::String;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::describe_cluster_response::{
    DescribeClusterBroker, DescribeClusterResponseData,
};
use kacrab_protocol::generated::find_coordinator_response::{
    Coordinator, FindCoordinatorResponseData,
};
use kacrab_protocol::generated::{DescribeClusterRequestData, FindCoordinatorRequestData};

use super::{Context, operations};
use crate::cluster::Member;
use crate::error::ErrorCode;
use crate::node::Node;
use crate::types::{
    CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, TopicName, TopicPartition, partition_for,
};
use crate::wire::{Request, Response};

/// FindCoordinator's key types.
const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
/// DescribeCluster's endpoint type for brokers.
const BROKERS: i8 = 1;

pub(crate) fn find_coordinator(
    node: &mut Node,
    context: Context,
    request: FindCoordinatorRequestData,
) {
    let batched = context.version >= 4;
    let topic = match request.key_type {
        GROUP => CONSUMER_OFFSETS_TOPIC,
        TRANSACTION => TRANSACTION_STATE_TOPIC,
        _ => {
            let data = answer(node, &request, batched, ErrorCode::InvalidRequest);
            return node.respond(context.id, Response::FindCoordinator(data));
        }
    };
    if node.meta.topic(topic).is_none() && node.cluster.is_none() {
        match node.create_internal_topic(topic) {
            Ok(()) if !context.resumed => {
                let topics = alloc::vec![TopicName::from(topic)];
                return node.after_creation(context, Request::FindCoordinator(request), topics);
            }
            _ => {
                let data = answer(node, &request, batched, ErrorCode::CoordinatorNotAvailable);
                return node.respond(context.id, Response::FindCoordinator(data));
            }
        }
    }
    let data = answer(node, &request, batched, ErrorCode::None);
    node.respond(context.id, Response::FindCoordinator(data));
}

/// Where the coordinator of a key is; `None` when nobody is known to lead its partition.
fn coordinator(node: &Node, key_type: i8, key: &str) -> Option<Member> {
    let to = if key_type == TRANSACTION {
        TopicPartition::new(TRANSACTION_STATE_TOPIC, node.txn.partition_of(key))
    } else {
        let partitions = node.config.offsets_topic_num_partitions;
        TopicPartition::new(CONSUMER_OFFSETS_TOPIC, partition_for(key, partitions))
    };
    let leader = node.leader_of(node.meta.partition_id(&to)?)?;
    node.member_of(leader.node)
}

/// One key's answer: the code, and the coordinator when there is no error.
fn found(node: &Node, key_type: i8, key: &str, code: ErrorCode) -> (ErrorCode, Member) {
    let found = if code == ErrorCode::None { coordinator(node, key_type, key) } else { None };
    let nobody = Member { id: -1, host: String::new(), port: -1 };
    match (found, code) {
        (Some(member), _) => (code, member),
        (None, ErrorCode::None) => (ErrorCode::CoordinatorNotAvailable, nobody),
        (None, code) => (code, nobody),
    }
}

fn answer(
    node: &Node,
    request: &FindCoordinatorRequestData,
    batched: bool,
    code: ErrorCode,
) -> FindCoordinatorResponseData {
    if !batched {
        let (code, member) = found(node, request.key_type, request.key.as_str(), code);
        let fine = code == ErrorCode::None;
        let message = if fine { "NONE".into() } else { alloc::format!("{code}") };
        return FindCoordinatorResponseData {
            error_code: code.code(),
            error_message: Some(KafkaString::from(message)),
            node_id: member.id,
            host: KafkaString::from(member.host),
            port: member.port,
            ..Default::default()
        };
    }
    let coordinators = request
        .coordinator_keys
        .iter()
        .map(|key| {
            let (code, member) = found(node, request.key_type, key.as_str(), code);
            Coordinator {
                key: key.clone(),
                node_id: member.id,
                host: KafkaString::from(member.host),
                port: member.port,
                error_code: code.code(),
                error_message: Some(KafkaString::default()),
                ..Default::default()
            }
        })
        .collect::<Vec<_>>();
    FindCoordinatorResponseData { coordinators, ..Default::default() }
}

pub(crate) fn describe(node: &mut Node, context: &Context, request: &DescribeClusterRequestData) {
    if context.version >= 1 && request.endpoint_type != BROKERS {
        let data = DescribeClusterResponseData {
            error_code: ErrorCode::MismatchedEndpointType.code(),
            endpoint_type: BROKERS,
            controller_id: -1,
            cluster_authorized_operations: operations::NOT_ASKED,
            ..Default::default()
        };
        return node.respond(context.id, Response::DescribeCluster(data));
    }
    let data = DescribeClusterResponseData {
        endpoint_type: BROKERS,
        cluster_id: KafkaString::from(String::from(node.meta.cluster_id().unwrap_or(""))),
        controller_id: node.config.node_id,
        brokers: node
            .members()
            .into_iter()
            .map(|member| DescribeClusterBroker {
                broker_id: member.id,
                host: KafkaString::from(member.host),
                port: member.port,
                rack: None,
                is_fenced: false,
                ..Default::default()
            })
            .collect(),
        cluster_authorized_operations: operations::if_asked(
            request.include_cluster_authorized_operations,
            operations::OF_CLUSTERS,
        ),
        ..Default::default()
    };
    node.respond(context.id, Response::DescribeCluster(data));
}
