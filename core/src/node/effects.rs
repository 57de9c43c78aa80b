//! Delivers what the machines leave behind: effects of the coordinators, events of the store,
//! messages between machines.

use alloc::vec::Vec;

use bytes::Bytes;

use super::Node;
use super::completion::Completion;
use super::message::{MarkerReply, Message};
use super::turn::Refused;
use crate::batch::{BatchBuilder, CheckedBatch};
use crate::cluster::ClusterOutput;
use crate::error::ErrorCode;
use crate::group::GroupEffect;
use crate::io::Output;
use crate::partition::{AppendError, Appended, Guard, Origin};
use crate::store::StoreEvent;
use crate::txn::{LogAppendError, TxnEffect, TxnReply, TxnReplyTo};
use crate::types::{
    CONSUMER_OFFSETS_TOPIC, Marker, NO_SEQUENCE, PartitionId, TRANSACTION_STATE_TOPIC,
    TopicPartition,
};
use crate::{api, mark, txn};

impl Node {
    /// Works off effects and events until none is left, then ends the turn.
    pub(super) fn settle(&mut self) {
        loop {
            while self.settle_once() {}
            if !self.close_turn() {
                return;
            }
        }
    }

    fn settle_once(&mut self) -> bool {
        if let Some(event) = self.store.poll_event() {
            self.store_event(event);
        } else if let Some(effect) = self.txn.poll_effect() {
            self.txn_effect(effect);
        } else if let Some(effect) = self.group.poll_effect() {
            self.group_effect(effect);
        } else {
            return false;
        }
        true
    }

    fn store_event(&mut self, event: StoreEvent) {
        match event {
            StoreEvent::TurnsPersisted { through } => self.turns_persisted(through),
            StoreEvent::TurnsFailed { from, error } => self.turns_failed(from, error),
            StoreEvent::LogRecovered(log) => self.log_recovered(*log),
            StoreEvent::Recovered => self.recovered(),
            StoreEvent::ReadDone { id, result } => {
                if let Some(purpose) = self.reads.remove(&id) {
                    api::read_done(self, purpose, result);
                }
            }
            StoreEvent::CheckpointDue => self.checkpoint(),
            StoreEvent::SnapshotWanted { id } => self.snapshot_for_checkpoint(id),
            StoreEvent::LogCleaned { id, end, aborted } => self.log_cleaned(id, end, aborted),
            StoreEvent::CleaningEnded { done, .. } => self.cleaning_ended(done),
            StoreEvent::Stopped => self.stopped(),
            StoreEvent::Fault(reason) => self.fault(reason),
        }
    }

    fn txn_effect(&mut self, effect: TxnEffect) {
        match effect {
            TxnEffect::Append { id, partition, records } => {
                self.append_txn_log(id, partition, records);
            }
            TxnEffect::Reply { to: TxnReplyTo::Client(request), reply } => {
                api::transactions::reply(self, request, reply);
            }
            TxnEffect::Reply { to: TxnReplyTo::Verify(verify), reply } => {
                let (whole, results) = verify_results(reply);
                self.send(Message::Verified { verify, whole, results });
            }
            TxnEffect::Marker { to, marker, token } => {
                let reply = MarkerReply::Coordinator(token);
                self.send(Message::WriteMarker { to, marker, reply });
            }
            TxnEffect::AllocateProducerIds if self.cluster.is_some() => {
                self.output(Output::Cluster(ClusterOutput::WantProducerIds));
            }
            TxnEffect::AllocateProducerIds => self.allocate_producer_ids(),
        }
    }

    fn append_txn_log(
        &mut self,
        append: txn::AppendId,
        partition: i32,
        records: Vec<(Bytes, Option<Bytes>)>,
    ) {
        // A sweep writes for many ids at once. In one turn too large for the journal all of them
        // would fail, and so would every further try (found by verdict-sim).
        self.split_large_turn();
        let key = records.first().map(|(key, _)| key.clone()).unwrap_or_default();
        let batch = coordinator_batch(self.now.wall_ms, records);
        match self.append_internal(TRANSACTION_STATE_TOPIC, partition, &batch, None) {
            Ok((partition, _)) => {
                self.when_persisted(Completion::TxnLog { append, key, partition });
            }
            Err(refused) => {
                let error = match refused {
                    Refused::NotHere => LogAppendError::NotLeader,
                    Refused::Partition(error) => log_append_error(&error),
                };
                self.txn.appended(self.now, append, Err(error));
            }
        }
    }

    fn group_effect(&mut self, effect: GroupEffect) {
        match effect {
            GroupEffect::Append { id, partition, records, txn } => {
                let mut batch = BatchBuilder::new(self.now.wall_ms);
                if let Some(txn) = txn {
                    let (producer_id, epoch) = (txn.producer_id, txn.producer_epoch);
                    batch = batch.producer(producer_id, epoch, NO_SEQUENCE).transactional();
                }
                for (key, value) in &records {
                    batch.push(Some(key), value.as_deref(), &[]);
                }
                self.split_large_turn();
                let guard = txn.and_then(|txn| txn.guard).map(Guard);
                let batch = batch.build();
                match self.append_internal(CONSUMER_OFFSETS_TOPIC, partition, &batch, guard) {
                    Ok((partition, appended)) => {
                        let base_offset = appended.base_offset();
                        let done = Completion::GroupLog { append: id, base_offset, partition };
                        self.when_persisted(done);
                    }
                    Err(refused) => {
                        self.group.appended(self.now, id, Err((&refused).into()));
                    }
                }
            }
            GroupEffect::Reply { to, reply } => api::offsets::reply(self, to, reply),
        }
    }

