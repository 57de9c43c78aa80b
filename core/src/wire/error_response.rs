//! Each request's own way to say that it failed as a whole (spec 1.4, last rows).
//!
//! Kafka's `AbstractRequest.getErrorResponse`: the code stands at the top where the answer has a
//! place for it, and beside every topic, partition or key that was asked for where it has not.

mod admin;
mod groups;

use alloc::string::ToString;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated as kafka;
use kacrab_protocol::generated::ErrorCode;

use super::{
    FetchResponse, ProduceRequest, Request, Response, TxnOffsetCommitRequest,
    TxnOffsetCommitResponse, TxnOffsetCommitTopicResult,
};

/// The answer that fails a request as a whole; `None` when its protocol has none (Produce with
/// acks=0), and the connection is to be closed or left silent.
#[must_use]
pub fn error_response(request: &Request, version: i16, error: ErrorCode) -> Option<Response> {
    let code = error.code();
    Some(match request {
        Request::ApiVersions(_) => Response::ApiVersions(api_versions(code)),
        Request::ApiVersionsUnsupported => Response::ApiVersionsUnsupported(api_versions(code)),
        Request::Produce(request) => return produce(request, error),
        Request::Fetch(request) => Response::Fetch(fetch(request, version, code)),
        Request::TxnOffsetCommit(request) => {
            Response::TxnOffsetCommit(txn_offset_commit(request, error))
        }
        Request::InitProducerId(_) => Response::InitProducerId(
            kafka::InitProducerIdResponseData::default()
                .with_error_code(code)
                .with_producer_id(-1)
                .with_producer_epoch(-1),
        ),
        Request::AddOffsetsToTxn(_) => Response::AddOffsetsToTxn(
            kafka::AddOffsetsToTxnResponseData::default().with_error_code(code),
        ),
        Request::EndTxn(_) => {
            Response::EndTxn(kafka::EndTxnResponseData::default().with_error_code(code))
        }
        Request::ListTransactions(_) => Response::ListTransactions(
            kafka::ListTransactionsResponseData::default().with_error_code(code),
        ),
        Request::DescribeCluster(_) => Response::DescribeCluster(
            kafka::DescribeClusterResponseData::default().with_error_code(code),
        ),
        Request::JoinGroup(_)
        | Request::SyncGroup(_)
        | Request::Heartbeat(_)
        | Request::LeaveGroup(_)
        | Request::DescribeGroups(_)
        | Request::ListGroups(_)
        | Request::DeleteGroups(_)
        | Request::ConsumerGroupHeartbeat(_)
        | Request::ConsumerGroupDescribe(_)
        | Request::OffsetDelete(_) => {
            return groups::error_response(request, version, error);
        }
        Request::FindCoordinator(request) => {
            Response::FindCoordinator(find_coordinator(request, version, error))
        }
        Request::AddPartitionsToTxn(request) => {
            Response::AddPartitionsToTxn(add_partitions(request, version, code))
        }
        other => {
            return per_item(other, version, code)
                .or_else(|| admin::error_response(other, version, error));
        }
    })
}

/// The answers that carry the code beside each item and are built by a plain map.
fn per_item(request: &Request, version: i16, code: i16) -> Option<Response> {
    Some(match request {
        Request::Metadata(request) => Response::Metadata(metadata(request, version, code)),
        Request::CreateTopics(request) => Response::CreateTopics(create_topics(request, code)),
        Request::DeleteTopics(request) => {
            Response::DeleteTopics(delete_topics(request, version, code))
        }
        Request::DeleteRecords(request) => Response::DeleteRecords(delete_records(request, code)),
        Request::OffsetCommit(request) => Response::OffsetCommit(offset_commit(request, code)),
        Request::OffsetFetch(request) => {
            Response::OffsetFetch(offset_fetch(request, version, code))
        }
        Request::WriteTxnMarkers(request) => {
            Response::WriteTxnMarkers(write_txn_markers(request, code))
        }
        Request::ListOffsets(request) => Response::ListOffsets(list_offsets(request, code)),
        Request::DescribeProducers(request) => {
            Response::DescribeProducers(describe_producers(request, code))
        }
        Request::DescribeTransactions(request) => {
            Response::DescribeTransactions(describe_transactions(request, code))
        }
        _ => return None,
    })
}

/// Kafka's own words for a code.
fn message(error: ErrorCode) -> KafkaString {
    KafkaString::from(error.to_string())
}

fn api_versions(code: i16) -> kafka::ApiVersionsResponseData {
    let mut data = kafka::ApiVersionsResponseData::default().with_error_code(code);
    // KIP-511: the one thing a client must learn to try again.
    if code == ErrorCode::UnsupportedVersion.code() {
        data.api_keys = super::APIS
            .iter()
            .filter(|api| api.key == super::apis::API_VERSIONS)
            .map(|api| {
                kafka::ApiVersion::default()
                    .with_api_key(api.key)
                    .with_min_version(api.advertised_min)
                    .with_max_version(api.max)
            })
            .collect();
    }
    data
}

