//! Malformed requests of every API over real sockets to a broker process: each is answered or its
//! connection closed, its resident memory stays flat, and what was acknowledged is still there
//! after `kill -9`, and so are the coordinators' logs.
//!
//! 20 requests of each API in CI. `VERDICT_BAD_REQUESTS=10000` sends more of each,
//! `VERDICT_BAD_SEED` others, `VERDICT_BAD_PROGRAM` names another build of the broker.
#![cfg(not(madsim))]

#[path = "../../core/tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::create_topics_request::CreatableTopic;
use kacrab_protocol::generated::{
    CreateTopicsRequestData, ErrorCode, InitProducerIdRequestData, ListGroupsRequestData,
    ListTransactionsRequestData,
};
use support::{FETCH, PRODUCE, Writer, assert_produced, fetch, produce};
use verdict_core::wire::hostile::{Hostile, Known};
use verdict_core::wire::{APIS, ApiRange, Limits, Request, Response, client, decode_request};

const REQUESTS: u64 = 20;
/// Threads that send.
const SENDERS: usize = 4;
/// The topic of the records that must survive; no request names it.
const KEPT: &str = "kept-by-a-name-that-no-request-has";
/// A good request goes between so many bad ones.
const BAD_PER_GOOD: u64 = 50;
/// How long an answer is waited for. What takes longer waits for other members, or for records.
const PATIENCE: Duration = Duration::from_millis(300);
/// How long a good request may take on a busy machine.
const GOOD_PATIENCE: Duration = Duration::from_secs(30);
/// What the same requests once more may add to the resident memory, in KiB.
const GROWTH_KIB: u64 = 32 << 10;
/// What 500 connections that claim much and send little may take, in KiB.
const CLAIMS_KIB: u64 = 64 << 10;

#[expect(clippy::disallowed_methods, reason = "how much a test does is no setting of the broker")]
fn from_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn number(name: &str, default: u64) -> u64 {
    from_environment(name).map_or(default, |text| text.parse().expect("a number"))
}

/// A broker process; killed when dropped.
struct Broker {
    process: Child,
    address: String,
}

impl Broker {
    /// What it complains of goes to the file `errors` beside its data.
    fn start(folder: &Path) -> Self {
        let errors = OpenOptions::new().create(true).append(true).open(folder.join("errors"));
        let program = from_environment("VERDICT_BAD_PROGRAM");
        let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_verdict").to_owned());
        let mut process = Command::new(program)
            .args(["serve", "--log", "error", "--listen", "127.0.0.1:0", "--durability", "os"])
            // The good records are of 1970.
            .args(["-o", "log.retention.ms=-1"])
            .arg("--data")
            .arg(folder.join("data"))
            .stdin(Stdio::null())
            .stderr(errors.expect("a file"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let out = process.stdout.take().expect("its output is piped");
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).expect("a line");
        let address = line.split(' ').nth(3).expect("verdict listens on ADDRESS …").to_owned();
        Self { process, address }
    }

    fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(path).expect("the broker lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a figure");
        line.split_whitespace().next().expect("a number").parse().expect("a number")
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("connected");
        stream.set_read_timeout(Some(GOOD_PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("an option");
        stream
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.process.kill().unwrap_or(());
        self.process.wait().map(drop).unwrap_or(());
    }
}

fn read_frame(stream: &mut TcpStream) -> std::io::Result<Bytes> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut frame)?;
    Ok(frame.into())
}

fn ask(stream: &mut TcpStream, version: i16, request: &Request) -> Response {
    let frame = client::encode_request(request, version, 1, Some("good")).expect("encodable");
    stream.write_all(&frame).expect("written");
    let answer = read_frame(stream).expect("an answer");
    client::decode_response(request.api_key() as i16, version, answer).expect("readable").1
}

/// Someone who behaves.
struct Witness {
    stream: TcpStream,
    writer: Writer,
}

impl Witness {
    fn write(&mut self) {
        let request = produce(KEPT, 0..1, self.writer, None);
        assert_produced(&ask(&mut self.stream, PRODUCE, &request));
        self.writer.base_sequence += 1;
    }

    fn assert_kept(&mut self) {
        let end = i64::from(self.writer.base_sequence);
        let mut offset = 0;
        while offset < end {
            let asked = ask(&mut self.stream, FETCH, &fetch(KEPT, 0..1, offset, 0));
            let Response::Fetch(answer) = asked else { panic!("a Fetch") };
            let read: i64 = answer
                .records
                .iter()
                .flatten()
                .flatten()
                .flat_map(|part| verdict_core::batch::batches(part.clone()))
                .map(|batch| i64::from(batch.expect("a whole batch").header().record_count))
                .sum();
            assert!(read > 0, "nothing at {offset} of {end}: {answer:?}");
            offset += read;
        }
    }
}

