//! The answers to what is served, typed.

use alloc::vec::Vec;

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::{
    AddOffsetsToTxnResponseData, AddPartitionsToTxnResponseData, ApiVersionsResponseData,
    ConsumerGroupDescribeResponseData, ConsumerGroupHeartbeatResponseData,
    CreateTopicsResponseData, DeleteRecordsResponseData, DeleteTopicsResponseData,
    DescribeClusterResponseData, DescribeGroupsResponseData, DescribeProducersResponseData,
    DescribeTransactionsResponseData, EndTxnResponseData, FetchResponseData,
    FindCoordinatorResponseData, HeartbeatResponseData, InitProducerIdResponseData,
    JoinGroupResponseData, LeaveGroupResponseData, ListGroupsResponseData, ListOffsetsResponseData,
    ListTransactionsResponseData, MetadataResponseData, OffsetCommitResponseData,
    OffsetDeleteResponseData, OffsetFetchResponseData, ProduceResponseData, SyncGroupResponseData,
    WriteTxnMarkersResponseData,
};

use crate::error::ErrorCode;
use crate::types::{TopicId, TopicName};

/// One answer, to be encoded in the version of its request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Response {
    /// ApiVersions.
    ApiVersions(ApiVersionsResponseData),
    /// The v0 answer to an ApiVersions of an unknown version (KIP-511).
    ApiVersionsUnsupported(ApiVersionsResponseData),
    /// Metadata.
    Metadata(MetadataResponseData),
    /// CreateTopics.
    CreateTopics(CreateTopicsResponseData),
    /// DeleteTopics.
    DeleteTopics(DeleteTopicsResponseData),
    /// DeleteRecords.
    DeleteRecords(DeleteRecordsResponseData),
    /// InitProducerId.
    InitProducerId(InitProducerIdResponseData),
    /// FindCoordinator.
    FindCoordinator(FindCoordinatorResponseData),
    /// AddPartitionsToTxn.
    AddPartitionsToTxn(AddPartitionsToTxnResponseData),
    /// AddOffsetsToTxn.
    AddOffsetsToTxn(AddOffsetsToTxnResponseData),
    /// Produce.
    Produce(ProduceResponseData),
    /// TxnOffsetCommit.
    TxnOffsetCommit(TxnOffsetCommitResponse),
    /// OffsetCommit.
    OffsetCommit(OffsetCommitResponseData),
    /// OffsetFetch.
    OffsetFetch(OffsetFetchResponseData),
    /// JoinGroup.
    JoinGroup(JoinGroupResponseData),
    /// SyncGroup.
    SyncGroup(SyncGroupResponseData),
    /// Heartbeat.
    Heartbeat(HeartbeatResponseData),
    /// LeaveGroup.
    LeaveGroup(LeaveGroupResponseData),
    /// DescribeGroups, of classic groups.
    DescribeGroups(DescribeGroupsResponseData),
    /// ConsumerGroupHeartbeat.
    ConsumerGroupHeartbeat(ConsumerGroupHeartbeatResponseData),
    /// ConsumerGroupDescribe.
    ConsumerGroupDescribe(ConsumerGroupDescribeResponseData),
    /// ListGroups.
    ListGroups(ListGroupsResponseData),
    /// OffsetDelete.
    OffsetDelete(OffsetDeleteResponseData),
    /// DeleteGroups.
    DeleteGroups(DeleteGroupsResponse),
    /// EndTxn.
    EndTxn(EndTxnResponseData),
    /// WriteTxnMarkers.
    WriteTxnMarkers(WriteTxnMarkersResponseData),
    /// Fetch.
    Fetch(FetchResponse),
    /// ListOffsets.
    ListOffsets(ListOffsetsResponseData),
    /// DescribeProducers.
    DescribeProducers(DescribeProducersResponseData),
    /// DescribeTransactions.
    DescribeTransactions(DescribeTransactionsResponseData),
    /// ListTransactions.
    ListTransactions(ListTransactionsResponseData),
    /// DescribeCluster.
    DescribeCluster(DescribeClusterResponseData),
}

/// A Fetch answer: the message with its `records` fields empty, and beside it the shared bytes
/// that belong there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FetchResponse {
    /// The message.
    pub data: FetchResponseData,
    /// For each topic of `data.responses` and each of its partitions, in order: the batches.
    pub records: Vec<Vec<Vec<Bytes>>>,
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
