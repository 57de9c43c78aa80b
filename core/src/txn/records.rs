//! The records of `__transaction_state`: Kafka's `TransactionLogKey` and `TransactionLogValue`.
//!
//! Persisted: never renumber, never reorder. Spec 9.2.
//!
//! Key: int16 type 0, then the transactional id (int16 length and bytes).
//!
//! Value: int16 version, then producer id, epoch, timeout, status, partitions by topic, last
//! update, start. Version 1 is flexible: compact lengths, and the tags 0 previous_producer_id,
//! 1 next_producer_id, 2 client_transaction_version, 3 next_producer_epoch (KIP-939: in Kafka's
//! schema, never written by 4.4.0). A null value is a tombstone.
//!
//! Ours are the tags [`LAST_EPOCH_TAG`] and [`ABORTED_TAG`], which Kafka reads over (decision 0016).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::TxnState;
use super::metadata::Metadata;
use crate::types::{NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicName, TopicPartition};

/// The tag of last_producer_epoch (int16), by which a repeated InitProducerId is recognised.
/// Apache Kafka 4.4.0 does not persist it (KAFKA-20357). Far from where Kafka's tags grow to.
const LAST_EPOCH_TAG: u32 = 1_000;
/// The tag that says by being there that the coordinator itself aborted the transaction. Empty.
const ABORTED_TAG: u32 = 1_001;

/// Why a record of `__transaction_state` was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TxnRecordError {
    /// A key type or value version of a newer Kafka; such records are skipped.
    #[error("a record of an unknown version")]
    UnknownVersion,
    /// Not a record of this format.
    #[error("a damaged record")]
    Damaged,
}

/// The key of a transactional id. An id longer than the 32767 bytes a request can carry is cut.
pub(crate) fn encode_key(transactional_id: &str) -> Bytes {
    let mut out = BytesMut::with_capacity(4 + transactional_id.len());
    out.put_i16(0);
    put_string(&mut out, transactional_id);
    out.freeze()
}

/// The transactional id of a key.
/// The transactional id of a record of the transaction log, by its key.
///
/// # Errors
/// When the key is not one of this kind.
pub fn decode_key(key: &Bytes) -> Result<Arc<str>, TxnRecordError> {
    let mut cursor = key.clone();
    if cursor.try_get_i16().map_err(|_| TxnRecordError::Damaged)? != 0 {
        return Err(TxnRecordError::UnknownVersion);
    }
    let length = usize::try_from(cursor.try_get_i16().map_err(|_| TxnRecordError::Damaged)?)
        .map_err(|_| TxnRecordError::Damaged)?;
    take_text(&mut cursor, length)
}

/// The value of metadata at a cluster's transaction.version. A kept transaction needs the tags, and so
/// does the producer id that a client was told to go on with: no other record has it. Such records
/// are of version 1 also where the level is 0 by now.
pub(crate) fn encode_value(metadata: &Metadata, transaction_version: i16) -> Bytes {
    let has_next = metadata.next_producer_id != NO_PRODUCER_ID;
    let flexible = transaction_version >= 1 || metadata.is_kept() || has_next;
    let mut out = BytesMut::with_capacity(64);
    out.put_i16(i16::from(flexible));
    out.put_i64(metadata.producer_id);
    out.put_i16(metadata.producer_epoch);
    out.put_i32(metadata.timeout_ms);
    out.put_u8(metadata.state.id());
    put_partitions(&mut out, metadata, flexible);
    out.put_i64(metadata.last_update_ms);
    out.put_i64(metadata.start_ms);
    if flexible {
        put_tags(&mut out, metadata);
    }
    out.freeze()
}

fn put_partitions(out: &mut BytesMut, metadata: &Metadata, flexible: bool) {
    if metadata.state == TxnState::Empty {
        if flexible {
            out.put_u8(0);
        } else {
            out.put_i32(-1);
        }
        return;
    }
    let mut topics: BTreeMap<&TopicName, Vec<i32>> = BTreeMap::new();
    for partition in &metadata.partitions {
        topics.entry(&partition.topic).or_default().push(partition.partition);
    }
    put_length(out, topics.len(), flexible);
    for (topic, indexes) in topics {
        if flexible {
            put_length(out, topic.as_str().len(), true);
            out.put_slice(topic.as_str().as_bytes());
        } else {
            put_string(out, topic.as_str());
        }
        put_length(out, indexes.len(), flexible);
        for index in indexes {
            out.put_i32(index);
        }
        if flexible {
            out.put_u8(0);
        }
    }
}

