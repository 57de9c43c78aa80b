//! A node reduced to its logs, a disk that can fail, and a model of what must be there.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use bytes::{Buf, Bytes};

use crate::clean::CleanPlan;
use crate::io::{FileError, FileOp, FileResult, Lane, Ticket};
use crate::store::block::Block;
use crate::store::files;
use crate::store::testing::FakeDisk;
use crate::store::{
    Batches, Durability, LogSnapshot, ReadId, ReadOutcome, RecoveredLog, StorageError, Store,
    StoreConfig, StoreEvent,
};
use crate::time::{Now, Timestamp};
use crate::types::{Offset, PartitionId, TopicId, TopicPartition};

pub(super) const CONFIG: StoreConfig = StoreConfig {
    durability: Durability::Fsync,
    journal_bytes: 8192,
    journal_write_bytes: 4096,
    index_interval_bytes: 256,
    cache_bytes: 3000,
    checkpoint_interval_ms: 1000,
    retry_ms: 100,
    scan_chunk_bytes: 700,
    write_behind_bytes: 400,
    sync_files_max: 4,
    place_bytes_min: u64::MAX,
};

pub(super) const SEGMENT_BYTES: u32 = 2048;

/// One change, as the model keeps it.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Create(PartitionId, TopicPartition),
    Append(PartitionId, Block),
    Delete(PartitionId),
    MoveStart(PartitionId, Offset),
}

/// What a log holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) topic: String,
    pub(super) start: Offset,
    pub(super) end: Offset,
    /// Batches at or above the start.
    pub(super) batches: Vec<(Offset, Vec<u8>)>,
}

pub(super) type State = BTreeMap<PartitionId, Contents>;

/// What must not change of a batch: all of it, but of a marker that it is one. Cleaning gives
/// markers a delete horizon.
pub(super) fn essence(block: &Block) -> Vec<u8> {
    if block.header.is_control() {
        return alloc::format!("marker {:?}", block.marker()).into_bytes();
    }
    block.bytes().flat_map(|part| part.to_vec()).collect()
}

/// The batches in what a read brought.
pub(super) fn essences(parts: &[Bytes]) -> Vec<(Offset, Vec<u8>)> {
    let mut bytes = Bytes::from(parts.concat());
    let mut batches = Vec::new();
    while bytes.has_remaining() {
        let block = Block::split_from(&mut bytes).unwrap();
        batches.push((block.header.last_offset() + 1, essence(&block)));
    }
    batches
}

/// Takes a turn into a state.
pub(super) fn apply(state: &mut State, turn: &[Change]) {
    for change in turn {
        match change {
            Change::Create(id, topic) => {
                let topic = topic.to_string();
                state.insert(*id, Contents { topic, start: 0, end: 0, batches: Vec::new() });
            }
            Change::Append(id, block) => {
                let log = state.get_mut(id).unwrap();
                log.batches.push((block.header.last_offset() + 1, essence(block)));
                log.end = block.header.last_offset() + 1;
            }
            Change::Delete(id) => {
                state.remove(id);
            }
            Change::MoveStart(id, offset) => {
                let log = state.get_mut(id).unwrap();
                log.start = log.start.max(*offset);
                log.batches.retain(|(end, _)| *end > log.start);
            }
        }
    }
}

pub(super) struct World {
    pub(super) disk: FakeDisk,
    pub(super) store: Store,
    pub(super) config: StoreConfig,
    pub(super) now: Now,
    lanes: [VecDeque<(Ticket, FileOp)>; 3],
    /// What is persisted.
    pub(super) confirmed: State,
    /// What the node's memory says: persisted and pending turns.
    pub(super) memory: State,
    pending: VecDeque<(u64, Vec<Change>)>,
    /// Turns that failed since the last persisted one: a prefix of one of them may be on disk.
    maybe: Vec<Vec<Vec<Change>>>,
    pub(super) recovered: Vec<RecoveredLog>,
    pub(super) ready: bool,
    pub(super) faults: Vec<String>,
    pub(super) failures: Vec<StorageError>,
    pub(super) stopped: bool,
    pub(super) checkpoints: u32,
    /// Operations that came out at once, at most.
    pub(super) ops_at_once: usize,
    /// What was synced beside the journal's writes.
    pub(super) synced: Vec<FileOp>,
    /// Logs whose files were replaced, and those of them whose files have their names.
    pub(super) cleanings: (u32, u32),
    reads: BTreeMap<ReadId, Result<Batches, StorageError>>,
}

