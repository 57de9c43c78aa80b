//! Well-formed bodies made from the schemas.
//!
//! [`Values`] says what fields hold; the writer gives them the form of their version and notes
//! where each length, count and value stands, for those who want to break them.

use alloc::vec::Vec;

use super::{Field, Kind, REQUESTS, Shape, shape_of};

/// SplitMix64: enough randomness for tests, the same everywhere.
#[derive(Clone, Debug)]
pub(in crate::wire) struct Random(pub(in crate::wire) u64);

impl Random {
    pub(in crate::wire) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub(in crate::wire) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Whether one of `n` equal chances came true.
    pub(in crate::wire) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// An index below `length`, which is not 0.
    pub(in crate::wire) fn index(&mut self, length: usize) -> usize {
        (self.next() % length as u64) as usize
    }
}

/// What a generated message holds.
pub(in crate::wire) trait Values {
    /// The randomness that everything is drawn from.
    fn random(&mut self) -> &mut Random;
    /// Bytes of a field of that size, written from the first on. A tagged field that is written
    /// differs from its default.
    fn fixed(&mut self, name: &'static str, size: usize, tagged: bool) -> [u8; 16];
    /// A string, not empty in a tagged field.
    fn text(&mut self, name: &'static str, tagged: bool) -> Vec<u8>;
    /// Bytes or records.
    fn blob(&mut self, name: &'static str) -> Vec<u8>;
    /// How many elements an array has.
    fn count(&mut self, name: &'static str) -> usize;
    /// Whether a field that may be null is.
    fn is_null(&mut self, kind: &'static Kind) -> bool;
}

/// What stands at a place of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wire) enum SpotKind {
    /// A field of fixed size.
    Fixed,
    /// The length of something, or the count of an array, in two or four bytes.
    Length,
    /// The same as a varint, one more than what it counts.
    CompactLength,
    /// How many tagged fields follow, as a varint.
    TagCount,
    /// The number of a tagged field, as a varint.
    Tag,
    /// The size of a tagged field, as a varint.
    TagSize,
    /// The letters of a string.
    Text,
}

/// A place of a body.
#[derive(Clone, Copy, Debug)]
pub(in crate::wire) struct Spot {
    /// Its first byte.
    pub(in crate::wire) at: usize,
    /// How many bytes it has.
    pub(in crate::wire) bytes: usize,
    /// What stands there.
    pub(in crate::wire) kind: SpotKind,
}

/// A request's body and what stands where in it; empty for an API that has no shape.
pub(in crate::wire) fn request(
    key: i16,
    version: i16,
    values: &mut impl Values,
) -> (Vec<u8>, Vec<Spot>) {
    body(REQUESTS, key, version, values)
}

pub(super) fn body(
    shapes: &'static [&'static [Shape]],
    key: i16,
    version: i16,
    values: &mut impl Values,
) -> (Vec<u8>, Vec<Spot>) {
    let Some(shape) = shape_of(shapes, key) else { return (Vec::new(), Vec::new()) };
    let flexible = version >= shape.flexible;
    let mut writer = Writer { out: Vec::new(), spots: Vec::new(), version, flexible, values };
    writer.fields(shape.fields);
    (writer.out, writer.spots)
}

struct Writer<'a, V> {
    out: Vec<u8>,
    spots: Vec<Spot>,
    version: i16,
    flexible: bool,
    values: &'a mut V,
}

impl<V: Values> Writer<'_, V> {
    fn fields(&mut self, fields: &'static [Field]) {
        for field in fields {
            if field.tag.is_none() && field.is_in(self.version) {
                self.value(field.name, &field.kind, self.version >= field.null_from, false);
            }
        }
        if self.flexible {
            self.tagged(fields);
        }
    }

    fn value(&mut self, name: &'static str, kind: &'static Kind, null: bool, tagged: bool) {
        let nullable = null;
        let null = null && !tagged && self.values.is_null(kind);
        match kind {
            Kind::Fixed(size) => {
                let bytes = self.values.fixed(name, *size, tagged);
                self.put(SpotKind::Fixed, &bytes[..*size]);
            }
            Kind::Str if null => self.length(None, false),
            Kind::Str => {
                let text = self.values.text(name, tagged);
                self.length(Some(text.len()), false);
                self.put(SpotKind::Text, &text);
            }
            Kind::Blob if null => self.length(None, true),
            Kind::Blob => {
                let blob = self.values.blob(name);
                self.length(Some(blob.len()), true);
                self.out.extend_from_slice(&blob);
            }
            Kind::Array(_) if null => self.length(None, true),
            Kind::Array(element) => {
                let count = self.values.count(name) + usize::from(tagged);
                self.length(Some(count), true);
                for _ in 0..count {
                    self.value(name, element, false, false);
                }
            }
            Kind::Struct(_) if null => self.out.push(0xff),
            Kind::Struct(fields) => {
                if nullable && !tagged {
                    self.out.push(1);
                }
                self.fields(fields);
            }
        }
    }

    fn tagged(&mut self, fields: &'static [Field]) {
        let values = &mut *self.values;
        let mut chosen: Vec<&'static Field> = fields
            .iter()
            .filter(|field| field.tag.is_some() && field.is_in(self.version))
            .filter(|_| values.random().one_in(2))
            .collect();
        chosen.sort_by_key(|field| field.tag);
        self.varint(SpotKind::TagCount, chosen.len());
        for field in chosen {
            let outer = core::mem::take(&mut self.out);
            let first = self.spots.len();
            self.value(field.name, &field.kind, false, true);
            let data = core::mem::replace(&mut self.out, outer);
            let within = self.spots.split_off(first);
            self.varint(SpotKind::Tag, field.tag.unwrap_or_default() as usize);
            self.varint(SpotKind::TagSize, data.len());
            let start = self.out.len();
            self.spots.extend(within.into_iter().map(|spot| Spot { at: spot.at + start, ..spot }));
            self.out.extend_from_slice(&data);
        }
    }

    fn length(&mut self, length: Option<usize>, wide: bool) {
        let number = length.map_or(-1, |n| i32::try_from(n).unwrap_or(i32::MAX));
        match (self.flexible, wide) {
            (true, _) => self.varint(SpotKind::CompactLength, length.map_or(0, |n| n + 1)),
            (false, true) => self.put(SpotKind::Length, &number.to_be_bytes()),
            (false, false) => self.put(SpotKind::Length, &(number as i16).to_be_bytes()),
        }
    }

    fn put(&mut self, kind: SpotKind, bytes: &[u8]) {
        self.spots.push(Spot { at: self.out.len(), bytes: bytes.len(), kind });
        self.out.extend_from_slice(bytes);
    }

    fn varint(&mut self, kind: SpotKind, value: usize) {
        let bytes = varint(u32::try_from(value).unwrap_or(u32::MAX));
        self.put(kind, &bytes);
    }
}

/// A number in groups of seven bits.
pub(in crate::wire) fn varint(mut value: u32) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}
