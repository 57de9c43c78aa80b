//! The feature transaction.version, changed while transactions are open (reports P27, P30).

use alloc::vec::Vec;

use kacrab_protocol::generated::UpdateFeaturesRequestData;
use kacrab_protocol::generated::update_features_request::FeatureUpdateKey;

use super::looks::COMMITTED;
use super::verbs::{ABORT, CLASSIC, COMMIT, Flavour, OLD, TV2, Who, text};
use crate::node::testing::Bench;
use crate::types::Decision;
use crate::wire::{ApiVersionsRequest, Request, Response};

/// Every change of level, up and down.
const CHANGES: [(i16, i16); 6] = [(0, 1), (0, 2), (1, 2), (2, 1), (2, 0), (1, 0)];
/// UNSUPPORTED_VERSION.
const REFUSED: i16 = 35;

impl Bench {
    fn at_level(level: i16) -> Self {
        let mut bench = Self::open_with(|config| {
            config.transaction_version = level;
            config.transaction_abort_timed_out_transaction_cleanup_interval_ms = 200;
        });
        bench.topic("t", 2);
        bench
    }

    /// Moves the level with UpdateFeatures.
    fn move_level(&mut self, level: i16) {
        let (told, _) = self.told_level();
        let update = FeatureUpdateKey {
            feature: text("transaction.version"),
            max_version_level: level,
            upgrade_type: if level < told { 2 } else { 1 },
            ..Default::default()
        };
        let data =
            UpdateFeaturesRequestData { feature_updates: [update].into(), ..Default::default() };
        let Response::UpdateFeatures(answer) = self.ask(2, Request::UpdateFeatures(data)) else {
            panic!("another answer")
        };
        assert_eq!(answer.error_code, 0, "{told} -> {level}");
        assert_eq!(self.told_level().0, level);
    }

    /// What ApiVersions tells: the finalized level, and the epoch of the features.
    fn told_level(&mut self) -> (i16, i64) {
        let request = Request::ApiVersions(ApiVersionsRequest {
            client_software_name: text("test"),
            client_software_version: text("1"),
            cluster_id: None,
            node_id: -1,
        });
        let Response::ApiVersions(answer) = self.ask(3, request) else { panic!() };
        let level = answer
            .finalized_features
            .iter()
            .find(|feature| feature.name.as_str() == "transaction.version")
            .map_or(0, |feature| feature.max_version_level);
        (level, answer.finalized_features_epoch)
    }

    /// A transaction over both partitions and a group, the second after something was done.
    fn open_across(
        &mut self,
        flavour: Flavour,
        who: Who,
        between: impl FnOnce(&mut Self),
    ) -> Result<i64, i16> {
        self.write_as(flavour, "a", "t-0", who, 0, 1).unwrap();
        between(self);
        self.write_as(flavour, "a", "t-1", who, 0, 1)
    }

    /// Both partitions and nothing else say that this was the decision.
    fn was_decided(&mut self, decision: Decision, what: &dyn core::fmt::Debug) {
        for to in ["t-0", "t-1"] {
            let seen = self.fetch(COMMITTED, to, 0);
            assert_eq!(seen.lso, seen.high_watermark, "{what:?} {to}");
            assert_eq!(seen.visible.len(), usize::from(decision == COMMIT), "{what:?} {to}");
        }
    }
}

#[test]
fn a_client_of_old_ends_its_open_transaction_across_every_change_and_crash() {
    for (from, to) in CHANGES {
        for flavour in [CLASSIC, OLD] {
            for decision in [COMMIT, ABORT] {
                for crash in [false, true] {
                    let what = (from, to, flavour, decision, crash);
                    let mut bench = Bench::at_level(from);
                    let p = bench.init("a").unwrap();
                    let added = bench.open_across(flavour, p, |bench| bench.move_level(to));
                    assert_eq!(added, Ok(0), "{what:?}");
                    let mut bench = if crash { bench.crash() } else { bench };
                    let ended = bench.end_until(flavour.end, "a", p, decision);
                    assert_eq!(ended, Ok(p), "{what:?}");
                    assert_eq!(bench.end_until(flavour.end, "a", p, decision), Ok(p), "a repeat");
                    bench.was_decided(decision, &what);
                    assert_eq!(bench.write_as(flavour, "a", "t-0", p, 1, 1), Ok(2), "{what:?}");
                    assert!(bench.end(flavour.end, "a", p, COMMIT).is_ok(), "{what:?}");
                    assert_eq!(bench.told_level().0, to);
                }
            }
        }
    }
}

#[test]
fn a_client_of_old_that_is_new_by_the_end_ends_its_transaction_with_a_bump() {
    // What a Java producer does that was restarted, or learns of the level in between.
    for from in [0, 1] {
        for decision in [COMMIT, ABORT] {
            let mut bench = Bench::at_level(from);
            let p = bench.init("a").unwrap();
            bench.open_across(CLASSIC, p, |bench| bench.move_level(2)).unwrap();
            let next = bench.end_until(5, "a", p, decision).unwrap();
            assert_eq!(next, p.next_epoch());
            assert_eq!(bench.end_until(5, "a", p, decision), Ok(next), "a repeat");
            bench.was_decided(decision, &(from, decision));
            assert_eq!(bench.write_as(TV2, "a", "t-0", next, 0, 1), Ok(2));
            let mut bench = bench.crash();
            assert_eq!(bench.end_until(5, "a", next, COMMIT), Ok(next.next_epoch()));
        }
    }
}

