//! Records, with and without a producer id.

use kacrab_protocol::generated::ProduceResponseData;
use verdict_core::batch::{BatchBuilder, ScreenLimits, screen};
use verdict_core::types::{TopicId, TopicName};
use verdict_core::wire::{ProduceRequest, ProduceTopic, Request};

use super::{Call, each, places, result};
use crate::args::{Args, Fault};
use crate::names::Names;

/// From this version on topics go by their ids.
const BY_ID: i16 = 13;

/// `produce [TX] [P1/0 seq=N] t-0 … [xCOUNT] [at=MS] [acks=N] [key=K] [value=V]
/// [plain|flagged]`: Produce, one batch a partition. With a transactional id the batches are transactional, unless `plain`;
/// `flagged` makes them so without an id.
pub(super) fn produce(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let known = args.find(|word| word.contains('/').then_some(word));
    let producer = known.map(|word| names.writer(word)).transpose()?;
    let count = args.find(|word| word.strip_prefix('x')?.parse::<usize>().ok()).unwrap_or(1);
    let (plain, flagged) = (args.flag("plain"), args.flag("flagged"));
    let topics = places(args)?;
    let id = args.find(Some);
    let at_ms = names.time_ms(args.named("at")?.unwrap_or(0));
    let mut batch = BatchBuilder::new(at_ms);
    if let Some((producer_id, epoch)) = producer {
        let sequence = args.named("seq")?.ok_or("a producer's batch has seq=N")?;
        batch = batch.producer(producer_id, epoch, sequence);
    }
    if flagged || (id.is_some() && !plain) {
        batch = batch.transactional();
    }
    let key: Option<String> = args.named("key")?;
    let value: String = args.named("value")?.unwrap_or_else(|| "value".to_owned());
    for _ in 0..count {
        batch.push(key.as_ref().map(String::as_bytes), Some(value.as_bytes()), &[]);
    }
    let bytes = batch.build().bytes().clone();

    let version = args.version(if names.classic { 11 } else { 12 });
    let set = || screen(Some(bytes.clone()), version, &ScreenLimits::default());
    let topics = topics.into_iter().map(|(topic, partitions)| {
        let by_id = version >= BY_ID;
        ProduceTopic {
            name: if by_id { TopicName::from("") } else { names.outside(&topic).as_str().into() },
            topic_id: if by_id { names.topic_id(&topic) } else { TopicId::default() },
            partitions: partitions.into_iter().map(|index| (index, set())).collect(),
        }
    });
    let request = ProduceRequest {
        transactional_id: id.map(|id| names.outside(id)),
        acks: args.named("acks")?.unwrap_or(-1),
        timeout_ms: 30_000,
        topics: topics.collect(),
    };
    Ok(Call::new(version, Request::Produce(request)))
}

pub(super) fn show(data: &ProduceResponseData, names: &Names) -> String {
    let results = data.responses.iter().flat_map(|topic| {
        let name = names.topic(topic.name.as_str(), topic.topic_id.into());
        topic.partition_responses.iter().map(move |partition| {
            let shown = result(partition.error_code, || format!("@{}", partition.base_offset));
            (format!("{name}-{}", partition.index), shown)
        })
    });
    each(results.collect())
}
