//! `verdict-checkpoint`: which part of every log is durable in its segments.
//!
//! Binary, big endian: magic "VDCP", version u16 = 2, CRC-32C u32 of everything after it, then the
//! fields in the order of [`Image`]. Written beside and renamed, so it is old or new, never mixed.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::segment::FileImage;
use crate::types::{Offset, PartitionId, TopicId, TopicName};

/// "VDCP".
const MAGIC: u32 = 0x5644_4350;
/// What is written. Version 1 knew nothing of cleaning and of a segment's first timestamp.
const VERSION: u16 = 2;
const VERSION_MIN: u16 = 1;
/// Bytes before the CRC's range.
const HEADER_BYTES: usize = 10;
/// What of a log's entry does not depend on the log, in bytes; for buffers that need not grow.
const LOG_BYTES: usize = 83;
const EPOCH_BYTES: usize = 12;
const SEGMENT_BYTES: usize = 65;

/// What a checkpoint says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Image {
    /// Highest generation of the journal files.
    pub(super) generation: u64,
    /// The last turn whose entries are in the segments; the journal is replayed from the next.
    pub(super) sequence: u64,
    /// Every log.
    pub(super) logs: Vec<LogImage>,
    /// Folders of deleted logs that may still be there.
    pub(super) removed: Vec<(TopicId, String)>,
}

/// One log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LogImage {
    pub(super) id: PartitionId,
    pub(super) topic: TopicName,
    pub(super) segment_bytes: u32,
    pub(super) log_start: Offset,
    pub(super) log_end: Offset,
    /// Damage was found; read all of it at the next start.
    pub(super) offline: bool,
    pub(super) snapshot: Option<SnapshotImage>,
    pub(super) leader_epochs: Vec<(i32, Offset)>,
    pub(super) segments: Vec<SegmentImage>,
    /// Everything below was cleaned (Kafka: `cleaner-offset-checkpoint`).
    pub(super) clean_end: Offset,
    /// Holes that a cleaning left are below.
    pub(super) cleaned_to: Offset,
}

/// The producer snapshot of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SnapshotImage {
    pub(super) offset: Offset,
    pub(super) file: FileImage,
}

/// One segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SegmentImage {
    pub(super) base: Offset,
    pub(super) size: u64,
    pub(super) max_timestamp: i64,
    pub(super) max_timestamp_offset: Offset,
    pub(super) index: FileImage,
    pub(super) time: FileImage,
    pub(super) txn: FileImage,
    pub(super) first_timestamp: i64,
    /// A cleaning wrote it: its files are in their places, or still have the cleaning's names.
    pub(super) cleaned: bool,
}

/// The file's bytes, of the logs' entries ([`LogImage::entry`]); an empty one is passed over.
pub(super) fn encode<'a>(
    generation: u64,
    sequence: u64,
    entries: impl Iterator<Item = &'a Bytes> + Clone,
    removed: &[(TopicId, String)],
) -> Bytes {
    let entries = entries.filter(|entry| !entry.is_empty());
    let (count, bytes) =
        entries.clone().fold((0, 0), |(count, bytes), entry| (count + 1, bytes + entry.len()));
    let mut out = BytesMut::with_capacity(HEADER_BYTES + 24 + bytes);
    out.put_u32(MAGIC);
    out.put_u16(VERSION);
    out.put_u32(0);
    out.put_u64(generation);
    out.put_u64(sequence);
    put_count(&mut out, count);
    for entry in entries {
        out.put_slice(entry);
    }
    put_count(&mut out, removed.len());
    for (topic_id, folder) in removed {
        out.put_u128(topic_id.0);
        put_text(&mut out, folder);
    }
    let crc = crc32c::crc32c(&out[HEADER_BYTES..]);
    out[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&crc.to_be_bytes());
    out.freeze()
}

impl Image {
    /// The file's bytes.
    pub(super) fn encode(&self) -> Bytes {
        let entries: Vec<Bytes> = self.logs.iter().map(LogImage::entry).collect();
        encode(self.generation, self.sequence, entries.iter(), &self.removed)
    }

    /// Reads the file's bytes; `None` when they are damaged or of another version.
    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let magic = bytes.try_get_u32().ok()?;
        let version = bytes.try_get_u16().ok()?;
        let crc = bytes.try_get_u32().ok()?;
        let known = (VERSION_MIN..=VERSION).contains(&version);
        if magic != MAGIC || !known || crc32c::crc32c(bytes) != crc {
            return None;
        }
        let input = &mut bytes;
        let image = Self {
            generation: input.try_get_u64().ok()?,
            sequence: input.try_get_u64().ok()?,
            logs: list(input, |input| LogImage::decode(input, version))?,
            removed: list(input, |input| {
                Some((TopicId(input.try_get_u128().ok()?), String::from(text(input)?)))
            })?,
        };
        input.is_empty().then_some(image)
    }
}

