//! Shrinking, on a world that is certain to be found at fault.

use std::cell::Cell;
use std::collections::BTreeSet;

use super::plan::units_of;
use super::*;
use crate::canary::broken_seed;
use crate::clients::{Op, parse_op};

fn ops(texts: &[&str]) -> Vec<Op> {
    texts.iter().map(|text| parse_op(text).expect("an operation")).collect()
}

#[test]
fn the_begin_and_the_end_of_a_transaction_are_left_out_together() {
    let ops = ops(&["begin", "send p0", "send p1", "commit", "sleep 5", "begin", "abort"]);
    let ops: Vec<&Op> = ops.iter().collect();
    let none = BTreeSet::new();
    assert_eq!(units_of(&ops, &none, true), [vec![0, 1, 2, 3], vec![4], vec![5, 6]]);
    assert_eq!(units_of(&ops, &none, false), [vec![1], vec![2], vec![4]]);
    assert_eq!(units_of(&ops, &BTreeSet::from([1]), true), [vec![0, 2, 3], vec![4], vec![5, 6]]);
}

#[test]
fn a_shrunk_run_is_smaller_and_found_by_the_same_oracle() {
    let (recorded, run) = broken_seed();
    let by = run.failure.as_ref().map(Failure::found_by);
    let tries = Cell::new(0);
    let enough = || {
        tries.set(tries.get() + 1);
        tries.get() > 400
    };
    let shrunk = shrink_until(&recorded, &enough).expect("the canary is found");
    assert!(shrunk.run.steps() * 2 < recorded.steps(), "{} steps are left", shrunk.run.steps());
    let again = shrunk.run.run(Trace::quiet());
    assert_eq!(again.failure.as_ref().map(Failure::found_by), by);
}

#[test]
fn a_run_without_a_finding_is_not_shrunk() {
    let (recorded, run) = RecordedRun::of_seed(0);
    assert_eq!(run.failure, None);
    assert!(shrink_until(&recorded, &|| true).is_none());
}
