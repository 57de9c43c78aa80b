//! A broker behind a socket, Apache Kafka or Verdict, over blocking connections.

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use verdict_core::wire::{Request, client};

use super::{Answer, Peer, PeerError, Restart, Snapshots};

/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Stops a broker, does something to its snapshots and starts it again.
pub type Restarter<'a> = Box<dyn FnMut(Restart, Snapshots) -> Result<(), String> + 'a>;

struct Conn {
    stream: TcpStream,
    /// API key and version of what has no answer yet; `None` where none will come.
    open: VecDeque<Option<(i16, i16)>>,
}

/// See the module.
pub struct SocketPeer<'a> {
    address: String,
    conns: BTreeMap<String, Conn>,
    restarter: Option<Restarter<'a>>,
}

impl<'a> SocketPeer<'a> {
    /// A broker at `HOST:PORT`, and how it is restarted where that is possible.
    #[must_use]
    pub const fn new(address: String, restarter: Option<Restarter<'a>>) -> Self {
        Self { address, conns: BTreeMap::new(), restarter }
    }

    fn conn(&mut self, name: &str) -> Result<&mut Conn, PeerError> {
        if !self.conns.contains_key(name) {
            let stream = TcpStream::connect(&self.address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
            self.conns.insert(name.to_owned(), Conn { stream, open: VecDeque::new() });
        }
        self.conns.get_mut(name).ok_or(PeerError::NothingAsked)
    }
}

impl Conn {
    /// One frame without its size; `None` when the connection was closed.
    fn frame(&mut self) -> Result<Option<Bytes>, PeerError> {
        let mut size = [0; 4];
        match self.stream.read_exact(&mut size) {
            Ok(()) => {}
            Err(error) if is_end(error.kind()) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let size = usize::try_from(i32::from_be_bytes(size)).unwrap_or(usize::MAX);
        if size > ANSWER_BYTES_MAX {
            return Err(std::io::Error::from(ErrorKind::InvalidData).into());
        }
        let mut frame = vec![0; size];
        self.stream.read_exact(&mut frame)?;
        Ok(Some(frame.into()))
    }
}

const fn is_end(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

impl Peer for SocketPeer<'_> {
    fn send(&mut self, conn: &str, version: i16, request: &Request) -> Result<(), PeerError> {
        let frame = client::encode_request(request, version, 0, Some("recordings"))?;
        let is_silent = matches!(request, Request::Produce(produce) if produce.acks == 0);
        let conn = self.conn(conn)?;
        conn.stream.write_all(&frame)?;
        conn.open.push_back((!is_silent).then_some((request.api_key() as i16, version)));
        Ok(())
    }

    fn receive(&mut self, conn: &str) -> Result<Answer, PeerError> {
        let found = self.conns.get_mut(conn).ok_or(PeerError::NothingAsked)?;
        let open = found.open.pop_front().ok_or(PeerError::NothingAsked)?;
        let Some((api_key, version)) = open else { return Ok(Answer::Silent) };
        let Some(frame) = found.frame()? else {
            self.conns.remove(conn);
            return Ok(Answer::Closed);
        };
        let (_, response) = client::decode_response(api_key, version, frame)?;
        Ok(Answer::Response(Box::new(response)))
    }

    #[expect(clippy::disallowed_methods, reason = "a broker behind a socket has real time")]
    fn wait_ms(&mut self, ms: u64) {
        std::thread::sleep(Duration::from_millis(ms));
    }

    #[expect(clippy::disallowed_methods, reason = "a broker behind a socket has real time")]
    fn wall_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn restart(&mut self, how: Restart, snapshots: Snapshots) -> Result<(), PeerError> {
        self.conns.clear();
        let restarter = self.restarter.as_mut();
        let restart = restarter.ok_or_else(|| PeerError::Restart("nobody said how".to_owned()))?;
        restart(how, snapshots).map_err(PeerError::Restart)
    }
}
