//! Packing records with the four codecs, as Kafka's own clients frame them.
//!
//! What is packed here was unpacked within the limits before, so nothing is larger than they say.

use alloc::vec::Vec;

use kacrab_protocol::compression::{gzip, zstd};

use super::Compression;

/// Magic, version 1, oldest version that can read it 1 (`SnappyOutputStream`).
const XERIAL_HEAD: [u8; 16] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1];
/// Bytes of a block before packing, as `snappy-java` has them.
const SNAPPY_BLOCK_BYTES: usize = 1 << 15;
/// Magic, then: version 1 with independent blocks, blocks of 64 KiB at most, and the second byte
/// of those two bytes' xxHash32 (`Lz4BlockOutputStream`).
const LZ4_HEAD: [u8; 7] = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
/// Bytes of a block before packing.
const LZ4_BLOCK_BYTES: usize = 1 << 16;
/// Set in the length of a block that is stored as it is.
const LZ4_RAW_BLOCK: u32 = 0x8000_0000;

/// Packs bytes at the codec's level of choice; `None` when the codec fails.
pub(super) fn pack(codec: Compression, bytes: &[u8]) -> Option<Vec<u8>> {
    match codec {
        Compression::None => Some(bytes.to_vec()),
        Compression::Gzip => gzip::compress_with_level(bytes, None).ok(),
        Compression::Zstd => zstd::compress_with_level(bytes, None).ok(),
        Compression::Snappy => snappy(bytes),
        Compression::Lz4 => Some(lz4(bytes)),
    }
}

fn snappy(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = XERIAL_HEAD.to_vec();
    let mut encoder = snap::raw::Encoder::new();
    for block in bytes.chunks(SNAPPY_BLOCK_BYTES) {
        let packed = encoder.compress_vec(block).ok()?;
        out.extend_from_slice(&u32::try_from(packed.len()).ok()?.to_be_bytes());
        out.extend_from_slice(&packed);
    }
    Some(out)
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut out = LZ4_HEAD.to_vec();
    for block in bytes.chunks(LZ4_BLOCK_BYTES) {
        let packed = lz4_flex::block::compress(block);
        let (data, raw) =
            if packed.len() < block.len() { (&packed[..], 0) } else { (block, LZ4_RAW_BLOCK) };
        // A block has at most 64 KiB.
        out.extend_from_slice(&(data.len() as u32 | raw).to_le_bytes());
        out.extend_from_slice(data);
    }
    out.extend_from_slice(&[0; 4]);
    out
}

#[cfg(test)]
mod tests {
    use super::super::compress::unpack;
    use super::*;

    #[test]
    fn what_is_packed_unpacks_to_the_same() {
        let noise: Vec<u8> =
            (0..200_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for bytes in [Vec::new(), b"verdict".to_vec(), alloc::vec![7; 200_000], noise] {
            for codec in 0..5 {
                let codec = Compression::of(codec).unwrap();
                let packed = pack(codec, &bytes).unwrap();
                assert_eq!(unpack(codec, &packed, 200_000), Ok(bytes.clone()), "{codec:?}");
            }
        }
    }
}
