//! Medians over rounds, as a table in Markdown.

use std::fmt::Write;

use super::process::Usage;
use super::sample::Sample;

/// What one round of a workload at one broker brought.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) sample: Sample,
    pub(super) used: Option<Usage>,
    pub(super) used_here: Option<Usage>,
}

/// The figures of a workload at one broker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// Operations in a second.
    pub(super) rate: f64,
    /// MB (10^6) of record batches in a second.
    pub(super) mb_per_second: f64,
    /// Latencies in ms.
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) p999_ms: f64,
    /// Processor time of the broker for one operation, in µs.
    pub(super) cpu_us: Option<f64>,
    /// Processor time of the bench for one operation, in µs.
    pub(super) own_cpu_us: Option<f64>,
    /// Resident memory of the broker at the end, in MiB.
    pub(super) resident_mib: Option<f64>,
}

impl Figures {
    /// The medians of some rounds, each figure for itself.
    pub(super) fn median(rounds: &[Round]) -> Self {
        let each = |figure: &dyn Fn(&Round) -> Option<f64>| {
            median(rounds.iter().filter_map(figure).collect())
        };
        let of =
            |figure: &dyn Fn(&Round) -> f64| each(&|round| Some(figure(round))).unwrap_or_default();
        let quantile_ms =
            |q: f64| of(&|round| round.sample.latency_us.value_at_quantile(q) as f64 / 1e3);
        Self {
            rate: of(&|round| per_second(&round.sample, round.sample.operations)),
            mb_per_second: of(&|round| per_second(&round.sample, round.sample.bytes) / 1e6),
            p50_ms: quantile_ms(0.5),
            p99_ms: quantile_ms(0.99),
            p999_ms: quantile_ms(0.999),
            cpu_us: each(&|round| cpu_us(&round.sample, round.used)),
            own_cpu_us: each(&|round| cpu_us(&round.sample, round.used_here)),
            resident_mib: each(&|round| Some(round.used?.resident_kib as f64 / 1024.0)),
        }
    }
}

fn per_second(sample: &Sample, count: u64) -> f64 {
    count as f64 / sample.elapsed.as_secs_f64().max(1e-9)
}

fn cpu_us(sample: &Sample, used: Option<Usage>) -> Option<f64> {
    Some(used?.cpu.as_secs_f64() * 1e6 / sample.operations.max(1) as f64)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { (values[middle - 1] + upper) / 2.0 })
}

/// The head of the table.
pub(super) fn head() -> String {
    "| workload | broker | per second | MB/s | p50 ms | p99 ms | p99.9 ms | broker µs/op | \
     bench µs/op | MiB |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
        .to_owned()
}

/// One row of the table.
pub(super) fn row(workload: &str, broker: &str, figures: &Figures) -> String {
    let mut row = format!("| {workload} | {broker} |");
    for (value, digits) in [
        (Some(figures.rate), 0),
        (Some(figures.mb_per_second), 1),
        (Some(figures.p50_ms), 3),
        (Some(figures.p99_ms), 3),
        (Some(figures.p999_ms), 3),
        (figures.cpu_us, 1),
        (figures.own_cpu_us, 1),
        (figures.resident_mib, 0),
    ] {
        cell(&mut row, value, digits);
    }
    row
}

/// What the first broker has for what the second has: more is better for the rate, less for
/// everything else.
pub(super) fn ratio_row(workload: &str, first: &Figures, second: &Figures) -> String {
    let ratio = |of: &dyn Fn(&Figures) -> Option<f64>| {
        let (first, second) = (of(first)?, of(second)?);
        (second > 0.0).then_some(first / second)
    };
    let mut row = format!("| {workload} | A / B |");
    let some = |of: fn(&Figures) -> f64| ratio(&|figures| Some(of(figures)));
    for value in [
        some(|figures| figures.rate),
        some(|figures| figures.mb_per_second),
        some(|figures| figures.p50_ms),
        some(|figures| figures.p99_ms),
        some(|figures| figures.p999_ms),
        ratio(&|figures| figures.cpu_us),
        ratio(&|figures| figures.own_cpu_us),
        ratio(&|figures| figures.resident_mib),
    ] {
        cell(&mut row, value, 2);
    }
    row
}

fn cell(row: &mut String, value: Option<f64>, digits: usize) {
    match value {
        Some(value) => write!(row, " {value:.digits$} |").unwrap_or(()),
        None => row.push_str(" |"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        for (values, expected) in [
            (vec![], None),
            (vec![3.0], Some(3.0)),
            (vec![9.0, 1.0, 2.0], Some(2.0)),
            (vec![4.0, 1.0, 2.0, 9.0], Some(3.0)),
        ] {
            assert_eq!(median(values), expected);
        }
    }

    #[test]
    fn a_broker_that_cannot_be_looked_at_leaves_its_cells_empty() {
        let elapsed = Duration::from_secs(2);
        let mut sample = Sample { operations: 10, bytes: 4_000_000, elapsed, ..Sample::default() };
        sample.latency_us.saturating_record(1_500);
        let figures = Figures::median(&[Round { sample, used: None, used_here: None }]);
        let row = row("w", "A", &figures);
        assert_eq!(row, "| w | A | 5 | 2.0 | 1.500 | 1.500 | 1.500 | | | |");
    }
}
