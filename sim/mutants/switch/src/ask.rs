//! Asks the simulator, and after it the core's own tests, about one mutant after the other.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::list::Mutant;

/// What is asked.
pub struct Questions {
    /// The simulator of the switched tree.
    pub simulator: PathBuf,
    /// The core's unit tests of the switched tree.
    pub tests: PathBuf,
    /// Where they are run.
    pub tree: PathBuf,
    /// The first standard seed.
    pub from: u64,
    /// How many standard seeds.
    pub seeds: u64,
    /// Whether the files are replayed as well.
    pub replays: bool,
    /// How many mutants at once.
    pub jobs: usize,
    /// A question that takes longer is answered: the mutant goes in circles.
    pub limit: Duration,
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// `seeds`, `marks`, `replay`, `tests` or `survived`.
    pub by: &'static str,
    /// The seeds until it was found, the mark that is not hit any more, the file, the test.
    pub how: String,
    /// An oracle, `panic` or `hang`.
    pub who: String,
    /// Whether it was run at all, and if so whether anything that left a node differed.
    pub effect: &'static str,
}

struct Said {
    words: String,
    errors: String,
    succeeded: bool,
    hung: bool,
}

impl Questions {
    /// Asks about all these, and writes a line for each as soon as it is known.
    pub fn ask(&self, mutants: &[(u32, &Mutant)], to: &Path) -> Result<(), String> {
        let clean = self.explore(u32::MAX).map_err(|error| error.to_string())?;
        if !clean.succeeded {
            return Err(format!("the unchanged core fails:\n{}", clean.words));
        }
        let clean = clean.words;
        let file = std::fs::File::options().append(true).create(true).open(to);
        let file = Mutex::new(file.map_err(|error| format!("{}: {error}", to.display()))?);
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let worker = || -> std::io::Result<()> {
                while let Some((id, mutant)) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Fate { by, how, who, effect } = self.fate(*id, &clean)?;
                    let line = format!("{}\t{by}\t{how}\t{who}\t{effect}\n", mutant.name);
                    let mut file = file.lock().expect("no writer panics");
                    file.write_all(line.as_bytes())?;
                }
                Ok(())
            };
            let workers: Vec<_> = (0..self.jobs).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().try_for_each(|worker| {
                worker.join().expect("a worker does not panic").map_err(|error| error.to_string())
            })
        })
    }

    fn fate(&self, id: u32, clean: &str) -> std::io::Result<Fate> {
        let said = self.explore(id)?;
        let effect = match () {
            () if !said.errors.contains("the mutant is reached") => "not reached",
            () if said.succeeded && hash_of(&said.words) == hash_of(clean) => "same hash",
            () => "other hash",
        };
        let fate = |by, how: &str, who: &str| Fate {
            by,
            how: how.to_owned(),
            who: who.to_owned(),
            effect,
        };
        if said.hung {
            return Ok(fate("seeds", "?", "hang"));
        }
        if !said.succeeded {
            let (seed, who) = first_seed(&said.words);
            return Ok(fate("seeds", &seed, &who));
        }
        if let Some(mark) = missing_mark(clean, &said.words) {
            return Ok(fate("marks", mark, "mark"));
        }
        if !self.replays {
            return Ok(fate("survived", "", ""));
        }
        let said = self.replay(id)?;
        if !said.succeeded {
            let (file, who) = first_file(&said.words);
            return Ok(fate("replay", &file, if said.hung { "hang" } else { &who }));
        }
        Ok(fate("survived", "", ""))
    }

    /// Asks the core's tests about those that the simulator did not find.
    pub fn test(&self, mutants: &[(u32, &Mutant)], results: &Path) -> Result<(), String> {
        let say = |error: std::io::Error| format!("{}: {error}", results.display());
        let text = std::fs::read_to_string(results).map_err(say)?;
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for at in 0..lines.len() {
            let fields: Vec<&str> = lines[at].split('\t').collect();
            let [name, "survived", "", _, effect] = fields.as_slice() else { continue };
            let Some((id, _)) = mutants.iter().find(|(_, mutant)| mutant.name == *name) else {
                continue;
            };
            // Those of its own module know most of it, and take least.
            let own = name.split('/').nth(2).unwrap_or_default();
            let mut said = self.run_tests(*id, &format!("{own}::")).map_err(|e| e.to_string())?;
            if said.succeeded {
                said = self.run_tests(*id, "").map_err(|e| e.to_string())?;
            }
            let (by, how) = match said.succeeded {
                true => ("survived", "tested".to_owned()),
                false => ("tests", first_test(&said.words)),
            };
            let who = if said.hung { "hang" } else { "" };
            lines[at] = format!("{name}\t{by}\t{how}\t{who}\t{effect}");
            std::fs::write(results, lines.join("\n") + "\n").map_err(say)?;
        }
        Ok(())
    }

    fn explore(&self, id: u32) -> std::io::Result<Said> {
        let mut command = Command::new(&self.simulator);
        let (from, seeds) = (self.from.to_string(), self.seeds.to_string());
        command.args(["explore", "--from", &from, "--seeds", &seeds]);
        command.args(["--jobs", "1", "--failures", "1", "--check-every", "0"]);
        self.say(command, id)
    }

    fn replay(&self, id: u32) -> std::io::Result<Said> {
        let mut command = Command::new(&self.simulator);
        command.arg("replay");
        for folder in ["scenarios", "seeds"] {
            let mut files: Vec<PathBuf> = std::fs::read_dir(self.tree.join(folder))?
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
                .collect();
            files.sort();
            command.args(files);
        }
        self.say(command, id)
    }

    fn run_tests(&self, id: u32, of: &str) -> std::io::Result<Said> {
        let mut command = Command::new(&self.tests);
        command.args((!of.is_empty()).then_some(of));
        command.args(["--test-threads", "1"]).env("PROPTEST_CASES", "64");
        self.say(command, id)
    }

    fn say(&self, mut command: Command, id: u32) -> std::io::Result<Said> {
        // A file takes any number of words while nobody reads.
        let named = |what: &str| {
            std::env::temp_dir().join(format!("verdict-mutant-{}-{id}.{what}", std::process::id()))
        };
        let (out, errors) = (named("out"), named("err"));
        command
            .env("VERDICT_MUTANT", id.to_string())
            .current_dir(self.tree.join("core"))
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&out)?)
            .stderr(std::fs::File::create(&errors)?);
        let mut child = command.spawn()?;
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if began.elapsed() > self.limit || resident_mb(&child) > MB_MAX {
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let read = |path: &Path| -> std::io::Result<String> {
            let bytes = std::fs::read(path)?;
            std::fs::remove_file(path)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let (words, errors) = (read(&out)?, read(&errors)?);
        let succeeded = status.is_some_and(|status| status.success());
        Ok(Said { words, errors, succeeded, hung: status.is_none() })
    }
}

