//! The list of messages that are the generated ones in every version, and what follows from it.

use kacrab_protocol::generated::ApiKey;

use super::{Request, Response};

/// Calls a macro with one line per API whose request and response are both generated.
macro_rules! generated_messages {
    ($then:ident) => {
        $then! {
            ListOffsets ListOffsetsRequestData ListOffsetsResponseData,
            Metadata MetadataRequestData MetadataResponseData,
            OffsetCommit OffsetCommitRequestData OffsetCommitResponseData,
            OffsetFetch OffsetFetchRequestData OffsetFetchResponseData,
            JoinGroup JoinGroupRequestData JoinGroupResponseData,
            SyncGroup SyncGroupRequestData SyncGroupResponseData,
            Heartbeat HeartbeatRequestData HeartbeatResponseData,
            LeaveGroup LeaveGroupRequestData LeaveGroupResponseData,
            DescribeGroups DescribeGroupsRequestData DescribeGroupsResponseData,
            ListGroups ListGroupsRequestData ListGroupsResponseData,
            OffsetDelete OffsetDeleteRequestData OffsetDeleteResponseData,
            FindCoordinator FindCoordinatorRequestData FindCoordinatorResponseData,
            CreateTopics CreateTopicsRequestData CreateTopicsResponseData,
            DeleteTopics DeleteTopicsRequestData DeleteTopicsResponseData,
            DeleteRecords DeleteRecordsRequestData DeleteRecordsResponseData,
            InitProducerId InitProducerIdRequestData InitProducerIdResponseData,
            AddPartitionsToTxn AddPartitionsToTxnRequestData AddPartitionsToTxnResponseData,
            AddOffsetsToTxn AddOffsetsToTxnRequestData AddOffsetsToTxnResponseData,
            EndTxn EndTxnRequestData EndTxnResponseData,
            WriteTxnMarkers WriteTxnMarkersRequestData WriteTxnMarkersResponseData,
            DescribeCluster DescribeClusterRequestData DescribeClusterResponseData,
            DescribeProducers DescribeProducersRequestData DescribeProducersResponseData,
            DescribeTransactions DescribeTransactionsRequestData DescribeTransactionsResponseData,
            ListTransactions ListTransactionsRequestData ListTransactionsResponseData,
            ConsumerGroupHeartbeat ConsumerGroupHeartbeatRequestData ConsumerGroupHeartbeatResponseData,
            ConsumerGroupDescribe ConsumerGroupDescribeRequestData ConsumerGroupDescribeResponseData,
            OffsetForLeaderEpoch OffsetForLeaderEpochRequestData OffsetForLeaderEpochResponseData,
            DescribeAcls DescribeAclsRequestData DescribeAclsResponseData,
            CreateAcls CreateAclsRequestData CreateAclsResponseData,
            DeleteAcls DeleteAclsRequestData DeleteAclsResponseData,
            DescribeConfigs DescribeConfigsRequestData DescribeConfigsResponseData,
            AlterConfigs AlterConfigsRequestData AlterConfigsResponseData,
            AlterReplicaLogDirs AlterReplicaLogDirsRequestData AlterReplicaLogDirsResponseData,
            DescribeLogDirs DescribeLogDirsRequestData DescribeLogDirsResponseData,
            CreatePartitions CreatePartitionsRequestData CreatePartitionsResponseData,
            ElectLeaders ElectLeadersRequestData ElectLeadersResponseData,
            IncrementalAlterConfigs IncrementalAlterConfigsRequestData IncrementalAlterConfigsResponseData,
            AlterPartitionReassignments AlterPartitionReassignmentsRequestData AlterPartitionReassignmentsResponseData,
            ListPartitionReassignments ListPartitionReassignmentsRequestData ListPartitionReassignmentsResponseData,
            DescribeClientQuotas DescribeClientQuotasRequestData DescribeClientQuotasResponseData,
            DescribeUserScramCredentials DescribeUserScramCredentialsRequestData DescribeUserScramCredentialsResponseData,
            DescribeQuorum DescribeQuorumRequestData DescribeQuorumResponseData,
            UpdateFeatures UpdateFeaturesRequestData UpdateFeaturesResponseData,
            ListConfigResources ListConfigResourcesRequestData ListConfigResourcesResponseData,
            DescribeTopicPartitions DescribeTopicPartitionsRequestData DescribeTopicPartitionsResponseData,
        }
    };
}
pub(super) use generated_messages;

macro_rules! api_keys {
    ($($name:ident $request:ident $response:ident,)*) => {
        impl Request {
            /// The API this asks for.
            #[must_use]
            pub const fn api_key(&self) -> ApiKey {
                match self {
                    Self::ApiVersions(_) | Self::ApiVersionsUnsupported => ApiKey::ApiVersions,
                    Self::Produce(_) => ApiKey::Produce,
                    Self::Fetch(_) => ApiKey::Fetch,
                    Self::TxnOffsetCommit(_) => ApiKey::TxnOffsetCommit,
                    Self::DeleteGroups(_) => ApiKey::DeleteGroups,
                    $(Self::$name(_) => ApiKey::$name,)*
                }
            }
        }

        impl Response {
            /// The API this answers.
            #[must_use]
            pub const fn api_key(&self) -> ApiKey {
                match self {
                    Self::ApiVersions(_) | Self::ApiVersionsUnsupported(_) => ApiKey::ApiVersions,
                    Self::Produce(_) => ApiKey::Produce,
                    Self::Fetch(_) => ApiKey::Fetch,
                    Self::TxnOffsetCommit(_) => ApiKey::TxnOffsetCommit,
                    Self::DeleteGroups(_) => ApiKey::DeleteGroups,
                    $(Self::$name(_) => ApiKey::$name,)*
                }
            }
        }
    };
}
generated_messages!(api_keys);
