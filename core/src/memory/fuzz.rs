//! Body of the fuzz target over whole connections, compiled with every build and run by a test.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::CreateTopicsRequestData;
use kacrab_protocol::generated::create_topics_request::CreatableTopic;

use super::{Files, Machine, Outcome, small};
use crate::io::{ConnId, Input};
use crate::time::{Now, Timestamp};
use crate::wire::hostile::{Hostile, Known};
use crate::wire::{
    APIS, ApiVersionsRequest, Limits, Request, Response, decode_request, encode_response,
    split_frame,
};

/// The connection under test, and that of someone who behaves.
const CONN: u64 = 9;
const WITNESS: u64 = 1;
/// How long a request may take before the next one is looked at, in virtual ms.
const PATIENCE_MS: u64 = 1_000;

/// A broker with a topic and a clock that stands still, for [`serve_any_connection`].
///
/// # Panics
///
/// When the topic cannot be created.
#[must_use]
pub fn machine() -> Machine {
    let now = Now { at: Timestamp(1), wall_ms: 1_000_000 };
    let mut machine = Machine::start(small(), Files::default(), now);
    let topic = CreatableTopic::default()
        .with_name(KafkaString::from_static("t0"))
        .with_num_partitions(2)
        .with_replication_factor(1);
    let create = CreateTopicsRequestData::default().with_topics(Vec::from([topic]));
    let id = machine.send(WITNESS, 5, Request::CreateTopics(create));
    let created = machine.await_outcome(id, PATIENCE_MS);
    assert!(matches!(created, Some(Outcome::Answer(_))), "a topic can be created");
    machine
}

/// The bytes of one connection: frames with their sizes, as far as they are some. A copy of the
/// broker serves them, and then someone else.
///
/// # Panics
///
/// When the broker is at fault, gives an answer that its version cannot hold, or no longer serves.
pub fn serve_any_connection(broker: &Machine, data: &[u8]) {
    let mut machine = broker.clone();
    let limits = Limits::from(&machine.config);
    machine.input(Input::ConnectionOpened { conn: ConnId(CONN), host: Arc::from("/127.0.0.1") });
    let mut arrived = BytesMut::from(data);
    while let Ok(Some(frame)) = split_frame(&mut arrived, &limits) {
        if !serve(&mut machine, frame, &limits) {
            break;
        }
    }
    machine.input(Input::ConnectionClosed { conn: ConnId(CONN) });
    let good = Request::ApiVersions(ApiVersionsRequest::default());
    let id = machine.send(WITNESS, 3, good);
    assert!(matches!(machine.take(id), Some(Response::ApiVersions(_))), "it serves others");
    machine.pass_ms(PATIENCE_MS);
    assert!(machine.faults.is_empty(), "{:?}", machine.faults);
}

/// Whether the connection stays open.
fn serve(machine: &mut Machine, frame: Bytes, limits: &Limits) -> bool {
    let Ok(decoded) = decode_request(frame, limits) else { return false };
    let version = decoded.header.version;
    let id = machine.send(CONN, version, decoded.request);
    match machine.await_outcome(id, PATIENCE_MS) {
        Some(Outcome::Answer(response)) => {
            let written = encode_response(version, 1, &response, &mut BytesMut::new());
            written.expect("an answer fits the version it was asked for in");
            true
        }
        Some(Outcome::Silent) | None => true,
        Some(Outcome::Disconnect) => false,
    }
}

/// A connection's bytes to begin with: up to eight well-formed requests, or broken ones.
#[must_use]
pub fn any_connection(seed: u64) -> Vec<u8> {
    let text = |text: &str| Vec::from([text.into()]);
    let known = Known {
        topics: text("t0"),
        groups: text("g0"),
        members: text(""),
        transactional_ids: text("x0"),
        producer_ids: Vec::from([0]),
        now_ms: 1_000_000,
        ..Known::default()
    };
    let mut hostile = Hostile::new(seed, known);
    let mut out = Vec::new();
    for _ in 0..=hostile.below(8) {
        let api = hostile.one_of(APIS);
        let frame = if seed.is_multiple_of(2) { hostile.sound(api) } else { hostile.broken(api) };
        out.extend_from_slice(&u32::try_from(frame.len()).unwrap_or(u32::MAX).to_be_bytes());
        out.extend_from_slice(&frame);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_noise_are_served_or_closed() {
        let broker = machine();
        crate::testing::noise(300, |data| serve_any_connection(&broker, data));
    }

    #[test]
    fn connections_of_requests_and_of_broken_ones_are_served_or_closed() {
        let broker = machine();
        (0..600).for_each(|seed| serve_any_connection(&broker, &any_connection(seed)));
    }
}
