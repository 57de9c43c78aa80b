//! The `kafka-protocol` crate, generated independently, reads our bytes and writes the same.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestKind, ResponseKind};

use super::every_version;
use crate::wire::apis::PRODUCE;
use crate::wire::shape::canonical;
use crate::wire::shape::generate::Random;

/// Requests whose version kafka-protocol 0.18 lists and cannot read: it lacks topic ids there.
const REQUEST_GAPS: &[(i16, i16)] = &[(8, 10), (9, 10)];

fn knows(key: i16, version: i16) -> Option<ApiKey> {
    let api = ApiKey::try_from(key).ok()?;
    let range = api.valid_versions();
    (range.min <= version && version <= range.max).then_some(api)
}

#[test]
fn another_library_agrees_on_every_request_it_knows() {
    let mut random = Random(21);
    let mut agreed = 0;
    for (api, version) in every_version().filter(|(api, _)| api.key != PRODUCE) {
        if REQUEST_GAPS.contains(&(api.key, version)) {
            continue;
        }
        let Some(key) = knows(api.key, version) else { continue };
        for _ in 0..20 {
            let body = canonical::request(api.key, version, &mut random);
            let mut rest = Bytes::from(body.clone());
            let read = RequestKind::decode(key, &mut rest, version)
                .unwrap_or_else(|error| panic!("{} v{version}: {error}", api.name));
            assert!(rest.is_empty(), "{} v{version} leaves bytes", api.name);
            let mut written = BytesMut::new();
            read.encode(&mut written, version).unwrap();
            assert_eq!(written, body, "{} v{version}", api.name);
            agreed += 1;
        }
    }
    assert!(agreed > 1_500, "only {agreed} requests were compared");
}

#[test]
fn another_library_agrees_on_every_response_it_knows() {
    let mut random = Random(22);
    let mut agreed = 0;
    for (api, version) in every_version() {
        let Some(key) = knows(api.key, version) else { continue };
        for _ in 0..20 {
            let body = canonical::response(api.key, version, &mut random);
            let mut rest = Bytes::from(body.clone());
            let read = ResponseKind::decode(key, &mut rest, version)
                .unwrap_or_else(|error| panic!("{} v{version}: {error}", api.name));
            assert!(rest.is_empty(), "{} v{version} leaves bytes", api.name);
            let mut written = BytesMut::new();
            read.encode(&mut written, version).unwrap();
            assert_eq!(written, body, "{} v{version}", api.name);
            agreed += 1;
        }
    }
    assert!(agreed > 1_500, "only {agreed} responses were compared");
}