fn produce(request: &ProduceRequest, error: ErrorCode) -> Option<Response> {
    if request.acks == 0 {
        return None;
    }
    let partition = |(index, _): &(i32, _)| {
        kafka::PartitionProduceResponse::default()
            .with_index(*index)
            .with_error_code(error.code())
            .with_error_message(Some(message(error)))
            .with_base_offset(-1)
            .with_log_append_time_ms(-1)
            .with_log_start_offset(-1)
    };
    let topics = request.topics.iter().map(|topic| {
        kafka::TopicProduceResponse::default()
            .with_name(topic.name.to_kafka())
            .with_topic_id(topic.topic_id.to_kafka())
            .with_partition_responses(topic.partitions.iter().map(partition).collect())
    });
    Some(Response::Produce(kafka::ProduceResponseData::default().with_responses(topics.collect())))
}

fn fetch(request: &kafka::FetchRequestData, version: i16, code: i16) -> FetchResponse {
    use kafka::fetch_response::{FetchableTopicResponse, PartitionData};
    let mut response = FetchResponse::default();
    response.data.error_code = code;
    if version >= 7 {
        // The session stays the client's: it takes the code at the top as the session's.
        response.data.session_id = request.session_id;
    }
    // From v13 on the code at the top says it all.
    if version < 13 {
        response.data.responses = request
            .topics
            .iter()
            .map(|topic| {
                let partition = |p: &kafka::fetch_request::FetchPartition| {
                    PartitionData::default()
                        .with_partition_index(p.partition)
                        .with_error_code(code)
                        .with_high_watermark(-1)
                        .with_aborted_transactions(Some(Vec::new()))
                };
                FetchableTopicResponse::default()
                    .with_topic(topic.topic.clone())
                    .with_partitions(topic.partitions.iter().map(partition).collect())
            })
            .collect();
    }
    response
}

fn txn_offset_commit(
    request: &TxnOffsetCommitRequest,
    error: ErrorCode,
) -> TxnOffsetCommitResponse {
    let topics = request.topics.iter().map(|topic| TxnOffsetCommitTopicResult {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: topic.partitions.iter().map(|p| (p.partition, error)).collect(),
    });
    TxnOffsetCommitResponse { topics: topics.collect() }
}

fn find_coordinator(
    request: &kafka::FindCoordinatorRequestData,
    version: i16,
    error: ErrorCode,
) -> kafka::FindCoordinatorResponseData {
    let data = kafka::FindCoordinatorResponseData::default();
    if version < 4 {
        return data
            .with_error_code(error.code())
            .with_error_message(Some(message(error)))
            .with_node_id(-1)
            .with_port(-1);
    }
    let one = |key: &KafkaString| {
        kafka::Coordinator::default()
            .with_key(key.clone())
            .with_node_id(-1)
            .with_port(-1)
            .with_error_code(error.code())
            .with_error_message(Some(message(error)))
    };
    data.with_coordinators(request.coordinator_keys.iter().map(one).collect())
}

fn add_partitions(
    request: &kafka::AddPartitionsToTxnRequestData,
    version: i16,
    code: i16,
) -> kafka::AddPartitionsToTxnResponseData {
    use kafka::add_partitions_to_txn_response as answer;
    let data = kafka::AddPartitionsToTxnResponseData::default();
    if version >= 4 {
        return data.with_error_code(code);
    }
    let partition = |index: &i32| {
        answer::AddPartitionsToTxnPartitionResult::default()
            .with_partition_index(*index)
            .with_partition_error_code(code)
    };
    let topics = request.v3_and_below_topics.iter().map(|topic| {
        answer::AddPartitionsToTxnTopicResult::default()
            .with_name(topic.name.clone())
            .with_results_by_partition(topic.partitions.iter().map(partition).collect())
    });
    data.with_results_by_topic_v3_and_below(topics.collect())
}

fn metadata(
    request: &kafka::MetadataRequestData,
    version: i16,
    code: i16,
) -> kafka::MetadataResponseData {
    let data = kafka::MetadataResponseData::default().with_controller_id(-1);
    let data = if version >= 13 { data.with_error_code(code) } else { data };
    let topics = request.topics.iter().flatten().map(|topic| {
        kafka::metadata_response::MetadataResponseTopic::default()
            .with_error_code(code)
            .with_name(Some(topic.name.clone().unwrap_or_default()))
            .with_topic_id(topic.topic_id)
    });
    data.with_topics(topics.collect())
}

fn create_topics(
    request: &kafka::CreateTopicsRequestData,
    code: i16,
) -> kafka::CreateTopicsResponseData {
    let topics = request.topics.iter().map(|topic| {
        kafka::create_topics_response::CreatableTopicResult::default()
            .with_name(topic.name.clone())
            .with_error_code(code)
            .with_configs(Some(Vec::new()))
    });
    kafka::CreateTopicsResponseData::default().with_topics(topics.collect())
}

