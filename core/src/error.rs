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
