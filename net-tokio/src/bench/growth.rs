//! The cost of one request as something else grows: partitions, producers, connections, groups.

use std::time::Instant;

use super::groups::groups;
use super::link::{Link, LinkError};
use super::paced::Paced;
use super::produce::{Source, in_turn};
use super::sample::Sample;
use super::setup::{create_topic, init_producer};
use super::template::{Identity, Load, Template};
use super::workload::{Run, beside};

/// One record of 100 bytes: what a request costs by itself.
const LOAD: Load = Load { records: 1, record_bytes: 100 };
/// Requests in flight.
const IN_FLIGHT: usize = 5;
/// Requests of the paced producer in a second.
const PACE_PER_SECOND: u32 = 200;
/// The first producer id that is made up; brokers take ids they have not given out.
const FIRST_PRODUCER_ID: i64 = 1_000_000_000;

/// What grows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Growth {
    /// So many partitions, written in turn.
    Partitions(i32),
    /// So many producers of one partition, writing in turn.
    Producers(i32),
    /// So many connections, a request in flight each.
    Connections(i32),
    /// So many groups, each with a member that commits in turn.
    Groups(i32),
    /// So many partitions are written once; then a paced producer sees what their checkpoint, or
    /// whatever the broker does for them in the background, costs others.
    PacedBehind(i32),
}

impl Growth {
    pub(super) fn run(self, run: &mut Run<'_>) -> Result<Sample, LinkError> {
        match self {
            Self::Partitions(count) => partitions(run, count),
            Self::Producers(count) => producers(run, count),
            Self::Connections(count) => connections(run, count),
            Self::Groups(count) => groups(run, count),
            Self::PacedBehind(count) => paced_behind(run, count),
        }
    }
}

fn partitions(run: &mut Run<'_>, count: i32) -> Result<Sample, LinkError> {
    let (mut link, mut templates, mut sources) = prepare(run, count)?;
    measure(run, &mut link, &mut templates, &mut sources)
}

fn paced_behind(run: &mut Run<'_>, count: i32) -> Result<Sample, LinkError> {
    let (mut link, mut templates, mut sources) = prepare(run, count)?;
    let all = sources.len();
    in_turn(&mut link, &mut templates, &mut sources, IN_FLIGHT, |sent| sent >= all)?;
    Paced::Produce { per_second: PACE_PER_SECOND }.run(run)
}

/// So many partitions, and what is to be sent to each.
fn prepare(run: &mut Run<'_>, count: i32) -> Result<(Link, Vec<Template>, Vec<Source>), LinkError> {
    let (topic, is_new) = run.shared_name(&format!("partitions-{count}"));
    let mut link = Link::connect(&run.address)?;
    if is_new {
        create_topic(&run.address, &topic, count)?;
    }
    let identity = init_producer(&mut link, None)?;
    let templates = (0..count)
        .map(|partition| Template::new(&topic, &[partition], LOAD, None))
        .collect::<Result<Vec<_>, _>>()?;
    let sources =
        (0..templates.len()).map(|template| Source { template, identity, sequence: 0 }).collect();
    Ok((link, templates, sources))
}

fn producers(run: &Run<'_>, count: i32) -> Result<Sample, LinkError> {
    let topic = run.name("producers");
    let mut link = Link::connect(&run.address)?;
    create_topic(&run.address, &topic, 1)?;
    let mut template = [Template::new(&topic, &[0], LOAD, None)?];
    let source = |index| {
        let producer_id = FIRST_PRODUCER_ID + i64::from(index);
        let identity = Identity { producer_id, producer_epoch: 0 };
        Source { template: 0, identity, sequence: 0 }
    };
    let mut sources: Vec<_> = (0..count).map(source).collect();
    measure(run, &mut link, &mut template, &mut sources)
}

/// Once over all sources, so that everything is known, and then for the time of the run.
fn measure(
    run: &Run<'_>,
    link: &mut Link,
    templates: &mut [Template],
    sources: &mut [Source],
) -> Result<Sample, LinkError> {
    let all = sources.len();
    in_turn(link, templates, sources, IN_FLIGHT, |sent| sent >= all)?;
    run.measured(|end| in_turn(link, templates, sources, IN_FLIGHT, |_| Instant::now() >= end))
}

fn connections(run: &Run<'_>, count: i32) -> Result<Sample, LinkError> {
    let topic = run.name("connections");
    create_topic(&run.address, &topic, 1)?;
    beside(run, count, |_| {
        let mut template = [Template::new(&topic, &[0], LOAD, None)?];
        let mut link = Link::connect(&run.address)?;
        let identity = init_producer(&mut link, None)?;
        Ok(move |end| {
            let mut source = [Source { template: 0, identity, sequence: 0 }];
            in_turn(&mut link, &mut template, &mut source, 1, |_| Instant::now() >= end)
        })
    })
}
