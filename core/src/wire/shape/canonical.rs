//! Canonical bodies for the round-trip tests: tagged fields in order and only with values other
//! than their default, so that reading and writing gives the same bytes.

use std::vec::Vec;

use super::generate::{Random, Values, body};
use super::{Kind, REQUESTS, RESPONSES};

/// How fields of bytes are filled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blobs {
    /// Always null where that is allowed.
    Null,
    /// Never null; some are empty.
    Present,
}

pub(in crate::wire) fn request(key: i16, version: i16, random: &mut Random) -> Vec<u8> {
    body(REQUESTS, key, version, &mut Canonical { random, blobs: Blobs::Null }).0
}

pub(in crate::wire) fn response(key: i16, version: i16, random: &mut Random) -> Vec<u8> {
    body(RESPONSES, key, version, &mut Canonical { random, blobs: Blobs::Present }).0
}

struct Canonical<'a> {
    random: &'a mut Random,
    blobs: Blobs,
}

impl Values for Canonical<'_> {
    fn random(&mut self) -> &mut Random {
        self.random
    }

    fn fixed(&mut self, _name: &'static str, size: usize, tagged: bool) -> [u8; 16] {
        let mut bytes = [0; 16];
        if size == 1 {
            bytes[0] = if tagged { 1 } else { self.random.below(2) as u8 };
            return bytes;
        }
        bytes[..8].copy_from_slice(&self.random.next().to_be_bytes());
        bytes[8..].copy_from_slice(&self.random.next().to_be_bytes());
        bytes[0] |= 0x20;
        bytes[0] &= 0x7f;
        bytes
    }

    fn text(&mut self, _name: &'static str, tagged: bool) -> Vec<u8> {
        let length = self.random.below(9) as usize + usize::from(tagged);
        let letter = b'a' + self.random.below(26) as u8;
        core::iter::repeat_n(letter, length).collect()
    }

    fn blob(&mut self, _name: &'static str) -> Vec<u8> {
        (0..self.random.below(200)).map(|i| i as u8).collect()
    }

    fn count(&mut self, _name: &'static str) -> usize {
        self.random.below(4) as usize
    }

    fn is_null(&mut self, kind: &'static Kind) -> bool {
        match kind {
            Kind::Blob => self.blobs == Blobs::Null,
            _ => self.random.one_in(3),
        }
    }
}
