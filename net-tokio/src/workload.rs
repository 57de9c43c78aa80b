//! The load that torture and the simulated network share: producers and a reader that write a
//! history of what they did and saw, and the reading back and judging of it.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use verdict_sim::history::{ClientId, Event, Outcome, Part};
use verdict_sim::oracles::Violation;

use crate::client::{Client, ClientError, Kind, Place, Producer, Protocol, end};
use crate::recorder::{Recorder, Summary};

/// Rest after a failure, before a client connects anew.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
/// How often a step of the reading back is tried, while the broker may still be recovering.
const STEP_ATTEMPTS_MAX: usize = 200;
/// Long enough that no transaction ends by itself while it is being judged.
const TRANSACTION_TIMEOUT_MS: i32 = 60_000;
/// Rest of the reader between two rounds over all partitions.
const READER_PAUSE: Duration = Duration::from_millis(100);
/// Whoever is no producer.
const OBSERVER: ClientId = 0;

/// Where the load goes.
#[derive(Clone, Debug)]
pub struct Target {
    /// `HOST:PORT` of the broker.
    pub address: String,
    /// The topic.
    pub topic: String,
    /// How many partitions it has; every transaction writes to each.
    pub partitions: Part,
}

/// Why a run is not a success.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The broker broke its word.
    #[error("{}", Violations(.0))]
    Violated(Vec<Violation>),
    /// The broker could not be read back.
    #[error("{step}: {error}")]
    Client {
        /// What was being done.
        step: &'static str,
        /// What went wrong.
        error: ClientError,
    },
}

struct Violations<'a>(&'a [Violation]);

impl fmt::Display for Violations<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the broker broke its word")?;
        self.0.iter().try_for_each(|violation| write!(f, "\n  {violation}"))
    }
}

/// Waits until the broker serves.
///
/// # Errors
/// When it does not for long.
pub async fn until_it_serves(target: &Target) -> Result<(), RunError> {
    let connect = || Client::connect(&target.address, "workload");
    patiently("waiting for the broker", connect).await.map(drop)
}

/// Creates the topic, and the transaction log with a first producer.
///
/// # Errors
/// When the broker does not serve for long.
pub async fn prepare(target: &Target) -> Result<(), RunError> {
    let create = || async {
        let mut client = Client::connect(&target.address, "workload").await?;
        Producer::create_topic(&mut client, &target.topic, i32::from(target.partitions)).await
    };
    patiently("creating the topic", create).await?;
    let first = || Producer::begin(&target.address, "first", kind(OBSERVER));
    patiently("creating the transaction log", first).await.map(drop)
}

/// The kind of a producer: both protocols in turn, and every other of version 2 resends over a new
/// connection what was not answered. One of version 1 does not: its epoch is the same in every
/// transaction, so an EndTxn that is late on the old connection would end the next one. The protocol
/// allows that (Jepsen on Bufstream 0.1.0), and version 2 is the remedy (KIP-890).
fn kind(client: ClientId) -> Kind {
    let protocol = if client.is_multiple_of(2) { Protocol::V2 } else { Protocol::V1 };
    let resends = protocol == Protocol::V2 && (client / 2).is_multiple_of(2);
    Kind { protocol, resends, timeout_ms: TRANSACTION_TIMEOUT_MS }
}

/// The transactional id of a producer.
fn transactional_id(client: ClientId) -> String {
    format!("producer-{client}")
}

async fn begin(
    target: &Target,
    recorder: &Recorder,
    client: ClientId,
) -> Result<Producer, ClientError> {
    let id = transactional_id(client);
    let producer = Producer::begin(&target.address, &id, kind(client)).await?;
    let (pid, epoch) = producer.identity();
    recorder.note(client, Event::Initialized { id: client.into(), pid, epoch });
    Ok(producer)
}

