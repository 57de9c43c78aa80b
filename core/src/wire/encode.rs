//! The server's writing side.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use bytes::{BufMut, Bytes, BytesMut};
use kacrab_protocol::generated::ApiVersionsResponseData;

use super::apis::has_tagged_response_header;
use super::fetch::Shared;
use super::frame::{SIZE_BYTES, write_frame};
use super::messages::generated_messages;
use super::{Response, WireError};
use crate::io::FileRun;

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
    encode(version, correlation_id, response, out, &mut Shared::nothing())
}

/// Record bytes from this size on are shared rather than copied.
const SHARED_BYTES_MIN: usize = 4096;

/// A frame in pieces.
#[derive(Debug, Default)]
pub struct FrameParts {
    /// They go out one after the other.
    pub parts: Vec<Bytes>,
    /// For each of [`FetchResponse::files`](super::FetchResponse::files), in order: how many bytes
    /// of the frame go before those that the file holds, too.
    pub files_at: Vec<usize>,
}

/// As [`encode_response`], in pieces that go out one after the other: the batches of a Fetch are
/// shared, what lies between them is written to `out`, which was empty, and split off it.
///
/// # Errors
///
/// As [`encode_response`].
pub fn encode_response_parts(
    version: i16,
    correlation_id: i32,
    response: &Response,
    out: &mut BytesMut,
) -> Result<FrameParts, WireError> {
    let files = match response {
        Response::Fetch(fetch) => &fetch.files[..],
        _ => &[],
    };
    let mut shared = Shared::from_size(SHARED_BYTES_MIN);
    shared.starts = (!files.is_empty()).then(Vec::new);
    encode(version, correlation_id, response, out, &mut shared)?;
    let starts = shared.starts.unwrap_or_default();
    let start_of = |(number, _): &(usize, FileRun)| starts.get(*number).copied().unwrap_or(0);
    let files_at = files.iter().map(start_of).collect();
    let mut parts = Vec::with_capacity(2 * shared.parts.len() + 1);
    let mut taken = 0;
    for (at, part) in shared.parts {
        let before = out.split_to(at - taken).freeze();
        taken = at;
        parts.extend([before, part].into_iter().filter(|part| !part.is_empty()));
    }
    if !out.is_empty() {
        parts.push(out.split().freeze());
    }
    Ok(FrameParts { parts, files_at })
}

fn encode(
    version: i16,
    correlation_id: i32,
    response: &Response,
    out: &mut BytesMut,
    shared: &mut Shared,
) -> Result<(), WireError> {
    let api_key = response.api_key() as i16;
    let unencodable = |source| WireError::Unencodable { api_key, version, source };
    if let Response::Fetch(fetch) = response {
        out.reserve(fetch.frame_bytes_at_most(version, shared).map_err(unencodable)?);
    }
    let start = out.len();
    write_frame(out, |out| {
        out.put_i32(correlation_id);
        if has_tagged_response_header(api_key, version) {
            out.put_u8(0);
        }
        write_body(version, response, out, shared).map_err(unencodable)
    })?;
    let Some(size) = (out.len() - start - SIZE_BYTES)
        .checked_add(shared.left_out)
        .and_then(|size| i32::try_from(size).ok())
    else {
        out.truncate(start);
        return Err(WireError::NotSendable("the frame is longer than 2 GiB"));
    };
    out[start..start + SIZE_BYTES].copy_from_slice(&size.to_be_bytes());
    Ok(())
}

fn write_body(
    version: i16,
    response: &Response,
    out: &mut BytesMut,
    shared: &mut Shared,
) -> Result<(), kacrab_protocol::ProtocolError> {
    macro_rules! write {
        ($($name:ident $request:ident $response:ident,)*) => {
            match response {
                $(Response::$name(data) => data.write(out, version),)*
                Response::Produce(data) => data.write(out, version),
                Response::Fetch(fetch) => fetch.write(out, version, shared),
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
