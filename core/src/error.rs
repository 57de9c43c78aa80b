//! One error type per culprit, and the only place that maps them to Kafka's error codes.
//!
//! Each machine has its own error enum beside it; this module turns each of them into the code
//! that Apache Kafka 4.4.0 answers for it.

pub use kacrab_protocol::generated::ErrorCode;
