//! What is read is written back byte for byte, by the server's side and by the client's.

use std::vec;
use std::vec::Vec;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated::fetch_response::{FetchableTopicResponse, PartitionData};
use kacrab_protocol::generated::{
    FetchResponseData, TxnOffsetCommitRequestData, TxnOffsetCommitResponseData,
};
use proptest::prelude::*;

use super::{every_version, request_frame, response_frame, sized};
use crate::error::ErrorCode;
use crate::io::FileRun;
use crate::types::{TopicId, TopicName};
use crate::wire::apis::{FETCH, INIT_PRODUCER_ID, TXN_OFFSET_COMMIT};
use crate::wire::fetch::Shared;
use crate::wire::shape::canonical;
use crate::wire::shape::generate::Random;
use crate::wire::{
    FetchResponse, Limits, Request, Response, TxnOffsetCommitResponse, TxnOffsetCommitTopicResult,
    client, decode_request, encode_response, encode_response_parts,
};

fn request_round_trip(key: i16, version: i16, body: &[u8], limits: &Limits) {
    let frame = request_frame(key, version, body);
    let decoded = decode_request(frame.clone(), limits)
        .unwrap_or_else(|error| panic!("api {key} v{version}: {error}"));
    assert_eq!(decoded.request.api_key() as i16, key);
    assert_eq!(&*decoded.header.client_id, "tst");
    assert_eq!(decoded.header.correlation_id, 7);
    let written = client::encode_request(&decoded.request, version, 7, Some("tst")).unwrap();
    assert_eq!(written, sized(&frame), "api {key} v{version}");
}

fn response_round_trip(key: i16, version: i16, body: &[u8]) {
    let frame = response_frame(key, version, body);
    let (correlation_id, response) = client::decode_response(key, version, frame.clone())
        .unwrap_or_else(|error| panic!("api {key} v{version}: {error}"));
    assert_eq!(correlation_id, 7);
    assert_eq!(response.api_key() as i16, key);
    let mut out = BytesMut::new();
    encode_response(version, 7, &response, &mut out).unwrap();
    assert_eq!(out, sized(&frame), "api {key} v{version}");
}

#[test]
fn every_request_of_every_version_survives_the_round_trip() {
    let mut random = Random(1);
    for (api, version) in every_version() {
        for _ in 0..40 {
            let body = canonical::request(api.key, version, &mut random);
            request_round_trip(api.key, version, &body, &Limits::default());
        }
    }
}

#[test]
fn every_response_of_every_version_survives_the_round_trip() {
    let mut random = Random(2);
    // TxnOffsetCommit keeps no throttle time and only known codes: it has a test of its own.
    for (api, version) in every_version().filter(|(api, _)| api.key != TXN_OFFSET_COMMIT) {
        for _ in 0..40 {
            let body = canonical::response(api.key, version, &mut random);
            response_round_trip(api.key, version, &body);
        }
    }
}

#[test]
fn the_unstable_init_producer_id_is_served_only_when_asked_for() {
    let body = canonical::request(INIT_PRODUCER_ID, 6, &mut Random(3));
    let unstable = Limits { unstable_versions: true, ..Limits::default() };
    request_round_trip(INIT_PRODUCER_ID, 6, &body, &unstable);
    let frame = request_frame(INIT_PRODUCER_ID, 6, &body);
    assert!(decode_request(frame, &Limits::default()).is_err());
}

#[test]
fn bytes_after_the_body_are_tolerated() {
    let mut random = Random(4);
    for (api, version) in every_version() {
        let mut body = canonical::request(api.key, version, &mut random);
        let limits = Limits::default();
        let plain = decode_request(request_frame(api.key, version, &body), &limits).unwrap();
        body.extend_from_slice(b"garbage");
        let trailed = decode_request(request_frame(api.key, version, &body), &limits).unwrap();
        assert_eq!(plain, trailed);
    }
}

#[test]
fn our_txn_offset_commit_reads_what_the_generated_one_reads() {
    let mut random = Random(5);
    for version in 0..=5 {
        let body = canonical::request(TXN_OFFSET_COMMIT, version, &mut random);
        let theirs =
            TxnOffsetCommitRequestData::read(&mut Bytes::from(body.clone()), version).unwrap();
        let frame = request_frame(TXN_OFFSET_COMMIT, version, &body);
        let decoded = decode_request(frame, &Limits::default()).unwrap();
        let Request::TxnOffsetCommit(ours) = decoded.request else { panic!("another request") };
        assert_eq!(ours.producer_id, theirs.producer_id);
        assert_eq!(ours.generation_id, theirs.generation_id);
        assert_eq!(ours.topics.len(), theirs.topics.len());
        for (ours, theirs) in ours.topics.iter().zip(&theirs.topics) {
            assert_eq!(ours.name.as_str(), theirs.name.as_str());
            for (ours, theirs) in ours.partitions.iter().zip(&theirs.partitions) {
                assert_eq!(ours.committed_offset, theirs.committed_offset);
                assert_eq!(ours.committed_leader_epoch, theirs.committed_leader_epoch);
                assert_eq!(ours.committed_metadata, theirs.committed_metadata);
            }
        }
    }
}

