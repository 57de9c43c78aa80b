//! `verdict-sim`: explores seeds, runs one, replays scenarios, compares hashes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use verdict_core::marks::Mark;
use verdict_sim::explore::{Exploration, Failure, Summary, explore, faults_of, run_seed};
use verdict_sim::scenario::{Found, SavedSeed, Scenario};
use verdict_sim::trace::Trace;

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
        /// Stop after so many failing seeds.
        #[arg(long, default_value_t = 10)]
        failures: usize,
        /// Run every how manyth seed twice and compare; 0 for none.
        #[arg(long, default_value_t = 50)]
        check_every: u64,
        /// Writes every failing seed into this folder, as `seed-N.toml`.
        #[arg(long)]
        save: Option<PathBuf>,
    },
    /// Runs one seed.
    Run {
        /// The seed.
        #[arg(long)]
        seed: u64,
        /// Prints what happens, one line per event.
        #[arg(long)]
        trace: bool,
    },
    /// Runs scenario files.
    Replay {
        /// The files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Prints what happens, one line per event.
        #[arg(long)]
        trace: bool,
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

fn main() -> ExitCode {
    // Panics are caught per seed and reported with it.
    std::panic::set_hook(Box::new(|info| eprintln!("{info}")));
    match Cli::parse().command {
        Command::Explore { seeds, jobs, from, failures, check_every, save } => {
            let plan =
                Exploration { from, seeds, jobs, check_every, most_failures: failures.max(1) };
            explore_and_report(plan, save.as_deref())
        }
        Command::Run { seed, trace } => run_one(seed, trace),
        Command::Replay { files, trace } => replay(&files, trace),
        Command::Hash { seeds, jobs, from } => {
            let plan = Exploration { from, seeds, jobs, check_every: 0, most_failures: usize::MAX };
            let summary = explore(plan, |_, _| {});
            println!("{:016x} over {} seeds from {from}", summary.hash, summary.seeds);
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

fn explore_and_report(plan: Exploration, save: Option<&Path>) -> ExitCode {
    let commit = commit();
    println!("seeds {} to {}, {} jobs", plan.from, plan.from + plan.seeds, plan.jobs);
    let (summary, took) = timed(|| {
        explore(plan, |seed, failure| {
            println!("seed {seed}: {failure}");
            println!("  verdict-sim run --seed {seed} --trace");
            if let Some(folder) = save
                && let Err(error) = save_seed(folder, seed, failure, &commit)
            {
                println!("  not saved: {error}");
            }
        })
    });
    report(&summary, took);
    let worst = summary.failures.iter().map(|(_, failure)| failure.exit_code());
    // A broken invariant, then safety, then nondeterminism, then liveness.
    let rank = |code: u8| [127, 129, 130, 128].iter().position(|&known| known == code);
    worst.min_by_key(|&code| rank(code)).map_or(ExitCode::SUCCESS, ExitCode::from)
}

/// The commit that is checked out, as far as git knows.
fn commit() -> String {
    let output =
        std::process::Command::new("git").args(["describe", "--always", "--dirty"]).output();
    output
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned())
}

fn save_seed(folder: &Path, seed: u64, failure: &Failure, commit: &str) -> std::io::Result<()> {
    let by = failure.found_by();
    let saved = SavedSeed {
        title: format!("seed {seed}: found by {by}"),
        seed,
        explored: true,
        found: Found {
            by,
            what: failure.to_string(),
            commit: commit.to_owned(),
            faults: faults_of(seed),
        },
    };
    let text = toml::to_string_pretty(&saved).map_err(std::io::Error::other)?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(format!("seed-{seed}.toml")), text)
}

fn report(summary: &Summary, took: Duration) {
    let seconds = took.as_secs_f64().max(1e-9);
    println!("marks:");
    for (mark, count) in Mark::ALL.iter().zip(&summary.marks) {
        println!("  {count:>12} {}", mark.name());
    }
    let missed: Vec<&str> = summary.marks_missed().map(Mark::name).collect();
    if !missed.is_empty() {
        println!("NEVER HIT ({}): {}", missed.len(), missed.join(" "));
    }
    println!(
        "{} seeds in {seconds:.1} s: {:.0} seeds/s, {:.0} core inputs/s, {:.0} simulated s/s",
        summary.seeds,
        summary.seeds as f64 / seconds,
        summary.inputs as f64 / seconds,
        summary.simulated.as_secs_f64() / seconds
    );
    let per = |sum: u64| sum as f64 / summary.seeds.max(1) as f64;
    println!(
        "per seed: {:.0} client operations, {:.0} core inputs, {:.1} lives of the node",
        per(summary.operations),
        per(summary.inputs),
        per(summary.lives)
    );
    println!("hash {:016x}", summary.hash);
    println!("{} failing seeds", summary.failures.len());
}

fn run_one(seed: u64, trace: bool) -> ExitCode {
    println!("seed {seed}");
    let run = run_seed(seed, if trace { Trace::printed() } else { Trace::quiet() });
    println!(
        "hash {:016x}, {} inputs, {} operations, {} lives, {:.3} simulated s",
        run.hash,
        run.inputs,
        run.operations,
        run.lives,
        run.simulated.as_secs_f64()
    );
    let hit = Mark::ALL.iter().zip(&run.marks).filter(|&(_, &count)| count > 0);
    for (mark, count) in hit {
        println!("  {count:>8} {}", mark.name());
    }
    match run.failure {
        Some(failure) => {
            println!("{failure}");
            ExitCode::from(failure.exit_code())
        }
        None => ExitCode::SUCCESS,
    }
}

fn replay(files: &[PathBuf], trace: bool) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in files {
        let scenario = match Scenario::load(path) {
            Ok(scenario) => scenario,
            Err(error) => {
                println!("{}: {error}", path.display());
                code = ExitCode::from(127);
                continue;
            }
        };
        println!("{}: {}", path.display(), scenario.title);
        let run = scenario.run(if trace { Trace::printed() } else { Trace::quiet() });
        if let Some(complaint) = scenario.complaint(&run) {
            println!("  FAILED {complaint}");
            let failed = run.failure.as_ref().map_or(129, Failure::exit_code);
            code = ExitCode::from(failed);
        }
    }
    code
}
