//! What closes the connection, and what must not.

use std::vec::Vec;

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use super::{every_version, request_frame};
use crate::wire::shape::canonical;
use crate::wire::shape::generate::Random;
use crate::wire::{
    Limits, Request, ShapeFault, WireError, client, decode_request, fuzz, split_frame,
};

fn split(bytes: &[u8]) -> Result<Option<Bytes>, WireError> {
    let limits = Limits { max_request_bytes: 100, ..Limits::default() };
    split_frame(&mut BytesMut::from(bytes), &limits)
}

#[test]
fn a_frame_waits_for_its_last_byte() {
    assert!(split(&[]).unwrap().is_none());
    assert!(split(&[0, 0, 0]).unwrap().is_none());
    assert!(split(&[0, 0, 0, 2, 1]).unwrap().is_none());
    assert_eq!(split(&[0, 0, 0, 2, 1, 2, 3]).unwrap().unwrap(), &[1, 2][..]);
}

#[test]
fn a_size_that_is_no_size_is_refused_before_its_bytes_arrive() {
    for size in [0, -1, i32::MIN, 101, i32::MAX] {
        let refused = split(&size.to_be_bytes());
        assert!(matches!(refused, Err(WireError::FrameSize { size: s, max: 100 }) if s == size));
    }
    assert!(split(&100_i32.to_be_bytes()).unwrap().is_none());
}

fn decode(frame: &[u8]) -> Result<Request, WireError> {
    decode_request(Bytes::copy_from_slice(frame), &Limits::default()).map(|d| d.request)
}

#[test]
fn keys_that_are_not_served_are_named() {
    for key in [4, 5, 6, 7, 52, 59, 82, -1, i16::MAX] {
        let refused = decode(&request_frame(key, 0, &[]));
        assert!(matches!(refused, Err(WireError::UnknownApi { api_key }) if api_key == key));
    }
}

#[test]
fn versions_that_are_not_served_are_named() {
    for (key, version) in [(0, 2), (0, 0), (0, 14), (1, 3), (1, 19), (22, 6), (27, 0), (61, 1)] {
        let refused = decode(&request_frame(key, version, &[0; 64]));
        assert!(matches!(refused, Err(WireError::UnsupportedVersion { api_key, version: v, .. })
                if api_key == key && v == version));
    }
}

#[test]
fn an_api_versions_of_an_unknown_version_is_answered_and_its_body_not_read() {
    for version in [6, 99, i16::MAX, -1, i16::MIN] {
        // A body that is no body of ApiVersions in any version.
        let request = decode(&request_frame(18, version, &[0xff; 9])).unwrap();
        assert_eq!(request, Request::ApiVersionsUnsupported);
    }
}

#[test]
fn a_null_client_id_counts_as_empty() {
    let frame = client::encode_request(&Request::ApiVersionsUnsupported, 0, 3, None).unwrap();
    let decoded = decode_request(frame.slice(4..), &Limits::default()).unwrap();
    assert_eq!(&*decoded.header.client_id, "");
}

#[test]
fn a_request_cut_anywhere_is_refused() {
    let mut random = Random(11);
    for (api, version) in every_version() {
        let body = canonical::request(api.key, version, &mut random);
        let frame = request_frame(api.key, version, &body);
        for length in 0..frame.len() {
            assert!(decode(&frame[..length]).is_err(), "api {} v{version} at {length}", api.key);
        }
    }
}

/// Bodies whose first array is null where the schema has no null.
const NULL_ARRAYS: &[(i16, i16, &[u8], &str)] = &[
    // Metadata v0 asks for all topics with an empty array; null came with v1.
    (3, 0, &[0xff, 0xff, 0xff, 0xff], "topics"),
    // Produce v9: no transactional id, acks -1, 1000 ms, null topics.
    (0, 9, &[0, 0xff, 0xff, 0, 0, 3, 0xe8, 0, 0], "topic_data"),
    // Produce v3, the same.
    (0, 3, &[0xff, 0xff, 0xff, 0xff, 0, 0, 3, 0xe8, 0xff, 0xff, 0xff, 0xff], "topic_data"),
    (27, 1, &[0, 0], "markers"),
    (65, 0, &[0, 0], "transactional_ids"),
    (61, 0, &[0, 0], "topics"),
    (21, 0, &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], "topics"),
];

