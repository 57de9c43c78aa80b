//! How many bytes may be in flight over all connections.
//!
//! What is drawn grows with what has arrived, so that a claimed length costs nobody anything. Where
//! several hold a part and want more than is left, one of them may go beyond: it ends and gives
//! back what the others wait for. Never more is held than the total and the largest single draw.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Bytes that may be in flight.
pub(crate) struct Budget {
    bytes: Semaphore,
    /// One draw at a time may go beyond the total.
    beyond: Semaphore,
    total: usize,
    /// Draws that wait.
    waiting: AtomicUsize,
}

impl Budget {
    /// A budget of so many bytes, at least one.
    pub(crate) fn new(total: usize) -> Self {
        let total = total.clamp(1, Semaphore::MAX_PERMITS);
        let (bytes, beyond) = (Semaphore::new(total), Semaphore::new(1));
        Self { bytes, beyond, total, waiting: AtomicUsize::new(0) }
    }

    /// Whether somebody waits for what others have drawn.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// The beginning of a draw.
    pub(crate) fn nothing(&self) -> Drawn<'_> {
        Drawn { of: self, bytes: None, beyond: None }
    }
}

/// What one frame or answer has drawn; given back when dropped.
pub(crate) struct Drawn<'b> {
    of: &'b Budget,
    bytes: Option<SemaphorePermit<'b>>,
    beyond: Option<SemaphorePermit<'b>>,
}

impl<'b> Drawn<'b> {
    /// Waits until so many bytes are drawn in all. More than the budget has counts as all of it.
    pub(crate) async fn cover(&mut self, bytes: usize) {
        let have = self.bytes.as_ref().map_or(0, SemaphorePermit::num_permits);
        let more = bytes.min(self.of.total).saturating_sub(have);
        if more == 0 || self.beyond.is_some() {
            return;
        }
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        if let Ok(drawn) = self.of.bytes.try_acquire_many(more) {
            return self.add(drawn);
        }
        let _waits = Waits::new(&self.of.waiting);
        tokio::select! {
            biased;
            drawn = self.of.bytes.acquire_many(more) => {
                self.add(drawn.expect("the budget is never closed"));
            }
            beyond = self.of.beyond.acquire() => {
                self.beyond = Some(beyond.expect("the budget is never closed"));
            }
        }
    }

    fn add(&mut self, drawn: SemaphorePermit<'b>) {
        match &mut self.bytes {
            Some(bytes) => bytes.merge(drawn),
            none => *none = Some(drawn),
        }
    }
}

/// A draw that has to wait, as long as this is there.
struct Waits<'b>(&'b AtomicUsize);

impl<'b> Waits<'b> {
    fn new(waiting: &'b AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(madsim)))]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll(future: Pin<&mut impl Future<Output = ()>>) -> bool {
        future.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    fn is_ready(future: impl Future<Output = ()>) -> bool {
        poll(pin!(future))
    }

    #[test]
    fn what_is_dropped_can_be_drawn_again() {
        let budget = Budget::new(10);
        let (mut one, mut two, mut three) = (budget.nothing(), budget.nothing(), budget.nothing());
        assert!(is_ready(one.cover(10)));
        assert!(!budget.is_wanted(), "nobody had to wait");
        assert!(is_ready(two.cover(1)), "one goes beyond");
        assert!(!budget.is_wanted());
        {
            let mut waits = pin!(three.cover(1));
            assert!(!poll(waits.as_mut()));
            assert!(budget.is_wanted());
        }
        assert!(!budget.is_wanted(), "whoever waited has gone");
        drop(one);
        assert!(is_ready(three.cover(10)));
    }

    #[test]
    fn of_those_that_want_more_than_is_left_one_ends_and_lets_the_others_go_on() {
        let budget = Budget::new(10);
        let mut all = [budget.nothing(), budget.nothing(), budget.nothing()];
        for drawn in &mut all[..2] {
            assert!(is_ready(drawn.cover(5)));
        }
        let [one, two, three] = &mut all;
        assert!(is_ready(one.cover(8)), "the first goes beyond");
        assert!(is_ready(one.cover(1_000)), "to its end");
        assert!(!is_ready(two.cover(8)));
        assert!(!is_ready(three.cover(1)));
        *one = budget.nothing();
        assert!(is_ready(two.cover(8)));
    }
}
