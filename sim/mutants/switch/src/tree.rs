//! The switched tree: a copy of the checked out files with all mutants in it, built until it
//! compiles. A mutant that does not compile is left out, as cargo-mutants leaves it out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::list::Mutant;
use crate::place;
use crate::render::{Rendered, render};

/// More rounds than errors of one kind hide those of another.
const ROUNDS_MAX: u32 = 40;

/// Three thousand mutants are soon compiled so, and run well enough.
const QUICK: [&str; 4] = [
    "profile.sim.package.verdict-core.opt-level=1",
    "profile.sim.package.verdict-core.debug=false",
    "profile.sim.package.verdict-sim.opt-level=1",
    "profile.sim.package.verdict-sim.debug=false",
];

/// A copy under way.
pub struct Tree<'a> {
    /// The workspace.
    root: &'a Path,
    /// Its copy.
    tree: PathBuf,
    mutants: &'a [Mutant],
    /// Those that cannot be in it.
    pub left_out: BTreeSet<u32>,
    /// Functions that constants need.
    keep_const: Vec<String>,
    rendered: BTreeMap<String, Rendered>,
}

impl<'a> Tree<'a> {
    /// Nothing yet.
    pub fn new(root: &'a Path, tree: PathBuf, mutants: &'a [Mutant]) -> Self {
        let (left_out, keep_const) = Default::default();
        let rendered = BTreeMap::new();
        let mut new = Self { root, tree, mutants, left_out, keep_const, rendered };
        // What earlier builds found: an error less is a round less.
        let known = new.tree.with_file_name("left-out");
        let known = std::fs::read_to_string(known).unwrap_or_default();
        let known: BTreeSet<&str> = known.lines().collect();
        let ids = (0..).zip(mutants).filter(|(_, mutant)| known.contains(mutant.name.as_str()));
        new.left_out = ids.map(|(id, _)| id).collect();
        let known = std::fs::read_to_string(new.tree.with_file_name("left-const"));
        new.keep_const = known.unwrap_or_default().lines().map(str::to_owned).collect();
        new
    }

    /// Keeps what was found.
    fn save(&self) -> Result<(), String> {
        let out = self.left_out.iter().filter_map(|&id| self.mutants.get(id as usize));
        let out: Vec<&str> = out.map(|mutant| mutant.name.as_str()).collect();
        write_if_new(&self.tree.with_file_name("left-out"), out.join("\n").as_bytes())?;
        let functions = self.keep_const.join("\n");
        write_if_new(&self.tree.with_file_name("left-const"), functions.as_bytes())
    }

    /// Writes the tree and builds it with these arguments of cargo until it compiles.
    pub fn build(&mut self, cargo: &[&str]) -> Result<(), String> {
        for _ in 0..ROUNDS_MAX {
            self.write()?;
            self.save()?;
            let messages = self.cargo(cargo)?;
            let errors: Vec<&Value> =
                messages.iter().filter(|message| message["message"]["level"] == "error").collect();
            if errors.is_empty() {
                return Ok(());
            }
            let before = (self.left_out.len(), self.keep_const.len());
            errors.iter().for_each(|error| self.blame(&error["message"]));
            eprintln!(
                "{} errors, {} mutants left out, {} functions left const",
                errors.len(),
                self.left_out.len(),
                self.keep_const.len()
            );
            if before == (self.left_out.len(), self.keep_const.len()) {
                let all: Vec<&str> = errors
                    .iter()
                    .filter_map(|error| error["message"]["rendered"].as_str())
                    .collect();
                return Err(format!("nobody is to blame:\n{}", all.join("\n")));
            }
        }
        Err(format!("does not compile after {ROUNDS_MAX} rounds"))
    }

