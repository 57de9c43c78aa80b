//! What members of consumer groups ask (KIP-848), and what they read from the answers.

use std::collections::{BTreeMap, BTreeSet};

use kacrab_protocol::generated as k;
use verdict_core::types::TopicId;
use verdict_core::wire::{Request, Response};

use super::requests::Membership;
use crate::clients::requests::{offset_fetch_of, text};
use crate::clients::{SIDE_TOPIC, TOPIC, metadata};
use crate::history::Part;

/// Partitions by the ids of their topics.
pub(super) type Partitions = BTreeMap<TopicId, BTreeSet<i32>>;

/// What a member wants to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Subscription {
    topics: Option<&'static [&'static str]>,
    regex: Option<&'static str>,
}

/// The one of old, and all that a member changes to; from version 1 on also by patterns. The last
/// pattern is none.
const SUBSCRIPTIONS: [Subscription; 8] = [
    Subscription { topics: Some(&[TOPIC]), regex: None },
    Subscription { topics: Some(&[TOPIC, SIDE_TOPIC]), regex: None },
    Subscription { topics: Some(&[SIDE_TOPIC]), regex: None },
    Subscription { topics: Some(&[TOPIC]), regex: Some("u.*") },
    Subscription { topics: None, regex: Some("t|u") },
    Subscription { topics: None, regex: Some("t") },
    Subscription { topics: Some(&[SIDE_TOPIC]), regex: Some("[a-t]") },
    Subscription { topics: Some(&[TOPIC]), regex: Some("(") },
];

impl Subscription {
    /// How many there are in a version of the heartbeat.
    pub(super) const fn count(version: i16) -> u32 {
        if version >= 1 { SUBSCRIPTIONS.len() as u32 } else { 3 }
    }

    /// The nth; 0 is the topic that is to be read.
    pub(super) fn nth(nth: u32) -> Self {
        SUBSCRIPTIONS.get(nth as usize).copied().unwrap_or(SUBSCRIPTIONS[0])
    }
}

/// Assignors to prefer: the broker's choice, its two, and one that it does not have.
pub(super) const ASSIGNORS: [Option<&str>; 4] = [None, Some("range"), Some("uniform"), Some("no")];

/// What a heartbeat says beside who it is from; `None` for what has not changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Says<'a> {
    /// Rebalance timeout in ms, subscription, rack, assignor.
    pub(super) about: Option<(i32, Subscription, Option<&'static str>, Option<&'static str>)>,
    pub(super) owned: Option<&'a Partitions>,
}

/// Epoch to leave with.
pub(super) const LEAVES: i32 = -1;
/// Epoch to leave with as a static member that will be back.
pub(super) const WILL_BE_BACK: i32 = -2;

pub(super) fn heartbeat(of: &Membership, epoch: i32, version: i16, says: Says<'_>) -> Request {
    let owned = says.owned.map(|owned| {
        let topic = |(id, partitions): (&TopicId, &BTreeSet<i32>)| {
            k::consumer_group_heartbeat_request::TopicPartitions {
                topic_id: id.to_kafka(),
                partitions: partitions.iter().copied().collect(),
                ..Default::default()
            }
        };
        owned.iter().map(topic).collect()
    });
    let mut data = k::ConsumerGroupHeartbeatRequestData {
        group_id: text(&of.group),
        member_id: text(&of.member),
        member_epoch: epoch,
        instance_id: of.instance.as_deref().map(text),
        rebalance_timeout_ms: -1,
        topic_partitions: owned,
        ..Default::default()
    };
    if let Some((rebalance_ms, subscription, rack, assignor)) = says.about {
        let topics = subscription.topics.unwrap_or(&[]);
        data.rebalance_timeout_ms = rebalance_ms;
        data.subscribed_topic_names = Some(topics.iter().map(|topic| text(topic)).collect());
        if version >= 1 {
            data.subscribed_topic_regex = Some(text(subscription.regex.unwrap_or("")));
        }
        data.rack_id = rack.map(text);
        data.server_assignor = assignor.map(text);
    }
    Request::ConsumerGroupHeartbeat(data)
}

/// The assignment in an answer, when it says one.
pub(super) fn assignment(data: &k::ConsumerGroupHeartbeatResponseData) -> Option<Partitions> {
    let assignment = data.assignment.as_ref()?;
    let topics = assignment.topic_partitions.iter();
    Some(
        topics.map(|one| (one.topic_id.into(), one.partitions.iter().copied().collect())).collect(),
    )
}

pub(super) fn describe(group: &str) -> Request {
    Request::ConsumerGroupDescribe(k::ConsumerGroupDescribeRequestData {
        group_ids: vec![text(group)],
        ..Default::default()
    })
}

/// The group's offset of a partition, asked for as the member that it is.
pub(super) fn offset_fetch(of: &Membership, part: Part) -> Request {
    let mut request = offset_fetch_of(TOPIC, &of.group, part, true);
    if let Request::OffsetFetch(data) = &mut request {
        for group in &mut data.groups {
            group.member_id = Some(text(&of.member));
            group.member_epoch = of.generation;
        }
    }
    request
}

/// Asks for the id of the topic.
pub(super) fn topic_metadata() -> Request {
    metadata(TOPIC)
}

/// The id of the topic, when it is there.
pub(super) fn topic_id(response: &Response) -> Option<TopicId> {
    let Response::Metadata(data) = response else { return None };
    let topic = data.topics.first().filter(|topic| topic.error_code == 0)?;
    Some(topic.topic_id.into())
}
