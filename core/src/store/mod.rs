//! The storage of a node's logs: journal, segments, indexes, checkpoints, recovery, cache.
//!
//! A sans-IO machine: it emits file operations and takes their results, and performs none.
//!
//! ```text
//!  append ──► open turn ──► journal (one write, one sync, many turns)
//!                              │ persisted
//!                              ▼
//!           cache ◄── log in memory ──► segment files (page cache) ──► checkpoint (synced)
//! ```
//!
//! Rules:
//! * A change of a log exists when its turn is persisted in the journal; never before.
//! * After a crash the state is a prefix of the turns that holds every persisted one. A turn whose
//!   write failed may be there as long as no later one was persisted: its caller was told "maybe".
//! * Segments, indexes and snapshots may be anything above what the checkpoint says, and are cut
//!   back to it at the start; the journal holds the rest. So no crash, also none during recovery,
//!   does harm.
//! * A failed sync is believed (fsyncgate): the store faults, and a restart reads the journal.
//! * Damage below the checkpoint is found and never served (report P28, KAFKA-10614 kind).

mod block;
mod cache;
mod checkpoint;
mod checkpoint_file;
mod cleaning;
mod files;
mod found_log;
mod frame;
pub mod fuzz;
mod journal;
mod log;
mod log_files;
mod placed;
mod placing;
mod read;
mod recover_log;
pub mod recovered;
mod recovery;
mod script;
mod segment;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod writeback;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque, btree_map};
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use self::block::Block;
use self::cache::Cache;
use self::checkpoint::Checkpoint;
pub use self::cleaning::Cleanable;
use self::cleaning::Cleaning;
use self::frame::Entry;
use self::journal::Journal;
use self::log::Log;
use self::placing::Held;
use self::read::PendingRead;
pub use self::read::{Batches, Place};
pub use self::recovered::{BatchSummary, RecoveredLog, summary_of};
use self::recovery::Recovery;
use self::writeback::Removal;
use crate::batch::StoredBatch;
use crate::clean::Job;
use crate::io::{FileError, FileOp, FileResult, Ticket};
use crate::mark;
use crate::partition::AbortedTxn;
use crate::time::{Now, Timestamp};
use crate::types::{Offset, PartitionId, TopicPartition};

/// One turn's place in the journal; rises by one with every turn that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnId(pub u64);

/// One read that waits for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadId(pub u64);

/// What "persisted" means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// On disk: the journal write is followed by `fdatasync`.
    #[default]
    Fsync,
    /// In the operating system's page cache, as Apache Kafka's default: survives the end of the
    /// process, not that of the machine.
    Os,
}

/// The storage's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StoreConfig {
    /// What "persisted" means.
    pub durability: Durability,
    /// Bytes of each of the two journal files; also what one turn, and what turns that wait, may
    /// have.
    pub journal_bytes: u64,
    /// Bytes of turns that go into one journal write at most (one turn may be larger).
    pub journal_write_bytes: u64,
    /// Bytes between entries of the sparse indexes (`log.index.interval.bytes`).
    pub index_interval_bytes: u32,
    /// Bytes of recent batches kept in memory, over all logs. What is not in a segment file yet is
    /// kept beyond it, bounded by the journal.
    pub cache_bytes: u64,
    /// Time between checkpoints when something changed.
    pub checkpoint_interval_ms: u64,
    /// Time after which a failed write to a segment or checkpoint is tried again.
    pub retry_ms: u64,
    /// Bytes asked for at a time while files are scanned.
    pub scan_chunk_bytes: u32,
    /// Bytes of a log that gather in memory before they are written to its segment; 0 to write at
    /// once. A checkpoint and a full cache write whatever there is: until then the journal has it.
    pub write_behind_bytes: u64,
    /// Files of a checkpoint that are synced at once, or a few more.
    pub sync_files_max: usize,
    /// Bytes of a batch that goes to its segment before its turn goes to the journal, which then
    /// only names the place; `u64::MAX` for none.
    pub place_bytes_min: u64,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            durability: Durability::Fsync,
            journal_bytes: 64 << 20,
            journal_write_bytes: 8 << 20,
            index_interval_bytes: 4096,
            cache_bytes: 256 << 20,
            checkpoint_interval_ms: 60_000,
            retry_ms: 1_000,
            scan_chunk_bytes: 1 << 20,
            write_behind_bytes: 256 << 10,
            sync_files_max: 2_048,
            place_bytes_min: u64::MAX,
        }
    }
}

