//! Topics coming and going: records of the metadata log, and what the node does once they are
//! persisted.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use bytes::Bytes;

use super::Node;
use super::completion::Completion;
use super::turn::Refused;
use crate::api;
use crate::batch::BatchBuilder;
use crate::meta::{MetaChange, MetaError, TRANSACTION_VERSION, TopicPlan};
use crate::partition::{Origin, Partition};
use crate::types::{
    CONSUMER_OFFSETS_TOPIC, Offset, PartitionId, TRANSACTION_STATE_TOPIC, TopicId, TopicName,
    TopicPartition,
};

impl Node {
    /// Appends records to the metadata log in the open turn. The image follows when they are
    /// persisted.
    pub(crate) fn append_metadata(&mut self, records: Vec<Bytes>) -> Result<(), Refused> {
        let mut batch = BatchBuilder::new(self.now.wall_ms);
        for record in &records {
            batch.push(None, Some(record), &[]);
        }
        let batch = batch.build();
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

    /// Appends a planned topic's records. There is no topic of that name now, so transactions that
    /// have partitions of it have those of one that is gone: they lose them in the same turn
    /// (report P24). Not so of `__consumer_offsets`: AddOffsetsToTxn names its partition by the
    /// group's id, before anything has asked for the topic.
    pub(crate) fn append_creation(&mut self, plan: &TopicPlan) -> Result<(), Refused> {
        if !plan.name.is_internal() {
            self.txn.forget_partitions(&plan.name);
        }
        self.append_metadata(plan.records.clone())
    }

    pub(super) fn metadata_persisted(&mut self, records: &[Bytes], base_offset: Offset) {
        let (mut broker, mut topics) = (false, BTreeSet::new());
        for (record, offset) in records.iter().zip(base_offset..) {
            match self.meta.replay(offset, record) {
                // Settings come one a record; what follows from them is done once.
                Ok(MetaChange::BrokerConfigChanged) => broker = true,
                Ok(MetaChange::TopicConfigChanged { name }) => {
                    topics.insert(name);
                }
                Ok(change) => {
                    self.tell_groups(&change, offset);
                    self.metadata_changed(change);
                }
                Err(error) => self.fault(alloc::format!("a metadata record is damaged: {error}")),
            }
        }
        if broker {
            self.broker_configs_changed();
        }
        for name in topics {
            self.topic_config_changed(&name);
        }
        self.topics_changed();
    }

    pub(super) fn metadata_failed(&mut self, records: &[Bytes]) {
        for record in records {
            if self.meta.append_failed(record) {
                self.txn.producer_ids_not_allocated();
            }
        }
        self.boot_record_failed();
        self.placed_topics_failed();
        self.topics_changed();
    }

    /// Consumer groups are told of topics that come, grow and go.
    fn tell_groups(&mut self, change: &MetaChange, at: Offset) {
        match change {
            MetaChange::PartitionCreated { id, topic } => {
                // Partitions are created in the order of their numbers.
                self.group.topic_changed(&topic.topic, id.topic_id, id.partition + 1, at);
            }
            MetaChange::TopicDeleted { id, .. } => self.group.topic_gone(*id, at),
            _ => {}
        }
    }

    /// Consumer groups are told of the topics there are, when the metadata log has been read.
    pub(super) fn tell_groups_all(&mut self) {
        let at = self.partitions.get(&PartitionId::METADATA).map_or(0, Partition::high_watermark);
        for topic in self.meta.topics() {
            self.group.topic_changed(&topic.name, topic.id, topic.partitions, at);
        }
    }

    fn metadata_changed(&mut self, change: MetaChange) {
        match change {
            MetaChange::PartitionCreated { id, topic } => self.create_partition(id, topic),
            MetaChange::TopicDeleted { id, partitions, .. } => self.topic_deleted(id, partitions),
            MetaChange::ProducerIds { first, count } => {
                self.txn.producer_ids_allocated(first, count);
            }
            MetaChange::Booted { .. } => self.booted(),
            MetaChange::Feature { name, level } if *name == *TRANSACTION_VERSION => {
                self.txn.set_transaction_version(level);
            }
            MetaChange::GroupConfigChanged { group } => self.group_config_changed(&group),
            // These settings are taken together, by the caller.
            MetaChange::BrokerConfigChanged
            | MetaChange::TopicConfigChanged { .. }
            | MetaChange::TopicCreated { .. }
            | MetaChange::Feature { .. }
            | MetaChange::Other => {}
        }
    }

    /// Opens a new, empty log.
    pub(super) fn create_partition(&mut self, id: PartitionId, topic: TopicPartition) {
        let is_member = self.cluster.is_some();
        if is_member
            || self.partitions.contains_key(&id)
            || self.store.holds(id)
            || !self.is_booted()
        {
            return;
        }
        let config = self.log_config(&topic.topic);
        let epoch = self.meta.leader_epoch();
        let (segment_bytes, _) = self.segment_limits(&config);
        self.store.create_log(id, &topic, segment_bytes);
        self.when_persisted(Completion::LogCreated { partition: id });
        let partition = topic.partition;
        let name = topic.topic.clone();
        self.partitions.insert(id, Partition::new(id, topic, config, epoch));
        match name.as_str() {
            TRANSACTION_STATE_TOPIC => {
                self.txn.load(self.now, partition, epoch);
                self.txn.loaded(self.now, partition);
            }
            CONSUMER_OFFSETS_TOPIC => {
                self.group.load(partition);
                self.group.loaded(self.now, partition);
            }
            _ => {}
        }
    }

    fn topic_deleted(&mut self, topic_id: TopicId, partitions: i32) {
        let mut deleted = Vec::new();
        for partition in 0..partitions {
            let id = PartitionId { topic_id, partition };
            if let Some(partition) = self.partitions.remove(&id) {
                deleted.push(partition.topic().clone());
            }
            self.store.delete_log(id);
            api::fetch::wake(self, id);
        }
        self.group.partitions_deleted(self.now, &deleted);
    }

    pub(super) fn topic_config_changed(&mut self, name: &TopicName) {
        let Some(topic) = self.meta.topic(name.as_str()) else { return };
        let (topic_id, partitions) = (topic.id, topic.partitions);
        let config = self.log_config(name);
        for partition in 0..partitions {
            let id = PartitionId { topic_id, partition };
            self.partitions.set_config(id, &config);
            self.set_segment_limits(id);
        }
    }

    /// Plans one of the coordinators' topics, unless it is being created already.
    pub(crate) fn create_internal_topic(&mut self, topic: &str) -> Result<(), MetaError> {
        if self.meta.is_being_created(topic) {
            return Ok(());
        }
        let spec = match topic {
            TRANSACTION_STATE_TOPIC => self.meta.transaction_state_spec(
                self.config.transaction_state_log_num_partitions,
                self.config.transaction_state_log_segment_bytes,
            ),
            _ => self.meta.consumer_offsets_spec(
                self.config.offsets_topic_num_partitions,
                self.config.offsets_topic_segment_bytes,
            ),
        };
        let plan = self.meta.plan_create(&spec, false)?;
        // A refusal has taken the plan back; whoever waits for the topic is told.
        let _ = self.append_creation(&plan);
        Ok(())
    }

    pub(super) fn allocate_producer_ids(&mut self) {
        if !self.is_booted() {
            return self.want_producer_ids();
        }
        match self.meta.plan_producer_ids() {
            Ok(records) => {
                // A refusal has told the coordinator already.
                let _ = self.append_metadata(records);
            }
            Err(_) => self.txn.producer_ids_not_allocated(),
        }
    }
}