    fn append_internal(
        &mut self,
        topic: &str,
        partition: i32,
        batch: &CheckedBatch,
        guard: Option<Guard>,
    ) -> Result<(PartitionId, Appended), Refused> {
        let to = TopicPartition::new(topic, partition);
        let id = self.meta.partition_id(&to).ok_or(Refused::NotHere)?;
        Ok((id, self.append(id, batch, Origin::Coordinator, guard)?))
    }

    /// One message is one turn. One for a machine of another member leaves as a request.
    pub(super) fn deliver(&mut self, message: Message) {
        let Some(message) = self.deliver_to_peer(message) else { return };
        match message {
            Message::Verify {
                verify,
                transactional_id,
                producer_id,
                producer_epoch,
                partitions,
                add,
            } => {
                let to = TxnReplyTo::Verify(verify);
                let (id, epoch) = (producer_id, producer_epoch);
                if add {
                    let now = self.now;
                    self.txn.add_partitions(now, to, &transactional_id, id, epoch, partitions, 2);
                } else {
                    self.txn.verify_partitions(to, &transactional_id, id, epoch, partitions);
                }
            }
            Message::Verified { verify, whole, results } => {
                api::verified(self, verify, whole, results);
            }
            Message::WriteMarker { to, marker, reply } => self.write_marker(&to, &marker, reply),
            Message::MarkerWritten { reply: MarkerReply::Coordinator(token), result } => {
                self.txn.marker_done(self.now, token, result);
            }
            Message::MarkerWritten { reply: MarkerReply::Request { id, marker, to }, result } => {
                api::write_txn_markers::done(self, id, marker, &to, result);
            }
        }
    }

    /// The leader's side of a marker. A partition whose log is not open yet is asked again; only
    /// one that the metadata does not have is gone for good and counts as done for the
    /// coordinator (reports P09, P18, P24).
    fn write_marker(&mut self, to: &TopicPartition, marker: &Marker, reply: MarkerReply) {
        let Some(id) = self.meta.partition_id(to) else {
            mark!(MarkerToDeletedTopic);
            let result = match reply {
                MarkerReply::Coordinator(_) if self.cluster.is_none() => Ok(()),
                // A member may only not have heard of the topic yet.
                _ => Err(ErrorCode::UnknownTopicOrPartition),
            };
            return self.send(Message::MarkerWritten { reply, result });
        };
        match self.append_marker(id, marker) {
            Ok(_) => {
                let marker = *marker;
                self.when_persisted(Completion::Marker { partition: id, marker, reply });
            }
            Err(refused) => {
                if refused == Refused::NotHere {
                    mark!(MarkerToUnopenedLog);
                }
                let result = Err((&refused).into());
                self.send(Message::MarkerWritten { reply, result });
            }
        }
    }

    /// The index of a partition of the offsets topic.
    pub(super) fn offsets_partition(&self, id: PartitionId) -> Option<i32> {
        let topic = self.meta.topic(CONSUMER_OFFSETS_TOPIC)?;
        (topic.id == id.topic_id).then_some(id.partition)
    }

    /// Asks again for those who met this transactional id while its last transaction was ending.
    pub(super) fn retry_concurrent(&mut self, key: &Bytes) {
        if let Ok(transactional_id) = txn::decode_key(key) {
            api::produce::retry_concurrent(self, &transactional_id);
        }
    }
}

/// A batch of coordinator records: no producer, not transactional, CreateTime.
fn coordinator_batch(now_ms: i64, records: Vec<(Bytes, Option<Bytes>)>) -> CheckedBatch {
    let mut batch = BatchBuilder::new(now_ms);
    for (key, value) in &records {
        batch.push(Some(key), value.as_deref(), &[]);
    }
    batch.build()
}

fn verify_results(reply: TxnReply) -> (ErrorCode, Vec<(TopicPartition, ErrorCode)>) {
    let code = |result: Result<(), txn::TxnError>| {
        result.err().map_or(ErrorCode::None, |error| (&error).into())
    };
    match reply {
        TxnReply::Verify(results) => {
            (ErrorCode::None, results.into_iter().map(|(to, result)| (to, code(result))).collect())
        }
        // An implicit add succeeds or fails for all of its partitions.
        TxnReply::AddPartitions(result) => (code(result), Vec::new()),
        _ => (ErrorCode::UnknownServerError, Vec::new()),
    }
}

/// A refused record of the transaction log, as the coordinator tells failures apart (spec 5.4).
fn log_append_error(error: &AppendError) -> LogAppendError {
    match error {
        AppendError::MessageTooLarge { .. } | AppendError::RecordListTooLarge { .. } => {
            LogAppendError::TooLarge
        }
        _ => LogAppendError::Storage,
    }
}
