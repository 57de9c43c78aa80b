//! The journal's frame: one turn, whole or not at all.
//!
//! ```text
//!  0 magic       u32  "VJF1"
//!  4 length      u32  bytes of the body
//!  8 crc         u32  CRC-32C of everything from byte 12 to the end of the body
//! 12 generation  u64  of the file's current use; an older one is what a recycled file held before
//! 20 sequence    u64  of the turn; never used twice
//! 28 previous    u64  sequence of the frame this one follows
//! 36 body             entries, one after the other
//!
//! entry: kind u8, topic id 16 bytes, partition i32, then by kind
//!   1 append     base offset i64, length u32, the batch
//!   2 create     segment bytes u32, name length u16, topic name
//!   3 delete
//!   4 log start  offset i64
//!   5 placed     base offset i64, offset behind the last record i64, segment's base offset i64,
//!                position u64, length u64, the batch's crc u32, name length u16, topic name
//! ```
//!
//! All integers are big endian. Persisted: never renumber.
//!
//! Why `previous`: after a failed write the next frame goes to the same place. What is left of the
//! failed write behind it may be a perfect frame, but it names a predecessor that is gone, so a
//! scan never takes it. The first frame of the other file names the last frame that counts in the
//! file before, so leftovers at that file's end are dropped too.

use alloc::vec::Vec;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::block::Block;
use super::placing::Home;
use crate::types::{Offset, PartitionId, TopicId, TopicName};

/// "VJF1".
const MAGIC: u32 = 0x564a_4631;
/// Bytes of a frame before its body.
pub(super) const HEADER_BYTES: u64 = 36;
/// Where the CRC's range begins.
const CRC_START: usize = 12;
/// Largest part of a batch that is copied into the frame's own buffer.
const COPIED_BYTES_MAX: usize = 8192;
/// Bytes of kind and partition id.
const ENTRY_HEAD: u64 = 21;

const KIND_APPEND: u8 = 1;
const KIND_CREATE: u8 = 2;
const KIND_DELETE: u8 = 3;
const KIND_LOG_START: u8 = 4;
const KIND_PLACED: u8 = 5;

/// A batch that is in its segment already.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PlacedAt {
    /// Names the folder, also when neither a checkpoint nor the journal does.
    pub(super) topic: TopicName,
    pub(super) home: Home,
    pub(super) base_offset: Offset,
    /// Offset behind its last record.
    pub(super) end: Offset,
    /// Bytes of it.
    pub(super) size: u64,
    /// As in its header: another batch may have been there before.
    pub(super) crc: u32,
}

/// One change of a log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Entry {
    /// A batch at the log's end.
    Append { id: PartitionId, block: Block },
    /// The same, in its segment already; the batch only before the turn is persisted.
    Placed { id: PartitionId, at: PlacedAt, block: Option<Block> },
    /// A log begins, empty.
    Create { id: PartitionId, topic: TopicName, segment_bytes: u32 },
    /// A log and its files are no more.
    Delete { id: PartitionId },
    /// Records below the offset are no more.
    LogStart { id: PartitionId, offset: Offset },
}

impl Entry {
    /// The log it changes.
    pub(super) const fn id(&self) -> PartitionId {
        match self {
            Self::Append { id, .. }
            | Self::Placed { id, .. }
            | Self::Create { id, .. }
            | Self::Delete { id }
            | Self::LogStart { id, .. } => *id,
        }
    }

    /// Bytes it takes in a frame.
    pub(super) fn size(&self) -> u64 {
        ENTRY_HEAD
            + match self {
                Self::Append { block, .. } => 12 + block.size(),
                Self::Placed { at, .. } => 46 + at.topic.as_str().len() as u64,
                Self::Create { topic, .. } => 6 + topic.as_str().len() as u64,
                Self::Delete { .. } => 0,
                Self::LogStart { .. } => 8,
            }
    }

    /// Bytes it takes in a frame that are copied there.
    fn copied_bytes(&self) -> usize {
        let shared: usize = match self {
            Self::Append { block, .. } => {
                block.bytes().map(Bytes::len).filter(|length| *length > COPIED_BYTES_MAX).sum()
            }
            _ => 0,
        };
        usize::try_from(self.size()).unwrap_or(0).saturating_sub(shared)
    }

