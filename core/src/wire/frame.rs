//! Frames: a signed 32-bit size, then that many bytes (spec 1.4).

use alloc::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::apis::{API_VERSIONS, api_range, is_flexible};
use super::{Limits, WireError};

/// Bytes of the size in front of a frame.
pub const SIZE_BYTES: usize = 4;

/// Takes the first frame off what has arrived, without its size; `None` when it is not complete.
/// The size is judged as soon as its four bytes are there.
///
/// # Errors
///
/// [`WireError::FrameSize`]: the connection is to be closed.
pub fn split_frame(arrived: &mut BytesMut, limits: &Limits) -> Result<Option<Bytes>, WireError> {
    let Some(head) = arrived.first_chunk::<SIZE_BYTES>() else { return Ok(None) };
    let size = i32::from_be_bytes(*head);
    let bytes = match u32::try_from(size) {
        Ok(bytes) if bytes > 0 && bytes <= limits.max_request_bytes => bytes as usize,
        _ => return Err(WireError::FrameSize { size, max: limits.max_request_bytes }),
    };
    if arrived.len() - SIZE_BYTES < bytes {
        return Ok(None);
    }
    arrived.advance(SIZE_BYTES);
    Ok(Some(arrived.split_to(bytes).freeze()))
}

/// Writes a frame: room for the size, what `body` writes, then the size.
pub(super) fn write_frame(
    out: &mut BytesMut,
    body: impl FnOnce(&mut BytesMut) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let start = out.len();
    out.put_i32(0);
    let written = body(out).and_then(|()| {
        i32::try_from(out.len() - start - SIZE_BYTES)
            .map_err(|_| WireError::NotSendable("the frame is longer than 2 GiB"))
    });
    match written {
        Ok(size) => {
            out[start..start + SIZE_BYTES].copy_from_slice(&size.to_be_bytes());
            Ok(())
        }
        Err(error) => {
            // Half a frame must never reach a socket.
            out.truncate(start);
            Err(error)
        }
    }
}

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// Which API.
    pub api_key: i16,
    /// In which version.
    pub version: i16,
    /// Comes back in the answer.
    pub correlation_id: i32,
    /// The client's id; "" when it was null.
    pub client_id: Arc<str>,
}

/// How a header ends: what of its body can be read.
pub(super) enum HeaderKind {
    /// The version is served: the body follows.
    Served,
    /// ApiVersions in a version that is not: the body is not to be read (KIP-511).
    ApiVersionsUnsupported,
}

/// Reads a header (v1, or v2 in flexible versions) and judges key and version.
pub(super) fn read_header(
    frame: &mut Bytes,
    limits: &Limits,
) -> Result<(RequestHeader, HeaderKind), WireError> {
    if frame.len() < 8 {
        return Err(WireError::BadHeader("shorter than eight bytes"));
    }
    let api_key = frame.get_i16();
    let version = frame.get_i16();
    let correlation_id = frame.get_i32();
    let Some(api) = api_range(api_key) else { return Err(WireError::UnknownApi { api_key }) };
    let max = limits.last_version(api);
    let served = api.min <= version && version <= max;
    if !served && api_key != API_VERSIONS {
        return Err(WireError::UnsupportedVersion { api_key, version, min: api.min, max });
    }
    let client_id = read_client_id(frame)?;
    if is_flexible(api_key, version) {
        skip_tagged(frame)?;
    }
    let kind = if served { HeaderKind::Served } else { HeaderKind::ApiVersionsUnsupported };
    Ok((RequestHeader { api_key, version, correlation_id, client_id }, kind))
}

/// The client id keeps its two-byte length in every header version.
fn read_client_id(frame: &mut Bytes) -> Result<Arc<str>, WireError> {
    let length =
        frame.try_get_i16().map_err(|_| WireError::BadHeader("ends before the client id"))?;
    let Ok(length) = usize::try_from(length) else { return Ok(Arc::from("")) };
    if length > frame.len() {
        return Err(WireError::BadHeader("ends inside the client id"));
    }
    let id = frame.split_to(length);
    let id = core::str::from_utf8(&id)
        .map_err(|_| WireError::BadHeader("the client id is not UTF-8"))?;
    Ok(Arc::from(id))
}

/// Skips the tagged fields of a header; none is known.
pub(super) fn skip_tagged(frame: &mut Bytes) -> Result<(), WireError> {
    let count = read_varint(frame)?;
    for _ in 0..count {
        let _tag = read_varint(frame)?;
        let size = read_varint(frame)? as usize;
        if size > frame.len() {
            return Err(WireError::BadHeader("ends inside a tagged field"));
        }
        frame.advance(size);
    }
    Ok(())
}

fn read_varint(frame: &mut Bytes) -> Result<u32, WireError> {
    kacrab_protocol::primitives::read_unsigned_varint(frame)
        .map_err(|_| WireError::BadHeader("a tagged field without a proper length"))
}