impl LogImage {
    /// What the file says of this log.
    pub(super) fn entry(&self) -> Bytes {
        let lists = self.leader_epochs.len() * EPOCH_BYTES + self.segments.len() * SEGMENT_BYTES;
        let mut out = Vec::with_capacity(LOG_BYTES + self.topic.as_str().len() + lists);
        self.encode(&mut out);
        out.into()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u128(self.id.topic_id.0);
        out.put_i32(self.id.partition);
        put_text(out, self.topic.as_str());
        out.put_u32(self.segment_bytes);
        out.put_i64(self.log_start);
        out.put_i64(self.log_end);
        out.put_u8(u8::from(self.offline));
        out.put_i64(self.snapshot.map_or(-1, |snapshot| snapshot.offset));
        put_file(out, self.snapshot.map(|snapshot| snapshot.file).unwrap_or_default());
        put_count(out, self.leader_epochs.len());
        for (epoch, offset) in &self.leader_epochs {
            out.put_i32(*epoch);
            out.put_i64(*offset);
        }
        put_count(out, self.segments.len());
        for segment in &self.segments {
            out.put_i64(segment.base);
            out.put_u64(segment.size);
            out.put_i64(segment.max_timestamp);
            out.put_i64(segment.max_timestamp_offset);
            put_file(out, segment.index);
            put_file(out, segment.time);
            put_file(out, segment.txn);
            out.put_i64(segment.first_timestamp);
            out.put_u8(u8::from(segment.cleaned));
        }
        out.put_i64(self.clean_end);
        out.put_i64(self.cleaned_to);
    }

    fn decode(input: &mut &[u8], version: u16) -> Option<Self> {
        let topic_id = TopicId(input.try_get_u128().ok()?);
        let id = PartitionId { topic_id, partition: input.try_get_i32().ok()? };
        let topic = TopicName::from(text(input)?);
        let segment_bytes = input.try_get_u32().ok()?;
        let log_start = input.try_get_i64().ok()?;
        let log_end = input.try_get_i64().ok()?;
        let offline = input.try_get_u8().ok()? != 0;
        let offset = input.try_get_i64().ok()?;
        let file = file(input)?;
        let snapshot = (offset >= 0).then_some(SnapshotImage { offset, file });
        let leader_epochs =
            list(input, |input| Some((input.try_get_i32().ok()?, input.try_get_i64().ok()?)))?;
        let segments = list(input, |input| SegmentImage::decode(input, version))?;
        if segments.is_empty() {
            return None;
        }
        let mut offset = || if version > 1 { input.try_get_i64().ok() } else { Some(0) };
        let (clean_end, cleaned_to) = (offset()?, offset()?);
        Some(Self {
            id,
            topic,
            segment_bytes,
            log_start,
            log_end,
            offline,
            snapshot,
            leader_epochs,
            segments,
            clean_end,
            cleaned_to,
        })
    }
}

impl SegmentImage {
    /// A segment without records.
    pub(super) fn empty(base: Offset) -> Self {
        Self {
            base,
            size: 0,
            max_timestamp: -1,
            max_timestamp_offset: -1,
            index: FileImage::default(),
            time: FileImage::default(),
            txn: FileImage::default(),
            first_timestamp: -1,
            cleaned: false,
        }
    }

    fn decode(input: &mut &[u8], version: u16) -> Option<Self> {
        let mut image = Self {
            base: input.try_get_i64().ok()?,
            size: input.try_get_u64().ok()?,
            max_timestamp: input.try_get_i64().ok()?,
            max_timestamp_offset: input.try_get_i64().ok()?,
            index: file(input)?,
            time: file(input)?,
            txn: file(input)?,
            first_timestamp: -1,
            cleaned: false,
        };
        if version > 1 {
            image.first_timestamp = input.try_get_i64().ok()?;
            image.cleaned = input.try_get_u8().ok()? != 0;
        }
        Some(image)
    }
}

fn put_count(out: &mut impl BufMut, count: usize) {
    out.put_u32(u32::try_from(count).expect("fewer than 2^32 logs, segments and epochs"));
}

fn put_text(out: &mut impl BufMut, text: &str) {
    out.put_u16(u16::try_from(text.len()).expect("topic names have at most 249 bytes"));
    out.put_slice(text.as_bytes());
}

