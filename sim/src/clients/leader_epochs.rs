//! OffsetForLeaderEpoch: where the records of each leader epoch end. A consumer asks so whether
//! records that it has seen are gone.

use kacrab_protocol::generated::offset_for_leader_epoch_request as asked;
use verdict_core::wire::{Request, Response};

use super::TOPIC;
use super::requests::text;
use crate::history::{Event, Part};

/// Asks where each of these leader epochs ended.
pub(super) fn epoch_ends(part: Part, epochs: &[i32]) -> Request {
    let partition = |&leader_epoch: &i32| asked::OffsetForLeaderPartition {
        partition: i32::from(part),
        current_leader_epoch: -1,
        leader_epoch,
        ..Default::default()
    };
    let topic = asked::OffsetForLeaderTopic {
        topic: text(TOPIC),
        partitions: epochs.iter().map(partition).collect(),
        ..Default::default()
    };
    Request::OffsetForLeaderEpoch(asked::OffsetForLeaderEpochRequestData {
        replica_id: -1,
        topics: vec![topic],
        ..Default::default()
    })
}

/// The answers, in the order of the questions, with what was asked after them.
pub(super) fn told<'a>(
    response: &'a Response,
    part: Part,
    epochs: &'a [i32],
    log_start: i64,
) -> impl Iterator<Item = Event> + 'a {
    let topics = match response {
        Response::OffsetForLeaderEpoch(data) => data.topics.as_slice(),
        _ => &[],
    };
    let answers = topics.iter().flat_map(|topic| &topic.partitions);
    epochs.iter().zip(answers).map(move |(&asked, answer)| Event::LeaderEpochEnded {
        part,
        asked,
        epoch: answer.leader_epoch,
        end: answer.end_offset,
        log_start,
    })
}
