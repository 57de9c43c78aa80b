//! Reports P30, P31, and the shapes of requests: version talk, batched adds, acks, levels of
//! transaction.version.

use alloc::string::ToString;
use alloc::vec::Vec;

use kacrab_protocol::generated::{AddPartitionsToTxnRequestData, ListTransactionsRequestData};

use super::looks::UNCOMMITTED;
use super::verbs::{
    ABORT, CLASSIC, COMMIT, Flavour, OLD, TV2, Who, added, batch, batched, produce, produced, text,
};
use crate::node::testing::Bench;
use crate::types::{TopicId, TopicName};
use crate::wire::{
    ApiVersionsRequest, ProduceRequest, ProduceTopic, Request, Response, TxnOffsetCommitPartition,
    TxnOffsetCommitRequest, TxnOffsetCommitTopic,
};

#[test]
fn an_unknown_version_of_api_versions_is_told_the_range() {
    let mut bench = Bench::start();
    let answer = bench.ask(0, Request::ApiVersionsUnsupported);
    let Response::ApiVersionsUnsupported(answer) = answer else { panic!("{answer:?}") };
    assert_eq!(answer.error_code, 35);
    let ranges: Vec<_> =
        answer.api_keys.iter().map(|api| (api.api_key, api.min_version, api.max_version)).collect();
    assert_eq!(ranges, [(18, 0, 5)]);
    // The connection goes on.
    assert!(matches!(versions(&mut bench, 3).error_code, 0));
}

fn versions(
    bench: &mut Bench,
    version: i16,
) -> kacrab_protocol::generated::ApiVersionsResponseData {
    let request = Request::ApiVersions(ApiVersionsRequest {
        client_software_name: text("test"),
        client_software_version: text("1"),
        cluster_id: None,
        node_id: -1,
    });
    let Response::ApiVersions(answer) = bench.ask(version, request) else { panic!() };
    answer
}

#[test]
fn every_version_of_api_versions_lists_the_same_keys_and_the_true_level() {
    for level in [0, 1, 2] {
        let mut bench = Bench::with(|config| config.transaction_version = level);
        let keys = |bench: &mut Bench, version| {
            let answer = versions(bench, version);
            answer.api_keys.iter().map(|api| api.api_key).collect::<Vec<_>>()
        };
        let all = keys(&mut bench, 0);
        for version in [2, 3, 4, 5] {
            assert_eq!(keys(&mut bench, version), all);
        }
        let answer = versions(&mut bench, 3);
        let finalized = answer
            .finalized_features
            .iter()
            .find(|feature| feature.name.as_str() == "transaction.version")
            .map(|feature| feature.max_version_level);
        assert_eq!(finalized, (level > 0).then_some(level));
        let produce = answer.api_keys.iter().find(|api| api.api_key == 0).unwrap();
        assert_eq!((produce.min_version, produce.max_version), (0, 13));
    }
}

#[test]
fn below_level_2_tv2_requests_are_refused_and_the_id_stays_usable() {
    for level in [0, 1] {
        let mut bench = Bench::open_with(|config| config.transaction_version = level);
        bench.topic("t", 1);
        bench.topic("in", 1);
        let p = bench.init("a").unwrap();
        assert_eq!(bench.write_in(12, "a", "t-0", p, 0, 1), Err(35));
        assert_ne!(bench.txn_offset(5, "a", p, "g", "in-0", 3), 0);
        assert_eq!(bench.end(5, "a", p, ABORT), Err(35));
        assert_eq!(bench.ends("t-0"), (0, 0));
        assert_eq!(bench.describe("a"), Ok(("Empty".into(), p, [].into())));
        assert_eq!(bench.write_as(CLASSIC, "a", "t-0", p, 0, 1), Ok(0));
        assert_eq!(bench.stage(CLASSIC, "a", p, "g", "in-0", 4), 0);
        assert_eq!(bench.end(5, "a", p, COMMIT), Err(35), "on an open classic transaction");
        assert!(bench.end(4, "a", p, COMMIT).is_ok());
        assert_eq!(bench.visible("t-0"), [0]);
        assert_eq!(bench.group_offset("g", "in-0", true), Ok(4));
        assert_eq!(bench.init("a"), Ok(p.next_epoch()));
        let mut bench = bench.crash();
        assert_eq!(bench.init_until("a"), p.epoch(2));
    }
}