/// Runs one producer, numbered from 1, until `stop` says so. Three of four transactions commit.
pub async fn produce(
    target: Target,
    recorder: Recorder,
    client: ClientId,
    stop: watch::Receiver<bool>,
) {
    while !*stop.borrow() {
        let ended = async {
            let mut producer = begin(&target, &recorder, client).await?;
            while !*stop.borrow() {
                transaction(&target, &recorder, client, &mut producer).await?;
            }
            Ok::<_, ClientError>(())
        };
        if let Err(error) = ended.await {
            tracing::debug!(client, %error, "a producer starts anew");
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
    }
}

async fn transaction(
    target: &Target,
    recorder: &Recorder,
    client: ClientId,
    producer: &mut Producer,
) -> Result<(), ClientError> {
    let txn = recorder.next_txn();
    recorder.note(client, Event::Begun { txn, id: client.into() });
    for part in 0..target.partitions {
        let apps = recorder.next_apps(1 + txn % 3);
        let (pid, epoch) = producer.identity();
        let first = producer.next_sequence(&target.topic, part.into());
        for (&app, index) in apps.iter().zip(0..) {
            let sequence = first.wrapping_add(index) & i32::MAX;
            recorder.note(client, Event::Sent { app, part, txn: Some(txn), pid, epoch, sequence });
        }
        let sent = producer.send(&target.topic, part.into(), &apps).await;
        let outcome = if sent.is_ok() { Outcome::Ok } else { Outcome::Maybe };
        for (&app, index) in apps.iter().zip(0..) {
            let offset = sent.as_ref().ok().filter(|&&base| base >= 0).map(|base| base + index);
            recorder.note(client, Event::SendEnded { app, outcome, offset });
        }
        sent?;
    }
    let commit = !txn.is_multiple_of(4);
    recorder.note(client, Event::EndAsked { txn, commit });
    let ended = producer.end(commit).await;
    let outcome = if ended.is_ok() { Outcome::Ok } else { Outcome::Maybe };
    recorder.note(client, Event::Ended { txn, commit, outcome });
    ended
}

/// Every partition in both isolations.
fn places(target: &Target) -> Vec<Place> {
    let both = |part| [false, true].map(|committed| Place { part, from: 0, committed });
    (0..target.partitions).flat_map(both).collect()
}

/// Reads along in both isolations until `stop` says so.
pub async fn read(target: Target, recorder: Recorder, stop: watch::Receiver<bool>) {
    let mut places = places(&target);
    while !*stop.borrow() {
        let read = async {
            let mut client = Client::connect(&target.address, "reader").await?;
            while !*stop.borrow() {
                for place in &mut places {
                    let asked_us = recorder.now_us();
                    let fetch = client.fetch(&target.topic, *place, asked_us).await?;
                    place.from = end(&fetch);
                    recorder.note(OBSERVER, Event::Fetched(Box::new(fetch)));
                }
                tokio::time::sleep(READER_PAUSE).await;
            }
            Ok::<_, ClientError>(())
        };
        if let Err(error) = read.await {
            tracing::debug!(%error, "the reader starts anew");
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
    }
}

/// Ends what the producers, so many, left open, reads everything back and judges it.
///
/// # Errors
/// What was found, or why nothing could be found out.
pub async fn judge(
    target: &Target,
    recorder: &Recorder,
    producers: ClientId,
) -> Result<Summary, RunError> {
    recorder.note(OBSERVER, Event::Healed);
    for client in 1..=producers {
        patiently("ending what was left open", || begin(target, recorder, client)).await?;
    }
    for mut place in places(target) {
        loop {
            let fetch = || async {
                let mut client = Client::connect(&target.address, "judge").await?;
                let fetch = client.fetch(&target.topic, place, recorder.now_us()).await?;
                if fetch.last_stable < fetch.high_watermark {
                    return Err(ClientError::Protocol(format!(
                        "a transaction stays open: {place:?}"
                    )));
                }
                Ok(fetch)
            };
            let mut fetch = patiently("reading back", fetch).await?;
            fetch.is_final = true;
            let (next, high_watermark) = (end(&fetch), fetch.high_watermark);
            recorder.note(OBSERVER, Event::Fetched(Box::new(fetch)));
            if next >= high_watermark {
                break;
            }
            place.from = next;
        }
    }
    recorder.judge().map_err(RunError::Violated)
}

/// Tries a step until it succeeds, or has failed for long.
async fn patiently<T, F>(step: &'static str, attempt: impl Fn() -> F) -> Result<T, RunError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let mut attempts = 0;
    loop {
        attempts += 1;
        match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) if attempts == STEP_ATTEMPTS_MAX => {
                return Err(RunError::Client { step, error });
            }
            Err(_) => tokio::time::sleep(RECONNECT_PAUSE).await,
        }
    }
}