impl World {
    pub(super) fn new(config: StoreConfig) -> Self {
        let mut world = Self {
            disk: FakeDisk::default(),
            store: Store::new(config),
            config,
            now: Now { at: Timestamp(0), wall_ms: 0 },
            lanes: Default::default(),
            confirmed: State::new(),
            memory: State::new(),
            pending: VecDeque::new(),
            maybe: Vec::new(),
            recovered: Vec::new(),
            ready: false,
            faults: Vec::new(),
            failures: Vec::new(),
            stopped: false,
            checkpoints: 0,
            ops_at_once: 0,
            synced: Vec::new(),
            cleanings: (0, 0),
            reads: BTreeMap::new(),
        };
        world.store.start();
        world.settle();
        world
    }

    pub(super) fn id(number: u64) -> PartitionId {
        PartitionId { topic_id: TopicId(u128::from(number) + 100), partition: 0 }
    }

    /// One turn of the node.
    pub(super) fn turn(&mut self, changes: Vec<Change>) {
        for change in &changes {
            match change {
                Change::Create(id, topic) => self.store.create_log(*id, topic, SEGMENT_BYTES),
                Change::Append(id, block) => self.store.append_block(*id, block.clone()),
                Change::Delete(id) => self.store.delete_log(*id),
                Change::MoveStart(id, offset) => self.store.move_log_start(*id, *offset),
            }
        }
        let turn = self.store.end_turn().unwrap();
        apply(&mut self.memory, &changes);
        self.pending.push_back((turn.0, changes));
        self.poll();
    }

    /// Creates a log in a turn of its own.
    pub(super) fn create(&mut self, number: u64, name: &str) -> PartitionId {
        let id = Self::id(number);
        self.turn(alloc::vec![Change::Create(id, TopicPartition::new(name, 0))]);
        id
    }

    /// Appends one batch of `records` records in a turn of its own.
    pub(super) fn append(&mut self, id: PartitionId, records: i32, value: &[u8]) {
        let end = self.memory[&id].end;
        let block = crate::store::testing::batch_at(end, records, value, 1000 + end);
        self.turn(alloc::vec![Change::Append(id, block)]);
    }

    /// Begins to clean a log. Every record has a key of its own, so all stay, in other files: up to
    /// four segments become one.
    pub(super) fn clean(&mut self, id: PartitionId) {
        self.store.set_segment_limits(id, 4 * SEGMENT_BYTES, i64::MAX);
        self.begin_to_clean(id);
        self.store.set_segment_limits(id, SEGMENT_BYTES, i64::MAX);
        self.poll();
    }

    fn begin_to_clean(&mut self, id: PartitionId) {
        let Some(cleanable) = self.store.cleanable(id, Offset::MAX, i64::MAX) else { return };
        let plan = CleanPlan {
            first_dirty: cleanable.first_dirty,
            start: cleanable.start,
            end: cleanable.end,
            holes_end: cleanable.holes_end,
            map_bytes_max: 1000,
            ..CleanPlan::default()
        };
        self.store.begin_cleaning(id, plan);
    }

    pub(super) fn flush(&mut self) {
        self.store.flush();
        self.poll();
    }

    /// Takes operations and events.
    pub(super) fn poll(&mut self) {
        let mut ops = 0;
        loop {
            if let Some(event) = self.store.poll_event() {
                self.event(event);
            } else if let Some((ticket, op)) = self.store.poll_op() {
                ops += 1;
                if op.lane() == Lane::Sync {
                    self.synced.push(op.clone());
                }
                let lane = match op.lane() {
                    Lane::Journal => 0,
                    Lane::Data => 1,
                    Lane::Sync => 2,
                };
                self.lanes[lane].push_back((ticket, op));
            } else if let Some((ticket, job)) = self.store.poll_job() {
                self.store.job_done(ticket, job.run());
            } else {
                self.ops_at_once = self.ops_at_once.max(ops);
                return;
            }
        }
    }

