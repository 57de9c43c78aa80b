//! Markers written by hand, and what partitions know of producers.

use kacrab_protocol::generated::describe_producers_request::TopicRequest;
use kacrab_protocol::generated::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use kacrab_protocol::generated::{
    DescribeProducersRequestData, DescribeProducersResponseData, WriteTxnMarkersRequestData,
    WriteTxnMarkersResponseData,
};
use verdict_core::wire::Request;

use super::{Call, code, each, places, result, writer};
use crate::args::{Args, Fault};
use crate::names::Names;

/// `markers P1/1 commit|abort t-0 … [tv=N] [coordinator=N]`: WriteTxnMarkers. The coordinator's
/// epoch is the newest that an answer showed, unless said otherwise.
pub(super) fn write(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let (producer_id, producer_epoch) = writer(args, names)?;
    let commit = args.flag("commit");
    if commit == args.flag("abort") {
        return Err("commit or abort?".to_owned());
    }
    let topics = places(args)?.into_iter().map(|(topic, partitions)| {
        WritableTxnMarkerTopic::default()
            .with_name(names.outside(&topic))
            .with_partition_indexes(partitions)
    });
    let version = args.version(2);
    let transaction_version = args.named("tv")?.unwrap_or(if names.classic { 1 } else { 2 });
    let marker = WritableTxnMarker::default()
        .with_producer_id(producer_id)
        .with_producer_epoch(producer_epoch)
        .with_transaction_result(commit)
        .with_topics(topics.collect())
        .with_coordinator_epoch(args.named("coordinator")?.unwrap_or(names.coordinator_epoch))
        .with_transaction_version(if version >= 2 { transaction_version } else { 0 });
    let data = WriteTxnMarkersRequestData::default().with_markers(vec![marker]);
    Ok(Call::new(version, Request::WriteTxnMarkers(data)))
}

pub(super) fn show_written(data: &WriteTxnMarkersResponseData, names: &Names) -> String {
    let topics = data.markers.iter().flat_map(|marker| &marker.topics);
    let results = topics.flat_map(|topic| {
        topic.partitions.iter().map(|partition| {
            let name = names.own(topic.name.as_str());
            (format!("{name}-{}", partition.partition_index), code(partition.error_code))
        })
    });
    each(results.collect())
}

/// `producers t-0 …`: DescribeProducers.
pub(super) fn producers(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let topics = places(args)?.into_iter().map(|(topic, partitions)| {
        TopicRequest::default().with_name(names.outside(&topic)).with_partition_indexes(partitions)
    });
    let data = DescribeProducersRequestData::default().with_topics(topics.collect());
    Ok(Call::new(args.version(0), Request::DescribeProducers(data)))
}

pub(super) fn show_producers(data: &DescribeProducersResponseData, names: &mut Names) -> String {
    let mut results = Vec::new();
    for topic in &data.topics {
        let name = names.own(topic.name.as_str()).to_owned();
        for partition in &topic.partitions {
            let mut shown: Vec<String> = Vec::new();
            for state in &partition.active_producers {
                names.coordinator_epoch = names.coordinator_epoch.max(state.coordinator_epoch);
                let open = match state.current_txn_start_offset {
                    -1 => String::new(),
                    offset => format!(" open@{offset}"),
                };
                let producer = names.producer(state.producer_id);
                let (epoch, last) = (state.producer_epoch, state.last_sequence);
                shown.push(format!("[{producer}/{epoch} last={last}{open}]"));
            }
            shown.sort();
            let all = if shown.is_empty() { "nobody".to_owned() } else { shown.join(" ") };
            let shown = result(partition.error_code, || all);
            results.push((format!("{name}-{}", partition.partition_index), shown));
        }
    }
    each(results)
}
