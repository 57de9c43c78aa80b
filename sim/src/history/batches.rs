//! Reads the batches of a fetch: a decoder of our own, so that the core's is not its own judge.

use bytes::{Buf, Bytes};
use serde::{Deserialize, Serialize};

/// What a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchKind {
    /// Records outside any transaction.
    Plain,
    /// Records of a transaction.
    Transactional,
    /// The marker of a commit.
    CommitMarker,
    /// The marker of an abort.
    AbortMarker,
}

impl BatchKind {
    /// Whether it is a marker.
    #[must_use]
    pub const fn is_marker(self) -> bool {
        matches!(self, Self::CommitMarker | Self::AbortMarker)
    }
}

/// A batch as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Offset of the first record.
    pub base: i64,
    /// Offset of the last record.
    pub last: i64,
    /// The epoch of the leader that took it, or -1 when that is not known.
    #[serde(default = "unknown")]
    pub leader_epoch: i32,
    /// The producer id, or -1.
    pub pid: i64,
    /// The producer epoch, or -1.
    pub epoch: i16,
    /// Sequence of the first record, or -1.
    pub sequence: i32,
    /// What it is.
    pub kind: BatchKind,
    /// Of a marker: the coordinator epoch in it.
    pub coordinator_epoch: i32,
    /// The application ids of the records, in order.
    pub apps: Vec<u64>,
    /// Offsets of the records counted from `base`; empty when they are 0, 1, 2 and so on to the
    /// last offset: log cleaning took nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<i64>,
}

const fn unknown() -> i32 {
    -1
}

impl Batch {
    /// What stays of a batch whatever is cleaned: producer, epoch, sequence, kind.
    #[must_use]
    pub const fn identity(&self) -> (i64, i16, i32, BatchKind) {
        (self.pid, self.epoch, self.sequence, self.kind)
    }

    /// Whether it is what cleaning left of a marker.
    #[must_use]
    pub const fn is_emptied_marker(&self) -> bool {
        self.pid < 0 && self.apps.is_empty()
    }

    /// Offset and application id of every record.
    pub fn records(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        (0_i64..).zip(&self.apps).enumerate().map(|(at, (dense, &app))| {
            (self.base + self.deltas.get(at).copied().unwrap_or(dense), app)
        })
    }
}

const HEADER: usize = 61;

/// Reads the whole batches in `bytes`; `None` when something in there is no batch or its CRC is
/// wrong. A batch cut short at the end is left out, as Kafka's clients do.
#[must_use]
pub fn parse_batches(mut bytes: Bytes) -> Option<Vec<Batch>> {
    let mut batches = Vec::new();
    while bytes.len() >= HEADER {
        let length = usize::try_from(i32::from_be_bytes(bytes[8..12].try_into().ok()?)).ok()? + 12;
        if bytes.len() < length {
            break;
        }
        batches.push(parse_batch(bytes.split_to(length))?);
    }
    Some(batches)
}

fn parse_batch(mut bytes: Bytes) -> Option<Batch> {
    if bytes.len() < HEADER {
        return None;
    }
    let crc = crc32c::crc32c(&bytes[21..]);
    let base = bytes.get_i64();
    bytes.advance(4);
    let leader_epoch = bytes.get_i32();
    if bytes.get_u8() != 2 || bytes.get_u32() != crc {
        return None;
    }
    let attributes = bytes.get_i16();
    let last = base + i64::from(bytes.get_i32());
    bytes.advance(16);
    let (pid, epoch, sequence) = (bytes.get_i64(), bytes.get_i16(), bytes.get_i32());
    let count = bytes.get_i32();
    let mut batch = Batch {
        base,
        last,
        leader_epoch,
        pid,
        epoch,
        sequence,
        kind: if attributes & 0x10 != 0 { BatchKind::Transactional } else { BatchKind::Plain },
        coordinator_epoch: -1,
        apps: Vec::with_capacity(usize::try_from(count).ok()?.min(bytes.len())),
        deltas: Vec::new(),
    };
    if count == 0 && attributes & 0x20 != 0 {
        // What cleaning has left of a marker whose transaction is gone: it says nothing any more.
        batch.pid = -1;
        batch.kind = BatchKind::Plain;
    }
    for _ in 0..count {
        let (delta, key, value) = parse_record(&mut bytes)?;
        if attributes & 0x20 == 0 {
            batch.apps.push(u64::from_be_bytes(value.get(..8)?.try_into().ok()?));
            batch.deltas.push(delta);
            continue;
        }
        batch.kind = match key.get(2..4)? {
            [0, 0] => BatchKind::AbortMarker,
            [0, 1] => BatchKind::CommitMarker,
            _ => return None,
        };
        batch.coordinator_epoch = i32::from_be_bytes(value.get(2..6)?.try_into().ok()?);
    }
    if batch.deltas.iter().copied().eq(0..=last - base) {
        batch.deltas = Vec::new();
    }
    Some(batch)
}

/// Offset delta, key, and the value or, of a tombstone, the value of its header.
fn parse_record(bytes: &mut Bytes) -> Option<(i64, Bytes, Bytes)> {
    let length = usize::try_from(varint(bytes)?).ok()?;
    if bytes.len() < length {
        return None;
    }
    let mut record = bytes.split_to(length);
    if record.is_empty() {
        return None;
    }
    record.advance(1);
    varint(&mut record)?;
    let delta = varint(&mut record)?;
    let key = field(&mut record)?;
    let mut value = field(&mut record)?;
    if value.is_empty() && varint(&mut record)? > 0 {
        field(&mut record)?;
        value = field(&mut record)?;
    }
    Some((delta, key, value))
}

fn field(record: &mut Bytes) -> Option<Bytes> {
    let length = varint(record)?;
    if length < 0 {
        return Some(Bytes::new());
    }
    let length = usize::try_from(length).ok()?;
    (record.len() >= length).then(|| record.split_to(length))
}

fn varint(bytes: &mut Bytes) -> Option<i64> {
    let (mut raw, mut shift) = (0_u64, 0);
    loop {
        if bytes.is_empty() || shift > 63 {
            return None;
        }
        let byte = bytes.get_u8();
        raw |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(((raw >> 1).cast_signed()) ^ -((raw & 1).cast_signed()));
        }
        shift += 7;
    }
}