/// Why the storage could not do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum StorageError {
    /// The disk is full.
    #[error("no space left on the device")]
    NoSpace,
    /// The device or the file system failed.
    #[error("input/output error")]
    Io,
    /// Bytes that were durable are not what was written.
    #[error("stored bytes are damaged")]
    Corrupt,
    /// The journal is full and more turns wait than may.
    #[error("the journal is full")]
    JournalFull,
    /// The turn is larger than [`Store::max_turn_bytes`].
    #[error("the turn is larger than a journal file")]
    TurnTooLarge,
    /// A sync failed earlier; only a restart helps.
    #[error("the storage has failed and takes no more appends until a restart")]
    Faulted,
    /// There is no such log.
    #[error("no such log")]
    UnknownLog,
    /// What is there begins further up: its deletion is under way.
    #[error("the records are being deleted")]
    BelowLogStart,
}

impl From<FileError> for StorageError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::NoSpace => Self::NoSpace,
            FileError::NotFound | FileError::Io => Self::Io,
        }
    }
}

/// What the storage tells the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreEvent {
    /// Every turn up to this one is persisted.
    TurnsPersisted {
        /// The last one.
        through: TurnId,
    },
    /// Every turn from this one on has failed; those before it are persisted. What they changed in
    /// memory is to be taken back.
    /// Until this event is polled every further turn fails with them: it was made by a node that
    /// did not know yet. The open turn is for the node to discard.
    TurnsFailed {
        /// The first one.
        from: TurnId,
        /// Why.
        error: StorageError,
    },
    /// A log was read.
    LogRecovered(alloc::boxed::Box<RecoveredLog>),
    /// All logs were read. A [`StoreEvent::CheckpointDue`] follows; appends wait for that
    /// checkpoint.
    Recovered,
    /// A [`ReadOutcome::Pending`] read has ended.
    ReadDone {
        /// Which.
        id: ReadId,
        /// As [`ReadOutcome::Ready`].
        result: Result<Batches, StorageError>,
    },
    /// The node is to call [`Store::begin_checkpoint`].
    CheckpointDue,
    /// A checkpoint describes this log: the node is to call [`Store::snapshot_taken`].
    SnapshotWanted {
        /// The log.
        id: PartitionId,
    },
    /// A log's segments below `end` were replaced. Of the aborted transactions with a marker below
    /// it these are left; what is read from here on has no others.
    LogCleaned {
        /// Which.
        id: PartitionId,
        /// End of what was replaced.
        end: Offset,
        /// Ascending by marker.
        aborted: Vec<AbortedTxn>,
    },
    /// A cleaning is over; another may begin.
    CleaningEnded {
        /// Whose.
        id: PartitionId,
        /// Whether it came to its end.
        done: bool,
    },
    /// The last checkpoint is durable; nothing is in flight.
    Stopped,
    /// Something must not go on: a failed sync (every append fails from here on), or damage.
    Fault(String),
}

/// The answer to [`Store::read`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// The batches.
    Ready(Batches),
    /// The batches are in a file; [`StoreEvent::ReadDone`] brings them.
    Pending(ReadId),
    /// They cannot be read.
    Error(StorageError),
}

/// What the node adds to a log's part of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogSnapshot {
    /// The offset up to which the snapshot describes the log.
    pub offset: Offset,
    /// The snapshot file's bytes.
    pub bytes: Bytes,
    /// The leader epochs with their first offsets.
    pub leader_epochs: Vec<(i32, Offset)>,
}

/// What a file operation in flight is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Purpose {
    Journal,
    /// In front of a journal write.
    Placing,
    Writeback(PartitionId),
    Removal,
    /// Of the cleaning with this number.
    Cleaning(u64),
    Read(ReadId),
    Checkpoint,
    Recovery,
    /// Nobody waits for it.
    Tidy,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    New,
    Recovering(alloc::boxed::Box<Recovery>),
    Running,
    /// Recovery found what it cannot go on from.
    Dead,
}

