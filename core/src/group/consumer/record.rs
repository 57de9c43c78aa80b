//! What `__consumer_offsets` keeps of consumer groups: Kafka's records of types 3 to 8 and 16,
//! version 0 of each, byte for byte.
//!
//! Persisted: never renumber. Of `ConsumerGroupPartitionMetadata` (type 4), which Kafka has not
//! written since 4.1, only that there is one is known, so that it can be taken away.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::{BufMut, Bytes, BytesMut};

use super::member::{About, ClassicMember, Epochs, Holding, MemberState, Partitions};
use crate::codec::{
    Reader, RecordFault, put_compact_length, put_compact_nullable_string, put_compact_string,
    put_uvarint,
};
use crate::group::{MemberId, Protocol};
use crate::types::{TopicId, TopicName};

/// What a record of a consumer group is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConsumerKey {
    /// The group's epoch (type 3).
    Group,
    /// Its topics, as Kafka kept them before 4.1 (type 4).
    Topics,
    /// A member's subscription (type 5).
    Member(MemberId),
    /// The epoch of the target assignment (type 6).
    TargetEpoch,
    /// A member's target assignment (type 7).
    Target(MemberId),
    /// A member's epoch and partitions (type 8).
    Current(MemberId),
    /// The topics that a regular expression matched (type 16).
    Regex(Arc<str>),
}

impl ConsumerKey {
    pub(in crate::group) const fn kind(&self) -> i16 {
        match self {
            Self::Group => 3,
            Self::Topics => 4,
            Self::Member(_) => 5,
            Self::TargetEpoch => 6,
            Self::Target(_) => 7,
            Self::Current(_) => 8,
            Self::Regex(_) => 16,
        }
    }

    pub(in crate::group) const fn text(&self) -> Option<&Arc<str>> {
        match self {
            Self::Group | Self::Topics | Self::TargetEpoch => None,
            Self::Member(text) | Self::Target(text) | Self::Current(text) | Self::Regex(text) => {
                Some(text)
            }
        }
    }

    /// Whether keys of this type are about consumer groups.
    pub(in crate::group) const fn is_kind(kind: i16) -> bool {
        matches!(kind, 3..=8 | 16)
    }

    /// Reads what follows the group's id in a key of this type, which is one of ours.
    pub(in crate::group) fn read(kind: i16, reader: &mut Reader<'_>) -> Result<Self, RecordFault> {
        let constructor = match kind {
            3 => return Ok(Self::Group),
            4 => return Ok(Self::Topics),
            6 => return Ok(Self::TargetEpoch),
            5 => Self::Member,
            7 => Self::Target,
            8 => Self::Current,
            16 => Self::Regex,
            other => return Err(RecordFault::UnknownVersion(i32::from(other))),
        };
        Ok(constructor(Arc::from(reader.string()?)))
    }
}

/// The topics a regular expression matched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) struct Resolved {
    pub(in crate::group) topics: BTreeSet<TopicName>,
    /// Version of the topics it was matched with; of this life of the coordinator only.
    pub(in crate::group) version: i64,
    /// When, in ms of the wall clock.
    pub(in crate::group) at_ms: i64,
}

/// A record's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) enum ConsumerRecord {
    Group { epoch: i32, topics_hash: i64 },
    Topics,
    Member(Arc<About>),
    TargetEpoch { epoch: i32, at_ms: i64 },
    Target(Arc<Partitions>),
    Current(Arc<Holding>),
    Regex(Arc<Resolved>),
}

impl ConsumerRecord {
    /// Bytes of what clients sent that is in the record.
    pub(in crate::group) fn payload_bytes(&self) -> usize {
        let Self::Member(about) = self else { return 0 };
        let topics = about.topics.iter().map(|name| name.as_str().len() + 4);
        let classic = about.classic.iter().flat_map(|one| &one.protocols);
        let protocols = classic.map(|one| one.name.len() + one.metadata.len() + 8);
        topics.chain(protocols).fold(0, usize::saturating_add)
    }

