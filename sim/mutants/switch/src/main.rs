//! cargo-mutants' list, all at once: one build, and then a few seconds for each mutant.
//!
//! `cargo mutants --list --json > LIST` names the mutants. `build` puts all of them into a copy of
//! the workspace, each behind `VERDICT_MUTANT=its place in the list`, and builds the simulator and
//! the core's unit tests of it. `ask` explores seeds with each until one fails, and replays the
//! scenarios and saved seeds if none does; `test` runs the core's tests with those that are left.
//! `table` prints what came out as `sim/mutants/cargo-mutants.md` has it.

mod ask;
mod list;
mod place;
mod render;
mod table;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use self::list::Mutant;
use self::tree::Tree;

const USAGE: &str = "\
verdict-mutant-switch build LIST                    (in the root of the workspace)
verdict-mutant-switch ask LIST RESULTS [--from S] [--seeds N] [--jobs J] [--only TEXT] [--every K] [--replay no]
verdict-mutant-switch test LIST RESULTS
verdict-mutant-switch number LIST TEXT
verdict-mutant-switch table RESULTS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["build", list] => build(Path::new(list)),
        ["ask", list, results, rest @ ..] => ask(Path::new(list), Path::new(results), rest),
        ["test", list, results] => {
            let mutants = list::read(Path::new(list));
            mutants.and_then(|mutants| questions(0, 1)?.test(&built(&mutants)?, Path::new(results)))
        }
        ["number", list, text] => number(Path::new(list), text),
        ["table", results] => table::print(Path::new(results)),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> PathBuf {
    PathBuf::from("target/mutants")
}

fn build(list: &Path) -> Result<(), String> {
    let mutants = list::read(list)?;
    let root = std::env::current_dir().map_err(|error| error.to_string())?;
    let work = root.join(work());
    let mut tree = Tree::new(&root, work.join("tree"), &mutants);
    let simulator = ["build", "--profile", "sim", "-p", "verdict-sim"];
    let tests = ["test", "--profile", "sim", "-p", "verdict-core", "--lib", "--no-run"];
    tree.build(&simulator)?;
    tree.executable(&simulator, "verdict-sim", &work.join("simulator"))?;
    // Tests may need a function in a constant where the core does not.
    tree.build(&tests)?;
    tree.executable(&tests, "verdict_core", &work.join("tests"))?;
    println!(
        "{} mutants, {} of them left out (target/mutants/left-out)",
        mutants.len(),
        tree.left_out.len()
    );
    Ok(())
}

/// The mutants of a list that were built.
fn built(mutants: &[Mutant]) -> Result<Vec<(u32, &Mutant)>, String> {
    let left_out = std::fs::read_to_string(work().join("left-out"))
        .map_err(|error| format!("nothing is built yet: {error}"))?;
    let left_out: Vec<&str> = left_out.lines().collect();
    let all = (0..).zip(mutants);
    Ok(all.filter(|(_, mutant)| !left_out.contains(&mutant.name.as_str())).collect())
}

fn ask(list: &Path, results: &Path, options: &[&str]) -> Result<(), String> {
    let (mut seeds, mut jobs, mut only, mut every, mut replays) = (1_000, 1, None, 1, true);
    let mut from = 0;
    for option in options.chunks(2) {
        match option {
            ["--seeds", number] => seeds = number.parse().map_err(|_| USAGE)?,
            ["--from", number] => from = number.parse().map_err(|_| USAGE)?,
            ["--jobs", number] => jobs = number.parse().map_err(|_| USAGE)?,
            ["--replay", "no"] => replays = false,
            ["--only", text] => only = Some(*text),
            ["--every", number] => every = number.parse::<u32>().map_err(|_| USAGE)?.max(1),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let mutants = list::read(list)?;
    let known = std::fs::read_to_string(results).unwrap_or_default();
    let known: Vec<&str> = known.lines().filter_map(|line| line.split('\t').next()).collect();
    let mut to_ask = built(&mutants)?;
    to_ask.retain(|(id, mutant)| {
        id.is_multiple_of(every)
            && only.is_none_or(|text| mutant.name.contains(text))
            && !known.contains(&mutant.name.as_str())
    });
    println!("{} to ask about, {} known", to_ask.len(), known.len());
    ask::Questions { from, replays, ..questions(seeds, jobs)? }.ask(&to_ask, results)
}

fn number(list: &Path, text: &str) -> Result<(), String> {
    for (id, mutant) in list::read(list)?.iter().enumerate() {
        if mutant.name.contains(text) {
            println!("{id} {}", mutant.name);
        }
    }
    Ok(())
}

fn questions(seeds: u64, jobs: usize) -> Result<ask::Questions, String> {
    let work = std::env::current_dir().map_err(|error| error.to_string())?.join(work());
    Ok(ask::Questions {
        simulator: work.join("simulator"),
        tests: work.join("tests"),
        tree: work.join("tree"),
        from: 0,
        seeds,
        replays: true,
        jobs,
        limit: Duration::from_secs(60 + seeds / 25),
    })
}