/// The log storage of a node.
///
/// The node calls [`Store::append`] and its siblings during a turn, [`Store::end_turn`] after it,
/// and [`Store::flush`] when it has nothing else to do; then it polls operations and events until
/// there are none.
#[derive(Clone, Debug)]
pub struct Store {
    config: StoreConfig,
    journal: Journal,
    /// A journal write that waits for its placed batches.
    held: Option<alloc::boxed::Box<Held>>,
    /// Bytes of batches placed since the last checkpoint began.
    placed_bytes: u64,
    logs: BTreeMap<PartitionId, Log>,
    /// Logs whose durable bytes are damaged: they are there, and not served.
    damaged: BTreeSet<PartitionId>,
    /// Whose log each folder is.
    folders: BTreeMap<String, PartitionId>,
    cache: Cache,
    /// Logs with batches (or a folder) to write; the order they became so.
    to_write: VecDeque<PartitionId>,
    writes_in_flight: u32,
    removals: VecDeque<Removal>,
    /// Folders that are to be removed, and how often.
    removing_folders: BTreeMap<String, u32>,
    removing: bool,
    reads: BTreeMap<ReadId, PendingRead>,
    next_read: u64,
    phase: Phase,
    checkpoint: Option<alloc::boxed::Box<Checkpoint>>,
    /// Logs that changed since the last checkpoint began.
    dirty: BTreeSet<PartitionId>,
    /// Something other than a log's contents changed: a log was deleted, a start is to be made.
    root_dirty: bool,
    checkpoint_asked: bool,
    checkpoint_retry: bool,
    last_checkpoint: Timestamp,
    /// When failed writes are tried again.
    retry_at: Option<Timestamp>,
    last_error: StorageError,
    cleaning: Option<alloc::boxed::Box<Cleaning>>,
    cleanings: u64,
    /// A checkpoint of this life is durable, so that none speaks of cleanings of an earlier one.
    may_clean: bool,
    jobs: VecDeque<(Ticket, Job)>,
    stopping: bool,
    faulted: bool,
    next_ticket: u64,
    in_flight: BTreeMap<Ticket, Purpose>,
    ops: VecDeque<(Ticket, FileOp)>,
    events: VecDeque<StoreEvent>,
}

