//! The transactional load that torture and the simulated network share: producers that keep a
//! history of what they asked for, and the reading back and judging of it.

use std::time::Duration;

use tokio::sync::watch;

use crate::client::{self, Client, ClientError, Kind, Producer, Protocol};
use crate::history::{self, Outcome, Summary, Transaction, Violation};

/// Rest after a failure, before the producer connects anew.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
/// How often a step of the reading back is tried, while the broker may still be recovering.
const STEP_ATTEMPTS_MAX: usize = 200;
/// Long enough that no transaction ends by itself while it is being judged.
const TRANSACTION_TIMEOUT_MS: i32 = 60_000;

/// Where the load goes.
#[derive(Clone, Debug)]
pub struct Target {
    /// `HOST:PORT` of the broker.
    pub address: String,
    /// The topic.
    pub topic: String,
    /// How many partitions it has; every transaction writes to each.
    pub partitions: i32,
}

/// Why a run is not a success.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The broker broke its word.
    #[error("{} rules broken, the first: {}", .0.len(), .0[0])]
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

/// Creates the topic.
///
/// # Errors
/// When the broker does not serve for long.
pub async fn prepare(target: &Target) -> Result<(), RunError> {
    let create = || async {
        let mut client = Client::connect(&target.address, "workload").await?;
        Producer::create_topic(&mut client, &target.topic, target.partitions).await
    };
    patiently("creating the topic", create).await
}

/// The kind of the producer with this index: both protocols, both with and without resending.
#[must_use]
pub fn kind(index: usize) -> Kind {
    let protocol = if index.is_multiple_of(2) { Protocol::V2 } else { Protocol::V1 };
    Kind { protocol, resends: !(index / 2).is_multiple_of(2), timeout_ms: TRANSACTION_TIMEOUT_MS }
}

/// Runs one producer until `stop` says so; its history. Three of four transactions commit.
pub async fn produce(
    target: Target,
    transactional_id: String,
    kind: Kind,
    stop: watch::Receiver<bool>,
) -> Vec<Transaction> {
    let mut history = Vec::new();
    while !*stop.borrow() {
        let begun = Producer::begin(&target.address, &transactional_id, kind).await;
        let ended = match begun {
            Ok(mut producer) => {
                transactions(&target, &transactional_id, &mut producer, &stop, &mut history).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::debug!(transactional_id, %error, "a producer starts anew");
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
    }
    history
}

async fn transactions(
    target: &Target,
    transactional_id: &str,
    producer: &mut Producer,
    stop: &watch::Receiver<bool>,
    history: &mut Vec<Transaction>,
) -> Result<(), ClientError> {
    while !*stop.borrow() {
        let number = history.len() as u64;
        // Nothing is visible before its commit was asked for.
        history.push(Transaction {
            producer: transactional_id.to_owned(),
            number,
            records: Vec::new(),
            outcome: Outcome::Aborted,
        });
        let transaction = history.last_mut().expect("just pushed");
        for partition in 0..target.partitions {
            let values: Vec<String> = (0..=number % 3)
                .map(|record| format!("{transactional_id}/{number}/{partition}/{record}"))
                .collect();
            transaction.records.extend(values.iter().map(|value| (partition, value.clone())));
            producer.send(&target.topic, partition, &values).await?;
        }
        let commit = number % 4 != 3;
        if commit {
            transaction.outcome = Outcome::Maybe;
        }
        producer.end(commit).await?;
        if commit {
            transaction.outcome = Outcome::Committed;
        }
    }
    Ok(())
}

/// Ends what the producers left open, reads everything back and judges it.
///
/// # Errors
/// What was found, or why nothing could be found out.
pub async fn judge(target: &Target, history: &[Transaction]) -> Result<Summary, RunError> {
    let mut ids: Vec<&str> = history.iter().map(|txn| txn.producer.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let begin = || Producer::begin(&target.address, id, kind(0));
        patiently("ending what was left open", begin).await?;
    }
    let mut seen = Vec::new();
    for partition in 0..target.partitions {
        let read = || async {
            let mut client = Client::connect(&target.address, "judge").await?;
            client::read_committed(&mut client, &target.topic, partition).await
        };
        seen.extend(patiently("reading back", read).await?);
    }
    history::judge(history, &seen).map_err(RunError::Violated)
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
