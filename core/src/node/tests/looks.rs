//! What the tests look at: fetches, offsets, descriptions.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;
use kacrab_protocol::generated::describe_producers_request::TopicRequest;
use kacrab_protocol::generated::describe_producers_response::ProducerState;
use kacrab_protocol::generated::fetch_request::{FetchPartition, FetchTopic};
use kacrab_protocol::generated::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kacrab_protocol::generated::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kacrab_protocol::generated::{
    DescribeProducersRequestData, DescribeTransactionsRequestData, FetchRequestData,
    ListOffsetsRequestData, OffsetFetchRequestData,
};

use super::verbs::{Who, ok, split, text};
use crate::batch::{self, CheckedBatch, parse_marker};
use crate::node::testing::Bench;
use crate::types::Decision;
use crate::wire::{Request, Response};

pub(super) const UNCOMMITTED: i8 = 0;
pub(super) const COMMITTED: i8 = 1;

/// A marker in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) offset: i64,
    pub(super) who: Who,
    pub(super) decision: Decision,
}

/// One partition of a Fetch answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fetched {
    pub(super) code: i16,
    /// Offsets of all data records in the answer.
    pub(super) records: Vec<i64>,
    /// Offsets of those that an application gets after the client's filter.
    pub(super) visible: Vec<i64>,
    /// Their values.
    pub(super) values: Vec<String>,
    pub(super) markers: Vec<Seen>,
    /// Producer id and first offset; `None` for null.
    pub(super) aborted: Option<Vec<(i64, i64)>>,
    pub(super) lso: i64,
    pub(super) high_watermark: i64,
    pub(super) log_start: i64,
    /// The batches' bytes.
    pub(super) bytes: Bytes,
}

