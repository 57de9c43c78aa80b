//! Batches that the broker itself writes: coordinator records and markers.

use bytes::{BufMut, Bytes, BytesMut};

use super::{
    Attributes, BatchHeader, CheckedBatch, HoldsRecords, Record, RecordFacts, RecordHeader, crc_of,
    records,
};
use crate::types::{
    Decision, Marker, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, ProducerEpoch, ProducerId,
};

/// Builds one uncompressed batch.
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    header: BatchHeader,
    timestamp_ms: i64,
    records: BytesMut,
    facts: Option<RecordFacts>,
}

impl BatchBuilder {
    /// A batch without records and without a producer, whose records get this time (ms).
    #[must_use]
    pub fn new(timestamp_ms: i64) -> Self {
        let header = BatchHeader {
            base_offset: 0,
            batch_length: 0,
            partition_leader_epoch: -1,
            magic: 2,
            crc: 0,
            attributes: Attributes::default(),
            last_offset_delta: -1,
            base_timestamp: timestamp_ms,
            max_timestamp: timestamp_ms,
            producer_id: NO_PRODUCER_ID,
            producer_epoch: NO_PRODUCER_EPOCH,
            base_sequence: NO_SEQUENCE,
            record_count: 0,
        };
        Self { header, timestamp_ms, records: BytesMut::new(), facts: None }
    }

    /// Sets who writes the batch, and the sequence of its first record.
    #[must_use]
    pub const fn producer(
        mut self,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        base_sequence: i32,
    ) -> Self {
        self.header.producer_id = producer_id;
        self.header.producer_epoch = producer_epoch;
        self.header.base_sequence = base_sequence;
        self
    }

    /// Makes the batch part of a transaction.
    #[must_use]
    pub const fn transactional(mut self) -> Self {
        self.header.attributes.0 |= Attributes::TRANSACTIONAL;
        self
    }

    /// Makes it a control batch.
    #[must_use]
    pub const fn control(mut self) -> Self {
        self.header.attributes.0 |= Attributes::CONTROL;
        self
    }

    /// The time (ms) of the records that follow.
    #[must_use]
    pub const fn at(mut self, timestamp_ms: i64) -> Self {
        self.timestamp_ms = timestamp_ms;
        self
    }

    /// Adds a record.
    #[must_use]
    pub fn record(
        mut self,
        key: Option<Bytes>,
        value: Option<Bytes>,
        headers: &[RecordHeader],
    ) -> Self {
        self.push(key.as_deref(), value.as_deref(), headers);
        self
    }

    /// Adds a record, for loops.
    pub fn push(&mut self, key: Option<&[u8]>, value: Option<&[u8]>, headers: &[RecordHeader]) {
        let timestamp_delta = self.timestamp_ms.wrapping_sub(self.header.base_timestamp);
        let deltas = (timestamp_delta, self.header.record_count);
        put_parts(&mut self.records, deltas, key, value, headers);

        self.header.record_count += 1;
        self.header.last_offset_delta += 1;
        let (before, at) = (self.facts, self.timestamp_ms);
        let facts = RecordFacts {
            min_timestamp: before.map_or(at, |facts| facts.min_timestamp.min(at)),
            max_timestamp: before.map_or(at, |facts| facts.max_timestamp.max(at)),
            has_null_key: before.is_some_and(|facts| facts.has_null_key) || key.is_none(),
        };
        self.header.max_timestamp = facts.max_timestamp;
        self.facts = Some(facts);
    }

    /// Bytes of the batch so far.
    #[must_use]
    pub fn size(&self) -> usize {
        BatchHeader::LENGTH + self.records.len()
    }

    /// The batch.
    ///
    /// # Panics
    ///
    /// When the records hold more than 2 GiB: their writers split long before.
    #[must_use]
    pub fn build(mut self) -> CheckedBatch {
        self.header.batch_length = i32::try_from(self.size() - BatchHeader::LOG_OVERHEAD)
            .expect("a writer splits its records into batches below max.message.bytes");
        self.header.crc = crc_of(&self.header, &self.records);
        let mut bytes = BytesMut::with_capacity(self.size());
        self.header.encode(&mut bytes);
        bytes.extend_from_slice(&self.records);
        CheckedBatch { header: self.header, bytes: bytes.freeze(), facts: self.facts }
    }
}

