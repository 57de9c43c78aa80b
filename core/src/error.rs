//! One error type per culprit, and the only place that maps them to Kafka's error codes.
//!
//! Each machine has its own error enum beside it; this module turns each of them into the code
//! that Apache Kafka 4.4.0 answers for it.

pub use kacrab_protocol::generated::ErrorCode;

// ---- batch (spec 2.1) ----

impl From<&crate::batch::BatchFault> for ErrorCode {
    fn from(fault: &crate::batch::BatchFault) -> Self {
        use crate::batch::FaultReason as Reason;
        match fault.reason {
            Reason::BadLength(_)
            | Reason::UnknownMagic(_)
            | Reason::DamagedSecond
            | Reason::TooShort(_)
            | Reason::Crc => Self::CorruptMessage,
            // Kafka meets these as exceptions that no rule foresaw (conformance `bad-lengths`,
            // `bad-codec`).
            Reason::LengthOverflow(_) | Reason::UnknownCodec(_) | Reason::Undecodable => {
                Self::UnknownServerError
            }
            Reason::ZstdTooOld => Self::UnsupportedCompressionType,
            _ => Self::InvalidRecord,
        }
    }
}

// ---- partition (spec 2.1, 2.2, 6.4, 8.3) ----

impl From<&crate::partition::AppendError> for ErrorCode {
    fn from(error: &crate::partition::AppendError) -> Self {
        use crate::partition::AppendError as Error;
        match error {
            Error::MessageTooLarge { .. } => Self::MessageTooLarge,
            Error::RecordListTooLarge { .. } => Self::RecordListTooLarge,
            Error::InvalidRecords { timestamp: true, .. } => Self::InvalidTimestamp,
            Error::InvalidRecords { timestamp: false, .. } | Error::ControlBatch => {
                Self::InvalidRecord
            }
            Error::InvalidProducerEpoch { .. } => Self::InvalidProducerEpoch,
            Error::OutOfOrderSequence { .. } => Self::OutOfOrderSequenceNumber,
            Error::NotVerified { .. } | Error::NotTransactional { .. } => Self::InvalidTxnState,
            Error::CoordinatorFenced { .. } => Self::TransactionCoordinatorFenced,
            Error::OffsetsExhausted => Self::KafkaStorageError,
        }
    }
}

impl From<&crate::partition::OffsetOutOfRange> for ErrorCode {
    fn from(_: &crate::partition::OffsetOutOfRange) -> Self {
        Self::OffsetOutOfRange
    }
}
