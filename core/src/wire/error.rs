//! Why a connection is closed without an answer (spec 1.4).

use kacrab_protocol::ProtocolError;
use thiserror::Error;

use super::shape::ShapeFault;

/// What is wrong with a frame, or with a message that cannot be put into one. Each names its
/// culprit; a driver that gets one from decoding logs it and closes the connection.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WireError {
    /// The size in front of a frame is negative, zero or above the limit.
    #[error("frame size {size} is not in 1..={max} (socket.request.max.bytes)")]
    FrameSize {
        /// What the frame claims.
        size: i32,
        /// The limit, in bytes.
        max: u32,
    },
    /// The header ends early or holds something that is no header.
    #[error("request header: {0}")]
    BadHeader(&'static str),
    /// No API that this listener serves.
    #[error("api key {api_key} is not served here")]
    UnknownApi {
        /// The key.
        api_key: i16,
    },
    /// An API that is served, in a version that is not.
    #[error("api key {api_key} version {version} is not in {min}..={max}")]
    UnsupportedVersion {
        /// The key.
        api_key: i16,
        /// The version asked for.
        version: i16,
        /// The first version served.
        min: i16,
        /// The last version served.
        max: i16,
    },
    /// The body is not shaped as its schema says.
    #[error("api key {api_key} version {version}: {fault}")]
    BadShape {
        /// The key.
        api_key: i16,
        /// The version.
        version: i16,
        /// What differs.
        fault: ShapeFault,
    },
    /// The body cannot be read.
    #[error("api key {api_key} version {version}: body: {source}")]
    BadBody {
        /// The key.
        api_key: i16,
        /// The version.
        version: i16,
        /// What the reader says.
        source: ProtocolError,
    },
    /// A message of ours does not fit the version it is to be written in: a bug of ours.
    #[error("api key {api_key} version {version}: cannot encode: {source}")]
    Unencodable {
        /// The key.
        api_key: i16,
        /// The version.
        version: i16,
        /// What the writer says.
        source: ProtocolError,
    },
    /// A message of ours that has no bytes: a refused record set, or a frame beyond 2 GiB.
    #[error("cannot encode: {0}")]
    NotSendable(&'static str),
}
