//! Transactions, flat out: each producer writes to its partitions, commits, and begins anew.

use std::time::Instant;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::EndTxnRequestData;
use verdict_core::wire::{Request, Response};

use super::link::{Link, LinkError, check, persistently};
use super::produce::produced;
use super::sample::Sample;
use super::setup::{create_topic, init_producer};
use super::template::{Identity, Load, Template};
use super::workload::{Run, beside};

/// EndTxn with a new epoch in its answer (KIP-890).
const END_TXN_VERSION: i16 = 5;

/// How to write transactions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transactions {
    /// Producers, a connection each.
    pub(super) producers: i32,
    /// Partitions that each transaction writes to; all producers write to the same.
    pub(super) partitions: i32,
    /// The batch that each partition gets.
    pub(super) load: Load,
}

impl Transactions {
    pub(super) fn run(self, run: &Run<'_>) -> Result<Sample, LinkError> {
        let topic = run.name("transactions");
        create_topic(&run.address, &topic, self.partitions)?;
        let partitions: Vec<i32> = (0..self.partitions).collect();
        beside(run, self.producers, |index| {
            let id = run.name(&format!("producer-{index}"));
            let mut producer = Writer::new(run, &topic, &partitions, self.load, id)?;
            Ok(move |end| producer.flat_out(end))
        })
    }
}

/// A transactional producer.
pub(super) struct Writer {
    link: Link,
    id: String,
    identity: Identity,
    template: Template,
    correlation_id: i32,
    /// Sequence of the transaction's next batches.
    sequence: i32,
}

impl Writer {
    pub(super) fn new(
        run: &Run<'_>,
        topic: &str,
        partitions: &[i32],
        load: Load,
        id: String,
    ) -> Result<Self, LinkError> {
        let mut link = Link::connect(&run.address)?;
        let identity = init_producer(&mut link, Some(&id))?;
        let template = Template::new(topic, partitions, load, Some(&id))?;
        Ok(Self { link, id, identity, template, correlation_id: 0, sequence: 0 })
    }

    /// Creates a topic and fills it with so many committed transactions of so many requests, each
    /// with a batch for every partition.
    pub(super) fn fill(
        run: &Run<'_>,
        topic: &str,
        partitions: i32,
        load: Load,
        (transactions, requests): (u32, u32),
    ) -> Result<(), LinkError> {
        create_topic(&run.address, topic, partitions)?;
        let partitions: Vec<i32> = (0..partitions).collect();
        let mut writer = Self::new(run, topic, &partitions, load, run.name("filler"))?;
        for _ in 0..transactions {
            for _ in 0..requests {
                writer.produce()?;
            }
            writer.commit()?;
        }
        Ok(())
    }

    fn flat_out(&mut self, end: Instant) -> Result<Sample, LinkError> {
        let begin = Instant::now();
        let mut sample = Sample::default();
        while Instant::now() < end {
            let since = Instant::now();
            self.transaction()?;
            sample.took(since);
            sample.operations += 1;
            sample.records += self.template.records();
            sample.bytes += self.template.bytes();
        }
        sample.elapsed = begin.elapsed();
        Ok(sample)
    }

    /// One transaction from its first record to the answer to its commit.
    pub(super) fn transaction(&mut self) -> Result<(), LinkError> {
        self.produce()?;
        self.commit()
    }

    /// Writes the transaction's records. A broker that still ends the last one is asked again.
    pub(super) fn produce(&mut self) -> Result<(), LinkError> {
        persistently(|| {
            self.correlation_id += 1;
            let (identity, sequence) = (self.identity, self.sequence);
            self.link.send(self.template.frame(self.correlation_id, identity, sequence))?;
            produced(&mut self.link)
        })?;
        self.sequence = self.template.next_sequence(self.sequence);
        Ok(())
    }

    /// Commits; the next transaction has the epoch of the answer.
    pub(super) fn commit(&mut self) -> Result<(), LinkError> {
        let data = EndTxnRequestData::default()
            .with_transactional_id(KafkaString::from(self.id.clone()))
            .with_producer_id(self.identity.producer_id)
            .with_producer_epoch(self.identity.producer_epoch)
            .with_committed(true);
        let request = Request::EndTxn(data);
        self.identity = persistently(|| match self.link.call(END_TXN_VERSION, &request)? {
            Response::EndTxn(answer) => {
                check("EndTxn", answer.error_code)?;
                let (producer_id, producer_epoch) = (answer.producer_id, answer.producer_epoch);
                Ok(Identity { producer_id, producer_epoch })
            }
            _ => Err(LinkError::Unexpected),
        })?;
        self.sequence = 0;
        Ok(())
    }

    pub(super) const fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    pub(super) const fn identity(&self) -> Identity {
        self.identity
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }
}
