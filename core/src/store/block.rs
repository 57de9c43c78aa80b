//! A batch as the storage handles it: a decoded header and shared bytes, whether it came from a
//! partition, the journal or a segment.

use bytes::{Buf, Bytes};

use crate::batch::{BatchHeader, StoredBatch};
use crate::types::{Decision, Offset};

/// One whole batch at its place in the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Block {
    pub(super) header: BatchHeader,
    /// The bytes in order; the second part is empty when all of it is in one buffer.
    parts: [Bytes; 2],
}

impl From<StoredBatch> for Block {
    fn from(batch: StoredBatch) -> Self {
        Self { header: *batch.header(), parts: batch.parts() }
    }
}

/// Why bytes that should begin with a batch do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// The batch is longer than the bytes at hand; its size, when the length field was there.
    Short(Option<usize>),
    /// Bad magic, length, offsets or CRC.
    Damaged,
}

impl Block {
    /// Splits the first batch off `bytes` after checking its length and CRC.
    pub(super) fn split_from(bytes: &mut Bytes) -> Result<Self, Unreadable> {
        let Some(header) = BatchHeader::decode(bytes) else { return Err(Unreadable::Short(None)) };
        let size = header.size();
        if size < BatchHeader::LENGTH || header.magic != 2 || header.last_offset_delta < 0 {
            return Err(Unreadable::Damaged);
        }
        if header.base_offset < 0 || header.base_offset.checked_add(1 << 32).is_none() {
            return Err(Unreadable::Damaged);
        }
        if bytes.len() < size {
            return Err(Unreadable::Short(Some(size)));
        }
        if crc32c::crc32c(&bytes[BatchHeader::CRC_START..size]) != header.crc {
            return Err(Unreadable::Damaged);
        }
        Ok(Self { header, parts: [bytes.split_to(size), Bytes::new()] })
    }

    /// The bytes, in order; empty parts left out.
    pub(super) fn bytes(&self) -> impl Iterator<Item = &Bytes> {
        self.parts.iter().filter(|part| !part.is_empty())
    }

    /// The same with the empty parts.
    pub(super) const fn parts(&self) -> &[Bytes; 2] {
        &self.parts
    }

    /// Bytes of the batch.
    pub(super) fn size(&self) -> u64 {
        (self.parts[0].len() as u64).saturating_add(self.parts[1].len() as u64)
    }

    /// The decision and coordinator epoch of a control batch; `None` for data and for control
    /// records that are no transaction markers (spec 6.6).
    pub(super) fn marker(&self) -> Option<(Decision, i32)> {
        if !self.header.is_control() {
            return None;
        }
        let mut record = if self.parts[1].is_empty() {
            self.parts[0].get(BatchHeader::LENGTH..)?
        } else {
            &self.parts[1][..]
        };
        let _length = varint(&mut record)?;
        record.try_get_i8().ok()?;
        let _timestamp_delta = varint(&mut record)?;
        let _offset_delta = varint(&mut record)?;
        if varint(&mut record)? < 4 {
            return None;
        }
        let _version = record.try_get_i16().ok()?;
        let decision = match record.try_get_i16().ok()? {
            0 => Decision::Abort,
            1 => Decision::Commit,
            _ => return None,
        };
        if varint(&mut record)? < 6 {
            return None;
        }
        let _version = record.try_get_i16().ok()?;
        Some((decision, record.try_get_i32().ok()?))
    }

    /// The offset after the last record.
    pub(super) const fn end(&self) -> Offset {
        self.header.last_offset().saturating_add(1)
    }
}

/// A zigzag varint of up to ten bytes.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = bytes.try_get_u8().ok()?;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::{batch_at, seal};

    /// A good batch with other bytes at a place, and a CRC that agrees with them.
    fn changed(at: usize, with: &[u8]) -> Bytes {
        let mut bytes = batch_at(5, 2, b"v", 1).parts[0].to_vec();
        bytes[at..at + with.len()].copy_from_slice(with);
        let crc = crc32c::crc32c(&bytes[BatchHeader::CRC_START..]);
        bytes[BatchHeader::CRC_START - 4..BatchHeader::CRC_START]
            .copy_from_slice(&crc.to_be_bytes());
        bytes.into()
    }

    #[test]
    fn a_batch_whose_numbers_cannot_be_is_damaged_though_its_crc_is_right() {
        assert!(Block::split_from(&mut changed(0, &[])).is_ok());
        for (what, at, with) in [
            ("base offset below 0", 0, &(-1_i64).to_be_bytes()[..]),
            ("no room for its records", 0, &(i64::MAX - 5).to_be_bytes()),
            ("shorter than a header", 8, &10_i32.to_be_bytes()),
            ("another format", 16, &[1]),
            ("records below the base offset", 23, &(-1_i32).to_be_bytes()),
        ] {
            let mut bytes = changed(at, with);
            assert_eq!(Block::split_from(&mut bytes), Err(Unreadable::Damaged), "{what}");
        }
        let whole = changed(0, &[]);
        let size = Some(whole.len());
        let mut cut = whole.slice(..whole.len() - 1);
        assert_eq!(Block::split_from(&mut cut), Err(Unreadable::Short(size)));
    }

    #[test]
    fn a_control_record_is_a_marker_only_with_all_of_its_key_and_value() {
        let record = |key: &[u8], value: &[u8]| {
            let mut record = alloc::vec![0, 0, 0, 2 * key.len() as u8];
            record.extend(key);
            record.push(2 * value.len() as u8);
            record.extend(value);
            record.push(0);
            record.insert(0, 2 * record.len() as u8);
            seal(9, 1, 0x30, 1, &record).marker()
        };
        let (commit, value) = ([0, 0, 0, 1], [0, 0, 0, 0, 0, 7]);
        assert_eq!(record(&commit, &value), Some((Decision::Commit, 7)));
        assert_eq!(record(&[0, 0, 0, 0], &value), Some((Decision::Abort, 7)));
        assert_eq!(record(&[0, 0, 0, 2], &value), None, "another kind of control record");
        assert_eq!(record(&[0, 0, 0], &value), None);
        assert_eq!(record(&commit, &value[..5]), None);
        assert_eq!(record(&commit, &[0, 0, 0, 0, 0, 7, 0, 0]), Some((Decision::Commit, 7)));
    }

    #[test]
    fn varints_are_zigzag_of_up_to_ten_bytes() {
        let read = |mut bytes: &[u8]| varint(&mut bytes);
        for (bytes, value) in [
            (&[0][..], Some(0)),
            (&[1], Some(-1)),
            (&[2], Some(1)),
            (&[3], Some(-2)),
            (&[0xd8, 0x04], Some(300)),
            (&[0xd7, 0x04], Some(-300)),
            (&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], Some(i64::MAX)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], Some(i64::MIN)),
            (&[0x80], None),
            (&[0x80; 11], None),
        ] {
            assert_eq!(read(bytes), value, "{bytes:?}");
        }
    }
}
