//! DescribeConfigs: values with sources, types, synonyms and what they are for.

use alloc::string::String;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::DescribeConfigsRequestData;
use kacrab_protocol::generated::describe_configs_request::DescribeConfigsResource;
use kacrab_protocol::generated::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResponseData, DescribeConfigsResult,
    DescribeConfigsSynonym,
};

use super::{BROKER, GROUP, Refused, TOPIC, check_broker, each, unsupported};
use crate::api::Context;
use crate::error::ErrorCode;
use crate::meta::{Described, check_topic_name};
use crate::node::Node;
use crate::wire::Response;

/// What a request wants to know beside the values.
#[derive(Clone, Copy)]
struct Detail {
    synonyms: bool,
    documentation: bool,
}

pub(crate) fn describe(node: &mut Node, context: &Context, request: &DescribeConfigsRequestData) {
    let detail =
        Detail { synonyms: request.include_synonyms, documentation: request.include_documentation };
    let found = each(
        &request.resources,
        |one| (one.resource_type, &one.resource_name),
        |one| match one.resource_type {
            TOPIC => topic(node, one.resource_name.as_str()),
            BROKER => broker(node, one.resource_name.as_str()),
            GROUP => group(node, one.resource_name.as_str()),
            other => Err(unsupported(other)),
        },
    );
    let results = request.resources.iter().zip(found);
    let results = results.map(|(asked, found)| resource(asked, found, detail)).collect();
    let data = DescribeConfigsResponseData { results, ..Default::default() };
    node.respond(context.id, Response::DescribeConfigs(data));
}

fn resource(
    asked: &DescribeConfigsResource,
    found: Result<Vec<Described>, Refused>,
    detail: Detail,
) -> DescribeConfigsResult {
    let (configs, code, message) = match found {
        Ok(configs) => (configs, ErrorCode::None, None),
        Err(refused) => (Vec::new(), refused.code, Some(KafkaString::from(refused.message))),
    };
    // No names and null both ask for all.
    let names = asked.configuration_keys.as_ref().filter(|names| !names.is_empty());
    let wanted = |config: &Described| {
        names.is_none_or(|names| names.iter().any(|name| name.as_str() == config.name))
    };
    DescribeConfigsResult {
        error_code: code.code(),
        error_message: message,
        resource_type: asked.resource_type,
        resource_name: asked.resource_name.clone(),
        configs: configs.into_iter().filter(wanted).map(|one| entry(one, detail)).collect(),
        ..Default::default()
    }
}

fn topic(node: &Node, name: &str) -> Result<Vec<Described>, Refused> {
    check_topic_name(name)?;
    let topic = node.meta.topic(name).ok_or_else(|| Refused {
        code: ErrorCode::UnknownTopicOrPartition,
        message: String::new(),
    })?;
    Ok(node.meta.describe_topic(topic).collect())
}

fn broker(node: &Node, name: &str) -> Result<Vec<Described>, Refused> {
    check_broker(node, name)?;
    Ok(if name.is_empty() {
        node.meta.describe_cluster_defaults().collect()
    } else {
        node.meta.describe_broker().collect()
    })
}

fn group(node: &Node, name: &str) -> Result<Vec<Described>, Refused> {
    if name.is_empty() {
        return Err(Refused::request("Group name must not be empty"));
    }
    Ok(node.meta.describe_group(name).collect())
}

fn entry(config: Described, detail: Detail) -> DescribeConfigsResourceResult {
    let synonyms = if detail.synonyms { config.synonyms } else { Vec::new() };
    DescribeConfigsResourceResult {
        name: KafkaString::from_static(config.name),
        value: config.value.map(KafkaString::from),
        read_only: config.read_only,
        config_source: config.source as i8,
        is_sensitive: false,
        synonyms: synonyms
            .into_iter()
            .map(|synonym| DescribeConfigsSynonym {
                name: KafkaString::from_static(synonym.name),
                value: Some(KafkaString::from(synonym.value)),
                source: synonym.source as i8,
                ..Default::default()
            })
            .collect(),
        config_type: config.type_id,
        documentation: detail.documentation.then(|| KafkaString::from_static(config.doc.trim())),
        ..Default::default()
    }
}
