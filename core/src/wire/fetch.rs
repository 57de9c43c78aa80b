//! The Fetch answer: written with the shared record bytes put straight into place.
//!
//! The generated writer wants a partition's records as one piece of bytes, which would copy them
//! twice. This one writes the same bytes (a test compares the two) from the parts, or leaves out
//! what is worth sharing and says where it belongs.

use alloc::vec;
use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, PartitionData, SnapshotId,
};
use kacrab_protocol::generated::{ApiKey, FetchResponseData};
use kacrab_protocol::primitives::{
    write_array_length, write_compact_array_length, write_i16, write_i32, write_i64,
    write_unsigned_varint,
};
use kacrab_protocol::string::{write_compact_string, write_string};
use kacrab_protocol::tagged::{RawTaggedField, write_tagged_fields};
use kacrab_protocol::uuid::write_uuid;
use kacrab_protocol::{Result, UnsupportedFieldVersion};

use super::FetchResponse;

const FLEXIBLE: i16 = 12;

/// Record bytes that are not copied: where each belongs in what was written, ascending.
pub(super) struct Shared {
    /// Shorter ones are copied.
    pub(super) min_bytes: usize,
    pub(super) parts: Vec<(usize, Bytes)>,
    /// Bytes of those.
    pub(super) left_out: usize,
    /// Where in all that goes out each partition's records begin, if anybody wants to know.
    pub(super) starts: Option<Vec<usize>>,
}

impl Shared {
    /// Everything is copied.
    pub(super) const fn nothing() -> Self {
        Self::from_size(usize::MAX)
    }

    /// What is shorter than this is copied.
    pub(super) const fn from_size(min_bytes: usize) -> Self {
        Self { min_bytes, parts: Vec::new(), left_out: 0, starts: None }
    }
}

impl FetchResponse {
    /// Room for the frame's size and header, and for a partition's longer length of records.
    const SLACK_BYTES: usize = 16;

    /// An upper bound of the frame's bytes, so that writing it never moves what was written.
    pub(super) fn frame_bytes_at_most(&self, version: i16, shared: &Shared) -> Result<usize> {
        let mut total = self.data.encoded_len(version)?.saturating_add(Self::SLACK_BYTES);
        for partition in self.records.iter().flatten() {
            let copied = partition.iter().map(Bytes::len).filter(|len| *len < shared.min_bytes);
            let records: usize = copied.sum();
            total = total.saturating_add(records).saturating_add(Self::SLACK_BYTES);
        }
        Ok(total)
    }

    pub(super) fn write(
        &self,
        out: &mut BytesMut,
        version: i16,
        shared: &mut Shared,
    ) -> Result<()> {
        write_i32(out, self.data.throttle_time_ms);
        if version >= 7 {
            write_i16(out, self.data.error_code);
            write_i32(out, self.data.session_id);
        } else if self.data.session_id != 0 {
            return Err(absent("session_id", version));
        }
        put_length(out, version, self.data.responses.len());
        for (i, topic) in self.data.responses.iter().enumerate() {
            let records = self.records.get(i).map_or(&[][..], Vec::as_slice);
            write_topic(out, version, topic, records, shared)?;
        }
        if version >= FLEXIBLE {
            let mut tags = Vec::new();
            if version >= 16 && !self.data.node_endpoints.is_empty() {
                let mut data = BytesMut::new();
                put_length(&mut data, version, self.data.node_endpoints.len());
                for endpoint in &self.data.node_endpoints {
                    endpoint.write(&mut data, version)?;
                }
                tags.push(RawTaggedField { tag: 0, data: data.freeze() });
            }
            write_tagged_fields(out, &tags)?;
        }
        Ok(())
    }

    /// The client's side: moves each partition's records beside the message.
    pub(super) fn from_generated(mut data: FetchResponseData) -> Self {
        let mut take = |partition: &mut PartitionData| match partition.records.take() {
            Some(records) if !records.is_empty() => vec![records],
            _ => Vec::new(),
        };
        let records = data
            .responses
            .iter_mut()
            .map(|topic| topic.partitions.iter_mut().map(&mut take).collect())
            .collect();
        Self { data, records, files: Vec::new() }
    }
}

