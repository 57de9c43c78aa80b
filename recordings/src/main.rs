//! `verdict-recordings`: records answers anew, compares a running broker with them, and replays
//! them on a bare node.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Args, Parser, Subcommand};
use verdict_recordings::format::Line;
use verdict_recordings::peer::{NodePeer, Peer, Restart, Restarter, SocketPeer};
use verdict_recordings::{Recording, run, settings};

/// Where recordings are.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/recordings");

#[derive(Parser)]
#[command(about = "Answers recorded from Apache Kafka")]
struct Cli {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Writes the answers of a running Apache Kafka into the files, and shows what changed.
    Record(Broker),
    /// Shows where a running Apache Kafka answers otherwise than the files say.
    Check(Broker),
    /// Shows where a bare node of Verdict answers otherwise than the files say.
    Replay {
        /// Writes what differs into the files, as Verdict's better answers.
        #[arg(long)]
        better: bool,
        /// The recordings; all when none is named.
        files: Vec<PathBuf>,
    },
    /// Prints the settings that the broker is to be started with.
    Settings {
        /// The recordings; all when none is named.
        files: Vec<PathBuf>,
    },
}

#[derive(Args)]
struct Broker {
    /// Where the broker listens.
    #[arg(long)]
    bootstrap: String,
    /// Stops that very broker and starts it again.
    #[arg(long)]
    restart_cmd: Option<String>,
    /// Kills that very broker and starts it again.
    #[arg(long)]
    crash_cmd: Option<String>,
    /// The recordings; all when none is named.
    files: Vec<PathBuf>,
}

type Fault = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        What::Record(broker) => with_broker(&broker, true),
        What::Check(broker) => with_broker(&broker, false),
        What::Replay { better, files } => replay(files, better),
        What::Settings { files } => print_settings(files),
    };
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(differences) => {
            println!("{differences} differences");
            ExitCode::FAILURE
        }
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::from(2)
        }
    }
}

fn files_or_all(files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Fault> {
    if !files.is_empty() {
        return Ok(files);
    }
    let entries = std::fs::read_dir(FOLDER)?.collect::<Result<Vec<_>, _>>()?;
    let paths = entries.into_iter().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|p| p.extension().is_some_and(|e| e == "txt")).collect();
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<Recording, Fault> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(Recording::parse(&name, &text)?)
}

/// Runs a shell command that restarts the broker; `$SNAPSHOTS` tells it what is to become of them.
fn restarter(broker: &Broker) -> Restarter<'_> {
    Box::new(|how, snapshots| {
        let command = match how {
            Restart::Clean => &broker.restart_cmd,
            Restart::Crash => &broker.crash_cmd,
        };
        let command = command.as_ref().ok_or("nobody said how")?;
        let status =
            Command::new("sh").args(["-c", command]).env("SNAPSHOTS", snapshots.word()).status();
        let status = status.map_err(|e| e.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("{command}: {status}")) }
    })
}

fn with_broker(broker: &Broker, write: bool) -> Result<usize, Fault> {
    let mut differences = 0;
    for path in files_or_all(broker.files.clone())? {
        let recording = read(&path)?;
        if recording.restarts() && (broker.restart_cmd.is_none() || broker.crash_cmd.is_none()) {
            println!("{}: left out, as it restarts the broker", path.display());
            continue;
        }
        let mut peer = SocketPeer::new(broker.bootstrap.clone(), Some(restarter(broker)));
        let missing = settings::missing(&recording, &mut peer)?;
        if !missing.is_empty() {
            return Err(
                format!("{}: start the broker with {}", path.display(), missing.join(";")).into()
            );
        }
        let suffix = format!(".{:x}", peer.wall_ms());
        let mut recorded = recording.clone();
        let heard = run(&recording, &mut peer, &suffix)?;
        for heard in heard {
            let Some(Line::Ask(ask)) = recorded.lines.get_mut(heard.line - 1) else { continue };
            if ask.kafka != heard.answer {
                differences += 1;
                show(heard.line, &recording, &ask.kafka, &heard.answer);
                ask.kafka = heard.answer;
            }
            if ask.ours.as_ref() == Some(&ask.kafka) {
                ask.ours = None;
            }
        }
        if write {
            std::fs::write(&path, recorded.to_string())?;
        }
    }
    Ok(differences)
}

fn show(line: usize, recording: &Recording, expected: &str, got: &str) {
    let question = recording.lines.get(line - 1).map(Line::question).unwrap_or_default();
    println!("{}.txt:{line}: {question}\n  - {expected}\n  + {got}", recording.name);
}

fn replay(files: Vec<PathBuf>, better: bool) -> Result<usize, Fault> {
    let mut differences = 0;
    for path in files_or_all(files)? {
        let recording = read(&path)?;
        let mut written = recording.clone();
        let mut peer = NodePeer::start(recording.settings())?;
        for heard in run(&recording, &mut peer, "")? {
            let Some(Line::Ask(ask)) = written.lines.get_mut(heard.line - 1) else { continue };
            if ask.expected() != heard.answer {
                differences += 1;
                show(heard.line, &recording, ask.expected(), &heard.answer);
                ask.ours = (ask.kafka != heard.answer).then_some(heard.answer);
            }
        }
        if better {
            std::fs::write(&path, written.to_string())?;
        }
    }
    Ok(differences)
}

fn print_settings(files: Vec<PathBuf>) -> Result<usize, Fault> {
    let mut all = std::collections::BTreeSet::new();
    for path in files_or_all(files)? {
        all.extend(read(&path)?.settings().map(|(name, value)| format!("{name}={value}")));
    }
    println!("{}", all.into_iter().collect::<Vec<_>>().join(";"));
    Ok(0)
}
