//! ListConfigResources (KIP-1142): what has settings.

use alloc::string::ToString;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::ListConfigResourcesRequestData;
use kacrab_protocol::generated::list_config_resources_response::{
    ConfigResource, ListConfigResourcesResponseData,
};

use super::{BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC};
use crate::api::Context;
use crate::error::ErrorCode;
use crate::node::Node;
use crate::wire::Response;

pub(crate) fn list(node: &mut Node, context: &Context, request: &ListConfigResourcesRequestData) {
    let known = [TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP];
    // v0 asks for client metrics, of which there are none.
    let asked: Vec<i8> = match context.version {
        0 => alloc::vec![CLIENT_METRICS],
        _ if request.resource_types.is_empty() => known.to_vec(),
        _ => request.resource_types.clone(),
    };
    if asked.iter().any(|resource_type| !known.contains(resource_type)) {
        let code = ErrorCode::UnsupportedVersion.code();
        let data = ListConfigResourcesResponseData { error_code: code, ..Default::default() };
        return node.respond(context.id, Response::ListConfigResources(data));
    }
    let resource = |resource_name: KafkaString, resource_type| ConfigResource {
        resource_name,
        resource_type,
        ..Default::default()
    };
    let mut config_resources = Vec::new();
    if asked.contains(&TOPIC) {
        let topics = node.meta.topics().map(|topic| resource(topic.name.to_kafka(), TOPIC));
        config_resources.extend(topics);
    }
    if asked.contains(&GROUP) {
        let named = |group: &alloc::sync::Arc<str>| KafkaString::from(group.to_string());
        let groups = node.meta.groups_with_configs().map(|group| resource(named(group), GROUP));
        config_resources.extend(groups);
    }
    let own = KafkaString::from(node.config.node_id.to_string());
    for of_brokers in [BROKER, BROKER_LOGGER].into_iter().filter(|one| asked.contains(one)) {
        config_resources.push(resource(own.clone(), of_brokers));
    }
    let data = ListConfigResourcesResponseData { config_resources, ..Default::default() };
    node.respond(context.id, Response::ListConfigResources(data));
}
