//! The markers of a decided transaction: one per partition, tried until each has answered
//! (spec 6.1-6.3, reports P09, P18, P24).
//!
//! A partition whose topic is gone for good is reported as done by the node. One that is merely
//! not known *yet* is an error and is tried again: Kafka 4.4.0 takes it for deleted during a
//! start, and leaves its records behind a stuck last stable offset.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::append::Then;
use super::metadata::Metadata;
use super::shard::Pending;
use super::{AppendId, MarkerToken, TransactionalId, TxnCoordinator, TxnEffect};
use crate::error::ErrorCode;
use crate::mark;
use crate::time::Now;
use crate::types::{Marker, TopicPartition};

/// The first back-off of a retry, in milliseconds; it doubles up to the last.
const FIRST_BACK_OFF_MS: u64 = 20;
/// The longest back-off of a retry, in milliseconds.
const LAST_BACK_OFF_MS: u64 = 1_000;

/// A marker that is owed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MarkerTask {
    partition: i32,
    id: TransactionalId,
    to: TopicPartition,
    attempts: u32,
}

/// What a point of time is kept for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    /// When to send a marker again.
    Marker(MarkerToken),
    /// When to write Complete* again.
    Complete { partition: i32, id: TransactionalId, failed: AppendId, attempts: u32 },
    /// When to write again what is in force.
    Again { partition: i32, id: TransactionalId },
}

/// What an answer to a marker means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Done,
    Retry,
    GiveUp,
}

impl TxnCoordinator {
    /// A marker for each partition of a persisted decision; without partitions, Complete*.
    pub(super) fn send_markers(
        &mut self,
        partition: i32,
        id: &TransactionalId,
        complete: Metadata,
    ) {
        let Some(entry) = self.shards.get(&partition).and_then(|shard| shard.get(id)) else {
            return;
        };
        if entry.metadata.partitions.is_empty() {
            return self.append_transition(partition, id, complete, Then::Done { attempts: 0 });
        }
        let targets: Vec<TopicPartition> = entry.metadata.partitions.iter().cloned().collect();
        let mut owed = BTreeMap::new();
        for to in &targets {
            let task = MarkerTask { partition, id: id.clone(), to: to.clone(), attempts: 0 };
            owed.insert(to.clone(), self.add_marker(task));
        }
        if let Some(pending) = self.shards.get_mut(&partition).and_then(|s| s.pending_mut(id)) {
            *pending = Some(Pending::Markers { complete, owed: owed.clone() });
        }
        for token in owed.into_values() {
            self.emit_marker(token);
        }
    }

    fn add_marker(&mut self, task: MarkerTask) -> MarkerToken {
        let token = MarkerToken(self.next_token);
        self.next_token += 1;
        self.markers.insert(token, task);
        token
    }

    fn emit_marker(&mut self, token: MarkerToken) {
        let Some(task) = self.markers.get(&token) else { return };
        let Some(shard) = self.shards.get(&task.partition) else { return };
        let Some(metadata) = shard.get(&task.id).map(|entry| &entry.metadata) else { return };
        let decision = metadata.decision().expect("spec 6.1: markers are owed by Prepare* only");
        let marker = Marker {
            producer_id: metadata.producer_id,
            producer_epoch: metadata.producer_epoch,
            decision,
            coordinator_epoch: shard.coordinator_epoch,
            // 0 to 2 when we wrote it; anything else in a record asks for the strict rule.
            transaction_version: i8::try_from(metadata.client_version).unwrap_or(i8::MAX),
        };
        self.effects.push_back(TxnEffect::Marker { to: task.to.clone(), marker, token });
    }

    /// A leader answered a marker. A token that is no longer owed is ignored.
    pub fn marker_done(&mut self, now: Now, token: MarkerToken, result: Result<(), ErrorCode>) {
        let Some(task) = self.markers.remove(&token) else { return };
        match judge(result) {
            Verdict::Done => self.marker_written(&task),
            Verdict::Retry => {
                mark!(TxnMarkerRetry);
                let attempts = task.attempts;
                self.try_again(now, MarkerTask { attempts: attempts.saturating_add(1), ..task });
            }
            Verdict::GiveUp => {
                // Only beside a newer coordinator: on one node nothing comes here.
                self.markers
                    .retain(|_, other| other.partition != task.partition || other.id != task.id);
                self.drop_stale_timers();
            }
        }
        self.arm_sweeps(now);
    }

