//! Changes records in a file as somebody with the disk in hands could: with good checksums.
//!
//! For state that no run is long enough to reach (producer epochs near their end), and for records
//! that a newer version would write.

/// One record: its key and its value.
pub(super) struct Record<'a> {
    pub(super) key: &'a mut [u8],
    pub(super) value: &'a mut [u8],
    /// Whether the key comes again further down in the same file.
    pub(super) superseded: bool,
}

const HEADER: usize = 61;

/// Hands every record that has a key and a value to `edit`, and gives each changed batch its new
/// checksum. `edit` says whether it changed the value. Stops where the bytes are no batches.
pub(super) fn edit_records(file: &mut [u8], mut edit: impl FnMut(Record<'_>) -> bool) {
    let mut later: Vec<Vec<u8>> = Vec::new();
    each_batch(file, |batch| {
        each_record(batch, |key, _| {
            later.push(key.to_vec());
            false
        });
    });
    let mut at = 0;
    each_batch(file, |batch| {
        let changed = each_record(batch, |key, value| {
            at += 1;
            let superseded = later.get(at..).is_some_and(|rest| rest.iter().any(|k| *k == *key));
            edit(Record { key, value, superseded })
        });
        if changed {
            let crc = crc32c::crc32c(&batch[21..]);
            batch[17..21].copy_from_slice(&crc.to_be_bytes());
        }
    });
}

fn each_batch(mut file: &mut [u8], mut act: impl FnMut(&mut [u8])) {
    while file.len() >= HEADER {
        let length = i32::from_be_bytes([file[8], file[9], file[10], file[11]]);
        let size = usize::try_from(length).map_or(0, |length| length + 12);
        if size < HEADER || size > file.len() || file[16] != 2 {
            return;
        }
        let (batch, rest) = file.split_at_mut(size);
        act(batch);
        file = rest;
    }
}

fn each_record(batch: &mut [u8], mut act: impl FnMut(&mut [u8], &mut [u8]) -> bool) -> bool {
    let control = batch[22] & 0x20 != 0;
    let mut at = HEADER;
    let mut changed = false;
    while !control && at < batch.len() {
        let Some(length) = varint(batch, &mut at) else { break };
        let next = at + length.max(0) as usize;
        at += 1;
        let (Some(_), Some(_)) = (varint(batch, &mut at), varint(batch, &mut at)) else { break };
        let Some(key_length) = varint(batch, &mut at) else { break };
        let key_from = at;
        at += key_length.max(0) as usize;
        let key_to = at;
        let Some(value_length) = varint(batch, &mut at) else { break };
        let value_to = at + value_length.max(0) as usize;
        if value_to > batch.len() {
            break;
        }
        if key_length >= 0 && value_length > 0 {
            let (head, tail) = batch.split_at_mut(at);
            changed |= act(&mut head[key_from..key_to], &mut tail[..value_to - at]);
        }
        at = next;
    }
    changed
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let (mut raw, mut shift) = (0_u64, 0);
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        raw |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed());
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}
