//! KIP-939: transactions that wait for a coordinator outside, through whole requests and crashes.

use alloc::vec::Vec;

use kacrab_protocol::generated::{
    DescribeTransactionsRequestData, InitProducerIdRequestData, ListTransactionsRequestData,
};

use super::looks::COMMITTED;
use super::verbs::{ABORT, COMMIT, LONG_MS, TV2, Who, inited, ok, text};
use crate::node::testing::Bench;
use crate::wire::{ApiVersionsRequest, Request, Response};

/// What an instance that keeps got: who it is, and whose transaction it found.
type Kept = (Who, Who);

fn init_v6(enable2_pc: bool, keep_prepared_txn: bool, timeout_ms: i32) -> Request {
    Request::InitProducerId(InitProducerIdRequestData {
        transactional_id: Some(text("a")),
        transaction_timeout_ms: timeout_ms,
        producer_id: -1,
        producer_epoch: -1,
        enable2_pc,
        keep_prepared_txn,
        ..Default::default()
    })
}

impl Bench {
    fn open_two_phase() -> Self {
        let mut bench = Self::open_with(|config| {
            config.transaction_two_phase_commit_enable = true;
            config.unstable_api_versions_enable = true;
            config.transaction_abort_timed_out_transaction_cleanup_interval_ms = 200;
        });
        bench.topic("t", 2);
        bench
    }

    /// An instance that keeps, again while the coordinator is not ready.
    fn keep(&mut self) -> Result<Kept, i16> {
        for _ in 0..100 {
            let response = self.ask(6, init_v6(true, true, -5));
            let Response::InitProducerId(answer) = response else { panic!("{response:?}") };
            match ok(answer.error_code) {
                Err(14 | 15 | 16 | 51) => self.pass_ms(20),
                result => {
                    let new = Who(answer.producer_id, answer.producer_epoch);
                    let found =
                        Who(answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch);
                    return result.map(|()| (new, found));
                }
            }
        }
        panic!("it never becomes free");
    }

    /// A transaction with records in both partitions, and staged offsets.
    fn prepare(&mut self) -> Who {
        let (who, found) = self.keep().unwrap();
        assert_eq!(found, Who::NOBODY);
        for to in ["t-0", "t-1"] {
            self.write_as(TV2, "a", to, who, 0, 2).unwrap();
        }
        assert_eq!(self.stage(TV2, "a", who, "g", "t-0", 7), 0);
        who
    }
}

#[test]
fn a_prepared_transaction_is_ended_by_the_next_instance_after_crashes_of_both() {
    for decision in [COMMIT, ABORT] {
        let mut bench = Bench::open_two_phase();
        let old = bench.prepare();
        let mut bench = bench.crash();
        assert_eq!(bench.keep(), Ok((old.next_epoch(), old)));
        let mut bench = bench.crash();
        let (new, found) = bench.keep().unwrap();
        assert_eq!((new, found), (old.epoch(2), old));
        assert_eq!(bench.end(5, "a", old, decision), Err(90));
        let mut bench = bench.crash();
        assert_eq!(bench.ends("t-0").1, 2, "its records are there");
        assert_eq!(bench.fetch(COMMITTED, "t-0", 0).lso, 0, "and held back");
        let next = bench.end_until(5, "a", new, decision).unwrap();
        assert_eq!(next, old.epoch(3));
        let mut bench = bench.crash();
        assert_eq!(bench.end_until(5, "a", new, decision), Ok(next), "a repeat after a crash");
        let seen: &[i64] = if decision == COMMIT { &[0, 1] } else { &[] };
        for to in ["t-0", "t-1"] {
            assert_eq!(bench.visible(to), seen);
            assert_eq!(bench.fetch(COMMITTED, to, 0).markers[0].who, old.next_epoch());
        }
        let offset = if decision == COMMIT { 7 } else { -1 };
        assert_eq!(bench.group_offset("g", "t-0", true), Ok(offset));
        assert_eq!(bench.write_as(TV2, "a", "t-0", next, 0, 1), Ok(3));
        assert!(bench.end(5, "a", next, COMMIT).is_ok());
    }
}

#[test]
fn nothing_is_added_to_what_was_kept() {
    let mut bench = Bench::open_two_phase();
    let old = bench.prepare();
    let (new, _) = bench.keep().unwrap();
    for to in ["t-0", "t-1"] {
        assert_eq!(bench.write_in(12, "a", to, new, 0, 1), Err(48), "not by its owner");
    }
    assert_eq!(bench.add(3, "a", new, &["t-0"]), [48]);
    assert_eq!(bench.txn_offset(5, "a", new, "g", "t-0", 9), 48);
    assert_eq!(bench.add(3, "a", old, &["t-0"]), [90]);
    bench.end(5, "a", new, COMMIT).unwrap();
    assert_eq!(bench.visible("t-0"), [0, 1]);
    assert_eq!(bench.group_offset("g", "t-0", true), Ok(7));
    assert_eq!(bench.write_in(12, "a", "t-0", old, 2, 1), Err(47), "fenced by the marker");
}