#[test]
fn a_transaction_of_version_2_ends_at_level_1_as_it_began_and_no_other_begins() {
    for decision in [COMMIT, ABORT] {
        for crash in [false, true] {
            let mut bench = Bench::at_level(2);
            let p = bench.init("a").unwrap();
            assert_eq!(bench.open_across(TV2, p, |bench| bench.move_level(1)), Ok(0));
            let mut bench = if crash { bench.crash() } else { bench };
            let next = bench.end_until(5, "a", p, decision).unwrap();
            assert_eq!(next, p.next_epoch());
            assert_eq!(bench.end_until(5, "a", p, decision), Ok(next), "a repeat");
            bench.was_decided(decision, &(decision, crash));
            assert_eq!(bench.write_as(TV2, "a", "t-0", next, 0, 1), Err(REFUSED));
            assert_eq!(bench.end(5, "a", next, ABORT), Err(REFUSED));
            assert_eq!(bench.write_as(CLASSIC, "a", "t-0", next, 0, 1), Ok(2));
            assert_eq!(bench.end(4, "a", next, COMMIT), Ok(next));
        }
    }
}

#[test]
fn at_level_0_a_transaction_of_version_2_is_ended_as_of_old_or_by_the_next_instance() {
    for decision in [COMMIT, ABORT] {
        let mut bench = Bench::at_level(2);
        let p = bench.init("a").unwrap();
        assert_eq!(bench.open_across(TV2, p, |bench| bench.move_level(0)), Err(REFUSED));
        let mut bench = bench.crash();
        bench.init("other").ok();
        assert_eq!(bench.end_until(5, "a", p, decision), Err(REFUSED));
        assert_eq!(bench.end_until(4, "a", p, decision), Ok(p));
        let seen = bench.fetch(COMMITTED, "t-0", 0);
        assert_eq!(seen.visible.len(), usize::from(decision == COMMIT));
        assert_eq!(seen.lso, seen.high_watermark);
    }
    let mut bench = Bench::at_level(2);
    let p = bench.init("a").unwrap();
    bench.write_as(TV2, "a", "t-0", p, 0, 1).unwrap();
    bench.move_level(0);
    let q = bench.init_until("a");
    assert_eq!(q, p.epoch(2));
    assert_eq!(bench.visible("t-0"), [0_i64; 0]);
    assert_eq!(bench.end(4, "a", p, COMMIT), Err(90));
}

#[test]
fn a_decision_made_at_one_level_is_carried_out_at_another_also_after_a_crash() {
    for (from, to) in CHANGES {
        for flavour in [CLASSIC, TV2] {
            if flavour.is_tv2() && from < 2 {
                continue;
            }
            for decision in [COMMIT, ABORT] {
                let what = (from, to, flavour, decision);
                let mut bench = Bench::at_level(from);
                let p = bench.init("a").unwrap();
                bench.open_across(flavour, p, |_| {}).unwrap();
                let next = bench.end(flavour.end, "a", p, decision).unwrap();
                bench.move_level(to);
                let mut bench = bench.crash();
                let again = bench.end_until(flavour.end, "a", p, decision);
                assert_eq!(again, Ok(next), "{what:?}");
                bench.was_decided(decision, &what);
            }
        }
    }
}

#[test]
fn a_transaction_times_out_at_a_level_it_did_not_begin_at() {
    for (from, to) in CHANGES {
        let flavour = if from == 2 { TV2 } else { CLASSIC };
        let mut bench = Bench::at_level(from);
        let p = bench.init_for("a", 1_000).unwrap();
        bench.open_across(flavour, p, |_| {}).unwrap();
        bench.move_level(to);
        bench.pass_ms(1_500);
        assert_eq!(bench.state("a"), "CompleteAbort", "{from} -> {to}");
        bench.was_decided(ABORT, &(from, to));
        assert_eq!(bench.write_in(flavour.produce, "a", "t-0", p, 1, 1), Err(47));
        assert_eq!(bench.end(4, "a", p, COMMIT), Err(90));
        assert_eq!(bench.init("a"), Ok(p.epoch(2)));
    }
}

#[test]
fn every_change_is_told_with_a_newer_epoch_of_the_features_and_outlives_a_crash() {
    let mut bench = Bench::at_level(2);
    let mut epochs: Vec<i64> = [bench.told_level().1].into();
    for level in [1, 0, 2, 0, 1, 2] {
        bench.move_level(level);
        bench = bench.crash();
        let (told, epoch) = bench.told_level();
        assert_eq!(told, level);
        assert!(epochs.last().is_some_and(|last| epoch > *last), "{epochs:?} {epoch}");
        epochs.push(epoch);
    }
}
