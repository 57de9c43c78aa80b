//! The batches that simulated producers send: encoded here, screened as a connection task does.

use bytes::{BufMut, Bytes};
use verdict_core::batch::Screened;

use crate::history::{is_tombstone, key_of};

/// Who writes a batch, and from which sequence on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Writer {
    pub(super) pid: i64,
    pub(super) epoch: i16,
    pub(super) sequence: i32,
    pub(super) transactional: bool,
}

/// A batch with one record per application id.
pub(super) fn batch(writer: Writer, timestamp_ms: i64, apps: &[u64]) -> Bytes {
    padded(writer, timestamp_ms, apps, 0)
}

/// The same, every value longer by so many bytes.
pub(super) fn padded(writer: Writer, timestamp_ms: i64, apps: &[u64], pad: usize) -> Bytes {
    let mut records = Vec::with_capacity(apps.len() * (24 + pad));
    let mut record = Vec::with_capacity(24 + pad);
    for (delta, &app) in (0_i64..).zip(apps) {
        record.clear();
        record.put_u8(0);
        varint(&mut record, 0);
        varint(&mut record, delta);
        varint(&mut record, 8);
        record.put_u64(key_of(app));
        if is_tombstone(app) {
            varint(&mut record, -1);
            varint(&mut record, 1);
            varint(&mut record, 0);
            varint(&mut record, 8 + pad as i64);
            record.put_u64(app);
            record.put_bytes(0x5a, pad);
        } else {
            varint(&mut record, 8 + pad as i64);
            record.put_u64(app);
            record.put_bytes(0x5a, pad);
            varint(&mut record, 0);
        }
        varint(&mut records, record.len() as i64);
        records.extend_from_slice(&record);
    }
    let mut body = Vec::with_capacity(40 + records.len());
    body.put_i16(if writer.transactional { 0x10 } else { 0 });
    body.put_i32(apps.len() as i32 - 1);
    body.put_i64(timestamp_ms);
    body.put_i64(timestamp_ms);
    body.put_i64(writer.pid);
    body.put_i16(writer.epoch);
    body.put_i32(writer.sequence);
    body.put_i32(apps.len() as i32);
    body.extend_from_slice(&records);
    let mut out = Vec::with_capacity(21 + body.len());
    out.put_i64(0);
    out.put_i32(9 + body.len() as i32);
    out.put_i32(-1);
    out.put_u8(2);
    out.put_u32(crc32c::crc32c(&body));
    out.extend_from_slice(&body);
    out.into()
}

fn varint(out: &mut Vec<u8>, value: i64) {
    let mut raw = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while raw >= 0x80 {
        out.put_u8((raw & 0x7f) as u8 | 0x80);
        raw >>= 7;
    }
    out.put_u8(raw as u8);
}

/// What a connection task makes of the bytes.
pub(super) fn screened(bytes: Bytes, version: i16) -> Screened {
    verdict_core::batch::screen(Some(bytes), version, &verdict_core::batch::ScreenLimits::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{BatchKind, parse_batches};

    #[test]
    fn what_is_encoded_is_read_back() {
        let writer = Writer { pid: 7, epoch: 2, sequence: 40, transactional: true };
        let batches = parse_batches(batch(writer, 1_000, &[11, 13, 14])).expect("a good batch");
        assert_eq!(batches.len(), 1);
        let read = &batches[0];
        assert_eq!((read.base, read.last, read.pid, read.epoch), (0, 2, 7, 2));
        assert_eq!((read.sequence, read.kind), (40, BatchKind::Transactional));
        assert_eq!(read.apps, [11, 13, 14]);
    }

    #[test]
    fn the_core_screens_what_is_encoded_as_one_good_batch() {
        let writer = Writer { pid: 7, epoch: 2, sequence: 40, transactional: false };
        let found = screened(batch(writer, 1_000, &[1, 2]), 12);
        assert!(matches!(found, Screened::Batch(_)), "{found:?}");
    }
}
