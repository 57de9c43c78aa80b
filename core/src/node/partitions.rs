//! The partitions that are open, and which of them are compacted: who looks for a log to clean is
//! not to walk them all.

use alloc::collections::{BTreeMap, BTreeSet};
use core::ops::Deref;

use crate::partition::{LogConfig, Partition};
use crate::types::PartitionId;

/// The open partitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partitions {
    all: BTreeMap<PartitionId, Partition>,
    compacted: BTreeSet<PartitionId>,
}

impl Deref for Partitions {
    type Target = BTreeMap<PartitionId, Partition>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

impl Partitions {
    pub(crate) fn get_mut(&mut self, id: &PartitionId) -> Option<&mut Partition> {
        self.all.get_mut(id)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Partition> {
        self.all.values_mut()
    }

    pub(super) fn insert(&mut self, id: PartitionId, partition: Partition) {
        self.note(id, partition.config().compacted);
        self.all.insert(id, partition);
    }

    pub(super) fn remove(&mut self, id: &PartitionId) -> Option<Partition> {
        self.compacted.remove(id);
        self.all.remove(id)
    }

    /// Changes a partition's settings, if it is open. Nobody else does.
    pub(super) fn set_config(&mut self, id: PartitionId, config: &LogConfig) {
        if let Some(partition) = self.all.get_mut(&id) {
            partition.set_config(config.clone());
            self.note(id, config.compacted);
        }
    }

    /// Those whose log is compacted.
    pub(super) fn compacted(&self) -> impl Iterator<Item = &Partition> {
        self.compacted.iter().filter_map(|id| self.all.get(id))
    }

    fn note(&mut self, id: PartitionId, compacted: bool) {
        if compacted {
            self.compacted.insert(id);
        } else {
            self.compacted.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{TopicId, TopicPartition};

    #[test]
    fn a_partition_is_among_the_compacted_ones_as_long_as_its_settings_say_so() {
        let id = |partition| PartitionId { topic_id: TopicId(1), partition };
        let config = |compacted| LogConfig { compacted, ..LogConfig::default() };
        let mut partitions = Partitions::default();
        for (partition, compacted) in [(0, true), (1, false), (2, true)] {
            let topic = TopicPartition::new("t", partition);
            let new = Partition::new(id(partition), topic, config(compacted), 0);
            partitions.insert(id(partition), new);
        }
        let compacted = |partitions: &Partitions| -> alloc::vec::Vec<i32> {
            partitions.compacted().map(|partition| partition.id().partition).collect()
        };
        assert_eq!(compacted(&partitions), [0, 2]);
        partitions.set_config(id(1), &config(true));
        partitions.set_config(id(2), &config(false));
        partitions.set_config(id(9), &config(true));
        assert_eq!(compacted(&partitions), [0, 1]);
        partitions.remove(&id(0));
        assert_eq!(compacted(&partitions), [1]);
    }
}
