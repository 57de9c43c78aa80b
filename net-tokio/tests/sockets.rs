//! What the adapter does with connections, whatever the broker behind it: order, bad frames,
//! limits, peers that leave.
#![cfg(not(madsim))]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use verdict_core::wire::{ApiVersionsRequest, Request, client};
use verdict_net_tokio::test_broker::TestBroker;

const API_VERSIONS: i16 = 18;

fn connect(broker: &TestBroker) -> TcpStream {
    let stream = TcpStream::connect(broker.bootstrap()).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream
}

/// A frame of ApiVersions v2, which has no body.
fn api_versions(correlation_id: i32) -> bytes::Bytes {
    let request = Request::ApiVersions(ApiVersionsRequest::default());
    client::encode_request(&request, 2, correlation_id, Some("sockets")).expect("encodable")
}

/// The correlation id of the next answer.
fn answer(stream: &mut TcpStream) -> i32 {
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("a length");
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut frame).expect("a frame");
    client::decode_response(API_VERSIONS, 2, frame.into()).expect("an answer").0
}

fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let broker = TestBroker::start();
    let mut stream = connect(&broker);
    let many: Vec<u8> = (0..500).flat_map(|id| api_versions(id).to_vec()).collect();
    stream.write_all(&many).expect("written");
    for id in 0..500 {
        assert_eq!(answer(&mut stream), id);
    }
}

#[test]
fn a_request_may_arrive_byte_by_byte() {
    let broker = TestBroker::start();
    let mut stream = connect(&broker);
    stream.set_nodelay(true).expect("an option");
    for byte in api_versions(7) {
        stream.write_all(&[byte]).expect("written");
    }
    assert_eq!(answer(&mut stream), 7);
}

#[test]
fn bad_frames_close_their_connection_and_no_other() {
    let broker = TestBroker::start_with(&[("socket.request.max.bytes", "1000")]);
    let mut witness = connect(&broker);
    let table: [(&str, &[u8]); 5] = [
        ("negative length", &[0xff, 0xff, 0xff, 0xff]),
        ("length zero", &[0, 0, 0, 0]),
        ("too long", &[0, 0, 0x03, 0xe9]),
        ("no header", &[0, 0, 0, 2, 1, 2]),
        ("unknown api", &[0, 0, 0, 10, 0x7f, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff]),
    ];
    for (name, bytes) in table {
        let mut stream = connect(&broker);
        stream.write_all(bytes).expect("written");
        assert!(is_closed(&mut stream), "{name}");
    }
    witness.write_all(&api_versions(1)).expect("written");
    assert_eq!(answer(&mut witness), 1);
}

#[test]
fn connections_beyond_the_limit_are_closed_until_one_leaves() {
    let broker = TestBroker::start_with(&[("max.connections", "1")]);
    let mut first = connect(&broker);
    first.write_all(&api_versions(1)).expect("written");
    assert_eq!(answer(&mut first), 1);
    assert!(is_closed(&mut connect(&broker)));
    drop(first);
    let served = (0..200).any(|_| {
        let mut next = connect(&broker);
        let is_served =
            next.write_all(&api_versions(2)).is_ok() && matches!(next.read(&mut [0; 4]), Ok(4));
        #[expect(clippy::disallowed_methods, reason = "a test over real sockets polls")]
        std::thread::sleep(Duration::from_millis(10));
        is_served
    });
    assert!(served, "the place of the first is free again");
}

#[test]
fn an_idle_connection_is_closed() {
    let broker = TestBroker::start_with(&[("connections.max.idle.ms", "100")]);
    assert!(is_closed(&mut connect(&broker)));
}

#[test]
fn a_frame_larger_than_the_whole_budget_is_served_alone() {
    let broker = TestBroker::start_with(&[("verdict.inflight.bytes", "1")]);
    let mut streams: Vec<TcpStream> = (0..20).map(|_| connect(&broker)).collect();
    for stream in &mut streams {
        stream.write_all(&api_versions(3)).expect("written");
    }
    for stream in &mut streams {
        assert_eq!(answer(stream), 3);
    }
}

#[test]
fn a_restarted_broker_listens_where_it_did() {
    let mut broker = TestBroker::start();
    for end in [TestBroker::restart, TestBroker::crash] {
        let mut before = connect(&broker);
        end(&mut broker);
        assert!(is_closed(&mut before));
        let mut after = connect(&broker);
        after.write_all(&api_versions(5)).expect("written");
        assert_eq!(answer(&mut after), 5);
    }
}

/// A hundred peers that claim frames they never send, with a budget of one megabyte.
#[test]
fn claimed_lengths_hold_nobody_up() {
    let broker = TestBroker::start_with(&[("verdict.inflight.bytes", "1000000")]);
    let mut claims: Vec<TcpStream> = (0..100).map(|_| connect(&broker)).collect();
    for stream in &mut claims {
        stream.write_all(&100_000_000_u32.to_be_bytes()).expect("written");
        stream.write_all(&[0; 10]).expect("written");
    }
    let mut other = connect(&broker);
    for id in 0..10 {
        other.write_all(&api_versions(id)).expect("written");
        assert_eq!(answer(&mut other), id);
    }
}

/// Peers that send as many bytes as the budget has, and then no more, until they leave.
#[test]
fn frames_that_stall_give_back_what_they_drew() {
    let broker = TestBroker::start_with(&[("verdict.inflight.bytes", "1000000")]);
    let mut stalled: Vec<TcpStream> = (0..8).map(|_| connect(&broker)).collect();
    for stream in &mut stalled {
        stream.write_all(&50_000_000_u32.to_be_bytes()).expect("written");
        stream.write_all(&vec![0; 200_000]).expect("written");
    }
    let mut other = connect(&broker);
    drop(stalled);
    for id in 0..10 {
        other.write_all(&api_versions(id)).expect("written");
        assert_eq!(answer(&mut other), id);
    }
}

#[test]
fn frames_that_need_the_whole_budget_each_all_arrive() {
    let broker = TestBroker::start_with(&[("verdict.inflight.bytes", "1000000")]);
    let address = broker.bootstrap();
    let senders = (0..6).map(|id| {
        let address = address.clone();
        std::thread::spawn(move || {
            let mut stream = TcpStream::connect(address).expect("connected");
            // ApiVersions may be followed by bytes that nobody reads.
            let mut frame = api_versions(id).to_vec();
            frame.resize(2_000_000, 0);
            let length = u32::try_from(frame.len() - 4).expect("small");
            frame[..4].copy_from_slice(&length.to_be_bytes());
            stream.write_all(&frame).expect("written");
            assert_eq!(answer(&mut stream), id);
        })
    });
    for sender in senders.collect::<Vec<_>>() {
        sender.join().expect("answered");
    }
}
