//! What is done to a well-formed frame.

use alloc::vec::Vec;

use crate::wire::shape::generate::{Random, Spot, SpotKind, varint};

/// Where a frame's header begins its fields: key, version, correlation id, length of the client
/// id.
const VERSION_AT: usize = 2;
const CLIENT_ID_LENGTH_AT: usize = 8;
/// What lengths and counts claim.
const CLAIMS: [i64; 9] =
    [-1, -2, 0, i16::MAX as i64, i32::MAX as i64, i32::MIN as i64, 1 << 20, 1_000, 255];
const VERSIONS: [i16; 6] = [-1, i16::MIN, i16::MAX, 0, 100, 3];

/// A frame under the hammer.
pub(super) struct Breaker<'a> {
    pub(super) random: &'a mut Random,
    pub(super) frame: Vec<u8>,
    /// What stands where, in order; right until the first break that moves bytes.
    pub(super) spots: Vec<Spot>,
}

impl Breaker<'_> {
    /// The frame, broken in one to three ways. Some stay whole: their order or what they ask for
    /// is what is wrong with them.
    pub(super) fn run(mut self) -> Vec<u8> {
        let breaks = match self.random.below(10) {
            0 => 0,
            1..=7 => 1,
            8 => 2,
            _ => 3,
        };
        for _ in 0..breaks {
            match self.random.below(16) {
                0 | 1 => self.cut(),
                2 => self.append(),
                3 | 4 => self.flip(),
                5..=7 => self.claim(),
                8 | 9 => self.tags(),
                10 | 11 => self.value(),
                12 => self.letters(),
                13 => self.header(),
                14 => self.remove(),
                _ => self.repeat(),
            }
        }
        self.frame
    }

    fn cut(&mut self) {
        let length = self.random.index(self.frame.len().max(1));
        self.frame.truncate(length);
    }

    fn append(&mut self) {
        for _ in 0..=self.random.below(20) {
            let byte = self.random.next() as u8;
            self.frame.push(byte);
        }
    }

    fn flip(&mut self) {
        if self.frame.is_empty() {
            return;
        }
        for _ in 0..=self.random.below(7) {
            let at = self.random.index(self.frame.len());
            self.frame[at] ^= 1 << self.random.below(8);
        }
    }

    fn spot(&mut self, is_wanted: impl Fn(SpotKind) -> bool) -> Option<Spot> {
        let end = self.frame.len();
        let wanted: Vec<Spot> = self
            .spots
            .iter()
            .filter(|spot| is_wanted(spot.kind) && spot.at + spot.bytes <= end)
            .copied()
            .collect();
        if wanted.is_empty() { None } else { Some(wanted[self.random.index(wanted.len())]) }
    }

    /// Puts other bytes where the spot's were; what follows moves.
    fn put(&mut self, spot: Spot, bytes: &[u8]) {
        self.frame.splice(spot.at..spot.at + spot.bytes, bytes.iter().copied());
        if bytes.len() != spot.bytes {
            let moved = |other: &&mut Spot| other.at > spot.at;
            for other in self.spots.iter_mut().filter(moved) {
                other.at = other.at - spot.bytes + bytes.len();
            }
        }
    }

    /// A length or a count that is null, negative, enormous or off by one.
    fn claim(&mut self) {
        let Some(spot) = self.spot(|kind| {
            matches!(kind, SpotKind::Length | SpotKind::CompactLength | SpotKind::TagSize)
        }) else {
            return;
        };
        let claim = CLAIMS[self.random.index(CLAIMS.len())];
        let is_near = self.random.one_in(3);
        let step = if self.random.one_in(2) { 1 } else { -1 };
        if spot.kind == SpotKind::Length {
            let bytes = &self.frame[spot.at..spot.at + spot.bytes];
            let before = bytes.iter().fold(0_i64, |all, byte| all << 8 | i64::from(*byte));
            let claim = if is_near { before + step } else { claim };
            let bytes = claim.to_be_bytes();
            self.put(spot, &bytes[bytes.len() - spot.bytes..]);
        } else if self.random.one_in(8) {
            self.put(spot, &[0xff; 6]);
        } else {
            let before = i64::from(self.frame[spot.at] & 0x7f);
            let claim = if is_near { before + step } else { claim + 1 };
            self.put(spot, &varint(claim as u32));
        }
    }

    /// Tagged fields where there were none: unknown, twice the same, of sizes that lie.
    fn tags(&mut self) {
        let Some(spot) = self.spot(|kind| matches!(kind, SpotKind::TagCount | SpotKind::Tag))
        else {
            return;
        };
        if spot.kind == SpotKind::Tag {
            let tag = varint(self.random.below(4) as u32);
            return self.put(spot, &tag);
        }
        let count = 1 + self.random.below(4) as u32;
        let mut bytes = varint(if self.random.one_in(4) { u32::MAX } else { count });
        for _ in 0..count {
            bytes.extend(varint(self.random.below(3) as u32));
            let size = self.random.index(9);
            let claimed =
                if self.random.one_in(4) { self.random.next() as u32 } else { size as u32 };
            bytes.extend(varint(claimed));
            bytes.extend((0..size).map(|_| self.random.next() as u8));
        }
        self.put(spot, &bytes);
    }

    /// A number at an edge.
    fn value(&mut self) {
        let Some(spot) = self.spot(|kind| kind == SpotKind::Fixed) else { return };
        let byte = [0x00, 0xff, 0x7f, 0x80][self.random.index(4)];
        let mut bytes = [if byte >= 0x80 { 0 } else { 0xff }; 16];
        if matches!(byte, 0 | 0xff) {
            bytes = [byte; 16];
        }
        bytes[0] = byte;
        self.put(spot, &bytes[..spot.bytes.min(16)]);
    }

    /// Letters that are no UTF-8.
    fn letters(&mut self) {
        let Some(spot) = self.spot(|kind| kind == SpotKind::Text) else { return };
        let bytes: Vec<u8> = (0..spot.bytes).map(|_| self.random.next() as u8).collect();
        self.put(spot, &bytes);
    }

    /// Another API, version, or length of the client id.
    fn header(&mut self) {
        let number = VERSIONS[self.random.index(VERSIONS.len())];
        let number = if self.random.one_in(3) { self.random.next() as i16 } else { number };
        let at = [0, VERSION_AT, VERSION_AT, CLIENT_ID_LENGTH_AT][self.random.index(4)];
        if let Some(bytes) = self.frame.get_mut(at..at + 2) {
            bytes.copy_from_slice(&number.to_be_bytes());
        }
    }

    fn slice(&mut self) -> (usize, usize) {
        let start = self.random.index(self.frame.len().max(1));
        let bytes = self.random.index(16);
        (start, start.saturating_add(bytes).min(self.frame.len()))
    }

    fn remove(&mut self) {
        let (start, end) = self.slice();
        self.frame.drain(start.min(end)..end);
    }

    fn repeat(&mut self) {
        let (start, end) = self.slice();
        let again = self.frame[start.min(end)..end].to_vec();
        self.frame.splice(end..end, again);
    }
}
