//! One record within a batch: varints, lengths, null and absent.
//!
//! Layout (spec 9.1): varint length, int8 attributes, varlong timestamp delta, varint offset
//! delta, key and value with varint lengths (-1 is null), varint number of headers, headers. The
//! length must be filled exactly (`DefaultRecord.readFrom`).

use core::ops::Range;

/// Bytes of the smallest record, its length field included.
const RECORD_BYTES_MIN: usize = 7;

/// A place to read from; positions count from the start of the records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

/// Where the parts of a record lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordView {
    pub(super) body_length: usize,
    pub(super) timestamp_delta: i64,
    pub(super) offset_delta: i32,
    pub(super) key: Option<Range<usize>>,
    pub(super) value: Option<Range<usize>>,
    pub(super) header_count: usize,
    /// Where the headers begin; walk them with [`Cursor::header`].
    pub(super) headers: Range<usize>,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, end: bytes.len() }
    }

    /// A cursor over a part of `bytes`.
    pub(super) const fn within(bytes: &'a [u8], part: Range<usize>) -> Self {
        Self { bytes, at: part.start, end: part.end }
    }

    pub(super) const fn position(&self) -> usize {
        self.at
    }

    pub(super) const fn remaining(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    fn byte(&mut self) -> Option<u8> {
        if self.at >= self.end {
            return None;
        }
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn unsigned(&mut self, bytes_max: u32) -> Option<u64> {
        let mut value = 0_u64;
        for index in 0..bytes_max {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A zigzag varint of 32 bits.
    pub(super) fn varint(&mut self) -> Option<i32> {
        let raw = self.unsigned(5)? as u32;
        Some((raw >> 1).cast_signed() ^ -((raw & 1).cast_signed()))
    }

    /// A zigzag varint of 64 bits.
    pub(super) fn varlong(&mut self) -> Option<i64> {
        let raw = self.unsigned(10)?;
        Some((raw >> 1).cast_signed() ^ -((raw & 1).cast_signed()))
    }

    fn skip(&mut self, length: usize) -> Option<Range<usize>> {
        let end = self.at.checked_add(length)?;
        if end > self.end {
            return None;
        }
        let range = self.at..end;
        self.at = end;
        Some(range)
    }

    /// Bytes with a length before them; the inner `None` is null.
    pub(super) fn nullable(&mut self) -> Option<Option<Range<usize>>> {
        match self.varint()? {
            length if length < 0 => Some(None),
            length => self.skip(length as usize).map(Some),
        }
    }

    /// One header: its key, which may not be null, and its value.
    pub(super) fn header(&mut self) -> Option<(Range<usize>, Option<Range<usize>>)> {
        let key = self.nullable()??;
        Some((key, self.nullable()?))
    }

    /// The next record; `None` when it is malformed.
    pub(super) fn record(&mut self) -> Option<RecordView> {
        let body_length = usize::try_from(self.varint()?).ok()?;
        let body = self.skip(body_length)?;
        let mut inner = Self::within(self.bytes, body);
        let _attributes = inner.byte()?;
        let timestamp_delta = inner.varlong()?;
        let offset_delta = inner.varint()?;
        let key = inner.nullable()?;
        let value = inner.nullable()?;
        let header_count = usize::try_from(inner.varint()?).ok()?;
        if header_count > inner.remaining() {
            return None;
        }
        let headers_start = inner.position();
        for _ in 0..header_count {
            inner.header()?;
        }
        if inner.remaining() != 0 {
            return None;
        }
        let headers = headers_start..inner.position();
        Some(RecordView {
            body_length,
            timestamp_delta,
            offset_delta,
            key,
            value,
            header_count,
            headers,
        })
    }
}

/// Whether so many bytes can hold so many records.
pub(super) const fn can_hold(bytes: usize, records: usize) -> bool {
    records <= bytes / RECORD_BYTES_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_zigzag() {
        for (bytes, value) in [
            (&[0][..], 0),
            (&[1], -1),
            (&[2], 1),
            (&[0xc8, 1], 100),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], i32::MIN),
        ] {
            assert_eq!(Cursor::new(bytes, 0).varint(), Some(value));
            assert_eq!(Cursor::new(bytes, 0).varlong(), Some(i64::from(value)));
        }
    }

    #[test]
    fn a_varint_of_more_than_five_bytes_is_none() {
        assert_eq!(Cursor::new(&[0x80, 0x80, 0x80, 0x80, 0x80, 0], 0).varint(), None);
        assert_eq!(Cursor::new(&[0x80], 0).varint(), None);
    }

    #[test]
    fn a_record_must_fill_its_length() {
        let good = [0x0e, 0, 0, 0, 1, 2, b'v', 0];
        assert!(Cursor::new(&good, 0).record().is_some());
        for length in [0x0c, 0x10, 1, 0, 3] {
            let mut bad = good;
            bad[0] = length;
            assert_eq!(Cursor::new(&bad, 0).record(), None, "length byte {length}");
        }
    }
}