    pub(in crate::group) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_i16(0);
        match self {
            Self::Group { epoch, topics_hash } => {
                out.put_i32(*epoch);
                put_tagged_i64(&mut out, *topics_hash);
            }
            // Never written; an empty list is what it would be.
            Self::Topics => out.put_slice(&[1, 0]),
            Self::Member(about) => put_about(&mut out, about),
            Self::TargetEpoch { epoch, at_ms } => {
                out.put_i32(*epoch);
                put_tagged_i64(&mut out, *at_ms);
            }
            Self::Target(partitions) => {
                put_compact_length(&mut out, partitions.len());
                for (topic, partitions) in partitions.iter() {
                    out.put_u128(topic.0);
                    put_numbers(&mut out, partitions.iter());
                    put_uvarint(&mut out, 0);
                }
                put_uvarint(&mut out, 0);
            }
            Self::Current(holding) => put_holding(&mut out, holding),
            Self::Regex(resolved) => {
                put_names(&mut out, &resolved.topics);
                out.put_i64(resolved.version);
                out.put_i64(resolved.at_ms);
                put_uvarint(&mut out, 0);
            }
        }
        out.freeze()
    }

    /// Reads the value of a record with this key.
    pub(in crate::group) fn decode(key: &ConsumerKey, bytes: &[u8]) -> Result<Self, RecordFault> {
        let mut reader = Reader::new(bytes);
        let version = reader.i16()?;
        if version != 0 {
            return Err(RecordFault::UnknownVersion(i32::from(version)));
        }
        Ok(match key {
            ConsumerKey::Group => {
                let epoch = reader.i32()?;
                Self::Group { epoch, topics_hash: tagged_i64(&mut reader)? }
            }
            ConsumerKey::Topics => Self::Topics,
            ConsumerKey::Member(_) => Self::Member(Arc::new(about(&mut reader)?)),
            ConsumerKey::TargetEpoch => {
                let epoch = reader.i32()?;
                Self::TargetEpoch { epoch, at_ms: tagged_i64(&mut reader)? }
            }
            ConsumerKey::Target(_) => {
                let topics = reader.compact_array(|reader| {
                    let topic = (TopicId(reader.uuid()?), numbers(reader)?.into_iter().collect());
                    reader.tagged(|_, _| Ok(()))?;
                    Ok(topic)
                })?;
                Self::Target(Arc::new(topics.into_iter().collect()))
            }
            ConsumerKey::Current(_) => Self::Current(Arc::new(holding(&mut reader)?)),
            ConsumerKey::Regex(_) => Self::Regex(Arc::new(Resolved {
                topics: names(&mut reader)?,
                version: reader.i64()?,
                at_ms: reader.i64()?,
            })),
        })
    }
}

/// The only tagged field there is, left out when it is 0.
fn put_tagged_i64(out: &mut BytesMut, value: i64) {
    if value == 0 {
        return put_uvarint(out, 0);
    }
    out.put_slice(&[1, 0, 8]);
    out.put_i64(value);
}

fn tagged_i64(reader: &mut Reader<'_>) -> Result<i64, RecordFault> {
    let mut value = 0;
    reader.tagged(|tag, mut field| {
        if tag == 0 {
            value = field.i64()?;
        }
        Ok(())
    })?;
    Ok(value)
}

fn put_names(out: &mut BytesMut, names: &BTreeSet<TopicName>) {
    put_compact_length(out, names.len());
    for name in names {
        put_compact_string(out, name.as_str());
    }
}

fn names(reader: &mut Reader<'_>) -> Result<BTreeSet<TopicName>, RecordFault> {
    let names = reader.compact_array(|reader| reader.compact_string().map(TopicName::from))?;
    Ok(names.into_iter().collect())
}

fn put_numbers<'a>(out: &mut BytesMut, numbers: impl ExactSizeIterator<Item = &'a i32>) {
    put_compact_length(out, numbers.len());
    for number in numbers {
        out.put_i32(*number);
    }
}

fn numbers(reader: &mut Reader<'_>) -> Result<Vec<i32>, RecordFault> {
    reader.compact_array(Reader::i32)
}

fn put_blob(out: &mut BytesMut, bytes: &[u8]) {
    put_compact_length(out, bytes.len());
    out.put_slice(bytes);
}

