//! The list that `cargo mutants --list --json` prints.

use std::path::Path;

use serde::Deserialize;

/// A place in a file; lines and columns begin at 1, columns count characters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Place {
    line: usize,
    column: usize,
}

impl Place {
    /// The offset in bytes of this place in the text.
    pub fn offset(self, text: &str) -> Option<usize> {
        let line = text.split_inclusive('\n').take(self.line.checked_sub(1)?);
        let line_start: usize = line.map(str::len).sum();
        let rest = text.get(line_start..)?;
        let before = rest.chars().take(self.column.checked_sub(1)?).map(char::len_utf8);
        Some(line_start + before.sum::<usize>())
    }
}

/// From where to where.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Span {
    /// Its first character.
    pub start: Place,
}

/// What kind of change a mutant is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Genre {
    /// A function answers a fixed value.
    FnValue,
    /// Another operator.
    BinaryOperator,
    /// No operator.
    UnaryOperator,
    /// An arm of a match is gone.
    MatchArm,
    /// A guard of an arm is always true or always false.
    MatchArmGuard,
    /// A field of a struct expression is left to its base.
    StructField,
}

/// A mutant. Its number is its place in the list.
#[derive(Clone, Debug, Deserialize)]
pub struct Mutant {
    /// Its file, from the root of the workspace.
    pub file: String,
    /// What it does, with its place.
    pub name: String,
    /// What kind of change it is.
    pub genre: Genre,
    /// What it changes.
    pub span: Span,
    /// What it puts there.
    pub replacement: String,
}

/// Reads a list.
pub fn read(path: &Path) -> Result<Vec<Mutant>, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
