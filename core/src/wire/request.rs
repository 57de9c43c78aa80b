//! The requests that are served, typed.

use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated as kafka;

use crate::batch::Screened;
use crate::types::{Offset, ProducerEpoch, ProducerId, TopicId, TopicName};

/// One decoded request. Messages without record batches are the generated ones; the rest, and
/// those whose newest version the generated schemas lack, are ours.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Request {
    /// ApiVersions in a version we know.
    ApiVersions(ApiVersionsRequest),
    /// ApiVersions in a version we do not know: answered in v0 form (KIP-511).
    ApiVersionsUnsupported,
    /// Metadata.
    Metadata(kafka::MetadataRequestData),
    /// CreateTopics.
    CreateTopics(kafka::CreateTopicsRequestData),
    /// DeleteTopics.
    DeleteTopics(kafka::DeleteTopicsRequestData),
    /// DeleteRecords.
    DeleteRecords(kafka::DeleteRecordsRequestData),
    /// InitProducerId.
    InitProducerId(kafka::InitProducerIdRequestData),
    /// FindCoordinator.
    FindCoordinator(kafka::FindCoordinatorRequestData),
    /// AddPartitionsToTxn, of clients (v0 to v3) and of brokers (v4 and v5).
    AddPartitionsToTxn(kafka::AddPartitionsToTxnRequestData),
    /// AddOffsetsToTxn.
    AddOffsetsToTxn(kafka::AddOffsetsToTxnRequestData),
    /// Produce.
    Produce(ProduceRequest),
    /// TxnOffsetCommit.
    TxnOffsetCommit(TxnOffsetCommitRequest),
    /// OffsetCommit.
    OffsetCommit(kafka::OffsetCommitRequestData),
    /// OffsetFetch.
    OffsetFetch(kafka::OffsetFetchRequestData),
    /// JoinGroup.
    JoinGroup(kafka::JoinGroupRequestData),
    /// SyncGroup.
    SyncGroup(kafka::SyncGroupRequestData),
    /// Heartbeat.
    Heartbeat(kafka::HeartbeatRequestData),
    /// LeaveGroup.
    LeaveGroup(kafka::LeaveGroupRequestData),
    /// DescribeGroups, of classic groups.
    DescribeGroups(kafka::DescribeGroupsRequestData),
    /// ConsumerGroupHeartbeat.
    ConsumerGroupHeartbeat(kafka::ConsumerGroupHeartbeatRequestData),
    /// ConsumerGroupDescribe.
    ConsumerGroupDescribe(kafka::ConsumerGroupDescribeRequestData),
    /// ListGroups.
    ListGroups(kafka::ListGroupsRequestData),
    /// OffsetDelete.
    OffsetDelete(kafka::OffsetDeleteRequestData),
    /// DeleteGroups.
    DeleteGroups(kafka::DeleteGroupsRequestData),
    /// EndTxn.
    EndTxn(kafka::EndTxnRequestData),
    /// WriteTxnMarkers.
    WriteTxnMarkers(kafka::WriteTxnMarkersRequestData),
    /// Fetch.
    Fetch(kafka::FetchRequestData),
    /// ListOffsets.
    ListOffsets(kafka::ListOffsetsRequestData),
    /// DescribeProducers.
    DescribeProducers(kafka::DescribeProducersRequestData),
    /// DescribeTransactions.
    DescribeTransactions(kafka::DescribeTransactionsRequestData),
    /// ListTransactions.
    ListTransactions(kafka::ListTransactionsRequestData),
    /// DescribeCluster.
    DescribeCluster(kafka::DescribeClusterRequestData),
    /// OffsetForLeaderEpoch.
    OffsetForLeaderEpoch(kafka::OffsetForLeaderEpochRequestData),
    /// DescribeAcls.
    DescribeAcls(kafka::DescribeAclsRequestData),
    /// CreateAcls.
    CreateAcls(kafka::CreateAclsRequestData),
    /// DeleteAcls.
    DeleteAcls(kafka::DeleteAclsRequestData),
    /// DescribeConfigs.
    DescribeConfigs(kafka::DescribeConfigsRequestData),
    /// AlterConfigs.
    AlterConfigs(kafka::AlterConfigsRequestData),
    /// AlterReplicaLogDirs.
    AlterReplicaLogDirs(kafka::AlterReplicaLogDirsRequestData),
    /// DescribeLogDirs.
    DescribeLogDirs(kafka::DescribeLogDirsRequestData),
    /// CreatePartitions.
    CreatePartitions(kafka::CreatePartitionsRequestData),
    /// ElectLeaders.
    ElectLeaders(kafka::ElectLeadersRequestData),
    /// IncrementalAlterConfigs.
    IncrementalAlterConfigs(kafka::IncrementalAlterConfigsRequestData),
    /// AlterPartitionReassignments.
    AlterPartitionReassignments(kafka::AlterPartitionReassignmentsRequestData),
    /// ListPartitionReassignments.
    ListPartitionReassignments(kafka::ListPartitionReassignmentsRequestData),
    /// DescribeClientQuotas.
    DescribeClientQuotas(kafka::DescribeClientQuotasRequestData),
    /// DescribeUserScramCredentials.
    DescribeUserScramCredentials(kafka::DescribeUserScramCredentialsRequestData),
    /// DescribeQuorum.
    DescribeQuorum(kafka::DescribeQuorumRequestData),
    /// UpdateFeatures.
    UpdateFeatures(kafka::UpdateFeaturesRequestData),
    /// ListConfigResources.
    ListConfigResources(kafka::ListConfigResourcesRequestData),
    /// DescribeTopicPartitions.
    DescribeTopicPartitions(kafka::DescribeTopicPartitionsRequestData),
}

