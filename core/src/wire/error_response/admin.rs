//! The answers that fail a request about configuration or the cluster as a whole. A message that
//! says no more than the code is left out, as `ApiError.fromThrowable` does.

use alloc::string::ToString;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated as kafka;
use kacrab_protocol::generated::ErrorCode;

use crate::wire::{Request, Response};

pub(super) fn error_response(
    request: &Request,
    version: i16,
    error: ErrorCode,
) -> Option<Response> {
    let code = error.code();
    Some(match request {
        Request::DescribeAcls(_) => {
            Response::DescribeAcls(kafka::DescribeAclsResponseData::default().with_error_code(code))
        }
        Request::DescribeLogDirs(_) => Response::DescribeLogDirs(
            kafka::DescribeLogDirsResponseData::default().with_error_code(code),
        ),
        Request::ListPartitionReassignments(_) => Response::ListPartitionReassignments(
            kafka::ListPartitionReassignmentsResponseData::default().with_error_code(code),
        ),
        Request::DescribeClientQuotas(_) => Response::DescribeClientQuotas(
            kafka::DescribeClientQuotasResponseData::default()
                .with_error_code(code)
                .with_entries(None),
        ),
        Request::DescribeUserScramCredentials(request) => {
            use kafka::describe_user_scram_credentials_response as answer;
            let results = request.users.iter().flatten().map(|_| {
                answer::DescribeUserScramCredentialsResult::default().with_error_code(code)
            });
            Response::DescribeUserScramCredentials(
                kafka::DescribeUserScramCredentialsResponseData::default()
                    .with_error_code(code)
                    .with_results(results.collect()),
            )
        }
        Request::DescribeQuorum(_) => {
            let data = kafka::DescribeQuorumResponseData::default().with_error_code(code);
            let message = Some(KafkaString::from(error.to_string()));
            let data = if version >= 2 { data.with_error_message(message) } else { data };
            Response::DescribeQuorum(data)
        }
        Request::UpdateFeatures(_) => Response::UpdateFeatures(
            kafka::UpdateFeaturesResponseData::default().with_error_code(code),
        ),
        Request::ListConfigResources(_) => Response::ListConfigResources(
            kafka::ListConfigResourcesResponseData::default().with_error_code(code),
        ),
        other => return per_item(other, version, error),
    })
}

/// The answers that carry the code beside each item.
fn per_item(request: &Request, version: i16, error: ErrorCode) -> Option<Response> {
    let code = error.code();
    Some(match request {
        Request::OffsetForLeaderEpoch(request) => {
            Response::OffsetForLeaderEpoch(offset_for_leader_epoch(request, code))
        }
        Request::CreateAcls(request) => {
            let result =
                || kafka::create_acls_response::AclCreationResult::default().with_error_code(code);
            let results = request.creations.iter().map(|_| result()).collect();
            Response::CreateAcls(kafka::CreateAclsResponseData::default().with_results(results))
        }
        Request::DeleteAcls(request) => {
            let result = || {
                kafka::delete_acls_response::DeleteAclsFilterResult::default().with_error_code(code)
            };
            let results = request.filters.iter().map(|_| result()).collect();
            let data = kafka::DeleteAclsResponseData::default();
            Response::DeleteAcls(data.with_filter_results(results))
        }
        Request::AlterReplicaLogDirs(request) => {
            Response::AlterReplicaLogDirs(alter_replica_log_dirs(request, code))
        }
        Request::CreatePartitions(request) => {
            let result = |topic: &kafka::create_partitions_request::CreatePartitionsTopic| {
                kafka::create_partitions_response::CreatePartitionsTopicResult::default()
                    .with_name(topic.name.clone())
                    .with_error_code(code)
            };
            let results = request.topics.iter().map(result).collect();
            let data = kafka::CreatePartitionsResponseData::default();
            Response::CreatePartitions(data.with_results(results))
        }
        Request::ElectLeaders(request) => {
            Response::ElectLeaders(elect_leaders(request, version, code))
        }
        Request::AlterPartitionReassignments(request) => {
            Response::AlterPartitionReassignments(alter_reassignments(request, code))
        }
        Request::DescribeTopicPartitions(request) => {
            let topic = |topic: &kafka::describe_topic_partitions_request::TopicRequest| {
                kafka::describe_topic_partitions_response::DescribeTopicPartitionsResponseTopic::default()
                    .with_name(Some(topic.name.clone()))
                    .with_error_code(code)
                    .with_is_internal(false)
            };
            let topics = request.topics.iter().map(topic).collect();
            let data = kafka::DescribeTopicPartitionsResponseData::default();
            Response::DescribeTopicPartitions(data.with_topics(topics))
        }
        other => return configs(other, error),
    })
}

