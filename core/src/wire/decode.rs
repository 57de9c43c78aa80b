//! The server's reading side.

use bytes::Bytes;
use kacrab_protocol::generated as kafka;
use kacrab_protocol::generated::ApiKey;

use super::delete_groups;
use super::frame::{HeaderKind, read_header};
use super::messages::generated_messages;
use super::{
    ApiVersionsRequest, Limits, ProduceRequest, Request, RequestHeader, TxnOffsetCommitRequest,
    WireError, shape,
};

/// One request with its header.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The header.
    pub header: RequestHeader,
    /// The request.
    pub request: Request,
}

/// Reads one frame, given without its size. Bytes after the body are ignored, as Kafka does.
///
/// Strings and record sets of the request are slices of the frame.
///
/// # Errors
///
/// Why the connection is to be closed without an answer (spec 1.4).
pub fn decode_request(frame: Bytes, limits: &Limits) -> Result<Decoded, WireError> {
    if frame.len() > limits.max_request_bytes as usize {
        let size = i32::try_from(frame.len()).unwrap_or(i32::MAX);
        return Err(WireError::FrameSize { size, max: limits.max_request_bytes });
    }
    let mut body = frame;
    let (header, kind) = read_header(&mut body, limits)?;
    let request = match kind {
        HeaderKind::ApiVersionsUnsupported => Request::ApiVersionsUnsupported,
        HeaderKind::Served => decode_body(header.api_key, header.version, body, limits)?,
    };
    Ok(Decoded { header, request })
}

fn decode_body(
    api_key: i16,
    version: i16,
    mut body: Bytes,
    limits: &Limits,
) -> Result<Request, WireError> {
    let frame_bytes = body.len();
    shape::check_request(api_key, version, &body, limits.max_elements)
        .map_err(|fault| WireError::BadShape { api_key, version, fault })?;
    let bad_body = |source| WireError::BadBody { api_key, version, source };
    let Some(key) = ApiKey::from_i16(api_key) else {
        return Err(WireError::UnknownApi { api_key });
    };

    macro_rules! read {
        ($($name:ident $request:ident $response:ident,)*) => {
            match key {
                $(ApiKey::$name => kafka::$request::read(&mut body, version).map(Request::$name),)*
                ApiKey::Fetch => kafka::FetchRequestData::read(&mut body, version).map(Request::Fetch),
                ApiKey::Produce => kafka::ProduceRequestData::read(&mut body, version).map(|data| {
                    Request::Produce(ProduceRequest::screened(
                        data,
                        version,
                        &limits.screen,
                        frame_bytes,
                    ))
                }),
                ApiKey::TxnOffsetCommit => {
                    TxnOffsetCommitRequest::read(&mut body, version).map(Request::TxnOffsetCommit)
                }
                // v3 differs in its answer only.
                ApiKey::DeleteGroups => {
                    kafka::DeleteGroupsRequestData::read(&mut body, version.min(delete_groups::GENERATED))
                        .map(Request::DeleteGroups)
                }
                ApiKey::ApiVersions => {
                    ApiVersionsRequest::read(&mut body, version).map(Request::ApiVersions)
                }
                _ => return Err(WireError::UnknownApi { api_key }),
            }
        };
    }
    generated_messages!(read).map_err(bad_body)
}
