//! Which APIs are served, in which versions (spec 1.1).

use super::shape;

/// One served API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiRange {
    /// The API's key.
    pub key: i16,
    /// The API's name, as Kafka writes it.
    pub name: &'static str,
    /// The first version that ApiVersions announces.
    pub advertised_min: i16,
    /// The first version that is served.
    pub min: i16,
    /// The last version that is announced and served.
    pub max: i16,
}

const fn api(key: i16, name: &'static str, min: i16, max: i16) -> ApiRange {
    ApiRange { key, name, advertised_min: min, min, max }
}

/// Everything that is served, by key: what [`Request`](super::Request) can hold, in the versions
/// of Apache Kafka 4.4.0.
///
/// Produce is announced from 0 although 0 to 2 close the connection (KAFKA-18659: librdkafka
/// before 2.8 derives other features from it).
pub const APIS: &[ApiRange] = &[
    ApiRange { advertised_min: 0, ..api(PRODUCE, "Produce", 3, 13) },
    api(FETCH, "Fetch", 4, 18),
    api(2, "ListOffsets", 1, 11),
    api(3, "Metadata", 0, 13),
    api(8, "OffsetCommit", 2, 10),
    api(9, "OffsetFetch", 1, 10),
    api(10, "FindCoordinator", 0, 6),
    api(11, "JoinGroup", 0, 9),
    api(12, "Heartbeat", 0, 4),
    api(13, "LeaveGroup", 0, 5),
    api(14, "SyncGroup", 0, 5),
    api(15, "DescribeGroups", 0, 6),
    api(16, "ListGroups", 0, 5),
    api(API_VERSIONS, "ApiVersions", 0, 5),
    api(19, "CreateTopics", 2, 7),
    api(20, "DeleteTopics", 1, 6),
    api(21, "DeleteRecords", 0, 2),
    api(INIT_PRODUCER_ID, "InitProducerId", 0, 5),
    api(23, "OffsetForLeaderEpoch", 2, 4),
    api(24, "AddPartitionsToTxn", 0, 5),
    api(25, "AddOffsetsToTxn", 0, 4),
    api(26, "EndTxn", 0, 5),
    api(27, "WriteTxnMarkers", 1, 2),
    api(TXN_OFFSET_COMMIT, "TxnOffsetCommit", 0, 6),
    api(29, "DescribeAcls", 1, 3),
    api(30, "CreateAcls", 1, 3),
    api(31, "DeleteAcls", 1, 3),
    api(32, "DescribeConfigs", 1, 4),
    api(33, "AlterConfigs", 0, 2),
    api(34, "AlterReplicaLogDirs", 1, 2),
    api(35, "DescribeLogDirs", 1, 5),
    api(37, "CreatePartitions", 0, 3),
    api(42, "DeleteGroups", 0, 3),
    api(43, "ElectLeaders", 0, 2),
    api(44, "IncrementalAlterConfigs", 0, 1),
    api(45, "AlterPartitionReassignments", 0, 1),
    api(46, "ListPartitionReassignments", 0, 0),
    api(47, "OffsetDelete", 0, 0),
    api(48, "DescribeClientQuotas", 0, 1),
    api(50, "DescribeUserScramCredentials", 0, 0),
    api(55, "DescribeQuorum", 0, 2),
    api(57, "UpdateFeatures", 0, 2),
    api(60, "DescribeCluster", 0, 2),
    api(61, "DescribeProducers", 0, 0),
    api(65, "DescribeTransactions", 0, 0),
    api(66, "ListTransactions", 0, 2),
    api(68, "ConsumerGroupHeartbeat", 0, 1),
    api(69, "ConsumerGroupDescribe", 0, 1),
    api(74, "ListConfigResources", 0, 1),
    api(75, "DescribeTopicPartitions", 0, 0),
];

pub(super) const PRODUCE: i16 = 0;
pub(super) const FETCH: i16 = 1;
/// The key of ApiVersions.
pub const API_VERSIONS: i16 = 18;
pub(super) const INIT_PRODUCER_ID: i16 = 22;
pub(super) const TXN_OFFSET_COMMIT: i16 = 28;

/// InitProducerId's unstable version (KIP-939), served with `unstable.api.versions.enable`.
pub const INIT_PRODUCER_ID_UNSTABLE_MAX: i16 = 6;

/// The range of an API; `None` when it is not served.
#[must_use]
pub fn api_range(key: i16) -> Option<&'static ApiRange> {
    APIS.iter().find(|api| api.key == key)
}

/// Whether a message of that version has compact types and tagged fields (KIP-482).
pub(super) fn is_flexible(key: i16, version: i16) -> bool {
    shape::flexible_from(key).is_some_and(|first| version >= first)
}

/// Whether a response header has tagged fields. ApiVersions' never has: a client must be able to
/// read the answer before it knows the server (KIP-511).
pub(super) fn has_tagged_response_header(key: i16, version: i16) -> bool {
    key != API_VERSIONS && is_flexible(key, version)
}