impl Store {
    /// A storage that has read nothing yet.
    #[must_use]
    pub fn new(config: StoreConfig) -> Self {
        Self {
            journal: Journal::new(config.journal_bytes, config.place_bytes_min < u64::MAX),
            held: None,
            placed_bytes: 0,
            cache: Cache::new(config.cache_bytes),
            config,
            logs: BTreeMap::new(),
            damaged: BTreeSet::new(),
            folders: BTreeMap::new(),
            to_write: VecDeque::new(),
            writes_in_flight: 0,
            removals: VecDeque::new(),
            removing_folders: BTreeMap::new(),
            removing: false,
            reads: BTreeMap::new(),
            next_read: 1,
            phase: Phase::New,
            checkpoint: None,
            dirty: BTreeSet::new(),
            root_dirty: false,
            checkpoint_asked: false,
            checkpoint_retry: false,
            last_checkpoint: Timestamp::default(),
            retry_at: None,
            last_error: StorageError::Io,
            cleaning: None,
            cleanings: 0,
            may_clean: false,
            jobs: VecDeque::new(),
            stopping: false,
            faulted: false,
            next_ticket: 1,
            in_flight: BTreeMap::new(),
            ops: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Begins recovery: the metadata log first, then `__transaction_state` and
    /// `__consumer_offsets`, then the others, each with its own [`StoreEvent::LogRecovered`].
    pub fn start(&mut self) {
        if self.phase == Phase::New {
            self.phase = Phase::Recovering(alloc::boxed::Box::default());
            self.recover();
        }
    }

    /// Creates an empty log with the open turn.
    pub fn create_log(&mut self, id: PartitionId, topic: &TopicPartition, segment_bytes: u32) {
        self.journal.push(Entry::Create { id, topic: topic.topic.clone(), segment_bytes });
    }

    /// Deletes a log with the open turn; its files go after the turn is persisted.
    pub fn delete_log(&mut self, id: PartitionId) {
        self.journal.push(Entry::Delete { id });
    }

    /// Moves a log's first readable offset up with the open turn (DeleteRecords, retention);
    /// segments wholly below it are removed after the turn is persisted.
    pub fn move_log_start(&mut self, id: PartitionId, offset: Offset) {
        self.journal.push(Entry::LogStart { id, offset });
    }

    /// Says at which size, and at which distance in time (ms), a log's segments are closed, for
    /// appends from here on.
    pub fn set_segment_limits(&mut self, id: PartitionId, segment_bytes: u32, segment_ms: i64) {
        let Some(log) = self.logs.get_mut(&id) else { return };
        log.segment_ms = segment_ms;
        if log.segment_bytes != segment_bytes {
            log.segment_bytes = segment_bytes;
            self.dirty.insert(id);
        }
    }

    /// Where a log may begin when what `retention.ms` and `retention.bytes` do not keep goes
    /// (-1: keep all); `None` when nothing is to be done. [`Store::move_log_start`] does it.
    pub fn retained_from(
        &mut self,
        id: PartitionId,
        now_ms: i64,
        retention_ms: i64,
        retention_bytes: i64,
        high_watermark: Offset,
    ) -> Option<Offset> {
        let log = self.logs.get_mut(&id).filter(|log| !log.offline)?;
        log.retained_from(now_ms, retention_ms, retention_bytes, high_watermark)
    }

    /// Appends a batch to a log with the open turn. Offsets rise; the caller assigned them.
    pub fn append(&mut self, id: PartitionId, batch: StoredBatch) {
        self.append_block(id, batch.into());
    }

    fn append_block(&mut self, id: PartitionId, block: Block) {
        self.journal.push(Entry::Append { id, block });
    }

    /// Ends the open turn; `Some` when it changed anything. Its end comes as
    /// [`StoreEvent::TurnsPersisted`] or [`StoreEvent::TurnsFailed`].
    pub fn end_turn(&mut self) -> Option<TurnId> {
        let turn = self.journal.end_turn();
        self.report_failed_turns();
        turn
    }

    /// Bytes a turn may take in the journal; a larger one fails whole.
    #[must_use]
    pub fn max_turn_bytes(&self) -> u64 {
        self.journal.max_turn_bytes()
    }

    /// Bytes the open turn takes in the journal so far. A batch adds its size and 33.
    #[must_use]
    pub fn turn_bytes(&self) -> u64 {
        self.journal.turn_bytes()
    }

    /// Emits a journal write for the turns that wait, unless one is in flight. To be called
    /// whenever the node has worked off an input.
    pub fn flush(&mut self) {
        self.write_journal();
        self.pump();
    }

    /// Whether there is such a log, served or too damaged to be. What is damaged must never be
    /// taken for missing, and made anew.
    #[must_use]
    pub fn holds(&self, id: PartitionId) -> bool {
        self.logs.contains_key(&id) || self.damaged.contains(&id)
    }

    /// Whether nothing is on its way to the files that a new log of this id and name would have.
    #[must_use]
    pub fn is_free(&self, id: PartitionId, topic: &TopicPartition) -> bool {
        let folder = files::folder(topic);
        !self.holds(id)
            && self.checkpoint.is_none()
            && !self.in_flight.values().any(|purpose| *purpose == Purpose::Writeback(id))
            && !self.held.as_ref().is_some_and(|held| held.is_of(id))
            && !self.removing_folders.contains_key(&folder)
            && !self.reads.values().any(|read| read.is_of(id))
    }

    /// First readable offset and offset of the next record, as persisted.
    #[must_use]
    pub fn log_range(&self, id: PartitionId) -> Option<(Offset, Offset)> {
        self.logs.get(&id).map(|log| (log.log_start, log.log_end))
    }

    /// Bytes of a log's segments (DescribeLogDirs).
    #[must_use]
    pub fn log_bytes(&self, id: PartitionId) -> u64 {
        self.logs.get(&id).map_or(0, |log| log.segments.iter().map(|s| s.size).sum())
    }

    /// Adds an entry to a log's transaction index. To be called when the marker is persisted,
    /// before the next [`Store::snapshot_taken`]; one that is there already is skipped.
    pub fn record_aborted(&mut self, id: PartitionId, aborted: &AbortedTxn) {
        if self.logs.get_mut(&id).is_some_and(|log| log.record_aborted(aborted)) {
            self.dirty.insert(id);
        }
    }

    /// Asks for the last checkpoint; ends with [`StoreEvent::Stopped`] after it. Turns that wait
    /// are written first.
    pub fn stop(&mut self) {
        self.stopping = true;
        self.root_dirty = true;
        if self.faulted || matches!(self.phase, Phase::Dead | Phase::New) {
            self.events.push_back(StoreEvent::Stopped);
        }
        self.pump();
    }

    /// The next file operation.
    pub fn poll_op(&mut self) -> Option<(Ticket, FileOp)> {
        self.ops.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<StoreEvent> {
        let event = self.events.pop_front()?;
        if matches!(event, StoreEvent::TurnsFailed { .. }) {
            self.journal.failure_taken_in();
        }
        Some(event)
    }

    /// Whether [`Store::poll_event`] has something to say.
    #[must_use]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Forgets what was appended since the last turn ended: it builds on turns that failed.
    pub fn discard_open_turn(&mut self) {
        self.journal.discard_open_turn();
    }

    /// Takes the result of an operation.
    pub fn done(&mut self, now: Now, ticket: Ticket, result: FileResult) {
        match self.in_flight.remove(&ticket) {
            Some(Purpose::Journal) => self.journal_done(&result),
            Some(Purpose::Placing) => self.placing_done(now.at, &result),
            Some(Purpose::Writeback(id)) => self.write_done(now.at, id, &result),
            Some(Purpose::Removal) => self.removal_done(now.at, &result),
            Some(Purpose::Cleaning(number)) => self.cleaning_op_done(now.at, number, result),
            Some(Purpose::Read(id)) => self.read_done(id, result),
            Some(Purpose::Checkpoint) => self.checkpoint_op_done(now.at, ticket, &result),
            Some(Purpose::Recovery) => self.recovery_answer(now.at, result),
            Some(Purpose::Tidy) | None => {}
        }
        self.pump();
    }

    /// When [`Store::tick`] is wanted.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Timestamp> {
        let due = (self.has_changes() && self.may_checkpoint())
            .then(|| self.last_checkpoint.after_ms(self.config.checkpoint_interval_ms));
        [self.retry_at, due].into_iter().flatten().min()
    }

    /// A point of time that [`Store::next_timeout`] named has passed.
    pub fn tick(&mut self, now: Now) {
        if self.retry_at.is_some_and(|at| at <= now.at) {
            self.retry_at = None;
        }
        let interval = self.last_checkpoint.after_ms(self.config.checkpoint_interval_ms);
        if self.has_changes() && interval <= now.at {
            self.ask_for_checkpoint();
        }
        self.pump();
    }

    fn has_changes(&self) -> bool {
        self.root_dirty || !self.dirty.is_empty()
    }

    fn may_checkpoint(&self) -> bool {
        self.phase == Phase::Running
            && self.checkpoint.is_none()
            && !self.checkpoint_asked
            && !self.faulted
            && self.retry_at.is_none()
    }

    fn ask_for_checkpoint(&mut self) {
        if self.may_checkpoint() {
            self.checkpoint_asked = true;
            self.events.push_back(StoreEvent::CheckpointDue);
        }
    }

    /// Everything that can go on by itself does.
    fn pump(&mut self) {
        self.write_back();
        self.run_checkpoint();
        self.run_cleaning();
        let stalled = self.journal.is_stalled();
        if stalled {
            mark!(JournalStalled);
        }
        if stalled && self.retry_at.is_some() {
            self.journal.fail(self.last_error);
            self.report_failed_turns();
        }
        let last = self.stopping && !self.journal.is_busy();
        let much = self.journal.is_half_full() || self.much_is_placed();
        if last || stalled || self.checkpoint_retry || much {
            self.ask_for_checkpoint();
        }
    }

    fn journal_done(&mut self, result: &FileResult) {
        match *result {
            Ok(_) => {
                let entries = self.journal.write_done();
                let through = TurnId(self.journal.persisted());
                self.events.push_back(StoreEvent::TurnsPersisted { through });
                for entry in entries {
                    self.apply(entry);
                }
            }
            Err(error) => self.journal_write_failed(error),
        }
        self.report_failed_turns();
    }

    /// Takes a persisted change into memory.
    fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Append { id, block } => {
                // A log that an earlier turn deleted takes nothing any more.
                let Some(log) = self.logs.get_mut(&id) else { return };
                self.cache.added(id, &block);
                if log.append(block, self.config.index_interval_bytes) {
                    mark!(SegmentRolled);
                    // A cleaning and the log's start wait for a closed segment's end.
                    self.write_now(id);
                }
                self.dirty.insert(id);
                self.want_write(id);
                self.evict();
            }
            Entry::Placed { id, at, block } => {
                // Without the batch it is one that recovery found in its place.
                if let Some(block) = block {
                    self.apply_placed(id, at.home, block);
                }
            }
            Entry::Create { id, topic, segment_bytes } => {
                let topic = TopicPartition::new(topic, id.partition);
                self.delete_namesake(id, &topic);
                if let btree_map::Entry::Vacant(slot) = self.logs.entry(id) {
                    let log = Log::new(id, topic, segment_bytes);
                    self.folders.insert(log.folder_name.clone(), id);
                    slot.insert(log);
                    self.dirty.insert(id);
                    self.want_write(id);
                }
            }
            Entry::Delete { id } => self.drop_log(id),
            Entry::LogStart { id, offset } => {
                let Some(log) = self.logs.get_mut(&id) else { return };
                for segment in log.move_start(offset) {
                    self.removals.extend(Removal::segment(&log.folder_name, segment.base));
                }
                let waits = log.segments.get(1).is_some_and(|second| second.base <= log.log_start);
                if waits {
                    self.write_now(id);
                }
                self.dirty.insert(id);
            }
        }
    }

