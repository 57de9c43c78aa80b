//! ApiVersions: what is served, and the finalized features that make clients use transactions v2.
//! Spec 1.1 to 1.3; report P30.

use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::api_versions_response::{
    ApiVersion, ApiVersionsResponseData, FinalizedFeatureKey, SupportedFeatureKey,
};

use super::Context;
use crate::error::ErrorCode;
use crate::node::Node;
use crate::wire::{API_VERSIONS, APIS, ApiVersionsRequest, Limits, Response};

pub(crate) fn handle(node: &mut Node, context: &Context, request: &ApiVersionsRequest) {
    let data = match check(node, context.version, request) {
        Ok(()) => answer(node),
        Err(code) => ApiVersionsResponseData {
            error_code: code.code(),
            finalized_features_epoch: -1,
            ..Default::default()
        },
    };
    node.respond(context.id, Response::ApiVersions(data));
}

/// An ApiVersions of an unknown version is told, in v0 form, which versions of it there are.
pub(crate) fn unsupported(node: &mut Node, context: &Context) {
    let api_keys =
        APIS.iter().filter(|api| api.key == API_VERSIONS).map(api_version).collect::<Vec<_>>();
    let data = ApiVersionsResponseData {
        error_code: ErrorCode::UnsupportedVersion.code(),
        api_keys,
        ..Default::default()
    };
    node.respond(context.id, Response::ApiVersionsUnsupported(data));
}

fn check(node: &Node, version: i16, request: &ApiVersionsRequest) -> Result<(), ErrorCode> {
    let named = is_software_name(request.client_software_name.as_str())
        && is_software_name(request.client_software_version.as_str());
    if version >= 3 && !named {
        return Err(ErrorCode::InvalidRequest);
    }
    if version < 5 {
        return Ok(());
    }
    match (&request.cluster_id, request.node_id) {
        (None, -1) => Ok(()),
        (Some(cluster), id) if id != -1 => {
            let ours =
                Some(cluster.as_str()) == node.meta.cluster_id() && id == node.config.node_id;
            if ours { Ok(()) } else { Err(ErrorCode::RebootstrapRequired) }
        }
        _ => Err(ErrorCode::InvalidRequest),
    }
}

/// Kafka's `[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?`.
fn is_software_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    outer(bytes.first()) && outer(bytes.last()) && bytes.iter().all(inner)
}

fn api_version(api: &crate::wire::ApiRange) -> ApiVersion {
    ApiVersion {
        api_key: api.key,
        min_version: api.advertised_min,
        max_version: api.max,
        ..Default::default()
    }
}

fn answer(node: &Node) -> ApiVersionsResponseData {
    // What is told is what a connection of the same configuration takes.
    let limits = Limits::from(&node.config);
    let served = |api| ApiVersion { max_version: limits.last_version(api), ..api_version(api) };
    let features = node.meta.features();
    let supported = features
        .supported
        .iter()
        .map(|feature| SupportedFeatureKey {
            name: KafkaString::from_static(feature.name),
            min_version: feature.min,
            max_version: feature.max,
            ..Default::default()
        })
        .collect();
    let finalized = features
        .finalized
        .iter()
        .map(|(name, level)| FinalizedFeatureKey {
            name: KafkaString::from(alloc::string::String::from(&**name)),
            max_version_level: *level,
            min_version_level: *level,
            ..Default::default()
        })
        .collect();
    ApiVersionsResponseData {
        api_keys: APIS.iter().map(served).collect(),
        supported_features: supported,
        finalized_features_epoch: features.epoch,
        finalized_features: finalized,
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_names_begin_and_end_with_a_letter_or_digit() {
        for good in ["a", "apache-kafka-java", "4.4.0", "A1"] {
            assert!(is_software_name(good), "{good}");
        }
        for bad in ["", "-a", "a-", ".", "a b", "ä", "a_b"] {
            assert!(!is_software_name(bad), "{bad}");
        }
    }
}
