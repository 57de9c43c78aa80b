//! The table of what became of the mutants, and those that survived.

use std::collections::BTreeMap;
use std::path::Path;

/// What became of the mutants of one module.
#[derive(Default)]
struct Row {
    all: usize,
    by_seeds: usize,
    /// Seeds to find each that an oracle or a panic found.
    seeds: Vec<u64>,
    /// A mark that is often hit is not hit any more, and a night fails.
    by_marks: usize,
    by_replay: usize,
    by_tests: usize,
    survived: usize,
    /// Of those that survived: never run, and run without any difference to what left a node.
    not_reached: usize,
    same_hash: usize,
}

/// Prints both.
pub fn print(results: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(results)
        .map_err(|error| format!("{}: {error}", results.display()))?;
    let (mut rows, mut all) = (BTreeMap::<&str, Row>::new(), Row::default());
    let mut survivors = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, by, how, _, effect] = fields.as_slice() else {
            return Err(format!("no line of results: {line}"));
        };
        let module = name.split('/').nth(2).unwrap_or_default();
        all.add(by, how, effect);
        rows.entry(module).or_default().add(by, how, effect);
        if *by == "survived" {
            survivors.push((*name, *effect));
        }
    }
    println!(
        "| module | mutants | found by seeds | median, p95 | by a mark no longer hit | by a scenario or saved seed | by core's tests | survive |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (module, row) in &mut rows {
        println!("{}", row.line(module));
    }
    println!("{}", all.line("all"));
    survivors.sort_unstable();
    for (name, effect) in survivors {
        println!("{effect}\t{name}");
    }
    Ok(())
}

impl Row {
    fn add(&mut self, by: &str, how: &str, effect: &str) {
        self.all += 1;
        match by {
            "seeds" => {
                self.by_seeds += 1;
                self.seeds.extend(how.parse::<u64>().ok());
            }
            "marks" => self.by_marks += 1,
            "replay" => self.by_replay += 1,
            "tests" => self.by_tests += 1,
            _ => {
                self.survived += 1;
                self.not_reached += usize::from(effect == "not reached");
                self.same_hash += usize::from(effect == "same hash");
            }
        }
    }

    fn line(&mut self, name: &str) -> String {
        self.seeds.sort_unstable();
        let at = |percent: usize| {
            let last = self.seeds.len().saturating_sub(1);
            self.seeds.get(last * percent / 100).copied().unwrap_or(0)
        };
        let (median, p95) = (at(50), at(95));
        let Self {
            all,
            by_seeds,
            by_marks,
            by_replay,
            by_tests,
            survived,
            not_reached,
            same_hash,
            ..
        } = self;
        format!(
            "| {name} | {all} | {by_seeds} | {median}, {p95} | {by_marks} | {by_replay} | {by_tests} | {survived} ({not_reached} never run, {same_hash} without effect) |"
        )
    }
}
