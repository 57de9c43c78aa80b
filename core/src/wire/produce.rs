//! Produce: the generated message, with its record sets screened.

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::{PartitionProduceData, ProduceRequestData, TopicProduceData};

use super::{ProduceRequest, ProduceTopic, WireError};
use crate::batch::{ScreenLimits, Screened, screen};
use crate::types::TopicName;

/// Whether a record set is a small part of its frame. It is a slice of it, and what is kept of it
/// in the log's cache would keep the whole frame in memory, uncounted: such a set is copied.
const fn pins_too_much(records: &Bytes, frame_bytes: usize) -> bool {
    records.len() < frame_bytes / 2
}

impl ProduceRequest {
    /// Screens every record set: CRC and structure are checked here, in the connection's task.
    /// `frame_bytes` is what the request takes as a whole.
    pub(super) fn screened(
        data: ProduceRequestData,
        version: i16,
        limits: &ScreenLimits,
        frame_bytes: usize,
    ) -> Self {
        let own = |records: Bytes| {
            if pins_too_much(&records, frame_bytes) {
                Bytes::copy_from_slice(&records)
            } else {
                records
            }
        };
        let topics = data
            .topic_data
            .into_iter()
            .map(|topic| ProduceTopic {
                name: TopicName::from(topic.name.as_str()),
                topic_id: topic.topic_id.into(),
                partitions: topic
                    .partition_data
                    .into_iter()
                    .map(|p| (p.index, screen(p.records.map(own), version, limits)))
                    .collect(),
            })
            .collect();
        Self {
            transactional_id: data.transactional_id,
            acks: data.acks,
            timeout_ms: data.timeout_ms,
            topics,
        }
    }

    /// The message a client sends for this.
    pub(super) fn to_generated(&self) -> Result<ProduceRequestData, WireError> {
        let mut data = ProduceRequestData::default()
            .with_transactional_id(self.transactional_id.clone())
            .with_acks(self.acks)
            .with_timeout_ms(self.timeout_ms);
        for topic in &self.topics {
            let mut topic_data = TopicProduceData::default()
                .with_name(KafkaString::from(alloc::string::String::from(topic.name.as_str())))
                .with_topic_id(topic.topic_id.to_kafka());
            for (index, records) in &topic.partitions {
                let records = match records {
                    Screened::Batch(batch) => Some(batch.bytes().clone()),
                    Screened::Empty => None,
                    Screened::Fault(_) => {
                        return Err(WireError::NotSendable("a refused record set has no bytes"));
                    }
                };
                topic_data
                    .partition_data
                    .push(PartitionProduceData::default().with_index(*index).with_records(records));
            }
            data.topic_data.push(topic_data);
        }
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_record_set_does_not_pin_its_frame() {
        let frame = Bytes::from(alloc::vec![0_u8; 1_000]);
        assert!(pins_too_much(&frame.slice(..499), frame.len()));
        assert!(!pins_too_much(&frame.slice(..500), frame.len()));
    }
}