#[test]
fn one_bad_partition_spoils_the_others_and_adds_none() {
    for version in 0..=3 {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        for (asked, codes) in [
            (&["t-0", "t-7", "nope-0"][..], &[55, 3, 3][..]),
            (&["t-7", "t-0"], &[3, 55]),
            (&["nope-0"], &[3]),
            (&["t-0", "__consumer_offsets-0"], &[55, 29]),
        ] {
            assert_eq!(bench.add(version, "a", p, asked), codes, "v{version}");
            assert_eq!(bench.describe("a"), Ok(("Empty".into(), p, [].into())));
        }
        for _ in 0..2 {
            assert_eq!(bench.add(version, "a", p, &["t-0"]), [0]);
        }
        assert_eq!(bench.describe("a"), Ok(("Ongoing".into(), p, ["t-0".into()].into())));
    }
}

#[test]
fn an_add_of_nothing_opens_a_transaction_of_nothing() {
    for version in 0..=3 {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let p = bench.init("a").unwrap();
        assert_eq!(bench.add(version, "a", p, &[]), [0_i16; 0]);
        assert_eq!(bench.describe("a"), Ok(("Ongoing".into(), p, [].into())));
        assert!(bench.end(4, "a", p, COMMIT).is_ok());
        assert_eq!(bench.state("a"), "CompleteCommit");
        assert_eq!(bench.ends("t-0"), (0, 0));
        bench.add(version, "a", p, &["t-0"]);
        assert_eq!(bench.add(version, "a", p, &[]), [0_i16; 0], "an open one stays as it is");
        assert_eq!(bench.describe("a").unwrap().2, ["t-0"]);
    }
}

#[test]
fn brokers_add_and_verify_for_several_transactions_at_once() {
    for version in [4, 5] {
        let mut bench = Bench::open();
        bench.topic("t", 2);
        let a = bench.init("a").unwrap();
        let b = bench.init("b").unwrap();
        let c = bench.init("c").unwrap();
        bench.add(3, "b", b, &["t-1"]);
        let request = Request::AddPartitionsToTxn(AddPartitionsToTxnRequestData {
            transactions: [
                batched("a", a, false, &["t-0", "t-1"]),
                batched("b", b, true, &["t-0", "t-1"]),
                batched("c", c.next_epoch(), false, &["t-0"]),
                batched("nobody", c, true, &["t-0"]),
                batched("c", c, false, &["t-9", "t-0"]),
            ]
            .into(),
            ..Default::default()
        });
        let codes = added(bench.ask(version, request));
        assert_eq!(codes, [0, 0, 120, 0, 90, 49, 3, 55], "v{version}");
        assert_eq!(bench.describe("a").unwrap().2, ["t-0", "t-1"]);
        assert_eq!(bench.describe("b").unwrap().2, ["t-1"]);
        assert_eq!(bench.state("c"), "Empty");
    }
}

#[test]
fn acks_decide_when_and_whether_a_produce_is_answered() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let p = bench.idempotent();
    let with_acks = |acks, sequence| {
        let request = produce(9, None, "t-0", batch(p, sequence, 1, false));
        let Request::Produce(request) = request else { panic!() };
        Request::Produce(ProduceRequest { acks, ..request })
    };
    let id = bench.send(9, with_acks(0, 0));
    assert!(bench.take(id).is_none() && bench.was_silent(id));
    let id = bench.send(9, with_acks(1, 1));
    assert_eq!(produced(bench.await_answer(id)), Ok(1));
    let id = bench.send(9, with_acks(-1, 2));
    assert_eq!(produced(bench.await_answer(id)), Ok(2));
    for acks in [2, -2, 7] {
        let id = bench.send(9, with_acks(acks, 3));
        assert_eq!(produced(bench.await_answer(id)), Err(21));
    }
    assert_eq!(bench.ends("t-0"), (3, 3));
    assert_eq!(bench.fetch(UNCOMMITTED, "t-0", 0).records, [0, 1, 2]);
}

