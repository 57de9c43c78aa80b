//! Record batches (magic 2) as a client writes and reads them: uncompressed, values only.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Bytes of a batch's header.
const HEADER: usize = 61;
/// Bytes in front of what the batch length counts.
const LOG_OVERHEAD: usize = 12;
/// Where the CRC's range begins.
const CRC_START: usize = 21;
const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;

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

/// A transactional batch of these values, stamped `timestamp_ms`.
#[must_use]
pub fn transactional(writer: Writer, timestamp_ms: i64, values: &[String]) -> Bytes {
    let mut records = BytesMut::new();
    for (delta, value) in (0_i64..).zip(values) {
        let mut record = BytesMut::new();
        record.put_i8(0);
        put_varlong(&mut record, 0);
        put_varlong(&mut record, delta);
        put_varlong(&mut record, -1);
        put_varlong(&mut record, value.len() as i64);
        record.put_slice(value.as_bytes());
        put_varlong(&mut record, 0);
        put_varlong(&mut records, record.len() as i64);
        records.put_slice(&record);
    }
    let count = i32::try_from(values.len()).expect("a batch of a test is small");
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

/// One batch of a fetch answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBatch {
    /// Offset of the first record.
    pub base_offset: i64,
    /// Offset of the last record, also when that is gone.
    pub last_offset: i64,
    /// Who wrote it.
    pub producer_id: i64,
    /// Whether it belongs to a transaction.
    pub is_transactional: bool,
    /// What is in it.
    pub content: Content,
}

/// What a batch holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Offsets and values.
    Records(Vec<(i64, String)>),
    /// A marker: whether it commits.
    Marker {
        /// Commit, or abort.
        commit: bool,
    },
}

/// The complete batches of a fetch answer. `None` when something in them is damaged.
#[must_use]
pub fn read(mut bytes: Bytes) -> Option<Vec<ReadBatch>> {
    let mut batches = Vec::new();
    while bytes.len() >= LOG_OVERHEAD {
        let length = usize::try_from((&bytes[8..LOG_OVERHEAD]).get_i32()).ok()? + LOG_OVERHEAD;
        if bytes.len() < length {
            break;
        }
        batches.push(read_batch(bytes.split_to(length))?);
    }
    Some(batches)
}

fn read_batch(mut bytes: Bytes) -> Option<ReadBatch> {
    if bytes.len() < HEADER || crc32c::crc32c(&bytes[CRC_START..]) != (&bytes[17..]).get_u32() {
        return None;
    }
    let base_offset = bytes.get_i64();
    bytes.advance(CRC_START - 8);
    let attributes = bytes.get_i16();
    let last_offset = base_offset + i64::from(bytes.get_i32());
    bytes.advance(16);
    let producer_id = bytes.get_i64();
    bytes.advance(6);
    let count = bytes.get_i32();
    let is_transactional = attributes & TRANSACTIONAL != 0;
    let content = if attributes & CONTROL == 0 {
        let records = (0..count).map(|_| read_record(&mut bytes, base_offset));
        Content::Records(records.collect::<Option<_>>()?)
    } else {
        Content::Marker { commit: read_marker(&mut bytes)? }
    };
    Some(ReadBatch { base_offset, last_offset, producer_id, is_transactional, content })
}

/// A record's offset and value.
fn read_record(bytes: &mut Bytes, base_offset: i64) -> Option<(i64, String)> {
    let (offset, _, value) = read_parts(bytes, base_offset)?;
    Some((offset, String::from_utf8(value.to_vec()).ok()?))
}

/// A control record's key is a version and a type, 1 for commit.
fn read_marker(bytes: &mut Bytes) -> Option<bool> {
    let (_, mut key, _) = read_parts(bytes, 0)?;
    key.try_get_i16().ok()?;
    Some(key.try_get_i16().ok()? == 1)
}

/// A record's offset, key and value.
fn read_parts(bytes: &mut Bytes, base_offset: i64) -> Option<(i64, Bytes, Bytes)> {
    let length = usize::try_from(get_varlong(bytes)?).ok()?;
    if bytes.len() < length {
        return None;
    }
    let mut record = bytes.split_to(length);
    record.try_get_i8().ok()?;
    get_varlong(&mut record)?;
    let offset = base_offset + get_varlong(&mut record)?;
    let key = get_field(&mut record)?;
    let value = get_field(&mut record)?;
    Some((offset, key, value))
}

/// A field with its length in front; null reads as empty.
fn get_field(record: &mut Bytes) -> Option<Bytes> {
    let length = usize::try_from(get_varlong(record)?.max(0)).ok()?;
    (length <= record.len()).then(|| record.split_to(length))
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

fn get_varlong(bytes: &mut Bytes) -> Option<i64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = bytes.try_get_u8().ok()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let writer = Writer { producer_id: 7, producer_epoch: 1, base_sequence: 5 };
        let values = vec!["one".to_owned(), String::new(), "x".repeat(300)];
        let bytes = transactional(writer, 1_700_000_000_000, &values);
        let batches = read(bytes).expect("undamaged");
        let records = (0..).zip(values).collect();
        let expected = ReadBatch {
            base_offset: 0,
            last_offset: 2,
            producer_id: 7,
            is_transactional: true,
            content: Content::Records(records),
        };
        assert_eq!(batches, [expected]);
    }

    #[test]
    fn a_flipped_bit_is_damage_and_a_cut_batch_is_not_there() {
        let writer = Writer { producer_id: 7, producer_epoch: 1, base_sequence: 5 };
        let whole = transactional(writer, 0, &["one".to_owned()]);
        let mut damaged = whole.to_vec();
        *damaged.last_mut().expect("not empty") ^= 1;
        assert_eq!(read(damaged.into()), None);
        assert_eq!(read(whole.slice(..whole.len() - 1)), Some(vec![]));
    }
}