fn put_tags(out: &mut BytesMut, metadata: &Metadata) {
    let previous = metadata.previous_producer_id != NO_PRODUCER_ID;
    let next = metadata.next_producer_id != NO_PRODUCER_ID;
    let client = metadata.client_version != 0;
    let kept = metadata.is_kept();
    let last = metadata.last_producer_epoch != NO_PRODUCER_EPOCH;
    let aborted = metadata.aborted_by_coordinator;
    let count = [previous, next, client, kept, last, aborted].into_iter().map(u8::from).sum();
    out.put_u8(count);
    if previous {
        out.put_slice(&[0, 8]);
        out.put_i64(metadata.previous_producer_id);
    }
    if next {
        out.put_slice(&[1, 8]);
        out.put_i64(metadata.next_producer_id);
    }
    if client {
        out.put_slice(&[2, 2]);
        out.put_i16(metadata.client_version);
    }
    if kept {
        out.put_slice(&[3, 2]);
        out.put_i16(metadata.next_producer_epoch);
    }
    if last {
        put_varint(out, LAST_EPOCH_TAG);
        out.put_u8(2);
        out.put_i16(metadata.last_producer_epoch);
    }
    if aborted {
        put_varint(out, ABORTED_TAG);
        out.put_u8(0);
    }
}

/// The metadata of a value. What version 0 has no field for has its default.
pub(crate) fn decode_value(value: &Bytes) -> Result<Metadata, TxnRecordError> {
    let mut cursor = Cursor { bytes: value.clone(), flexible: false };
    match cursor.i16()? {
        0 => {}
        1 => cursor.flexible = true,
        version if version > 1 => return Err(TxnRecordError::UnknownVersion),
        _ => return Err(TxnRecordError::Damaged),
    }
    let producer_id = cursor.i64()?;
    let producer_epoch = cursor.i16()?;
    let timeout_ms = cursor.i32()?;
    let status = cursor.bytes.try_get_i8().map_err(|_| TxnRecordError::Damaged)?;
    let state = match TxnState::from_id(status).ok_or(TxnRecordError::Damaged)? {
        // Pending only: Kafka never writes them, and nothing could go on from them.
        TxnState::Dead | TxnState::PrepareEpochFence => return Err(TxnRecordError::Damaged),
        state => state,
    };
    let partitions = cursor.partitions()?;
    let last_update_ms = cursor.i64()?;
    let start_ms = cursor.i64()?;
    let mut metadata = Metadata {
        producer_id,
        previous_producer_id: NO_PRODUCER_ID,
        next_producer_id: NO_PRODUCER_ID,
        producer_epoch,
        next_producer_epoch: NO_PRODUCER_EPOCH,
        last_producer_epoch: NO_PRODUCER_EPOCH,
        timeout_ms,
        state,
        partitions: if state == TxnState::Empty { BTreeSet::new() } else { partitions },
        start_ms,
        last_update_ms,
        client_version: 0,
        aborted_by_coordinator: false,
    };
    if cursor.flexible {
        cursor.tags(&mut metadata)?;
    }
    let open = state == TxnState::Ongoing || state.is_prepared();
    if !open || metadata.next_producer_id < 0 || metadata.next_producer_epoch < 0 {
        metadata.next_producer_epoch = NO_PRODUCER_EPOCH;
    }
    Ok(metadata)
}

struct Cursor {
    bytes: Bytes,
    flexible: bool,
}

impl Cursor {
    fn i16(&mut self) -> Result<i16, TxnRecordError> {
        self.bytes.try_get_i16().map_err(|_| TxnRecordError::Damaged)
    }

    fn i32(&mut self) -> Result<i32, TxnRecordError> {
        self.bytes.try_get_i32().map_err(|_| TxnRecordError::Damaged)
    }

    fn i64(&mut self) -> Result<i64, TxnRecordError> {
        self.bytes.try_get_i64().map_err(|_| TxnRecordError::Damaged)
    }