fn delete_topics(
    request: &kafka::DeleteTopicsRequestData,
    version: i16,
    code: i16,
) -> kafka::DeleteTopicsResponseData {
    let result = kafka::delete_topics_response::DeletableTopicResult::default;
    let responses: Vec<_> = if version >= 6 {
        let topics = request.topics.iter();
        topics
            .map(|t| {
                result().with_name(t.name.clone()).with_topic_id(t.topic_id).with_error_code(code)
            })
            .collect()
    } else {
        let names = request.topic_names.iter();
        names.map(|name| result().with_name(Some(name.clone())).with_error_code(code)).collect()
    };
    kafka::DeleteTopicsResponseData::default().with_responses(responses)
}

fn delete_records(
    request: &kafka::DeleteRecordsRequestData,
    code: i16,
) -> kafka::DeleteRecordsResponseData {
    use kafka::delete_records_response as answer;
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|p| {
            answer::DeleteRecordsPartitionResult::default()
                .with_partition_index(p.partition_index)
                .with_low_watermark(-1)
                .with_error_code(code)
        });
        answer::DeleteRecordsTopicResult::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    kafka::DeleteRecordsResponseData::default().with_topics(topics.collect())
}

fn offset_commit(
    request: &kafka::OffsetCommitRequestData,
    code: i16,
) -> kafka::OffsetCommitResponseData {
    use kafka::offset_commit_response as answer;
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|p| {
            answer::OffsetCommitResponsePartition::default()
                .with_partition_index(p.partition_index)
                .with_error_code(code)
        });
        answer::OffsetCommitResponseTopic::default()
            .with_name(topic.name.clone())
            .with_topic_id(topic.topic_id)
            .with_partitions(partitions.collect())
    });
    kafka::OffsetCommitResponseData::default().with_topics(topics.collect())
}

fn offset_fetch(
    request: &kafka::OffsetFetchRequestData,
    version: i16,
    code: i16,
) -> kafka::OffsetFetchResponseData {
    use kafka::offset_fetch_response as answer;
    let data = kafka::OffsetFetchResponseData::default();
    match version {
        8.. => {
            let groups = request.groups.iter().map(|group| {
                answer::OffsetFetchResponseGroup::default()
                    .with_group_id(group.group_id.clone())
                    .with_error_code(code)
            });
            data.with_groups(groups.collect())
        }
        2.. => data.with_error_code(code),
        // v1 has no code at the top.
        _ => {
            let topics = request.topics.iter().flatten().map(|topic| {
                let partitions = topic.partition_indexes.iter().map(|index| {
                    answer::OffsetFetchResponsePartition::default()
                        .with_partition_index(*index)
                        .with_committed_offset(-1)
                        .with_metadata(Some(KafkaString::default()))
                        .with_error_code(code)
                });
                answer::OffsetFetchResponseTopic::default()
                    .with_name(topic.name.clone())
                    .with_partitions(partitions.collect())
            });
            data.with_topics(topics.collect())
        }
    }
}

fn write_txn_markers(
    request: &kafka::WriteTxnMarkersRequestData,
    code: i16,
) -> kafka::WriteTxnMarkersResponseData {
    use kafka::write_txn_markers_response as answer;
    let markers = request.markers.iter().map(|marker| {
        let topics = marker.topics.iter().map(|topic| {
            let partitions = topic.partition_indexes.iter().map(|index| {
                answer::WritableTxnMarkerPartitionResult::default()
                    .with_partition_index(*index)
                    .with_error_code(code)
            });
            answer::WritableTxnMarkerTopicResult::default()
                .with_name(topic.name.clone())
                .with_partitions(partitions.collect())
        });
        answer::WritableTxnMarkerResult::default()
            .with_producer_id(marker.producer_id)
            .with_topics(topics.collect())
    });
    kafka::WriteTxnMarkersResponseData::default().with_markers(markers.collect())
}

fn list_offsets(
    request: &kafka::ListOffsetsRequestData,
    code: i16,
) -> kafka::ListOffsetsResponseData {
    use kafka::list_offsets_response as answer;
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|p| {
            answer::ListOffsetsPartitionResponse::default()
                .with_partition_index(p.partition_index)
                .with_error_code(code)
                .with_timestamp(-1)
                .with_offset(-1)
        });
        answer::ListOffsetsTopicResponse::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    kafka::ListOffsetsResponseData::default().with_topics(topics.collect())
}

fn describe_producers(
    request: &kafka::DescribeProducersRequestData,
    code: i16,
) -> kafka::DescribeProducersResponseData {
    use kafka::describe_producers_response as answer;
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partition_indexes.iter().map(|index| {
            answer::PartitionResponse::default().with_partition_index(*index).with_error_code(code)
        });
        answer::TopicResponse::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    kafka::DescribeProducersResponseData::default().with_topics(topics.collect())
}

fn describe_transactions(
    request: &kafka::DescribeTransactionsRequestData,
    code: i16,
) -> kafka::DescribeTransactionsResponseData {
    let states = request.transactional_ids.iter().map(|id| {
        kafka::describe_transactions_response::TransactionState::default()
            .with_transactional_id(id.clone())
            .with_error_code(code)
    });
    kafka::DescribeTransactionsResponseData::default().with_transaction_states(states.collect())
}