fn txn_offset_commit_response(version: i16) -> TxnOffsetCommitResponse {
    let by_id = version >= 6;
    TxnOffsetCommitResponse {
        topics: vec![TxnOffsetCommitTopicResult {
            name: TopicName::from(if by_id { "" } else { "orders" }),
            topic_id: if by_id { TopicId(0x1234) } else { TopicId::default() },
            partitions: vec![(0, ErrorCode::None), (9, ErrorCode::TransactionAbortable)],
        }],
    }
}

#[test]
fn a_txn_offset_commit_answer_survives_the_round_trip_in_every_version() {
    for version in 0..=6 {
        let response = Response::TxnOffsetCommit(txn_offset_commit_response(version));
        let mut out = BytesMut::new();
        encode_response(version, 7, &response, &mut out).unwrap();
        let frame = out.split_off(4).freeze();
        let read = client::decode_response(TXN_OFFSET_COMMIT, version, frame.clone()).unwrap();
        assert_eq!(read, (7, response));
        if version <= 5 {
            let mut body = frame.slice(if version >= 3 { 5 } else { 4 }..);
            let theirs = TxnOffsetCommitResponseData::read(&mut body, version).unwrap();
            assert_eq!(theirs.topics[0].partitions[1].error_code, 120);
            assert!(body.is_empty());
        }
    }
}

#[test]
fn a_fetch_answer_equals_the_generated_encoding_however_its_records_are_cut() {
    let mut random = Random(6);
    for version in 4..=18 {
        for _ in 0..60 {
            let body = canonical::response(FETCH, version, &mut random);
            let whole = FetchResponseData::read(&mut Bytes::from(body), version).unwrap();
            let mut response = FetchResponse::from_generated(whole.clone());
            for parts in response.records.iter_mut().flatten() {
                cut(parts, &mut random);
            }
            let mut ours = BytesMut::new();
            let at_most = response.frame_bytes_at_most(version, &Shared::nothing()).unwrap();
            ours.reserve(at_most);
            let before = ours.as_ptr();
            response.write(&mut ours, version, &mut Shared::nothing()).unwrap();
            assert_eq!(ours.as_ptr(), before, "the buffer moved while it was written");
            assert!(ours.len() <= at_most);
            let mut theirs = BytesMut::new();
            whole.write(&mut theirs, version).unwrap();
            assert_eq!(ours, theirs, "v{version}");
        }
    }
}

fn cut(parts: &mut Vec<Bytes>, random: &mut Random) {
    let Some(mut rest) = parts.pop() else { return };
    while !rest.is_empty() {
        let head = 1 + random.below(rest.len() as u64) as usize;
        parts.push(rest.split_to(head));
    }
}

proptest! {
    #[test]
    fn any_seed_of_any_message_survives_the_round_trip(seed: u64, pick: usize) {
        let all: Vec<_> = every_version().collect();
        let (api, version) = all[pick % all.len()];
        let mut random = Random(seed);
        let body = canonical::request(api.key, version, &mut random);
        request_round_trip(api.key, version, &body, &Limits::default());
        if api.key != TXN_OFFSET_COMMIT {
            response_round_trip(api.key, version, &canonical::response(api.key, version, &mut random));
        }
    }
}

#[test]
fn a_fetch_in_pieces_is_the_fetch_in_one_piece_and_shares_what_is_large() {
    let part = |bytes: usize| Bytes::from(vec![7; bytes]);
    let run = FileRun { path: "t-0/0.log".into(), position: 0, length: 1 };
    let large = part(5_000);
    let records = vec![vec![vec![part(61), large.clone(), part(100)], vec![], vec![large.clone()]]];
    let partitions = (0..3)
        .map(|index| PartitionData { partition_index: index, ..Default::default() })
        .collect();
    let topic = FetchableTopicResponse { partitions, ..Default::default() };
    let data = FetchResponseData { responses: vec![topic], ..Default::default() };
    let files = vec![(0, run.clone()), (2, run)];
    let response = Response::Fetch(FetchResponse { data, records, files });
    for version in [4, 11, 12, 13, 16] {
        let (mut whole, mut out) = (BytesMut::new(), BytesMut::new());
        encode_response(version, 7, &response, &mut whole).unwrap();
        let parts = encode_response_parts(version, 7, &response, &mut out).unwrap();
        assert_eq!(parts.parts.concat(), whole);
        let records = [5_161, 5_000].into_iter().zip(parts.files_at);
        for (bytes, at) in records {
            assert_eq!(whole[at..at + bytes], vec![7; bytes], "v{version}");
            assert_ne!(whole[at - 1], 7);
        }
        let parts = parts.parts;
        let shared = parts.iter().filter(|part| part.as_ptr() == large.as_ptr()).count();
        assert_eq!(shared, 2);
        assert!(parts.len() <= 5, "nothing small is a piece of its own");
    }
}
