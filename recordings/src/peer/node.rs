//! A bare node on files in memory, in virtual time. Requests and answers go through the wire's
//! coding all the same, so that it shows what a version can say.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::BytesMut;
use verdict_core::config::ConfigError;
use verdict_core::io::{ConnId, Input, RequestId};
use verdict_core::memory::{Files, Machine, Outcome};
use verdict_core::time::{Now, Timestamp};
use verdict_core::wire::{Limits, Request, SIZE_BYTES, client, decode_request, encode_response};

use super::{Answer, Peer, PeerError, Restart, Snapshots};

/// How long an answer may take, in virtual time.
const PATIENCE_MS: u64 = 120_000;
/// When a node's life begins.
const START_WALL_MS: i64 = 1_700_000_000_000;

/// A request without an answer so far.
struct Open {
    id: RequestId,
    api_key: i16,
    version: i16,
}

/// See the module.
pub struct NodePeer {
    machine: Machine,
    limits: Limits,
    conns: BTreeMap<String, (u64, VecDeque<Open>)>,
    next_conn: u64,
}

impl NodePeer {
    /// A node on empty files, with these settings.
    ///
    /// # Errors
    /// The node has no such setting.
    pub fn start<'a>(
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ConfigError> {
        let mut config = verdict_core::memory::small();
        for (name, value) in settings {
            config.set(name, value)?;
        }
        config.validate()?;
        let now = Now { at: Timestamp(1), wall_ms: START_WALL_MS };
        Ok(Self {
            limits: Limits::from(&config),
            machine: Machine::start(config, Files::default(), now),
            conns: BTreeMap::new(),
            next_conn: 0,
        })
    }

    fn conn(&mut self, name: &str) -> u64 {
        if let Some((number, _)) = self.conns.get(name) {
            return *number;
        }
        self.next_conn += 1;
        self.conns.insert(name.to_owned(), (self.next_conn, VecDeque::new()));
        let host: Arc<str> = Arc::from("/127.0.0.1");
        self.machine.input(Input::ConnectionOpened { conn: ConnId(self.next_conn), host });
        self.next_conn
    }

    fn close(&mut self, name: &str) {
        if let Some((number, _)) = self.conns.remove(name) {
            self.machine.input(Input::ConnectionClosed { conn: ConnId(number) });
        }
    }
}

impl Peer for NodePeer {
    fn send(&mut self, conn: &str, version: i16, request: &Request) -> Result<(), PeerError> {
        let number = self.conn(conn);
        let frame = client::encode_request(request, version, 0, Some("recordings"))?;
        let decoded = decode_request(frame.slice(SIZE_BYTES..), &self.limits)?;
        let id = self.machine.send(number, version, decoded.request);
        let open = Open { id, api_key: decoded.header.api_key, version };
        self.conns.entry(conn.to_owned()).or_default().1.push_back(open);
        Ok(())
    }

    fn receive(&mut self, conn: &str) -> Result<Answer, PeerError> {
        let opened = self.conns.get_mut(conn).and_then(|(_, open)| open.pop_front());
        let open = opened.ok_or(PeerError::NothingAsked)?;
        let outcome = self.machine.await_outcome(open.id, PATIENCE_MS);
        if let Some(reason) = self.machine.faults.pop() {
            return Err(PeerError::Fault(reason));
        }
        match outcome.ok_or(PeerError::NoAnswer)? {
            Outcome::Answer(response) => {
                let mut frame = BytesMut::new();
                encode_response(open.version, 0, &response, &mut frame)?;
                let frame = frame.freeze().slice(SIZE_BYTES..);
                let (_, response) = client::decode_response(open.api_key, open.version, frame)?;
                Ok(Answer::Response(Box::new(response)))
            }
            Outcome::Silent => Ok(Answer::Silent),
            Outcome::Disconnect => {
                self.close(conn);
                Ok(Answer::Closed)
            }
        }
    }

    fn wait_ms(&mut self, ms: u64) {
        self.machine.pass_ms(ms);
    }

    fn wall_ms(&self) -> i64 {
        self.machine.now.wall_ms
    }

    fn restart(&mut self, how: Restart, snapshots: Snapshots) -> Result<(), PeerError> {
        self.conns.clear();
        if how == Restart::Clean {
            self.machine.input(Input::Stop);
        }
        self.machine.files.change(|path, bytes| {
            let length = if path.ends_with(".snapshot") {
                snapshots.length(bytes.len())
            } else {
                Some(bytes.len())
            };
            bytes.truncate(length.unwrap_or_default());
            length.is_some()
        });
        self.machine = self.machine.crashed();
        Ok(())
    }
}
