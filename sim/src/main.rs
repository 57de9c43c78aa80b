//! `verdict-sim`: explores seeds, runs one, replays scenarios, compares hashes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use verdict_core::marks::Mark;
use verdict_sim::explore::{
    Exploration, Failure, Run, Summary, explore, explore_until, history_of, run_seed,
};
use verdict_sim::history::History;
use verdict_sim::nightly::{Nightly, worst};
use verdict_sim::oracles::judge;
use verdict_sim::out;
use verdict_sim::record::RecordedRun;
use verdict_sim::report::{averages, resident_mb, speed};
use verdict_sim::save::{commit, save_seed, save_shrunk, shrunk_name};
use verdict_sim::say;
use verdict_sim::scenario::Scenario;
use verdict_sim::trace::{Detail, Trace};
use verdict_sim::world::{Seed, Size};

/// A world allocates and frees millions of small things.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The seeded world that Verdict's core is explored in.
///
/// Exit codes: 127 broken invariant, 128 liveness, 129 safety, 130 nondeterminism.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs many seeds and judges each.
    Explore {
        /// How many seeds.
        #[arg(long, default_value_t = 1_000)]
        seeds: u64,
        /// On how many threads.
        #[arg(long, default_value_t = 2)]
        jobs: usize,
        /// The first seed.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// Only worlds of this size: small, medium or large.
        #[arg(long, value_parser = size_of)]
        size: Option<Size>,
        /// Only seeds whose world has several brokers, one in eight.
        #[arg(long)]
        clusters: bool,
        /// Stop after so many failing seeds.
        #[arg(long, default_value_t = 10)]
        failures: usize,
        /// Run every how manyth seed twice and compare; 0 for none.
        #[arg(long, default_value_t = 50)]
        check_every: u64,
        /// Writes every failing seed into this folder, as `seed-N.toml`.
        #[arg(long)]
        save: Option<PathBuf>,
        /// Names the seeds that hit this coverage mark.
        #[arg(long, value_parser = mark_of)]
        reaches: Option<Mark>,
    },
    /// Runs one seed.
    Run {
        /// The seed.
        #[arg(long)]
        seed: u64,
        /// The size of its world, when it was explored with one.
        #[arg(long, value_parser = size_of)]
        size: Option<Size>,
        /// Prints what happens, one line per event; `--trace=disk` with every file operation.
        #[arg(long, value_enum, num_args = 0..=1, require_equals = true,
              default_missing_value = "events")]
        trace: Option<TraceOf>,
    },
    /// Makes a recorded run small: the same oracle, fewer steps.
    Shrink {
        /// The file, as `explore --save` writes it; or a saved seed.
        file: PathBuf,
        /// Stop after so many seconds.
        #[arg(long, default_value_t = 60)]
        time_limit_s: u64,
        /// Where the shrunk run goes; `x.toml` gives `x.shrunk.toml` without it.
        #[arg(long)]
        to: Option<PathBuf>,
    },
    /// Runs for hours: seeds, the canary, a second process; failures are saved and shrunk.
    Nightly {
        /// For how many hours.
        #[arg(long, default_value_t = 8.0)]
        hours: f64,
        /// On how many threads.
        #[arg(long, default_value_t = 2)]
        jobs: usize,
        /// The first seed.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// Where failures go.
        #[arg(long, default_value = "found")]
        save: PathBuf,
        /// Seconds between lines about how far it is.
        #[arg(long, default_value_t = 60)]
        every_s: u64,
        /// How many seconds each failure may be shrunk.
        #[arg(long, default_value_t = 120)]
        shrink_s: u64,
    },
    /// Runs a world that has to be found at fault, and fails when it is not.
    Canary {
        /// Saves the run as a file.
        #[arg(long)]
        save: Option<PathBuf>,
    },
    /// Runs scenario files, saved seeds and recorded runs.
    Replay {
        /// The files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Prints what happens, one line per event; `--trace=disk` with every file operation.
        #[arg(long, value_enum, num_args = 0..=1, require_equals = true,
              default_missing_value = "events")]
        trace: Option<TraceOf>,
    },
    /// Prints what the clients of a seed saw, as JSON lines.
    History {
        /// The seed.
        #[arg(long)]
        seed: u64,
        /// The size of its world, when it was explored with one.
        #[arg(long, value_parser = size_of)]
        size: Option<Size>,
    },
    /// Judges a history of JSON lines, of this simulator or of any broker.
    Judge {
        /// The file.
        file: PathBuf,
    },
    /// Prints one hash over many seeds, to be compared between processes.
    Hash {
        /// How many seeds.
        #[arg(long, default_value_t = 1_000)]
        seeds: u64,
        /// On how many threads.
        #[arg(long, default_value_t = 2)]
        jobs: usize,
        /// The first seed.
        #[arg(long, default_value_t = 0)]
        from: u64,
    },
}

/// How much of a run is printed.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TraceOf {
    /// Clients, requests, answers, lives and faults of nodes.
    Events,
    /// Also every file operation.
    Disk,
}

