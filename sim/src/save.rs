//! Failing seeds as files: recorded, and shrunk when there is time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::explore::Failure;
use crate::record::RecordedRun;
use crate::shrink::{Shrunk, shrink};
use crate::trace::Trace;
use crate::world::Seed;

/// The commit that is checked out, as far as git knows.
#[must_use]
pub fn commit() -> String {
    let output =
        std::process::Command::new("git").args(["describe", "--always", "--dirty"]).output();
    output
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Records a failing seed into `seed-N.toml`.
///
/// # Errors
///
/// When the seed does not fail when it runs again, or the file cannot be written.
pub fn save_seed(folder: &Path, seed: Seed, commit: &str) -> std::io::Result<PathBuf> {
    let (recorded, run) = RecordedRun::of_seed(seed);
    let failure = run.failure.as_ref().ok_or_else(|| std::io::Error::other("it does not fail"))?;
    let text = recorded
        .to_file(Some(seed.number), &run, failure, commit)
        .map_err(std::io::Error::other)?;
    std::fs::create_dir_all(folder)?;
    let path = folder.join(format!("seed-{}.toml", seed.number));
    std::fs::write(&path, text)?;
    Ok(path)
}

/// Shrinks a recorded run into a file; `None` when it finds nothing to begin with.
///
/// # Errors
///
/// When the file cannot be written.
pub fn save_shrunk(
    target: &Path,
    recorded: &RecordedRun,
    seed: Option<u64>,
    commit: &str,
    limit: Duration,
) -> std::io::Result<Option<(Shrunk, Failure)>> {
    let Some(shrunk) = shrink(recorded, limit) else { return Ok(None) };
    let run = shrunk.run.run(Trace::quiet());
    let Some(failure) = run.failure.clone() else { return Ok(None) };
    let text = shrunk.run.to_file(seed, &run, &failure, commit).map_err(std::io::Error::other)?;
    std::fs::write(target, text)?;
    Ok(Some((shrunk, failure)))
}

/// The file that a shrunk run goes to: `x.toml` gives `x.shrunk.toml`.
#[must_use]
pub fn shrunk_name(path: &Path) -> PathBuf {
    path.with_extension("shrunk.toml")
}
