//! Record batches (magic 2) as a client writes them: uncompressed, a value is an application id.

use bytes::{BufMut, Bytes, BytesMut};

/// Bytes in front of what the batch length counts.
const LOG_OVERHEAD: usize = 12;
/// Where the CRC's range begins.
const CRC_START: usize = 21;
const TRANSACTIONAL: i16 = 0x10;

/// Who writes a batch, in which epoch, from which sequence on.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    /// The producer id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// Sequence of the first record.
    pub base_sequence: i32,
}

/// A transactional batch of records with these application ids, stamped `timestamp_ms`.
#[must_use]
pub fn transactional(writer: Writer, timestamp_ms: i64, apps: &[u64]) -> Bytes {
    let mut records = BytesMut::new();
    for (delta, app) in (0_i64..).zip(apps) {
        let mut record = BytesMut::new();
        record.put_i8(0);
        put_varlong(&mut record, 0);
        put_varlong(&mut record, delta);
        put_varlong(&mut record, -1);
        put_varlong(&mut record, size_of::<u64>() as i64);
        record.put_u64(*app);
        put_varlong(&mut record, 0);
        put_varlong(&mut records, record.len() as i64);
        records.put_slice(&record);
    }
    let count = i32::try_from(apps.len()).expect("a batch of a test is small");
    let mut checked = BytesMut::new();
    checked.put_i16(TRANSACTIONAL);
    checked.put_i32(count - 1);
    checked.put_i64(timestamp_ms);
    checked.put_i64(timestamp_ms);
    checked.put_i64(writer.producer_id);
    checked.put_i16(writer.producer_epoch);
    checked.put_i32(writer.base_sequence);
    checked.put_i32(count);
    checked.put_slice(&records);
    let mut batch = BytesMut::new();
    batch.put_i64(0);
    let length = CRC_START - LOG_OVERHEAD + checked.len();
    batch.put_i32(i32::try_from(length).expect("a batch of a test is small"));
    batch.put_i32(-1);
    batch.put_i8(2);
    batch.put_u32(crc32c::crc32c(&checked));
    batch.put_slice(&checked);
    batch.freeze()
}

/// Zigzag, seven bits a byte, lowest first.
fn put_varlong(out: &mut BytesMut, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.put_u8((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.put_u8(rest as u8);
}

#[cfg(test)]
mod tests {
    use verdict_sim::history::{BatchKind, parse_batches};

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let writer = Writer { producer_id: 7, producer_epoch: 1, base_sequence: 5 };
        let bytes = transactional(writer, 1_700_000_000_000, &[3, 1 << 40, 0]);
        let batches = parse_batches(bytes).expect("undamaged");
        let [batch] = &batches[..] else { panic!("{batches:?}") };
        assert_eq!((batch.base, batch.last), (0, 2));
        assert_eq!((batch.pid, batch.epoch, batch.sequence), (7, 1, 5));
        assert_eq!(batch.kind, BatchKind::Transactional);
        assert_eq!(batch.apps, [3, 1 << 40, 0]);
    }
}
