//! What a core input allocates, its world included: the same number on every machine.

use allocation_counter::measure;
use verdict_sim::explore::run_seed;
use verdict_sim::trace::Trace;

const SEEDS: u64 = 40;

/// It was 16 when this was written. Who adds one to what every input does will see it here.
const ALLOCATIONS_PER_INPUT_MAX: u64 = 17;

#[test]
fn an_input_allocates_little_and_a_world_leaves_nothing_behind() {
    let run_all = || -> u64 { (0..SEEDS).map(|seed| run_seed(seed, Trace::quiet()).inputs).sum() };
    // Once for what lives as long as the thread.
    let mut inputs = run_all();
    let info = measure(|| inputs = run_all());
    let per_input = info.count_total / inputs;
    assert!(
        per_input <= ALLOCATIONS_PER_INPUT_MAX,
        "{} allocations for {inputs} inputs: {per_input} for each",
        info.count_total
    );
    assert_eq!(info.count_current, 0, "allocations left behind");
}