pub(super) fn fetch_request(isolation: i8, from: &[(&str, i64)]) -> FetchRequestData {
    FetchRequestData {
        replica_id: -1,
        max_wait_ms: 0,
        min_bytes: 1,
        max_bytes: 50 << 20,
        isolation_level: isolation,
        session_id: 0,
        session_epoch: -1,
        topics: from
            .iter()
            .map(|(to, offset)| FetchTopic {
                topic: text(split(to).0),
                partitions: vec![FetchPartition {
                    partition: split(to).1,
                    current_leader_epoch: -1,
                    fetch_offset: *offset,
                    last_fetched_epoch: -1,
                    log_start_offset: -1,
                    partition_max_bytes: 50 << 20,
                    ..Default::default()
                }],
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

/// Every partition of an answer, in order.
pub(super) fn fetched(response: Response) -> Vec<Fetched> {
    let Response::Fetch(answer) = response else { panic!("{response:?}") };
    assert_eq!(answer.data.error_code, 0);
    let mut all = Vec::new();
    for (topic, records) in answer.data.responses.iter().zip(&answer.records) {
        for (part, records) in topic.partitions.iter().zip(records) {
            let mut seen = Fetched {
                code: part.error_code,
                aborted: part.aborted_transactions.as_ref().map(|list| {
                    list.iter().map(|txn| (txn.producer_id, txn.first_offset)).collect()
                }),
                lso: part.last_stable_offset,
                high_watermark: part.high_watermark,
                log_start: part.log_start_offset,
                bytes: batch::join(records),
                ..Default::default()
            };
            seen.read();
            all.push(seen);
        }
    }
    all
}

impl Fetched {
    /// Reads the batches as a client does.
    fn read(&mut self) {
        let mut pending = self.aborted.clone().unwrap_or_default();
        pending.sort_by_key(|(_, first)| *first);
        let mut aborted: BTreeSet<i64> = BTreeSet::new();
        for batch in batch::batches(self.bytes.clone()) {
            let batch = batch.expect("whole batches");
            let header = batch.header();
            while pending.first().is_some_and(|(_, first)| *first <= header.last_offset()) {
                aborted.insert(pending.remove(0).0);
            }
            if let Some((decision, _)) = parse_marker(&batch) {
                if decision == Decision::Abort {
                    aborted.remove(&header.producer_id);
                }
                let who = Who(header.producer_id, header.producer_epoch);
                self.markers.push(Seen { offset: header.base_offset, who, decision });
            } else {
                let hidden = header.is_transactional() && aborted.contains(&header.producer_id);
                self.read_records(&batch, !hidden);
            }
        }
    }

    fn read_records(&mut self, batch: &CheckedBatch, visible: bool) {
        for record in batch::records(batch) {
            let record = record.unwrap();
            let offset = batch.header().base_offset + i64::from(record.offset_delta);
            self.records.push(offset);
            if visible {
                self.visible.push(offset);
                let value = record.value.unwrap_or_default();
                self.values.push(core::str::from_utf8(&value).unwrap().to_string());
            }
        }
    }

    /// The offsets of the markers.
    pub(super) fn marker_offsets(&self) -> Vec<i64> {
        self.markers.iter().map(|marker| marker.offset).collect()
    }
}

impl Bench {
    pub(super) fn fetch_all(
        &mut self,
        version: i16,
        isolation: i8,
        from: &[(&str, i64)],
    ) -> Vec<Fetched> {
        let request = Request::Fetch(fetch_request(isolation, from));
        fetched(self.ask(version, request))
    }

    pub(super) fn fetch(&mut self, isolation: i8, to: &str, from: i64) -> Fetched {
        self.fetch_all(12, isolation, &[(to, from)]).remove(0)
    }

    /// The same on and on, until nothing more comes: an answer ends where a file does.
    pub(super) fn fetch_to_end(&mut self, isolation: i8, to: &str, from: i64) -> Fetched {
        let mut all = self.fetch(isolation, to, from);
        loop {
            let last = all.records.iter().chain(&all.marker_offsets()).max().copied();
            let Some(last) = last else { return all };
            let more = self.fetch(isolation, to, last + 1);
            if more.records.is_empty() && more.markers.is_empty() {
                return all;
            }
            all.records.extend(more.records);
            all.visible.extend(more.visible);
            all.values.extend(more.values);
            all.markers.extend(more.markers);
        }
    }

    /// What a read_committed application gets of a partition, from its start.
    pub(super) fn visible(&mut self, to: &str) -> Vec<i64> {
        let mut all = Vec::new();
        let mut next = self.list_offset(COMMITTED, to, -2).unwrap().0;
        loop {
            let seen = self.fetch(COMMITTED, to, next);
            assert_eq!(seen.code, 0);
            let last = seen.records.iter().chain(&seen.marker_offsets()).max().copied();
            let Some(last) = last else { return all };
            all.extend(seen.visible.iter().filter(|offset| **offset >= next));
            next = last + 1;
        }
    }

    /// (last stable offset, high watermark).
    pub(super) fn ends(&mut self, to: &str) -> (i64, i64) {
        (
            self.list_offset(COMMITTED, to, -1).unwrap().0,
            self.list_offset(UNCOMMITTED, to, -1).unwrap().0,
        )
    }

    /// ListOffsets: offset and timestamp.
    pub(super) fn list_offset(
        &mut self,
        isolation: i8,
        to: &str,
        timestamp: i64,
    ) -> Result<(i64, i64), i16> {
        let (topic, partition) = split(to);
        let request = Request::ListOffsets(ListOffsetsRequestData {
            replica_id: -1,
            isolation_level: isolation,
            topics: vec![ListOffsetsTopic {
                name: text(topic),
                partitions: vec![ListOffsetsPartition {
                    partition_index: partition,
                    current_leader_epoch: -1,
                    timestamp,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        });
        let Response::ListOffsets(answer) = self.ask(8, request) else { panic!() };
        let part = &answer.topics[0].partitions[0];
        ok(part.error_code).map(|()| (part.offset, part.timestamp))
    }

    /// OffsetFetch of one partition.
    pub(super) fn group_offset(
        &mut self,
        group: &str,
        to: &str,
        require_stable: bool,
    ) -> Result<i64, i16> {
        let (topic, partition) = split(to);
        let request = Request::OffsetFetch(OffsetFetchRequestData {
            groups: vec![OffsetFetchRequestGroup {
                group_id: text(group),
                member_id: None,
                member_epoch: -1,
                topics: Some(vec![OffsetFetchRequestTopics {
                    name: text(topic),
                    partition_indexes: vec![partition],
                    ..Default::default()
                }]),
                ..Default::default()
            }],
            require_stable,
            ..Default::default()
        });
        let Response::OffsetFetch(answer) = self.ask(9, request) else { panic!() };
        let group = &answer.groups[0];
        ok(group.error_code)?;
        let part = &group.topics[0].partitions[0];
        ok(part.error_code).map(|()| part.committed_offset)
    }

    /// DescribeTransactions: the state, the producer, the partitions.
    pub(super) fn describe(&mut self, id: &str) -> Result<(String, Who, Vec<String>), i16> {
        let request = Request::DescribeTransactions(DescribeTransactionsRequestData {
            transactional_ids: vec![text(id)],
            ..Default::default()
        });
        let Response::DescribeTransactions(answer) = self.ask(0, request) else { panic!() };
        let state = &answer.transaction_states[0];
        ok(state.error_code)?;
        let mut partitions = Vec::new();
        for topic in &state.topics {
            for partition in &topic.partitions {
                partitions.push(alloc::format!("{}-{partition}", topic.topic.as_str()));
            }
        }
        let who = Who(state.producer_id, state.producer_epoch);
        Ok((state.transaction_state.as_str().to_string(), who, partitions))
    }

    pub(super) fn state(&mut self, id: &str) -> String {
        self.describe(id).unwrap().0
    }

    /// DescribeProducers of one partition.
    pub(super) fn producers(&mut self, to: &str) -> Vec<ProducerState> {
        let (topic, partition) = split(to);
        let request = Request::DescribeProducers(DescribeProducersRequestData {
            topics: vec![TopicRequest {
                name: text(topic),
                partition_indexes: vec![partition],
                ..Default::default()
            }],
            ..Default::default()
        });
        let Response::DescribeProducers(answer) = self.ask(0, request) else { panic!() };
        let part = &answer.topics[0].partitions[0];
        assert_eq!(part.error_code, 0);
        part.active_producers.clone()
    }

    /// First offsets of the transactions that are open on a partition.
    pub(super) fn open_on(&mut self, to: &str) -> Vec<i64> {
        let producers = self.producers(to);
        producers.iter().map(|p| p.current_txn_start_offset).filter(|at| *at >= 0).collect()
    }
}
