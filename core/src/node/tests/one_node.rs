//! What a cluster of one node, without authorizer, quotas and credentials, answers to admin tools.
//! The codes are those that Apache Kafka 4.4.0 gave to the same calls.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kacrab_protocol::generated::describe_topic_partitions_request::{Cursor, TopicRequest};
use kacrab_protocol::generated::describe_user_scram_credentials_request::UserName;
use kacrab_protocol::generated::elect_leaders_request::TopicPartitions;
use kacrab_protocol::generated::metadata_request::MetadataRequestTopic;
use kacrab_protocol::generated::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use kacrab_protocol::generated::{
    AlterPartitionReassignmentsRequestData, DescribeAclsRequestData,
    DescribeClientQuotasRequestData, DescribeClusterRequestData, DescribeLogDirsRequestData,
    DescribeQuorumRequestData, DescribeTopicPartitionsRequestData,
    DescribeTopicPartitionsResponseData, DescribeUserScramCredentialsRequestData,
    ElectLeadersRequestData, ListConfigResourcesRequestData, MetadataRequestData,
    OffsetForLeaderEpochRequestData, describe_quorum_request,
};

use super::verbs::text;
use crate::error::ErrorCode;
use crate::node::testing::Bench;
use crate::wire::{Request, Response};

#[test]
fn no_election_is_ever_needed() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let asked = |topic: &str, id| TopicPartitions {
        topic: text(topic),
        partitions: vec![id],
        ..Default::default()
    };
    let mut elect = |election_type, topic_partitions| {
        let data =
            ElectLeadersRequestData { election_type, topic_partitions, ..Default::default() };
        let Response::ElectLeaders(answer) = bench.ask(2, Request::ElectLeaders(data)) else {
            panic!("another answer")
        };
        let results = answer.replica_election_results;
        let codes: Vec<i16> =
            results.iter().map(|one| one.partition_result[0].error_code).collect();
        (answer.error_code, codes)
    };
    let all = Some(vec![asked("t", 0), asked("t", 7), asked("nope", 0)]);
    let codes = [ErrorCode::ElectionNotNeeded, ErrorCode::UnknownTopicOrPartition];
    let [fine, unknown] = codes.map(|code| code.code());
    for kind in [0, 1] {
        assert_eq!(elect(kind, all.clone()), (0, vec![fine, unknown, unknown]));
    }
    assert_eq!(elect(0, None), (0, vec![]));
    assert_eq!(elect(7, all), (ErrorCode::InvalidRequest.code(), vec![]));
}

#[test]
fn a_partition_can_only_be_assigned_to_the_one_node() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    let mut reassign = |topic: &str, partition_index, replicas: Option<&[i32]>| {
        let replicas = replicas.map(<[i32]>::to_vec);
        let partition = ReassignablePartition { partition_index, replicas, ..Default::default() };
        let topic = ReassignableTopic {
            name: text(topic),
            partitions: vec![partition],
            ..Default::default()
        };
        let data =
            AlterPartitionReassignmentsRequestData { topics: vec![topic], ..Default::default() };
        let request = Request::AlterPartitionReassignments(data);
        let Response::AlterPartitionReassignments(answer) = bench.ask(1, request) else {
            panic!("another answer")
        };
        answer.responses[0].partitions[0].error_code
    };
    let invalid = ErrorCode::InvalidReplicaAssignment.code();
    assert_eq!(reassign("t", 0, Some(&[1])), 0);
    for replicas in [&[9][..], &[1, 1], &[1, 2], &[]] {
        assert_eq!(reassign("t", 0, Some(replicas)), invalid, "{replicas:?}");
    }
    assert_eq!(reassign("t", 0, None), ErrorCode::NoReassignmentInProgress.code());
    let unknown = ErrorCode::UnknownTopicOrPartition.code();
    assert_eq!(reassign("t", 9, Some(&[1])), unknown);
    assert_eq!(reassign("nope", 0, Some(&[1])), unknown);
}