    /// Appends it to `head`; what is shared goes to `out`, behind what was in `head`.
    fn encode(&self, head: &mut BytesMut, out: &mut Vec<Bytes>) {
        head.put_u8(match self {
            Self::Append { .. } => KIND_APPEND,
            Self::Placed { .. } => KIND_PLACED,
            Self::Create { .. } => KIND_CREATE,
            Self::Delete { .. } => KIND_DELETE,
            Self::LogStart { .. } => KIND_LOG_START,
        });
        head.put_u128(self.id().topic_id.0);
        head.put_i32(self.id().partition);
        match self {
            Self::Append { block, .. } => {
                head.put_i64(block.header.base_offset);
                head.put_u32(u32::try_from(block.size()).unwrap_or(u32::MAX));
                for part in block.bytes() {
                    if part.len() <= COPIED_BYTES_MAX {
                        head.put_slice(part);
                    } else {
                        out.push(head.split().freeze());
                        out.push(part.clone());
                    }
                }
            }
            Self::Placed { at, .. } => {
                head.put_i64(at.base_offset);
                head.put_i64(at.end);
                head.put_i64(at.home.segment);
                head.put_u64(at.home.position);
                head.put_u64(at.size);
                head.put_u32(at.crc);
                put_name(&at.topic, head);
            }
            Self::Create { topic, segment_bytes, .. } => {
                head.put_u32(*segment_bytes);
                put_name(topic, head);
            }
            Self::Delete { .. } => {}
            Self::LogStart { offset, .. } => head.put_i64(*offset),
        }
    }

    fn decode(body: &mut Bytes) -> Option<Self> {
        let kind = body.try_get_u8().ok()?;
        let topic_id = TopicId(body.try_get_u128().ok()?);
        let id = PartitionId { topic_id, partition: body.try_get_i32().ok()? };
        match kind {
            KIND_APPEND => {
                let base_offset = body.try_get_i64().ok()?;
                let length = body.try_get_u32().ok()? as usize;
                if length > body.len() {
                    return None;
                }
                let mut bytes = body.split_to(length);
                let block = Block::split_from(&mut bytes).ok()?;
                (bytes.is_empty() && block.header.base_offset == base_offset)
                    .then_some(Self::Append { id, block })
            }
            KIND_CREATE => {
                let segment_bytes = body.try_get_u32().ok()?;
                let topic = get_name(body)?;
                Some(Self::Create { id, topic, segment_bytes })
            }
            KIND_PLACED => {
                let (base_offset, end) = (body.try_get_i64().ok()?, body.try_get_i64().ok()?);
                let (segment, position) = (body.try_get_i64().ok()?, body.try_get_u64().ok()?);
                let (size, crc) = (body.try_get_u64().ok()?, body.try_get_u32().ok()?);
                let home = Home { segment, position };
                let at = PlacedAt { topic: get_name(body)?, home, base_offset, end, size, crc };
                Some(Self::Placed { id, at, block: None })
            }
            KIND_DELETE => Some(Self::Delete { id }),
            KIND_LOG_START => Some(Self::LogStart { id, offset: body.try_get_i64().ok()? }),
            _ => None,
        }
    }
}

fn put_name(topic: &TopicName, head: &mut BytesMut) {
    head.put_u16(u16::try_from(topic.as_str().len()).unwrap_or(u16::MAX));
    head.put_slice(topic.as_str().as_bytes());
}

fn get_name(body: &mut Bytes) -> Option<TopicName> {
    let length = usize::from(body.try_get_u16().ok()?);
    if length > body.len() {
        return None;
    }
    let name = body.split_to(length);
    Some(TopicName::from(core::str::from_utf8(&name).ok()?))
}

/// Where a frame stands in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) generation: u64,
    pub(super) sequence: u64,
    pub(super) previous: u64,
}

/// A turn that was read back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub(super) place: Place,
    pub(super) entries: Vec<Entry>,
}

/// Appends the buffers of a frame to `out`. Large batches are shared; all else is copied into one
/// buffer, since a small one costs more as a buffer than as bytes.
pub(super) fn encode(place: Place, entries: &[Entry], out: &mut Vec<Bytes>) {
    let at = out.len();
    out.push(Bytes::new());
    let header_bytes = HEADER_BYTES as usize;
    let copied: usize = entries.iter().map(Entry::copied_bytes).sum();
    let mut head = BytesMut::with_capacity(header_bytes + copied);
    head.put_bytes(0, header_bytes);
    // The header names a sum over all that follows it, so its place is kept apart until the end.
    let mut header = head.split();
    for entry in entries {
        entry.encode(&mut head, out);
    }
    if !head.is_empty() {
        out.push(head.freeze());
    }
    write_header(place, &out[at + 1..], &mut header);
    out[at] = header.freeze();
}

