//! Who the cluster is, and who coordinates a key: DescribeCluster, FindCoordinator.

use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::describe_cluster_response::{
    DescribeClusterBroker, DescribeClusterResponseData,
};
use kacrab_protocol::generated::find_coordinator_response::{
    Coordinator, FindCoordinatorResponseData,
};
use kacrab_protocol::generated::{DescribeClusterRequestData, FindCoordinatorRequestData};

use super::Context;
use crate::error::ErrorCode;
use crate::node::Node;
use crate::types::{CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, TopicName};
use crate::wire::{Request, Response};

/// FindCoordinator's key types.
const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
/// What is answered for operations nobody asked to be told.
pub(super) const NO_OPERATIONS: i32 = i32::MIN;
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
    if node.meta.topic(topic).is_none() {
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

fn answer(
    node: &Node,
    request: &FindCoordinatorRequestData,
    batched: bool,
    code: ErrorCode,
) -> FindCoordinatorResponseData {
    let fine = code == ErrorCode::None;
    let node_id = if fine { node.config.node_id } else { -1 };
    let host = if fine {
        KafkaString::from(node.config.advertised_host.clone())
    } else {
        KafkaString::default()
    };
    let port = if fine { node.config.advertised_port } else { -1 };
    if !batched {
        let message = if fine { "NONE".into() } else { alloc::format!("{code}") };
        return FindCoordinatorResponseData {
            error_code: code.code(),
            error_message: Some(KafkaString::from(message)),
            node_id,
            host,
            port,
            ..Default::default()
        };
    }
    let coordinators = request
        .coordinator_keys
        .iter()
        .map(|key| Coordinator {
            key: key.clone(),
            node_id,
            host: host.clone(),
            port,
            error_code: code.code(),
            error_message: Some(KafkaString::default()),
            ..Default::default()
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
            cluster_authorized_operations: NO_OPERATIONS,
            ..Default::default()
        };
        return node.respond(context.id, Response::DescribeCluster(data));
    }
    let data = DescribeClusterResponseData {
        endpoint_type: BROKERS,
        cluster_id: KafkaString::from(alloc::string::String::from(
            node.meta.cluster_id().unwrap_or(""),
        )),
        controller_id: node.config.node_id,
        brokers: alloc::vec![DescribeClusterBroker {
            broker_id: node.config.node_id,
            host: KafkaString::from(node.config.advertised_host.clone()),
            port: node.config.advertised_port,
            rack: None,
            is_fenced: false,
            ..Default::default()
        }],
        cluster_authorized_operations: NO_OPERATIONS,
        ..Default::default()
    };
    node.respond(context.id, Response::DescribeCluster(data));
}
