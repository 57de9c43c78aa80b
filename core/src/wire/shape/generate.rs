//! Well-formed bodies made from the schemas, for the round-trip tests.
//!
//! Canonical bytes: tagged fields in order and only with values other than their default, so that
//! reading and writing gives the same bytes.

use std::vec::Vec;

use super::{Field, Kind, REQUESTS, RESPONSES, Shape, shape_of};

/// SplitMix64: enough randomness for tests, the same everywhere.
pub(in crate::wire) struct Random(pub(in crate::wire) u64);

impl Random {
    pub(in crate::wire) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(in crate::wire) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// How fields of bytes are filled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::wire) enum Blobs {
    /// Always null where that is allowed.
    Null,
    /// Never null; some are empty.
    Present,
}

pub(in crate::wire) fn request(key: i16, version: i16, random: &mut Random) -> Vec<u8> {
    body(REQUESTS, key, version, random, Blobs::Null)
}

pub(in crate::wire) fn response(key: i16, version: i16, random: &mut Random) -> Vec<u8> {
    body(RESPONSES, key, version, random, Blobs::Present)
}

fn body(
    shapes: &'static [&'static [Shape]],
    key: i16,
    version: i16,
    random: &mut Random,
    blobs: Blobs,
) -> Vec<u8> {
    let shape = shape_of(shapes, key).expect("every API has a shape");
    let flexible = version >= shape.flexible;
    let mut writer = Writer { out: Vec::new(), version, flexible, random, blobs };
    writer.fields(shape.fields);
    writer.out
}

struct Writer<'a> {
    out: Vec<u8>,
    version: i16,
    flexible: bool,
    random: &'a mut Random,
    blobs: Blobs,
}

impl Writer<'_> {
    fn fields(&mut self, fields: &'static [Field]) {
        for field in fields {
            if field.tag.is_none() && field.is_in(self.version) {
                self.value(&field.kind, self.version >= field.null_from, false);
            }
        }
        if self.flexible {
            self.tagged(fields);
        }
    }

    fn value(&mut self, kind: &'static Kind, null: bool, tagged: bool) {
        let nullable = null;
        let null = null && !tagged && self.random.below(3) == 0;
        match kind {
            Kind::Fixed(1) => {
                let bit = if tagged { 1 } else { self.random.below(2) as u8 };
                self.out.push(bit);
            }
            Kind::Fixed(size) => {
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&self.random.next().to_be_bytes());
                bytes[8..].copy_from_slice(&self.random.next().to_be_bytes());
                bytes[0] |= 0x20;
                bytes[0] &= 0x7f;
                self.out.extend_from_slice(&bytes[..*size]);
            }
            Kind::Str if null => self.length(None, false),
            Kind::Str => {
                let length = self.random.below(9) as usize + usize::from(tagged);
                self.length(Some(length), false);
                let letter = b'a' + self.random.below(26) as u8;
                self.out.extend(core::iter::repeat_n(letter, length));
            }
            Kind::Blob if self.blobs == Blobs::Null && nullable => self.length(None, true),
            Kind::Blob => {
                let length = self.random.below(200) as usize;
                self.length(Some(length), true);
                self.out.extend((0..length).map(|i| i as u8));
            }
            Kind::Array(_) if null => self.length(None, true),
            Kind::Array(element) => {
                let length = self.random.below(4) as usize + usize::from(tagged);
                self.length(Some(length), true);
                for _ in 0..length {
                    self.value(element, false, false);
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
        let mut chosen: Vec<&'static Field> = fields
            .iter()
            .filter(|field| field.tag.is_some() && field.is_in(self.version))
            .filter(|_| self.random.below(2) == 0)
            .collect();
        chosen.sort_by_key(|field| field.tag);
        self.varint(chosen.len() as u32);
        for field in chosen {
            let outer = core::mem::take(&mut self.out);
            self.value(&field.kind, false, true);
            let data = core::mem::replace(&mut self.out, outer);
            self.varint(field.tag.expect("only tagged fields were chosen"));
            self.varint(data.len() as u32);
            self.out.extend_from_slice(&data);
        }
    }

    fn length(&mut self, length: Option<usize>, wide: bool) {
        match (self.flexible, length) {
            (true, length) => self.varint(length.map_or(0, |n| n as u32 + 1)),
            (false, length) => {
                let length = length.map_or(-1, |n| n as i32);
                if wide {
                    self.out.extend_from_slice(&length.to_be_bytes());
                } else {
                    self.out.extend_from_slice(&(length as i16).to_be_bytes());
                }
            }
        }
    }

    fn varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }
}
