//! Time as the core sees it: a parameter, never a clock.
//!
//! Two clocks come in with every input. The monotonic one drives timers; the wall clock is
//! written into records and compared with what was written before a restart. A simulator may
//! let the wall clock jump; the monotonic clock never goes back within one life of a node.

use core::fmt;
use core::ops::Add;

/// A point of the monotonic clock, in microseconds since the node's driver started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Whole milliseconds since the clock's own beginning.
    #[must_use]
    pub const fn as_ms(self) -> u64 {
        self.0 / 1_000
    }

    /// The time `ms` milliseconds after this one; saturates at the end of time.
    #[must_use]
    pub const fn after_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms.saturating_mul(1_000)))
    }

    /// Whole milliseconds from `earlier` to this point; 0 when `earlier` is not earlier.
    #[must_use]
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0) / 1_000
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

impl Add<u64> for Timestamp {
    type Output = Self;

    /// Adds microseconds.
    fn add(self, us: u64) -> Self {
        Self(self.0.saturating_add(us))
    }
}

/// Both clocks at the moment of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Now {
    /// Monotonic time; every timer is a point of it.
    pub at: Timestamp,
    /// Milliseconds since the Unix epoch, as record timestamps are.
    pub wall_ms: i64,
}