#[test]
fn topics_are_described_in_pages_by_name() {
    let mut bench = Bench::start();
    for (name, partitions) in [("c", 1), ("a", 3), ("b", 2)] {
        bench.topic(name, partitions);
    }
    let mut page = |names: &[&str], limit, from: Option<(&str, i32)>| {
        let topics =
            names.iter().map(|name| TopicRequest { name: text(name), ..Default::default() });
        let cursor = from.map(|(topic, partition_index)| {
            Box::new(Cursor { topic_name: text(topic), partition_index, ..Default::default() })
        });
        let data = DescribeTopicPartitionsRequestData {
            topics: topics.collect(),
            response_partition_limit: limit,
            cursor,
            ..Default::default()
        };
        let request = Request::DescribeTopicPartitions(data);
        let Response::DescribeTopicPartitions(answer) = bench.ask(0, request) else {
            panic!("another answer")
        };
        shown(&answer)
    };
    let name = |name: &str| alloc::string::String::from(name);
    let unknown = ErrorCode::UnknownTopicOrPartition.code();
    let all = vec![(name("a"), 0, 3), (name("b"), 0, 2), (name("c"), 0, 1)];
    assert_eq!(page(&[], 100, None), (all, None));
    let (first, next) = page(&[], 4, None);
    assert_eq!(first, [(name("a"), 0, 3), (name("b"), 0, 1)]);
    assert_eq!(next, Some((name("b"), 1)));
    let rest = vec![(name("b"), 0, 1), (name("c"), 0, 1)];
    assert_eq!(page(&[], 100, Some(("b", 1))), (rest, None));
    let asked = vec![(name("c"), 0, 1), (name("x"), unknown, 0)];
    assert_eq!(page(&["x", "c", "c"], 100, None), (asked, None));
    assert_eq!(page(&[], 100, Some(("a", 99))).0[0], (name("a"), 0, 0), "beyond its end");
    assert_eq!(
        page(&["a"], 100, Some(("a", -1))).0,
        [(name("a"), ErrorCode::InvalidRequest.code(), 0)]
    );
}

type Page = (Vec<(alloc::string::String, i16, usize)>, Option<(alloc::string::String, i32)>);

fn shown(answer: &DescribeTopicPartitionsResponseData) -> Page {
    let owned = |name: &KafkaString| alloc::string::String::from(name.as_str());
    let topics = answer.topics.iter().map(|topic| {
        let name = topic.name.as_ref().map(owned).unwrap_or_default();
        (name, topic.error_code, topic.partitions.len())
    });
    let next = answer.next_cursor.as_ref();
    (topics.collect(), next.map(|cursor| (owned(&cursor.topic_name), cursor.partition_index)))
}

#[test]
fn a_leader_epoch_ends_where_the_next_one_began() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    bench.plain("t-0", 3);
    let mut bench = bench.crash();
    bench.plain("t-0", 2);
    let mut end_of = |topic: &str, current_leader_epoch, leader_epoch| {
        let partition = OffsetForLeaderPartition {
            partition: 0,
            current_leader_epoch,
            leader_epoch,
            ..Default::default()
        };
        let topic = OffsetForLeaderTopic {
            topic: text(topic),
            partitions: vec![partition],
            ..Default::default()
        };
        let data = OffsetForLeaderEpochRequestData { topics: vec![topic], ..Default::default() };
        let request = Request::OffsetForLeaderEpoch(data);
        let Response::OffsetForLeaderEpoch(answer) = bench.ask(4, request) else {
            panic!("another answer")
        };
        let part = &answer.topics[0].partitions[0];
        (part.error_code, part.leader_epoch, part.end_offset)
    };
    assert_eq!(end_of("t", -1, 0), (0, 0, 3));
    assert_eq!(end_of("t", 1, 1), (0, 1, 5));
    assert_eq!(end_of("t", -1, 9), (0, -1, -1));
    assert_eq!(end_of("t", 0, 0), (ErrorCode::FencedLeaderEpoch.code(), -1, -1));
    assert_eq!(end_of("t", 7, 0), (ErrorCode::UnknownLeaderEpoch.code(), -1, -1));
    assert_eq!(end_of("x", -1, 0), (ErrorCode::UnknownTopicOrPartition.code(), -1, -1));
}

#[test]
fn the_node_is_the_quorum() {
    let mut bench = Bench::open();
    let mut describe = |topic: &str, partition_index| {
        let partition =
            describe_quorum_request::PartitionData { partition_index, ..Default::default() };
        let topic = describe_quorum_request::TopicData {
            topic_name: text(topic),
            partitions: vec![partition],
            ..Default::default()
        };
        let data = DescribeQuorumRequestData { topics: vec![topic], ..Default::default() };
        let Response::DescribeQuorum(answer) = bench.ask(2, Request::DescribeQuorum(data)) else {
            panic!("another answer")
        };
        let part = &answer.topics[0].partitions[0];
        (part.error_code, part.leader_id, part.current_voters.len(), answer.nodes.len())
    };
    let unknown = ErrorCode::UnknownTopicOrPartition.code();
    assert_eq!(describe("__cluster_metadata", 0), (0, 1, 1, 1));
    assert_eq!(describe("__cluster_metadata", 1), (unknown, 0, 0, 0));
    assert_eq!(describe("t", 0), (unknown, 0, 0, 0));
}

