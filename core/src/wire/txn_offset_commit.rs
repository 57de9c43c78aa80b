//! TxnOffsetCommit v0 to v6. The generated messages end at v5; v6 names topics by id (KIP-1319).

use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};
use kacrab_protocol::generated::ErrorCode;
use kacrab_protocol::primitives::{
    array_read_capacity, read_array_length, read_compact_array_length, read_i16, read_i32,
    read_i64, write_array_length, write_compact_array_length, write_i16, write_i32, write_i64,
};
use kacrab_protocol::string::{
    read_compact_nullable_string, read_compact_string, read_nullable_string, read_string,
    write_compact_nullable_string, write_compact_string, write_nullable_string, write_string,
};
use kacrab_protocol::tagged::{read_tagged_fields, write_tagged_fields};
use kacrab_protocol::uuid::{read_uuid, write_uuid};
use kacrab_protocol::{KafkaString, Result};

use super::{
    TxnOffsetCommitPartition, TxnOffsetCommitRequest, TxnOffsetCommitResponse,
    TxnOffsetCommitTopic, TxnOffsetCommitTopicResult,
};
use crate::types::{TopicId, TopicName};

const FLEXIBLE: i16 = 3;
const TOPIC_IDS: i16 = 6;

impl TxnOffsetCommitRequest {
    pub(super) fn read(body: &mut Bytes, version: i16) -> Result<Self> {
        let mut request = Self {
            transactional_id: string(body, version)?,
            group_id: string(body, version)?,
            producer_id: read_i64(body)?,
            producer_epoch: read_i16(body)?,
            generation_id: -1,
            member_id: KafkaString::default(),
            group_instance_id: None,
            topics: Vec::new(),
        };
        if version >= 3 {
            request.generation_id = read_i32(body)?;
            request.member_id = read_compact_string(body)?;
            request.group_instance_id = read_compact_nullable_string(body)?;
        }
        request.topics = array(body, version, TxnOffsetCommitTopic::read)?;
        end(body, version)?;
        Ok(request)
    }

    pub(super) fn write(&self, out: &mut BytesMut, version: i16) -> Result<()> {
        put_string(out, version, &self.transactional_id)?;
        put_string(out, version, &self.group_id)?;
        write_i64(out, self.producer_id);
        write_i16(out, self.producer_epoch);
        if version >= 3 {
            write_i32(out, self.generation_id);
            write_compact_string(out, &self.member_id)?;
            write_compact_nullable_string(out, self.group_instance_id.as_ref())?;
        }
        put_array(out, version, &self.topics, TxnOffsetCommitTopic::write)?;
        put_end(out, version)
    }
}

impl TxnOffsetCommitTopic {
    fn read(body: &mut Bytes, version: i16) -> Result<Self> {
        let (name, topic_id) = topic(body, version)?;
        let partitions = array(body, version, TxnOffsetCommitPartition::read)?;
        end(body, version)?;
        Ok(Self { name, topic_id, partitions })
    }

    fn write(&self, out: &mut BytesMut, version: i16) -> Result<()> {
        put_topic(out, version, &self.name, self.topic_id)?;
        put_array(out, version, &self.partitions, TxnOffsetCommitPartition::write)?;
        put_end(out, version)
    }
}

impl TxnOffsetCommitPartition {
    fn read(body: &mut Bytes, version: i16) -> Result<Self> {
        let partition = read_i32(body)?;
        let committed_offset = read_i64(body)?;
        let committed_leader_epoch = if version >= 2 { read_i32(body)? } else { -1 };
        let committed_metadata = if version >= FLEXIBLE {
            read_compact_nullable_string(body)?
        } else {
            read_nullable_string(body)?
        };
        end(body, version)?;
        Ok(Self { partition, committed_offset, committed_leader_epoch, committed_metadata })
    }

