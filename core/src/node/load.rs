//! Reading a log from its start into what is kept of it: the metadata image, a coordinator.

use alloc::vec::Vec;

use bytes::Bytes;

use super::Node;
use crate::api::ReadPurpose;
use crate::batch::{self, CheckedBatch, Record};
use crate::group::LoadedBatch;
use crate::mark;
use crate::partition::Partition;
use crate::store::ReadOutcome;
use crate::types::{Offset, PartitionId};

/// Bytes of one read while a log is loaded.
const LOAD_CHUNK_BYTES: u32 = 1 << 20;

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
    /// Reads the next piece of a log that is being loaded, or ends the load at its end.
    pub(crate) fn load_on(&mut self, loading: Loading, id: PartitionId, next: Offset) {
        let mut next = next;
        loop {
            let end = self.partitions.get(&id).map_or(next, Partition::high_watermark);
            if next >= end {
                return self.load_ended(loading);
            }
            match self.store.read(id, next, end, LOAD_CHUNK_BYTES, true) {
                ReadOutcome::Ready(found) => match self.load_parts(loading, &found.parts) {
                    Some(after) if after > next => next = after,
                    _ => return self.load_failed(loading, &"nothing can be read at its offset"),
                },
                ReadOutcome::Pending(read) => {
                    self.reads.insert(read, ReadPurpose::Load { loading, id, next });
                    return;
                }
                ReadOutcome::Error(error) => return self.load_failed(loading, &error),
            }
        }
    }

    /// Takes the batches of one read; the offset after the last of them, or `None` when a record
    /// cannot be read.
    pub(crate) fn load_parts(&mut self, loading: Loading, parts: &[Bytes]) -> Option<Offset> {
        let mut after = None;
        for batch in batch::batches(batch::join(parts)) {
            let batch = batch.ok()?;
            let records: Vec<Record> = batch::records(&batch).collect::<Result<_, _>>().ok()?;
            self.load_batch(loading, &batch, &records)?;
            after = Some(batch.header().last_offset() + 1);
        }
        after
    }

    fn load_batch(
        &mut self,
        loading: Loading,
        batch: &CheckedBatch,
        records: &[Record],
    ) -> Option<()> {
        let base = batch.header().base_offset;
        let offset_of = |record: &Record| base + i64::from(record.offset_delta);
        let marker = batch::parse_marker(batch);
        // A control batch holds nothing of a coordinator's: anybody may ask for a marker in any
        // partition (WriteTxnMarkers), and only that of a producer's offsets means something.
        let is_offsets = matches!(loading, Loading::Offsets(_));
        if batch.header().is_control() && !(is_offsets && marker.is_some()) {
            return Some(());
        }
        match loading {
            Loading::Metadata => {
                for record in records {
                    if let Some(value) = &record.value {
                        self.meta.replay(offset_of(record), value).ok()?;
                    }
                }
            }
            Loading::Transactions(partition) => {
                for record in records {
                    if let Some(key) = &record.key {
                        self.txn.load_record(partition, key, record.value.as_ref()).ok()?;
                    }
                }
            }
            Loading::Offsets(partition) => {
                let all: Vec<_> = records
                    .iter()
                    .map(|record| (offset_of(record), record.key.clone(), record.value.clone()))
                    .collect();
                let loaded = match marker {
                    Some((decision, _)) => LoadedBatch::Marker(decision),
                    None => LoadedBatch::Records(&all),
                };
                self.group.load_batch(partition, batch.header(), loaded).ok()?;
            }
        }
        Some(())
    }

    fn load_ended(&mut self, loading: Loading) {
        match loading {
            Loading::Metadata => {
                self.boot.metadata_read = true;
                self.tell_groups_all();
                let level = self.meta.feature_level(crate::meta::TRANSACTION_VERSION);
                self.txn.set_transaction_version(level);
                // Logs take their settings as they are opened.
                self.take_dynamic_configs();
                let groups: Vec<_> = self.meta.groups_with_configs().cloned().collect();
                for group in groups {
                    self.group_config_changed(&group);
                }
                self.prepare_logs();
            }
            Loading::Transactions(partition) => {
                self.txn.loaded(self.now, partition);
            }
            Loading::Offsets(partition) => self.group.loaded(self.now, partition),
        }
    }

    /// A log cannot be read: its coordinator stays loading (clients retry), the operator is told.
    pub(crate) fn load_failed(&mut self, loading: Loading, error: &dyn core::fmt::Display) {
        mark!(LoadFailed);
        self.fault(alloc::format!("{loading:?} could not be loaded: {error}"));
    }
}