#[test]
fn one_answer_for_several_partitions_each_with_its_own_word() {
    let mut bench = Bench::open();
    bench.topic("t", 2);
    let p = bench.idempotent();
    assert_eq!(bench.write("t-1", p, 0, 1), Ok(0));
    let request = Request::Produce(ProduceRequest {
        transactional_id: None,
        acks: -1,
        timeout_ms: 1_000,
        topics: [
            ("t", [(0, batch(p, 0, 2, false)), (1, batch(p, 5, 1, false))].into()),
            ("nope", [(0, batch(p, 0, 1, false))].into()),
        ]
        .into_iter()
        .map(|(topic, partitions): (&str, Vec<_>)| ProduceTopic {
            name: TopicName::from(topic),
            topic_id: TopicId::default(),
            partitions,
        })
        .collect(),
    });
    let Response::Produce(answer) = bench.ask(12, request) else { panic!() };
    let codes: Vec<_> = answer
        .responses
        .iter()
        .flat_map(|topic| &topic.partition_responses)
        .map(|part| (part.error_code, part.base_offset))
        .collect();
    assert_eq!(codes, [(0, 0), (45, -1), (3, -1)]);
}

#[test]
fn produce_and_offset_commit_by_topic_id() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let id = bench.node.meta.topic("t").unwrap().id;
    let p = bench.init("a").unwrap();
    let by_id = |topic_id, who, sequence| {
        Request::Produce(ProduceRequest {
            transactional_id: Some(text("a")),
            acks: -1,
            timeout_ms: 1_000,
            topics: [ProduceTopic {
                name: TopicName::from(""),
                topic_id,
                partitions: [(0, batch(who, sequence, 1, true))].into(),
            }]
            .into(),
        })
    };
    assert_eq!(produced(bench.ask(13, by_id(id, p, 0))), Ok(0));
    assert_eq!(produced(bench.ask(13, by_id(id, p, 0))), Ok(0), "a retry");
    assert_eq!(produced(bench.ask(13, by_id(TopicId(99), p, 1))), Err(100));
    let commit = |topic_id| {
        Request::TxnOffsetCommit(TxnOffsetCommitRequest {
            transactional_id: text("a"),
            group_id: text("g"),
            producer_id: p.0,
            producer_epoch: p.1,
            generation_id: -1,
            member_id: text(""),
            group_instance_id: None,
            topics: [TxnOffsetCommitTopic {
                name: TopicName::from(""),
                topic_id,
                partitions: [TxnOffsetCommitPartition {
                    partition: 0,
                    committed_offset: 8,
                    committed_leader_epoch: -1,
                    committed_metadata: None,
                }]
                .into(),
            }]
            .into(),
        })
    };
    assert_eq!(super::verbs::txn_offsets(bench.ask(6, commit(TopicId(99)))), 100);
    assert_eq!(super::verbs::txn_offsets(bench.ask(6, commit(id))), 0);
    assert_eq!(bench.end(5, "a", p, COMMIT), Ok(p.next_epoch()));
    assert_eq!(bench.visible("t-0"), [0]);
    assert_eq!(bench.group_offset("g", "t-0", true), Ok(8));
}

#[test]
fn flavours_may_be_mixed_from_one_transaction_to_the_next_and_within_one() {
    for (first, second) in [(CLASSIC, TV2), (TV2, CLASSIC), (OLD, TV2)] {
        let mut bench = Bench::open();
        bench.topic("t", 1);
        let mut p = bench.init("a").unwrap();
        let mut sequence = 0;
        let mut write = |bench: &mut Bench, flavour: Flavour, p: Who| {
            let at = bench.write_as(flavour, "a", "t-0", p, sequence, 1);
            sequence += 1;
            at.unwrap()
        };
        write(&mut bench, first, p);
        write(&mut bench, second, p);
        p = bench.end(first.end, "a", p, COMMIT).unwrap();
        sequence = i32::from(!first.is_tv2()) * 2;
        let mut write = |bench: &mut Bench, flavour: Flavour, p: Who| {
            let at = bench.write_as(flavour, "a", "t-0", p, sequence, 1);
            sequence += 1;
            at.unwrap()
        };
        write(&mut bench, second, p);
        write(&mut bench, first, p);
        p = bench.end(second.end, "a", p, COMMIT).unwrap();
        assert_eq!(bench.visible("t-0"), [0, 1, 3, 4], "{first:?}");
        assert_eq!(bench.ends("t-0"), (6, 6));
        assert!(bench.init("a").unwrap().1 > p.1);
    }
}