    fn varint(&mut self) -> Result<u32, TxnRecordError> {
        let mut value = 0_u32;
        for shift in (0..35).step_by(7) {
            let byte = self.bytes.try_get_u8().map_err(|_| TxnRecordError::Damaged)?;
            if shift == 28 && byte > 0x0f {
                return Err(TxnRecordError::Damaged);
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(TxnRecordError::Damaged)
    }

    /// The length of an array; `None` for null.
    fn array_length(&mut self) -> Result<Option<usize>, TxnRecordError> {
        let length =
            if self.flexible { i64::from(self.varint()?) - 1 } else { i64::from(self.i32()?) };
        match length {
            -1 => Ok(None),
            length => usize::try_from(length).map(Some).map_err(|_| TxnRecordError::Damaged),
        }
    }

    fn text(&mut self) -> Result<String, TxnRecordError> {
        let length =
            if self.flexible { i64::from(self.varint()?) - 1 } else { i64::from(self.i16()?) };
        let length = usize::try_from(length).map_err(|_| TxnRecordError::Damaged)?;
        take_text(&mut self.bytes, length)
    }

    fn partitions(&mut self) -> Result<BTreeSet<TopicPartition>, TxnRecordError> {
        let mut partitions = BTreeSet::new();
        // A claimed length reserves nothing: each element read takes bytes that are there.
        for _ in 0..self.array_length()?.unwrap_or(0) {
            let topic = TopicName::from(self.text()?.as_str());
            for _ in 0..self.array_length()?.ok_or(TxnRecordError::Damaged)? {
                let partition = self.i32()?;
                partitions.insert(TopicPartition { topic: topic.clone(), partition });
            }
            if self.flexible {
                self.skip_tags()?;
            }
        }
        Ok(partitions)
    }

    fn skip_tags(&mut self) -> Result<(), TxnRecordError> {
        for _ in 0..self.varint()? {
            self.tag()?;
        }
        Ok(())
    }

    fn tag(&mut self) -> Result<(u32, Bytes), TxnRecordError> {
        let tag = self.varint()?;
        let size = usize::try_from(self.varint()?).map_err(|_| TxnRecordError::Damaged)?;
        if size > self.bytes.len() {
            return Err(TxnRecordError::Damaged);
        }
        Ok((tag, self.bytes.split_to(size)))
    }

    fn tags(&mut self, metadata: &mut Metadata) -> Result<(), TxnRecordError> {
        for _ in 0..self.varint()? {
            let (tag, bytes) = self.tag()?;
            let mut field = Self { bytes, flexible: true };
            match tag {
                0 => metadata.previous_producer_id = field.i64()?,
                1 => metadata.next_producer_id = field.i64()?,
                2 => metadata.client_version = field.i16()?,
                3 => metadata.next_producer_epoch = field.i16()?,
                LAST_EPOCH_TAG => metadata.last_producer_epoch = field.i16()?,
                ABORTED_TAG => metadata.aborted_by_coordinator = true,
                // From a later Kafka.
                _ => {}
            }
        }
        Ok(())
    }
}

fn take_text<T>(cursor: &mut Bytes, length: usize) -> Result<T, TxnRecordError>
where
    T: for<'a> From<&'a str>,
{
    if length > cursor.len() {
        return Err(TxnRecordError::Damaged);
    }
    let bytes = cursor.split_to(length);
    core::str::from_utf8(&bytes).map(T::from).map_err(|_| TxnRecordError::Damaged)
}

/// An array's length, or with `flexible` a compact string's as well: the length plus one.
fn put_length(out: &mut BytesMut, length: usize, flexible: bool) {
    // Both limits are far above what the bounded requests that fill these sets can carry.
    let length = u32::try_from(length).unwrap_or(u32::MAX - 1);
    if !flexible {
        out.put_u32(length);
        return;
    }
    put_varint(out, length + 1);
}

fn put_varint(out: &mut BytesMut, mut rest: u32) {
    while rest >= 0x80 {
        out.put_u8((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.put_u8(rest as u8);
}

fn put_string(out: &mut BytesMut, text: &str) {
    let mut end = text.len().min(i16::MAX.unsigned_abs().into());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    out.put_u16(end as u16);
    out.put_slice(&text.as_bytes()[..end]);
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
