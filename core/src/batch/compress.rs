//! The four codecs of a batch's records, every one with a limit on what it may unpack to.
//!
//! A batch of a few bytes can claim to unpack to gigabytes; no codec here allocates more than it
//! has produced, or more than its input can really stand for. gzip and zstd are streams; snappy
//! comes in the framing of `snappy-java` ("xerial") or as one raw block; LZ4 is the LZ4 frame
//! with independent blocks, which is what Kafka's `Lz4BlockInputStream` reads.

use alloc::vec::Vec;

use kacrab_protocol::compression::{CompressionErrorKind, gzip, zstd};

/// A codec as the low three attribute bits name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compression {
    /// Records as they are.
    None,
    /// gzip.
    Gzip,
    /// snappy, in the xerial framing or raw.
    Snappy,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// The codec of a number; `None` for 5 to 7, which no codec has.
    #[must_use]
    pub const fn of(codec: i16) -> Option<Self> {
        match codec {
            0 => Some(Self::None),
            1 => Some(Self::Gzip),
            2 => Some(Self::Snappy),
            3 => Some(Self::Lz4),
            4 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The codec of a topic's `compression.type`; `None` for `producer`: as it was sent.
    #[must_use]
    pub fn of_topic(name: &str) -> Option<Self> {
        match name {
            "uncompressed" => Some(Self::None),
            "gzip" => Some(Self::Gzip),
            "snappy" => Some(Self::Snappy),
            "lz4" => Some(Self::Lz4),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The number in a batch's attributes.
    #[must_use]
    pub const fn number(self) -> i16 {
        self as i16
    }
}

/// Why records did not unpack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum UnpackError {
    /// The bytes are not of the codec.
    Corrupt,
    /// There is more than the limit allows.
    TooLarge,
}

/// Unpacks `packed`; at most `limit` bytes come out.
pub(super) fn unpack(
    codec: Compression,
    packed: &[u8],
    limit: usize,
) -> Result<Vec<u8>, UnpackError> {
    match codec {
        Compression::None => Ok(packed.to_vec()),
        Compression::Gzip => gzip::decompress_bounded(packed, limit).map_err(|e| kind(&e.kind)),
        Compression::Zstd => zstd::decompress_bounded(packed, limit).map_err(|e| kind(&e.kind)),
        Compression::Snappy => snappy(packed, limit),
        Compression::Lz4 => lz4(packed, limit),
    }
}

fn kind(kind: &CompressionErrorKind) -> UnpackError {
    match kind {
        CompressionErrorKind::DecompressedTooLarge { .. } => UnpackError::TooLarge,
        _ => UnpackError::Corrupt,
    }
}

const XERIAL_MAGIC: &[u8] = &[0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
/// Magic, version and compatible version.
const XERIAL_HEADER_LENGTH: usize = 16;
/// No snappy element stands for more than 64 bytes, and none is shorter than two.
const SNAPPY_BYTES_PER_BYTE_MAX: usize = 64;

fn snappy(packed: &[u8], limit: usize) -> Result<Vec<u8>, UnpackError> {
    let mut out = Vec::new();
    if !packed.starts_with(XERIAL_MAGIC) {
        snappy_block(packed, limit, &mut out)?;
        return Ok(out);
    }
    let mut rest = packed.get(XERIAL_HEADER_LENGTH..).ok_or(UnpackError::Corrupt)?;
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk::<4>().ok_or(UnpackError::Corrupt)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (block, after) = after.split_at_checked(length).ok_or(UnpackError::Corrupt)?;
        snappy_block(block, limit, &mut out)?;
        rest = after;
    }
    Ok(out)
}

fn snappy_block(block: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), UnpackError> {
    let claimed = snap::raw::decompress_len(block).map_err(|_| UnpackError::Corrupt)?;
    if claimed > block.len().saturating_mul(SNAPPY_BYTES_PER_BYTE_MAX) {
        return Err(UnpackError::Corrupt);
    }
    let start = out.len();
    if start.saturating_add(claimed) > limit {
        return Err(UnpackError::TooLarge);
    }
    out.resize(start + claimed, 0);
    let target = out.get_mut(start..).ok_or(UnpackError::Corrupt)?;
    snap::raw::Decoder::new().decompress(block, target).map_err(|_| UnpackError::Corrupt)?;
    Ok(())
}

const LZ4_MAGIC: u32 = 0x184D_2204;
const LZ4_VERSION_MASK: u8 = 0xC0;
const LZ4_VERSION: u8 = 0x40;
const LZ4_BLOCKS_INDEPENDENT: u8 = 0x20;
const LZ4_BLOCK_CHECKSUM: u8 = 0x10;
const LZ4_CONTENT_SIZE: u8 = 0x08;
const LZ4_DICTIONARY: u8 = 0x01;
const LZ4_RAW_BLOCK: u32 = 0x8000_0000;
/// No byte of an LZ4 block stands for more than 255.
const LZ4_BYTES_PER_BYTE_MAX: usize = 255;

/// Reads one LZ4 frame. Its checksums are skipped: the batch's CRC-32C already covered them.
fn lz4(packed: &[u8], limit: usize) -> Result<Vec<u8>, UnpackError> {
    let (magic, rest) = packed.split_first_chunk::<4>().ok_or(UnpackError::Corrupt)?;
    let (&[flags, descriptor], rest) = rest.split_first_chunk().ok_or(UnpackError::Corrupt)?;
    let readable = u32::from_le_bytes(*magic) == LZ4_MAGIC
        && flags & LZ4_VERSION_MASK == LZ4_VERSION
        && flags & LZ4_BLOCKS_INDEPENDENT != 0
        && flags & LZ4_DICTIONARY == 0;
    let block_max = match (descriptor >> 4) & 0x07 {
        size @ 4..=7 if readable => 1_usize << (8 + 2 * size),
        _ => return Err(UnpackError::Corrupt),
    };
    let content_size = if flags & LZ4_CONTENT_SIZE != 0 { 8 } else { 0 };
    let checksum = if flags & LZ4_BLOCK_CHECKSUM != 0 { 4 } else { 0 };
    let header_checksum = 1;
    let mut rest = rest.get(content_size + header_checksum..).ok_or(UnpackError::Corrupt)?;
    let mut out = Vec::new();
    loop {
        let (word, after) = rest.split_first_chunk::<4>().ok_or(UnpackError::Corrupt)?;
        let word = u32::from_le_bytes(*word);
        if word == 0 {
            return Ok(out);
        }
        let length = (word & !LZ4_RAW_BLOCK) as usize;
        let (block, after) = after.split_at_checked(length).ok_or(UnpackError::Corrupt)?;
        if length > block_max {
            return Err(UnpackError::Corrupt);
        }
        if word & LZ4_RAW_BLOCK == 0 {
            lz4_block(block, block_max, limit, &mut out)?;
        } else if out.len().saturating_add(length) > limit {
            return Err(UnpackError::TooLarge);
        } else {
            out.extend_from_slice(block);
        }
        rest = after.get(checksum..).ok_or(UnpackError::Corrupt)?;
    }
}

fn lz4_block(
    block: &[u8],
    block_max: usize,
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<(), UnpackError> {
    let start = out.len();
    let room = block_max.min(block.len().saturating_mul(LZ4_BYTES_PER_BYTE_MAX));
    out.resize(start.saturating_add(room), 0);
    let target = out.get_mut(start..).ok_or(UnpackError::Corrupt)?;
    let written =
        lz4_flex::block::decompress_into(block, target).map_err(|_| UnpackError::Corrupt)?;
    out.truncate(start.saturating_add(written));
    if out.len() > limit { Err(UnpackError::TooLarge) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use kacrab_protocol::compression as kacrab;
    use proptest::prelude::*;

    use super::*;

    const CODECS: [(Compression, kacrab::Compression); 4] = [
        (Compression::Gzip, kacrab::Compression::Gzip),
        (Compression::Zstd, kacrab::Compression::Zstd),
        (Compression::Snappy, kacrab::Compression::None),
        (Compression::Lz4, kacrab::Compression::None),
    ];

    fn pack(codec: Compression, with: kacrab::Compression, bytes: &[u8]) -> Vec<u8> {
        match codec {
            Compression::Snappy => xerial(bytes),
            Compression::Lz4 => lz4_frame(bytes),
            _ => with.compress(bytes).expect("compresses"),
        }
    }

    fn xerial(bytes: &[u8]) -> Vec<u8> {
        let mut out = XERIAL_MAGIC.to_vec();
        out.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1]);
        for block in bytes.chunks(1 << 15) {
            let packed = snap::raw::Encoder::new().compress_vec(block).expect("compresses");
            out.extend_from_slice(&(packed.len() as u32).to_be_bytes());
            out.extend_from_slice(&packed);
        }
        out
    }

    /// A frame as librdkafka writes it: content size, and blocks of 64 KiB.
    fn lz4_frame(bytes: &[u8]) -> Vec<u8> {
        let mut out = LZ4_MAGIC.to_le_bytes().to_vec();
        out.extend_from_slice(&[0x60 | LZ4_CONTENT_SIZE, 0x40]);
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.push(0);
        for block in bytes.chunks(1 << 16) {
            let packed = lz4_flex::block::compress(block);
            out.extend_from_slice(&(packed.len() as u32).to_le_bytes());
            out.extend_from_slice(&packed);
        }
        out.extend_from_slice(&[0; 4]);
        out
    }

    #[test]
    fn every_codec_gives_back_what_was_packed() {
        for bytes in [vec![], b"verdict".to_vec(), vec![7; 200_000]] {
            for (codec, with) in CODECS {
                let packed = pack(codec, with, &bytes);
                assert_eq!(unpack(codec, &packed, 200_000), Ok(bytes.clone()), "{codec:?}");
            }
        }
    }

    #[test]
    fn no_codec_goes_past_its_limit() {
        for (codec, with) in CODECS {
            let packed = pack(codec, with, &vec![7; 200_000]);
            assert_eq!(unpack(codec, &packed, 199_999), Err(UnpackError::TooLarge), "{codec:?}");
        }
    }

    #[test]
    fn snappy_without_framing_is_one_block() {
        let packed = snap::raw::Encoder::new().compress_vec(b"verdict").expect("compresses");
        assert_eq!(unpack(Compression::Snappy, &packed, 100), Ok(b"verdict".to_vec()));
    }

    #[test]
    fn a_snappy_block_that_claims_gigabytes_is_refused_before_allocation() {
        let claim = [0xff, 0xff, 0xff, 0xff, 0x0f, 0];
        assert_eq!(unpack(Compression::Snappy, &claim, usize::MAX), Err(UnpackError::Corrupt));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for (codec, _) in CODECS {
                let _ = unpack(codec, &bytes, 1 << 20);
            }
            let mut framed = XERIAL_MAGIC.to_vec();
            framed.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1]);
            framed.extend_from_slice(&bytes);
            let _ = unpack(Compression::Snappy, &framed, 1 << 20);
            let mut framed = LZ4_MAGIC.to_le_bytes().to_vec();
            framed.extend_from_slice(&[0x60, 0x40, 0]);
            framed.extend_from_slice(&bytes);
            let _ = unpack(Compression::Lz4, &framed, 1 << 20);
        }
    }
}
