//! Topics coming and going: records of the metadata log, and what the node does once they are
//! persisted.

use alloc::vec::Vec;

use bytes::Bytes;

use super::Node;
use super::completion::Completion;
use super::turn::Refused;
use crate::api;
use crate::batch::BatchBuilder;
use crate::error::ErrorCode;
use crate::meta::MetaChange;
use crate::partition::{Origin, Partition};
use crate::types::{
    CONSUMER_OFFSETS_TOPIC, Offset, PartitionId, TRANSACTION_STATE_TOPIC, TopicPartition,
};

impl Node {
    /// Appends records to the metadata log in the open turn. The image follows when they are
    /// persisted.
    pub(crate) fn append_metadata(&mut self, records: Vec<Bytes>) -> Result<(), Refused> {
        let batch = records
            .iter()
            .fold(BatchBuilder::new(self.now.wall_ms), |batch, record| {
                batch.record(None, Some(record.clone()))
            })
            .build();
        match self.append(PartitionId::METADATA, &batch, Origin::Coordinator, None) {
            Ok(appended) => {
                let base_offset = appended.base_offset();
                self.when_persisted(Completion::Metadata { records, base_offset });
                Ok(())
            }
            Err(refused) => {
                self.metadata_failed(&records);
                Err(refused)
            }
        }
    }

    pub(super) fn metadata_persisted(&mut self, records: &[Bytes], base_offset: Offset) {
        for (record, offset) in records.iter().zip(base_offset..) {
            let changes = self.meta.replay(record, offset);
            for change in changes {
                self.metadata_changed(change);
            }
        }
        self.topics_changed();
    }

    pub(super) fn metadata_failed(&mut self, records: &[Bytes]) {
        self.meta.append_failed(records);
        self.producer_ids_failed();
        self.topics_changed();
    }

    fn metadata_changed(&mut self, change: MetaChange) {
        match change {
            MetaChange::PartitionCreated { id, topic } => self.create_partition(id, topic),
            MetaChange::TopicDeleted { topic_id, name, partitions } => {
                for partition in 0..partitions {
                    let id = PartitionId { topic_id, partition };
                    self.partitions.remove(&id);
                    self.store.delete_log(id);
                    api::fetch::wake(self, id);
                }
                api::topics::deleted(self, &name);
            }
            MetaChange::ProducerIds { first, count } => self.producer_ids_persisted(first, count),
            MetaChange::Booted { .. } => self.booted(),
            MetaChange::TransactionVersion(level) => self.txn.set_transaction_version(level),
            MetaChange::TopicCreated { .. } | MetaChange::Other => {}
        }
    }

    /// Opens a new, empty log.
    pub(super) fn create_partition(&mut self, id: PartitionId, topic: TopicPartition) {
        if self.partitions.contains_key(&id) || self.is_unopened(id) {
            return;
        }
        let config = self.meta.log_config(&topic.topic);
        let epoch = self.meta.leader_epoch();
        self.store.create_log(id, &topic, config.segment_bytes);
        let partition = topic.partition;
        let name = topic.topic.clone();
        self.partitions.insert(id, Partition::new(id, topic, config, epoch));
        match name.as_str() {
            TRANSACTION_STATE_TOPIC => {
                self.txn.load(self.now, partition, epoch);
                self.txn.loaded(self.now, partition);
            }
            CONSUMER_OFFSETS_TOPIC => {
                self.group.load(partition, epoch);
                self.group.loaded(partition);
            }
            _ => {}
        }
    }

    pub(super) fn allocate_producer_ids(&mut self) {
        if !self.is_booted() {
            return self.want_producer_ids();
        }
        let records = self.meta.plan_producer_ids();
        let _ = self.append_metadata(records).map_err(|refused| ErrorCode::from(&refused));
    }
}