fn configs(request: &Request, error: ErrorCode) -> Option<Response> {
    let code = error.code();
    let message = || Some(KafkaString::from(error.to_string()));
    Some(match request {
        Request::DescribeConfigs(request) => {
            let results = request.resources.iter().map(|resource| {
                kafka::describe_configs_response::DescribeConfigsResult::default()
                    .with_error_code(code)
                    .with_error_message(message())
                    .with_resource_type(resource.resource_type)
                    .with_resource_name(resource.resource_name.clone())
            });
            let data = kafka::DescribeConfigsResponseData::default();
            Response::DescribeConfigs(data.with_results(results.collect()))
        }
        Request::AlterConfigs(request) => {
            let responses = request.resources.iter().map(|resource| {
                kafka::alter_configs_response::AlterConfigsResourceResponse::default()
                    .with_error_code(code)
                    .with_resource_type(resource.resource_type)
                    .with_resource_name(resource.resource_name.clone())
            });
            let data = kafka::AlterConfigsResponseData::default();
            Response::AlterConfigs(data.with_responses(responses.collect()))
        }
        Request::IncrementalAlterConfigs(request) => {
            let responses = request.resources.iter().map(|resource| {
                kafka::incremental_alter_configs_response::AlterConfigsResourceResponse::default()
                    .with_error_code(code)
                    .with_resource_type(resource.resource_type)
                    .with_resource_name(resource.resource_name.clone())
            });
            let data = kafka::IncrementalAlterConfigsResponseData::default();
            Response::IncrementalAlterConfigs(data.with_responses(responses.collect()))
        }
        _ => return None,
    })
}

fn offset_for_leader_epoch(
    request: &kafka::OffsetForLeaderEpochRequestData,
    code: i16,
) -> kafka::OffsetForLeaderEpochResponseData {
    use kafka::offset_for_leader_epoch_response as answer;
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|part| {
            answer::EpochEndOffset::default()
                .with_error_code(code)
                .with_partition(part.partition)
                .with_leader_epoch(-1)
                .with_end_offset(-1)
        });
        answer::OffsetForLeaderTopicResult::default()
            .with_topic(topic.topic.clone())
            .with_partitions(partitions.collect())
    });
    kafka::OffsetForLeaderEpochResponseData::default().with_topics(topics.collect())
}

fn alter_replica_log_dirs(
    request: &kafka::AlterReplicaLogDirsRequestData,
    code: i16,
) -> kafka::AlterReplicaLogDirsResponseData {
    use kafka::alter_replica_log_dirs_response as answer;
    let results = request.dirs.iter().flat_map(|dir| &dir.topics).map(|topic| {
        let partitions = topic.partitions.iter().map(|index| {
            answer::AlterReplicaLogDirPartitionResult::default()
                .with_partition_index(*index)
                .with_error_code(code)
        });
        answer::AlterReplicaLogDirTopicResult::default()
            .with_topic_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    kafka::AlterReplicaLogDirsResponseData::default().with_results(results.collect())
}

fn elect_leaders(
    request: &kafka::ElectLeadersRequestData,
    version: i16,
    code: i16,
) -> kafka::ElectLeadersResponseData {
    use kafka::elect_leaders_response as answer;
    let topics = request.topic_partitions.iter().flatten().map(|topic| {
        let partitions = topic.partitions.iter().map(|id| {
            answer::PartitionResult::default().with_partition_id(*id).with_error_code(code)
        });
        answer::ReplicaElectionResult::default()
            .with_topic(topic.topic.clone())
            .with_partition_result(partitions.collect())
    });
    let data = kafka::ElectLeadersResponseData::default();
    let data = if version >= 1 { data.with_error_code(code) } else { data };
    data.with_replica_election_results(topics.collect())
}

fn alter_reassignments(
    request: &kafka::AlterPartitionReassignmentsRequestData,
    code: i16,
) -> kafka::AlterPartitionReassignmentsResponseData {
    use kafka::alter_partition_reassignments_response as answer;
    let topics: Vec<_> = request
        .topics
        .iter()
        .map(|topic| {
            let partitions = topic.partitions.iter().map(|part| {
                answer::ReassignablePartitionResponse::default()
                    .with_partition_index(part.partition_index)
                    .with_error_code(code)
            });
            answer::ReassignableTopicResponse::default()
                .with_name(topic.name.clone())
                .with_partitions(partitions.collect())
        })
        .collect();
    kafka::AlterPartitionReassignmentsResponseData::default()
        .with_error_code(code)
        .with_responses(topics)
}