/// ApiVersions, v0 to v5.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiVersionsRequest {
    /// v3+: the client's name.
    pub client_software_name: KafkaString,
    /// v3+: the client's version.
    pub client_software_version: KafkaString,
    /// v5+: the cluster the client means to reach (KIP-1242).
    pub cluster_id: Option<KafkaString>,
    /// v5+: the node the client means to reach, or -1.
    pub node_id: i32,
}

/// Produce, v3 to v13, its record sets screened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProduceRequest {
    /// The transactional id, when there is one.
    pub transactional_id: Option<KafkaString>,
    /// -1 all, 1 leader, 0 no answer; anything else is refused.
    pub acks: i16,
    /// How long the answer may wait for durability, in ms.
    pub timeout_ms: i32,
    /// The topics, in the order they came.
    pub topics: Vec<ProduceTopic>,
}

/// One topic of a Produce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProduceTopic {
    /// v3 to v12: the topic's name; "" in v13+.
    pub name: TopicName,
    /// v13+: the topic's id; zero below.
    pub topic_id: TopicId,
    /// Each partition's index and what its record set holds.
    pub partitions: Vec<(i32, Screened)>,
}

/// TxnOffsetCommit, v0 to v6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnOffsetCommitRequest {
    /// The transaction's id.
    pub transactional_id: KafkaString,
    /// The group whose offsets these are.
    pub group_id: KafkaString,
    /// The producer.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: ProducerEpoch,
    /// v3+: generation or member epoch, -1 for none.
    pub generation_id: i32,
    /// v3+: the member, "" for none.
    pub member_id: KafkaString,
    /// v3+: the static member, if any.
    pub group_instance_id: Option<KafkaString>,
    /// The topics.
    pub topics: Vec<TxnOffsetCommitTopic>,
}

/// One topic of a TxnOffsetCommit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnOffsetCommitTopic {
    /// v0 to v5: the name; "" in v6+.
    pub name: TopicName,
    /// v6+: the id (KIP-1319); zero below.
    pub topic_id: TopicId,
    /// The partitions.
    pub partitions: Vec<TxnOffsetCommitPartition>,
}

/// One partition of a TxnOffsetCommit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnOffsetCommitPartition {
    /// The partition's index.
    pub partition: i32,
    /// The offset to commit.
    pub committed_offset: Offset,
    /// v2+: leader epoch of the last consumed record, or -1.
    pub committed_leader_epoch: i32,
    /// What the client wants to keep beside the offset.
    pub committed_metadata: Option<KafkaString>,
}
