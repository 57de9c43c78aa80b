//! Every request can be failed as a whole, in every version, in a form its client can read.

use bytes::BytesMut;

use super::{every_version, request_frame};
use crate::error::ErrorCode;
use crate::wire::shape::generate::{self, Random};
use crate::wire::{
    Limits, ProduceRequest, Request, Response, client, decode_request, encode_response,
    error_response,
};

#[test]
fn every_request_of_every_version_has_an_error_answer_that_can_be_encoded() {
    let mut random = Random(31);
    for (api, version) in every_version() {
        for _ in 0..20 {
            let body = generate::request(api.key, version, &mut random);
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
