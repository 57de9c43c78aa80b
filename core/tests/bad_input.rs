//! Malformed requests of every API, in virtual time: nothing panics, each is answered or closes
//! its connection, the broker goes on serving, its memory stays flat, and what was acknowledged
//! is still there.
//!
//! 300 requests of each API in CI; `VERDICT_BAD_REQUESTS=10000` sends more of each,
//! `VERDICT_BAD_SEED` others.

mod support;

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::WriteTxnMarkersRequestData;
use kacrab_protocol::generated::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use support::{Driver, FETCH, PRODUCE, Writer, fetch, produce};
use verdict_core::io::{ConnId, Input};
use verdict_core::memory::Outcome;
use verdict_core::wire::hostile::{Hostile, Known};
use verdict_core::wire::{
    APIS, ApiRange, Limits, Request, Response, decode_request, encode_response,
};

const REQUESTS: u64 = 300;
/// The topic of the records that must survive. No request names it: names are drawn from others.
const KEPT: &str = "kept-by-a-name-that-no-request-has";
/// A good request goes between so many bad ones.
const BAD_PER_GOOD: u64 = 50;
/// How long a request that does not wait for others may take, in virtual ms.
const PATIENCE_MS: u64 = 60_000;
/// What one request may take at its peak: a constant, and so many times its own size.
const PEAK_BYTES: u64 = 4 << 20;
const PEAK_PER_BYTE: u64 = 100;
/// What the same requests once more may leave behind: caches of the sizes they have by then.
const GROWTH_BYTES: i64 = 256 << 10;
/// Requests that may wait for other members, or for records, as long as their clients said:
/// Fetch, JoinGroup, SyncGroup.
const MAY_WAIT: [i16; 3] = [1, 11, 14];

#[expect(clippy::disallowed_methods, reason = "how much a test does is no setting of the broker")]
fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// A broker, someone who behaves, and a count of how requests ended.
struct World {
    driver: Driver,
    known: Known,
    limits: Limits,
    writer: Writer,
    next_conn: u64,
    ended: BTreeMap<&'static str, u64>,
    peak_bytes: u64,
}

impl World {
    fn start() -> Self {
        let mut driver = Driver::with(|config| {
            config.fetch_max_bytes = 1 << 20;
            config.max_incremental_fetch_session_cache_slots = 20;
            config.verdict_cache_bytes = 1 << 20;
            config.verdict_journal_bytes = 1 << 20;
        });
        let names = ["t0", "t1", "t2"];
        let topic_ids = names.iter().map(|name| driver.create_topic(name, 3)).collect();
        driver.create_topic(KEPT, 1);
        let ids = ["x0", "x1", "x2"];
        let mut producer_ids: Vec<i64> = ids.iter().map(|id| driver.init(Some(id)).0).collect();
        producer_ids.push(driver.init(None).0);
        producer_ids.push(1_000_000);
        let (producer_id, producer_epoch) = driver.init(None);
        let known = Known {
            topics: names.map(str::to_owned).to_vec(),
            topic_ids,
            groups: ["g0", "g1", "c0"].map(str::to_owned).to_vec(),
            members: ["", "m0", "AAAAAAAAAAAAAAAAAAAAAA"].map(str::to_owned).to_vec(),
            transactional_ids: ids.map(str::to_owned).to_vec(),
            producer_ids,
            now_ms: driver.now.wall_ms,
        };
        Self {
            limits: Limits::from(&driver.config),
            driver,
            known,
            writer: Writer { producer_id, producer_epoch, base_sequence: 0 },
            next_conn: 100,
            ended: BTreeMap::new(),
            peak_bytes: 0,
        }
    }

    fn count(&mut self, how: &'static str) {
        *self.ended.entry(how).or_default() += 1;
    }

    fn close(&mut self) {
        let conn = ConnId(self.next_conn);
        self.driver.input(Input::ConnectionClosed { conn });
        self.next_conn += 1;
    }

    /// What the adapter does with a frame, and that it ends as it may.
    fn bad(&mut self, api: &ApiRange, frame: Vec<u8>) {
        let bytes = frame.len() as u64;
        let frame = Bytes::from(frame);
        let shown = frame.clone();
        let info = allocation_counter::measure(|| self.serve(api, frame));
        self.peak_bytes = self.peak_bytes.max(info.bytes_max);
        assert!(
            info.bytes_max <= PEAK_BYTES + PEAK_PER_BYTE * bytes,
            "{}: a frame of {bytes} bytes took {} at its peak: {shown:02x?}",
            api.name,
            info.bytes_max
        );
    }

    fn serve(&mut self, api: &ApiRange, frame: Bytes) {
        let Ok(decoded) = decode_request(frame.clone(), &self.limits) else {
            self.count("refused");
            return self.close();
        };
        let key = decoded.request.api_key() as i16;
        let version = decoded.header.version;
        let id = self.driver.send(self.next_conn, version, decoded.request);
        let patience_ms = if MAY_WAIT.contains(&key) { 100 } else { PATIENCE_MS };
        match self.driver.await_outcome(id, patience_ms) {
            Some(Outcome::Answer(response)) => {
                let written = encode_response(version, 1, &response, &mut BytesMut::new());
                written.unwrap_or_else(|error| panic!("{}: {error}: {frame:02x?}", api.name));
                self.count("answered");
            }
            Some(Outcome::Silent) => self.count("silent"),
            Some(Outcome::Disconnect) => {
                self.count("disconnected");
                self.close();
            }
            None if MAY_WAIT.contains(&key) => {
                self.count("waiting");
                self.close();
            }
            None => panic!("{} is never answered: {frame:02x?}", api.name),
        }
        assert!(self.driver.faults.is_empty(), "{}: {:?}", api.name, self.driver.faults);
    }

