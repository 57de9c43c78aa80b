//! From files to serving: the metadata log, this life's number, the other logs, the coordinators.
//!
//! Order of a boot: the store recovers logs (metadata first) → the metadata records are read into
//! the image → a record with this boot's number is persisted, which raises every leader and
//! coordinator epoch → internal logs are opened and their coordinators load → client logs are
//! opened, a few with each input, so that a start with many logs answers early. A coordinator may
//! therefore be ready before a partition it wants to send markers to: such a partition is not
//! gone, it is asked again (reports P09, P18).

use alloc::collections::VecDeque;

use super::Node;
use crate::api::{self, ReadPurpose};
use crate::io::Output;
use crate::mark;
use crate::partition::Partition;
use crate::store::RecoveredLog;
use crate::types::{
    CONSUMER_OFFSETS_TOPIC, Offset, PartitionId, TRANSACTION_STATE_TOPIC, TopicPartition,
};

/// Bytes of one read while a coordinator loads its log.
const LOAD_CHUNK_BYTES: u32 = 1 << 20;

/// Where the node is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// Nothing was read yet.
    New,
    /// Files are being read.
    Recovering,
    /// The metadata image is complete; this boot's record is being written.
    Booting,
    /// Requests are served.
    Serving,
    /// The last checkpoint is being written.
    Stopping,
    /// Nothing more will happen.
    Stopped,
}

/// What a boot still has to do.
#[derive(Clone, Debug, Default)]
pub(super) struct Boot {
    /// Logs the store has recovered and that are not open yet; internal ones first.
    unopened: VecDeque<RecoveredLog>,
    metadata_read: bool,
    store_recovered: bool,
    booted: bool,
    wants_producer_ids: bool,
    wants_checkpoint: bool,
}

impl Boot {
    pub(super) fn wants_to_go_on(&self) -> bool {
        self.booted && !self.unopened.is_empty()
    }
}

/// A log that a coordinator or the metadata image is being loaded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Loading {
    /// The metadata image.
    Metadata,
    /// A partition of the transaction log.
    Transactions(i32),
    /// A partition of the offsets log.
    Offsets(i32),
}

impl Node {
    pub(super) fn start(&mut self) {
        self.phase = Phase::Recovering;
        self.store.start();
    }

    pub(super) fn log_recovered(&mut self, log: RecoveredLog) {
        if log.id == PartitionId::METADATA {
            let topic = log.topic.clone();
            let config = self.meta.log_config(&topic.topic);
            let partition =
                Partition::recover(log.id, topic, config, 0, &log, self.now.wall_ms);
            self.partitions.insert(log.id, partition);
            self.load_on(Loading::Metadata, log.id, log.log_start);
        } else if log.topic.topic.is_internal() {
            self.boot.unopened.push_front(log);
        } else {
            self.boot.unopened.push_back(log);
        }
    }

    /// All logs were recovered. A directory without a metadata log is a new one.
    pub(super) fn recovered(&mut self) {
        self.boot.store_recovered = true;
        if !self.partitions.contains_key(&PartitionId::METADATA) {
            let topic = TopicPartition::new(crate::types::METADATA_TOPIC, 0);
            let config = self.meta.log_config(&topic.topic);
            self.store.create_log(PartitionId::METADATA, &topic, config.segment_bytes);
            let partition = Partition::new(PartitionId::METADATA, topic, config, 0);
            self.partitions.insert(PartitionId::METADATA, partition);
            self.boot.metadata_read = true;
        }
        self.write_boot_record();
    }

    fn write_boot_record(&mut self) {
        if !self.boot.metadata_read || !self.boot.store_recovered || self.boot.booted {
            return;
        }
        self.phase = Phase::Booting;
        let records = self.meta.plan_boot(self.now.wall_ms);
        if self.append_metadata(records).is_err() {
            self.boxed_fault("the boot record could not be appended".into());
        }
    }

    /// This life's number is on disk: epochs are above all that was written before.
    pub(super) fn booted(&mut self) {
        let first_time = !self.boot.booted;
        self.boot.booted = true;
        self.phase = Phase::Serving;
        if !first_time {
            return;
        }
        let epoch = self.meta.leader_epoch();
        if let Some(metadata) = self.partitions.get_mut(&PartitionId::METADATA) {
            metadata.lead(epoch);
        }
        self.drop_stray_logs();
        self.create_missing_logs();
        while self.boot.unopened.front().is_some_and(|log| log.topic.topic.is_internal()) {
            self.open_next();
        }
        if self.boot.wants_producer_ids {
            self.allocate_producer_ids();
        }
        self.txn.start(self.now);
        self.output(Output::Ready);
        self.start_expiry();
        if core::mem::take(&mut self.boot.wants_checkpoint) {
            self.checkpoint();
        }
    }

    /// A folder of a topic that the metadata does not have: its deletion was persisted, the
    /// removal of its files was not.
    fn drop_stray_logs(&mut self) {
        let unopened = core::mem::take(&mut self.boot.unopened);
        for log in unopened {
            if self.meta.has_partition(log.id) {
                self.boot.unopened.push_back(log);
            } else {
                mark!(StrayLogDropped);
                self.store.delete_log(log.id);
            }
        }
    }

    /// A topic whose creation was persisted, but not the logs that follow from it.
    fn create_missing_logs(&mut self) {
        for (id, topic) in self.meta.partitions() {
            if !self.is_unopened(id) && !self.partitions.contains_key(&id) {
                mark!(MissingLogCreated);
                self.create_partition(id, topic);
            }
        }
    }

    /// Whether a log is recovered but not open yet.
    pub(super) fn is_unopened(&self, id: PartitionId) -> bool {
        self.boot.unopened.iter().any(|log| log.id == id)
    }