fn put_file(out: &mut impl BufMut, file: FileImage) {
    out.put_u32(file.length);
    out.put_u32(file.crc);
}

fn list<T>(input: &mut &[u8], mut item: impl FnMut(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let count = input.try_get_u32().ok()?;
    // Grows with what has arrived: a count alone allocates nothing.
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(item(input)?);
    }
    Some(items)
}

fn text<'a>(input: &mut &'a [u8]) -> Option<&'a str> {
    let length = usize::from(input.try_get_u16().ok()?);
    let (text, rest) = input.split_at_checked(length)?;
    *input = rest;
    core::str::from_utf8(text).ok()
}

fn file(input: &mut &[u8]) -> Option<FileImage> {
    Some(FileImage { length: input.try_get_u32().ok()?, crc: input.try_get_u32().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        let file = |length| FileImage { length, crc: 0xc0de };
        Image {
            generation: 3,
            sequence: 77,
            logs: alloc::vec![LogImage {
                id: PartitionId { topic_id: TopicId(5), partition: 2 },
                topic: TopicName::from("t"),
                segment_bytes: 4096,
                log_start: 1,
                log_end: 9,
                offline: false,
                snapshot: Some(SnapshotImage { offset: 9, file: file(48) }),
                leader_epochs: alloc::vec![(4, 0)],
                segments: alloc::vec![SegmentImage {
                    base: 0,
                    size: 300,
                    max_timestamp: 1000,
                    max_timestamp_offset: 8,
                    index: file(8),
                    time: file(12),
                    txn: file(34),
                    first_timestamp: 999,
                    cleaned: true,
                }],
                clean_end: 7,
                cleaned_to: 8,
            }],
            removed: alloc::vec![(TopicId(6), String::from("gone-0"))],
        }
    }

    #[test]
    fn the_bytes_stay_as_they_are() {
        let bytes = image().encode();
        let hex: String = bytes.iter().map(|b| alloc::format!("{b:02x}")).collect();
        let golden = "564443500002b139644f0000000000000003000000000000004d0000000100000000000000000000\
                      00000000000500000002000174000010000000000000000001000000000000000900000000000000\
                      0009000000300000c0de000000010000000400000000000000000000000100000000000000000000\
                      00000000012c00000000000003e80000000000000008000000080000c0de0000000c0000c0de0000\
                      00220000c0de00000000000003e7010000000000000007000000000000000800000001000000000000000000000000000000060006676f6e652d30";
        assert_eq!(hex, golden);
    }

    #[test]
    fn a_log_without_a_snapshot_has_none_and_an_empty_segment_has_no_times() {
        let mut image = image();
        image.logs[0].snapshot = None;
        image.logs[0].segments = alloc::vec![SegmentImage::empty(9)];
        let segment = Image::decode(&image.encode()).map(|image| image.logs[0].segments[0]);
        assert_eq!(Image::decode(&image.encode()), Some(image));
        let segment = segment.expect("our own");
        assert_eq!((segment.max_timestamp, segment.max_timestamp_offset), (-1, -1));
        assert_eq!((segment.base, segment.size, segment.first_timestamp), (9, 0, -1));
    }

    #[test]
    fn a_file_of_version_1_knows_nothing_of_cleaning() {
        let bytes = image().encode();
        // Behind the header the file is the same but for the last 9 bytes of the segment and the
        // last 16 of its log.
        let removed = 4 + 16 + 2 + "gone-0".len();
        let log_end = bytes.len() - removed;
        let body = [&bytes[HEADER_BYTES..log_end - 25], &bytes[log_end..]].concat();
        let mut old = bytes[..HEADER_BYTES - 4].to_vec();
        old[5] = 1;
        old.extend(crc32c::crc32c(&body).to_be_bytes());
        old.extend(body);
        let mut expected = image();
        let log = &mut expected.logs[0];
        (log.clean_end, log.cleaned_to) = (0, 0);
        (log.segments[0].first_timestamp, log.segments[0].cleaned) = (-1, false);
        assert_eq!(Image::decode(&old), Some(expected));
    }

    #[test]
    fn it_comes_back_and_damage_anywhere_is_seen() {
        let bytes = image().encode();
        assert_eq!(Image::decode(&bytes), Some(image()));
        assert_eq!(Image::decode(&Image::default().encode()), Some(Image::default()));
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 4;
            assert_eq!(Image::decode(&damaged), None, "byte {at}");
            assert_eq!(Image::decode(&bytes[..at]), None, "cut at {at}");
        }
    }
}
