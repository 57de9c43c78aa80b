//! Finding the batches in bytes, and judging the one a producer sent (spec 2.1, rows 1, 5, 11 to
//! 20; `ByteBufferLogInputStream`, `ProduceRequest.validateRecords`, `LogValidator`).

use bytes::Bytes;

use super::records::judge;
use super::{BatchFault, BatchHeader, CheckedBatch, Compression, FaultReason};

/// What screening found in one partition's record set of a Produce request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Screened {
    /// One good batch.
    Batch(CheckedBatch),
    /// No batch at all: null, or too few bytes for one. Answered INVALID_RECORD.
    Empty,
    /// Something that is refused; which code it gets depends on the topic too.
    Fault(BatchFault),
}

impl Screened {
    /// Whether the first batch says transactional, good or not (spec 2.1, row 1).
    #[must_use]
    pub const fn is_transactional(&self) -> bool {
        match self {
            Self::Batch(batch) => batch.header.is_transactional(),
            Self::Empty => false,
            Self::Fault(fault) => fault.transactional,
        }
    }

    /// The first batch's header where it could be read.
    #[must_use]
    pub const fn header(&self) -> Option<&BatchHeader> {
        match self {
            Self::Batch(batch) => Some(&batch.header),
            Self::Empty => None,
            Self::Fault(fault) => fault.header.as_ref(),
        }
    }
}

/// How far records are unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScreenLimits {
    /// `max.decompressed.message.bytes`: bytes of one record.
    pub max_decompressed_record_bytes: usize,
    /// Bytes of all records of one batch together. Kafka has no such limit.
    pub max_decompressed_batch_bytes: usize,
}

impl Default for ScreenLimits {
    fn default() -> Self {
        Self {
            max_decompressed_record_bytes: 2_147_483_639,
            max_decompressed_batch_bytes: 128 << 20,
        }
    }
}

/// Least value of the length field that the search for batches goes along with: the record
/// overhead of magic 0.
const BATCH_LENGTH_MIN: i32 = 14;
/// Bytes up to and including the magic.
const HEAD_TO_MAGIC: usize = 17;
const MAGIC_AT: usize = 16;
const ATTRIBUTES_AT: usize = 21;
const MAGIC: i8 = 2;
/// zstd is known to clients from this Produce version on.
const ZSTD_PRODUCE_VERSION_MIN: i16 = 7;

/// Size of the batch at the front of `bytes`; `None` when it is not complete.
fn next_size(bytes: &[u8]) -> Result<Option<usize>, FaultReason> {
    let Some(length) = bytes.get(8..BatchHeader::LOG_OVERHEAD).and_then(|b| b.try_into().ok())
    else {
        return Ok(None);
    };
    let length = i32::from_be_bytes(length);
    if length < BATCH_LENGTH_MIN {
        return Err(FaultReason::BadLength(length));
    }
    if bytes.len() < HEAD_TO_MAGIC {
        return Ok(None);
    }
    match bytes[MAGIC_AT].cast_signed() {
        0..=MAGIC => {}
        magic => return Err(FaultReason::UnknownMagic(magic)),
    }
    let overflow = FaultReason::LengthOverflow(length);
    let size = length.checked_add(BatchHeader::LOG_OVERHEAD as i32).ok_or(overflow)?;
    let size = usize::try_from(size).map_err(|_| overflow)?;
    Ok((size <= bytes.len()).then_some(size))
}

/// Judges one partition's record set of a Produce request, as far as that needs no topic.
#[must_use]
pub fn screen(records: Option<Bytes>, produce_version: i16, limits: &ScreenLimits) -> Screened {
    let Some(bytes) = records else {
        return Screened::Empty;
    };
    let size = match next_size(&bytes) {
        Ok(Some(size)) => size,
        Ok(None) => return Screened::Empty,
        Err(reason) => return Screened::Fault(BatchFault::of(reason)),
    };
    let first = bytes.slice(..size);
    let header = BatchHeader::decode(&first);
    match judge_batch(&first, bytes.get(size..).unwrap_or_default(), produce_version, limits) {
        Ok(batch) => Screened::Batch(batch),
        Err(reason) => Screened::Fault(BatchFault {
            reason,
            transactional: says_transactional(&first),
            size,
            header: header.filter(|header| header.magic == MAGIC),
        }),
    }
}

