//! Features and their levels (spec 1.2, KIP-584): what this release supports, and what a new
//! cluster finalizes. Finalized levels are records of the metadata log.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::types::Offset;

/// The feature that gates transactions (KIP-890): 0, 1 or 2.
pub const TRANSACTION_VERSION: &str = "transaction.version";

/// The feature that gates consumer groups (KIP-848): 0 or 1.
pub const GROUP_VERSION: &str = "group.version";

/// A feature that this release knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SupportedFeature {
    /// Its name.
    pub name: &'static str,
    /// The lowest level.
    pub min: i16,
    /// The highest level.
    pub max: i16,
    /// The level of a new cluster. 0 is not listed among the finalized ones.
    pub initial: i16,
}

const fn feature(name: &'static str, min: i16, max: i16, initial: i16) -> SupportedFeature {
    SupportedFeature { name, min, max, initial }
}

/// Every feature, the metadata version first as a metadata log has it.
pub const SUPPORTED: &[SupportedFeature] = &[
    feature("metadata.version", 7, 33, 33),
    feature("eligible.leader.replicas.version", 0, 1, 1),
    feature(GROUP_VERSION, 0, 1, 1),
    feature("kraft.version", 0, 1, 0),
    feature("share.version", 0, 2, 2),
    feature("streams.version", 0, 1, 1),
    feature(TRANSACTION_VERSION, 0, 2, 2),
];

/// What ApiVersions tells of features.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Features {
    /// Every feature with its range. ApiVersions below v4 leaves out those whose `min` is 0.
    pub supported: &'static [SupportedFeature],
    /// Finalized levels above 0.
    pub finalized: Vec<(Arc<str>, i16)>,
    /// Offset of the last feature record, so it grows with every change; -1 before the first
    /// record is persisted.
    pub epoch: Offset,
}
