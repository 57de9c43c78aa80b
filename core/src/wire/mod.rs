//! The Kafka protocol as the broker speaks it: framing, versions, limits, typed messages.

mod request;
mod response;

pub use self::request::{
    ApiVersionsRequest, ProduceRequest, ProduceTopic, Request, TxnOffsetCommitPartition,
    TxnOffsetCommitRequest, TxnOffsetCommitTopic,
};
pub use self::response::{
    FetchResponse, Response, TxnOffsetCommitResponse, TxnOffsetCommitTopicResult,
};
