//! The producer state of a log at an offset, in Kafka's `.snapshot` format (spec 2.7; P02, P28).
//!
//! Kafka keeps one batch of each producer, so after a restart an older retry is refused and the
//! client writes it a second time (P02). Here all five are kept: behind Kafka's entries, under
//! the same CRC, follows a section that Kafka's reader does not look at:
//!
//! ```text
//! int32 magic "VDW1" | int32 producers | per producer: int64 producer id, int8 batches,
//!   per batch, oldest first: int32 last sequence, int64 last offset, int32 offset delta, int64 ms
//! ```
//!
//! It names only producers of which Kafka's entry does not say everything. A file that Kafka wrote
//! has no such section, and a file without need for one is byte for byte Kafka's.

use alloc::vec::Vec;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::types::{NO_SEQUENCE, ProducerId};

use super::producers::{BatchMeta, ProducerEntry, REMEMBERED_BATCHES_MAX, Window};

// Persisted in every partition's folder: never renumber.
const VERSION: i16 = 1;
const CRC_END: usize = 6;
const ENTRY_LENGTH: usize = 46;
const WINDOWS_MAGIC: i32 = i32::from_be_bytes(*b"VDW1");
const WINDOW_LENGTH_MIN: usize = 9;

/// Why a snapshot cannot be used; the log is read from its start then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SnapshotError {
    /// The file ends too early, or goes on too long.
    #[error("the snapshot's length does not fit its content")]
    Length,
    /// A version that this code does not know.
    #[error("snapshot version {0} is unknown")]
    Version(i16),
    /// The CRC-32C does not fit.
    #[error("the snapshot's CRC does not match")]
    Crc,
    /// Entries that contradict themselves.
    #[error("the snapshot's entries are inconsistent")]
    Content,
}

/// Encodes entries, which must come in ascending order of producer id.
pub(super) fn encode<'a>(entries: impl Iterator<Item = (ProducerId, &'a ProducerEntry)>) -> Bytes {
    let mut out = BytesMut::with_capacity(CRC_END + 4 + ENTRY_LENGTH * entries.size_hint().0);
    out.put_i16(VERSION);
    out.put_u32(0);
    out.put_i32(0);
    let (mut count, mut windows, mut windows_count) = (0_i32, BytesMut::new(), 0_i32);
    for (producer_id, entry) in entries {
        put_entry(&mut out, producer_id, entry);
        count += 1;
        if window_of(entry.window.last(), entry.last_timestamp_ms) != entry.window {
            put_window(&mut windows, producer_id, &entry.window);
            windows_count += 1;
        }
    }
    if windows_count > 0 {
        out.put_i32(WINDOWS_MAGIC);
        out.put_i32(windows_count);
        out.extend_from_slice(&windows);
    }
    out[CRC_END..CRC_END + 4].copy_from_slice(&count.to_be_bytes());
    let crc = crc32c::crc32c(&out[CRC_END..]);
    out[2..CRC_END].copy_from_slice(&crc.to_be_bytes());
    out.freeze()
}

/// What Kafka's entry alone says of the remembered batches.
fn window_of(last: Option<&BatchMeta>, last_timestamp_ms: i64) -> Window {
    let mut window = Window::default();
    if let Some(last) = last {
        window.push(BatchMeta { timestamp_ms: last_timestamp_ms, ..*last });
    }
    window
}

fn put_entry(out: &mut BytesMut, producer_id: ProducerId, entry: &ProducerEntry) {
    let last = entry.window.last();
    out.put_i64(producer_id);
    out.put_i16(entry.producer_epoch);
    out.put_i32(last.map_or(NO_SEQUENCE, |batch| batch.last_sequence));
    out.put_i64(last.map_or(-1, |batch| batch.last_offset));
    out.put_i32(last.map_or(0, |batch| batch.offset_delta));
    out.put_i64(entry.last_timestamp_ms);
    out.put_i32(entry.coordinator_epoch);
    out.put_i64(entry.current_txn_first_offset.unwrap_or(-1));
}

fn put_window(out: &mut BytesMut, producer_id: ProducerId, window: &Window) {
    let batches = window.batches();
    out.put_i64(producer_id);
    out.put_u8(batches.len() as u8);
    for batch in batches {
        out.put_i32(batch.last_sequence);
        out.put_i64(batch.last_offset);
        out.put_i32(batch.offset_delta);
        out.put_i64(batch.timestamp_ms);
    }
}