    fn event(&mut self, event: StoreEvent) {
        match event {
            StoreEvent::TurnsPersisted { through } => {
                while let Some((turn, _)) = self.pending.front()
                    && *turn <= through.0
                {
                    let (_, changes) = self.pending.pop_front().unwrap();
                    apply(&mut self.confirmed, &changes);
                    self.maybe.clear();
                }
            }
            StoreEvent::TurnsFailed { from, error } => {
                let (_, first) = (self.failures.push(error), self.pending.front());
                assert!(
                    first.is_none_or(|(turn, _)| *turn >= from.0),
                    "persisted ones are told first"
                );
                let failed = self.pending.drain(..).map(|(_, changes)| changes).collect();
                self.maybe.push(failed);
                self.memory = self.confirmed.clone();
            }
            StoreEvent::LogRecovered(log) => self.recovered.push(*log),
            StoreEvent::Recovered => self.ready = true,
            StoreEvent::ReadDone { id, result } => {
                self.reads.insert(id, result);
            }
            StoreEvent::CheckpointDue => {
                self.store.begin_checkpoint();
                self.checkpoints += 1;
            }
            StoreEvent::SnapshotWanted { id } => {
                let offset = self.store.log_range(id).unwrap().1;
                let bytes = Bytes::from(alloc::format!("snapshot at {offset}"));
                let snapshot = LogSnapshot { offset, bytes, leader_epochs: alloc::vec![(0, 0)] };
                self.store.snapshot_taken(id, Some(snapshot));
            }
            StoreEvent::LogCleaned { .. } => self.cleanings.0 += 1,
            StoreEvent::CleaningEnded { done, .. } => self.cleanings.1 += u32::from(done),
            StoreEvent::Stopped => self.stopped = true,
            StoreEvent::Fault(reason) => self.faults.push(reason),
        }
    }

    /// Performs the next operation of a lane; with a fault, only half of a write.
    pub(super) fn step(&mut self, lane: usize, fault: Option<FileError>) -> bool {
        let Some((ticket, op)) = self.lanes[lane].pop_front() else { return false };
        let result = match fault {
            None => self.disk.perform(&op),
            Some(error) => self.half(&op, error),
        };
        self.store.done(self.now, ticket, result);
        self.poll();
        self.flush();
        true
    }

    fn half(&mut self, op: &FileOp, error: FileError) -> FileResult {
        if let FileOp::Write { path, position, data, lane, .. } = op {
            let mut data = Bytes::from(data.concat());
            data.truncate(data.len() / 2);
            let _ = self.disk.perform(&FileOp::Write {
                path: path.clone(),
                position: *position,
                data: alloc::vec![data],
                sync: false,
                lane: *lane,
            });
        }
        Err(error)
    }

    /// What the next operation of a lane is.
    pub(super) fn next_op(&self, lane: usize) -> Option<&FileOp> {
        self.lanes[lane].front().map(|(_, op)| op)
    }

    /// Performs everything, time standing still.
    pub(super) fn settle(&mut self) {
        self.poll();
        self.flush();
        while (0..3).any(|lane| self.step(lane, None)) {}
    }

    pub(super) fn pass(&mut self, ms: u64) {
        self.now.at = self.now.at.after_ms(ms);
        self.store.tick(self.now);
        self.poll();
        self.flush();
    }

