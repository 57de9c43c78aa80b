//! Readers and writers of the primitive fields that Kafka's persisted record schemas are made of.
//!
//! Owns no schema: `group::records` and `meta::records` put these together. Everything read is
//! bounded by the bytes that are there; nothing panics on damaged bytes.

use bytes::{BufMut, BytesMut};

/// Why a persisted record could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum RecordFault {
    /// The bytes end within a field.
    #[error("the record ends within a field")]
    Truncated,
    /// A length is negative or larger than what is there.
    #[error("the record claims an impossible length")]
    BadLength,
    /// A string is not UTF-8.
    #[error("the record holds a string that is not UTF-8")]
    NotUtf8,
    /// A null where the schema has none.
    #[error("the record holds a null where none may be")]
    UnexpectedNull,
    /// A version that this release does not know.
    #[error("the record has the unknown version {0}")]
    UnknownVersion(i32),
}

/// A cursor over a record's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], RecordFault> {
        let (head, rest) = self.rest.split_at_checked(length).ok_or(RecordFault::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordFault> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| RecordFault::Truncated)
    }

    pub(crate) fn i8(&mut self) -> Result<i8, RecordFault> {
        self.array().map(i8::from_be_bytes)
    }

    pub(crate) fn bool(&mut self) -> Result<bool, RecordFault> {
        self.i8().map(|byte| byte != 0)
    }

    pub(crate) fn i16(&mut self) -> Result<i16, RecordFault> {
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, RecordFault> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, RecordFault> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, RecordFault> {
        self.array().map(i64::from_be_bytes)
    }

    pub(crate) fn uuid(&mut self) -> Result<u128, RecordFault> {
        self.array().map(u128::from_be_bytes)
    }

    /// An unsigned varint of at most five bytes.
    pub(crate) fn uvarint(&mut self) -> Result<u32, RecordFault> {
        let mut value = 0_u32;
        for shift in (0..32).step_by(7) {
            let [byte] = self.array()?;
            let bits = u32::from(byte & 0x7f);
            if shift == 28 && bits > 0x0f {
                return Err(RecordFault::BadLength);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(RecordFault::BadLength)
    }

    fn text(&mut self, length: usize) -> Result<&'a str, RecordFault> {
        core::str::from_utf8(self.take(length)?).map_err(|_| RecordFault::NotUtf8)
    }

    /// A string with a two byte length.
    pub(crate) fn string(&mut self) -> Result<&'a str, RecordFault> {
        let length = usize::try_from(self.i16()?).map_err(|_| RecordFault::BadLength)?;
        self.text(length)
    }

    /// A string with a two byte length, -1 for null.
    pub(crate) fn nullable_string(&mut self) -> Result<Option<&'a str>, RecordFault> {
        match self.i16()? {
            -1 => Ok(None),
            length => {
                self.text(usize::try_from(length).map_err(|_| RecordFault::BadLength)?).map(Some)
            }
        }
    }

    pub(crate) fn compact_nullable_string(&mut self) -> Result<Option<&'a str>, RecordFault> {
        match self.uvarint()? {
            0 => Ok(None),
            length => self.text(length as usize - 1).map(Some),
        }
    }

    pub(crate) fn compact_string(&mut self) -> Result<&'a str, RecordFault> {
        self.compact_nullable_string()?.ok_or(RecordFault::UnexpectedNull)
    }

    /// Reads a compact array, one item at a time, so that no claimed length is ever reserved.
    pub(crate) fn compact_array<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, RecordFault>,
    ) -> Result<alloc::vec::Vec<T>, RecordFault> {
        let length = self.uvarint()?.checked_sub(1).ok_or(RecordFault::UnexpectedNull)?;
        if length as usize > self.rest.len() {
            return Err(RecordFault::BadLength);
        }
        (0..length).map(|_| item(self)).collect()
    }

    /// Reads a tagged section, handing each tag and its bytes to `field`.
    pub(crate) fn tagged(
        &mut self,
        mut field: impl FnMut(u32, Reader<'a>) -> Result<(), RecordFault>,
    ) -> Result<(), RecordFault> {
        for _ in 0..self.uvarint()? {
            let tag = self.uvarint()?;
            let size = self.uvarint()? as usize;
            field(tag, Reader::new(self.take(size)?))?;
        }
        Ok(())
    }
}

/// Writes an unsigned varint.
pub(crate) fn put_uvarint(out: &mut BytesMut, mut value: u32) {
    while value >= 0x80 {
        out.put_u8((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

/// Writes a length as the compact forms do: one more than it is.
pub(crate) fn put_compact_length(out: &mut BytesMut, length: usize) {
    let length = u32::try_from(length).ok().and_then(|length| length.checked_add(1));
    put_uvarint(out, length.expect("nothing that is kept in a record is as large as 4 GiB"));
}

/// Writes a compact string.
pub(crate) fn put_compact_string(out: &mut BytesMut, text: &str) {
    put_compact_length(out, text.len());
    out.put_slice(text.as_bytes());
}

/// Writes a compact string that may be null.
pub(crate) fn put_compact_nullable_string(out: &mut BytesMut, text: Option<&str>) {
    match text {
        Some(text) => put_compact_string(out, text),
        None => put_uvarint(out, 0),
    }
}

/// Longest string that [`put_string`] can write, in bytes.
pub(crate) const STRING_BYTES_MAX: usize = i16::MAX as usize;

/// Writes a string with a two byte length; the caller has checked [`STRING_BYTES_MAX`].
pub(crate) fn put_string(out: &mut BytesMut, text: &str) {
    let length = i16::try_from(text.len()).expect("checked against STRING_BYTES_MAX before");
    out.put_i16(length);
    out.put_slice(text.as_bytes());
}

/// A decimal between 0 and 1 in millionths, without floats; further digits are cut off.
pub(crate) fn parts_per_million(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u32>().ok()? };
    let mut millionths = 0_u32;
    for place in 0..6 {
        let digit = fraction.as_bytes().get(place).map_or(0, |byte| u32::from(byte - b'0'));
        millionths = millionths * 10 + digit;
    }
    let above_one = whole > 1 || (whole == 1 && fraction.bytes().any(|byte| byte != b'0'));
    if above_one { None } else { Some(whole * 1_000_000 + millionths) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_survive_a_round_trip_and_too_long_ones_are_refused() {
        for value in [0, 1, 127, 128, 300, u32::MAX] {
            let mut out = BytesMut::new();
            put_uvarint(&mut out, value);
            assert_eq!(Reader::new(&out).uvarint(), Ok(value));
        }
        assert_eq!(Reader::new(&[0xff; 6]).uvarint(), Err(RecordFault::BadLength));
        assert_eq!(Reader::new(&[0xff; 2]).uvarint(), Err(RecordFault::Truncated));
    }

    #[test]
    fn a_claimed_array_length_is_never_reserved() {
        let claim = [0xff, 0xff, 0xff, 0xff, 0x0f, 0];
        assert_eq!(Reader::new(&claim).compact_array(Reader::i8), Err(RecordFault::BadLength));
    }
}
