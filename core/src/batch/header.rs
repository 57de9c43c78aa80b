//! The 61 bytes at the front of a record batch, magic 2 (spec: `DefaultRecordBatch`).

use bytes::{BufMut, BytesMut};

use crate::types::{NO_PRODUCER_ID, Offset, ProducerEpoch, ProducerId};

use super::Compression;

/// Whose clock a batch's timestamps come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimestampType {
    /// The producer's.
    #[default]
    CreateTime,
    /// The broker's, at the append; all records of a batch have the same.
    LogAppendTime,
}

/// The attribute bits of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes(pub i16);

impl Attributes {
    /// Bit 3: the timestamps are the broker's (LogAppendTime).
    pub const LOG_APPEND_TIME: i16 = 0x08;
    /// Bit 4: the batch belongs to a transaction.
    pub const TRANSACTIONAL: i16 = 0x10;
    /// Bit 5: the batch holds a control record.
    pub const CONTROL: i16 = 0x20;
    /// Bit 6: the base timestamp is a delete horizon.
    pub const DELETE_HORIZON: i16 = 0x40;

    /// The compression codec's number: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
    #[must_use]
    pub const fn codec(self) -> i16 {
        self.0 & 0x07
    }

    /// These attributes with another codec.
    #[must_use]
    pub const fn with_codec(self, codec: Compression) -> Self {
        Self(self.0 & !0x07 | codec.number())
    }

    /// These attributes with bit 3 as the timestamp type wants it.
    #[must_use]
    pub const fn with_timestamp_type(self, timestamp_type: TimestampType) -> Self {
        match timestamp_type {
            TimestampType::CreateTime => Self(self.0 & !Self::LOG_APPEND_TIME),
            TimestampType::LogAppendTime => Self(self.0 | Self::LOG_APPEND_TIME),
        }
    }

    /// Whether the given bit is set.
    #[must_use]
    pub const fn has(self, bit: i16) -> bool {
        self.0 & bit != 0
    }
}

/// A batch's header, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchHeader {
    /// Offset of the first record; 0 from producers.
    pub base_offset: Offset,
    /// Bytes after this field, so the batch's size less 12.
    pub batch_length: i32,
    /// Epoch of the leader that appended; -1 from producers. Not under the CRC.
    pub partition_leader_epoch: i32,
    /// Always 2 in what we store.
    pub magic: i8,
    /// CRC-32C of everything from the attributes on.
    pub crc: u32,
    /// Codec, timestamp type, transactional and control bits.
    pub attributes: Attributes,
    /// Offset of the last record less the base offset.
    pub last_offset_delta: i32,
    /// Timestamp the records' deltas count from, in ms.
    pub base_timestamp: i64,
    /// Largest timestamp of the batch, in ms.
    pub max_timestamp: i64,
    /// Who wrote it, or -1.
    pub producer_id: ProducerId,
    /// The writer's epoch, or -1.
    pub producer_epoch: ProducerEpoch,
    /// Sequence of the first record, or -1.
    pub base_sequence: i32,
    /// Number of records; may be 0 after compaction.
    pub record_count: i32,
}

impl BatchHeader {
    /// Bytes of a header.
    pub const LENGTH: usize = 61;
    /// Where the CRC's range begins.
    pub const CRC_START: usize = 21;
    /// Bytes of base offset and length, which `batch_length` does not count.
    pub const LOG_OVERHEAD: usize = 12;

    /// Reads a header; `None` when there are fewer than [`Self::LENGTH`] bytes.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LENGTH] = bytes.get(..Self::LENGTH)?.try_into().ok()?;
        Some(Self {
            base_offset: i64::from_be_bytes(field(bytes, 0)),
            batch_length: i32::from_be_bytes(field(bytes, 8)),
            partition_leader_epoch: i32::from_be_bytes(field(bytes, 12)),
            magic: i8::from_be_bytes(field(bytes, 16)),
            crc: u32::from_be_bytes(field(bytes, 17)),
            attributes: Attributes(i16::from_be_bytes(field(bytes, 21))),
            last_offset_delta: i32::from_be_bytes(field(bytes, 23)),
            base_timestamp: i64::from_be_bytes(field(bytes, 27)),
            max_timestamp: i64::from_be_bytes(field(bytes, 35)),
            producer_id: i64::from_be_bytes(field(bytes, 43)),
            producer_epoch: i16::from_be_bytes(field(bytes, 51)),
            base_sequence: i32::from_be_bytes(field(bytes, 53)),
            record_count: i32::from_be_bytes(field(bytes, 57)),
        })
    }

    /// The header's 61 bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        let mut fields = &mut bytes[..];
        fields.put_i64(self.base_offset);
        fields.put_i32(self.batch_length);
        fields.put_i32(self.partition_leader_epoch);
        fields.put_i8(self.magic);
        fields.put_u32(self.crc);
        fields.put_i16(self.attributes.0);
        fields.put_i32(self.last_offset_delta);
        fields.put_i64(self.base_timestamp);
        fields.put_i64(self.max_timestamp);
        fields.put_i64(self.producer_id);
        fields.put_i16(self.producer_epoch);
        fields.put_i32(self.base_sequence);
        fields.put_i32(self.record_count);
        bytes
    }

    /// Writes the header's 61 bytes.
    pub fn encode(&self, out: &mut BytesMut) {
        out.put_slice(&self.bytes());
    }

    /// Offset of the last record.
    #[must_use]
    pub const fn last_offset(&self) -> Offset {
        self.base_offset.saturating_add(self.last_offset_delta as i64)
    }

    /// Sequence of the last record; wraps to 0 after 2147483647.
    #[must_use]
    pub const fn last_sequence(&self) -> i32 {
        if self.base_sequence < 0 {
            self.base_sequence
        } else {
            self.base_sequence.wrapping_add(self.last_offset_delta) & i32::MAX
        }
    }

    /// Bytes of the whole batch; 0 when the length field is negative.
    #[must_use]
    pub const fn size(&self) -> usize {
        if self.batch_length < 0 { 0 } else { self.batch_length as usize + Self::LOG_OVERHEAD }
    }

    /// Whether a producer id is set; like Kafka's, every negative one counts as none.
    #[must_use]
    pub const fn has_producer(&self) -> bool {
        self.producer_id > NO_PRODUCER_ID
    }

    /// Whether the batch belongs to a transaction.
    #[must_use]
    pub const fn is_transactional(&self) -> bool {
        self.attributes.has(Attributes::TRANSACTIONAL)
    }

    /// The codec of the records; `None` for a number that no codec has.
    #[must_use]
    pub const fn compression(&self) -> Option<Compression> {
        Compression::of(self.attributes.codec())
    }

    /// Whose clock the timestamps come from.
    #[must_use]
    pub const fn timestamp_type(&self) -> TimestampType {
        if self.attributes.has(Attributes::LOG_APPEND_TIME) {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        }
    }

    /// When the batch may be cleaned away, in ms: a marker's delete horizon (spec 8.9).
    #[must_use]
    pub const fn delete_horizon_ms(&self) -> Option<i64> {
        if self.attributes.has(Attributes::DELETE_HORIZON) {
            Some(self.base_timestamp)
        } else {
            None
        }
    }

    /// Whether the batch holds a control record.
    #[must_use]
    pub const fn is_control(&self) -> bool {
        self.attributes.has(Attributes::CONTROL)
    }
}

fn field<const N: usize>(bytes: &[u8; BatchHeader::LENGTH], at: usize) -> [u8; N] {
    core::array::from_fn(|i| bytes[at + i])
}