/// The header of a frame around a body.
pub(super) fn seal(place: Place, body: &[Bytes]) -> Bytes {
    let mut header = BytesMut::zeroed(HEADER_BYTES as usize);
    write_header(place, body, &mut header);
    header.freeze()
}

fn write_header(place: Place, body: &[Bytes], mut header: &mut [u8]) {
    let length: usize = body.iter().map(Bytes::len).sum();
    let mut tail = [0; HEADER_BYTES as usize - CRC_START];
    let mut fields = &mut tail[..];
    fields.put_u64(place.generation);
    fields.put_u64(place.sequence);
    fields.put_u64(place.previous);
    let crc = body.iter().fold(crc32c::crc32c(&tail), |crc, part| crc32c::crc32c_append(crc, part));
    header.put_u32(MAGIC);
    header.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    header.put_u32(crc);
    header.put_slice(&tail);
}

/// What [`Scan::next`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    /// The next turn.
    Frame(Frame),
    /// More bytes of the file are needed to tell.
    More,
    /// The file holds no further frame of this use.
    End,
}

/// Reads one journal file from its start and stops at the first frame that does not belong:
/// zeros, torn, of an older use of the file, or following another frame than the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Scan {
    bytes: Bytes,
    last: Option<Place>,
}

impl Scan {
    /// Adds the next bytes of the file.
    pub(super) fn push(&mut self, bytes: Bytes) {
        let left = core::mem::take(&mut self.bytes);
        if left.is_empty() {
            self.bytes = bytes;
            return;
        }
        // Of a frame of many pieces what is there is copied once, and grows from then on.
        let mut all = BytesMut::from(left);
        all.extend_from_slice(&bytes);
        self.bytes = all.freeze();
    }

    /// Whether something other than zeros follows the last frame.
    pub(super) fn is_torn(&self) -> bool {
        self.bytes.iter().take(HEADER_BYTES as usize).any(|byte| *byte != 0)
    }