fn create_topic(stream: &mut TcpStream, name: &str, partitions: i32) -> [u8; 16] {
    let topic = CreatableTopic::default()
        .with_name(KafkaString::from(name.to_owned()))
        .with_num_partitions(partitions)
        .with_replication_factor(1);
    let data = CreateTopicsRequestData::default().with_timeout_ms(10_000).with_topics(vec![topic]);
    let Response::CreateTopics(answer) = ask(stream, 7, &Request::CreateTopics(data)) else {
        panic!("a CreateTopics")
    };
    assert_eq!(answer.topics[0].error_code, 0, "{answer:?}");
    answer.topics[0].topic_id.to_bytes()
}

fn init(stream: &mut TcpStream, transactional_id: Option<&str>) -> (i64, i16) {
    let data = InitProducerIdRequestData::default()
        .with_transactional_id(transactional_id.map(|id| KafkaString::from(id.to_owned())))
        .with_transaction_timeout_ms(10_000);
    let Response::InitProducerId(answer) = ask(stream, 4, &Request::InitProducerId(data)) else {
        panic!("an InitProducerId")
    };
    (answer.producer_id, answer.producer_epoch)
}

fn prepare(broker: &Broker) -> (Known, Witness) {
    let mut stream = broker.connect();
    let names = ["t0", "t1", "t2"];
    let topic_ids = names.iter().map(|name| create_topic(&mut stream, name, 3)).collect();
    create_topic(&mut stream, KEPT, 1);
    let (producer_id, producer_epoch) = init(&mut stream, None);
    let known = Known {
        topics: names.map(str::to_owned).to_vec(),
        topic_ids,
        groups: ["g0", "g1", "c0"].map(str::to_owned).to_vec(),
        members: ["", "m0", "AAAAAAAAAAAAAAAAAAAAAA"].map(str::to_owned).to_vec(),
        transactional_ids: ["x0", "x1", "x2"].map(str::to_owned).to_vec(),
        producer_ids: vec![init(&mut stream, Some("x0")).0, init(&mut stream, None).0, 1_000_000],
        now_ms: 1_700_000_000_000,
    };
    (known, Witness { stream, writer: Writer { producer_id, producer_epoch, base_sequence: 0 } })
}

#[expect(clippy::disallowed_methods, reason = "a client in another process has no timers of ours")]
fn wait_a_little() {
    std::thread::sleep(Duration::from_millis(20));
}

/// Waits until every group and transactional id is loaded, and looks at what the broker said of it.
fn assert_loaded(folder: &Path, stream: &mut TcpStream) {
    let groups = Request::ListGroups(ListGroupsRequestData::default());
    let ids = Request::ListTransactions(ListTransactionsRequestData::default());
    loop {
        let errors = match (ask(stream, 0, &groups), ask(stream, 0, &ids)) {
            (Response::ListGroups(groups), Response::ListTransactions(ids)) => {
                [groups.error_code, ids.error_code]
            }
            other => panic!("{other:?}"),
        };
        if errors == [0, 0] {
            break;
        }
        let loading = ErrorCode::CoordinatorLoadInProgress.code();
        assert!(errors.iter().all(|error| [0, loading].contains(error)), "{errors:?}");
        wait_a_little();
    }
    let said = std::fs::read_to_string(folder.join("errors")).expect("a file");
    assert_eq!(said, "", "the broker had nothing to complain of");
}

/// Sends one frame over a connection of its own choice and says how it ended.
struct Sender<'b> {
    broker: &'b Broker,
    hostile: Hostile,
    limits: Limits,
    stream: Option<TcpStream>,
    ended: BTreeMap<&'static str, u64>,
}

