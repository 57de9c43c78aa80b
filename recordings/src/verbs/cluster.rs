//! The broker itself: its features, its topics, its settings.

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::describe_configs_request::DescribeConfigsResource;
use kacrab_protocol::generated::metadata_request::MetadataRequestTopic;
use kacrab_protocol::generated::update_features_request::FeatureUpdateKey;
use kacrab_protocol::generated::{
    ApiVersionsResponseData, DescribeConfigsRequestData, MetadataRequestData,
    UpdateFeaturesRequestData, UpdateFeaturesResponseData,
};
use verdict_core::wire::{ApiVersionsRequest, Request, api_range};

use super::{Call, code, each};
use crate::args::{Args, Fault};
use crate::names::{Names, wire};

/// The only feature that recordings are about.
const FEATURE: &str = "transaction.version";
/// The number of ApiVersions.
const API_VERSIONS: i16 = 18;
/// DescribeConfigs' number for brokers.
const BROKER: i8 = 4;

/// `features transaction.version=N [safe|unsafe]`: UpdateFeatures, a downgrade when it says so.
pub(super) fn update_features(args: &mut Args<'_>, _: &mut Names) -> Result<Call, Fault> {
    let level = args.named(FEATURE)?.ok_or_else(|| format!("{FEATURE}=N is missing"))?;
    let upgrade_type = match (args.flag("safe"), args.flag("unsafe")) {
        (true, _) => 2,
        (false, true) => 3,
        (false, false) => 1,
    };
    let update = FeatureUpdateKey::default()
        .with_feature(wire(FEATURE))
        .with_max_version_level(level)
        .with_upgrade_type(upgrade_type);
    let data = UpdateFeaturesRequestData::default()
        .with_timeout_ms(30_000)
        .with_feature_updates(vec![update]);
    Ok(Call::new(args.version(1), Request::UpdateFeatures(data)))
}

pub(super) fn show_updated(version: i16, data: &UpdateFeaturesResponseData) -> String {
    if data.error_code != 0 || version >= 2 {
        return code(data.error_code);
    }
    let results =
        data.results.iter().map(|result| (result.feature.to_string(), code(result.error_code)));
    each(results.collect())
}

/// `finalized`: ApiVersions, of which the level of transaction.version is shown.
pub(super) fn finalized(args: &mut Args<'_>, _: &mut Names) -> Result<Call, Fault> {
    let version = args.version(4);
    if api_range(API_VERSIONS).is_none_or(|range| version > range.max) {
        return Ok(Call::new(version, Request::ApiVersionsUnsupported));
    }
    let request = ApiVersionsRequest {
        client_software_name: wire("recordings"),
        client_software_version: wire("1"),
        ..ApiVersionsRequest::default()
    };
    Ok(Call::new(version, Request::ApiVersions(request)))
}

pub(super) fn show_finalized(data: &ApiVersionsResponseData) -> String {
    let levels = data.finalized_features.iter();
    let level = levels.filter(|feature| feature.name.as_str() == FEATURE);
    let level = level.map(|feature| feature.max_version_level.to_string()).next();
    format!("{} {FEATURE}={}", code(data.error_code), level.as_deref().unwrap_or("absent"))
}

/// The answer to a version that is not served: which are.
pub(super) fn show_unsupported(data: &ApiVersionsResponseData) -> String {
    let ranges = data.api_keys.iter();
    let all = ranges.map(|api| format!("{}:{}..{}", api.api_key, api.min_version, api.max_version));
    format!("{} {}", code(data.error_code), all.collect::<Vec<_>>().join(" "))
}

/// A Metadata of one topic.
pub(crate) fn metadata(topic: KafkaString) -> Call {
    let topic = MetadataRequestTopic::default().with_name(Some(topic));
    let data = MetadataRequestData::default().with_topics(Some(vec![topic]));
    Call::new(12, Request::Metadata(data))
}

/// A DescribeConfigs of some of a broker's settings.
pub(crate) fn describe_broker<'a>(id: &str, keys: impl Iterator<Item = &'a str>) -> Call {
    let resource = DescribeConfigsResource::default()
        .with_resource_type(BROKER)
        .with_resource_name(wire(id))
        .with_configuration_keys(Some(keys.map(wire).collect()));
    let data = DescribeConfigsRequestData::default().with_resources(vec![resource]);
    Call::new(4, Request::DescribeConfigs(data))
}