    /// The next frame.
    pub(super) fn next(&mut self) -> Scanned {
        let mut head = &self.bytes[..];
        if head.len() < HEADER_BYTES as usize {
            return Scanned::More;
        }
        if head.get_u32() != MAGIC {
            return Scanned::End;
        }
        let length = head.get_u32() as usize;
        let crc = head.get_u32();
        let place = Place {
            generation: head.get_u64(),
            sequence: head.get_u64(),
            previous: head.get_u64(),
        };
        let follows = self.last.is_none_or(|last| {
            last.generation == place.generation && last.sequence == place.previous
        });
        if !follows || place.sequence <= place.previous {
            return Scanned::End;
        }
        let Some(size) = length.checked_add(HEADER_BYTES as usize) else { return Scanned::End };
        if self.bytes.len() < size {
            return Scanned::More;
        }
        if crc32c::crc32c(&self.bytes[CRC_START..size]) != crc {
            return Scanned::End;
        }
        let mut body = self.bytes.split_to(size);
        body.advance(HEADER_BYTES as usize);
        let mut entries = Vec::new();
        while !body.is_empty() {
            let Some(entry) = Entry::decode(&mut body) else { return Scanned::End };
            entries.push(entry);
        }
        self.last = Some(place);
        Scanned::Frame(Frame { place, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::batch;

    const ID: PartitionId = PartitionId { topic_id: TopicId(0x0a0b), partition: 7 };

    fn place(generation: u64, sequence: u64, previous: u64) -> Place {
        Place { generation, sequence, previous }
    }

    fn written(place: Place, entries: &[Entry]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(place, entries, &mut out);
        out.concat()
    }

    fn scan(bytes: &[u8]) -> Vec<u64> {
        let mut scan = Scan::default();
        scan.push(Bytes::copy_from_slice(bytes));
        let mut found = Vec::new();
        while let Scanned::Frame(frame) = scan.next() {
            found.push(frame.place.sequence);
        }
        found
    }

    fn start(offset: Offset) -> Vec<Entry> {
        alloc::vec![Entry::LogStart { id: ID, offset }]
    }

    #[test]
    fn what_follows_the_last_frame_is_torn_unless_it_is_zeros() {
        let frame = written(place(1, 1, 0), &start(3));
        let next = written(place(1, 2, 1), &start(4));
        let damaged = [&next[..40], &[1]].concat();
        for (rest, torn) in [
            (&[][..], false),
            (&[0; 200], false),
            (&next[..1], true),
            (&next[..next.len() - 1], true),
            (&damaged, true),
        ] {
            let mut scan = Scan::default();
            scan.push([&frame, rest].concat().into());
            assert!(matches!(scan.next(), Scanned::Frame(_)));
            assert!(!matches!(scan.next(), Scanned::Frame(_)));
            assert_eq!(scan.is_torn(), torn, "{} bytes", rest.len());
        }
    }

    #[test]
    fn the_bytes_of_a_frame_stay_as_they_are() {
        let entries = [
            Entry::Create { id: ID, topic: TopicName::from("t"), segment_bytes: 1024 },
            Entry::LogStart { id: ID, offset: 5 },
            Entry::Delete { id: ID },
        ];
        let golden = "564a46310000004efb7b889b00000000000000020000000000000009\
                      00000000000000080200000000000000000000000000000a0b000000\
                      070000040000017404000000000000000000000000000\
                      00a0b0000000700000000000000050300000000000000000000000000000a0b00000007";
        let golden: std::string::String = golden.split_whitespace().collect();
        let bytes = written(place(2, 9, 8), &entries);
        let hex: std::string::String = bytes.iter().map(|b| std::format!("{b:02x}")).collect();
        assert_eq!(hex, golden);
        let mut scan = Scan::default();
        scan.push(bytes.into());
        let frame = Frame { place: place(2, 9, 8), entries: entries.to_vec() };
        assert_eq!(scan.next(), Scanned::Frame(frame));
    }

    #[test]
    fn an_append_is_its_head_and_the_batch() {
        let entry = Entry::Append { id: ID, block: batch(40, 1, b"x") };
        let (mut bytes, mut shared) = (BytesMut::new(), Vec::new());
        entry.encode(&mut bytes, &mut shared);
        assert!(shared.is_empty(), "a small batch is copied");
        let head = "0100000000000000000000000000000a0b000000070000000000000028";
        let hex: std::string::String = bytes.iter().map(|b| std::format!("{b:02x}")).collect();
        assert_eq!(&hex[..58], head);
        // A batch of one record of sixteen bytes is 77 long, and as it goes into the segment.
        assert_eq!(&hex[58..66], "0000004d");
        assert_eq!(&hex[66..90], "000000000000002800000041");
        assert_eq!(bytes.len(), 33 + 0x4d);
    }

    #[test]
    fn a_batch_comes_back_byte_for_byte() {
        let entry = Entry::Append { id: ID, block: batch(40, 3, b"hello") };
        let mut bytes = Bytes::from(written(place(1, 1, 0), core::slice::from_ref(&entry)));
        assert_eq!(bytes.len() as u64, HEADER_BYTES + entry.size());
        bytes.advance(HEADER_BYTES as usize);
        match (Entry::decode(&mut bytes), &entry) {
            (Some(Entry::Append { block, .. }), Entry::Append { block: want, .. }) => {
                assert_eq!(block.header, want.header);
                assert_eq!(
                    block.bytes().cloned().collect::<Vec<_>>().concat(),
                    want.bytes().cloned().collect::<Vec<_>>().concat()
                );
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_scan_stops_at_zeros_a_torn_frame_an_older_use_and_a_foreign_predecessor() {
        let first = written(place(3, 5, 4), &start(1));
        let second = written(place(3, 6, 5), &start(2));
        let torn = &second[..second.len() - 1];
        let mut flipped = second.clone();
        flipped[40] ^= 1;
        for (name, tail, want) in [
            ("next", second.clone(), alloc::vec![5, 6]),
            ("a jump in sequence", written(place(3, 9, 5), &start(2)), alloc::vec![5, 9]),
            ("zeros", alloc::vec![0; 64], alloc::vec![5]),
            ("torn", torn.to_vec(), alloc::vec![5]),
            ("bad crc", flipped, alloc::vec![5]),
            ("older use", written(place(1, 6, 5), &start(2)), alloc::vec![5]),
            ("other predecessor", written(place(3, 7, 6), &start(2)), alloc::vec![5]),
            ("goes back", written(place(3, 4, 5), &start(2)), alloc::vec![5]),
        ] {
            assert_eq!(scan(&[first.clone(), tail].concat()), want, "{name}");
        }
    }

    #[test]
    fn what_a_failed_write_left_is_never_taken_behind_its_successor() {
        // Frames 5 and 6 failed as one write; 7 has the length of 5 and lies over it.
        let stale =
            [written(place(1, 5, 4), &start(1)), written(place(1, 6, 5), &start(2))].concat();
        let new = written(place(1, 7, 4), &start(3));
        let mut file = stale.clone();
        file[..new.len()].copy_from_slice(&new);
        assert_eq!(scan(&file), [7]);
        assert_eq!(scan(&stale), [5, 6]);
    }
}