#[test]
fn a_null_array_where_none_is_allowed_is_not_taken_for_an_empty_one() {
    for (key, version, body, field) in NULL_ARRAYS {
        match decode(&request_frame(*key, *version, body)) {
            Err(WireError::BadShape { fault: ShapeFault::Null(name), .. }) => {
                assert_eq!(name, *field);
            }
            other => panic!("api {key} v{version}: {other:?}"),
        }
    }
    // Where it is allowed it is read as such.
    let Request::Metadata(all) = decode(&request_frame(3, 1, &[0xff; 4])).unwrap() else {
        panic!("another request")
    };
    assert_eq!(all.topics, None);
}

#[test]
fn a_length_beyond_what_has_arrived_is_refused_at_once() {
    // Two billion transactional ids, none of which follows.
    let body = [0xff, 0xff, 0xff, 0xff, 0x07, 1, 1, 1];
    let refused = decode(&request_frame(65, 0, &body));
    assert!(matches!(
        refused,
        Err(WireError::BadShape { fault: ShapeFault::TooLong("transactional_ids"), .. })
    ));
    // Four billion tagged fields after an empty array.
    let body = [1, 0xff, 0xff, 0xff, 0xff, 0x0f];
    let refused = decode(&request_frame(65, 0, &body));
    assert!(matches!(
        refused,
        Err(WireError::BadShape { fault: ShapeFault::TooLong("tagged fields"), .. })
    ));
}

#[test]
fn more_elements_than_the_limit_are_refused() {
    // Three empty ids.
    let body = [4, 1, 1, 1, 0];
    let frame = request_frame(65, 0, &body);
    let limits = Limits { max_elements: 3, ..Limits::default() };
    assert!(decode_request(frame.clone(), &limits).is_ok());
    let limits = Limits { max_elements: 2, ..Limits::default() };
    let refused = decode_request(frame, &limits);
    assert!(matches!(
        refused,
        Err(WireError::BadShape { fault: ShapeFault::TooManyElements("transactional_ids"), .. })
    ));
}

#[test]
fn unknown_tagged_fields_are_tolerated() {
    // DescribeTransactions, no ids, tag 77 with two bytes.
    assert!(decode(&request_frame(65, 0, &[1, 1, 77, 2, 9, 9])).is_ok());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(data: Vec<u8>) {
        fuzz::decode_any_request(&data);
        fuzz::decode_any_response(&data);
        fuzz::screen_any_records(&data);
    }

    #[test]
    fn a_damaged_request_never_panics(seed: u64, pick: usize, at: usize, with: u8) {
        let all: Vec<_> = every_version().collect();
        let (api, version) = all[pick % all.len()];
        let body = canonical::request(api.key, version, &mut Random(seed));
        let mut frame = request_frame(api.key, version, &body).to_vec();
        let at = at % frame.len();
        frame[at] = with;
        fuzz::decode_any_request(&frame);
    }
}

#[test]
fn thousands_of_random_inputs_pass_the_fuzz_bodies() {
    let mut random = Random(12);
    let all: Vec<_> = every_version().collect();
    for _ in 0..4_000 {
        let (api, version) = all[random.below(all.len() as u64) as usize];
        let mut body = canonical::request(api.key, version, &mut random);
        for _ in 0..random.below(4) {
            if !body.is_empty() {
                let at = random.below(body.len() as u64) as usize;
                body[at] = random.next() as u8;
            }
        }
        fuzz::decode_any_request(&request_frame(api.key, version, &body));
        let noise: Vec<u8> = (0..random.below(60)).map(|_| random.next() as u8).collect();
        fuzz::decode_any_request(&noise);
        fuzz::decode_any_response(&noise);
    }
}
