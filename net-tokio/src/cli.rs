//! The command line: verbs, options, exit codes, signals.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use verdict_core::config::{ConfigWarning, has_no_effect, split};

use crate::bench::{Bench, Target};
use crate::files::{DataDir, DataDirError, DiskFiles};
use crate::listeners::{Listeners, host_and_port};
use crate::serve::{Env, Phase, ServeError, serve};
use crate::settings::Settings;
use crate::torture::{self, Torture};

/// Exit code of a failure that has none of its own.
pub const EXIT_FAILURE: u8 = 1;
/// Exit code of a wrong command line, settings file or setting.
pub const EXIT_CONFIG: u8 = 2;
/// Exit code when the address is taken or cannot be listened on.
pub const EXIT_ADDRESS: u8 = 3;
/// Exit code when another broker has the data directory, or it cannot be used.
pub const EXIT_DATA_DIR: u8 = 4;
/// Exit code of `torture` when the broker broke its word.
pub const EXIT_VIOLATION: u8 = 5;
/// Exit code after a second signal.
pub const EXIT_SECOND_SIGNAL: u8 = 130;

/// The data directory when none is given.
const DATA_DIR: &str = "./verdict-data";

/// Open files that connections leave for data, listener, runtime and log; four times what
/// [`DiskFiles`] keeps open.
const FILES_FOR_DATA: u64 = 256;

/// Kafka-compatible, exactly-once broker. Without a verb it serves.
#[derive(Debug, Parser)]
#[command(name = "verdict", version)]
#[command(after_help = "Exit codes: 0 stopped cleanly, 1 failed, 2 bad command line or settings, \
    3 address in use, 4 data directory in use, 5 torture found a violation, 130 stopped at once \
    by a second signal.")]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    serve: ServeArgs,
    /// How much to log, to stderr: error, warn, info, debug, trace, or target=level,...
    #[arg(long, global = true, value_name = "LEVEL", default_value = "info")]
    log: Targets,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Serve until SIGINT or SIGTERM (the default).
    Serve(ServeArgs),
    /// Kill a broker again and again under transactional load, and judge what clients saw.
    Torture(TortureArgs),
    /// Measure a broker, alone or beside another one.
    Bench(BenchArgs),
}

#[derive(Debug, Default, PartialEq, Eq, Args)]
struct ServeArgs {
    /// Address to listen on; port 0 asks for a free one [default: 127.0.0.1:9092]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Address that clients are told to connect to [default: where it listens]
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    advertise: Option<(String, u16)>,
    /// Data directory, created when absent [default: ./verdict-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Keep nothing: a temporary data directory, removed at the end; implies --durability os
    #[arg(long, conflicts_with = "data")]
    ephemeral: bool,
    /// What an acknowledgement means: on disk, or in the system's page cache [default: fsync]
    #[arg(long, value_name = "MODE", value_parser = ["fsync", "os"])]
    durability: Option<String>,
    /// Settings file, in the form of Kafka's server.properties
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting by its Kafka name; repeatable, goes over the settings file
    #[arg(short = 'o', value_name = "KEY=VALUE")]
    set: Vec<String>,
}

#[derive(Debug, Args)]
struct TortureArgs {
    /// How often the broker is killed
    #[arg(long, value_name = "N", default_value_t = 10)]
    rounds: u32,
    /// How many transactional producers run beside each other
    #[arg(long, value_name = "N", default_value_t = 4)]
    producers: u16,
    /// Longest life of the broker between two kills, in ms
    #[arg(long, value_name = "MS", default_value_t = 600)]
    life_ms: u64,
    /// One setting for the broker by its Kafka name; repeatable
    #[arg(short = 'o', value_name = "KEY=VALUE")]
    set: Vec<String>,
}

#[derive(Debug, Args)]
struct BenchArgs {
    /// Address of a broker; given twice, both take turns and their ratios are told
    #[arg(long, value_name = "HOST:PORT", required = true)]
    bootstrap: Vec<String>,
    /// Process of each broker, in the same order, to tell its processor time and memory
    #[arg(long, value_name = "PID")]
    pid: Vec<u32>,
    /// Rounds that count, of which the medians are told
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: u32,
    /// Length of a round of one workload at one broker, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    seconds: f64,
    /// Which workloads, by a regular expression; growth-... run only when asked for
    #[arg(long, value_name = "REGEX", default_value = "")]
    workloads: regex::Regex,
}

