//! Recorded runs: the same run from the file as from the seed.

use verdict_sim::canary;
use verdict_sim::explore::run_seed;
use verdict_sim::record::RecordedRun;
use verdict_sim::scenario::Scenario;
use verdict_sim::trace::Trace;

#[test]
fn a_recorded_seed_replays_with_the_hash_of_the_seed() {
    for seed in 0..12 {
        let (recorded, run) = RecordedRun::of_seed(seed);
        assert_eq!(run.hash, run_seed(seed, Trace::quiet()).hash, "seed {seed}");
        assert_eq!(recorded.run(Trace::quiet()).hash, run.hash, "seed {seed}");
    }
}

#[test]
fn a_file_replays_with_the_hash_it_names_and_by_the_oracle_it_names() {
    let (recorded, run) = canary::ring().expect("a lying disk is found");
    let failure = run.failure.as_ref().expect("it was found by an oracle");
    let text = recorded.to_file(Some(7), &run, failure, "abc").expect("it is plain data");
    let scenario = Scenario::parse(&text).expect("it was written so");
    let again = scenario.run(Trace::quiet());
    assert_eq!(again.failure.as_ref(), Some(failure));
    assert_eq!(scenario.differences("abc", &again), Vec::<String>::new());
    assert_eq!(scenario.recorded.as_ref().map(RecordedRun::steps), Some(recorded.steps()));
}

#[test]
fn a_file_of_another_commit_says_so_and_runs() {
    let (recorded, run) = canary::ring().expect("a lying disk is found");
    let failure = run.failure.as_ref().expect("it was found by an oracle");
    let text = recorded.to_file(None, &run, failure, "abc").expect("it is plain data");
    let scenario = Scenario::parse(&text).expect("it was written so");
    let again = scenario.run(Trace::quiet());
    assert_eq!(scenario.differences("def", &again), ["recorded on commit abc, this is def"]);
    assert!(again.failure.is_some());
}
