//! How fast a peer gives or takes bytes, window by window.
//!
//! A peer that stalls keeps what it drew from a budget. As long as nobody wants it that harms
//! nobody, and it has the time that its bytes may take. Where others wait, whoever is slower than
//! this in a window is cut.

use std::time::Duration;

/// Time that is looked at.
pub(crate) const WINDOW: Duration = Duration::from_secs(2);
/// Bytes that cross in it at least: 64 KiB a second.
const WINDOW_BYTES_MIN: usize = 128 * 1024;

/// What had crossed when the window began.
#[derive(Default)]
pub(crate) struct Pace {
    began: Duration,
    crossed: usize,
}

impl Pace {
    /// Whether a window has just ended in which too little crossed. So much did in all, in so much
    /// time.
    pub(crate) fn was_slow(&mut self, spent: Duration, crossed: usize) -> bool {
        if spent.saturating_sub(self.began) < WINDOW {
            return false;
        }
        let slow = crossed.saturating_sub(self.crossed) < WINDOW_BYTES_MIN;
        *self = Self { began: spent, crossed };
        slow
    }
}

#[cfg(all(test, not(madsim)))]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_window_with_too_few_bytes_is_slow() {
        let mut pace = Pace::default();
        let second = Duration::from_secs(1);
        assert!(!pace.was_slow(second, 0), "the window is not over");
        assert!(!pace.was_slow(2 * second, WINDOW_BYTES_MIN), "enough");
        assert!(!pace.was_slow(3 * second, WINDOW_BYTES_MIN), "a new window");
        assert!(pace.was_slow(4 * second, 2 * WINDOW_BYTES_MIN - 1), "one byte short");
    }
}
