//! `verdict torture`: a broker process is killed again and again under transactional load.
//!
//! The broker is a child process of this very program on a data directory of its own, killed with
//! SIGKILL at a moment that differs from round to round. At the end it is started once more, the
//! log is read back, and the simulator's oracles have the word.

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::sync::watch;

use crate::recorder::{Recorder, Summary};
use crate::workload::{self, RunError, Target};

/// Partitions of the topic under load.
const PARTITIONS: u16 = 3;
/// Shortest life of the broker, in ms.
const SHORTEST_LIFE_MS: u64 = 20;

/// What to do.
#[derive(Clone, Debug)]
pub struct Torture {
    /// The `verdict` program.
    pub program: PathBuf,
    /// How often the broker is killed.
    pub rounds: u32,
    /// How many producers run, of the kinds of `workload::kind` in turn.
    pub producers: u16,
    /// Longest life of the broker between two kills, in ms.
    pub life_ms: u64,
    /// Settings of the broker, `key=value`.
    pub settings: Vec<String>,
}

/// Why torture ends without a summary.
#[derive(Debug, thiserror::Error)]
pub enum TortureError {
    /// The broker process could not be run.
    #[error("cannot run the broker: {0}")]
    Process(#[from] io::Error),
    /// What clients were promised could not be read back, or is not so.
    #[error("{0}")]
    Run(#[from] RunError),
    /// A client's task ended by a panic.
    #[error("a client failed: {0}")]
    Producer(#[from] tokio::task::JoinError),
}

impl TortureError {
    /// Whether the broker broke its word, as opposed to something being in the way of the test.
    #[must_use]
    pub fn is_violation(&self) -> bool {
        matches!(self, Self::Run(RunError::Violated(_)))
    }
}

/// A broker process; killed when dropped.
struct Broker(Child);

impl Broker {
    fn start(torture: &Torture, address: &str, data: &Path) -> io::Result<Self> {
        let mut command = Command::new(&torture.program);
        command.args(["serve", "--log", "warn", "--listen", address, "--data"]).arg(data);
        for setting in &torture.settings {
            command.args(["-o", setting]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().map(Self)
    }

    /// Kills with SIGKILL. A broker that had ended by itself before is an error: it crashed, or
    /// never ran.
    fn kill(mut self) -> io::Result<()> {
        if let Some(status) = self.0.try_wait()? {
            return Err(io::Error::other(format!("the broker ended by itself: {status}")));
        }
        self.0.kill()?;
        self.0.wait().map(drop)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // Killed and reaped already, mostly; then these are errors that say so.
        self.0.kill().unwrap_or(());
        self.0.wait().map(drop).unwrap_or(());
    }
}

/// Runs it.
///
/// # Errors
/// The rules that were broken, or what was in the way.
pub async fn run(torture: &Torture) -> Result<Summary, TortureError> {
    let data = tempfile::Builder::new().prefix("verdict-torture-").tempdir()?;
    let address = free_address()?;
    let target = Target { address, topic: "torture".to_owned(), partitions: PARTITIONS };
    let mut broker = Broker::start(torture, &target.address, data.path())?;
    workload::prepare(&target).await?;
    let recorder = Recorder::default();
    let (stop, stopped) = watch::channel(false);
    let clients: Vec<_> = (0..=torture.producers)
        .map(|client| {
            let (target, recorder, stop) = (target.clone(), recorder.clone(), stopped.clone());
            tokio::spawn(async move {
                match client {
                    0 => workload::read(target, recorder, stop).await,
                    _ => workload::produce(target, recorder, client, stop).await,
                }
            })
        })
        .collect();
    for round in 0..torture.rounds {
        // Most lives count from when it serves; one in four may end while it recovers.
        if round % 4 != 3 {
            workload::until_it_serves(&target).await?;
        }
        tokio::time::sleep(life(round, torture.life_ms)).await;
        broker.kill()?;
        broker = Broker::start(torture, &target.address, data.path())?;
    }
    workload::until_it_serves(&target).await?;
    tokio::time::sleep(Duration::from_millis(torture.life_ms)).await;
    stop.send_replace(true);
    for client in clients {
        client.await?;
    }
    let summary = workload::judge(&target, &recorder, torture.producers).await?;
    broker.kill()?;
    Ok(summary)
}

/// Lives spread over the whole range without a pattern that the load could keep step with: the
/// golden ratio's multiples fill an interval evenly.
fn life(round: u32, longest_ms: u64) -> Duration {
    let spread = round.wrapping_mul(2_654_435_769) >> 16;
    let range_ms = longest_ms.saturating_sub(SHORTEST_LIFE_MS);
    Duration::from_millis(SHORTEST_LIFE_MS + range_ms * u64::from(spread) / 65_536)
}

/// A port that was free a moment ago. It stays the same over all restarts, as a broker's does.
fn free_address() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.to_string())
}
