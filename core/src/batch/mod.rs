//! Record batches, magic 2: what a producer sends, what the log holds, what a marker is made of.
//!
//! A [`CheckedBatch`] exists only after its length and CRC were verified, so the core cannot be
//! handed anything else. A [`StoredBatch`] is the same batch at its place in the log: the header's
//! offset and leader epoch lie before the CRC's range, so placing it copies 61 bytes and shares
//! the payload.
//!
//! [`screen()`] is the work of a connection's task: everything about a producer's batch that needs
//! no topic configuration is found out there, decompression included. [`records()`] walks a batch,
//! [`batches`] walks a segment, [`BatchBuilder`] and [`control_batch`] make what the broker itself
//! writes (spec 6.6, 9.1).

mod build;
mod compress;
mod fault;
pub mod fuzz;
mod header;
mod order;
mod pack;
mod parts;
mod records;
mod rewrite;
mod screen;
mod view;

use bytes::{Bytes, BytesMut};

use crate::types::Offset;

pub use self::build::{BatchBuilder, control_batch, parse_marker};
pub use self::compress::Compression;
pub use self::fault::{BatchFault, FaultReason, FaultScope};
pub use self::header::{Attributes, BatchHeader, TimestampType};
pub(crate) use self::order::Order;
pub use self::parts::{Headers, headers, join};
pub use self::records::{HoldsRecords, Record, RecordHeader, Records, records};
pub(crate) use self::rewrite::recompressed;
pub use self::rewrite::{emptied, rewrite};
pub use self::screen::{Batches, ScreenLimits, Screened, batches, screen};

/// Exactly one complete batch whose length and CRC were verified.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CheckedBatch {
    header: BatchHeader,
    bytes: Bytes,
    facts: Option<RecordFacts>,
}

/// What walking the records found, so that a partition decides without walking them again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RecordFacts {
    /// Smallest timestamp of a record, in ms.
    pub(crate) min_timestamp: i64,
    /// Largest timestamp of a record, in ms.
    pub(crate) max_timestamp: i64,
    /// Whether a record has no key.
    pub(crate) has_null_key: bool,
}

impl CheckedBatch {
    /// The decoded header.
    #[must_use]
    pub const fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The whole batch as it came.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Bytes of the whole batch.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.bytes.len()
    }

    /// What follows the header, compressed or not.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        self.bytes.slice(BatchHeader::LENGTH..)
    }

    /// What is known of the records; the header's word for a batch that nobody walked.
    pub(crate) fn facts(&self) -> RecordFacts {
        self.facts.unwrap_or(RecordFacts {
            min_timestamp: self.header.base_timestamp,
            max_timestamp: self.header.max_timestamp,
            has_null_key: false,
        })
    }

    /// The batch at its place in the log. A large payload is shared; a small one is copied behind
    /// the header, into memory of its own: that costs less than a second buffer does on every way
    /// it takes, and what is kept of it keeps no buffer of a connection.
    ///
    /// With `log_append_time_ms` (LogAppendTime topics) every record gets that time; without, the
    /// batch is CreateTime and its largest timestamp is the one its records have. Only when that
    /// changes a field under the CRC is the CRC computed again.
    #[must_use]
    pub fn store_at(
        self,
        base_offset: Offset,
        leader_epoch: i32,
        log_append_time_ms: Option<i64>,
    ) -> StoredBatch {
        let mut header = self.header;
        header.base_offset = base_offset;
        header.partition_leader_epoch = leader_epoch;
        header.attributes = header.attributes.with_timestamp_type(match log_append_time_ms {
            Some(_) => TimestampType::LogAppendTime,
            None => TimestampType::CreateTime,
        });
        header.max_timestamp = log_append_time_ms.unwrap_or(self.facts().max_timestamp);
        let records = self.payload();
        if header.attributes != self.header.attributes
            || header.max_timestamp != self.header.max_timestamp
        {
            header.crc = crc_of(&header, &records);
        }
        if records.len() > COPIED_BYTES_MAX {
            return StoredBatch { header, parts: [encode_head(&header), records] };
        }
        let mut whole = BytesMut::with_capacity(BatchHeader::LENGTH + records.len());
        header.encode(&mut whole);
        whole.extend_from_slice(&records);
        StoredBatch { header, parts: [whole.freeze(), Bytes::new()] }
    }
}

/// Largest payload that is copied rather than shared.
const COPIED_BYTES_MAX: usize = 4096;

/// A batch as the log holds it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoredBatch {
    header: BatchHeader,
    /// The bytes in order: all of them and nothing, or the header and what follows it.
    parts: [Bytes; 2],
}

impl StoredBatch {
    /// The decoded header.
    #[must_use]
    pub const fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The batch in the order it is written; the second part is empty when all of it is in one
    /// buffer. The header never lies across both.
    #[must_use]
    pub fn parts(&self) -> [Bytes; 2] {
        self.parts.clone()
    }

    /// What follows the header, compressed or not.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        let [first, second] = &self.parts;
        if second.is_empty() { first.slice(BatchHeader::LENGTH..) } else { second.clone() }
    }

    /// Offset of the first record.
    #[must_use]
    pub const fn base_offset(&self) -> Offset {
        self.header.base_offset
    }

    /// Offset of the last record.
    #[must_use]
    pub const fn last_offset(&self) -> Offset {
        self.header.last_offset()
    }

    /// Bytes of the whole batch.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.parts[0].len() + self.parts[1].len()
    }

    /// The whole batch in one piece; copies it.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        join(&self.parts)
    }
}

impl From<CheckedBatch> for StoredBatch {
    /// A batch that came with its place, out of a log; shares all of it.
    fn from(batch: CheckedBatch) -> Self {
        Self { header: batch.header, parts: [batch.bytes, Bytes::new()] }
    }
}

fn encode_head(header: &BatchHeader) -> Bytes {
    Bytes::copy_from_slice(&header.bytes())
}

/// The CRC-32C of a batch with this header and payload.
fn crc_of(header: &BatchHeader, records: &[u8]) -> u32 {
    let covered = crc32c::crc32c(&header.bytes()[BatchHeader::CRC_START..]);
    crc32c::crc32c_append(covered, records)
}

#[cfg(test)]
mod tests;
