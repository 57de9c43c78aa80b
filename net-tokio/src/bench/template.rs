//! Produce requests that are built once and patched for each send.
//!
//! What changes from send to send lies at fixed places: the correlation id, and in each batch the
//! producer's id, epoch and sequence with the checksum over them. All batches of a request hold
//! the same records, so one checksum serves all of them, and no record is looked at again.

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::{PartitionProduceData, ProduceRequestData, TopicProduceData};
use verdict_core::batch::{BatchBuilder, BatchHeader};
use verdict_core::wire::client;

use super::link::{CLIENT_ID, LinkError};

/// Produce by topic name, with the transaction's partitions added by it (KIP-890).
pub(super) const PRODUCE_VERSION: i16 = 12;
/// The API key of Produce.
pub(super) const PRODUCE: i16 = 0;

/// Where the correlation id is in a frame.
const CORRELATION_ID_AT: usize = 8;
/// Where things are in a batch.
const CRC_AT: usize = 17;
const PRODUCER_ID_AT: usize = 43;
const PRODUCER_EPOCH_AT: usize = 51;
const BASE_SEQUENCE_AT: usize = 53;

/// What the batches of a request hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    /// Records of a batch.
    pub(super) records: u32,
    /// Bytes of each record's value.
    pub(super) record_bytes: usize,
}

/// Who produces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) producer_id: i64,
    pub(super) producer_epoch: i16,
}

/// A Produce request that is patched in place.
pub(super) struct Template {
    frame: Vec<u8>,
    /// Where the batches begin.
    batches: Vec<usize>,
    batch_bytes: usize,
    load: Load,
}

impl Template {
    /// A request with one batch for each of these partitions.
    pub(super) fn new(
        topic: &str,
        partitions: &[i32],
        load: Load,
        transactional_id: Option<&str>,
    ) -> Result<Self, LinkError> {
        let batch = batch(load, transactional_id.is_some());
        let partition_data = partitions.iter().map(|index| {
            PartitionProduceData::default().with_index(*index).with_records(Some(batch.clone()))
        });
        let topic = TopicProduceData::default()
            .with_name(KafkaString::from(topic.to_owned()))
            .with_partition_data(partition_data.collect());
        let data = ProduceRequestData::default()
            .with_transactional_id(transactional_id.map(|id| KafkaString::from(id.to_owned())))
            .with_acks(-1)
            .with_timeout_ms(30_000)
            .with_topic_data(vec![topic]);
        let frame = client::encode_produce(&data, PRODUCE_VERSION, 0, Some(CLIENT_ID))?.to_vec();
        let head = &batch[..BatchHeader::LENGTH];
        let (mut batches, mut from) = (Vec::with_capacity(partitions.len()), 0);
        for _ in partitions {
            let found = frame[from..].windows(head.len()).position(|window| window == head);
            let at = from + found.expect("an encoded request holds its batches as they are");
            batches.push(at);
            from = at + batch.len();
        }
        Ok(Self { frame, batches, batch_bytes: batch.len(), load })
    }

    /// Patches the request and returns its frame.
    pub(super) fn frame(
        &mut self,
        correlation_id: i32,
        identity: Identity,
        base_sequence: i32,
    ) -> &[u8] {
        self.put(CORRELATION_ID_AT, &correlation_id.to_be_bytes());
        let mut crc = None;
        for i in 0..self.batches.len() {
            let at = self.batches[i];
            self.put(at + PRODUCER_ID_AT, &identity.producer_id.to_be_bytes());
            self.put(at + PRODUCER_EPOCH_AT, &identity.producer_epoch.to_be_bytes());
            self.put(at + BASE_SEQUENCE_AT, &base_sequence.to_be_bytes());
            let covered = &self.frame[at + BatchHeader::CRC_START..at + self.batch_bytes];
            let crc = *crc.get_or_insert_with(|| crc32c::crc32c(covered));
            self.put(at + CRC_AT, &crc.to_be_bytes());
        }
        &self.frame
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.frame[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// The sequence after one send; wraps to 0 after 2147483647.
    pub(super) fn next_sequence(&self, base_sequence: i32) -> i32 {
        base_sequence.wrapping_add(self.load.records.cast_signed()) & i32::MAX
    }

    /// Records of one send.
    pub(super) fn records(&self) -> u64 {
        u64::from(self.load.records) * self.batches.len() as u64
    }

    /// Bytes of record batches of one send.
    pub(super) fn bytes(&self) -> u64 {
        (self.batch_bytes * self.batches.len()) as u64
    }
}

fn batch(load: Load, transactional: bool) -> Bytes {
    let mut builder = BatchBuilder::new(now_ms()).producer(0, 0, 0);
    if transactional {
        builder = builder.transactional();
    }
    // No codec is asked for, but a disk or a file system may compress: let it not be too easy.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut value = vec![0; load.record_bytes];
    for _ in 0..load.records {
        for byte in &mut value {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *byte = (state >> 56) as u8;
        }
        builder.push(None, Some(&value), &[]);
    }
    builder.build().bytes().clone()
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use verdict_core::batch::Screened;
    use verdict_core::wire::{Limits, Request, decode_request};

    use super::*;

    #[test]
    fn a_patched_request_passes_the_brokers_own_checks() {
        let load = Load { records: 3, record_bytes: 10 };
        let mut template = Template::new("t", &[0, 1, 5], load, Some("tx")).expect("encodable");
        assert_eq!(template.records(), 9);
        for (sequence, next) in [(0, 3), (i32::MAX - 1, 1)] {
            let identity = Identity { producer_id: 77, producer_epoch: 4 };
            let frame = Bytes::copy_from_slice(template.frame(9, identity, sequence));
            let decoded = decode_request(frame.slice(4..), &Limits::default()).expect("readable");
            assert_eq!(decoded.header.correlation_id, 9);
            let Request::Produce(produce) = decoded.request else { panic!("a Produce") };
            let sets: Vec<_> = produce.topics.iter().flat_map(|topic| &topic.partitions).collect();
            assert_eq!(sets.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 5]);
            for (_, set) in sets {
                let Screened::Batch(batch) = set else { panic!("{set:?}") };
                let header = batch.header();
                assert_eq!((header.producer_id, header.producer_epoch), (77, 4));
                assert_eq!((header.base_sequence, header.record_count), (sequence, 3));
                assert!(header.is_transactional());
            }
            assert_eq!(template.next_sequence(sequence), next);
        }
    }
}
