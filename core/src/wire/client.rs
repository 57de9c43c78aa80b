//! The client's side: for tests, the simulator's raw clients and benches.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kacrab_protocol::generated as kafka;
use kacrab_protocol::generated::ApiKey;

use super::apis::{API_VERSIONS, PRODUCE, api_range, has_tagged_response_header, is_flexible};
use super::delete_groups;
use super::encode::LAST_GENERATED;
use super::frame::{skip_tagged, write_frame};
use super::messages::generated_messages;
use super::{
    DeleteGroupsResponse, FetchResponse, Limits, Request, Response, TxnOffsetCommitResponse,
    WireError, shape,
};

/// One request as a frame, size first. A null client id is written as such.
///
/// [`Request::ApiVersionsUnsupported`] is written as a header without a body.
///
/// # Errors
///
/// The request holds something its version cannot say, or a record set that screening refused
/// (send such a one with [`encode_produce`]).
pub fn encode_request(
    request: &Request,
    version: i16,
    correlation_id: i32,
    client_id: Option<&str>,
) -> Result<Bytes, WireError> {
    if let Request::Produce(produce) = request {
        return encode_produce(&produce.to_generated()?, version, correlation_id, client_id);
    }
    let api_key = request.api_key() as i16;
    let unencodable = |source| WireError::Unencodable { api_key, version, source };
    frame(api_key, version, correlation_id, client_id, |out| {
        write_body(version, request, out).map_err(unencodable)
    })
}

/// A Produce with whatever record sets, also bad ones.
///
/// # Errors
///
/// The request holds something its version cannot say.
pub fn encode_produce(
    data: &kafka::ProduceRequestData,
    version: i16,
    correlation_id: i32,
    client_id: Option<&str>,
) -> Result<Bytes, WireError> {
    frame(PRODUCE, version, correlation_id, client_id, |out| {
        data.write(out, version).map_err(|source| WireError::Unencodable {
            api_key: PRODUCE,
            version,
            source,
        })
    })
}

fn frame(
    api_key: i16,
    version: i16,
    correlation_id: i32,
    client_id: Option<&str>,
    body: impl FnOnce(&mut BytesMut) -> Result<(), WireError>,
) -> Result<Bytes, WireError> {
    let mut out = BytesMut::new();
    write_frame(&mut out, |out| {
        out.put_i16(api_key);
        out.put_i16(version);
        out.put_i32(correlation_id);
        match client_id {
            None => out.put_i16(-1),
            Some(id) => {
                let length = i16::try_from(id.len())
                    .map_err(|_| WireError::NotSendable("the client id is too long"))?;
                out.put_i16(length);
                out.put_slice(id.as_bytes());
            }
        }
        if is_flexible(api_key, version) {
            out.put_u8(0);
        }
        body(out)
    })?;
    Ok(out.freeze())
}

fn write_body(
    version: i16,
    request: &Request,
    out: &mut BytesMut,
) -> Result<(), kacrab_protocol::ProtocolError> {
    macro_rules! write {
        ($($name:ident $request:ident $response:ident,)*) => {
            match request {
                $(Request::$name(data) => data.write(out, version),)*
                Request::Fetch(data) => data.write(out, version),
                Request::TxnOffsetCommit(data) => data.write(out, version),
                Request::DeleteGroups(data) => {
                    data.write(out, version.min(delete_groups::GENERATED))
                }
                Request::ApiVersions(data) => data.write(out, version),
                // Produce has its own way; the other has no body.
                Request::Produce(_) | Request::ApiVersionsUnsupported => Ok(()),
            }
        };
    }
    generated_messages!(write)
}

/// Reads an answer, given without its size: its correlation id and itself.
///
/// The answer to an ApiVersions of a version beyond the served ones is read in v0 form.
///
/// # Errors
///
/// The frame is no answer to such a request.
pub fn decode_response(
    api_key: i16,
    version: i16,
    frame: Bytes,
) -> Result<(i32, Response), WireError> {
    let api = api_range(api_key).ok_or(WireError::UnknownApi { api_key })?;
    let mut body = frame;
    let correlation_id =
        body.try_get_i32().map_err(|_| WireError::BadHeader("ends before the correlation id"))?;
    let unsupported = api_key == API_VERSIONS && !(api.min..=api.max).contains(&version);
    if unsupported {
        let response = read_body(api_key, 0, body)?;
        let Response::ApiVersions(data) = response else { return Ok((correlation_id, response)) };
        return Ok((correlation_id, Response::ApiVersionsUnsupported(data)));
    }
    if has_tagged_response_header(api_key, version) {
        skip_tagged(&mut body)?;
    }
    Ok((correlation_id, read_body(api_key, version, body)?))
}

fn read_body(api_key: i16, version: i16, mut body: Bytes) -> Result<Response, WireError> {
    shape::check_response(api_key, version, &body, Limits::MAX_ELEMENTS)
        .map_err(|fault| WireError::BadShape { api_key, version, fault })?;
    let Some(key) = ApiKey::from_i16(api_key) else {
        return Err(WireError::UnknownApi { api_key });
    };
    let body = &mut body;

    macro_rules! read {
        ($($name:ident $request:ident $response:ident,)*) => {
            match key {
                $(ApiKey::$name => kafka::$response::read(body, version).map(Response::$name),)*
                ApiKey::Produce => kafka::ProduceResponseData::read(body, version).map(Response::Produce),
                ApiKey::Fetch => kafka::FetchResponseData::read(body, version)
                    .map(|data| Response::Fetch(FetchResponse::from_generated(data))),
                ApiKey::TxnOffsetCommit => {
                    TxnOffsetCommitResponse::read(body, version).map(Response::TxnOffsetCommit)
                }
                ApiKey::DeleteGroups => {
                    DeleteGroupsResponse::read(body, version).map(Response::DeleteGroups)
                }
                ApiKey::ApiVersions => {
                    kafka::ApiVersionsResponseData::read(body, version.min(LAST_GENERATED))
                        .map(Response::ApiVersions)
                }
                _ => return Err(WireError::UnknownApi { api_key }),
            }
        };
    }
    generated_messages!(read).map_err(|source| WireError::BadBody { api_key, version, source })
}
