//! What a partition tells about its producers (DescribeProducers, spec 8.5).

use super::Partition;
use crate::types::{Offset, ProducerId};

/// One producer of a partition, in the fields of DescribeProducers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProducerDescription {
    /// Who.
    pub producer_id: ProducerId,
    /// Its epoch in the partition.
    pub producer_epoch: i32,
    /// Sequence of its last record, -1 when no batch is remembered.
    pub last_sequence: i32,
    /// Time of its last batch or marker, in ms.
    pub last_timestamp_ms: i64,
    /// Epoch of the coordinator of its last marker, -1 before the first.
    pub coordinator_epoch: i32,
    /// First offset of its open transaction, -1 without one.
    pub current_txn_start_offset: Offset,
}

impl Partition {
    /// The producers that the partition remembers, ascending by producer id.
    pub fn producers(&self) -> impl Iterator<Item = ProducerDescription> + '_ {
        self.producers.iter().map(|(producer_id, entry)| ProducerDescription {
            producer_id: *producer_id,
            producer_epoch: i32::from(entry.producer_epoch),
            last_sequence: entry.last_sequence(),
            last_timestamp_ms: entry.last_timestamp_ms,
            coordinator_epoch: entry.coordinator_epoch,
            current_txn_start_offset: entry.current_txn_first_offset.unwrap_or(-1),
        })
    }
}
