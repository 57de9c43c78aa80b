//! What happened, as a line a person can follow, and as one number that two processes compare.
//!
//! Every event goes into a rolling 64-bit hash, whether or not anybody reads; text is made only
//! when tracing is on.

/// The trace of one run.
#[derive(Clone, Debug)]
pub struct Trace {
    hash: u64,
    events: u64,
    lines: Option<Vec<String>>,
    print: bool,
    detail: Detail,
    last: Last,
}

/// How much of a run becomes lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Clients, requests, answers, lives and faults.
    #[default]
    Events,
    /// Also every file operation.
    Disk,
}

/// The line before, and how often it came again.
#[derive(Clone, Debug, Default)]
struct Last {
    who: String,
    text: String,
    repeats: u64,
}

/// What an event is about; goes into the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum What {
    /// An input was handed to a node.
    Input = 1,
    /// A node put something out.
    Output,
    /// A file operation ended.
    File,
    /// A node died, came back, stopped or went on.
    Life,
    /// A client did something.
    Client,
    /// The network did something.
    Net,
    /// A clock jumped.
    Clock,
    /// The world changed its phase.
    Phase,
}

impl Trace {
    /// A trace that keeps only the hash.
    #[must_use]
    pub fn quiet() -> Self {
        Self {
            hash: 0x9e37_79b9_7f4a_7c15,
            events: 0,
            lines: None,
            print: false,
            detail: Detail::Disk,
            last: Last::default(),
        }
    }

    /// A trace that keeps its lines.
    #[must_use]
    pub fn kept() -> Self {
        Self { lines: Some(Vec::new()), ..Self::quiet() }
    }

    /// A trace that prints its lines.
    #[must_use]
    pub fn printed(detail: Detail) -> Self {
        Self { print: true, detail, ..Self::quiet() }
    }

    /// Mixes an event into the hash.
    pub fn event(&mut self, now_us: u64, what: What, numbers: [u64; 4]) {
        self.events += 1;
        self.mix(now_us);
        self.mix(what as u64);
        for number in numbers {
            self.mix(number);
        }
    }

    /// Mixes one number into the hash.
    pub const fn mix(&mut self, number: u64) {
        self.hash = mix(self.hash, number);
    }

    /// Whether lines are wanted at all: ask before making text.
    #[must_use]
    pub const fn wants_lines(&self) -> bool {
        self.print || self.lines.is_some()
    }

    /// Whether file operations become lines.
    #[must_use]
    pub fn wants_files(&self) -> bool {
        self.wants_lines() && self.detail == Detail::Disk
    }

    /// Adds a line. One that says the same as the line before is counted instead, when files are
    /// not asked for: readers ask again and again.
    pub fn line(&mut self, now_us: u64, who: &str, text: &str) {
        if !self.wants_lines() {
            return;
        }
        if self.detail == Detail::Events {
            if self.last.who == who && self.last.text == text {
                self.last.repeats += 1;
                return;
            }
            let repeats = core::mem::take(&mut self.last.repeats);
            if repeats > 0 {
                self.put(now_us, "", &format!("... {} {repeats} times more", self.last.who));
            }
            who.clone_into(&mut self.last.who);
            text.clone_into(&mut self.last.text);
        }
        self.put(now_us, who, text);
    }

    /// A line that parts what comes from what was: a node dies or comes back, faults end.
    pub fn heading(&mut self, now_us: u64, who: &str, text: &str) {
        self.line(now_us, who, &format!("==== {text}"));
    }

    fn put(&mut self, now_us: u64, who: &str, text: &str) {
        let line = format!("{:>6}.{:06} {who:<6} {text}", now_us / 1_000_000, now_us % 1_000_000);
        if self.print {
            crate::say!("{line}");
        }
        if let Some(lines) = &mut self.lines {
            lines.push(line);
        }
    }

    /// The hash of everything so far.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// How many events there were.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Takes the lines kept.
    pub fn take_lines(&mut self) -> Vec<String> {
        self.lines.take().unwrap_or_default()
    }

    /// The lines kept.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        self.lines.as_deref().unwrap_or(&[])
    }
}

/// Mixes a number into a hash (the multiply-xorshift step of splitmix64).
#[must_use]
pub const fn mix(hash: u64, number: u64) -> u64 {
    let x = (hash ^ number).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ (x >> 29)).rotate_left(17).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// A hash of bytes, eight at a time.
#[must_use]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        hash = mix(hash, u64::from_le_bytes(word.try_into().expect("a chunk of eight has eight")));
    }
    let mut rest = [0; 8];
    rest[..words.remainder().len()].copy_from_slice(words.remainder());
    mix(hash, u64::from_le_bytes(rest))
}
