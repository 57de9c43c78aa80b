//! Bodies of the fuzz targets (`fuzz/`), compiled with every build and run by a test.
//!
//! Each takes arbitrary bytes and must return: no panic, no allocation beyond the input's
//! measure. Where a message was read, writing and reading it again must give the same message.

use bytes::{Bytes, BytesMut};

use super::{
    APIS, Limits, Request, SIZE_BYTES, client, decode_request, encode_response, split_frame,
};
use crate::batch::{ScreenLimits, Screened, screen};

/// A frame of a client, as the broker reads it.
pub fn decode_any_request(data: &[u8]) {
    let limits = Limits::default();
    let mut arrived = BytesMut::from(data);
    // The size is rarely right in random bytes, so the frame is also read without one.
    let _ = split_frame(&mut arrived, &limits);
    let Ok(decoded) = decode_request(Bytes::copy_from_slice(data), &limits) else { return };
    // A refused record set and a request without a body have no second form.
    let comparable =
        !matches!(decoded.request, Request::Produce(_) | Request::ApiVersionsUnsupported);
    let header = &decoded.header;
    let id = Some(&*header.client_id);
    let again = client::encode_request(&decoded.request, header.version, header.correlation_id, id);
    if let (true, Ok(mut frame)) = (comparable, again) {
        let frame = frame.split_off(SIZE_BYTES);
        let read = decode_request(frame, &limits).expect("what was written can be read");
        assert_eq!(read, decoded, "a request changes when it is written and read again");
    }
}

/// An answer of a broker, as our client side reads it. The first byte picks the API, the second
/// the version.
pub fn decode_any_response(data: &[u8]) {
    let [api, version, rest @ ..] = data else { return };
    let api = &APIS[usize::from(*api) % APIS.len()];
    let versions = (api.max - api.min + 1).unsigned_abs();
    let version = api.min + (u16::from(*version) % versions).cast_signed();
    let frame = Bytes::copy_from_slice(rest);
    let Ok((correlation_id, response)) = client::decode_response(api.key, version, frame) else {
        return;
    };
    let mut out = BytesMut::new();
    let _ = encode_response(version, correlation_id, &response, &mut out);
}

/// A record set as it comes in a Produce. What passes is kept as it came.
pub fn screen_any_records(data: &[u8]) {
    let records = Bytes::copy_from_slice(data);
    if let Screened::Batch(batch) = screen(Some(records.clone()), 9, &ScreenLimits::default()) {
        assert_eq!(batch.bytes(), &records, "screening keeps a batch as it came");
    }
}
