//! The seeded world that Verdict's core is explored in.
//!
//! * [`choices`]: the one source of every decision, and its engines.
//! * [`world`]: virtual time, brokers that die between any two outputs, a network that loses and
//!   delays, disks that forget what was not synced.
//! * [`clients`]: producers, readers and offset keepers that behave as real ones do.
//! * [`history`] and [`oracles`]: what clients saw, and the judges of it. These two know nothing
//!   of the rest, so that histories of real brokers can be judged as well.
//! * [`scenario`]: situations with the faults pinned to named points.
//! * [`explore`]: many seeds on many threads; [`nightly`]: for hours.
//! * [`record`] and [`shrink`]: a finding as a file, and made small.
//! * [`out`]: standard output, whose reader may stop reading.
//! * [`canary`]: worlds that have to be found at fault.

pub mod canary;
pub mod choices;
pub mod clients;
pub mod disk;
pub mod explore;
pub mod history;
pub mod marks;
pub mod nightly;
pub mod oracles;
pub mod out;
pub mod record;
pub mod report;
pub mod save;
pub mod scenario;
pub mod shrink;
pub mod trace;
pub mod world;
