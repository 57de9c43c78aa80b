//! The keys of the simulated records: shared by some, so that on a compacted topic records
//! supersede each other, and some records are tombstones.
//!
//! Both follow from the application id, so a judge knows them of a record that it never saw.

/// The keys that are shared.
const SHARED: u64 = 7;
/// Above them, each record has its own.
const OWN: u64 = 1 << 32;

/// The key of a record.
#[must_use]
pub const fn key_of(app: u64) -> u64 {
    if app.is_multiple_of(3) { OWN | app } else { app % SHARED }
}

/// Whether a record has no value.
#[must_use]
pub const fn is_tombstone(app: u64) -> bool {
    app % 8 == 5
}
