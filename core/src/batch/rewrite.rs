//! Batches that log cleaning writes anew: fewer records, or none, at the same place
//! (`MemoryRecords.filterTo`, KIP-534).

use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};

use super::build::put_record;
use super::{
    Attributes, BatchHeader, CheckedBatch, Compression, Record, ScreenLimits, compress, crc_of,
    encode_head, pack,
};

/// The batch with these of its records, in its own codec. They keep their offsets and times, and
/// the batch its range of offsets, its producer and its sequences. With a delete horizon (ms) the
/// header says until when tombstones, or the marker, stay; without one it keeps what it has.
///
/// `None` when the batch's codec is unknown or fails, or it would be larger than 2 GiB.
#[must_use]
pub fn rewrite(
    original: &BatchHeader,
    records: &[Record],
    delete_horizon_ms: Option<i64>,
) -> Option<CheckedBatch> {
    let mut header = *original;
    if let Some(horizon_ms) = delete_horizon_ms {
        header.attributes.0 |= Attributes::DELETE_HORIZON;
        header.base_timestamp = horizon_ms;
    } else if header.delete_horizon_ms().is_none() {
        header.base_timestamp = records.first()?.timestamp;
    }
    let mut body = BytesMut::new();
    for record in records {
        put_record(&mut body, &header, record);
    }
    header.record_count = i32::try_from(records.len()).ok()?;
    header.max_timestamp = records.iter().map(|record| record.timestamp).max()?;
    let packed = pack::pack(header.compression()?, &body)?;
    seal(header, packed.into())
}

/// The batch without records: what holds a producer's sequences, or the end of what was cleaned.
/// `None` never happens for a header that was read from a log.
#[must_use]
pub fn emptied(original: &BatchHeader) -> Option<CheckedBatch> {
    let kept = Attributes::LOG_APPEND_TIME | Attributes::TRANSACTIONAL | Attributes::CONTROL;
    let header = BatchHeader {
        attributes: Attributes(original.attributes.0 & kept),
        base_timestamp: original.max_timestamp,
        record_count: 0,
        ..*original
    };
    seal(header, Bytes::new())
}

/// The batch in another codec; `None` when its records do not unpack within the limits, or the
/// codec fails. What screening found of the records stays true.
#[must_use]
pub(crate) fn recompressed(batch: &CheckedBatch, codec: Compression) -> Option<CheckedBatch> {
    let mut header = *batch.header();
    let limit = ScreenLimits::default().max_decompressed_batch_bytes;
    let plain = compress::unpack(header.compression()?, &batch.payload(), limit).ok()?;
    let packed = pack::pack(codec, &plain)?;
    header.attributes = header.attributes.with_codec(codec);
    Some(CheckedBatch { facts: batch.facts, ..seal(header, packed.into())? })
}

fn seal(mut header: BatchHeader, records: Bytes) -> Option<CheckedBatch> {
    let size = BatchHeader::LENGTH.checked_add(records.len())?;
    header.batch_length = i32::try_from(size - BatchHeader::LOG_OVERHEAD).ok()?;
    header.crc = crc_of(&header, &records);
    let parts: Vec<Bytes> = [encode_head(&header), records].into();
    Some(CheckedBatch { header, bytes: super::join(&parts), facts: None })
}