/// What ends the command.
#[derive(Debug)]
struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    fn new(code: u8, message: impl fmt::Display) -> Self {
        Self { code, message: message.to_string() }
    }
}

impl From<DataDirError> for Failure {
    fn from(error: DataDirError) -> Self {
        Self::new(EXIT_DATA_DIR, error)
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        let code = match error {
            ServeError::AddressInUse(_) | ServeError::Listen { .. } => EXIT_ADDRESS,
            ServeError::Thread(_) => EXIT_FAILURE,
        };
        Self::new(code, error)
    }
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    start_log(cli.log);
    let done = match cli.verb {
        Some(_) if cli.serve != ServeArgs::default() => {
            Err(Failure::new(EXIT_CONFIG, "options go after the verb; only --log may go before it"))
        }
        Some(Verb::Serve(args)) => run_serve(args),
        Some(Verb::Torture(args)) => run_torture(args),
        Some(Verb::Bench(args)) => run_bench(args),
        None => run_serve(cli.serve),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { code, message }) => {
            let mut stderr = std::io::stderr();
            // Without a stderr there is nobody to tell.
            writeln!(stderr, "verdict: {message}").unwrap_or(());
            ExitCode::from(code)
        }
    }
}

fn start_log(filter: Targets) {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    tracing_subscriber::registry().with(lines).with(filter).init();
}

fn run_serve(args: ServeArgs) -> Result<(), Failure> {
    let mut settings = settings(&args)?;
    keep_files_for_data(&mut settings);
    // Kept to the end: dropping it removes the directory.
    let temporary = if args.ephemeral {
        let made = tempfile::Builder::new().prefix("verdict-").tempdir();
        Some(made.map_err(|error| Failure::new(EXIT_DATA_DIR, error))?)
    } else {
        None
    };
    let given = args.data.as_deref().unwrap_or(Path::new(DATA_DIR));
    let root = temporary.as_ref().map_or(given, |dir| dir.path());
    let files = Arc::new(DiskFiles::new(DataDir::open(root)?));
    settings.broker.log_dir = root.canonicalize().as_deref().unwrap_or(root).display().to_string();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(EXIT_FAILURE, error))?;
    let (phase, phases) = watch::channel(Phase::Run);
    let place = root.display().to_string();
    let kept = if args.ephemeral { "until it stops" } else { "for good" };
    let durability = settings.broker.get("verdict.durability").unwrap_or_default();
    let env = Env {
        files,
        entropy: entropy().map_err(|error| Failure::new(EXIT_FAILURE, error))?,
        phase: phases,
        on_ready: Box::new(move |address| {
            let mut stdout = std::io::stdout().lock();
            let line = format!(
                "verdict listens on {address} and stores in {place} {kept}, durability {durability}"
            );
            writeln!(stdout, "{line}").and_then(|()| stdout.flush()).unwrap_or(());
        }),
    };
    runtime
        .block_on(async {
            tokio::spawn(obey_signals(phase)?);
            Ok::<_, std::io::Error>(serve(settings, env).await)
        })
        .map_err(|error| Failure::new(EXIT_FAILURE, error))??;
    tracing::info!("stopped");
    Ok(())
}

/// The first SIGINT or SIGTERM asks for a clean stop, the second ends the process.
fn obey_signals(
    phase: watch::Sender<Phase>,
) -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        loop {
            tokio::select! {
                biased;
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if *phase.borrow() != Phase::Run {
                std::process::exit(EXIT_SECOND_SIGNAL.into());
            }
            tracing::info!("stopping; a second signal stops at once");
            phase.send_replace(Phase::Stop);
        }
    })
}

/// Raises the limit of open files as far as this process may, and keeps clients from using up
/// those that the data needs: a log that cannot be opened would be a fault of the broker.
fn keep_files_for_data(settings: &mut Settings) {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let Some(files) = getrlimit(Resource::Nofile).current else { return };
    let spare = i32::try_from(files.saturating_sub(FILES_FOR_DATA)).unwrap_or(i32::MAX);
    let max = &mut settings.broker.max_connections;
    *max = spare.min(*max);
}

/// 128 random bits.
///
/// # Errors
/// When the system has none.
pub(crate) fn entropy() -> std::io::Result<u128> {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags)?;
    }
    Ok(u128::from_be_bytes(bytes))
}

