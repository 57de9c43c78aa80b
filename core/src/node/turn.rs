//! Turns: what is appended in one, and what happens when it is persisted or is not.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::Node;
use super::completion::{Completion, Failure};
use super::message::Message;
use crate::batch::CheckedBatch;
use crate::error::ErrorCode;
use crate::partition::{AppendError, Appended, Guard, NewBatch, Origin};
use crate::store::{StorageError, TurnId};
use crate::txn::LogAppendError;
use crate::types::{Decision, Marker, Offset, PartitionId};
use crate::{api, mark};

/// Why an append was not even tried, or was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// This node has no open log for it: [`ErrorCode::NotLeaderOrFollower`].
    NotHere,
    /// The partition refuses it.
    Partition(AppendError),
}

impl From<&Refused> for ErrorCode {
    fn from(refused: &Refused) -> Self {
        match refused {
            Refused::NotHere => Self::NotLeaderOrFollower,
            Refused::Partition(error) => error.into(),
        }
    }
}

impl Refused {
    /// The reason for people.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::NotHere => "this node does not lead the partition".into(),
            Self::Partition(error) => alloc::format!("{error}"),
        }
    }
}

/// An offset in the first append of each partition that failed.
fn first_offsets(failed: &[Vec<Completion>]) -> BTreeMap<PartitionId, Offset> {
    let mut first = BTreeMap::new();
    for completion in failed.iter().flatten() {
        if let &Completion::HighWatermark { partition, last_offset } = completion {
            let lowest = first.entry(partition).or_insert(last_offset);
            *lowest = last_offset.min(*lowest);
        }
    }
    first
}

impl Node {
    /// Appends a data batch in the open turn.
    pub(crate) fn append(
        &mut self,
        id: PartitionId,
        batch: &CheckedBatch,
        origin: Origin,
        guard: Option<Guard>,
    ) -> Result<Appended, Refused> {
        let now_ms = self.now.wall_ms;
        let partition = self.partitions.get_mut(&id).ok_or(Refused::NotHere)?;
        let appended =
            partition.append(now_ms, batch, origin, guard).map_err(Refused::Partition)?;
        match &appended {
            Appended::New(new) => self.store_new(id, new),
            Appended::Duplicate { .. } => mark!(DedupHit),
        }
        Ok(appended)
    }

    /// Appends a marker in the open turn.
    pub(crate) fn append_marker(
        &mut self,
        id: PartitionId,
        marker: &Marker,
    ) -> Result<NewBatch, Refused> {
        let now_ms = self.now.wall_ms;
        let partition = self.partitions.get_mut(&id).ok_or(Refused::NotHere)?;
        let new = partition.append_marker(now_ms, marker).map_err(Refused::Partition)?;
        self.store_new(id, &new);
        Ok(new)
    }

    fn store_new(&mut self, id: PartitionId, new: &NewBatch) {
        self.store.append(id, new.batch.clone());
        self.share_append(id, &new.batch);
        self.open_turn
            .push(Completion::HighWatermark { partition: id, last_offset: new.last_offset });
    }

    /// Ends the open turn early when it is about to outgrow a journal frame. Only for work that
    /// need not be atomic: the partitions of one Produce, the records of a coordinator.
    pub(crate) fn split_large_turn(&mut self) {
        if self.store.turn_bytes() > self.store.max_turn_bytes() / 2 {
            mark!(LargeTurnSplit);
            self.close_turn();
        }
    }

    /// Lets something wait for the open turn.
    pub(crate) fn when_persisted(&mut self, completion: Completion) {
        self.open_turn.push(completion);
    }

    /// Ends the open turn: its appends are one frame of the journal. A turn that appended nothing
    /// and yet lets something wait (a duplicate of a batch that is not on disk itself) waits for
    /// the newest turn, or for nothing.
    /// False when there was nothing to end.
    pub(super) fn close_turn(&mut self) -> bool {
        let waiting = core::mem::take(&mut self.open_turn);
        if let Some(turn) = self.store.end_turn() {
            self.unpersisted.push_back((turn, waiting));
            if let Some(cluster) = &mut self.cluster {
                cluster.turn_closed(turn);
            }
        } else if waiting.is_empty() {
            return false;
        } else if let Some((_, newest)) = self.unpersisted.back_mut() {
            newest.extend(waiting);
        } else if let Some(newest) = self.cluster.as_mut().and_then(|own| own.newest_unconfirmed())
        {
            newest.extend(waiting);
        } else {
            self.complete(waiting);
        }
        true
    }

    pub(super) fn turns_persisted(&mut self, through: TurnId) {
        while self.unpersisted.front().is_some_and(|(turn, _)| *turn <= through) {
            if let Some((turn, waiting)) = self.unpersisted.pop_front() {
                if self.cluster.is_some() {
                    self.ask_to_confirm(turn, waiting);
                } else {
                    self.complete(waiting);
                }
            }
        }
    }