/// Writes a record as it stands in a batch with this header.
pub(super) fn put_record(out: &mut BytesMut, header: &BatchHeader, record: &Record) {
    let deltas = (record.timestamp.wrapping_sub(header.base_timestamp), record.offset_delta);
    put_parts(out, deltas, record.key.as_deref(), record.value.as_deref(), &record.headers);
}

fn put_parts(
    out: &mut BytesMut,
    (timestamp_delta, offset_delta): (i64, i32),
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: &[RecordHeader],
) {
    let in_headers = headers
        .iter()
        .map(|header| nullable_bytes(Some(&header.key)) + nullable_bytes(header.value.as_deref()));
    let length = 1
        + varlong_bytes(timestamp_delta)
        + varlong_bytes(i64::from(offset_delta))
        + nullable_bytes(key)
        + nullable_bytes(value)
        + varlong_bytes(headers.len() as i64)
        + in_headers.sum::<usize>();
    out.reserve(varlong_bytes(length as i64) + length);
    put_varlong(out, length as i64);
    out.put_i8(0);
    put_varlong(out, timestamp_delta);
    put_varlong(out, i64::from(offset_delta));
    put_nullable(out, key);
    put_nullable(out, value);
    put_varlong(out, headers.len() as i64);
    for header in headers {
        put_nullable(out, Some(&header.key));
        put_nullable(out, header.value.as_deref());
    }
}

/// A number's bits as a varlong has them: small ones of either sign are short.
const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Bytes that [`put_varlong`] writes: one for each seven bits.
const fn varlong_bytes(value: i64) -> usize {
    let bits = u64::BITS - (zigzag(value) | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// Bytes that [`put_nullable`] writes.
fn nullable_bytes(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(varlong_bytes(-1), |bytes| varlong_bytes(bytes.len() as i64) + bytes.len())
}

fn put_varlong(out: &mut BytesMut, value: i64) {
    let mut rest = zigzag(value);
    while rest >= 0x80 {
        out.put_u8((rest as u8 & 0x7f) | 0x80);
        rest >>= 7;
    }
    out.put_u8(rest as u8);
}

fn put_nullable(out: &mut BytesMut, bytes: Option<&[u8]>) {
    match bytes {
        None => put_varlong(out, -1),
        Some(bytes) => {
            put_varlong(out, bytes.len() as i64);
            out.extend_from_slice(bytes);
        }
    }
}

// Persisted in every partition with transactions: never renumber.
const CONTROL_ABORT: i16 = 0;
const CONTROL_COMMIT: i16 = 1;
const CONTROL_VERSION: i16 = 0;

/// The control batch of a marker (spec 6.6), written at `now_ms`.
#[must_use]
pub fn control_batch(marker: &Marker, now_ms: i64) -> CheckedBatch {
    let mut key = BytesMut::with_capacity(4);
    key.put_i16(CONTROL_VERSION);
    key.put_i16(match marker.decision {
        Decision::Abort => CONTROL_ABORT,
        Decision::Commit => CONTROL_COMMIT,
    });
    let mut value = BytesMut::with_capacity(6);
    value.put_i16(CONTROL_VERSION);
    value.put_i32(marker.coordinator_epoch);
    BatchBuilder::new(now_ms)
        .producer(marker.producer_id, marker.producer_epoch, NO_SEQUENCE)
        .transactional()
        .control()
        .record(Some(key.freeze()), Some(value.freeze()), &[])
        .build()
}

/// The decision and coordinator epoch of a marker; `None` for data, and for control records of
/// another or unknown type. Later value versions are read by their first field.
#[must_use]
pub fn parse_marker(batch: &impl HoldsRecords) -> Option<(Decision, i32)> {
    let (header, _) = batch.header_and_payload();
    if !header.is_control() || !header.has_producer() {
        return None;
    }
    let record = records(batch).next()?.ok()?;
    let key = record.key?;
    let decision = match i16::from_be_bytes(key.get(2..4)?.try_into().ok()?) {
        CONTROL_ABORT => Decision::Abort,
        CONTROL_COMMIT => Decision::Commit,
        _ => return None,
    };
    let value = record.value?;
    Some((decision, i32::from_be_bytes(value.get(2..6)?.try_into().ok()?)))
}
