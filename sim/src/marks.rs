//! Counts the core's coverage marks.
//!
//! One global `tracing` subscriber, counts per thread: a thread explores one world at a time and
//! takes the counts between worlds, so threads never meet.

use std::cell::Cell;
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use verdict_core::marks::{Mark, TARGET};

/// Room for more marks than the core will ever have.
const SLOTS: usize = 512;

thread_local! {
    static COUNTS: [Cell<u64>; SLOTS] = const { [const { Cell::new(0) }; SLOTS] };
    static TOTAL: Cell<u64> = const { Cell::new(0) };
}

/// Installs the counter; the first call of the process does, later ones are free.
pub fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Somebody else's subscriber (a test's) stays: then marks are simply not counted.
        let _ = tracing::subscriber::set_global_default(Counter);
    });
}

/// How often a mark was hit on this thread since the last [`take`].
#[must_use]
pub fn count(mark: Mark) -> u64 {
    COUNTS.with(|counts| counts[mark as usize % SLOTS].get())
}

/// How many marks were hit on this thread since the last [`take`].
#[must_use]
pub fn total() -> u64 {
    TOTAL.get()
}

/// The counts of this thread, in the order of [`Mark::ALL`], and back to zero.
#[must_use]
pub fn take() -> Vec<u64> {
    TOTAL.set(0);
    COUNTS.with(|counts| {
        let taken = Mark::ALL.iter().map(|&mark| counts[mark as usize % SLOTS].get()).collect();
        for count in counts {
            count.set(0);
        }
        taken
    })
}

/// The names of the marks that were hit, of counts in the order of [`Mark::ALL`].
#[must_use]
pub fn names_hit(counts: &[u64]) -> Vec<String> {
    let hit = Mark::ALL.iter().zip(counts).filter(|&(_, &count)| count > 0);
    hit.map(|(mark, _)| mark.name().to_owned()).collect()
}

struct Counter;

struct MarkField(Option<u64>);

impl Visit for MarkField {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "mark" {
            self.0 = Some(value);
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn core::fmt::Debug) {}
}

impl Subscriber for Counter {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if metadata.target() == TARGET { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut field = MarkField(None);
        event.record(&mut field);
        if let Some(mark) = field.0 {
            TOTAL.set(TOTAL.get() + 1);
            COUNTS.with(|counts| {
                let count = &counts[mark as usize % SLOTS];
                count.set(count.get() + 1);
            });
        }
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}
