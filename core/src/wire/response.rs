//! The answers to what is served, typed.

use alloc::vec::Vec;

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated as kafka;

use crate::error::ErrorCode;
use crate::io::FileRun;
use crate::types::{TopicId, TopicName};

/// One answer, to be encoded in the version of its request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Response {
    /// ApiVersions.
    ApiVersions(kafka::ApiVersionsResponseData),
    /// The v0 answer to an ApiVersions of an unknown version (KIP-511).
    ApiVersionsUnsupported(kafka::ApiVersionsResponseData),
    /// Metadata.
    Metadata(kafka::MetadataResponseData),
    /// CreateTopics.
    CreateTopics(kafka::CreateTopicsResponseData),
    /// DeleteTopics.
    DeleteTopics(kafka::DeleteTopicsResponseData),
    /// DeleteRecords.
    DeleteRecords(kafka::DeleteRecordsResponseData),
    /// InitProducerId.
    InitProducerId(kafka::InitProducerIdResponseData),
    /// FindCoordinator.
    FindCoordinator(kafka::FindCoordinatorResponseData),
    /// AddPartitionsToTxn.
    AddPartitionsToTxn(kafka::AddPartitionsToTxnResponseData),
    /// AddOffsetsToTxn.
    AddOffsetsToTxn(kafka::AddOffsetsToTxnResponseData),
    /// Produce.
    Produce(kafka::ProduceResponseData),
    /// TxnOffsetCommit.
    TxnOffsetCommit(TxnOffsetCommitResponse),
    /// OffsetCommit.
    OffsetCommit(kafka::OffsetCommitResponseData),
    /// OffsetFetch.
    OffsetFetch(kafka::OffsetFetchResponseData),
    /// JoinGroup.
    JoinGroup(kafka::JoinGroupResponseData),
    /// SyncGroup.
    SyncGroup(kafka::SyncGroupResponseData),
    /// Heartbeat.
    Heartbeat(kafka::HeartbeatResponseData),
    /// LeaveGroup.
    LeaveGroup(kafka::LeaveGroupResponseData),
    /// DescribeGroups, of classic groups.
    DescribeGroups(kafka::DescribeGroupsResponseData),
    /// ConsumerGroupHeartbeat.
    ConsumerGroupHeartbeat(kafka::ConsumerGroupHeartbeatResponseData),
    /// ConsumerGroupDescribe.
    ConsumerGroupDescribe(kafka::ConsumerGroupDescribeResponseData),
    /// ListGroups.
    ListGroups(kafka::ListGroupsResponseData),
    /// OffsetDelete.
    OffsetDelete(kafka::OffsetDeleteResponseData),
    /// DeleteGroups.
    DeleteGroups(DeleteGroupsResponse),
    /// EndTxn.
    EndTxn(kafka::EndTxnResponseData),
    /// WriteTxnMarkers.
    WriteTxnMarkers(kafka::WriteTxnMarkersResponseData),
    /// Fetch.
    Fetch(FetchResponse),
    /// ListOffsets.
    ListOffsets(kafka::ListOffsetsResponseData),
    /// DescribeProducers.
    DescribeProducers(kafka::DescribeProducersResponseData),
    /// DescribeTransactions.
    DescribeTransactions(kafka::DescribeTransactionsResponseData),
    /// ListTransactions.
    ListTransactions(kafka::ListTransactionsResponseData),
    /// DescribeCluster.
    DescribeCluster(kafka::DescribeClusterResponseData),
    /// OffsetForLeaderEpoch.
    OffsetForLeaderEpoch(kafka::OffsetForLeaderEpochResponseData),
    /// DescribeAcls.
    DescribeAcls(kafka::DescribeAclsResponseData),
    /// CreateAcls.
    CreateAcls(kafka::CreateAclsResponseData),
    /// DeleteAcls.
    DeleteAcls(kafka::DeleteAclsResponseData),
    /// DescribeConfigs.
    DescribeConfigs(kafka::DescribeConfigsResponseData),
    /// AlterConfigs.
    AlterConfigs(kafka::AlterConfigsResponseData),
    /// AlterReplicaLogDirs.
    AlterReplicaLogDirs(kafka::AlterReplicaLogDirsResponseData),
    /// DescribeLogDirs.
    DescribeLogDirs(kafka::DescribeLogDirsResponseData),
    /// CreatePartitions.
    CreatePartitions(kafka::CreatePartitionsResponseData),
    /// ElectLeaders.
    ElectLeaders(kafka::ElectLeadersResponseData),
    /// IncrementalAlterConfigs.
    IncrementalAlterConfigs(kafka::IncrementalAlterConfigsResponseData),
    /// AlterPartitionReassignments.
    AlterPartitionReassignments(kafka::AlterPartitionReassignmentsResponseData),
    /// ListPartitionReassignments.
    ListPartitionReassignments(kafka::ListPartitionReassignmentsResponseData),
    /// DescribeClientQuotas.
    DescribeClientQuotas(kafka::DescribeClientQuotasResponseData),
    /// DescribeUserScramCredentials.
    DescribeUserScramCredentials(kafka::DescribeUserScramCredentialsResponseData),
    /// DescribeQuorum.
    DescribeQuorum(kafka::DescribeQuorumResponseData),
    /// UpdateFeatures.
    UpdateFeatures(kafka::UpdateFeaturesResponseData),
    /// ListConfigResources.
    ListConfigResources(kafka::ListConfigResourcesResponseData),
    /// DescribeTopicPartitions.
    DescribeTopicPartitions(kafka::DescribeTopicPartitionsResponseData),
}

/// A Fetch answer: the message with its `records` fields empty, and beside it the shared bytes
/// that belong there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FetchResponse {
    /// The message.
    pub data: kafka::FetchResponseData,
    /// For each topic of `data.responses` and each of its partitions, in order: the batches.
    pub records: Vec<Vec<Vec<Bytes>>>,
    /// Files that hold the records of a partition, too, or the first of them: hints, each with the
    /// number of its partition over all topics, ascending.
    pub files: Vec<(usize, FileRun)>,
}

/// DeleteGroups, v0 to v3: the generated schema lacks v3's messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteGroupsResponse {
    /// How long the client is to pause, in ms.
    pub throttle_time_ms: i32,
    /// Each group, in the order of the request.
    pub results: Vec<DeletedGroup>,
}

/// How the deletion of one group went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletedGroup {
    /// The group.
    pub group_id: KafkaString,
    /// 0, or why not.
    pub error_code: i16,
    /// v3+: why not, for people.
    pub error_message: Option<KafkaString>,
}

/// TxnOffsetCommit, v0 to v6.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxnOffsetCommitResponse {
    /// The topics, in the order of the request.
    pub topics: Vec<TxnOffsetCommitTopicResult>,
}

/// One topic of a TxnOffsetCommit answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnOffsetCommitTopicResult {
    /// v0 to v5: the name.
    pub name: TopicName,
    /// v6+: the id.
    pub topic_id: TopicId,
    /// Each partition's index and code.
    pub partitions: Vec<(i32, ErrorCode)>,
}
