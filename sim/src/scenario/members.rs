//! Members of a group in scenario files: consumers that transform, each record of the common
//! partitions into one of a partition behind them, with the group's offset in the transaction.

use std::collections::BTreeMap;

use super::ScenarioError;
use super::format::{ClientEntry, Cluster};
use crate::clients::{Client, Member, MemberPlan, ProducerKind, Script, Timeouts};
use crate::history::{ClientId, GroupProtocol};

/// The kind of client.
pub(super) const KIND: &str = "member";
/// The number of the first transactional id, far from the producers'.
const FIRST_ID: u32 = 1_000;

/// The settings of the broker that let a group move as fast as a scenario does; those of the file
/// come after.
pub(super) fn properties(session_ms: i32) -> BTreeMap<String, String> {
    [
        ("group.min.session.timeout.ms", 100),
        ("group.initial.rebalance.delay.ms", 0),
        ("group.consumer.min.session.timeout.ms", 100),
        ("group.consumer.session.timeout.ms", session_ms),
        ("group.consumer.min.heartbeat.interval.ms", 10),
        ("group.consumer.heartbeat.interval.ms", session_ms / 5),
        ("group.consumer.assignment.interval.ms", 0),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value.to_string()))
    .collect()
}

/// Member number `nth` of the file.
pub(super) fn member(
    (client, nth): (ClientId, u32),
    entry: &ClientEntry,
    cluster: &Cluster,
) -> Result<Client, ScenarioError> {
    let unknown = |what: &str| ScenarioError::Client(format!("{KIND} with {what}"));
    let protocol = match entry.protocol.as_deref() {
        None | Some("classic") => GroupProtocol::Classic,
        Some("consumer") => GroupProtocol::Consumer,
        Some(other) => return Err(unknown(other)),
    };
    let kind = match entry.producer.as_deref() {
        None | Some("v2") => ProducerKind::V2,
        Some("classic") => ProducerKind::Classic,
        Some(other) => return Err(unknown(other)),
    };
    let id = entry.id.clone().unwrap_or_else(|| format!("member-{nth}"));
    let rebalance_ms = 2 * cluster.session_ms;
    let plan = MemberPlan {
        group: cluster.groups,
        inputs: cluster.partitions,
        outputs: (cluster.partitions, 1),
        kind,
        id: (id, FIRST_ID + nth),
        timeout_ms: cluster.timeout_ms,
        instance: entry.instance,
        protocol,
        switches: false,
        heartbeat_version: 1,
        timeouts: Timeouts { session_ms: cluster.session_ms, rebalance_ms },
        consumer_session_ms: cluster.session_ms,
        join_version: 9,
        request_us: u64::try_from(rebalance_ms).unwrap_or(0) * 1_000 + 2_000_000,
        survives: nth == 0,
        script: Some(Script::parse(&entry.ops)?),
    };
    Ok(Client::Member(Box::new(Member::new(client, plan))))
}
