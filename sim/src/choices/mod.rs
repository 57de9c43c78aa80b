//! The one source of every decision of a simulated world.
//!
//! `below(label, n)` picks a number below `n`, and **0 is always the dull choice**: no fault, no
//! delay, first in line. Engines differ only in who answers, so shrinking (set choices to 0,
//! remove spans) works for all of them alike. Every question of every owner is a lane of its own.

mod label;
mod profile;
mod recording;
mod source;

pub use self::label::Label;
pub use self::profile::{Fault, Profile};
pub use self::recording::{Recording, RecordingError};
pub use self::source::{Choice, Lane, Owned, Source};

/// Who decides.
pub trait Choices {
    /// A number below `n`; 0 when `n` is 0 or 1.
    fn below(&mut self, label: Label, n: u32) -> u32;

    /// Whether something with a chance of `rate` in 10,000 happens. Draws nothing at rate 0.
    fn chance(&mut self, label: Label, rate: u32) -> bool {
        rate > 0 && self.below(label, 10_000) >= 10_000 - rate.min(10_000)
    }

    /// A number from `low` to `high`, both possible; `low` is the dull one.
    fn between(&mut self, label: Label, low: u64, high: u64) -> u64 {
        let span = u32::try_from(high.saturating_sub(low)).unwrap_or(u32::MAX - 1);
        low + u64::from(self.below(label, span + 1))
    }
}