    /// A folder belongs to the newest log of its name: an older one is gone, also when the turn
    /// that was to delete it failed (found by verdict-sim: at the next start its removal took the
    /// new log's files along).
    fn delete_namesake(&mut self, id: PartitionId, topic: &TopicPartition) {
        if let Some(&other) = self.folders.get(&files::folder(topic))
            && other != id
        {
            mark!(NamesakeDeleted);
            self.drop_log(other);
        }
    }

    fn drop_log(&mut self, id: PartitionId) {
        let Some(log) = self.logs.remove(&id) else { return };
        self.cache.dropped(&log);
        self.cleaning_lost_log(id);
        self.dirty.remove(&id);
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.forget(id);
        }
        self.root_dirty = true;
        self.folders.remove(&log.folder_name);
        self.remove_folder(Removal::folder(id.topic_id, log.folder_name));
    }

    fn report_failed_turns(&mut self) {
        if let Some((from, error)) = self.journal.take_failed() {
            self.events.push_back(StoreEvent::TurnsFailed { from, error });
        }
    }

    /// Nothing is appended any more until a restart.
    fn fault(&mut self, reason: String) {
        mark!(StoreSyncFailed);
        self.faulted = true;
        self.checkpoint = None;
        self.cleaning = None;
        self.journal.fault(StorageError::Faulted);
        self.report_failed_turns();
        self.events.push_back(StoreEvent::Fault(reason));
        if self.stopping {
            self.events.push_back(StoreEvent::Stopped);
        }
    }

    /// A write failed and is to be tried again.
    fn retry_later(&mut self, now: Timestamp, error: FileError) {
        self.last_error = error.into();
        self.retry_at.get_or_insert(now.after_ms(self.config.retry_ms));
    }

    fn emit(&mut self, purpose: Purpose, op: FileOp) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.in_flight.insert(ticket, purpose);
        self.ops.push_back((ticket, op));
        ticket
    }
}
