//! Tests of the whole of `wire`: every API in every version, both ways.

mod errors;
mod golden;
mod refusals;
mod round_trip;
mod second_opinion;

use std::vec::Vec;

use bytes::{BufMut, Bytes, BytesMut};

use super::apis::{has_tagged_response_header, is_flexible};
use super::{APIS, ApiRange};

/// Every served API in every served version.
fn every_version() -> impl Iterator<Item = (&'static ApiRange, i16)> {
    APIS.iter().flat_map(|api| (api.min..=api.max).map(move |version| (api, version)))
}

/// A request frame, without its size, around a body.
fn request_frame(key: i16, version: i16, body: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_i16(key);
    frame.put_i16(version);
    frame.put_i32(7);
    frame.put_i16(3);
    frame.put_slice(b"tst");
    if is_flexible(key, version) {
        frame.put_u8(0);
    }
    frame.put_slice(body);
    frame.freeze()
}

/// A response frame, without its size, around a body.
fn response_frame(key: i16, version: i16, body: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_i32(7);
    if has_tagged_response_header(key, version) {
        frame.put_u8(0);
    }
    frame.put_slice(body);
    frame.freeze()
}

/// A frame with its size in front, as it goes over a socket.
fn sized(frame: &[u8]) -> Vec<u8> {
    let mut out = (frame.len() as u32).to_be_bytes().to_vec();
    out.extend_from_slice(frame);
    out
}
