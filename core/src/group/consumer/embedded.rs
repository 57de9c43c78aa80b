//! What consumers tell each other through the classic protocol, which a coordinator reads when it
//! mixes both protocols: Kafka's `ConsumerProtocolSubscription` and `ConsumerProtocolAssignment`,
//! versions 0 to 3.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::{BufMut, Bytes, BytesMut};

use crate::codec::{Reader, RecordFault, put_string};
use crate::types::TopicName;

/// Partitions by the names of their topics.
pub(super) type Named = Vec<(TopicName, Vec<i32>)>;

/// What a member wants, and has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subscription {
    pub(super) topics: Vec<TopicName>,
    /// From version 1 on.
    pub(super) owned: Named,
    /// From version 3 on.
    pub(super) rack: Option<Arc<str>>,
}

impl Subscription {
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, RecordFault> {
        let mut reader = Reader::new(bytes);
        let version = version(&mut reader)?;
        let topics = array(&mut reader, |reader| reader.string().map(TopicName::from))?;
        nullable_blob(&mut reader)?;
        let owned = if version >= 1 { named(&mut reader)? } else { Vec::new() };
        if version >= 2 {
            // The generation that the member owned them in.
            reader.i32()?;
        }
        let rack = if version >= 3 { reader.nullable_string()? } else { None };
        Ok(Self { topics, owned, rack: rack.filter(|rack| !rack.is_empty()).map(Arc::from) })
    }
}

/// What a member is assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) partitions: Named,
    /// What a custom assignor gave it beside them.
    pub(super) has_user_data: bool,
}

impl Assignment {
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, RecordFault> {
        let mut reader = Reader::new(bytes);
        version(&mut reader)?;
        let partitions = named(&mut reader)?;
        let has_user_data = nullable_blob(&mut reader)?.is_some_and(|data| !data.is_empty());
        Ok(Self { partitions, has_user_data })
    }

    /// In the version in which the member wrote its subscription.
    pub(super) fn encode(partitions: &Named, subscription: &[u8]) -> Bytes {
        let version = version(&mut Reader::new(subscription)).unwrap_or(0);
        let mut out = BytesMut::new();
        out.put_i16(version);
        put_length(&mut out, partitions.len());
        for (topic, partitions) in partitions {
            put_string(&mut out, topic.as_str());
            put_length(&mut out, partitions.len());
            for partition in partitions {
                out.put_i32(*partition);
            }
        }
        // No user data.
        out.put_i32(-1);
        out.freeze()
    }
}

/// Later versions only add to the end.
fn version(reader: &mut Reader<'_>) -> Result<i16, RecordFault> {
    match reader.i16()? {
        negative @ ..0 => Err(RecordFault::UnknownVersion(i32::from(negative))),
        version => Ok(version.min(3)),
    }
}

/// One at a time: a claimed length reserves nothing.
fn array<T>(
    reader: &mut Reader<'_>,
    item: impl Fn(&mut Reader<'_>) -> Result<T, RecordFault>,
) -> Result<Vec<T>, RecordFault> {
    let length = reader.i32()?;
    let mut items = Vec::new();
    for _ in 0..length {
        items.push(item(reader)?);
    }
    Ok(items)
}

fn named(reader: &mut Reader<'_>) -> Result<Named, RecordFault> {
    array(reader, |reader| {
        let topic = TopicName::from(reader.string()?);
        let length = reader.i32()?;
        let partitions = (0..length).map(|_| reader.i32()).collect::<Result<_, _>>()?;
        Ok((topic, partitions))
    })
}

fn nullable_blob<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, RecordFault> {
    match usize::try_from(reader.i32()?) {
        Ok(length) => reader.take(length).map(Some),
        Err(_) => Ok(None),
    }
}

fn put_length(out: &mut BytesMut, length: usize) {
    out.put_i32(i32::try_from(length).expect("there are not that many topics or partitions"));
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// The topic "t" wanted, partition 5 of it owned.
    fn subscription(version: i16, behind: &[u8]) -> Vec<u8> {
        let mut bytes = version.to_be_bytes().to_vec();
        bytes.extend([0, 0, 0, 1, 0, 1, b't', 0xff, 0xff, 0xff, 0xff]);
        if version >= 1 {
            bytes.extend([0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 5]);
        }
        bytes.extend(behind);
        bytes
    }

    #[test]
    fn every_version_of_a_subscription_is_read_as_far_as_it_is_known() {
        let (topic, owned) = (TopicName::from("t"), vec![(TopicName::from("t"), vec![5])]);
        let generation = [0, 0, 0, 9];
        let with_rack = |rack: &[u8]| [&generation[..], rack].concat();
        for (version, behind, owned, rack) in [
            (0, vec![], vec![], None),
            (1, vec![], owned.clone(), None),
            (2, generation.to_vec(), owned.clone(), None),
            (3, with_rack(&[0, 1, b'r']), owned.clone(), Some(Arc::from("r"))),
            (3, with_rack(&[0, 0]), owned.clone(), None),
            (3, with_rack(&[0xff, 0xff]), owned.clone(), None),
            (4, with_rack(&[0, 1, b'r', 1, 2, 3]), owned, Some(Arc::from("r"))),
        ] {
            let read = Subscription::decode(&subscription(version, &behind));
            assert_eq!(read, Ok(Subscription { topics: vec![topic.clone()], owned, rack }));
        }
        assert!(Subscription::decode(&subscription(2, &[])).is_err(), "it ends too soon");
        assert!(Subscription::decode(&[0xff, 0xff, 0, 0, 0, 0]).is_err());
    }

    #[test]
    fn what_a_custom_assignor_adds_to_an_assignment_is_seen() {
        let partitions = vec![(TopicName::from("t"), vec![1, 2])];
        let ours = Assignment::encode(&partitions, &subscription(1, &[]));
        let read = |bytes: &[u8]| Assignment::decode(bytes).map(|one| one.has_user_data);
        assert_eq!(Assignment::decode(&ours).map(|one| one.partitions), Ok(partitions));
        assert_eq!(read(&ours), Ok(false));
        let without = &ours[..ours.len() - 4];
        assert_eq!(read(&[without, &[0, 0, 0, 0]].concat()), Ok(false), "no byte of it");
        assert_eq!(read(&[without, &[0, 0, 0, 1, 7]].concat()), Ok(true));
    }
}
