//! Why a record set is refused, and when in the order of checks.
//!
//! Screening runs before the core knows the topic, so a fault carries what the core needs to
//! answer as Kafka does (spec 2.1): how far the fault reaches, the first batch's size (a batch
//! above `max.message.bytes` is MESSAGE_TOO_LARGE even when its CRC is wrong) and its header (a
//! batch with a wrong CRC still takes part in the transaction step).

use super::BatchHeader;

/// How far a fault reaches, in the order in which the levels are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultScope {
    /// Every partition of the request gets the code, before anything else is looked at.
    Request,
    /// This partition gets the code before the transaction step (spec 2.1, row 5).
    Shape,
    /// This partition gets the code after the transaction step and before the size is compared
    /// with `max.message.bytes` (row 11).
    BeforeSize,
    /// This partition gets the code after the transaction step, unless the batch is larger than
    /// `max.message.bytes` (rows 13 to 20).
    AfterSize,
}

/// A refused record set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{reason}")]
pub struct BatchFault {
    /// What is wrong.
    #[source]
    pub reason: FaultReason,
    /// Whether the first batch's header says transactional, as far as it can be read. Row 1 of
    /// spec 2.1 looks at this before anything else.
    pub transactional: bool,
    /// Bytes of the first batch, by its length field; 0 where that is unreadable.
    pub size: usize,
    /// The first batch's header where all of it could be read.
    pub header: Option<BatchHeader>,
}

impl BatchFault {
    /// The fault of [`super::Screened::Empty`], for whoever answers it like the others.
    pub const EMPTY: Self = Self::of(FaultReason::NoBatch);

    /// A fault about something that is no producer's batch: a stored one, or a single record.
    pub(super) const fn of(reason: FaultReason) -> Self {
        Self { reason, transactional: false, size: 0, header: None }
    }

    /// A fault of a batch whose header could be read.
    pub(super) const fn in_batch(reason: FaultReason, header: &BatchHeader) -> Self {
        Self {
            reason,
            transactional: header.is_transactional(),
            size: header.size(),
            header: Some(*header),
        }
    }

    /// When this fault is answered, and for whom.
    #[must_use]
    pub const fn scope(&self) -> FaultScope {
        self.reason.scope()
    }
}

/// What is wrong with a record set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum FaultReason {
    /// The length field of the first batch is below 14, so no batch can be found at all.
    #[error("batch length {0} is below the least possible one")]
    BadLength(i32),
    /// The length field lies so close to its largest value that the size does not fit.
    #[error("batch length {0} does not fit")]
    LengthOverflow(i32),
    /// A magic that never existed.
    #[error("magic {0} is unknown")]
    UnknownMagic(i8),
    /// A length field or magic behind the first batch makes no sense.
    #[error("what follows the first batch is damaged")]
    DamagedSecond,
    /// Not one complete batch.
    #[error("there is no complete record batch")]
    NoBatch,
    /// Magic 0 or 1.
    #[error("magic {0} is not 2")]
    OldMagic(i8),
    /// zstd in a Produce below v7.
    #[error("zstd needs Produce version 7 or newer")]
    ZstdTooOld,
    /// More than one batch for one partition.
    #[error("a Produce request may hold only one batch per partition")]
    SeveralBatches,
    /// Producers count from 0; only the log gives offsets.
    #[error("base offset {0} is not 0")]
    BaseOffsetNotZero(i64),
    /// Too short for a header.
    #[error("a batch of {0} bytes is too short")]
    TooShort(usize),
    /// The CRC-32C does not fit the bytes.
    #[error("the record batch's CRC does not match")]
    Crc,
    /// Codec 5, 6 or 7.
    #[error("compression codec {0} is unknown")]
    UnknownCodec(i16),
    /// Record count and last offset delta do not fit together, or are not positive.
    #[error("record count {record_count} and last offset delta {last_offset_delta} do not fit")]
    RecordCount {
        /// What the header counts.
        record_count: i32,
        /// What the header spans.
        last_offset_delta: i32,
    },
    /// Only brokers write control batches.
    #[error("clients may not write control records")]
    ControlBatch,
    /// A producer id without a sequence.
    #[error("a producer id needs a sequence, not {0}")]
    NegativeSequence(i32),
    /// The records do not unpack.
    #[error("the records do not decompress")]
    Undecodable,
    /// The records unpack to more than [`super::ScreenLimits::max_decompressed_batch_bytes`].
    #[error("the records decompress to more than the limit")]
    DecompressedTooLarge,
    /// A record is larger than `max.decompressed.message.bytes`.
    #[error("record {0} is larger than max.decompressed.message.bytes")]
    RecordTooLarge(u32),
    /// A record does not parse, or its parts do not fill its length.
    #[error("record {0} is malformed")]
    BadRecord(u32),
    /// A record's offset is not the one after the record before it.
    #[error("record {0} has a wrong offset delta")]
    BadOffsetDelta(u32),
    /// There are bytes behind the last record.
    #[error("{0} bytes follow the last record")]
    TrailingBytes(usize),
}

impl FaultReason {
    const fn scope(&self) -> FaultScope {
        match self {
            Self::BadLength(_) | Self::LengthOverflow(_) | Self::UnknownMagic(_) => {
                FaultScope::Request
            }
            Self::DamagedSecond
            | Self::NoBatch
            | Self::OldMagic(_)
            | Self::ZstdTooOld
            | Self::SeveralBatches => FaultScope::Shape,
            Self::BaseOffsetNotZero(_) => FaultScope::BeforeSize,
            _ => FaultScope::AfterSize,
        }
    }
}
