//! A recording held with a broker.
//!
//! Beside the steps of the file goes over the wire only what makes answers the same in every run:
//! the coordinator of an id or group is looked for before it is first asked; a topic is waited for
//! until it has a leader; a request is repeated while the answer says that the broker is busy, and
//! after EndTxn the end of the transaction is waited for, and after UpdateFeatures the level. With `once` a step goes out once and
//! nothing is waited for; with `later` its answer is read by the step `answer`.

use std::collections::BTreeSet;
use std::fmt;

use kacrab_protocol::KafkaString;
use thiserror::Error;
use verdict_core::wire::{Request, Response};

use crate::format::{Act, Ask, Line, Recording};
use crate::names::Names;
use crate::peer::{Answer, Peer, Restart, Snapshots};
use crate::verbs::{self, Call};

/// The flag of a step that is not repeated.
const ONCE: &str = "once";
/// The flag of a step whose answer is read by another.
const LATER: &str = "later";
/// The name of how many times a step is asked, one after the other; the first answer and the last
/// are shown.
const TIMES: &str = "times=";
/// The connection of what no step asks for.
const HIDDEN: &str = "";
/// How long a broker may be busy.
const PATIENCE_MS: u64 = 10_000;
/// The same while it loads what it has written.
const PATIENCE_AFTER_START_MS: u64 = 60_000;
/// Rest between two requests while it is busy.
const PAUSE_MS: u64 = 20;
/// Answers of a broker that wants to be asked again.
const BUSY: [&str; 6] = [
    "CONCURRENT_TRANSACTIONS",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "LEADER_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "NOT_LEADER_OR_FOLLOWER",
];

/// What was answered to one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The step's line, counted from 1.
    pub line: usize,
    /// The answer as a file has it.
    pub answer: String,
}

/// Why a recording could not be held.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {fault}")]
pub struct RunError {
    /// The recording.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What went wrong.
    pub fault: String,
}

/// Holds a recording with a broker, whose names of topics, groups and ids end with `suffix`.
///
/// # Errors
/// A step that cannot be asked, or an answer that no step can have.
pub fn run(
    recording: &Recording,
    peer: &mut dyn Peer,
    suffix: &str,
) -> Result<Vec<Heard>, RunError> {
    let names = Names::new(suffix, peer.wall_ms());
    let mut talk = Talk { peer, names, found: BTreeSet::new(), patience_ms: PATIENCE_MS };
    let mut heard = Vec::new();
    for (number, line) in (1..).zip(&recording.lines) {
        let answer = talk.line(line).map_err(|fault| RunError {
            file: format!("{}.txt", recording.name),
            line: number,
            fault,
        })?;
        heard.extend(answer.map(|answer| Heard { line: number, answer }));
    }
    Ok(heard)
}

struct Talk<'a> {
    peer: &'a mut dyn Peer,
    names: Names,
    /// Ids and groups whose coordinator was looked for in this life of the broker.
    found: BTreeSet<(i8, String)>,
    patience_ms: u64,
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

fn is_busy(answer: &str) -> bool {
    answer.split([' ', ',']).any(|word| BUSY.contains(&word))
}

