//! The simulator as the test that cargo-mutants asks (`.cargo/mutants.toml`): seeds until one fails.
//!
//! `VERDICT_MUTANT_SEEDS` says how many; a few without it, which every test run has time for.

use verdict_sim::explore::{Exploration, explore};

#[test]
#[allow(clippy::disallowed_methods, reason = "how long a test looks is no setting of the broker")]
fn standard_seeds_find_nothing_wrong() {
    let wanted = std::env::var("VERDICT_MUTANT_SEEDS").ok();
    let seeds = wanted.map_or(25, |number| number.parse().expect("a number of seeds"));
    let plan = Exploration { seeds, jobs: 1, most_failures: 1, ..Exploration::default() };
    let summary = explore(plan, |_, _| {});
    if let Some((seed, failure)) = summary.failures.first() {
        panic!("seed {seed}: {failure}");
    }
}
