//! Record sets, half of them broken: headers that lie under a CRC that is right, records that
//! end early, codecs that unpack to something else, batches behind one another.

use alloc::vec;
use alloc::vec::Vec;

use super::Known;
use crate::batch::{BatchBuilder, BatchHeader, Compression, recompressed};
use crate::wire::shape::generate::Random;

/// Where a header's fields begin, and their sizes in bytes.
const FIELDS: [(usize, usize); 11] = [
    (0, 8),
    (8, 4),
    (12, 4),
    (16, 1),
    (21, 2),
    (23, 4),
    (27, 8),
    (35, 8),
    (43, 8),
    (53, 4),
    (57, 4),
];
const EDGES: [i64; 8] = [0, 1, -1, 2, -2, i32::MAX as i64, i64::MAX, i64::MIN];
/// Bytes of a value that packs well.
const BOMB_BYTES: usize = 200_000;

/// A record set as a Produce may have it.
pub(super) fn any_set(random: &mut Random, known: &Known) -> Vec<u8> {
    let mut set = batch(random, known);
    match random.below(12) {
        0..=4 => {}
        5..=7 => lie(random, &mut set),
        8 => flip(random, &mut set),
        9 => set.truncate(random.index(set.len())),
        10 => set.extend(batch(random, known)),
        _ => set = old_format(random),
    }
    if !random.one_in(4) {
        stamp(&mut set);
    }
    set
}

fn batch(random: &mut Random, known: &Known) -> Vec<u8> {
    let mut batch = BatchBuilder::new(known.now_ms);
    if !random.one_in(3) && !known.producer_ids.is_empty() {
        let id = known.producer_ids[random.index(known.producer_ids.len())];
        batch = batch.producer(id, random.below(3) as i16, random.below(3) as i32);
    }
    if random.one_in(3) {
        batch = batch.transactional();
    }
    if random.one_in(16) {
        batch = batch.control();
    }
    for _ in 0..random.below(4) {
        let bytes = if random.one_in(40) { BOMB_BYTES } else { random.index(40) };
        let value = vec![random.next() as u8; bytes];
        let key = if random.one_in(2) { Some(&b"key"[..]) } else { None };
        batch.push(key, if random.one_in(8) { None } else { Some(&value) }, &[]);
    }
    let batch = batch.build();
    let codec = Compression::of(random.below(8) as i16).unwrap_or(Compression::None);
    recompressed(&batch, codec).unwrap_or(batch).bytes().to_vec()
}

/// Gives some fields of the header other values.
fn lie(random: &mut Random, set: &mut [u8]) {
    for _ in 0..=random.below(2) {
        let (at, size) = FIELDS[random.index(FIELDS.len())];
        let number = if random.one_in(3) {
            random.next().to_be_bytes()
        } else {
            EDGES[random.index(EDGES.len())].to_be_bytes()
        };
        if let Some(field) = set.get_mut(at..at + size) {
            field.copy_from_slice(&number[number.len() - size..]);
        }
    }
}

fn flip(random: &mut Random, set: &mut [u8]) {
    for _ in 0..=random.below(4) {
        let at = random.index(set.len());
        set[at] ^= 1 << random.below(8);
    }
}

/// A message of magic 0 or 1.
fn old_format(random: &mut Random) -> Vec<u8> {
    let mut set = vec![0; 30 + random.index(40)];
    set[11] = set.len() as u8 - 12;
    set[16] = random.below(3) as u8;
    set
}

/// Makes the CRC right.
fn stamp(set: &mut [u8]) {
    if let Some(covered) = set.get(BatchHeader::CRC_START..) {
        let crc = crc32c::crc32c(covered).to_be_bytes();
        set[BatchHeader::CRC_START - crc.len()..BatchHeader::CRC_START].copy_from_slice(&crc);
    }
}
