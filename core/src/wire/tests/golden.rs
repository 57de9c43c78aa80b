//! Bytes that must never change, written out by hand from the schemas.

use std::vec;
use std::vec::Vec;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::{
    ApiVersion, ApiVersionsResponseData, EndTxnRequestData, EndTxnResponseData, SupportedFeatureKey,
};

use crate::error::ErrorCode;
use crate::types::{TopicId, TopicName};
use crate::wire::{
    ApiVersionsRequest, Request, Response, TxnOffsetCommitPartition, TxnOffsetCommitRequest,
    TxnOffsetCommitTopic, client, encode_response, error_response,
};

fn request(request: &Request, version: i16) -> Bytes {
    client::encode_request(request, version, 258, Some("me")).unwrap()
}

fn response(response: &Response, version: i16) -> BytesMut {
    let mut out = BytesMut::new();
    encode_response(version, 258, response, &mut out).unwrap();
    out
}

#[test]
fn end_txn_v5() {
    let message = Request::EndTxn(
        EndTxnRequestData::default()
            .with_transactional_id(KafkaString::from_static("t"))
            .with_producer_id(5)
            .with_producer_epoch(6)
            .with_committed(true),
    );
    #[rustfmt::skip]
    let expected = [
        0, 0, 0, 27, /* size */ 0, 26, 0, 5, /* key, version */ 0, 0, 1, 2, /* correlation */
        0, 2, b'm', b'e', 0, /* client id, tags */
        2, b't', 0, 0, 0, 0, 0, 0, 0, 5, 0, 6, 1, 0,
    ];
    assert_eq!(request(&message, 5), &expected[..]);

    let answer =
        Response::EndTxn(EndTxnResponseData::default().with_producer_id(5).with_producer_epoch(7));
    #[rustfmt::skip]
    let expected = [
        0, 0, 0, 22, 0, 0, 1, 2, 0, /* header v1 has tags */
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 7, 0,
    ];
    assert_eq!(response(&answer, 5), &expected[..]);
}

#[test]
fn api_versions_v5_asks_for_a_cluster_and_a_node() {
    let message = Request::ApiVersions(ApiVersionsRequest {
        client_software_name: KafkaString::from_static("v"),
        client_software_version: KafkaString::from_static("1"),
        cluster_id: Some(KafkaString::from_static("c")),
        node_id: 3,
    });
    #[rustfmt::skip]
    let expected = [
        0, 0, 0, 24, 0, 18, 0, 5, 0, 0, 1, 2, 0, 2, b'm', b'e', 0,
        2, b'v', 2, b'1', 2, b'c', 0, 0, 0, 3, 0,
    ];
    assert_eq!(request(&message, 5), &expected[..]);
}

fn api_versions() -> ApiVersionsResponseData {
    let feature = |name, min| {
        SupportedFeatureKey::default()
            .with_name(KafkaString::from_static(name))
            .with_min_version(min)
            .with_max_version(2)
    };
    ApiVersionsResponseData::default()
        .with_api_keys(vec![ApiVersion::default().with_api_key(18).with_max_version(5)])
        .with_supported_features(vec![feature("a", 0), feature("b", 1)])
}

#[test]
fn an_api_versions_answer_has_no_tags_in_its_header() {
    #[rustfmt::skip]
    let expected = [
        0, 0, 0, 36, 0, 0, 1, 2, /* no tags here */ 0, 0, /* code */
        2, 0, 18, 0, 0, 0, 5, 0, 0, 0, 0, 0, /* one API, throttle */
        1, 0, 15, /* tag 0 */ 3, 2, b'a', 0, 0, 0, 2, 0, 2, b'b', 0, 1, 0, 2, 0,
    ];
    let answer = response(&Response::ApiVersions(api_versions()), 5);
    assert_eq!(answer, &expected[..]);
}

#[test]
fn features_that_begin_at_0_are_kept_from_old_clients() {
    let answer = response(&Response::ApiVersions(api_versions()), 3);
    let (_, read) = client::decode_response(18, 3, answer.freeze().slice(4..)).unwrap();
    let Response::ApiVersions(data) = read else { panic!("another answer") };
    let names: Vec<_> = data.supported_features.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["b"]);
}

#[test]
fn the_answer_to_an_unknown_api_versions_is_laid_out_as_v0() {
    let data = api_versions().with_error_code(35);
    #[rustfmt::skip]
    let expected =
        [0, 0, 0, 16, 0, 0, 1, 2, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5];
    assert_eq!(response(&Response::ApiVersionsUnsupported(data), 99), &expected[..]);
}

#[test]
fn txn_offset_commit_v6_names_topics_by_id() {
    let message = Request::TxnOffsetCommit(TxnOffsetCommitRequest {
        transactional_id: KafkaString::from_static("t"),
        group_id: KafkaString::from_static("g"),
        producer_id: 5,
        producer_epoch: 6,
        generation_id: -1,
        member_id: KafkaString::default(),
        group_instance_id: None,
        topics: vec![TxnOffsetCommitTopic {
            name: TopicName::from(""),
            topic_id: TopicId(7),
            partitions: vec![TxnOffsetCommitPartition {
                partition: 1,
                committed_offset: 2,
                committed_leader_epoch: 3,
                committed_metadata: None,
            }],
        }],
    });
    #[rustfmt::skip]
    let expected = [
        0, 0, 0, 71, 0, 28, 0, 6, 0, 0, 1, 2, 0, 2, b'm', b'e', 0,
        2, b't', 2, b'g', 0, 0, 0, 0, 0, 0, 0, 5, 0, 6,
        0xff, 0xff, 0xff, 0xff, 1, 0, /* generation, member, instance */
        2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, /* one topic, its id */
        2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, /* one partition, tags */
        0, 0, /* tags of the topic and of the message */
    ];
    assert_eq!(request(&message, 6), &expected[..]);
}

#[test]
fn what_kafka_4_4_0_answers_to_api_versions_v99_is_what_we_answer() {
    // Captured from a running broker: the frame without its size.
    let captured = [0, 0, 0, 7, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5];
    let answer =
        error_response(&Request::ApiVersionsUnsupported, 99, ErrorCode::UnsupportedVersion);
    let mut out = BytesMut::new();
    encode_response(99, 7, &answer.unwrap(), &mut out).unwrap();
    assert_eq!(out[4..], captured);
}
