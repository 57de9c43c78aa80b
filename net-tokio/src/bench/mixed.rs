//! Producing past a transaction that stays open: its partitions' last stable offset stands still,
//! the consumers of committed records wait, the others read on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use verdict_core::types::Isolation;

use super::link::{Link, LinkError};
use super::produce::flat_out;
use super::reader::{Reader, Wish};
use super::sample::Sample;
use super::setup::{create_topic, init_producer};
use super::template::{Load, Template};
use super::transactions::Writer;
use super::workload::Run;

/// What is produced: 16 records of 1 kB a batch.
const LOAD: Load = Load { records: 16, record_bytes: 1_000 };
/// Partitions, all of them in the open transaction.
const PARTITIONS: i32 = 8;
/// Consumers that wait behind the open transaction.
const WAITING: u32 = 4;

/// One producer flat out, one consumer that keeps up, some that wait, one open transaction.
pub(super) fn run(run: &Run<'_>) -> Result<Sample, LinkError> {
    let topic = run.name("mixed");
    let mut link = Link::connect(&run.address)?;
    create_topic(&run.address, &topic, PARTITIONS)?;
    let partitions: Vec<i32> = (0..PARTITIONS).collect();
    let mut open = Writer::new(run, &topic, &partitions, LOAD, run.name("open"))?;
    open.produce()?;
    let identity = init_producer(&mut link, None)?;
    let template = Template::new(&topic, &partitions, LOAD, None)?;
    let reader = |isolation| {
        let link = Link::connect(&run.address)?;
        Ok::<_, LinkError>(Reader::new(link, &topic, 0..PARTITIONS, Wish::usual(isolation)))
    };
    let mut readers = vec![reader(Isolation::ReadUncommitted)?];
    for _ in 0..WAITING {
        readers.push(reader(Isolation::ReadCommitted)?);
    }
    let over = AtomicBool::new(false);
    let sample = run.measured(|end| {
        thread::scope(|scope| {
            let reading: Vec<_> = readers
                .iter_mut()
                .map(|reader| {
                    scope.spawn(|| {
                        while !over.load(Ordering::Relaxed) {
                            reader.fetch()?;
                        }
                        Ok::<_, LinkError>(())
                    })
                })
                .collect();
            let sample = flat_out(&mut link, template, identity, end);
            over.store(true, Ordering::Relaxed);
            for thread in reading {
                thread.join().expect("a thread of the bench panicked")?;
            }
            sample
        })
    })?;
    open.commit()?;
    Ok(sample)
}
