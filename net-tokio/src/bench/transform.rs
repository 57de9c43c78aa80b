//! Consume, transform, produce: each round fetches, writes and commits offsets in a transaction.

use std::time::Instant;

use kacrab_protocol::KafkaString;
use verdict_core::types::{Isolation, TopicId, TopicName};
use verdict_core::wire::{
    Request, Response, TxnOffsetCommitPartition, TxnOffsetCommitRequest, TxnOffsetCommitTopic,
};

use super::link::{Link, LinkError, check, persistently};
use super::reader::{Reader, Wish};
use super::sample::Sample;
use super::setup::{create_topic, find_group_coordinator};
use super::template::Load;
use super::transactions::Writer;
use super::workload::{Run, beside};

/// The first version whose offsets are added to the transaction by it (KIP-890).
const TXN_OFFSET_COMMIT_VERSION: i16 = 5;
/// What a round reads and writes: 16 records of 1 kB.
const LOAD: Load = Load { records: 16, record_bytes: 1_000 };
/// Batches that are there to be read, in each partition.
const BATCHES: u32 = 500;
/// Bytes of a round's fetch: one batch.
const FETCH_BYTES: i32 = 16 << 10;

/// How many applications there are, each with a partition of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transform {
    pub(super) applications: i32,
}

impl Transform {
    pub(super) fn run(self, run: &mut Run<'_>) -> Result<Sample, LinkError> {
        let (source, is_new) = run.shared_name("source");
        if is_new {
            Writer::fill(run, &source, self.applications, LOAD, (1, BATCHES))?;
        }
        let target = run.name("target");
        create_topic(&run.address, &target, self.applications)?;
        let run = &*run;
        beside(run, self.applications, |index| {
            let mut wish = Wish::usual(Isolation::ReadCommitted);
            (wish.partition_max_bytes, wish.max_bytes) = (FETCH_BYTES, FETCH_BYTES);
            let partition = std::iter::once(index);
            let reader = Reader::new(Link::connect(&run.address)?, &source, partition, wish);
            let id = run.name(&format!("application-{index}"));
            let mut writer = Writer::new(run, &target, &[index], LOAD, id)?;
            let group = run.name(&format!("group-{index}"));
            find_group_coordinator(writer.link(), &group)?;
            let application = Application { reader, writer, group, source: source.clone() };
            Ok(move |end| application.flat_out(end))
        })
    }
}

struct Application {
    reader: Reader,
    writer: Writer,
    group: String,
    source: String,
}

impl Application {
    fn flat_out(mut self, end: Instant) -> Result<Sample, LinkError> {
        let begin = Instant::now();
        let mut sample = Sample::default();
        while Instant::now() < end {
            let since = Instant::now();
            let got = self.reader.fetch()?;
            if got.records == 0 {
                self.reader.rewind();
                continue;
            }
            self.writer.produce()?;
            self.commit_offsets()?;
            self.writer.commit()?;
            sample.took(since);
            sample.operations += 1;
            sample.records += got.records;
            sample.bytes += got.bytes;
        }
        sample.elapsed = begin.elapsed();
        Ok(sample)
    }

    fn commit_offsets(&mut self) -> Result<(), LinkError> {
        let identity = self.writer.identity();
        let partitions =
            self.reader.offsets().iter().map(|(partition, offset)| TxnOffsetCommitPartition {
                partition: *partition,
                committed_offset: *offset,
                committed_leader_epoch: -1,
                committed_metadata: None,
            });
        let request = Request::TxnOffsetCommit(TxnOffsetCommitRequest {
            transactional_id: KafkaString::from(self.writer.id().to_owned()),
            group_id: KafkaString::from(self.group.clone()),
            producer_id: identity.producer_id,
            producer_epoch: identity.producer_epoch,
            generation_id: -1,
            member_id: KafkaString::default(),
            group_instance_id: None,
            topics: vec![TxnOffsetCommitTopic {
                name: TopicName::from(self.source.as_str()),
                topic_id: TopicId::default(),
                partitions: partitions.collect(),
            }],
        });
        let link = self.writer.link();
        persistently(|| match link.call(TXN_OFFSET_COMMIT_VERSION, &request)? {
            Response::TxnOffsetCommit(answer) => {
                let mut partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
                partitions.try_for_each(|(_, code)| check("TxnOffsetCommit", code.code()))
            }
            _ => Err(LinkError::Unexpected),
        })
    }
}