fn put_about(out: &mut BytesMut, about: &About) {
    put_compact_nullable_string(out, about.instance.as_deref());
    put_compact_nullable_string(out, about.rack.as_deref());
    put_compact_string(out, &about.client_id);
    put_compact_string(out, &about.client_host);
    put_names(out, &about.topics);
    put_compact_nullable_string(out, about.regex.as_deref());
    out.put_i32(about.rebalance_timeout_ms);
    put_compact_nullable_string(out, about.assignor.as_deref());
    let Some(classic) = &about.classic else { return put_uvarint(out, 0) };
    let mut field = BytesMut::new();
    // A nullable struct that is there.
    field.put_i8(1);
    field.put_i32(classic.session_timeout_ms);
    put_compact_length(&mut field, classic.protocols.len());
    for protocol in &classic.protocols {
        put_compact_string(&mut field, &protocol.name);
        put_blob(&mut field, &protocol.metadata);
        put_uvarint(&mut field, 0);
    }
    put_uvarint(&mut field, 0);
    put_tagged(out, &field);
}

fn put_tagged(out: &mut BytesMut, field: &[u8]) {
    out.put_slice(&[1, 0]);
    put_uvarint(out, u32::try_from(field.len()).expect("the coordinator writes no such record"));
    out.put_slice(field);
}

fn about(reader: &mut Reader<'_>) -> Result<About, RecordFault> {
    let text = |reader: &mut Reader<'_>| Ok(reader.compact_nullable_string()?.map(Arc::from));
    let mut about = About {
        instance: text(reader)?,
        rack: text(reader)?,
        client_id: Arc::from(reader.compact_string()?),
        client_host: Arc::from(reader.compact_string()?),
        topics: names(reader)?,
        regex: text(reader)?,
        rebalance_timeout_ms: reader.i32()?,
        assignor: text(reader)?,
        classic: None,
    };
    reader.tagged(|tag, mut field| {
        if tag == 0 && field.i8()? != -1 {
            about.classic = Some(ClassicMember {
                session_timeout_ms: field.i32()?,
                protocols: field.compact_array(protocol)?,
            });
        }
        Ok(())
    })?;
    Ok(about)
}

fn protocol(reader: &mut Reader<'_>) -> Result<Protocol, RecordFault> {
    let name = Arc::from(reader.compact_string()?);
    let length = reader.uvarint()?.checked_sub(1).ok_or(RecordFault::UnexpectedNull)?;
    let metadata = Bytes::copy_from_slice(reader.take(length as usize)?);
    reader.tagged(|_, _| Ok(()))?;
    Ok(Protocol { name, metadata })
}

fn put_holding(out: &mut BytesMut, holding: &Holding) {
    out.put_i32(holding.epoch);
    out.put_i32(holding.previous_epoch);
    out.put_i8(holding.state.code());
    for epochs in [&holding.assigned, &holding.revoking] {
        put_compact_length(out, epochs.len());
        for (topic, partitions) in epochs {
            out.put_u128(topic.0);
            put_numbers(out, partitions.keys());
            let mut field = BytesMut::new();
            put_numbers(&mut field, partitions.values());
            put_tagged(out, &field);
        }
    }
    put_uvarint(out, 0);
}

fn holding(reader: &mut Reader<'_>) -> Result<Holding, RecordFault> {
    let epoch = reader.i32()?;
    Ok(Holding {
        epoch,
        previous_epoch: reader.i32()?,
        state: MemberState::from_code(reader.i8()?),
        assigned: epochs(reader, epoch.max(0))?,
        revoking: epochs(reader, epoch.max(0))?,
    })
}

/// Partitions whose epochs are not told (records of before 4.4) were given in `default`.
fn epochs(reader: &mut Reader<'_>, default: i32) -> Result<Epochs, RecordFault> {
    let topics = reader.compact_array(|reader| {
        let topic = TopicId(reader.uuid()?);
        let partitions = numbers(reader)?;
        let mut told = None;
        reader.tagged(|tag, mut field| {
            if tag == 0 {
                let mut epochs = field;
                // Null is one byte, 0.
                told = if epochs.uvarint()? == 0 { None } else { Some(numbers(&mut field)?) };
            }
            Ok(())
        })?;
        let told = told.filter(|told| told.len() == partitions.len());
        let given: BTreeMap<i32, i32> = match told {
            Some(told) => partitions.into_iter().zip(told).collect(),
            None => partitions.into_iter().map(|partition| (partition, default)).collect(),
        };
        Ok((topic, given))
    })?;
    Ok(topics.into_iter().filter(|(_, given)| !given.is_empty()).collect())
}
