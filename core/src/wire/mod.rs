//! The Kafka protocol as the broker speaks it: framing, versions, limits, typed messages.
//!
//! A connection's task cuts what has arrived into frames with [`split_frame`], makes a
//! [`Request`] of each with [`decode_request`], and writes the answer with [`encode_response`].
//! A [`WireError`] from the first two means: close the connection, without an answer (spec 1.4).
//! The messages are the generated ones; what they lack (versions of Kafka 4.4, null checks,
//! bounds on what a claimed length may cost) is added here. [`client`] is the other side.

mod api_versions;
mod apis;
pub mod client;
mod decode;
mod delete_groups;
mod encode;
mod error;
mod error_response;
mod fetch;
mod frame;
pub mod fuzz;
pub mod hostile;
mod limits;
mod messages;
mod produce;
mod request;
mod response;
mod shape;
#[cfg(test)]
mod tests;
mod txn_offset_commit;

pub use self::apis::{API_VERSIONS, APIS, ApiRange, INIT_PRODUCER_ID_UNSTABLE_MAX, api_range};
pub use self::decode::{Decoded, decode_request};
pub use self::encode::{FrameParts, encode_response, encode_response_parts};
pub use self::error::WireError;
pub use self::error_response::error_response;
pub use self::frame::{RequestHeader, SIZE_BYTES, split_frame};
pub use self::limits::Limits;
pub use self::request::{
    ApiVersionsRequest, ProduceRequest, ProduceTopic, Request, TxnOffsetCommitPartition,
    TxnOffsetCommitRequest, TxnOffsetCommitTopic,
};
pub use self::response::{
    DeleteGroupsResponse, DeletedGroup, FetchResponse, Response, TxnOffsetCommitResponse,
    TxnOffsetCommitTopicResult,
};
pub use self::shape::ShapeFault;