/// More memory than any seed or test takes, in MB.
const MB_MAX: u64 = 1_500;

fn resident_mb(child: &Child) -> u64 {
    let path = format!("/proc/{}/statm", child.id());
    let pages = std::fs::read_to_string(path).ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) / 256
}

/// A mark hit so often without the mutant is hit with it, or a night fails.
const OFTEN: u64 = 20;

/// The hits of each mark: lines of a number and a name.
fn marks_of(words: &str) -> impl Iterator<Item = (u64, &str)> {
    let listed = words.lines().skip_while(|line| *line != "marks:").skip(1);
    listed.map_while(|line| {
        let (count, name) = line.trim_start().split_once(' ')?;
        Some((count.parse().ok()?, name))
    })
}

/// A mark that is often hit, and is not any more.
fn missing_mark<'a>(clean: &'a str, words: &str) -> Option<&'a str> {
    let pairs = marks_of(clean).zip(marks_of(words));
    pairs
        .filter(|((before, _), (now, _))| *before >= OFTEN && *now == 0)
        .map(|((_, name), _)| name)
        .next()
}

fn hash_of(words: &str) -> &str {
    words.lines().find_map(|line| line.strip_prefix("hash ")).unwrap_or_default()
}

/// `seed 17: O4 at …`: 18 seeds, O4.
fn first_seed(words: &str) -> (String, String) {
    let found = words.lines().find_map(|line| line.strip_prefix("seed ")?.split_once(": "));
    match found {
        Some((seed, what)) => {
            let seeds = seed.parse().map_or(0, |seed: u64| seed.saturating_add(1));
            (seeds.to_string(), who(what))
        }
        None => ("?".to_owned(), "abort".to_owned()),
    }
}

fn first_file(words: &str) -> (String, String) {
    let lines: Vec<&str> = words.lines().collect();
    let failed = lines.iter().position(|line| line.starts_with("  FAILED "));
    let title = |line: &&str| {
        line.split(".toml: ").next().and_then(|path| path.rsplit('/').next()).map(str::to_owned)
    };
    let until = failed.unwrap_or(lines.len());
    let file = lines[..until].iter().rev().find(|line| line.contains(".toml: ")).and_then(title);
    let what = failed.map_or("abort", |at| lines[at].trim_start_matches("  FAILED "));
    (file.unwrap_or_default(), who(what))
}

fn first_test(words: &str) -> String {
    let failed =
        words.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    failed.unwrap_or("?").to_owned()
}

/// The first word that names who speaks.
fn who(what: &str) -> String {
    let is_oracle =
        |word: &&str| word.strip_prefix('O').is_some_and(|number| number.parse::<u8>().is_ok());
    let mut words = what.split([' ', ':', ',']);
    if what.starts_with("broken invariant") {
        return "panic".to_owned();
    }
    words.find(is_oracle).unwrap_or("stale").to_owned()
}
