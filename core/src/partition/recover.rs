//! A partition out of its files: the snapshot, then the log behind it (spec 2.8; P02, P28).
//!
//! What is in the log was accepted once, so nothing is judged again (Kafka's origin REPLICATION).

use alloc::collections::{BTreeMap, VecDeque};

use super::aborted_index::AbortedIndex;
use super::leader_epochs::LeaderEpochs;
use super::lso::Transactions;
use super::producers::ProducerEntry;
use super::verification::Verifications;
use super::{LogConfig, Partition, snapshot};
use crate::mark;
use crate::store::recovered::{BatchSummary, RecoveredLog};
use crate::types::{Offset, PartitionId, TopicPartition};

impl Partition {
    /// The partition that a recovered log describes, all of it durable. This node leads it at
    /// `leader_epoch` from the log's end on.
    ///
    /// A snapshot that cannot be read counts as none; whoever read the log checks that before
    /// with [`snapshot::decode`] and gives a tail that begins at the log's start.
    #[must_use]
    pub fn recover(
        id: PartitionId,
        topic: TopicPartition,
        config: LogConfig,
        leader_epoch: i32,
        log: &RecoveredLog,
        now_ms: i64,
    ) -> Self {
        let snapshot = log.snapshot.as_ref().filter(|(offset, _)| *offset <= log.log_end);
        let decoded = snapshot.and_then(|(offset, bytes)| match snapshot::decode(bytes) {
            Ok(entries) => Some((*offset, entries)),
            // The checkpoint's checksum held, so only another version can have written it.
            Err(_) => None,
        });
        let (replay_from, entries) = decoded.unwrap_or_default();
        let known_below = log.aborted.iter().map(|entry| entry.last_offset).max();
        let kept = log
            .aborted
            .iter()
            .filter(|entry| entry.last_offset < replay_from && entry.last_offset >= log.log_start);
        let mut partition = Self {
            id,
            topic,
            config,
            leader_epoch,
            leader_epochs: LeaderEpochs::default(),
            log_start: log.log_start,
            deleted_to: log.log_start,
            log_end: log.log_end,
            high_watermark: log.log_end,
            producers: BTreeMap::new(),
            verifications: Verifications::new(leader_epoch),
            transactions: Transactions::default(),
            aborted: AbortedIndex::recovered(kept.copied(), log.log_end),
            undo: VecDeque::new(),
        };
        for (producer_id, entry) in entries {
            if entry.is_expired(now_ms, partition.config.producer_id_expiration_ms) {
                continue;
            }
            if let Some(first_offset) = entry.current_txn_first_offset {
                partition.transactions.open(first_offset, producer_id);
            }
            partition.producers.insert(producer_id, entry);
        }
        for (epoch, start) in &log.leader_epochs {
            partition.leader_epochs.assign(*epoch, *start);
        }
        for batch in log.tail.iter().filter(|batch| batch.header.last_offset() >= replay_from) {
            partition.replay(batch);
        }
        partition.transactions.replicated(log.log_end);
        partition.aborted.undrain_from(known_below.map_or(replay_from, |known| known + 1));
        partition.leader_epochs.assign(leader_epoch, log.log_end);
        partition
    }

    fn replay(&mut self, batch: &BatchSummary) {
        let header = &batch.header;
        self.leader_epochs.assign(header.partition_leader_epoch, header.base_offset);
        if !header.has_producer() {
            return;
        }
        let known = self.producers.get(&header.producer_id).copied();
        let mut entry = known.unwrap_or(ProducerEntry::UNKNOWN);
        match batch.marker {
            Some((decision, coordinator_epoch)) => {
                let first = entry.add_marker(
                    header.producer_epoch,
                    coordinator_epoch,
                    header.max_timestamp,
                );
                self.complete(header.producer_id, first, header.last_offset(), decision);
            }
            // A marker that was cleaned stands for its producer's epoch; its transaction is gone.
            None if header.is_control() && header.record_count == 0 => {
                mark!(CleanedMarkerReplayed);
                entry.add_marker(
                    header.producer_epoch,
                    entry.coordinator_epoch,
                    header.max_timestamp,
                );
            }
            None if header.is_control() => return,
            None => {
                self.add_data(&mut entry, header);
            }
        }
        self.producers.insert(header.producer_id, entry);
    }

    /// Deletes records below `offset`, which is at most the high watermark (DeleteRecords,
    /// retention). Producers stay; an open transaction whose first record goes stays open
    /// (spec 2.6, 8.8).
    pub fn delete_records_to(&mut self, offset: Offset) {
        self.begin_at(offset);
        self.deleted_to = self.deleted_to.max(offset.min(self.high_watermark));
    }

    /// Refuses reads from below `offset`, as [`Partition::delete_records_to`] does, but what is
    /// told to everybody stays: another leader may begin where this one did until now, and the last
    /// stable offset must not go back.
    pub fn begin_at(&mut self, offset: Offset) {
        let offset = offset.min(self.high_watermark);
        if offset <= self.log_start {
            return;
        }
        if self.transactions.oldest_open().is_some_and(|first| first < offset) {
            mark!(OpenTransactionDeleted);
        }
        self.log_start = offset;
        self.aborted.forget_below(offset);
        self.leader_epochs.truncate_below(offset);
    }
}
