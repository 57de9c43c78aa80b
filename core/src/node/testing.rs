//! A node on files in memory, driven until it is quiet: for tests of whole requests.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::Node;
use crate::config::BrokerConfig;
use crate::io::{ConnId, FileError, FileOp, FileOutcome, FileResult, Input, Output, RequestId};
use crate::time::{Now, Timestamp};
use crate::wire::{Request, Response};

/// Files by path; every operation is done at once and is durable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    files: BTreeMap<String, Vec<u8>>,
}

impl Files {
    /// Takes the last byte of a file, as damage does.
    pub(crate) fn cut(&mut self, path: &str) {
        self.files.get_mut(path).expect("the file is there").pop();
    }

    /// A file's length, 0 when there is none.
    pub(crate) fn length(&self, path: &str) -> usize {
        self.files.get(path).map_or(0, Vec::len)
    }

    /// Whether there is a file in a folder.
    pub(crate) fn has_folder(&self, folder: &str) -> bool {
        let prefix = alloc::format!("{folder}/");
        self.files.keys().any(|path| path.starts_with(&prefix))
    }

    fn perform(&mut self, op: FileOp) -> FileResult {
        match op {
            FileOp::List { folder } => {
                let prefix = if folder.as_str().is_empty() {
                    String::new()
                } else {
                    alloc::format!("{folder}/")
                };
                let mut names: Vec<String> = self
                    .files
                    .keys()
                    .filter_map(|path| path.strip_prefix(&prefix))
                    .map(|rest| rest.split('/').next().unwrap_or_default().to_string())
                    .collect();
                names.dedup();
                return Ok(FileOutcome::Names(names));
            }
            FileOp::Length { path } => {
                let length = self.files.get(path.as_str()).map(|bytes| bytes.len() as u64);
                return Ok(FileOutcome::Length(length));
            }
            FileOp::Read { path, position, length } => {
                let bytes = self.files.get(path.as_str()).ok_or(FileError::NotFound)?;
                let start = usize::try_from(position).unwrap().min(bytes.len());
                let end = start.saturating_add(length as usize).min(bytes.len());
                return Ok(FileOutcome::Bytes(Bytes::copy_from_slice(&bytes[start..end])));
            }
            FileOp::Write { path, position, data, .. } => {
                let file = self.files.entry(path.as_str().into()).or_default();
                let mut at = usize::try_from(position).unwrap();
                for part in data {
                    let end = at + part.len();
                    file.resize(file.len().max(end), 0);
                    file[at..end].copy_from_slice(&part);
                    at = end;
                }
            }
            FileOp::Truncate { path, length } | FileOp::Allocate { path, length } => {
                let length = usize::try_from(length).unwrap();
                self.files.entry(path.as_str().into()).or_default().resize(length, 0);
            }
            FileOp::Rename { source, target } => {
                let bytes = self.files.remove(source.as_str()).ok_or(FileError::NotFound)?;
                self.files.insert(target.as_str().into(), bytes);
            }
            FileOp::Remove { path } => {
                self.files.remove(path.as_str());
            }
            FileOp::RemoveFolder { folder } => {
                let prefix = alloc::format!("{folder}/");
                self.files.retain(|path, _| !path.starts_with(&prefix));
            }
            FileOp::Sync { .. } | FileOp::SyncFolder { .. } | FileOp::CreateFolder { .. } => {}
        }
        Ok(FileOutcome::Done)
    }
}

/// A node, its files, its clock.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) node: Node,
    pub(crate) files: Files,
    pub(crate) now: Now,
    answers: BTreeMap<RequestId, Response>,
    pub(crate) faults: Vec<String>,
    pub(crate) ready: bool,
    pub(crate) stopped: bool,
    next_request: u64,
}

impl Bench {
    /// A node that serves, on empty files.
    pub(crate) fn start() -> Self {
        let now = Now { at: Timestamp(1), wall_ms: 1_000_000 };
        Self::start_on(Files::default(), now)
    }

    fn start_on(files: Files, now: Now) -> Self {
        let config = BrokerConfig {
            offsets_topic_num_partitions: 2,
            transaction_state_log_num_partitions: 2,
            verdict_journal_bytes: 1 << 20,
            entropy: 42,
            ..BrokerConfig::default()
        };
        let mut bench = Self {
            node: Node::new(config),
            files,
            now,
            answers: BTreeMap::new(),
            faults: Vec::new(),
            ready: false,
            stopped: false,
            next_request: 0,
        };
        bench.input(Input::Start);
        bench
    }

    /// The same files under a new node, as after `kill -9`.
    pub(crate) fn crash(self) -> Self {
        Self::start_on(self.files, self.now)
    }

    /// Gives an input and works off what follows from it, files included.
    pub(crate) fn input(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        let mut steps = 0;
        while let Some(input) = inputs.pop_front() {
            steps += 1;
            assert!(steps < 100_000, "the node never comes to rest");
            self.node.handle(self.now, input);
            while let Some(output) = self.node.poll_output(self.now) {
                match output {
                    Output::File { ticket, op } => {
                        let result = self.files.perform(op);
                        inputs.push_back(Input::FileDone { ticket, result });
                    }
                    Output::Respond { id, response } => {
                        self.answers.insert(id, response);
                    }
                    Output::Ready => self.ready = true,
                    Output::Stopped => self.stopped = true,
                    Output::Fault { reason } => self.faults.push(reason),
                    Output::Silent { .. } | Output::Disconnect { .. } => {}
                }
            }
        }
    }

    /// Lets time pass, with the ticks that are due in it.
    pub(crate) fn pass_ms(&mut self, ms: u64) {
        let end = self.now.at.after_ms(ms);
        while let Some(at) = self.node.next_timeout().filter(|at| *at <= end) {
            let at = at.max(self.now.at);
            self.now.wall_ms += i64::try_from(at.ms_since(self.now.at)).unwrap();
            self.now.at = Timestamp(at.0 + 1);
            self.input(Input::Tick);
        }
        self.now.wall_ms += i64::try_from(end.ms_since(self.now.at)).unwrap();
        self.now.at = self.now.at.max(end);
    }

    /// Sends a request; its answer once it is there.
    pub(crate) fn send(&mut self, version: i16, request: Request) -> RequestId {
        self.next_request += 1;
        let id = RequestId(self.next_request);
        let client_id: Arc<str> = Arc::from("test");
        self.input(Input::Request { id, conn: ConnId(1), version, client_id, request });
        id
    }

    pub(crate) fn take(&mut self, id: RequestId) -> Option<Response> {
        self.answers.remove(&id)
    }

    pub(crate) fn ask(&mut self, version: i16, request: Request) -> Response {
        let id = self.send(version, request);
        self.take(id).expect("an answer at once")
    }
}