fn size_of(name: &str) -> Result<Size, String> {
    Size::from_name(name).ok_or_else(|| format!("\"{name}\" is no size of a world"))
}

fn mark_of(name: &str) -> Result<Mark, String> {
    Mark::from_name(name).ok_or_else(|| format!("\"{name}\" is no coverage mark"))
}

fn trace_of(wanted: Option<TraceOf>) -> Trace {
    match wanted {
        None => Trace::quiet(),
        Some(TraceOf::Events) => Trace::printed(Detail::Events),
        Some(TraceOf::Disk) => Trace::printed(Detail::Disk),
    }
}

/// A flag that Ctrl-C sets; a second Ctrl-C ends the process at once.
fn stop_flag() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    let installed = ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("stopping: what was found is kept");
    });
    if let Err(error) = installed {
        eprintln!("Ctrl-C ends this at once: {error}");
    }
    stop
}

fn main() -> ExitCode {
    // Panics are caught per seed and reported with it.
    std::panic::set_hook(Box::new(|info| eprintln!("{info}")));
    match Cli::parse().command {
        Command::Explore {
            seeds,
            jobs,
            from,
            size,
            clusters,
            failures,
            check_every,
            save,
            reaches,
        } => {
            let most_failures = failures.max(1);
            let plan =
                Exploration { from, size, clusters, seeds, jobs, check_every, most_failures };
            explore_and_report(plan, save.as_deref(), reaches)
        }
        Command::Run { seed, size, trace } => run_one(Seed { number: seed, size }, trace),
        Command::History { seed, size } => print_history(Seed { number: seed, size }),
        Command::Judge { file } => judge_file(&file),
        Command::Replay { files, trace } => replay(&files, trace),
        Command::Shrink { file, time_limit_s, to } => {
            shrink_file(&file, Duration::from_secs(time_limit_s), to)
        }
        Command::Nightly { hours, jobs, from, save, every_s, shrink_s } => {
            // Panics are findings and saved; a night does not print each.
            std::panic::set_hook(Box::new(|_| {}));
            let nightly = Nightly {
                time: Duration::from_secs_f64(hours.clamp(0.0, 1_000.0) * 3_600.0),
                jobs,
                from,
                save,
                every: Duration::from_secs(every_s),
                shrink: Duration::from_secs(shrink_s),
                sample: 100,
            };
            ExitCode::from(nightly.run(&stop_flag()).exit_code)
        }
        Command::Canary { save } => run_canary(save.as_deref()),
        Command::Hash { seeds, jobs, from } => {
            let plan = Exploration { from, seeds, jobs, ..Exploration::default() };
            let summary = explore(plan, |_, _| {});
            say!("{:016x} over {} seeds from {from}", summary.hash, summary.seeds);
            ExitCode::SUCCESS
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "how fast a run was is told to people, never to it")]
fn timed<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let result = act();
    (result, began.elapsed())
}

fn explore_and_report(plan: Exploration, save: Option<&Path>, reaches: Option<Mark>) -> ExitCode {
    let commit = commit();
    say!("seeds {} to {}, {} jobs", plan.from, plan.from + plan.seeds, plan.jobs);
    let stop = stop_flag();
    let failing = |number: u64, failure: &Failure| {
        let seed = Seed { number, size: plan.size };
        // Nobody may read any more: it is saved before it is said.
        let saved = save.map(|folder| save_seed(folder, seed, &commit));
        out::found(failure.exit_code());
        say!("seed {number}: {failure}");
        say!("  verdict-sim run {seed} --trace");
        match saved {
            Some(Ok(path)) => say!("  verdict-sim shrink {}", path.display()),
            Some(Err(error)) => say!("  not saved: {error}"),
            None => {}
        }
    };
    let reached = |_: &Summary, number: u64, run: &Run| {
        let count = |mark: Mark| run.marks.get(mark as usize).copied().unwrap_or(0);
        if let Some(mark) = reaches.filter(|&mark| count(mark) > 0) {
            say!("seed {number} hits {} {} times", mark.name(), count(mark));
        }
    };
    let (summary, took) = timed(|| explore_until(plan, &stop, failing, reached));
    report(&summary, took, plan.jobs);
    ExitCode::from(worst(summary.failures.iter().map(|(_, failure)| failure.exit_code())))
}

fn report(summary: &Summary, took: Duration, jobs: usize) {
    say!("marks:");
    for (mark, count) in Mark::ALL.iter().zip(&summary.marks) {
        say!("  {count:>12} {}", mark.name());
    }
    let missed: Vec<&str> = summary.marks_missed().map(Mark::name).collect();
    if !missed.is_empty() {
        say!("NEVER HIT ({}): {}", missed.len(), missed.join(" "));
    }
    say!("{}", speed(summary, took, jobs));
    say!("{}", averages(summary));
    if let Some(mb) = resident_mb() {
        say!("{mb} MB resident");
    }
    say!("hash {:016x}", summary.hash);
    say!("{} failing seeds", summary.failures.len());
}

