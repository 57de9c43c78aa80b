//! From files to serving: the metadata log, the other logs, this life's number, the coordinators.
//!
//! Order of a boot: the store recovers logs (metadata first) → the metadata records are read into
//! the image → the partitions are rebuilt, a checkpoint lets go of the old journal → a record with
//! this boot's number is persisted, which raises every leader and coordinator epoch → internal
//! logs are opened and their coordinators load → client logs are opened, a few with each input, so
//! that a start with many logs answers early. A coordinator may therefore be ready before a
//! partition it wants to send markers to: such a partition is not gone, it is asked again
//! (reports P09, P18).

use alloc::collections::{BTreeMap, VecDeque};

use super::Node;
use crate::api;
use crate::io::Output;
use crate::mark;
use crate::partition::{LogConfig, Partition};
use crate::store::{LogSnapshot, RecoveredLog};
use crate::types::{
    CONSUMER_OFFSETS_TOPIC, METADATA_TOPIC, PartitionId, TRANSACTION_STATE_TOPIC, TopicPartition,
};

use super::load::Loading;
use super::timers::Timer;

/// How long after a failure the creation of a log is tried again, in ms.
const CREATE_LOG_RETRY_MS: u64 = 1_000;

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
    /// Logs the store has recovered, until the metadata says what they are.
    recovered: VecDeque<RecoveredLog>,
    /// Partitions that are rebuilt and not open yet; internal ones first.
    unopened: VecDeque<PartitionId>,
    rebuilt: BTreeMap<PartitionId, Partition>,
    pub(super) metadata_read: bool,
    store_recovered: bool,
    prepared: bool,
    booted: bool,
    wants_producer_ids: bool,
    wants_checkpoint: bool,
}

impl Boot {
    pub(super) fn wants_to_go_on(&self) -> bool {
        self.booted && !self.unopened.is_empty()
    }

    fn next_is_internal(&self) -> bool {
        let next = self.unopened.front().and_then(|id| self.rebuilt.get(id));
        next.is_some_and(|partition| partition.topic().topic.is_internal())
    }
}

impl Node {
    pub(super) fn start(&mut self) {
        self.phase = Phase::Recovering;
        self.store.start();
    }

    pub(super) fn log_recovered(&mut self, log: RecoveredLog) {
        if log.id != PartitionId::METADATA {
            return self.boot.recovered.push_back(log);
        }
        let config = self.log_config(&log.topic.topic);
        let now_ms = self.now.wall_ms;
        let partition = Partition::recover(log.id, log.topic.clone(), config, 0, &log, now_ms);
        self.partitions.insert(log.id, partition);
        self.load_on(Loading::Metadata, log.id, log.log_start);
    }

    /// All logs were recovered. A directory without a metadata log is a new one.
    pub(super) fn recovered(&mut self) {
        self.boot.store_recovered = true;
        if !self.partitions.contains_key(&PartitionId::METADATA) {
            // A damaged metadata log is not a missing one: taken for a new directory, all topics
            // would be strays and go. The store has told the operator; nothing is served.
            if self.store.holds(PartitionId::METADATA) {
                return;
            }
            self.boot.metadata_read = true;
        }
        self.prepare_logs();
    }

    /// Rebuilds the partitions once the logs and the metadata are there, and writes this boot's
    /// record.
    pub(super) fn prepare_logs(&mut self) {
        if !self.boot.metadata_read || !self.boot.store_recovered || self.boot.prepared {
            return;
        }
        self.boot.prepared = true;
        self.phase = Phase::Booting;
        let epoch = self.meta.leader_epoch();
        let now_ms = self.now.wall_ms;
        let mut configs = BTreeMap::new();
        for log in core::mem::take(&mut self.boot.recovered) {
            let topic = log.topic.clone();
            let config: LogConfig = configs
                .entry(topic.topic.clone())
                .or_insert_with(|| self.log_config(&topic.topic))
                .clone();
            let (segment_bytes, segment_ms) = self.segment_limits(&config);
            self.store.set_segment_limits(log.id, segment_bytes, segment_ms);
            let mut partition = Partition::recover(log.id, topic, config, epoch, &log, now_ms);
            // What the transaction index on disk lacks: before a checkpoint takes a snapshot
            // behind which nobody will look for it again.
            for aborted in partition.drain_new_aborted() {
                self.store.record_aborted(log.id, &aborted);
            }
            if log.topic.topic.is_internal() {
                self.boot.unopened.push_front(log.id);
            } else {
                self.boot.unopened.push_back(log.id);
            }
            self.boot.rebuilt.insert(log.id, partition);
        }
        if core::mem::take(&mut self.boot.wants_checkpoint) {
            self.checkpoint();
        }
        self.write_boot_record();
    }

    /// Writes this boot's record, unless it is on disk.
    pub(super) fn write_boot_record(&mut self) {
        if self.is_booted() {
            return;
        }
        self.create_metadata_log();
        let records = self.meta.plan_boot();
        if self.append_metadata(records).is_err() {
            self.fault("the boot record could not be appended".into());
        }
    }

