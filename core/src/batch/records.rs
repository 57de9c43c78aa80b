//! Walking the records of a batch.

use alloc::vec::Vec;
use core::ops::Range;

use bytes::Bytes;

use super::compress::{self, UnpackError};
use super::view::{Cursor, can_hold};
use super::{
    BatchFault, BatchHeader, CheckedBatch, Compression, FaultReason, RecordFacts, ScreenLimits,
    StoredBatch, TimestampType,
};

/// A record's header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordHeader {
    /// Its name; UTF-8 by convention, unchecked.
    pub key: Bytes,
    /// Its value.
    pub value: Option<Bytes>,
}

/// One record; its parts are slices of the batch, or of what it was unpacked to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Offset less the batch's base offset.
    pub offset_delta: i32,
    /// In ms; the batch's largest on LogAppendTime.
    pub timestamp: i64,
    /// The key.
    pub key: Option<Bytes>,
    /// The value; `None` deletes the key in a compacted topic.
    pub value: Option<Bytes>,
    /// The headers.
    pub headers: Vec<RecordHeader>,
}

/// The records of a batch, in order. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Records {
    header: BatchHeader,
    unpacked: Result<Bytes, FaultReason>,
    at: usize,
    index: u32,
    left: i32,
}

/// Something whose records can be walked.
pub trait HoldsRecords {
    /// The batch's header and what follows it.
    fn header_and_payload(&self) -> (&BatchHeader, Bytes);
}

impl HoldsRecords for CheckedBatch {
    fn header_and_payload(&self) -> (&BatchHeader, Bytes) {
        (self.header(), self.payload())
    }
}

impl HoldsRecords for StoredBatch {
    fn header_and_payload(&self) -> (&BatchHeader, Bytes) {
        (self.header(), self.payload())
    }
}

/// Walks the records of a batch, unpacking them first (at most
/// [`ScreenLimits::max_decompressed_batch_bytes`] of the default limits).
pub fn records(batch: &impl HoldsRecords) -> Records {
    let (header, payload) = batch.header_and_payload();
    let limit = ScreenLimits::default().max_decompressed_batch_bytes;
    Records {
        header: *header,
        unpacked: unpack(header, &payload, limit),
        at: 0,
        index: 0,
        left: header.record_count,
    }
}

impl Iterator for Records {
    type Item = Result<Record, BatchFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left <= 0 {
            return None;
        }
        match self.unpacked.as_ref().map_err(|reason| *reason).and_then(|all| self.read(all)) {
            Ok((record, at)) => {
                self.at = at;
                self.index = self.index.saturating_add(1);
                self.left -= 1;
                Some(Ok(record))
            }
            Err(reason) => {
                self.left = 0;
                Some(Err(BatchFault::in_batch(reason, &self.header)))
            }
        }
    }
}

impl Records {
    fn read(&self, all: &Bytes) -> Result<(Record, usize), FaultReason> {
        let malformed = FaultReason::BadRecord(self.index);
        let mut cursor = Cursor::new(all, self.at);
        let view = cursor.record().ok_or(malformed)?;
        let slice = |range: Range<usize>| all.slice(range);
        let mut walk = Cursor::within(all, view.headers);
        let headers = (0..view.header_count).map(|_| {
            let (key, value) = walk.header()?;
            Some(RecordHeader { key: slice(key), value: value.map(slice) })
        });
        let headers = headers.collect::<Option<Vec<_>>>().ok_or(malformed)?;
        let record = Record {
            offset_delta: view.offset_delta,
            timestamp: timestamp_of(&self.header, view.timestamp_delta),
            key: view.key.map(slice),
            value: view.value.map(slice),
            headers,
        };
        Ok((record, cursor.position()))
    }
}

fn timestamp_of(header: &BatchHeader, delta: i64) -> i64 {
    match header.timestamp_type() {
        TimestampType::CreateTime => header.base_timestamp.wrapping_add(delta),
        TimestampType::LogAppendTime => header.max_timestamp,
    }
}

/// The records' bytes as they are without compression.
fn unpack(header: &BatchHeader, payload: &Bytes, limit: usize) -> Result<Bytes, FaultReason> {
    match header.compression() {
        None => Err(FaultReason::UnknownCodec(header.attributes.codec())),
        Some(Compression::None) => Ok(payload.clone()),
        Some(codec) => match compress::unpack(codec, payload, limit) {
            Ok(bytes) => Ok(bytes.into()),
            Err(UnpackError::Corrupt) => Err(FaultReason::Undecodable),
            Err(UnpackError::TooLarge) => Err(FaultReason::DecompressedTooLarge),
        },
    }
}

/// Judges every record of a producer's batch (spec 2.1, rows 19 and 20) without building any.
///
/// Stricter than Apache Kafka in one point: it keeps wrong offset deltas of an uncompressed
/// batch, which gives records offsets they do not have; here they are refused.
pub(super) fn judge(
    header: &BatchHeader,
    payload: &Bytes,
    limits: &ScreenLimits,
) -> Result<RecordFacts, FaultReason> {
    let all = unpack(header, payload, limits.max_decompressed_batch_bytes)?;
    let count = u32::try_from(header.record_count).unwrap_or(0);
    if !can_hold(all.len(), count as usize) {
        return Err(FaultReason::BadRecord(count.saturating_sub(1)));
    }
    let mut cursor = Cursor::new(&all, 0);
    let mut facts =
        RecordFacts { min_timestamp: i64::MAX, max_timestamp: i64::MIN, has_null_key: false };
    for index in 0..count {
        let record = cursor.record().ok_or(FaultReason::BadRecord(index))?;
        if record.body_length > limits.max_decompressed_record_bytes {
            return Err(FaultReason::RecordTooLarge(index));
        }
        if i64::from(record.offset_delta) != i64::from(index) {
            return Err(FaultReason::BadOffsetDelta(index));
        }
        let timestamp = timestamp_of(header, record.timestamp_delta);
        facts.min_timestamp = facts.min_timestamp.min(timestamp);
        facts.max_timestamp = facts.max_timestamp.max(timestamp);
        facts.has_null_key |= record.key.is_none();
    }
    match cursor.remaining() {
        0 => Ok(facts),
        left => Err(FaultReason::TrailingBytes(left)),
    }
}
