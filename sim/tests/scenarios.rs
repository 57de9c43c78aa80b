//! Every scenario and every saved seed, replayed.

use std::path::{Path, PathBuf};

use verdict_sim::scenario::Scenario;
use verdict_sim::trace::Trace;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

fn replay_all(folder: &str) {
    let complaints: Vec<String> = files(folder)
        .iter()
        .filter_map(|path| {
            let name = path.display();
            let scenario = match Scenario::load(path) {
                Ok(scenario) => scenario,
                Err(error) => return Some(format!("{name}: {error}")),
            };
            let run = scenario.run(Trace::quiet());
            scenario.complaint(&run).map(|complaint| format!("{name}: {complaint}"))
        })
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_scenario_ends_as_it_is_to() {
    replay_all("scenarios");
}

#[test]
fn every_saved_seed_ends_as_it_is_to() {
    replay_all("seeds");
}