/// The recorded run of a file: its choices, or those of the seed it names.
fn recorded_of(scenario: &Scenario) -> Option<RecordedRun> {
    let of_seed = || scenario.seed().filter(|_| scenario.is_explored());
    scenario.recorded.clone().or_else(|| of_seed().map(|seed| RecordedRun::of_seed(seed).0))
}

fn shrink_file(file: &Path, limit: Duration, to: Option<PathBuf>) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let scenario = match Scenario::load(file) {
        Ok(scenario) => scenario,
        Err(error) => {
            say!("{}: {error}", file.display());
            return ExitCode::from(127);
        }
    };
    let Some(recorded) = recorded_of(&scenario) else {
        say!("{}: neither a recorded run nor a saved seed", file.display());
        return ExitCode::from(127);
    };
    let target = to.unwrap_or_else(|| shrunk_name(file));
    let (result, took) = timed(|| {
        save_shrunk(&target, &recorded, scenario.seed().map(|seed| seed.number), &commit(), limit)
    });
    match result {
        Ok(Some((shrunk, failure))) => {
            say!(
                "{} steps, shrunk to {} in {} runs and {:.1} s{}",
                recorded.steps(),
                shrunk.run.steps(),
                shrunk.tries,
                took.as_secs_f64(),
                if shrunk.finished { "" } else { " (the time was up)" }
            );
            say!("{failure}");
            say!("  verdict-sim replay {} --trace", target.display());
            ExitCode::SUCCESS
        }
        Ok(None) => {
            say!("{}: finds nothing, so there is nothing to shrink", file.display());
            ExitCode::from(1)
        }
        Err(error) => {
            say!("{}: {error}", target.display());
            ExitCode::from(127)
        }
    }
}

fn print_history(seed: Seed) -> ExitCode {
    match history_of(seed) {
        Ok(history) => match history.write_json_lines(&mut std::io::stdout().lock()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("the history could not be written: {error}");
                ExitCode::FAILURE
            }
        },
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run_canary(save: Option<&Path>) -> ExitCode {
    let (recorded, run) = match verdict_sim::canary::ring() {
        Ok(found) => found,
        Err(silent) => {
            say!("CANARY: {silent}");
            return ExitCode::from(1);
        }
    };
    let Some(failure) = &run.failure else { return ExitCode::from(1) };
    say!("found, as it has to be: {failure}");
    let text = save.map(|path| {
        let text = recorded.to_file(None, &run, failure, &commit());
        text.map_err(std::io::Error::other).and_then(|text| std::fs::write(path, text))
    });
    if let Some(Err(error)) = text {
        say!("not saved: {error}");
        return ExitCode::from(1);
    }
    ExitCode::SUCCESS
}

/// Prints what the oracles find in a file, one finding a line.
fn judge_file(file: &Path) -> ExitCode {
    let read = std::fs::read_to_string(file).map_err(|error| error.to_string());
    let history =
        read.and_then(|text| History::from_json_lines(&text).map_err(|error| error.to_string()));
    match history {
        Err(why) => {
            eprintln!("{}: {why}", file.display());
            ExitCode::FAILURE
        }
        Ok(history) => {
            let found = judge(&history);
            let failure = (!found.is_empty()).then(|| Failure::Violations(found.clone()));
            out::found(failure.map_or(0, |failure| failure.exit_code()));
            found.iter().for_each(|violation| say!("{violation}"));
            say!("{} events, {} findings", history.entries.len(), found.len());
            if found.is_empty() {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(Failure::Violations(found).exit_code())
            }
        }
    }
}

fn run_one(seed: Seed, trace: Option<TraceOf>) -> ExitCode {
    say!("{seed}");
    let run = run_seed(seed, trace_of(trace));
    say!(
        "hash {:016x}, {} inputs, {} operations, {} lives, {:.3} simulated s",
        run.hash,
        run.inputs,
        run.operations,
        run.lives,
        run.simulated.as_secs_f64()
    );
    let hit = Mark::ALL.iter().zip(&run.marks).filter(|&(_, &count)| count > 0);
    for (mark, count) in hit {
        say!("  {count:>8} {}", mark.name());
    }
    match run.failure {
        Some(failure) => {
            out::found(failure.exit_code());
            say!("{failure}");
            ExitCode::from(failure.exit_code())
        }
        None => ExitCode::SUCCESS,
    }
}

fn replay(files: &[PathBuf], trace: Option<TraceOf>) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in files {
        let scenario = match Scenario::load(path) {
            Ok(scenario) => scenario,
            Err(error) => {
                say!("{}: {error}", path.display());
                code = ExitCode::from(127);
                continue;
            }
        };
        say!("{}: {}", path.display(), scenario.title);
        let run = scenario.run(trace_of(trace));
        for difference in scenario.differences(&commit(), &run) {
            say!("  note: {difference}");
        }
        if let Some(complaint) = scenario.complaint(&run) {
            let failed = run.failure.as_ref().map_or(129, Failure::exit_code);
            out::found(failed);
            say!("  FAILED {complaint}");
            code = ExitCode::from(failed);
        }
    }
    code
}
