//! Every request can be failed as a whole, in every version, in a form its client can read.

use std::vec::Vec;

use bytes::BytesMut;

use super::{every_version, request_frame};
use crate::error::ErrorCode;
use crate::wire::apis::has_tagged_response_header;
use crate::wire::shape::canonical;
use crate::wire::shape::generate::Random;
use crate::wire::{
    Limits, ProduceRequest, Request, Response, client, decode_request, encode_response,
    error_response,
};

#[test]
fn every_request_of_every_version_has_an_error_answer_that_can_be_encoded() {
    let mut random = Random(31);
    for (api, version) in every_version() {
        for _ in 0..20 {
            let body = canonical::request(api.key, version, &mut random);
            let frame = request_frame(api.key, version, &body);
            let mut request = decode_request(frame, &Limits::default()).unwrap().request;
            if let Request::Produce(produce) = &mut request {
                produce.acks = -1;
            }
            let response = error_response(&request, version, ErrorCode::CoordinatorLoadInProgress)
                .unwrap_or_else(|| panic!("{} v{version} has none", api.name));
            let mut out = BytesMut::new();
            encode_response(version, 7, &response, &mut out)
                .unwrap_or_else(|error| panic!("{} v{version}: {error}", api.name));
            let read = client::decode_response(api.key, version, out.split_off(4).freeze());
            assert_eq!(read.unwrap().1.api_key() as i16, api.key);
        }
    }
}

#[test]
fn a_produce_that_wants_no_answer_gets_none() {
    let request = Request::Produce(ProduceRequest { acks: 0, ..ProduceRequest::default() });
    assert_eq!(error_response(&request, 9, ErrorCode::UnknownServerError), None);
}

#[test]
fn an_unsupported_api_versions_learns_the_versions_to_try() {
    let response =
        error_response(&Request::ApiVersionsUnsupported, 99, ErrorCode::UnsupportedVersion);
    let Some(Response::ApiVersionsUnsupported(data)) = response else { panic!("another answer") };
    let [api] = &data.api_keys[..] else { panic!("one API is listed") };
    assert_eq!((api.api_key, api.min_version, api.max_version), (18, 0, 5));
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// Each line: key, version, a request's body, and the body of what
/// `AbstractRequest.getErrorResponse(0, COORDINATOR_LOAD_IN_PROGRESS)` of Apache Kafka 4.4.0 makes
/// of it. WriteTxnMarkers is left out: Kafka answers it in the order of a hash map. So is Produce:
/// these bodies have no records, which Kafka's own class cannot stand.
const OF_KAFKA: &str = include_str!("error_answers_of_kafka_4_4_0.txt");

#[test]
fn the_error_answers_are_those_of_kafka() {
    for line in OF_KAFKA.lines() {
        let [key, version, body, expected] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("not a line: {line}")
        };
        let (key, version): (i16, i16) = (key.parse().unwrap(), version.parse().unwrap());
        let frame = request_frame(key, version, &bytes(body.trim_start_matches('x')));
        let request = decode_request(frame, &Limits::default()).unwrap().request;
        let answer = error_response(&request, version, ErrorCode::CoordinatorLoadInProgress);
        let mut out = BytesMut::new();
        encode_response(version, 7, &answer.unwrap(), &mut out).unwrap();
        let head = if has_tagged_response_header(key, version) { 9 } else { 8 };
        assert_eq!(out[head..], bytes(expected.trim_start_matches('x')), "api {key} v{version}");
    }
}
