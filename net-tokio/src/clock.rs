//! Both clocks of the core, read in one place.

use tokio::time::{Duration, Instant};
use verdict_core::time::{Now, Timestamp};

/// Reads the clocks of one life of a broker: monotonic time counts from its creation.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Both clocks, now.
    #[must_use]
    pub fn now(&self) -> Now {
        let elapsed = Instant::now().saturating_duration_since(self.start);
        let at = Timestamp(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX));
        Now { at, wall_ms: wall_ms() }
    }

    /// The runtime's instant of a point of the core's monotonic time.
    #[must_use]
    pub fn instant(&self, at: Timestamp) -> Instant {
        // Far beyond any uptime, and short of what an Instant can hold.
        const HORIZON_US: u64 = 100 * 365 * 24 * 3_600 * 1_000_000;
        self.start + Duration::from_micros(at.0.min(HORIZON_US))
    }
}

/// Milliseconds since the Unix epoch; negative before it.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
pub(crate) fn wall_ms() -> i64 {
    let now = std::time::SystemTime::now();
    match now.duration_since(std::time::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    }
}
