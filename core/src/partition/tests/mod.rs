//! The partition against the spec, the public reports, and a model that keeps everything.

mod leader_epochs;
mod model;
mod recovery;
mod reports;
mod rollback;

use std::vec::Vec;

use bytes::Bytes;

use super::*;
use crate::batch::{BatchBuilder, CheckedBatch, StoredBatch, parse_marker};
use crate::store::recovered::{BatchSummary, RecoveredLog};
use crate::types::{Decision, Marker, PartitionId, ProducerEpoch, ProducerId};

/// A partition and the batches that it placed.
#[derive(Clone, Debug)]
struct Log {
    partition: Partition,
    batches: Vec<StoredBatch>,
}

/// A data batch to send.
#[derive(Clone, Copy, Debug)]
struct Data {
    pid: ProducerId,
    epoch: ProducerEpoch,
    sequence: i32,
    count: i32,
    transactional: bool,
}

const NOW_MS: i64 = 1_000;

fn data(pid: ProducerId, epoch: ProducerEpoch, sequence: i32, count: i32) -> Data {
    Data { pid, epoch, sequence, count, transactional: false }
}

fn txn(pid: ProducerId, epoch: ProducerEpoch, sequence: i32, count: i32) -> Data {
    Data { transactional: true, ..data(pid, epoch, sequence, count) }
}

fn marker(pid: ProducerId, epoch: ProducerEpoch, decision: Decision, version: i8) -> Marker {
    Marker {
        producer_id: pid,
        producer_epoch: epoch,
        decision,
        coordinator_epoch: 0,
        transaction_version: version,
    }
}

fn batch(data: Data, timestamp_ms: i64) -> CheckedBatch {
    let mut builder = BatchBuilder::new(timestamp_ms).producer(data.pid, data.epoch, data.sequence);
    if data.transactional {
        builder = builder.transactional();
    }
    for _ in 0..data.count {
        builder.push(Some(b"k"), Some(b"v"), &[]);
    }
    builder.build()
}

impl Log {
    fn with(config: LogConfig) -> Self {
        let topic = TopicPartition::new("t", 0);
        let partition = Partition::new(PartitionId::METADATA, topic, config, 0);
        Self { partition, batches: Vec::new() }
    }

    /// A log whose transactions need no verification.
    fn new() -> Self {
        Self::with(LogConfig { verification_enabled: false, ..LogConfig::default() })
    }

    fn append(&mut self, data: Data, guard: Option<Guard>) -> Result<Appended, AppendError> {
        let timestamp_ms = NOW_MS + self.partition.log_end();
        let batch = batch(data, timestamp_ms);
        let done = self.partition.append(NOW_MS, &batch, Origin::Client, guard)?;
        if let Appended::New(new) = &done {
            self.batches.push(new.batch.clone());
        }
        Ok(done)
    }

    /// The base offset of a client's batch, new or repeated.
    fn send(&mut self, data: Data) -> Result<Offset, AppendError> {
        self.append(data, None).map(|done| match done {
            Appended::New(new) => new.base_offset,
            Appended::Duplicate { base_offset, .. } => base_offset,
        })
    }

    fn plain(&mut self, count: i32) -> Offset {
        self.send(data(-1, -1, -1, count)).expect("a plain batch is always taken")
    }

    fn mark(&mut self, marker: &Marker) -> Result<Offset, AppendError> {
        let new = self.partition.append_marker(NOW_MS + self.partition.log_end(), marker)?;
        self.batches.push(new.batch);
        Ok(new.base_offset)
    }

    fn persist(&mut self) {
        self.partition.persisted(self.partition.log_end() - 1);
    }

    fn lso(&self) -> Offset {
        self.partition.last_stable_offset()
    }

    /// (producer, first offset) of the aborted list.
    fn aborted(&self, from: Offset) -> Vec<(ProducerId, Offset)> {
        let list = self.partition.aborted_in(from, self.lso());
        list.iter().map(|txn| (txn.producer_id, txn.first_offset)).collect()
    }

    /// The partition as a restart finds it.
    fn restarted(&self, snapshot: Option<(Offset, Bytes)>) -> Partition {
        let high_watermark = self.partition.high_watermark();
        let from = snapshot.as_ref().map_or(0, |snapshot| snapshot.0);
        let tail = self
            .batches
            .iter()
            .filter(|batch| batch.last_offset() < high_watermark && batch.last_offset() >= from);
        let log = RecoveredLog {
            id: self.partition.id(),
            topic: self.partition.topic().clone(),
            log_start: self.partition.log_start(),
            log_end: high_watermark,
            snapshot,
            tail: tail
                .map(|batch| BatchSummary { header: *batch.header(), marker: parse_marker(batch) })
                .collect(),
            aborted: self.partition.aborted.iter().copied().collect(),
            leader_epochs: Vec::new(),
        };
        let config = self.partition.config().clone();
        Partition::recover(log.id, log.topic.clone(), config, 1, &log, NOW_MS)
    }
}

fn is_out_of_order<T>(result: &Result<T, AppendError>) -> bool {
    matches!(result, Err(AppendError::OutOfOrderSequence { .. }))
}

fn is_fenced<T>(result: &Result<T, AppendError>) -> bool {
    matches!(result, Err(AppendError::InvalidProducerEpoch { .. }))
}
