//! Record batches, magic 2: what a producer sends, what the log holds, what a marker is made of.
//!
//! A [`CheckedBatch`] exists only after its length and CRC were verified, so the core cannot be
//! handed anything else. A [`StoredBatch`] is the same batch at its place in the log: the header's
//! offset and leader epoch lie before the CRC's range, so placing it copies 61 bytes and shares
//! the payload.

mod header;

use bytes::Bytes;

pub use self::header::{Attributes, BatchHeader};

/// Exactly one complete batch whose length and CRC were verified.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CheckedBatch {
    header: BatchHeader,
    bytes: Bytes,
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
}

/// A batch as the log holds it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoredBatch {
    header: BatchHeader,
    head: Bytes,
    records: Bytes,
}

impl StoredBatch {
    /// The decoded header.
    #[must_use]
    pub const fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The batch in the order it is written: 61 bytes of header, then the records.
    #[must_use]
    pub fn parts(&self) -> [Bytes; 2] {
        [self.head.clone(), self.records.clone()]
    }
}

/// What screening found in one partition's record set of a Produce request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Screened {
    /// One good batch.
    Batch(CheckedBatch),
    /// No batch at all: null, or too few bytes for one.
    Empty,
    /// Something that is refused; which code it gets depends on the topic too.
    Fault(BatchFault),
}

/// Why a record set is refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BatchFault {
    /// (being built: the reasons of spec 2.1, rows 5 and 11 to 20)
    Crc,
}

/// What screening one record set may cost (placeholder of the branch `wire`).
#[derive(Clone, Debug, Default)]
pub struct ScreenLimits {}

/// Placeholder of the branch `wire`: an honest CRC check, no more.
pub fn screen(records: Option<Bytes>, _produce_version: i16, _limits: &ScreenLimits) -> Screened {
    let Some(bytes) = records else { return Screened::Empty };
    let Some(header) = BatchHeader::decode(&bytes) else { return Screened::Empty };
    if header.size() != bytes.len()
        || header.magic != 2
        || crc32c::crc32c(&bytes[BatchHeader::CRC_START..]) != header.crc
    {
        return Screened::Fault(BatchFault::Crc);
    }
    Screened::Batch(CheckedBatch { header, bytes })
}
