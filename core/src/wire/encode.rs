//! The server's writing side.

use alloc::borrow::Cow;

use bytes::{BufMut, BytesMut};
use kacrab_protocol::generated::ApiVersionsResponseData;

use super::apis::has_tagged_response_header;
use super::frame::write_frame;
use super::messages::generated_messages;
use super::{Response, WireError};

/// Appends an answer to `out` as one frame, size first, in the version of its request.
///
/// The record bytes of a Fetch are copied once, into place.
///
/// # Errors
///
/// The answer holds something its version cannot say, or is longer than a frame can be: a bug of
/// ours. `out` is as it was.
pub fn encode_response(
    version: i16,
    correlation_id: i32,
    response: &Response,
    out: &mut BytesMut,
) -> Result<(), WireError> {
    let api_key = response.api_key() as i16;
    let unencodable = |source| WireError::Unencodable { api_key, version, source };
    if let Response::Fetch(fetch) = response {
        out.reserve(fetch.frame_bytes_at_most(version).map_err(unencodable)?);
    }
    write_frame(out, |out| {
        out.put_i32(correlation_id);
        if has_tagged_response_header(api_key, version) {
            out.put_u8(0);
        }
        write_body(version, response, out).map_err(unencodable)
    })
}

fn write_body(
    version: i16,
    response: &Response,
    out: &mut BytesMut,
) -> Result<(), kacrab_protocol::ProtocolError> {
    macro_rules! write {
        ($($name:ident $request:ident $response:ident,)*) => {
            match response {
                $(Response::$name(data) => data.write(out, version),)*
                Response::Produce(data) => data.write(out, version),
                Response::Fetch(fetch) => fetch.write(out, version),
                Response::TxnOffsetCommit(data) => data.write(out, version),
                Response::DeleteGroups(data) => data.write(out, version),
                Response::ApiVersions(data) => {
                    for_version(data, version).write(out, version.min(LAST_GENERATED))
                }
                Response::ApiVersionsUnsupported(data) => data.write(out, 0),
            }
        };
    }
    generated_messages!(write)
}

/// ApiVersions v5 answers are laid out as v4, the last that the generated writer knows.
pub(super) const LAST_GENERATED: i16 = 4;

/// Before v4 a client may choke on a feature whose smallest version is 0, so those are left out
/// (KAFKA-17011).
fn for_version(data: &ApiVersionsResponseData, version: i16) -> Cow<'_, ApiVersionsResponseData> {
    if version >= 4 || data.supported_features.iter().all(|feature| feature.min_version != 0) {
        return Cow::Borrowed(data);
    }
    let mut data = data.clone();
    data.supported_features.retain(|feature| feature.min_version != 0);
    Cow::Owned(data)
}