#[test]
fn leaders_learn_of_the_new_owner_from_the_marker_and_take_the_old_ones_records_until_then() {
    // So KIP-939 has it: an instance that has prepared sends nothing any more, and what one sends
    // that has not prepared is aborted with the rest.
    let mut bench = Bench::open_two_phase();
    let old = bench.prepare();
    let (new, _) = bench.keep().unwrap();
    assert_eq!(bench.write_in(12, "a", "t-0", old, 2, 1), Ok(2));
    assert_eq!(bench.write_in(12, "a", "t-0", old, 0, 2), Ok(0), "a repeat is still one");
    bench.end(5, "a", new, ABORT).unwrap();
    assert_eq!(bench.visible("t-0"), [0_i64; 0]);
    assert_eq!(bench.write_in(12, "a", "t-0", old, 3, 1), Err(47));
}

#[test]
fn a_prepared_transaction_waits_for_days_and_is_told_with_its_age() {
    let mut bench = Bench::open_two_phase();
    let who = bench.prepare();
    let day_ms = 86_400_000;
    bench.pass_ms(3 * day_ms);
    let mut bench = bench.crash();
    bench.pass_ms(1_000);
    let transactional_ids = [text("a")].into();
    let data = DescribeTransactionsRequestData { transactional_ids, ..Default::default() };
    let request = Request::DescribeTransactions(data);
    let Response::DescribeTransactions(answer) = bench.ask(0, request) else { panic!() };
    let told = &answer.transaction_states[0];
    assert_eq!(told.transaction_state.as_str(), "Ongoing");
    assert_eq!(told.transaction_timeout_ms, i32::MAX);
    assert_eq!((told.producer_id, told.producer_epoch), (who.0, who.1));
    let start_ms = told.transaction_start_time_ms;
    let mut older_than = |duration_filter| {
        let data = ListTransactionsRequestData { duration_filter, ..Default::default() };
        let request = Request::ListTransactions(data);
        let Response::ListTransactions(answer) = bench.ask(1, request) else { panic!() };
        answer.transaction_states.len()
    };
    assert_eq!(older_than(i64::try_from(3 * day_ms).unwrap()), 1);
    assert_eq!(older_than(i64::try_from(4 * day_ms).unwrap()), 0);
    bench.keep().unwrap();
    let Response::DescribeTransactions(answer) = bench.ask(
        0,
        Request::DescribeTransactions(DescribeTransactionsRequestData {
            transactional_ids: [text("a")].into(),
            ..Default::default()
        }),
    ) else {
        panic!()
    };
    assert_eq!(answer.transaction_states[0].transaction_start_time_ms, start_ms);
    assert_eq!(answer.transaction_states[0].producer_epoch, who.1, "the records' own");
}

#[test]
fn an_administrator_gives_up_on_a_prepared_transaction_as_kafka_transactions_does() {
    // `kafka-transactions forceTerminate` is an InitProducerId of a version that Kafka calls
    // stable, with a timeout of its own.
    let mut bench = Bench::open_two_phase();
    let old = bench.prepare();
    let (owner, _) = bench.keep().unwrap();
    assert_eq!(bench.init_for("a", LONG_MS), Err(51));
    let next = bench.init_until("a");
    assert_eq!(next, old.epoch(3));
    assert_eq!(bench.visible("t-0"), [0_i64; 0]);
    assert_eq!(bench.ends("t-0"), (3, 3));
    assert_eq!(bench.end(5, "a", owner, COMMIT), Err(90));
    assert_eq!(bench.keep(), Ok((old.epoch(4), Who::NOBODY)));
}

#[test]
fn two_phases_are_refused_where_they_are_not_enabled_and_keeping_is_not() {
    let mut bench = Bench::open_with(|config| config.unstable_api_versions_enable = true);
    bench.topic("t", 1);
    assert_eq!(inited(bench.ask(6, init_v6(true, false, LONG_MS))), Err(53));
    assert_eq!(inited(bench.ask(6, init_v6(true, true, LONG_MS))), Err(53));
    let plain = inited(bench.ask(6, init_v6(false, true, LONG_MS))).unwrap();
    assert_eq!(bench.write_as(TV2, "a", "t-0", plain, 0, 1), Ok(0));
    assert_eq!(inited(bench.ask(6, init_v6(false, true, LONG_MS))), Ok(plain.next_epoch()));
    assert_eq!(bench.state("a"), "Ongoing");
    assert_eq!(inited(bench.ask(6, init_v6(false, true, 0))), Err(50), "it has a timeout");
}

#[test]
fn version_6_is_announced_only_where_unstable_versions_are() {
    let announced = |bench: &mut Bench| {
        let request = Request::ApiVersions(ApiVersionsRequest::default());
        let Response::ApiVersions(answer) = bench.ask(2, request) else { panic!() };
        let mut ranges: Vec<(i16, i16)> =
            answer.api_keys.iter().map(|api| (api.api_key, api.max_version)).collect();
        ranges.retain(|(key, _)| *key == 22);
        ranges
    };
    assert_eq!(announced(&mut Bench::open()), [(22, 5)]);
    assert_eq!(announced(&mut Bench::open_two_phase()), [(22, 6)]);
}
