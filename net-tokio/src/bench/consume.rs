//! Consuming what is there already, again and again, of either isolation.

use std::time::Instant;

use verdict_core::types::Isolation;

use super::link::{Link, LinkError};
use super::reader::{Reader, Wish};
use super::sample::Sample;
use super::template::Load;
use super::transactions::Writer;
use super::workload::{Run, beside};

/// Partitions of the topic.
const PARTITIONS: i32 = 8;
/// A batch of the topic: 16 KiB.
const LOAD: Load = Load { records: 16, record_bytes: 1_000 };
/// Transactions that are written before, and requests of each with a batch for each partition.
const TRANSACTIONS: u32 = 50;
const REQUESTS: u32 = 20;

/// How to consume.
#[derive(Clone, Copy, Debug)]
pub(super) struct Consume {
    pub(super) isolation: Isolation,
    /// Consumers, a connection each; partitions are shared out among them.
    pub(super) consumers: i32,
}

impl Consume {
    pub(super) fn run(self, run: &mut Run<'_>) -> Result<Sample, LinkError> {
        let topic = filled_topic(run)?;
        let run = &*run;
        let mut wish = Wish::usual(self.isolation);
        wish.max_wait_ms = 0;
        beside(run, self.consumers, |index| {
            let share = (0..PARTITIONS).filter(move |part| part % self.consumers == index);
            let mut reader = Reader::new(Link::connect(&run.address)?, &topic, share, wish);
            Ok(move |end| read_over_and_over(&mut reader, end))
        })
    }
}

/// A topic of committed transactions, 128 MB, written once for all runs.
fn filled_topic(run: &mut Run<'_>) -> Result<String, LinkError> {
    let (topic, is_new) = run.shared_name("consume");
    if is_new {
        Writer::fill(run, &topic, PARTITIONS, LOAD, (TRANSACTIONS, REQUESTS))?;
    }
    Ok(topic)
}

fn read_over_and_over(reader: &mut Reader, end: Instant) -> Result<Sample, LinkError> {
    let begin = Instant::now();
    let mut sample = Sample::default();
    while Instant::now() < end {
        let since = Instant::now();
        let got = reader.fetch()?;
        if got.bytes == 0 {
            reader.rewind();
            continue;
        }
        sample.took(since);
        sample.operations += 1;
        sample.records += got.records;
        sample.bytes += got.bytes;
    }
    sample.elapsed = begin.elapsed();
    Ok(sample)
}
