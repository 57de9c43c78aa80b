//! Edits of a file, one within the other, and the text they give.

use std::ops::Range;

/// A piece of what takes an edit's place.
pub enum Piece {
    /// New text.
    Text(String),
    /// What stood there, with the edits within it.
    Original(Range<usize>),
    /// What a mutant puts there.
    Branch(u32, Vec<Piece>),
}

impl Piece {
    /// New text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// A change of the text; one of an empty range is an insertion.
pub struct Edit {
    /// What it takes the place of.
    pub range: Range<usize>,
    /// What takes its place.
    pub pieces: Vec<Piece>,
    /// The mutants it holds, which go with it when it does not compile.
    pub mutants: Vec<u32>,
}

/// A range of the new text that is some mutants' doing.
pub struct Region {
    /// Where.
    pub range: Range<usize>,
    /// Whose.
    pub mutants: Vec<u32>,
    /// It is what a mutant puts there, not only around it.
    pub is_branch: bool,
}

/// A file's new text, and who is to blame for what.
pub struct Rendered {
    /// The text.
    pub text: String,
    /// The regions of mutants.
    pub regions: Vec<Region>,
}

impl Rendered {
    /// The mutants that an error at this offset is to be blamed on.
    pub fn blame(&self, offset: usize) -> &[u32] {
        let holds = |region: &&Region| region.range.start <= offset && offset < region.range.end;
        let smallest = self
            .regions
            .iter()
            .filter(holds)
            .min_by_key(|region| (!region.is_branch, region.range.len()));
        smallest.map_or(&[], |region| region.mutants.as_slice())
    }
}

/// Applies edits, of which each lies within another one or beside it.
pub fn render(original: &str, mut edits: Vec<Edit>) -> Rendered {
    edits.retain(|edit| !edit.range.is_empty() || !edit.pieces.is_empty());
    // Outer ones first; insertions before what begins where they stand.
    edits.sort_by_key(|edit| {
        let is_insertion = edit.range.is_empty();
        (edit.range.start, !is_insertion, std::cmp::Reverse(edit.range.end))
    });
    let mut renderer =
        Renderer { original, edits: &edits, text: String::new(), regions: Vec::new() };
    renderer.original(0..original.len(), 0);
    Rendered { text: renderer.text, regions: renderer.regions }
}

struct Renderer<'a> {
    original: &'a str,
    edits: &'a [Edit],
    text: String,
    regions: Vec<Region>,
}

impl Renderer<'_> {
    /// Writes a range of the original with the edits from `first` on that lie within it.
    fn original(&mut self, range: Range<usize>, first: usize) {
        let mut at = range.start;
        let edits = self.edits;
        for (index, edit) in edits.iter().enumerate().skip(first) {
            if edit.range.start < at || edit.range.end > range.end {
                continue;
            }
            if edit.range.start >= range.end {
                break;
            }
            self.text.push_str(&self.original[at..edit.range.start]);
            let start = self.text.len();
            self.pieces(&edit.pieces, index + 1);
            let range = start..self.text.len();
            self.regions.push(Region { range, mutants: edit.mutants.clone(), is_branch: false });
            at = edit.range.end;
        }
        self.text.push_str(&self.original[at..range.end]);
    }

    fn pieces(&mut self, pieces: &[Piece], first: usize) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.text.push_str(text),
                Piece::Original(range) => self.original(range.clone(), first),
                Piece::Branch(mutant, pieces) => {
                    let start = self.text.len();
                    self.pieces(pieces, first);
                    let range = start..self.text.len();
                    self.regions.push(Region { range, mutants: vec![*mutant], is_branch: true });
                }
            }
        }
    }
}
