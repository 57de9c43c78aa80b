//! The answers that fail a request about groups as a whole.

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated as kafka;
use kacrab_protocol::generated::ErrorCode;

use crate::wire::{DeleteGroupsResponse, DeletedGroup, Request, Response};

pub(super) fn error_response(
    request: &Request,
    version: i16,
    error: ErrorCode,
) -> Option<Response> {
    let code = error.code();
    Some(match request {
        Request::JoinGroup(_) => Response::JoinGroup(
            kafka::JoinGroupResponseData::default()
                .with_error_code(code)
                .with_generation_id(-1)
                .with_protocol_name((version < 7).then(KafkaString::default)),
        ),
        Request::SyncGroup(_) => {
            Response::SyncGroup(kafka::SyncGroupResponseData::default().with_error_code(code))
        }
        Request::Heartbeat(_) => {
            Response::Heartbeat(kafka::HeartbeatResponseData::default().with_error_code(code))
        }
        Request::LeaveGroup(_) => {
            Response::LeaveGroup(kafka::LeaveGroupResponseData::default().with_error_code(code))
        }
        Request::ListGroups(_) => {
            Response::ListGroups(kafka::ListGroupsResponseData::default().with_error_code(code))
        }
        Request::OffsetDelete(_) => {
            Response::OffsetDelete(kafka::OffsetDeleteResponseData::default().with_error_code(code))
        }
        Request::ConsumerGroupHeartbeat(_) => Response::ConsumerGroupHeartbeat(
            kafka::ConsumerGroupHeartbeatResponseData::default().with_error_code(code),
        ),
        Request::ConsumerGroupDescribe(request) => {
            let group = |id: &KafkaString| {
                kafka::consumer_group_describe_response::DescribedGroup::default()
                    .with_group_id(id.clone())
                    .with_error_code(code)
                    .with_authorized_operations(i32::MIN)
            };
            let groups = request.group_ids.iter().map(group).collect();
            Response::ConsumerGroupDescribe(
                kafka::ConsumerGroupDescribeResponseData::default().with_groups(groups),
            )
        }
        Request::DescribeGroups(request) => {
            let group = |id: &KafkaString| {
                kafka::describe_groups_response::DescribedGroup::default()
                    .with_group_id(id.clone())
                    .with_error_code(code)
                    .with_authorized_operations(i32::MIN)
            };
            let groups = request.groups.iter().map(group).collect();
            Response::DescribeGroups(
                kafka::DescribeGroupsResponseData::default().with_groups(groups),
            )
        }
        Request::DeleteGroups(request) => {
            let results = request.groups_names.iter().map(|id| DeletedGroup {
                group_id: id.clone(),
                error_code: code,
                error_message: None,
            });
            let results = results.collect();
            Response::DeleteGroups(DeleteGroupsResponse { throttle_time_ms: 0, results })
        }
        _ => return None,
    })
}
