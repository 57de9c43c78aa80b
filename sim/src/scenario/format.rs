//! The format of `scenarios/*.toml` and `seeds/*.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use verdict_core::marks::Mark;

use super::{ScenarioError, members};
use crate::clients::{Client, Op, OpError, Producer, ProducerKind, Reader, TwoPhase, parse_op};
use crate::history::{ClientId, Part};
use crate::record::RecordedTable;
use crate::world::pins::{Act, At, MovedTopic, Pin};

/// A file, as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// What happens, in one sentence.
    pub(super) title: String,
    /// `pass`, or `violates O5`.
    #[serde(default = "pass")]
    pub(super) expect: String,
    /// The marks that have to be hit.
    #[serde(default)]
    pub(super) marks: Vec<String>,
    /// Marks that have to be hit exactly so often: what tells the states apart that a crash may
    /// find.
    #[serde(default)]
    pub(super) counts: BTreeMap<String, u64>,
    /// Where choices come from that no fault pins; without one they are dull.
    pub(super) seed: Option<u64>,
    /// The size of an explored seed's world; without one it is drawn.
    pub(super) size: Option<String>,
    /// Whether `seed` draws the whole world, as `explore` does.
    #[serde(default)]
    pub(super) explored: bool,
    /// What a saved seed found, when and where.
    #[serde(default)]
    pub(super) found: Option<Found>,
    /// The choices of a recorded run.
    pub(super) recorded: Option<RecordedTable>,
    #[serde(default)]
    pub(super) cluster: Cluster,
    #[serde(default, rename = "client")]
    pub(super) clients: Vec<ClientEntry>,
    #[serde(default, rename = "fault")]
    pub(super) faults: Vec<FaultEntry>,
}

/// What a saved seed found.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The oracle, `panic` or `nondeterminism`.
    pub by: String,
    /// What was seen, in words.
    pub what: String,
    /// The commit it was found on. On another, the same seed may draw another world.
    pub commit: String,
    /// The faults that were on, with their rates in 10,000.
    #[serde(default)]
    pub faults: Vec<String>,
}