    pub(super) fn complete(&mut self, waiting: Vec<Completion>) {
        for completion in waiting {
            self.complete_one(completion);
        }
    }

    fn complete_one(&mut self, completion: Completion) {
        match completion {
            Completion::HighWatermark { partition, last_offset } => {
                self.high_watermark_passed(partition, last_offset);
            }
            Completion::Produce { request, part, .. } => {
                api::produce::persisted(self, request, part);
            }
            Completion::TxnLog { append, key, .. } => {
                self.txn.appended(self.now, append, Ok(()));
                self.retry_concurrent(&key);
            }
            Completion::GroupLog { append, base_offset, .. } => {
                self.group.appended(self.now, append, Ok(base_offset));
            }
            Completion::Metadata { records, base_offset } => {
                self.metadata_persisted(&records, base_offset);
            }
            Completion::Change { request } => self.change_decided(request, true),
            Completion::Marker { partition, marker, reply } => {
                self.marker_persisted(partition, &marker);
                self.send(Message::MarkerWritten { reply, result: Ok(()) });
            }
            Completion::LogCreated { partition } => self.set_segment_limits(partition),
            Completion::Import { partition, epoch } => self.imported(partition, epoch),
            Completion::LogStart { partition, offset, request } => {
                if let Some(partition) = self.partitions.get_mut(&partition) {
                    partition.delete_records_to(offset);
                }
                if let Some((request, part)) = request {
                    api::delete_records::done(self, request, part, Ok(offset));
                }
            }
        }
    }

    fn high_watermark_passed(&mut self, id: PartitionId, last_offset: Offset) {
        let Some(partition) = self.partitions.get_mut(&id) else { return };
        partition.persisted(last_offset);
        for aborted in partition.drain_new_aborted() {
            self.store.record_aborted(id, &aborted);
        }
        api::fetch::wake(self, id);
    }

    fn marker_persisted(&mut self, id: PartitionId, marker: &Marker) {
        if let Some(partition) = self.offsets_partition(id) {
            self.group.marker(partition, marker.producer_id, marker.decision);
        }
        if marker.decision == Decision::Abort {
            mark!(AbortMarkerPersisted);
        }
    }

    /// Takes back what did not become durable, and tells everybody who waits for it. What the
    /// open turn holds follows the failed appends in memory, so it is taken back too (found by
    /// verdict-sim, seed 16309: it was written, and the next append took its offsets again).
    pub(super) fn turns_failed(&mut self, from: TurnId, error: StorageError) {
        let mut failed = Vec::new();
        self.store.discard_open_turn();
        let open = core::mem::take(&mut self.open_turn);
        if !open.is_empty() {
            mark!(OpenTurnDiscarded);
            failed.push(open);
        }
        while self.unpersisted.back().is_some_and(|(turn, _)| *turn >= from) {
            if let Some((_, waiting)) = self.unpersisted.pop_back() {
                failed.push(waiting);
            }
        }
        for (id, offset) in first_offsets(&failed) {
            let own = id == PartitionId::METADATA || self.cluster.is_none();
            if error == StorageError::Faulted && !own {
                self.give_up(id);
            } else if let Some(partition) = self.partitions.get_mut(&id) {
                partition.roll_back(offset);
            }
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.turns_failed(from);
        }
        mark!(TurnsFailed);
        for completion in failed.into_iter().rev().flatten() {
            self.fail_one(completion, Failure::Storage);
        }
    }

    pub(super) fn fail_one(&mut self, completion: Completion, why: Failure) {
        let (code, log_error) = match why {
            Failure::Storage => (ErrorCode::KafkaStorageError, LogAppendError::Storage),
            Failure::Lost => (ErrorCode::NotLeaderOrFollower, LogAppendError::NotLeader),
        };
        match completion {
            Completion::HighWatermark { .. } => {}
            Completion::Produce { request, part, .. } => {
                api::produce::failed(self, request, part, code);
            }
            Completion::TxnLog { append, .. } => {
                self.txn.appended(self.now, append, Err(log_error));
            }
            Completion::GroupLog { append, .. } => {
                self.group.appended(self.now, append, Err(code));
            }
            Completion::Metadata { records, .. } => self.metadata_failed(&records),
            Completion::Change { request } => self.change_decided(request, false),
            Completion::Marker { reply, .. } => {
                let result = Err(code);
                self.send(Message::MarkerWritten { reply, result });
            }
            Completion::LogCreated { partition } => self.log_not_created(partition),
            Completion::Import { partition, epoch } => self.import_failed(partition, epoch),
            Completion::LogStart { request: Some((request, part)), .. } => {
                let result = Err(code);
                api::delete_records::done(self, request, part, result);
            }
            // The next look at retention tries again.
            Completion::LogStart { request: None, .. } => {}
        }
    }
}