    pub(super) fn marker_written(&mut self, task: &MarkerTask) {
        let Some(shard) = self.shards.get_mut(&task.partition) else { return };
        if !shard.marker_written(&task.id, &task.to) {
            return;
        }
        let pending = shard.pending_mut(&task.id).and_then(Option::take);
        let Some(Pending::Markers { complete, .. }) = pending else {
            unreachable!("spec 6.3: the last marker of {} was owed by nothing", task.id);
        };
        self.append_transition(task.partition, &task.id, complete, Then::Done { attempts: 0 });
    }

    fn try_again(&mut self, now: Now, task: MarkerTask) {
        let (partition, id, to) = (task.partition, task.id.clone(), task.to.clone());
        let attempts = task.attempts;
        let token = self.add_marker(task);
        let pending = self.shards.get_mut(&partition).and_then(|s| s.pending_mut(&id));
        if let Some(Some(Pending::Markers { owed, .. })) = pending {
            owed.insert(to, token);
        }
        self.after_back_off(now, attempts.saturating_sub(1), Timer::Marker(token));
    }

    pub(super) fn after_back_off(&mut self, now: Now, attempts: u32, timer: Timer) {
        let back_off_ms = (FIRST_BACK_OFF_MS << attempts.min(8)).min(LAST_BACK_OFF_MS);
        self.timers.insert((now.at.after_ms(back_off_ms), timer));
    }

    pub(super) fn fire_timers(&mut self, now: Now) {
        while let Some((at, timer)) = self.timers.pop_first() {
            if at > now.at {
                self.timers.insert((at, timer));
                return;
            }
            match timer {
                Timer::Marker(token) => self.emit_marker(token),
                Timer::Again { partition, id } => self.again(now, partition, id),
                Timer::Complete { partition, id, failed, attempts } => {
                    self.complete_again(partition, &id, failed, attempts);
                }
            }
        }
    }

    fn complete_again(
        &mut self,
        partition: i32,
        id: &TransactionalId,
        failed: AppendId,
        attempts: u32,
    ) {
        let Some(shard) = self.shards.get_mut(&partition) else { return };
        let Some(pending) = shard.pending_mut(id) else { return };
        if let Some(Pending::Appending { target, append }) = pending
            && *append == failed
        {
            let target = target.clone();
            *pending = None;
            let then = Then::Done { attempts: attempts.saturating_add(1) };
            self.append_transition(partition, id, target, then);
        }
    }

    /// Forgets every marker of a partition: its new leader, or the load, begins anew.
    pub(super) fn drop_markers(&mut self, partition: i32) {
        self.markers.retain(|_, task| task.partition != partition);
        self.timers.retain(|(_, timer)| {
            !matches!(timer, Timer::Complete { partition: other, .. }
                | Timer::Again { partition: other, .. } if *other == partition)
        });
        self.drop_stale_timers();
    }

    pub(super) fn drop_stale_timers(&mut self) {
        let markers = &self.markers;
        self.timers.retain(|(_, timer)| match timer {
            Timer::Marker(token) => markers.contains_key(token),
            Timer::Complete { .. } | Timer::Again { .. } => true,
        });
    }
}

/// Spec 6.2. What Kafka calls an internal error is tried again here: a decision is owed.
fn judge(result: Result<(), ErrorCode>) -> Verdict {
    match result {
        Ok(())
        | Err(
            ErrorCode::None
            | ErrorCode::UnsupportedForMessageFormat
            | ErrorCode::UnsupportedVersion,
        ) => Verdict::Done,
        Err(ErrorCode::InvalidProducerEpoch | ErrorCode::TransactionCoordinatorFenced) => {
            Verdict::GiveUp
        }
        Err(_) => Verdict::Retry,
    }
}
