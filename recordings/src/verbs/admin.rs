//! Topics and their records, as an administrator changes them.

use kacrab_protocol::generated::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kacrab_protocol::generated::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsTopic,
};
use kacrab_protocol::generated::{
    CreateTopicsRequestData, DeleteRecordsRequestData, DeleteRecordsResponseData,
    DeleteTopicsRequestData, DeleteTopicsResponseData,
};
use verdict_core::wire::Request;

use super::{Call, code, each, result};
use crate::args::{Args, Fault, place};
use crate::names::{Names, wire};

const TIMEOUT_MS: i32 = 30_000;

/// `topic NAME [PARTITIONS] [setting=value …]`: its name and the CreateTopics.
pub(crate) fn create_topic(words: &[String], names: &Names) -> Result<(String, Call), Fault> {
    let mut args = Args::new(words.iter().map(String::as_str));
    let name = args.word("a name")?;
    let partitions = args.find(|word| word.parse().ok()).unwrap_or(1);
    let settings = args.rest().map(|(key, value)| {
        CreatableTopicConfig::default().with_name(wire(key)).with_value(Some(wire(value)))
    });
    let topic = CreatableTopic::default()
        .with_name(names.outside(name))
        .with_num_partitions(partitions)
        .with_replication_factor(1)
        .with_configs(settings.collect());
    let data =
        CreateTopicsRequestData::default().with_topics(vec![topic]).with_timeout_ms(TIMEOUT_MS);
    args.finish()?;
    Ok((name.to_owned(), Call::new(5, Request::CreateTopics(data))))
}

/// `delete-topic NAME`: DeleteTopics.
pub(super) fn delete_topic(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let data = DeleteTopicsRequestData::default()
        .with_topic_names(vec![names.outside(args.word("a topic")?)])
        .with_timeout_ms(TIMEOUT_MS);
    Ok(Call::new(args.version(5), Request::DeleteTopics(data)))
}

pub(super) fn show_deleted_topics(data: &DeleteTopicsResponseData, names: &Names) -> String {
    let results = data.responses.iter().map(|topic| {
        let name = topic.name.as_ref().map_or("", kacrab_protocol::KafkaString::as_str);
        (names.own(name).to_owned(), code(topic.error_code))
    });
    each(results.collect())
}

/// `delete-records t-0@5 …`: DeleteRecords; `@-1` is everything.
pub(super) fn delete_records(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let all = args.all("t-0@OFFSET", |word| {
        let (name, offset) = word.split_once('@')?;
        Some((place(name)?, offset.parse().ok()?))
    })?;
    let topics = all.into_iter().map(|((topic, index), offset)| {
        let partition =
            DeleteRecordsPartition::default().with_partition_index(index).with_offset(offset);
        DeleteRecordsTopic::default()
            .with_name(names.outside(topic))
            .with_partitions(vec![partition])
    });
    let data = DeleteRecordsRequestData::default()
        .with_topics(topics.collect())
        .with_timeout_ms(TIMEOUT_MS);
    Ok(Call::new(args.version(2), Request::DeleteRecords(data)))
}

pub(super) fn show_deleted_records(data: &DeleteRecordsResponseData, names: &Names) -> String {
    let results = data.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| {
            let name = names.own(topic.name.as_str());
            let low = format!("low={}", partition.low_watermark);
            (format!("{name}-{}", partition.partition_index), result(partition.error_code, || low))
        })
    });
    each(results.collect())
}
