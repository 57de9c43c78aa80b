//! Latency at a steady pace, far below what a broker can do.
//!
//! Each operation has a time at which it is to begin, and its latency counts from there, whether
//! or not the client or the broker was late: coordinated omission does not flatter.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use verdict_core::types::Isolation;

use super::link::{Link, LinkError};
use super::produce::produced;
use super::reader::{Reader, Wish};
use super::sample::Sample;
use super::setup::{create_topic, init_producer};
use super::template::{Identity, Load, Template};
use super::transactions::Writer;
use super::workload::Run;

/// One record of 1 kB.
const LOAD: Load = Load { records: 1, record_bytes: 1_000 };

/// What is done at the pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paced {
    /// A Produce; its latency ends with its answer.
    Produce { per_second: u32 },
    /// The same; its latency ends when a consumer has it.
    EndToEnd { per_second: u32 },
    /// A transaction over so many partitions, from its Produce to the answer to its commit.
    Transaction { per_second: u32, partitions: i32 },
}

/// Times at a steady pace.
struct Pace {
    next: Instant,
    step: Duration,
}

impl Pace {
    fn new(per_second: u32) -> Self {
        Self { next: Instant::now(), step: Duration::from_secs(1) / per_second.max(1) }
    }

    /// Waits for the next time and returns it; at once when it has passed.
    fn wait(&mut self) -> Instant {
        self.next += self.step;
        thread::sleep(self.next.saturating_duration_since(Instant::now()));
        self.next
    }
}

impl Paced {
    pub(super) fn run(self, run: &Run<'_>) -> Result<Sample, LinkError> {
        let topic = run.name("paced");
        let mut link = Link::connect(&run.address)?;
        match self {
            Self::Transaction { per_second, partitions } => {
                create_topic(&run.address, &topic, partitions)?;
                let all: Vec<i32> = (0..partitions).collect();
                let mut writer = Writer::new(run, &topic, &all, LOAD, run.name("writer"))?;
                run.measured(|end| transactions(&mut writer, per_second, end))
            }
            Self::Produce { per_second } | Self::EndToEnd { per_second } => {
                create_topic(&run.address, &topic, 1)?;
                let identity = init_producer(&mut link, None)?;
                let template = Template::new(&topic, &[0], LOAD, None)?;
                let answers = link.reader()?;
                let sender = Sender { link, template, identity, per_second };
                if self == (Self::Produce { per_second }) {
                    return run.measured(|end| until_answered(sender, answers, end));
                }
                let wish = Wish::usual(Isolation::ReadUncommitted);
                let consumer = Link::connect(&run.address)?;
                let reader = Reader::new(consumer, &topic, std::iter::once(0), wish);
                run.measured(|end| until_consumed(sender, answers, reader, end))
            }
        }
    }
}

fn transactions(writer: &mut Writer, per_second: u32, end: Instant) -> Result<Sample, LinkError> {
    let (begin, mut sample, mut pace) = (Instant::now(), Sample::default(), Pace::new(per_second));
    while Instant::now() < end {
        let intended = pace.wait();
        writer.transaction()?;
        sample.took(intended);
        sample.operations += 1;
    }
    sample.elapsed = begin.elapsed();
    Ok(sample)
}

struct Sender {
    link: Link,
    template: Template,
    identity: Identity,
    per_second: u32,
}

impl Sender {
    /// Sends at the pace, and tells the intended time of each request before it goes.
    fn run(mut self, end: Instant, told: &[mpsc::Sender<Instant>]) -> Result<(), LinkError> {
        let (mut pace, mut sequence) = (Pace::new(self.per_second), 0);
        while Instant::now() < end {
            let intended = pace.wait();
            // A receiver is gone only when it failed, which is what will be reported.
            if told.iter().any(|told| told.send(intended).is_err()) {
                break;
            }
            self.link.send(self.template.frame(sequence, self.identity, sequence))?;
            sequence = self.template.next_sequence(sequence);
        }
        Ok(())
    }
}

fn until_answered(sender: Sender, mut answers: Link, end: Instant) -> Result<Sample, LinkError> {
    let begin = Instant::now();
    let (sent, intended) = mpsc::channel();
    thread::scope(|scope| {
        let sending = scope.spawn(move || sender.run(end, &[sent]));
        let mut sample = Sample::default();
        for intended in intended {
            produced(&mut answers)?;
            sample.took(intended);
            sample.operations += 1;
        }
        sample.elapsed = begin.elapsed();
        sending.join().expect("a thread of the bench panicked")?;
        Ok(sample)
    })
}

fn until_consumed(
    sender: Sender,
    mut answers: Link,
    mut reader: Reader,
    end: Instant,
) -> Result<Sample, LinkError> {
    let begin = Instant::now();
    let (to_answering, answered) = mpsc::channel();
    let (to_consuming, intended) = mpsc::channel();
    thread::scope(|scope| {
        let sending = scope.spawn(move || sender.run(end, &[to_answering, to_consuming]));
        let answering =
            scope.spawn(move || answered.iter().try_for_each(|_| produced(&mut answers)));
        let mut sample = Sample::default();
        loop {
            let got = reader.fetch()?;
            for _ in 0..got.batches {
                let intended = intended.recv().map_err(|_| LinkError::Unexpected)?;
                sample.took(intended);
                sample.operations += 1;
            }
            // What was sent last is there long before a fetch has waited in vain.
            if Instant::now() >= end && got.batches == 0 {
                break;
            }
        }
        sample.elapsed = begin.elapsed();
        sending.join().expect("a thread of the bench panicked")?;
        answering.join().expect("a thread of the bench panicked")?;
        Ok(sample)
    })
}