    pub(super) fn is_booted(&self) -> bool {
        self.boot.booted
    }

    pub(super) fn want_producer_ids(&mut self) {
        self.boot.wants_producer_ids = true;
    }

    /// Opens a bounded number of client logs with each input.
    pub(super) fn open_recovered_logs(&mut self) {
        if !self.boot.booted {
            return;
        }
        for _ in 0..self.config.recovery_logs_per_turn {
            if self.boot.unopened.is_empty() {
                return;
            }
            self.open_next();
        }
    }

    fn open_next(&mut self) {
        let Some(log) = self.boot.unopened.pop_front() else { return };
        if !self.meta.has_partition(log.id) {
            self.store.delete_log(log.id);
            return;
        }
        let epoch = self.meta.leader_epoch();
        let topic = log.topic.clone();
        let config = self.meta.log_config(&topic.topic);
        let now_ms = self.now.wall_ms;
        let partition = Partition::recover(log.id, topic.clone(), config, epoch, &log, now_ms);
        self.partitions.insert(log.id, partition);
        match topic.topic.as_str() {
            TRANSACTION_STATE_TOPIC => {
                self.txn.load(self.now, topic.partition, epoch);
                self.load_on(Loading::Transactions(topic.partition), log.id, log.log_start);
            }
            CONSUMER_OFFSETS_TOPIC => {
                self.group.load(topic.partition, epoch);
                self.load_on(Loading::Offsets(topic.partition), log.id, log.log_start);
            }
            _ => api::fetch::wake(self, log.id),
        }
    }

    /// Reads the next piece of a log that is being loaded, or ends the load at its end.
    pub(crate) fn load_on(&mut self, loading: Loading, id: PartitionId, next: Offset) {
        let mut next = next;
        loop {
            let end = self.partitions.get(&id).map_or(next, Partition::high_watermark);
            if next >= end {
                return self.load_ended(loading);
            }
            match self.store.read(id, next, end, LOAD_CHUNK_BYTES, true) {
                crate::store::ReadOutcome::Ready(parts) => {
                    match self.load_parts(loading, &parts) {
                        Some(after) if after > next => next = after,
                        _ => return self.load_failed(loading, &"no batch at the load's offset"),
                    }
                }
                crate::store::ReadOutcome::Pending(read) => {
                    self.reads.insert(read, ReadPurpose::Load { loading, id, next });
                    return;
                }
                crate::store::ReadOutcome::Failed(error) => {
                    return self.load_failed(loading, &error);
                }
            }
        }
    }

    /// Takes the batches of one read; the offset after the last of them.
    pub(crate) fn load_parts(
        &mut self,
        loading: Loading,
        parts: &[bytes::Bytes],
    ) -> Option<Offset> {
        let mut after = None;
        for batch in crate::batch::batches(crate::batch::join(parts)) {
            let batch = batch.ok()?;
            match loading {
                Loading::Metadata => {
                    for (record, offset) in
                        crate::batch::records(&batch).zip(batch.header().base_offset..)
                    {
                        if let Some(value) = record.ok()?.value {
                            let _ = self.meta.replay(&value, offset);
                        }
                    }
                }
                Loading::Transactions(partition) => {
                    for record in crate::batch::records(&batch) {
                        let record = record.ok()?;
                        if let Some(key) = record.key {
                            self.txn.load_record(partition, &key, record.value.as_ref());
                        }
                    }
                }
                Loading::Offsets(partition) => self.group.load_batch(partition, &batch),
            }
            after = Some(batch.header().last_offset() + 1);
        }
        after
    }

    fn load_ended(&mut self, loading: Loading) {
        match loading {
            Loading::Metadata => {
                self.boot.metadata_read = true;
                let level = self.meta.transaction_version();
                self.txn.set_transaction_version(level);
                self.write_boot_record();
            }
            Loading::Transactions(partition) => self.txn.loaded(self.now, partition),
            Loading::Offsets(partition) => self.group.loaded(partition),
        }
    }

    /// A coordinator's log cannot be read: the coordinator stays loading (clients retry), the
    /// operator is told.
    pub(crate) fn load_failed(&mut self, loading: Loading, error: &dyn core::fmt::Display) {
        mark!(LoadFailed);
        let text = super::effects::fault_text("a log could not be loaded", error);
        self.boxed_fault(alloc::format!("{loading:?}: {text}").into());
    }

    pub(super) fn producer_ids_persisted(&mut self, first: i64, count: i64) {
        self.txn.producer_ids_allocated(first, count);
    }

    pub(super) fn producer_ids_failed(&mut self) {
        self.txn.producer_ids_failed();
    }

    /// A clean stop: a last checkpoint. Before the boot is complete there is nothing that the
    /// journal does not hold already.
    pub(super) fn stop(&mut self) {
        if !self.boot.booted {
            return self.stopped();
        }
        self.phase = Phase::Stopping;
        self.store.stop();
    }

    pub(super) fn stopped(&mut self) {
        self.phase = Phase::Stopped;
        self.output(Output::Stopped);
    }

    /// Hands the store what a checkpoint needs of the machines: the producers of every log that
    /// changed, as of what is persisted now.
    pub(super) fn checkpoint(&mut self) {
        if !self.boot.booted {
            self.boot.wants_checkpoint = true;
            return;
        }
        while !self.boot.unopened.is_empty() {
            self.open_next();
        }
        let dirty = self.store.dirty_logs();
        let snapshots = dirty
            .into_iter()
            .filter_map(|id| {
                let partition = self.partitions.get(&id)?;
                Some((
                    id,
                    partition.high_watermark(),
                    partition.snapshot(),
                    partition.leader_epochs().to_vec(),
                ))
            })
            .collect();
        self.store.begin_checkpoint(snapshots);
    }
}