    fn write(&self, out: &mut BytesMut, version: i16) -> Result<()> {
        write_i32(out, self.partition);
        write_i64(out, self.committed_offset);
        if version >= 2 {
            write_i32(out, self.committed_leader_epoch);
        }
        if version >= FLEXIBLE {
            write_compact_nullable_string(out, self.committed_metadata.as_ref())?;
        } else {
            write_nullable_string(out, self.committed_metadata.as_ref())?;
        }
        put_end(out, version)
    }
}

impl TxnOffsetCommitResponse {
    pub(super) fn read(body: &mut Bytes, version: i16) -> Result<Self> {
        let _throttle_time_ms = read_i32(body)?;
        let topics = array(body, version, TxnOffsetCommitTopicResult::read)?;
        end(body, version)?;
        Ok(Self { topics })
    }

    pub(super) fn write(&self, out: &mut BytesMut, version: i16) -> Result<()> {
        write_i32(out, 0);
        put_array(out, version, &self.topics, TxnOffsetCommitTopicResult::write)?;
        put_end(out, version)
    }
}

impl TxnOffsetCommitTopicResult {
    fn read(body: &mut Bytes, version: i16) -> Result<Self> {
        let (name, topic_id) = topic(body, version)?;
        let partitions = array(body, version, |body, version| {
            let partition = (read_i32(body)?, ErrorCode::from(read_i16(body)?));
            end(body, version)?;
            Ok(partition)
        })?;
        end(body, version)?;
        Ok(Self { name, topic_id, partitions })
    }

    fn write(&self, out: &mut BytesMut, version: i16) -> Result<()> {
        put_topic(out, version, &self.name, self.topic_id)?;
        put_array(out, version, &self.partitions, |(index, code), out, version| {
            write_i32(out, *index);
            write_i16(out, code.code());
            put_end(out, version)
        })?;
        put_end(out, version)
    }
}

fn topic(body: &mut Bytes, version: i16) -> Result<(TopicName, TopicId)> {
    if version >= TOPIC_IDS {
        return Ok((TopicName::from(""), read_uuid(body)?.into()));
    }
    Ok((TopicName::from(string(body, version)?.as_str()), TopicId::default()))
}

fn put_topic(out: &mut BytesMut, version: i16, name: &TopicName, id: TopicId) -> Result<()> {
    if version >= TOPIC_IDS {
        write_uuid(out, &id.to_kafka());
        return Ok(());
    }
    put_string(out, version, &name.to_kafka())
}

fn string(body: &mut Bytes, version: i16) -> Result<KafkaString> {
    let read = if version >= FLEXIBLE { read_compact_string } else { read_string };
    Ok(read(body)?)
}

fn put_string(out: &mut BytesMut, version: i16, value: &KafkaString) -> Result<()> {
    let write = if version >= FLEXIBLE { write_compact_string } else { write_string };
    Ok(write(out, value)?)
}

fn array<T>(
    body: &mut Bytes,
    version: i16,
    element: impl Fn(&mut Bytes, i16) -> Result<T>,
) -> Result<Vec<T>> {
    let read = if version >= FLEXIBLE { read_compact_array_length } else { read_array_length };
    let length = read(body)?;
    let mut elements = Vec::with_capacity(array_read_capacity(length, body.len()));
    for _ in 0..length {
        elements.push(element(body, version)?);
    }
    Ok(elements)
}

fn put_array<T>(
    out: &mut BytesMut,
    version: i16,
    elements: &[T],
    element: impl Fn(&T, &mut BytesMut, i16) -> Result<()>,
) -> Result<()> {
    let length = i32::try_from(elements.len()).unwrap_or(i32::MAX);
    if version >= FLEXIBLE {
        write_compact_array_length(out, length);
    } else {
        write_array_length(out, length);
    }
    elements.iter().try_for_each(|e| element(e, out, version))
}

fn end(body: &mut Bytes, version: i16) -> Result<()> {
    if version >= FLEXIBLE {
        read_tagged_fields(body)?;
    }
    Ok(())
}

fn put_end(out: &mut BytesMut, version: i16) -> Result<()> {
    if version >= FLEXIBLE {
        write_tagged_fields(out, &[])?;
    }
    Ok(())
}