impl Sender<'_> {
    fn send(&mut self, api: &ApiRange) {
        let frame = self.hostile.broken(api);
        let mut bytes = (frame.len() as u32).to_be_bytes().to_vec();
        bytes.extend_from_slice(&frame);
        let lies = self.hostile.below(20) == 0;
        if lies {
            let claims = [0, -1, i32::MIN, i32::MAX, 100_000_000, frame.len() as i32 + 9, 7];
            let claim = *self.hostile.one_of(&claims);
            bytes[..4].copy_from_slice(&claim.to_be_bytes());
        }
        let stream = self.stream.take().unwrap_or_else(|| {
            let stream = self.broker.connect();
            stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            stream
        });
        let (how, stream) = self.exchange(stream, &bytes, lies, frame.into(), api);
        *self.ended.entry(how).or_default() += 1;
        self.stream = stream;
    }

    /// How it ended, and the connection if it can be used again.
    fn exchange(
        &mut self,
        mut stream: TcpStream,
        bytes: &[u8],
        lies: bool,
        frame: Bytes,
        api: &ApiRange,
    ) -> (&'static str, Option<TcpStream>) {
        // A peer may be cut while it writes.
        let (head, tail) = bytes.split_at(self.hostile.below(bytes.len() as u64) as usize);
        if stream.write_all(head).and_then(|()| stream.write_all(tail)).is_err() {
            return ("closed", None);
        }
        if lies {
            // The rest never comes, and the other half of the connection stays open.
            stream.shutdown(Shutdown::Write).unwrap_or(());
        }
        match read_frame(&mut stream) {
            Ok(answer) => {
                if let (false, Ok(decoded)) = (lies, decode_request(frame, &self.limits)) {
                    let (key, version) = (decoded.request.api_key() as i16, decoded.header.version);
                    client::decode_response(key, version, answer)
                        .unwrap_or_else(|error| panic!("{} v{version}: {error}", api.name));
                }
                ("answered", if lies { None } else { Some(stream) })
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                ("waiting", None)
            }
            Err(_) => ("closed", None),
        }
    }
}

/// All APIs, shared out among the senders; how their requests ended.
fn pass(
    broker: &Broker,
    known: &Known,
    witness: &mut Witness,
    (seed, requests): (u64, u64),
) -> BTreeMap<&'static str, u64> {
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|place| {
                let known = known.clone();
                scope.spawn(move || {
                    let mut ended = BTreeMap::new();
                    for api in APIS.iter().skip(place).step_by(SENDERS) {
                        let seed = seed * 1_000 + u64::from(api.key.unsigned_abs());
                        let hostile = Hostile::new(seed, known.clone());
                        let limits = Limits::default();
                        let mut sender = Sender { broker, hostile, limits, stream: None, ended };
                        (0..requests).for_each(|_| sender.send(api));
                        ended = sender.ended;
                    }
                    ended
                })
            })
            .collect();
        let all = APIS.len() as u64 * requests;
        (0..all / BAD_PER_GOOD).for_each(|_| witness.write());
        let mut ended = BTreeMap::new();
        for sender in senders {
            for (how, count) in sender.join().expect("every answer can be read") {
                *ended.entry(how).or_default() += count;
            }
        }
        ended
    })
}

#[test]
fn malformed_requests_leave_a_broker_process_serving_and_its_memory_flat() {
    let (requests, seed) =
        (number("VERDICT_BAD_REQUESTS", REQUESTS), number("VERDICT_BAD_SEED", 1));
    let data = tempfile::tempdir().expect("a directory");
    let mut broker = Broker::start(data.path());
    let (known, mut witness) = prepare(&broker);
    let at_first = broker.resident_kib();
    let first = pass(&broker, &known, &mut witness, (seed, requests));
    let between = broker.resident_kib();
    let second = pass(&broker, &known, &mut witness, (seed, requests));
    let after = broker.resident_kib();
    println!("{requests} requests of {} APIs, twice: {first:?}, {second:?}", APIS.len());
    println!("resident KiB: {at_first} before, {between} after the first pass, {after} at the end");
    witness.assert_kept();
    assert!(after <= between + GROWTH_KIB, "{between} KiB, then {after} KiB");
    drop(broker);
    broker = Broker::start(data.path());
    witness.stream = broker.connect();
    witness.assert_kept();
    assert_loaded(data.path(), &mut witness.stream);
}

/// Five hundred peers that claim a frame of the largest size, send a few bytes and wait; some that
/// claim two gigabytes; some that say nothing.
#[test]
fn half_open_connections_that_claim_much_take_little_and_hold_nobody_up() {
    let data = tempfile::tempdir().expect("a directory");
    let broker = Broker::start(data.path());
    let (_, mut witness) = prepare(&broker);
    witness.write();
    let before = broker.resident_kib();
    let mut peers = Vec::new();
    for peer in 0..500_u32 {
        let mut stream = broker.connect();
        let claim = [100_000_000_u32, 0x7fff_ffff, 50_000][peer as usize % 3];
        if peer % 10 > 0 {
            stream.write_all(&claim.to_be_bytes()).expect("written");
            stream.write_all(&[0; 20]).unwrap_or(());
        }
        if peer % 4 == 0 {
            stream.shutdown(Shutdown::Write).unwrap_or(());
        }
        peers.push(stream);
    }
    (0..50).for_each(|_| witness.write());
    let after = broker.resident_kib();
    println!("resident KiB: {before} before, {after} with 500 half-open connections");
    assert!(after <= before + CLAIMS_KIB, "{before} KiB, then {after} KiB");
    witness.assert_kept();
}
