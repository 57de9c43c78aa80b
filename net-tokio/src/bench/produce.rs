//! Idempotent produce, flat out: few connections, many requests in flight.

use std::collections::VecDeque;
use std::time::Instant;

use kacrab_protocol::generated::produce_response::ProduceResponseData;
use verdict_core::wire::{Response, client};

use super::link::{Link, LinkError, check};
use super::sample::Sample;
use super::setup::{create_topic, init_producer};
use super::template::{Identity, Load, PRODUCE, PRODUCE_VERSION, Template};
use super::workload::{Run, beside};

/// Requests of a connection that are in flight.
const IN_FLIGHT: usize = 5;

/// How to produce.
#[derive(Clone, Copy, Debug)]
pub(super) struct Produce {
    /// Connections, each with a producer and a request for partitions of its own.
    pub(super) connections: i32,
    /// Partitions of one request.
    pub(super) partitions: i32,
    /// The batches.
    pub(super) load: Load,
}

impl Produce {
    pub(super) fn run(self, run: &Run<'_>) -> Result<Sample, LinkError> {
        let topic = run.name("produce");
        create_topic(&run.address, &topic, self.connections * self.partitions)?;
        beside(run, self.connections, |index| {
            let first = index * self.partitions;
            let partitions: Vec<i32> = (first..first + self.partitions).collect();
            let template = Template::new(&topic, &partitions, self.load, None)?;
            let mut link = Link::connect(&run.address)?;
            let identity = init_producer(&mut link, None)?;
            Ok(move |end| flat_out(&mut link, template, identity, end))
        })
    }
}

/// What one of the requests that are sent in turn is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// Which template.
    pub(super) template: usize,
    pub(super) identity: Identity,
    /// Sequence of its next batches.
    pub(super) sequence: i32,
}

/// Sends from one template as one producer until the time is over.
pub(super) fn flat_out(
    link: &mut Link,
    template: Template,
    identity: Identity,
    end: Instant,
) -> Result<Sample, LinkError> {
    let mut source = [Source { template: 0, identity, sequence: 0 }];
    in_turn(link, &mut [template], &mut source, IN_FLIGHT, |_| Instant::now() >= end)
}

/// Sends from each source in turn until it `is_over`, which is asked with the number of requests
/// sent so far, and then waits for what is in flight.
pub(super) fn in_turn(
    link: &mut Link,
    templates: &mut [Template],
    sources: &mut [Source],
    in_flight_max: usize,
    is_over: impl Fn(usize) -> bool,
) -> Result<Sample, LinkError> {
    let begin = Instant::now();
    let mut sample = Sample::default();
    let mut in_flight = VecDeque::with_capacity(in_flight_max);
    let (mut sent, mut correlation_id) = (0, 0_i32);
    let (records, bytes) = (templates[0].records(), templates[0].bytes());
    loop {
        while in_flight.len() < in_flight_max && !is_over(sent) {
            let source = &mut sources[sent % sources.len()];
            let template = &mut templates[source.template];
            sent += 1;
            correlation_id = correlation_id.wrapping_add(1);
            in_flight.push_back(Instant::now());
            link.send(template.frame(correlation_id, source.identity, source.sequence))?;
            source.sequence = template.next_sequence(source.sequence);
        }
        let Some(since) = in_flight.pop_front() else { break };
        produced(link)?;
        sample.took(since);
        sample.operations += 1;
        sample.records += records;
        sample.bytes += bytes;
    }
    sample.elapsed = begin.elapsed();
    Ok(sample)
}

/// Takes in the answer to a Produce.
pub(super) fn produced(link: &mut Link) -> Result<(), LinkError> {
    let (_, response) = client::decode_response(PRODUCE, PRODUCE_VERSION, link.receive()?)?;
    let Response::Produce(ProduceResponseData { responses, .. }) = response else {
        return Err(LinkError::Unexpected);
    };
    let mut codes = responses.iter().flat_map(|topic| &topic.partition_responses);
    codes.try_for_each(|partition| check("Produce", partition.error_code))
}