fn pass() -> String {
    "pass".to_owned()
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Cluster {
    pub(super) partitions: Part,
    pub(super) groups: u16,
    /// Whether the topic of the groups' offsets is created by whoever needs it first.
    pub(super) late_groups: bool,
    pub(super) timeout_ms: i32,
    pub(super) work_ms: u64,
    pub(super) properties: BTreeMap<String, String>,
    /// More than one are members of a cluster.
    pub(super) brokers: usize,
    /// Brokers that do not know WriteTxnMarkers v2.
    pub(super) of_old: Vec<usize>,
    /// Whether clients ask them who leads; else they are told.
    pub(super) asked: bool,
    /// How long members of a group may be silent, in ms.
    pub(super) session_ms: i32,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            partitions: 2,
            groups: 1,
            late_groups: false,
            timeout_ms: 3_000,
            work_ms: 60_000,
            properties: BTreeMap::new(),
            brokers: 1,
            of_old: Vec::new(),
            asked: false,
            session_ms: 1_000,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientEntry {
    /// `v2`, `classic`, `idempotent`, `two-phase` or `member`.
    kind: String,
    /// The transactional id.
    pub(super) id: Option<String>,
    /// The protocol that a member speaks: `classic` or `consumer`.
    pub(super) protocol: Option<String>,
    /// What a member is as a producer: `v2` or `classic`.
    pub(super) producer: Option<String>,
    /// The number of a static member's instance id.
    pub(super) instance: Option<u32>,
    /// Whether requests may arrive after their connection is gone; always so but for `classic`.
    #[serde(default)]
    late: bool,
    #[serde(default)]
    pub(super) ops: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultEntry {
    at: Place,
    #[serde(default = "one")]
    nth: u64,
    #[serde(rename = "do")]
    act: String,
}

fn one() -> u64 {
    1
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Place {
    mark: Option<String>,
    request: Option<String>,
    response: Option<String>,
    client: Option<ClientId>,
    disk: Option<String>,
    path: String,
    /// Counts only what comes after this mark.
    after: Option<String>,
    ready: bool,
    ms: Option<u64>,
}

impl File {
    /// Whether there are members of a group.
    pub(super) fn has_members(&self) -> bool {
        self.clients.iter().any(|entry| entry.kind == members::KIND)
    }

    /// The partitions: the common ones, and the one that members write to.
    pub(super) fn parts(&self) -> Part {
        self.cluster.partitions + Part::from(self.has_members())
    }

    /// The clients of the file, and a reader of each isolation.
    pub(super) fn make_clients(&self) -> Result<Vec<Client>, ScenarioError> {
        let mut ids: Vec<&str> = Vec::new();
        let mut clients = Vec::new();
        for entry in &self.clients {
            let client = clients.len() as ClientId + 1;
            if entry.kind == "two-phase" {
                clients.push(self.make_two_phase(client, entry)?);
                continue;
            }
            if entry.kind == members::KIND {
                let before = &self.clients[..clients.len()];
                let nth = before.iter().filter(|entry| entry.kind == members::KIND).count();
                clients.push(members::member((client, nth as u32), entry, &self.cluster)?);
                continue;
            }
            let kind = match entry.kind.as_str() {
                "v2" => ProducerKind::V2,
                "classic" => ProducerKind::Classic,
                "idempotent" => ProducerKind::Idempotent,
                other => return Err(ScenarioError::Client(other.to_owned())),
            };
            let id = entry.id.as_deref().map(|id| {
                let at = ids.iter().position(|known| *known == id).unwrap_or_else(|| {
                    ids.push(id);
                    ids.len() - 1
                });
                (id.to_owned(), at as u32 + 1)
            });
            let ops: Vec<Op> = entry.ops.iter().map(|op| parse_op(op)).collect::<Result<_, _>>()?;
            let mut producer = Producer::new(client, kind, id, self.cluster.timeout_ms, ops);
            if entry.late {
                producer = producer.with_late_arrivals();
            }
            clients.push(Client::Producer(Box::new(producer)));
        }
        for committed in [true, false] {
            let client = clients.len() as ClientId + 1;
            clients.push(Client::Reader(Reader::new(client, committed, self.parts(), 20)));
        }
        Ok(clients)
    }

    /// A client that commits together with a database; each of its operations is a transaction and
    /// says what the database decides, or until when it sleeps at first. One file has one database.
    fn make_two_phase(
        &self,
        client: ClientId,
        entry: &ClientEntry,
    ) -> Result<Client, ScenarioError> {
        let (mut wishes, mut from_us) = (Vec::new(), 0);
        for op in &entry.ops {
            match parse_op(op)? {
                Op::Commit => wishes.push(true),
                Op::Abort => wishes.push(false),
                Op::Until { ms } if wishes.is_empty() => from_us = ms * 1_000,
                _ => return Err(OpError(op.clone()).into()),
            }
        }
        let id = (entry.id.clone().unwrap_or_default(), 2_000);
        let client =
            TwoPhase::new(client, id, self.cluster.partitions, wishes).starting_at(from_us);
        Ok(Client::TwoPhase(Box::new(client)))
    }

    pub(super) fn make_pins(&self) -> Result<Vec<Pin>, ScenarioError> {
        self.faults.iter().map(FaultEntry::pin).collect()
    }

    pub(super) fn make_counts(&self) -> Result<Vec<(Mark, u64)>, ScenarioError> {
        self.counts.iter().map(|(name, &count)| Ok((known_mark(name)?, count))).collect()
    }

    pub(super) fn make_marks(&self) -> Result<Vec<Mark>, ScenarioError> {
        self.marks.iter().map(|name| known_mark(name)).collect()
    }
}

fn known_mark(name: &str) -> Result<Mark, ScenarioError> {
    Mark::from_name(name).ok_or_else(|| ScenarioError::Mark(name.to_owned()))
}

impl FaultEntry {
    fn pin(&self) -> Result<Pin, ScenarioError> {
        let place = &self.at;
        let client = place.client;
        let at = if let Some(name) = &place.mark {
            At::Mark(known_mark(name)?)
        } else if let Some(api) = &place.request {
            At::Request { api: api.clone(), client }
        } else if let Some(api) = &place.response {
            At::Response { api: api.clone(), client }
        } else if let Some(op) = &place.disk {
            At::Disk { op: op.clone(), path: place.path.clone() }
        } else if let Some(ms) = place.ms {
            At::Time(ms * 1_000)
        } else if place.ready {
            At::Ready
        } else {
            return Err(ScenarioError::Fault("a fault without a place".to_owned()));
        };
        let after = place.after.as_deref().map(known_mark).transpose()?;
        Ok(Pin::new(at, self.nth, act(&self.act)?).after(after))
    }
}

/// Reads `crash`, `crash 2000`, `tear 1`, `drop`, `delay 5000`, `io`, `no-space`, `pause 1 8000`,
/// `jump -5000`, `move transactions 0 1 late 3000` (also `records`, `offsets`; the broker, and when the others
/// hear of it); times in ms.
fn act(text: &str) -> Result<Act, ScenarioError> {
    let error = || ScenarioError::Fault(text.to_owned());
    let us = |word: &str| word.parse::<u64>().map(|ms| ms * 1_000).map_err(|_| error());
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(match words.as_slice() {
        ["crash"] => Act::Crash(50_000),
        ["crash", ms] => Act::Crash(us(ms)?),
        ["tear", frames] => Act::Tear(frames.parse().map_err(|_| error())?, 50_000),
        ["drop"] => Act::Drop,
        ["delay", ms] => Act::Delay(us(ms)?),
        ["io"] => Act::DiskIo,
        ["no-space"] => Act::DiskNoSpace,
        ["pause", client, ms] => Act::PauseClient(client.parse().map_err(|_| error())?, us(ms)?),
        ["move", topic, partition, to, rest @ ..] => {
            let late_us = match rest {
                [] => 0,
                ["late", ms] => us(ms)?,
                _ => return Err(error()),
            };
            let topic = match *topic {
                "records" => MovedTopic::Records,
                "transactions" => MovedTopic::Transactions,
                "offsets" => MovedTopic::Offsets,
                _ => return Err(error()),
            };
            let partition = partition.parse().map_err(|_| error())?;
            Act::Move(topic, partition, to.parse().map_err(|_| error())?, late_us)
        }
        ["jump", ms] => Act::ClockJump(ms.parse().map_err(|_| error())?),
        _ => return Err(error()),
    })
}