fn write_topic(
    out: &mut BytesMut,
    version: i16,
    topic: &FetchableTopicResponse,
    records: &[Vec<Bytes>],
    shared: &mut Shared,
) -> Result<()> {
    match version {
        13.. => write_uuid(out, &topic.topic_id),
        FLEXIBLE => write_compact_string(out, &topic.topic)?,
        _ => write_string(out, &topic.topic)?,
    }
    put_length(out, version, topic.partitions.len());
    for (i, partition) in topic.partitions.iter().enumerate() {
        let parts = records.get(i).map_or(&[][..], Vec::as_slice);
        write_partition(out, version, partition, parts, shared)?;
    }
    if version >= FLEXIBLE {
        write_tagged_fields(out, &[])?;
    }
    Ok(())
}

fn write_partition(
    out: &mut BytesMut,
    version: i16,
    partition: &PartitionData,
    parts: &[Bytes],
    shared: &mut Shared,
) -> Result<()> {
    write_i32(out, partition.partition_index);
    write_i16(out, partition.error_code);
    write_i64(out, partition.high_watermark);
    write_i64(out, partition.last_stable_offset);
    if version >= 5 {
        write_i64(out, partition.log_start_offset);
    }
    match &partition.aborted_transactions {
        Some(aborted) => {
            put_length(out, version, aborted.len());
            aborted.iter().try_for_each(|txn| txn.write(out, version))?;
        }
        None if version >= FLEXIBLE => write_compact_array_length(out, -1),
        None => write_array_length(out, -1),
    }
    if version >= 11 {
        write_i32(out, partition.preferred_read_replica);
    } else if partition.preferred_read_replica != -1 {
        return Err(absent("preferred_read_replica", version));
    }
    write_records(out, version, parts, shared);
    if version >= FLEXIBLE { write_partition_tags(out, version, partition) } else { Ok(()) }
}

/// An empty record set has length 0, as Kafka's answers have; null is never written.
fn write_records(out: &mut BytesMut, version: i16, parts: &[Bytes], shared: &mut Shared) {
    let bytes: usize = parts.iter().map(Bytes::len).sum();
    // More than fits a frame is refused when its size is written.
    if version >= FLEXIBLE {
        write_unsigned_varint(out, u32::try_from(bytes.saturating_add(1)).unwrap_or(u32::MAX));
    } else {
        write_i32(out, i32::try_from(bytes).unwrap_or(i32::MAX));
    }
    if let Some(starts) = &mut shared.starts {
        starts.push(out.len().saturating_add(shared.left_out));
    }
    for part in parts {
        if part.len() < shared.min_bytes {
            out.extend_from_slice(part);
        } else {
            shared.left_out = shared.left_out.saturating_add(part.len());
            shared.parts.push((out.len(), part.clone()));
        }
    }
}

fn write_partition_tags(out: &mut BytesMut, version: i16, partition: &PartitionData) -> Result<()> {
    let mut tags = Vec::new();
    let mut add = |tag, write: &dyn Fn(&mut BytesMut) -> Result<()>| -> Result<()> {
        let mut data = BytesMut::new();
        write(&mut data)?;
        tags.push(RawTaggedField { tag, data: data.freeze() });
        Ok(())
    };
    if partition.diverging_epoch != EpochEndOffset::default() {
        add(0, &|data| partition.diverging_epoch.write(data, version))?;
    }
    if partition.current_leader != LeaderIdAndEpoch::default() {
        add(1, &|data| partition.current_leader.write(data, version))?;
    }
    if partition.snapshot_id != SnapshotId::default() {
        add(2, &|data| partition.snapshot_id.write(data, version))?;
    }
    write_tagged_fields(out, &tags)?;
    Ok(())
}

fn put_length(out: &mut BytesMut, version: i16, length: usize) {
    let length = i32::try_from(length).unwrap_or(i32::MAX);
    if version >= FLEXIBLE {
        write_compact_array_length(out, length);
    } else {
        write_array_length(out, length);
    }
}

fn absent(field: &'static str, version: i16) -> kacrab_protocol::ProtocolError {
    UnsupportedFieldVersion::new(ApiKey::Fetch as i16, field, version).into()
}
