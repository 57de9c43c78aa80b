//! The controllers' quorum and the features it finalized: DescribeQuorum, UpdateFeatures. The one
//! node is the quorum's leader and only voter.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::describe_quorum_response::{
    DescribeQuorumResponseData, Listener, Node as QuorumNode, PartitionData, ReplicaState,
    TopicData,
};
use kacrab_protocol::generated::update_features_request::FeatureUpdateKey;
use kacrab_protocol::generated::update_features_response::UpdatableFeatureResult;
use kacrab_protocol::generated::{
    DescribeQuorumRequestData, UpdateFeaturesRequestData, UpdateFeaturesResponseData,
};

use super::Context;
use super::changes::PendingChange;
use crate::error::ErrorCode;
use crate::meta::{SUPPORTED, TRANSACTION_VERSION};
use crate::node::Node;
use crate::types::{METADATA_TOPIC, PartitionId};
use crate::wire::{Request, Response};

pub(crate) fn describe(node: &mut Node, context: &Context, request: &DescribeQuorumRequestData) {
    let mut served = false;
    let topics = request
        .topics
        .iter()
        .map(|topic| {
            let partitions = topic.partitions.iter().map(|asked| {
                let index = asked.partition_index;
                let own = topic.topic_name.as_str() == METADATA_TOPIC && index == 0;
                served |= own;
                if own { quorum(node) } else { unknown(index) }
            });
            TopicData {
                topic_name: topic.topic_name.clone(),
                partitions: partitions.collect(),
                ..Default::default()
            }
        })
        .collect();
    let listener = Listener {
        name: KafkaString::from_static("PLAINTEXT"),
        host: KafkaString::from(node.config.advertised_host.clone()),
        port: u16::try_from(node.config.advertised_port).unwrap_or(0),
        ..Default::default()
    };
    let own = QuorumNode {
        node_id: node.config.node_id,
        listeners: alloc::vec![listener],
        ..Default::default()
    };
    let nodes = if served { alloc::vec![own] } else { Vec::new() };
    let data = DescribeQuorumResponseData { topics, nodes, ..Default::default() };
    node.respond(context.id, Response::DescribeQuorum(data));
}

fn unknown(partition_index: i32) -> PartitionData {
    let code = ErrorCode::UnknownTopicOrPartition;
    PartitionData {
        partition_index,
        error_code: code.code(),
        error_message: Some(KafkaString::from(alloc::format!("{code}"))),
        ..Default::default()
    }
}

fn quorum(node: &Node) -> PartitionData {
    let log = node.partitions.get(&PartitionId::METADATA);
    let high_watermark = log.map_or(0, crate::partition::Partition::high_watermark);
    let voter = ReplicaState {
        replica_id: node.config.node_id,
        log_end_offset: high_watermark,
        last_fetch_timestamp: node.now.wall_ms,
        last_caught_up_timestamp: node.now.wall_ms,
        ..Default::default()
    };
    PartitionData {
        leader_id: node.config.node_id,
        leader_epoch: node.meta.leader_epoch(),
        high_watermark,
        current_voters: alloc::vec![voter],
        ..Default::default()
    }
}

/// How a feature's level may move (`FeatureUpdate.UpgradeType`).
const UPGRADE: i8 = 1;
const SAFE_DOWNGRADE: i8 = 2;
const UNSAFE_DOWNGRADE: i8 = 3;

pub(crate) fn update_features(
    node: &mut Node,
    context: Context,
    request: UpdateFeaturesRequestData,
) {
    if node.is_changing() {
        return node.after_the_change(context, Request::UpdateFeatures(request));
    }
    let planned: Result<Vec<Option<Bytes>>, String> =
        request.feature_updates.iter().map(|one| plan(node, context.version, one)).collect();
    let (records, code, message) = match planned {
        Ok(records) => (records.into_iter().flatten().collect(), ErrorCode::None, None),
        Err(why) => {
            let head = "The update failed for all features since the following feature had an \
                        error:";
            let message = KafkaString::from(alloc::format!("{head} {why}"));
            (Vec::new(), ErrorCode::InvalidUpdateVersion, Some(message))
        }
    };
    let answer = |code: ErrorCode| {
        // v2 leaves the features out.
        let results = if context.version >= 2 || code != ErrorCode::None {
            Vec::new()
        } else {
            let feature = |one: &FeatureUpdateKey| UpdatableFeatureResult {
                feature: one.feature.clone(),
                ..Default::default()
            };
            request.feature_updates.iter().map(feature).collect()
        };
        Response::UpdateFeatures(UpdateFeaturesResponseData {
            error_code: code.code(),
            error_message: message.clone(),
            results,
            ..Default::default()
        })
    };
    let pending =
        PendingChange { persisted: answer(code), failed: answer(ErrorCode::KafkaStorageError) };
    let records = if request.validate_only { Vec::new() } else { records };
    node.append_change(&context, records, pending);
}

/// The record of one feature's move; `None` when its level stays.
fn plan(node: &Node, version: i16, update: &FeatureUpdateKey) -> Result<Option<Bytes>, String> {
    let (name, level) = (update.feature.as_str(), update.max_version_level);
    let own = node.config.node_id;
    let head = alloc::format!("Invalid update version {level} for feature {name}.");
    let Some(feature) = SUPPORTED.iter().find(|feature| feature.name == name) else {
        return Err(alloc::format!("{head} Local controller {own} does not support this feature."));
    };
    if level < feature.min.min(0) || level > feature.max {
        let (min, max) = (feature.min, feature.max);
        return Err(alloc::format!(
            "{head} Local controller {own} only supports versions {min}-{max}"
        ));
    }
    let current = node.meta.feature_level(name);
    let kind = match version {
        0 if update.allow_downgrade => SAFE_DOWNGRADE,
        0 => UPGRADE,
        _ => update.upgrade_type,
    };
    match (level.cmp(&current), kind) {
        (_, kind) if !(UPGRADE..=UNSAFE_DOWNGRADE).contains(&kind) => {
            Err(alloc::format!("{head} The controller does not support the given upgrade type."))
        }
        (core::cmp::Ordering::Equal, _) => Ok(None),
        (core::cmp::Ordering::Greater, SAFE_DOWNGRADE | UNSAFE_DOWNGRADE) => {
            Err(alloc::format!("{head} Can't downgrade to a newer version."))
        }
        (core::cmp::Ordering::Less, UPGRADE) => Err(alloc::format!(
            "{head} Can't downgrade the version of this feature without setting the upgrade type \
             to either safe or unsafe downgrade."
        )),
        _ if name == TRANSACTION_VERSION => Ok(Some(node.meta.plan_feature(name, level))),
        // The others say which records a version may write; only one set is ever written here.
        _ => Err(alloc::format!("{head} The level of this feature is fixed.")),
    }
}