/// Reads the flag even of a batch that is too short for a header. Magic 0 and 1 have none.
fn says_transactional(first: &[u8]) -> bool {
    first.get(MAGIC_AT) == Some(&MAGIC.cast_unsigned())
        && super::Attributes(attributes(first)).has(super::Attributes::TRANSACTIONAL)
}

fn attributes(first: &[u8]) -> i16 {
    let bytes = first.get(ATTRIBUTES_AT..ATTRIBUTES_AT + 2).and_then(|b| b.try_into().ok());
    bytes.map_or(0, i16::from_be_bytes)
}

fn judge_batch(
    first: &Bytes,
    behind: &[u8],
    produce_version: i16,
    limits: &ScreenLimits,
) -> Result<CheckedBatch, FaultReason> {
    let magic = first.get(MAGIC_AT).map_or(-1, |byte| byte.cast_signed());
    if magic != MAGIC {
        return Err(FaultReason::OldMagic(magic));
    }
    let zstd = Compression::of(attributes(first) & 0x07) == Some(Compression::Zstd);
    if zstd && produce_version < ZSTD_PRODUCE_VERSION_MIN {
        return Err(FaultReason::ZstdTooOld);
    }
    match next_size(behind) {
        Ok(None) => {}
        Ok(Some(_)) => return Err(FaultReason::SeveralBatches),
        Err(reason @ FaultReason::LengthOverflow(_)) => return Err(reason),
        Err(_) => return Err(FaultReason::DamagedSecond),
    }
    let base_offset = first.first_chunk::<8>().map_or(0, |bytes| i64::from_be_bytes(*bytes));
    if base_offset != 0 {
        return Err(FaultReason::BaseOffsetNotZero(base_offset));
    }
    let mut batch = check(first.clone())?;
    judge_header(&batch.header)?;
    batch.facts = Some(judge(&batch.header, &batch.payload(), limits)?);
    Ok(batch)
}

/// Rows 16 to 18, and the codec, which Kafka looks up before them.
fn judge_header(header: &BatchHeader) -> Result<(), FaultReason> {
    if header.compression().is_none() {
        return Err(FaultReason::UnknownCodec(header.attributes.codec()));
    }
    let (record_count, last_offset_delta) = (header.record_count, header.last_offset_delta);
    if record_count <= 0 || last_offset_delta.checked_add(1) != Some(record_count) {
        return Err(FaultReason::RecordCount { record_count, last_offset_delta });
    }
    if header.is_control() {
        return Err(FaultReason::ControlBatch);
    }
    if header.has_producer() && header.base_sequence < 0 {
        return Err(FaultReason::NegativeSequence(header.base_sequence));
    }
    Ok(())
}

/// Verifies length and CRC of exactly one batch.
fn check(bytes: Bytes) -> Result<CheckedBatch, FaultReason> {
    let header = BatchHeader::decode(&bytes).ok_or(FaultReason::TooShort(bytes.len()))?;
    let covered = bytes.get(BatchHeader::CRC_START..).unwrap_or_default();
    if crc32c::crc32c(covered) != header.crc {
        return Err(FaultReason::Crc);
    }
    Ok(CheckedBatch { header, bytes, facts: None })
}

/// The batches of a segment or of a fetch's bytes, each with its CRC verified. Ends before an
/// incomplete batch and after the first damaged one.
#[derive(Clone, Debug)]
pub struct Batches {
    rest: Bytes,
}

impl Batches {
    /// What was not read: an incomplete batch; empty after a damaged one.
    #[must_use]
    pub const fn rest(&self) -> &Bytes {
        &self.rest
    }
}

/// Walks the batches of a segment or of a fetch's bytes.
#[must_use]
pub const fn batches(bytes: Bytes) -> Batches {
    Batches { rest: bytes }
}

impl Iterator for Batches {
    type Item = Result<CheckedBatch, BatchFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let size = next_size(&self.rest).transpose()?;
        let found = size.and_then(|size| {
            let bytes = self.rest.slice(..size);
            match bytes.get(MAGIC_AT).map(|byte| byte.cast_signed()) {
                Some(MAGIC) => check(bytes),
                magic => Err(FaultReason::OldMagic(magic.unwrap_or(-1))),
            }
        });
        match found {
            Ok(batch) => {
                self.rest = self.rest.slice(batch.size()..);
                Some(Ok(batch))
            }
            Err(reason) => {
                self.rest.clear();
                Some(Err(BatchFault::of(reason)))
            }
        }
    }
}