impl Talk<'_> {
    fn line(&mut self, line: &Line) -> Result<Option<String>, String> {
        match line {
            Line::Text(_) | Line::Set(..) => Ok(None),
            Line::Act(act) => self.act(act).map(|()| None),
            Line::Ask(ask) => self.ask(ask),
        }
    }

    fn act(&mut self, act: &Act) -> Result<(), String> {
        match act {
            Act::Classic => self.names.classic = true,
            Act::Topic(words) => return self.create_topic(words),
            Act::Wait(ms) => self.peer.wait_ms(*ms),
            Act::Restart(snapshots) => return self.restart(Restart::Clean, *snapshots),
            Act::Crash(snapshots) => return self.restart(Restart::Crash, *snapshots),
        }
        Ok(())
    }

    fn restart(&mut self, how: Restart, snapshots: Snapshots) -> Result<(), String> {
        self.peer.restart(how, snapshots).map_err(text)?;
        self.found.clear();
        self.patience_ms = PATIENCE_AFTER_START_MS;
        Ok(())
    }

    fn ask(&mut self, ask: &Ask) -> Result<Option<String>, String> {
        let flag = |flag: &str| ask.words.iter().any(|word| word == flag);
        if ask.verb == verbs::ANSWER {
            let version = ask.words.iter().find_map(|word| word.strip_prefix('v')?.parse().ok());
            return self.hear(&ask.conn, version.unwrap_or(i16::MAX)).map(Some);
        }
        let words = ask.words.iter().map(String::as_str);
        let (times, words): (Vec<&str>, Vec<&str>) = words
            .filter(|word| ![ONCE, LATER].contains(word))
            .partition(|word| word.starts_with(TIMES));
        let times = times.first().map(|word| word[TIMES.len()..].parse::<u32>()).transpose();
        let times = times.map_err(|error| format!("{TIMES}N: {error}"))?;
        if ask.verb == "markers" {
            self.learn_coordinator_epoch(&words);
        }
        let call = verbs::build(&ask.verb, words, &mut self.names)?;
        self.find_coordinators(&call)?;
        if flag(LATER) {
            self.peer.send(&ask.conn, call.version, &call.request).map_err(text)?;
            return Ok(None);
        }
        if flag(ONCE) {
            return self.once(&ask.conn, &call).map(Some);
        }
        if let Some(times) = times {
            return self.repeatedly(&ask.conn, &call, times).map(Some);
        }
        let answer = self.persistently(&ask.conn, &call)?;
        match &call.request {
            Request::EndTxn(end) => self.await_end(&end.transactional_id)?,
            Request::UpdateFeatures(update) if answer.starts_with("NONE") => {
                let levels = update.feature_updates.iter().map(|update| update.max_version_level);
                self.await_level(levels.max().unwrap_or_default())?;
            }
            _ => {}
        }
        Ok(Some(answer))
    }

    /// One request and its answer.
    fn once(&mut self, conn: &str, call: &Call) -> Result<String, String> {
        self.peer.send(conn, call.version, &call.request).map_err(text)?;
        self.hear(conn, call.version)
    }

    fn hear(&mut self, conn: &str, version: i16) -> Result<String, String> {
        match self.peer.receive(conn).map_err(text)? {
            Answer::Response(response) => verbs::show(version, &response, &mut self.names),
            Answer::Silent => Ok("silent".to_owned()),
            Answer::Closed => Ok("closed".to_owned()),
        }
    }

    /// The same so many times, each until the broker is not busy.
    fn repeatedly(&mut self, conn: &str, call: &Call, times: u32) -> Result<String, String> {
        let first = self.persistently(conn, call)?;
        let mut last = first.clone();
        for _ in 1..times {
            last = self.persistently(conn, call)?;
        }
        Ok(format!("{first} … {last}"))
    }

    /// Asks until the broker is not busy any more.
    fn persistently(&mut self, conn: &str, call: &Call) -> Result<String, String> {
        let mut waited_ms = 0;
        loop {
            let answer = self.once(conn, call)?;
            if !is_busy(&answer) || waited_ms >= self.patience_ms {
                return Ok(answer);
            }
            self.peer.wait_ms(PAUSE_MS);
            waited_ms += PAUSE_MS;
        }
    }

    /// One request that no step asks for.
    fn hidden(&mut self, call: &Call) -> Result<Response, String> {
        self.peer.send(HIDDEN, call.version, &call.request).map_err(text)?;
        match self.peer.receive(HIDDEN).map_err(text)? {
            Answer::Response(response) => Ok(*response),
            Answer::Silent | Answer::Closed => Err("a closed connection".to_owned()),
        }
    }

    fn find_coordinators(&mut self, call: &Call) -> Result<(), String> {
        for (key_type, key) in verbs::coordinator_of(&call.request) {
            if self.found.insert((key_type, key.to_string())) {
                let request = verbs::find_request(key_type, vec![key]);
                self.persistently(HIDDEN, &Call { version: 4, request })?;
            }
        }
        Ok(())
    }

    /// Waits until a transaction is neither committing nor aborting.
    fn await_end(&mut self, id: &KafkaString) -> Result<(), String> {
        let call = Call { version: 0, request: verbs::describe_request(id.clone()) };
        for _ in 0..self.patience_ms / PAUSE_MS {
            let answer = self.persistently(HIDDEN, &call)?;
            if !answer.contains(" Prepare") {
                break;
            }
            self.peer.wait_ms(PAUSE_MS);
        }
        Ok(())
    }

    /// Waits until the broker has learnt of a feature's level, as the controller answers before.
    fn await_level(&mut self, level: i16) -> Result<(), String> {
        let call = verbs::build("finalized", [], &mut self.names)?;
        let end = if level == 0 { "=absent".to_owned() } else { format!("={level}") };
        for _ in 0..self.patience_ms / PAUSE_MS {
            if self.once(HIDDEN, &call)?.ends_with(&end) {
                break;
            }
            self.peer.wait_ms(PAUSE_MS);
        }
        Ok(())
    }

    /// Asks the partitions of a marker which coordinator's epoch they know.
    fn learn_coordinator_epoch(&mut self, words: &[&str]) {
        let places = words.iter().filter(|word| crate::args::place(word).is_some()).copied();
        if let Ok(call) = verbs::build("producers", places, &mut self.names) {
            // Where it fails the marker's own answer tells why.
            let _ = self.persistently(HIDDEN, &call);
        }
    }

    fn create_topic(&mut self, words: &[String]) -> Result<(), String> {
        let (name, call) = verbs::create_topic(words, &self.names)?;
        let Response::CreateTopics(created) = self.hidden(&call)? else {
            return Err("another answer than CreateTopics'".to_owned());
        };
        let code = created.topics.first().map_or(-1, |topic| topic.error_code);
        if code != 0 {
            return Err(format!("creating {name}: {}", verbs::code(code)));
        }
        let outside = self.names.outside(&name);
        for _ in 0..self.patience_ms / PAUSE_MS {
            let Response::Metadata(found) = self.hidden(&verbs::metadata(outside.clone()))? else {
                break;
            };
            let topic = found.topics.first().filter(|topic| topic.error_code == 0);
            let led =
                |topic: &kacrab_protocol::generated::metadata_response::MetadataResponseTopic| {
                    topic.partitions.iter().all(|partition| partition.error_code == 0)
                };
            if let Some(topic) = topic.filter(|topic| led(topic)) {
                self.names.learn_topic(&name, topic.topic_id.into());
                return self.await_leader(&name);
            }
            self.peer.wait_ms(PAUSE_MS);
        }
        Err(format!("{name} has no leader"))
    }

    /// Metadata knows of a leader before the leader does.
    fn await_leader(&mut self, name: &str) -> Result<(), String> {
        let place = format!("{name}-0");
        let words = [place.as_str(), "latest", "uncommitted"];
        let call = verbs::build("list", words, &mut self.names)?;
        for _ in 0..self.patience_ms / PAUSE_MS {
            if self.persistently(HIDDEN, &call)?.starts_with("NONE") {
                return Ok(());
            }
            self.peer.wait_ms(PAUSE_MS);
        }
        Err(format!("{name} is not led"))
    }
}
