//! A group's offsets: committed plainly, in a transaction, and read back.

use kacrab_protocol::generated::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kacrab_protocol::generated::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kacrab_protocol::generated::{
    OffsetCommitRequestData, OffsetCommitResponseData, OffsetFetchRequestData,
    OffsetFetchResponseData,
};
use verdict_core::types::{TopicId, TopicName};
use verdict_core::wire::{
    Request, TxnOffsetCommitPartition, TxnOffsetCommitRequest, TxnOffsetCommitResponse,
    TxnOffsetCommitTopic,
};

use super::{ByTopic, Call, by_topic, code, each, places, result, writer};
use crate::args::{Args, Fault, place};
use crate::names::{Names, wire};

/// From this version of OffsetFetch on several groups are asked for.
const GROUPS: i16 = 8;
/// From this version of TxnOffsetCommit on topics go by their ids.
const TXN_BY_ID: i16 = 6;

/// An offset for each of some partitions, by topic: `t-0@5 …`.
fn positions(args: &mut Args<'_>) -> Result<ByTopic<(i32, i64)>, Fault> {
    let all = args.all("t-0@OFFSET", |word| {
        let (name, offset) = word.split_once('@')?;
        let (topic, index) = place(name)?;
        Some(((topic.to_owned(), index), offset.parse().ok()?))
    })?;
    Ok(by_topic(all))
}

/// The metadata kept beside an offset, of so many characters.
fn metadata(args: &mut Args<'_>) -> Result<String, Fault> {
    Ok("m".repeat(args.named("metadata")?.unwrap_or(0)))
}

/// `commit GROUP t-0@5 … [member=M1 gen=N] [instance=I] [metadata=LENGTH]`: OffsetCommit.
pub(super) fn commit(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let metadata = metadata(args)?;
    let topics = positions(args)?.into_iter().map(|(topic, partitions)| {
        let partitions = partitions.into_iter().map(|(index, offset)| {
            OffsetCommitRequestPartition::default()
                .with_partition_index(index)
                .with_committed_offset(offset)
                .with_committed_leader_epoch(-1)
                .with_committed_metadata(Some(wire(&metadata)))
        });
        OffsetCommitRequestTopic::default()
            .with_name(names.outside(&topic))
            .with_partitions(partitions.collect())
    });
    let member = args.named::<String>("member")?.unwrap_or_default();
    let data = OffsetCommitRequestData::default()
        .with_group_id(names.outside(args.word("a group")?))
        .with_generation_id_or_member_epoch(args.named("gen")?.unwrap_or(-1))
        .with_member_id(names.member_id(&member)?)
        .with_group_instance_id(args.named::<String>("instance")?.map(|id| wire(&id)))
        .with_topics(topics.collect());
    Ok(Call::new(args.version(8), Request::OffsetCommit(data)))
}

pub(super) fn show_commit(data: &OffsetCommitResponseData, names: &Names) -> String {
    let results = data.topics.iter().flat_map(|topic| {
        let name = names.topic(topic.name.as_str(), topic.topic_id.into());
        topic.partitions.iter().map(move |partition| {
            (format!("{name}-{}", partition.partition_index), code(partition.error_code))
        })
    });
    each(results.collect())
}

/// `txn-commit TX GROUP P1/0 t-0@5 … [member=M1 gen=N] [instance=I] [metadata=LENGTH]`:
/// TxnOffsetCommit.
pub(super) fn txn_commit(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let version = args.version(if names.classic { 4 } else { 5 });
    let (producer_id, producer_epoch) = writer(args, names)?;
    let metadata = metadata(args)?;
    let by_id = version >= TXN_BY_ID;
    let topics = positions(args)?.into_iter().map(|(topic, partitions)| TxnOffsetCommitTopic {
        name: if by_id { TopicName::from("") } else { names.outside(&topic).as_str().into() },
        topic_id: if by_id { names.topic_id(&topic) } else { TopicId::default() },
        partitions: partitions
            .into_iter()
            .map(|(partition, committed_offset)| TxnOffsetCommitPartition {
                partition,
                committed_offset,
                committed_leader_epoch: -1,
                committed_metadata: Some(wire(&metadata)),
            })
            .collect(),
    });
    let member = args.named::<String>("member")?.unwrap_or_default();
    let request = TxnOffsetCommitRequest {
        topics: topics.collect(),
        transactional_id: names.outside(args.word("a transactional id")?),
        group_id: names.outside(args.word("a group")?),
        producer_id,
        producer_epoch,
        generation_id: args.named("gen")?.unwrap_or(-1),
        member_id: names.member_id(&member)?,
        group_instance_id: args.named::<String>("instance")?.map(|id| wire(&id)),
    };
    Ok(Call::new(version, Request::TxnOffsetCommit(request)))
}

pub(super) fn show_txn_commit(data: &TxnOffsetCommitResponse, names: &Names) -> String {
    let results = data.topics.iter().flat_map(|topic| {
        let name = names.topic(topic.name.as_str(), topic.topic_id);
        topic
            .partitions
            .iter()
            .map(move |(index, error)| (format!("{name}-{index}"), code(error.code())))
    });
    each(results.collect())
}

/// `committed GROUP t-0 … [stable]`: OffsetFetch; `stable` waits for open transactions.
pub(super) fn committed(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let version = args.version(9);
    let require_stable = args.flag("stable");
    let topics = places(args)?;
    let group = names.outside(args.word("a group")?);
    let data = OffsetFetchRequestData::default().with_require_stable(require_stable);
    let data = if version < GROUPS {
        let topics = topics.into_iter().map(|(topic, partitions)| {
            OffsetFetchRequestTopic::default()
                .with_name(names.outside(&topic))
                .with_partition_indexes(partitions)
        });
        data.with_group_id(group).with_topics(Some(topics.collect()))
    } else {
        let topics = topics.into_iter().map(|(topic, partitions)| {
            OffsetFetchRequestTopics::default()
                .with_name(names.outside(&topic))
                .with_partition_indexes(partitions)
        });
        let group = OffsetFetchRequestGroup::default()
            .with_group_id(group)
            .with_member_epoch(-1)
            .with_topics(Some(topics.collect()));
        data.with_groups(vec![group])
    };
    Ok(Call::new(version, Request::OffsetFetch(data)))
}

pub(super) fn show_committed(
    version: i16,
    data: &OffsetFetchResponseData,
    names: &Names,
) -> String {
    if version < GROUPS {
        let results = data.topics.iter().flat_map(|topic| {
            topic.partitions.iter().map(|found| {
                let name = names.own(topic.name.as_str());
                let shown = found_offset(found.error_code, found.committed_offset);
                (format!("{name}-{}", found.partition_index), shown)
            })
        });
        return if data.error_code == 0 { each(results.collect()) } else { code(data.error_code) };
    }
    let groups = data.groups.iter().map(|group| {
        let results = group.topics.iter().flat_map(|topic| {
            topic.partitions.iter().map(|found| {
                let name = names.topic(topic.name.as_str(), topic.topic_id.into());
                let shown = found_offset(found.error_code, found.committed_offset);
                (format!("{name}-{}", found.partition_index), shown)
            })
        });
        let results = each(results.collect());
        let shown = if group.error_code == 0 { results } else { code(group.error_code) };
        (names.own(group.group_id.as_str()).to_owned(), shown)
    });
    each(groups.collect())
}

fn found_offset(error_code: i16, offset: i64) -> String {
    result(error_code, || format!("@{offset}"))
}