    /// A record is written and acknowledged.
    fn good(&mut self) {
        let request = produce(KEPT, 0..1, self.writer, None);
        let Response::Produce(answer) = self.driver.ask(PRODUCE, request) else { panic!() };
        let partition = &answer.responses[0].partition_responses[0];
        assert_eq!(partition.error_code, 0, "{partition:?}");
        assert_eq!(partition.base_offset, i64::from(self.writer.base_sequence), "no gap, no more");
        self.writer.base_sequence += 1;
    }

    /// Everything that was acknowledged can be read.
    fn assert_kept(&mut self) {
        let mut offset = 0;
        while offset < i64::from(self.writer.base_sequence) {
            let asked = self.driver.ask(FETCH, fetch(KEPT, 0..1, offset, 0));
            let Response::Fetch(answer) = asked else { panic!("a Fetch") };
            let read: i64 = answer
                .records
                .iter()
                .flatten()
                .flatten()
                .flat_map(|part| verdict_core::batch::batches(part.clone()))
                .map(|batch| i64::from(batch.expect("a whole batch").header().record_count))
                .sum();
            assert!(read > 0, "nothing at {offset} of {}", self.writer.base_sequence);
            offset += read;
        }
    }

    fn pass(&mut self, api: &ApiRange, seed: u64, requests: u64) {
        let mut hostile = Hostile::new(seed, self.known.clone());
        for request in 0..requests {
            let frame = hostile.broken(api);
            self.bad(api, frame);
            if request % BAD_PER_GOOD == 0 {
                self.good();
            }
        }
        self.close();
    }
}

/// Bytes that something leaves behind, files aside.
fn growth(world: &mut World, work: impl FnOnce(&mut World)) -> i64 {
    let before = world.driver.files.held_bytes() as i64;
    let left = allocation_counter::measure(|| work(world)).bytes_current;
    left - (world.driver.files.held_bytes() as i64 - before)
}

#[test]
fn malformed_requests_of_every_api_are_answered_or_close_their_connection() {
    let requests = from_environment("VERDICT_BAD_REQUESTS", REQUESTS);
    let seed = from_environment("VERDICT_BAD_SEED", 1);
    let mut world = World::start();
    println!("api, growth in the second pass, peak of a request, how they ended");
    for api in APIS {
        // What the requests create is there after the first pass; the same ones add nothing.
        let seed = seed.wrapping_mul(1_000).wrapping_add(api.key.unsigned_abs().into());
        world.pass(api, seed, requests);
        let grown = growth(&mut world, |world| world.pass(api, seed, requests));
        let (ended, peak) = (std::mem::take(&mut world.ended), world.peak_bytes);
        world.peak_bytes = 0;
        println!("{} {grown} {peak} {ended:?}", api.name);
        assert!(grown <= GROWTH_BYTES, "{}: {grown} bytes stay behind", api.name);
        world.assert_kept();
    }
    world.driver = world.driver.crashed();
    assert!(world.driver.faults.is_empty(), "after the crash: {:?}", world.driver.faults);
    world.assert_kept();
}

#[test]
fn malformed_requests_in_any_order_are_answered_or_close_their_connection() {
    let requests = from_environment("VERDICT_BAD_REQUESTS", REQUESTS) * 10;
    let seed = from_environment("VERDICT_BAD_SEED", 1);
    let mut world = World::start();
    let mut hostile = Hostile::new(seed, world.known.clone());
    for request in 0..requests {
        let api = hostile.one_of(APIS);
        let frame = if hostile.below(2) == 0 { hostile.sound(api) } else { hostile.broken(api) };
        world.bad(api, frame);
        if request % BAD_PER_GOOD == 0 {
            world.good();
        }
    }
    println!("{:?}, peak {}", world.ended, world.peak_bytes);
    world.assert_kept();
    world.driver = world.driver.crashed();
    assert!(world.driver.faults.is_empty(), "after the crash: {:?}", world.driver.faults);
    world.assert_kept();
}

/// Found by malformed requests: the coordinators of these partitions were never loaded again.
#[test]
fn markers_in_the_logs_of_coordinators_do_not_end_their_loading() {
    let mut world = World::start();
    let topic = |name: &str| {
        WritableTxnMarkerTopic::default()
            .with_name(KafkaString::from(name.to_owned()))
            .with_partition_indexes(vec![0, 1])
    };
    for producer_id in [-1, 1_000_000] {
        let marker = WritableTxnMarker::default()
            .with_producer_id(producer_id)
            .with_topics(vec![topic("__transaction_state"), topic("__consumer_offsets")]);
        let data = WriteTxnMarkersRequestData::default().with_markers(vec![marker]);
        world.driver.ask(1, Request::WriteTxnMarkers(data));
    }
    world.driver = world.driver.crashed();
    assert!(world.driver.faults.is_empty(), "{:?}", world.driver.faults);
}

/// What the generator is worth: most requests that are not broken get an answer, and every API
/// is among them.
#[test]
fn sound_requests_of_every_version_are_read() {
    let world = World::start();
    let mut hostile = Hostile::new(7, world.known.clone());
    for api in APIS {
        for _ in 0..100 {
            let frame = Bytes::from(hostile.sound(api));
            let decoded = decode_request(frame.clone(), &world.limits);
            let decoded = decoded.unwrap_or_else(|error| panic!("{}: {error}", api.name));
            assert_eq!(decoded.request.api_key() as i16, api.key);
            assert!(!matches!(decoded.request, Request::ApiVersionsUnsupported));
        }
    }
}