    /// The process and the power go; a new life begins, but recovers nothing yet.
    pub(super) fn crash(&mut self, mut random: u64) {
        self.disk.crash(|| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            random >> 63 == 1
        });
        self.begin_life();
    }

    /// A bit turns in the checkpoint file and in its copy.
    pub(super) fn lose_checkpoints(&mut self) {
        for name in files::CHECKPOINTS {
            if self.disk.file(name).is_some() {
                self.disk.damage(name, |bytes| bytes[20] ^= 1);
            }
        }
    }

    /// Both files of the journal become empty.
    pub(super) fn lose_journal(&mut self) {
        for name in files::JOURNAL {
            self.disk.damage(name, Vec::clear);
        }
    }

    /// The process goes, the page cache stays.
    pub(super) fn begin_life(&mut self) {
        self.lanes = Default::default();
        let pending: Vec<_> = self.pending.drain(..).map(|(_, changes)| changes).collect();
        self.maybe.push(pending);
        self.recovered.clear();
        self.reads.clear();
        (self.ready, self.stopped) = (false, false);
        self.faults.clear();
        self.store = Store::new(self.config);
        self.store.start();
        self.poll();
    }

    /// Finishes recovery and checks it against the model, which goes on from what is there.
    pub(super) fn recover(&mut self) {
        self.settle();
        assert_eq!(self.faults, Vec::<String>::new());
        assert!(self.ready, "recovery ends");
        let found = self.everything();
        let mut candidates = alloc::vec![self.confirmed.clone()];
        for group in core::mem::take(&mut self.maybe) {
            let mut state = self.confirmed.clone();
            for turn in group {
                apply(&mut state, &turn);
                candidates.push(state.clone());
            }
        }
        if !candidates.contains(&found) {
            assert_eq!(found, self.confirmed, "no turn that may be there explains it");
        }
        for log in &self.recovered {
            let from = log.snapshot.as_ref().map_or(0, |(offset, _)| *offset);
            if let Some((offset, bytes)) = &log.snapshot {
                assert_eq!(bytes, &alloc::format!("snapshot at {offset}"));
            }
            let tail: Vec<Offset> = log.tail.iter().map(|b| b.header.last_offset() + 1).collect();
            let from = from.max(log.log_start);
            let want: Vec<Offset> =
                found[&log.id].batches.iter().map(|b| b.0).filter(|end| *end > from).collect();
            let tail: Vec<Offset> = tail.into_iter().filter(|end| *end > from).collect();
            assert_eq!(tail, want, "the tail is what the snapshot lacks");
        }
        self.confirmed = found.clone();
        self.memory = found;
    }

    /// All logs, read.
    pub(super) fn everything(&mut self) -> State {
        let logs: Vec<_> = self.recovered.iter().map(|log| (log.id, log.topic.clone())).collect();
        logs.into_iter()
            .map(|(id, topic)| {
                let (start, end) = self.store.log_range(id).unwrap();
                let batches = self.read_all(id).unwrap();
                (id, Contents { topic: topic.to_string(), start, end, batches })
            })
            .collect()
    }

    /// One log, read from its start.
    pub(super) fn read_all(
        &mut self,
        id: PartitionId,
    ) -> Result<Vec<(Offset, Vec<u8>)>, StorageError> {
        let (start, end) = self.store.log_range(id).ok_or(StorageError::UnknownLog)?;
        let mut offset = start;
        let mut batches = Vec::new();
        while offset < end {
            let parts = self.read(id, offset, end, 1000)?;
            let found = essences(&parts);
            assert!(!found.is_empty(), "{id:?}: nothing at {offset} of {end}");
            offset = found.last().unwrap().0;
            batches.extend(found);
        }
        Ok(batches)
    }

    /// One read, waited for.
    pub(super) fn read(
        &mut self,
        id: PartitionId,
        offset: Offset,
        bound: Offset,
        max_bytes: u32,
    ) -> Result<Vec<Bytes>, StorageError> {
        self.find(id, offset, bound, max_bytes).map(|found| found.parts)
    }

    /// The same with the place of what was read; a file that holds it has to hold just that.
    pub(super) fn find(
        &mut self,
        id: PartitionId,
        offset: Offset,
        bound: Offset,
        max_bytes: u32,
    ) -> Result<Batches, StorageError> {
        let found = match self.store.read(id, offset, bound, max_bytes, true) {
            ReadOutcome::Ready(found) => Ok(found),
            ReadOutcome::Error(error) => Err(error),
            ReadOutcome::Pending(read) => {
                self.poll();
                while !self.reads.contains_key(&read) {
                    assert!(self.step(1, None), "a read in flight has an operation in flight");
                }
                self.reads.remove(&read).unwrap()
            }
        }?;
        if let Some(run) = found.place.and_then(|place| self.store.file_run(id, place, 1)) {
            let bytes = found.parts.concat();
            let (from, length) = (run.position as usize, run.length as usize);
            let there =
                self.disk.file(run.path.as_str()).and_then(|it| it.get(from..from + length));
            assert_eq!(there, bytes.get(..length), "{run:?}");
        }
        Ok(found)
    }
}
