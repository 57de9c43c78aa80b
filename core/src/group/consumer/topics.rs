//! The topics there are, as far as consumer groups are concerned.
//!
//! # Rules
//! * The image is told of every change, and never asks. A group looks at its topics again when
//!   the image has changed since it last did.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::member::Partitions;
use crate::types::{TopicId, TopicName};

/// Ids, names and partition counts of all topics.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) struct Topics {
    by_name: BTreeMap<TopicName, (TopicId, i32)>,
    names: BTreeMap<TopicId, TopicName>,
    /// Grows with every change, also from one life of a node to the next: ahead of the offset in
    /// the metadata log.
    pub(in crate::group) version: u64,
    /// The version that last brought a new topic.
    pub(in crate::group) created_version: u64,
}

impl Topics {
    pub(in crate::group) const fn new() -> Self {
        Self { by_name: BTreeMap::new(), names: BTreeMap::new(), version: 1, created_version: 1 }
    }

    /// A topic is there, or has this many partitions now.
    pub(in crate::group) fn put(
        &mut self,
        name: &TopicName,
        id: TopicId,
        partitions: i32,
        at: u64,
    ) {
        self.version = self.version.max(at) + 1;
        if self.names.insert(id, name.clone()).is_none() {
            self.created_version = self.version;
        }
        self.by_name.insert(name.clone(), (id, partitions));
    }

    pub(in crate::group) fn remove(&mut self, id: TopicId, at: u64) {
        let Some(name) = self.names.remove(&id) else { return };
        self.version = self.version.max(at) + 1;
        if self.by_name.get(&name).is_some_and(|(current, _)| *current == id) {
            self.by_name.remove(&name);
        }
    }

    pub(in crate::group) fn id(&self, name: &TopicName) -> Option<TopicId> {
        self.by_name.get(name).map(|(id, _)| *id)
    }

    pub(in crate::group) fn name(&self, id: TopicId) -> Option<&TopicName> {
        self.names.get(&id)
    }

    /// How many partitions a topic has; none when it is not there.
    pub(in crate::group) fn partitions(&self, id: TopicId) -> i32 {
        let known = self.names.get(&id).and_then(|name| self.by_name.get(name));
        known.map_or(0, |(_, partitions)| *partitions)
    }

    pub(in crate::group) fn ids(&self, names: &BTreeSet<TopicName>) -> BTreeSet<TopicId> {
        names.iter().filter_map(|name| self.id(name)).collect()
    }

    pub(super) fn all_names(&self) -> impl Iterator<Item = &TopicName> {
        self.by_name.keys()
    }

    /// Partitions named as the classic protocol does; topics that are gone are left out.
    pub(super) fn named(&self, partitions: &Partitions) -> Vec<(TopicName, Vec<i32>)> {
        let named = partitions
            .iter()
            .filter_map(|(id, one)| Some((self.name(*id)?.clone(), one.iter().copied().collect())));
        named.collect()
    }

    /// What tells whether anything about these topics has changed; 0 when none of them is there.
    /// Verdict's own function (FNV-1a): Kafka, which has another, rebalances once after reading it.
    pub(super) fn hash(&self, names: &BTreeSet<TopicName>) -> i64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut any = false;
        for name in names {
            let Some((id, partitions)) = self.by_name.get(name) else { continue };
            any = true;
            let parts: [&[u8]; 3] =
                [name.as_str().as_bytes(), &id.0.to_be_bytes(), &partitions.to_be_bytes()];
            for byte in parts.into_iter().flatten() {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        if any { hash.cast_signed() } else { 0 }
    }
}