/// Settings file, then `-o`, then the options that have a name of their own.
fn settings(args: &ServeArgs) -> Result<Settings, Failure> {
    let mut settings = Settings::default();
    if let Some(path) = &args.config {
        read_settings_file(&mut settings, path)?;
    }
    for setting in &args.set {
        let (key, value) = split(setting);
        settings
            .set(key, value)
            .map_err(|error| Failure::new(EXIT_CONFIG, format_args!("-o {setting}: {error}")))?;
        if has_no_effect(key) && !Listeners::is_one(key) {
            tracing::warn!("{}", ConfigWarning { name: key.to_owned() });
        }
    }
    let warnings = settings.finish().map_err(|error| Failure::new(EXIT_CONFIG, error))?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    if let Some(listen) = &args.listen {
        host_and_port(listen).map_err(|error| {
            Failure::new(EXIT_CONFIG, format_args!("--listen {listen}: {error}"))
        })?;
        settings.listen.clone_from(listen);
    }
    if let Some(advertise) = &args.advertise {
        settings.advertise = Some(advertise.clone());
    }
    let durability = if args.ephemeral { Some("os") } else { args.durability.as_deref() };
    if let Some(durability) = durability {
        settings
            .set("verdict.durability", durability)
            .map_err(|error| Failure::new(EXIT_CONFIG, error))?;
    }
    Ok(settings)
}

fn read_settings_file(settings: &mut Settings, path: &Path) -> Result<(), Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(EXIT_CONFIG, format_args!("{name}: {error}")))?;
    let warnings = settings
        .apply_properties(&text)
        .map_err(|error| Failure::new(EXIT_CONFIG, format_args!("{name}, {error}")))?;
    for warning in warnings {
        tracing::warn!("{name}: {warning}");
    }
    Ok(())
}

fn run_torture(args: TortureArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(EXIT_FAILURE, error))?;
    let program = std::env::current_exe().map_err(|error| Failure::new(EXIT_FAILURE, error))?;
    let torture = Torture {
        program,
        rounds: args.rounds,
        producers: args.producers,
        life_ms: args.life_ms,
        settings: args.set,
    };
    match runtime.block_on(torture::run(&torture)) {
        Ok(summary) => {
            let mut stdout = std::io::stdout();
            writeln!(stdout, "{} kills survived: {summary}", args.rounds).unwrap_or(());
            Ok(())
        }
        Err(error) => {
            let code = if error.is_violation() { EXIT_VIOLATION } else { EXIT_FAILURE };
            Err(Failure::new(code, error))
        }
    }
}

/// Most brokers that are compared.
const BENCH_TARGETS_MAX: usize = 2;
/// Longest round, in seconds.
const BENCH_SECONDS_MAX: f64 = 3_600.0;

fn run_bench(args: BenchArgs) -> Result<(), Failure> {
    if args.bootstrap.len() > BENCH_TARGETS_MAX {
        return Err(Failure::new(EXIT_CONFIG, "--bootstrap is given at most twice"));
    }
    let mut pids = args.pid.into_iter();
    let targets =
        args.bootstrap.into_iter().map(|address| Target { address, pid: pids.next() }).collect();
    let entropy = entropy().map_err(|error| Failure::new(EXIT_FAILURE, error))?;
    let bench = Bench {
        targets,
        rounds: args.rounds,
        round_ms: (args.seconds.clamp(0.01, BENCH_SECONDS_MAX) * 1_000.0) as u64,
        workloads: args.workloads,
        tag: (entropy >> 96) as u64,
    };
    bench.run(&mut std::io::stdout()).map_err(|error| Failure::new(EXIT_FAILURE, error))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_verb_means_serve() {
        let cli = Cli::parse_from(["verdict", "--listen", "h:1", "-o", "a=1", "-o", "b=2"]);
        assert!(cli.verb.is_none());
        assert_eq!(cli.serve.listen.as_deref(), Some("h:1"));
        assert_eq!(cli.serve.set, ["a=1", "b=2"]);
        let cli = Cli::parse_from(["verdict", "serve", "--ephemeral", "--log", "debug"]);
        assert!(matches!(cli.verb, Some(Verb::Serve(args)) if args.ephemeral));
    }

    #[test]
    fn a_bad_setting_is_reported_with_file_line_and_key() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("server.properties");
        std::fs::write(&path, "# fine\nmax.connections=5\nmax.connections=none\n").expect("a file");
        let mut settings = Settings::default();
        let failure = read_settings_file(&mut settings, &path).expect_err("refused");
        assert_eq!(failure.code, EXIT_CONFIG);
        assert!(failure.message.contains("server.properties, line 3: max.connections"));
    }
}