#[test]
fn security_is_disabled_and_nobody_has_quotas_or_credentials() {
    let mut bench = Bench::open();
    let request = Request::DescribeAcls(DescribeAclsRequestData::default());
    let Response::DescribeAcls(answer) = bench.ask(3, request) else { panic!() };
    assert_eq!(answer.error_code, ErrorCode::SecurityDisabled.code());
    let request = Request::DescribeClientQuotas(DescribeClientQuotasRequestData::default());
    let Response::DescribeClientQuotas(answer) = bench.ask(1, request) else { panic!() };
    assert_eq!((answer.error_code, answer.entries), (0, Some(vec![])));
    let mut scram = |users: Option<&[&str]>| {
        let user = |name: &&str| UserName { name: text(name), ..Default::default() };
        let users = users.map(|names| names.iter().map(user).collect());
        let data = DescribeUserScramCredentialsRequestData { users, ..Default::default() };
        let request = Request::DescribeUserScramCredentials(data);
        let Response::DescribeUserScramCredentials(answer) = bench.ask(0, request) else {
            panic!()
        };
        answer.results.iter().map(|one| one.error_code).collect::<Vec<_>>()
    };
    assert_eq!(scram(None), []);
    let (missing, twice) = (ErrorCode::ResourceNotFound, ErrorCode::DuplicateResource);
    assert_eq!(scram(Some(&["b", "a", "b"])), [missing.code(), twice.code()]);
}

#[test]
fn the_log_directory_tells_the_size_of_every_partition() {
    let mut bench = Bench::open();
    bench.topic("t", 2);
    bench.plain("t-1", 3);
    let size = bench.log_bytes("t");
    assert_eq!(size, 0);
    let data = DescribeLogDirsRequestData { topics: None, ..Default::default() };
    let Response::DescribeLogDirs(answer) = bench.ask(5, Request::DescribeLogDirs(data)) else {
        panic!("another answer")
    };
    let [dir] = &answer.results[..] else { panic!("one directory") };
    let topic = dir.topics.iter().find(|topic| topic.name.as_str() == "t").unwrap();
    let sizes: Vec<i64> = topic.partitions.iter().map(|part| part.partition_size).collect();
    assert!(sizes[0] == 0 && sizes[1] > 0, "{sizes:?}");
}

#[test]
fn what_has_settings_is_listed() {
    let mut bench = Bench::start();
    bench.topic("t", 1);
    let mut list = |version, resource_types: &[i8]| {
        let resource_types = resource_types.to_vec();
        let data = ListConfigResourcesRequestData { resource_types, ..Default::default() };
        let Response::ListConfigResources(answer) =
            bench.ask(version, Request::ListConfigResources(data))
        else {
            panic!("another answer")
        };
        let kinds = answer.config_resources.iter().map(|one| one.resource_type);
        (answer.error_code, kinds.collect::<Vec<_>>())
    };
    assert_eq!(list(0, &[]), (0, vec![]));
    assert_eq!(list(1, &[]), (0, vec![2, 4, 8]));
    assert_eq!(list(1, &[4]), (0, vec![4]));
    assert_eq!(list(1, &[32]), (0, vec![]));
    assert_eq!(list(1, &[99]), (ErrorCode::UnsupportedVersion.code(), vec![]));
}

#[test]
fn who_asks_is_told_what_may_be_done() {
    let mut bench = Bench::open();
    bench.topic("t", 1);
    for (asked, topic, cluster) in [(true, 3_576, 8_096), (false, i32::MIN, i32::MIN)] {
        let topics = ["t", "none"]
            .map(|name| MetadataRequestTopic { name: Some(text(name)), ..Default::default() });
        let data = MetadataRequestData {
            topics: Some(topics.into()),
            include_topic_authorized_operations: asked,
            include_cluster_authorized_operations: asked,
            ..Default::default()
        };
        let Response::Metadata(answer) = bench.ask(10, Request::Metadata(data)) else {
            panic!("another answer")
        };
        let of_topics: Vec<i32> =
            answer.topics.iter().map(|topic| topic.topic_authorized_operations).collect();
        assert_eq!(of_topics, [topic, topic]);
        assert_eq!(answer.cluster_authorized_operations, cluster);
        let data = DescribeClusterRequestData {
            include_cluster_authorized_operations: asked,
            endpoint_type: 1,
            ..Default::default()
        };
        let Response::DescribeCluster(answer) = bench.ask(1, Request::DescribeCluster(data)) else {
            panic!("another answer")
        };
        assert_eq!(answer.cluster_authorized_operations, cluster);
    }
}
