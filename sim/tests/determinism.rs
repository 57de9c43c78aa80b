//! One seed is one run: twice in a process, on another thread, and in another process.

use std::process::{Command, Stdio};

use verdict_sim::explore::{Exploration, explore, run_seed};
use verdict_sim::trace::Trace;

const SEEDS: u64 = 20;

fn plan(jobs: usize) -> Exploration {
    Exploration { seeds: SEEDS, jobs, ..Exploration::default() }
}

#[test]
fn a_seed_gives_the_same_trace_twice() {
    for seed in 0..SEEDS {
        let (first, second) = (run_seed(seed, Trace::quiet()), run_seed(seed, Trace::quiet()));
        assert_eq!(first.hash, second.hash, "seed {seed}");
    }
}

#[test]
fn keeping_the_lines_of_a_trace_changes_nothing() {
    for seed in 0..3 {
        let (quiet, kept) = (run_seed(seed, Trace::quiet()), run_seed(seed, Trace::kept()));
        assert_eq!(quiet.hash, kept.hash, "seed {seed}");
    }
}

#[test]
fn threads_do_not_disturb_each_other() {
    assert_eq!(explore(plan(1), |_, _| {}).hash, explore(plan(3), |_, _| {}).hash);
}

#[test]
fn two_processes_agree() {
    let hash = || {
        let output = Command::new(env!("CARGO_BIN_EXE_verdict-sim"))
            .args(["hash", "--seeds", &SEEDS.to_string()])
            .output()
            .expect("the simulator runs");
        String::from_utf8(output.stdout).expect("a hash is text")
    };
    assert_eq!(hash(), hash());
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let mut explores = Command::new(env!("CARGO_BIN_EXE_verdict-sim"))
        .args(["explore", "--seeds", "5", "--jobs", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the simulator runs");
    drop(explores.stdout.take());
    let output = explores.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{:?}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