    /// Leaves out who made this error.
    fn blame(&mut self, error: &Value) {
        let words = error["message"].as_str().unwrap_or_default();
        let of_const = words.starts_with("cannot call non-const");
        let spans = error["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
        let children = error["children"].as_array().map(Vec::as_slice).unwrap_or_default();
        let in_children = children.iter().filter_map(|child| child["spans"].as_array()).flatten();
        let primary = |span: &&Value| span["is_primary"] == true;
        let mut ordered: Vec<&Value> = spans.iter().filter(primary).collect();
        ordered.extend(spans.iter().filter(|span| !primary(span)));
        ordered.extend(in_children);
        for span in ordered {
            let file = span["file_name"].as_str().unwrap_or_default();
            let offset = span["byte_start"].as_u64().and_then(|at| usize::try_from(at).ok());
            let (Some(rendered), Some(offset)) = (self.rendered.get(file), offset) else {
                continue;
            };
            let blamed = rendered.blame(offset);
            if !blamed.is_empty() {
                self.left_out.extend(blamed);
                return;
            }
        }
        if of_const && let Some(name) = words.split('`').nth(1) {
            let name = name.rsplit("::").next().unwrap_or(name);
            if !self.keep_const.iter().any(|kept| kept == name) {
                self.keep_const.push(name.to_owned());
            }
        }
    }

    /// Writes what differs, so that cargo builds only that.
    fn write(&mut self) -> Result<(), String> {
        let listed = Command::new("git")
            .args(["ls-files", "-co", "--exclude-standard"])
            .current_dir(self.root)
            .output()
            .map_err(|error| format!("git: {error}"))?;
        let mut of_file: BTreeMap<&str, Vec<(u32, &Mutant)>> = BTreeMap::new();
        for (id, mutant) in (0..).zip(self.mutants) {
            if !self.left_out.contains(&id) {
                of_file.entry(&mutant.file).or_default().push((id, mutant));
            }
        }
        for file in String::from_utf8_lossy(&listed.stdout).lines() {
            let from = self.root.join(file);
            if !from.is_file() || file.starts_with("sim/mutants/") {
                continue;
            }
            let mutants = of_file.remove(file).unwrap_or_default();
            if file.starts_with("core/src/") && file.ends_with(".rs") {
                let text = self.switched(file, &read(&from)?, &mutants)?;
                write_if_new(&self.tree.join(file), text.as_bytes())?;
            } else {
                let bytes = std::fs::read(&from).map_err(|error| format!("{file}: {error}"))?;
                write_if_new(&self.tree.join(file), &bytes)?;
            }
        }
        write_if_new(&self.tree.join("core/src/mutant.rs"), include_bytes!("switched.rs"))
    }

    fn switched(
        &mut self,
        file: &str,
        text: &str,
        mutants: &[(u32, &Mutant)],
    ) -> Result<String, String> {
        let placed = place::place(text, mutants, &self.keep_const)
            .map_err(|error| format!("{file}: {error}"))?;
        self.left_out.extend(placed.unplaced);
        let rendered = render(text, placed.edits);
        let mut text = rendered.text.clone();
        if file == "core/src/lib.rs" {
            // The switch reads the environment.
            text = text.replace("#![no_std]\n", "") + "pub mod mutant;\n";
        }
        self.rendered.insert(file.to_owned(), rendered);
        Ok(text)
    }

    /// The messages of the compiler.
    fn cargo(&self, arguments: &[&str]) -> Result<Vec<Value>, String> {
        let output = Command::new("cargo")
            .args(arguments)
            .arg("--message-format=json")
            .args(QUICK.iter().flat_map(|setting| ["--config", setting]))
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            .env("CARGO_INCREMENTAL", "0")
            .current_dir(&self.tree)
            .stderr(std::process::Stdio::inherit())
            .output()
            .map_err(|error| format!("cargo: {error}"))?;
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let messages: Vec<Value> =
            lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let has_error = messages.iter().any(|message| message["message"]["level"] == "error");
        if output.status.success() || has_error {
            Ok(messages)
        } else {
            Err("cargo could not build the switched tree".to_owned())
        }
    }

    /// Builds, and copies the executable of a target to a place of its own.
    pub fn executable(&self, cargo: &[&str], name: &str, to: &Path) -> Result<(), String> {
        let messages = self.cargo(cargo)?;
        let of_target = messages.iter().rev().find(|message| {
            message["reason"] == "compiler-artifact"
                && message["target"]["name"] == name
                && message["executable"].is_string()
        });
        let from = of_target.and_then(|message| message["executable"].as_str());
        let from = from.ok_or_else(|| format!("no executable {name}"))?;
        std::fs::copy(from, to).map_err(|error| format!("{}: {error}", to.display()))?;
        Ok(())
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write_if_new(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if std::fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let say = |error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(say)?;
    }
    std::fs::write(path, bytes).map_err(say)
}