    /// The metadata log of a new directory, in the turn of the first boot's record: a record without
    /// its log would be lost with the next start, and every topic with it. When that turn fails,
    /// the next attempt creates it again.
    fn create_metadata_log(&mut self) {
        if self.store.holds(PartitionId::METADATA) {
            return;
        }
        let topic = TopicPartition::new(METADATA_TOPIC, 0);
        let config = self.log_config(&topic.topic);
        self.store.create_log(PartitionId::METADATA, &topic, config.segment_bytes);
        let partition = Partition::new(PartitionId::METADATA, topic, config, 0);
        self.partitions.insert(PartitionId::METADATA, partition);
    }

    /// A metadata record could not be written. While booting that was the boot's own: a full disk
    /// at the start must not keep the node from serving when there is room again.
    pub(super) fn boot_record_failed(&mut self) {
        if self.phase == Phase::Booting {
            mark!(BootRecordRetried);
            self.timers.set(self.now.at.after_ms(CREATE_LOG_RETRY_MS), Timer::Boot);
        }
    }

    /// This life's number is on disk: epochs are above all that was written before.
    pub(super) fn booted(&mut self) {
        if core::mem::replace(&mut self.boot.booted, true) {
            return;
        }
        self.phase = Phase::Serving;
        let epoch = self.meta.leader_epoch();
        if let Some(metadata) = self.partitions.get_mut(&PartitionId::METADATA) {
            metadata.lead(epoch);
        }
        self.drop_stray_logs();
        self.create_missing_logs();
        while self.boot.next_is_internal() {
            self.open_next();
        }
        self.txn.prefetch_producer_ids();
        if self.boot.wants_producer_ids {
            self.allocate_producer_ids();
        }
        self.output(Output::Ready);
        self.write_placed_topics();
        self.start_expiry();
        self.plan_cleaning(false);
    }

    /// A folder of a topic that the metadata does not have: its deletion was persisted, the
    /// removal of its files was not.
    fn drop_stray_logs(&mut self) {
        let unopened = core::mem::take(&mut self.boot.unopened);
        for id in unopened {
            // A member leads what it is told to, with the log that comes with it.
            if self.cluster.is_none() && self.meta.has_partition(id) {
                self.boot.unopened.push_back(id);
            } else {
                mark!(StrayLogDropped);
                self.boot.rebuilt.remove(&id);
                self.store.delete_log(id);
            }
        }
    }

    /// A topic whose creation was persisted, but not the logs that follow from it.
    pub(super) fn create_missing_logs(&mut self) {
        if self.cluster.is_some() {
            return;
        }
        for (id, topic) in self.meta.partitions() {
            if !self.store.holds(id) && !self.partitions.contains_key(&id) {
                mark!(MissingLogCreated);
                self.create_partition(id, topic);
            }
        }
    }

    /// The turn that was to create a log failed: the partition is not here until that works.
    pub(super) fn log_not_created(&mut self, id: PartitionId) {
        mark!(LogCreationFailed);
        if let Some(partition) = self.partitions.remove(&id) {
            self.resign(partition.topic());
        }
        self.timers.set(self.now.at.after_ms(CREATE_LOG_RETRY_MS), Timer::CreateLogs);
    }

    fn resign(&mut self, topic: &TopicPartition) {
        match topic.topic.as_str() {
            TRANSACTION_STATE_TOPIC => self.txn.resign(topic.partition),
            CONSUMER_OFFSETS_TOPIC => self.group.resign(topic.partition),
            _ => {}
        }
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
        for _ in 0..self.config.verdict_recovery_logs_per_turn {
            if self.boot.unopened.is_empty() {
                return;
            }
            self.open_next();
        }
    }

    fn open_next(&mut self) {
        let Some(id) = self.boot.unopened.pop_front() else { return };
        let Some(partition) = self.boot.rebuilt.remove(&id) else { return };
        let epoch = self.meta.leader_epoch();
        self.open(partition, epoch);
    }

    /// A partition is led here from now on, and so is the coordinator that lives on it.
    pub(super) fn open(&mut self, mut partition: Partition, epoch: i32) {
        partition.lead(epoch);
        let (id, topic) = (partition.id(), partition.topic().clone());
        let start = partition.log_start();
        self.partitions.insert(id, partition);
        self.set_segment_limits(id);
        match topic.topic.as_str() {
            TRANSACTION_STATE_TOPIC => {
                self.txn.load(self.now, topic.partition, epoch);
                self.load_on(Loading::Transactions(topic.partition), id, start);
            }
            CONSUMER_OFFSETS_TOPIC => {
                self.group.load(topic.partition);
                self.load_on(Loading::Offsets(topic.partition), id, start);
            }
            _ => api::fetch::wake(self, id),
        }
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

    /// Lets the store begin a checkpoint, once there are partitions to describe.
    pub(super) fn checkpoint(&mut self) {
        if !self.boot.prepared {
            self.boot.wants_checkpoint = true;
            return;
        }
        self.store.begin_checkpoint();
    }

    /// Hands the store what a checkpoint needs of a partition: its producers, as of what is
    /// persisted now.
    pub(super) fn snapshot_for_checkpoint(&mut self, id: PartitionId) {
        let partition = self.partitions.get(&id).or_else(|| self.boot.rebuilt.get(&id));
        let snapshot = partition.map(|partition| LogSnapshot {
            offset: partition.high_watermark(),
            bytes: partition.snapshot(),
            leader_epochs: partition.leader_epochs().to_vec(),
        });
        self.store.snapshot_taken(id, snapshot);
    }
}