/// Reads a snapshot, Kafka's or ours; the entries ascend by producer id.
///
/// # Errors
///
/// A [`SnapshotError`] for bytes that are no whole, undamaged snapshot of a known version.
pub fn decode(bytes: &[u8]) -> Result<Vec<(ProducerId, ProducerEntry)>, SnapshotError> {
    let mut rest = bytes;
    let version = rest.try_get_i16().map_err(|_| SnapshotError::Length)?;
    if version != VERSION {
        return Err(SnapshotError::Version(version));
    }
    let crc = rest.try_get_u32().map_err(|_| SnapshotError::Length)?;
    if crc32c::crc32c(rest) != crc {
        return Err(SnapshotError::Crc);
    }
    let count = rest.try_get_i32().map_err(|_| SnapshotError::Length)?;
    let count = usize::try_from(count).map_err(|_| SnapshotError::Content)?;
    if count > rest.len() / ENTRY_LENGTH {
        return Err(SnapshotError::Length);
    }
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        entries.push(get_entry(&mut rest).ok_or(SnapshotError::Length)?);
    }
    entries.sort_unstable_by_key(|entry| entry.0);
    if entries.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(SnapshotError::Content);
    }
    get_windows(rest, &mut entries)?;
    Ok(entries)
}

fn get_entry(rest: &mut &[u8]) -> Option<(ProducerId, ProducerEntry)> {
    let producer_id = rest.try_get_i64().ok()?;
    let producer_epoch = rest.try_get_i16().ok()?;
    let last_sequence = rest.try_get_i32().ok()?;
    let last_offset = rest.try_get_i64().ok()?;
    let offset_delta = rest.try_get_i32().ok()?;
    let last_timestamp_ms = rest.try_get_i64().ok()?;
    let coordinator_epoch = rest.try_get_i32().ok()?;
    let first_offset = rest.try_get_i64().ok()?;
    let last =
        BatchMeta { last_sequence, last_offset, offset_delta, timestamp_ms: last_timestamp_ms };
    let entry = ProducerEntry {
        producer_epoch,
        coordinator_epoch,
        last_timestamp_ms,
        current_txn_first_offset: (first_offset >= 0).then_some(first_offset),
        window: window_of((last_offset >= 0).then_some(&last), last_timestamp_ms),
    };
    Some((producer_id, entry))
}

fn get_windows(
    mut rest: &[u8],
    entries: &mut [(ProducerId, ProducerEntry)],
) -> Result<(), SnapshotError> {
    if rest.is_empty() {
        return Ok(());
    }
    if rest.try_get_i32().map_err(|_| SnapshotError::Length)? != WINDOWS_MAGIC {
        return Err(SnapshotError::Content);
    }
    let count = rest.try_get_i32().map_err(|_| SnapshotError::Length)?;
    let count = usize::try_from(count).map_err(|_| SnapshotError::Content)?;
    if count > rest.len() / WINDOW_LENGTH_MIN {
        return Err(SnapshotError::Length);
    }
    for _ in 0..count {
        let (producer_id, window) = get_window(&mut rest).ok_or(SnapshotError::Length)?;
        let at = entries.binary_search_by_key(&producer_id, |entry| entry.0);
        let entry = &mut entries[at.map_err(|_| SnapshotError::Content)?].1;
        let newest =
            |window: &Window| window.last().map(|batch| (batch.last_sequence, batch.last_offset));
        if newest(&window) != newest(&entry.window) {
            return Err(SnapshotError::Content);
        }
        entry.window = window;
    }
    if rest.is_empty() { Ok(()) } else { Err(SnapshotError::Length) }
}

fn get_window(rest: &mut &[u8]) -> Option<(ProducerId, Window)> {
    let producer_id = rest.try_get_i64().ok()?;
    let length = usize::from(rest.try_get_u8().ok()?);
    if length > REMEMBERED_BATCHES_MAX {
        return None;
    }
    let mut window = Window::default();
    for _ in 0..length {
        window.push(BatchMeta {
            last_sequence: rest.try_get_i32().ok()?,
            last_offset: rest.try_get_i64().ok()?,
            offset_delta: rest.try_get_i32().ok()?,
            timestamp_ms: rest.try_get_i64().ok()?,
        });
    }
    Some((producer_id, window))
}
