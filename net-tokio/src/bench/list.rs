//! The workloads by name.

use verdict_core::types::Isolation;

use super::consume::Consume;
use super::growth::Growth;
use super::link::LinkError;
use super::mixed;
use super::paced::Paced;
use super::produce::Produce;
use super::sample::Sample;
use super::template::Load;
use super::transactions::Transactions;
use super::transform::Transform;
use super::workload::Run;

/// What a workload does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Produce(Produce),
    Transactions(Transactions),
    Consume(Consume),
    Transform(Transform),
    Paced(Paced),
    Mixed,
    Growth(Growth),
}

/// A workload.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    pub(super) name: String,
    /// What one operation is.
    pub(super) operation: &'static str,
    pub(super) kind: Kind,
}

impl Workload {
    fn new(name: impl Into<String>, operation: &'static str, kind: Kind) -> Self {
        Self { name: name.into(), operation, kind }
    }

    /// Whether it runs only when it is asked for by name.
    pub(super) const fn is_extra(&self) -> bool {
        matches!(self.kind, Kind::Growth(_))
    }

    pub(super) fn run(&self, run: &mut Run<'_>) -> Result<Sample, LinkError> {
        match self.kind {
            Kind::Produce(produce) => produce.run(run),
            Kind::Transactions(transactions) => transactions.run(run),
            Kind::Consume(consume) => consume.run(run),
            Kind::Transform(transform) => transform.run(run),
            Kind::Paced(paced) => paced.run(run),
            Kind::Mixed => mixed::run(run),
            Kind::Growth(growth) => growth.run(run),
        }
    }
}

/// Records and bytes of a batch, connections, partitions of a request.
const PRODUCES: [(&str, u32, usize, i32, i32); 6] = [
    ("produce-100b-x1", 1, 100, 2, 1),
    ("produce-1kb-x1", 1, 1_000, 2, 1),
    ("produce-1kb-x16", 16, 1_000, 2, 1),
    ("produce-1kb-x16-12p", 16, 1_000, 2, 12),
    ("produce-100b-x160-12p", 160, 100, 2, 12),
    ("produce-1kb-x256", 256, 1_000, 2, 1),
];

/// Producers and partitions.
const TRANSACTIONS: [(i32, i32); 5] = [(1, 1), (1, 20), (16, 1), (16, 4), (64, 1)];

/// All workloads, in the order they run.
pub(super) fn all() -> Vec<Workload> {
    let mut list = Vec::new();
    for (name, records, record_bytes, connections, partitions) in PRODUCES {
        let load = Load { records, record_bytes };
        let produce = Produce { connections, partitions, load };
        list.push(Workload::new(name, "request", Kind::Produce(produce)));
    }
    for (producers, partitions) in TRANSACTIONS {
        let load = Load { records: 1, record_bytes: 1_000 };
        let transactions = Transactions { producers, partitions, load };
        let name = format!("transactions-{producers}x{partitions}p");
        list.push(Workload::new(name, "commit", Kind::Transactions(transactions)));
    }
    for (name, isolation) in [
        ("consume-uncommitted", Isolation::ReadUncommitted),
        ("consume-committed", Isolation::ReadCommitted),
    ] {
        let consume = Consume { isolation, consumers: 2 };
        list.push(Workload::new(name, "fetch", Kind::Consume(consume)));
    }
    let transform = Transform { applications: 4 };
    list.push(Workload::new("transform", "commit", Kind::Transform(transform)));
    list.push(Workload::new("mixed-open-transaction", "request", Kind::Mixed));
    for (name, operation, paced) in [
        ("paced-produce", "request", Paced::Produce { per_second: 200 }),
        ("paced-end-to-end", "record", Paced::EndToEnd { per_second: 200 }),
        ("paced-transactions", "commit", Paced::Transaction { per_second: 40, partitions: 1 }),
        ("paced-transactions-10p", "commit", Paced::Transaction { per_second: 40, partitions: 10 }),
    ] {
        list.push(Workload::new(name, operation, Kind::Paced(paced)));
    }
    for count in [10, 1_000, 10_000] {
        let name = format!("growth-partitions-{count}");
        list.push(Workload::new(name, "request", Kind::Growth(Growth::Partitions(count))));
    }
    for count in [10, 10_000, 100_000] {
        let name = format!("growth-producers-{count}");
        list.push(Workload::new(name, "request", Kind::Growth(Growth::Producers(count))));
    }
    for count in [1, 100, 1_000] {
        let name = format!("growth-connections-{count}");
        list.push(Workload::new(name, "request", Kind::Growth(Growth::Connections(count))));
    }
    for count in [10, 500] {
        let name = format!("growth-groups-{count}");
        list.push(Workload::new(name, "commit", Kind::Growth(Growth::Groups(count))));
    }
    for count in [1_000, 10_000] {
        let name = format!("growth-paced-behind-{count}");
        list.push(Workload::new(name, "request", Kind::Growth(Growth::PacedBehind(count))));
    }
    list
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn every_workload_has_a_name_of_its_own() {
        let names: Vec<_> = super::all().into_iter().map(|workload| workload.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