#[test]
fn a_bad_timeout_is_refused() {
    let mut bench = Bench::open();
    for timeout_ms in [0, -1, 900_001, i32::MIN] {
        assert_eq!(bench.init_for("a", timeout_ms), Err(50), "{timeout_ms}");
    }
    assert!(bench.init_for("a", 900_000).is_ok());
    assert!(bench.init_for("b", 1).is_ok());
    assert_eq!(bench.init(""), Err(42));
}

#[test]
fn half_a_producer_in_an_init_is_an_invalid_request() {
    let mut bench = Bench::open();
    let p = bench.init("a").unwrap();
    for who in [Who(p.0, -1), Who(-1, 0)] {
        assert_eq!(bench.init_as(5, "a", who), Err(42));
    }
    assert_eq!(bench.init_as(5, "a", p), Ok(p.next_epoch()));
    assert_eq!(bench.init_as(5, "a", p), Ok(p.next_epoch()), "a repeat of one that was lost");
    assert_eq!(bench.init_as(5, "a", Who(p.0 + 5, 0)), Err(90));
}

#[test]
fn transactions_are_listed_in_every_state() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    bench.init("empty").unwrap();
    let open = bench.init("open").unwrap();
    bench.write_as(TV2, "open", "t-0", open, 0, 1).unwrap();
    let done = bench.init("done").unwrap();
    bench.write_as(TV2, "done", "t-0", done, 0, 1).unwrap();
    bench.end(5, "done", done, ABORT).unwrap();
    let list = Request::ListTransactions(ListTransactionsRequestData {
        duration_filter: -1,
        ..Default::default()
    });
    let Response::ListTransactions(answer) = bench.ask(1, list) else { panic!() };
    let mut found: Vec<_> = answer
        .transaction_states
        .iter()
        .map(|one| {
            (one.transactional_id.as_str().to_string(), one.transaction_state.as_str().to_string())
        })
        .collect();
    found.sort();
    let wanted = [("done", "CompleteAbort"), ("empty", "Empty"), ("open", "Ongoing")];
    assert_eq!(found, wanted.map(|(id, state)| (id.to_string(), state.to_string())));
}

/// The Java admin client names topics by id with an empty name beside it.
#[test]
fn metadata_asked_by_id_does_not_look_at_the_names_and_creates_nothing() {
    use kacrab_protocol::generated::MetadataRequestData;
    use kacrab_protocol::generated::metadata_request::MetadataRequestTopic;

    let mut bench = Bench::start();
    bench.topic("t", 1);
    let ask = |bench: &mut Bench, name: &str, topic_id| {
        let topic = MetadataRequestTopic { topic_id, name: Some(text(name)), ..Default::default() };
        let data = MetadataRequestData {
            topics: Some(alloc::vec![topic]),
            allow_auto_topic_creation: true,
            ..Default::default()
        };
        let answer = bench.ask(12, Request::Metadata(data));
        let Response::Metadata(answer) = answer else { panic!("{answer:?}") };
        answer.topics
    };
    let by_name = ask(&mut bench, "t", TopicId::default().to_kafka());
    let id = by_name[0].topic_id;
    assert_eq!(ask(&mut bench, "", id), by_name);
    let unknown = ask(&mut bench, "u", TopicId(7).to_kafka());
    assert_eq!((unknown[0].error_code, unknown[0].name.is_none()), (100, true));
    assert_eq!(unknown[0].topic_id, TopicId(7).to_kafka());
}
