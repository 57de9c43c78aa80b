//! The start: checkpoint, journal, then log after log.
//!
//! Reads before it writes, and what it writes (cutting what lies beyond the checkpoint, bringing
//! the journal's tail into the segments) gives the same again after a crash in its middle. The
//! journal is not written before the checkpoint that ends recovery is durable.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};

use super::checkpoint_file::Image;
use super::files::{self, Kind};
use super::frame::{Entry, Frame, Scan, Scanned};
use super::placed::PlacedCheck;
use super::recover_log::{LogEnd, LogPlan, RecoverLog};
use super::script::{Script, Stop};
use super::{Durability, Phase, Purpose, Removal, Store, StoreEvent};
use crate::io::{FileOp, FilePath, FileResult};
use crate::mark;
use crate::time::Timestamp;
use crate::types::{
    CONSUMER_OFFSETS_TOPIC, METADATA_TOPIC, PartitionId, TRANSACTION_STATE_TOPIC, TopicId,
    TopicPartition,
};

/// Bytes of a `partition.metadata` at most.
const METADATA_BYTES_MAX: u32 = 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Step {
    /// The data folder.
    #[default]
    Root,
    /// One of the checkpoint files.
    Checkpoint(usize),
    /// The checkpoint file that is damaged, or older than the other.
    OtherCheckpoint,
    /// One of the journal files.
    Journal(usize),
    /// Which of their turns count.
    Frames,
    /// Whether what the turns name is in its place.
    Placed,
    /// Which folders nothing read so far speaks of.
    Folders,
    /// Whose those folders are, one after the other.
    Unknown,
    /// What logs there are.
    Plan,
    /// One log.
    Log(alloc::boxed::Box<RecoverLog>),
    /// Space for the journal files.
    Allocate,
}

/// Recovery as far as it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Recovery {
    script: Script,
    step: Step,
    names: Vec<String>,
    checkpoint: Option<Image>,
    checkpoint_bytes: BytesMut,
    /// What the first checkpoint file holds, until the other was read.
    first_checkpoint: Bytes,
    /// Which of them counts.
    checkpoint_file: usize,
    scan: Scan,
    scanned: u64,
    /// What each journal file holds.
    frames: [Vec<Frame>; 2],
    /// The turns after the checkpoint.
    tail: Vec<Frame>,
    placed: PlacedCheck,
    /// Highest generation of a journal file.
    generation: u64,
    /// A turn number above all that were read.
    next_turn: u64,
    /// The last turn that counts.
    last: u64,
    unknown: VecDeque<TopicPartition>,
    /// Logs found in those folders.
    found: Vec<(TopicPartition, TopicId)>,
    logs: VecDeque<LogPlan>,
}

impl Store {
    /// Goes on with recovery until it needs a file.
    pub(super) fn recover(&mut self) {
        while matches!(self.phase, Phase::Recovering(_)) {
            let phase = core::mem::replace(&mut self.phase, Phase::New);
            let Phase::Recovering(mut recovery) = phase else { return };
            match self.recovery_step(&mut recovery) {
                Ok(true) => {
                    self.phase = Phase::Running;
                    self.root_dirty = true;
                    self.events.push_back(StoreEvent::Recovered);
                    self.ask_for_checkpoint();
                    return;
                }
                Ok(false) => self.phase = Phase::Recovering(recovery),
                Err(Stop::Ask(op)) => {
                    self.phase = Phase::Recovering(recovery);
                    self.emit(Purpose::Recovery, op);
                    return;
                }
                Err(Stop::Failed(op, error)) => {
                    return self.recovery_failed(format!("{op:.120?} failed: {error}"));
                }
                Err(Stop::Damaged(reason)) => {
                    mark!(RecoveryDamageFound);
                    return self.recovery_failed(reason);
                }
            }
        }
    }

    /// An operation of recovery has ended.
    pub(super) fn recovery_answer(&mut self, now: Timestamp, result: FileResult) {
        self.last_checkpoint = now;
        if let Phase::Recovering(recovery) = &mut self.phase {
            recovery.script.answer(result);
            self.recover();
        }
    }

    fn recovery_failed(&mut self, reason: String) {
        self.phase = Phase::Dead;
        self.journal.fault(super::StorageError::Faulted);
        self.faulted = true;
        self.report_failed_turns();
        self.events.push_back(StoreEvent::Fault(reason));
        if self.stopping {
            self.events.push_back(StoreEvent::Stopped);
        }
    }

    /// Runs one step; `true` when it was the last.
    fn recovery_step(&mut self, recovery: &mut Recovery) -> Result<bool, Stop> {
        match &mut recovery.step {
            Step::Root => recovery.read_root()?,
            Step::Checkpoint(file) => {
                let file = *file;
                recovery.read_checkpoint(file, self.config.scan_chunk_bytes)?;
            }
            Step::OtherCheckpoint => recovery.remove_other_checkpoint()?,
            Step::Journal(file) => {
                let file = *file;
                recovery.read_journal(file, self.config.scan_chunk_bytes)?;
            }
            Step::Frames => {
                recovery.take_tail(self.config.durability)?;
                recovery.step = Step::Placed;
            }
            Step::Placed => recovery.check_placed(self.config.durability)?,
            Step::Folders => recovery.find_unknown(),
            Step::Unknown => recovery.read_unknown()?,
            Step::Plan => {
                for removal in recovery.plan() {
                    self.remove_folder(removal);
                }
                self.journal.recovered(recovery.generation, recovery.last, recovery.next_turn);
                recovery.next_log();
            }
            Step::Log(log) => {
                let end = log.step(&mut recovery.script, &self.config)?;
                if let Some(end) = end {
                    self.log_recovered(end)?;
                    recovery.next_log();
                }
            }
            Step::Allocate => {
                let bytes = self.config.journal_bytes;
                recovery.script.run(|script| allocate(script, bytes))?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A log's files were read: takes it in, with the journal's tail, and tells the node.
    fn log_recovered(&mut self, end: LogEnd) -> Result<(), Stop> {
        let LogEnd { log, mut recovered, entries, damage, changed } = end;
        let id = recovered.id;
        if let Some(reason) = &damage {
            mark!(RecoveryDamageFound);
            self.damaged.insert(id);
            self.events.push_back(StoreEvent::Fault(format!("{}: {reason}", recovered.topic)));
        }
        let Some(mut log) = log else {
            // Nothing to append to: what the journal holds for it must not be dropped.
            let lost = entries
                .iter()
                .any(|entry| matches!(entry, Entry::Append { .. } | Entry::Placed { .. }));
            if lost {
                let reason = format!("{}: damaged, and the journal holds more", recovered.topic);
                return Err(Stop::Damaged(reason));
            }
            return Ok(());
        };
        let (known_end, offline) = (log.log_end, log.offline);
        log.entry = log.image(log.snapshot, log.leader_epochs.clone()).entry();
        self.folders.insert(log.folder_name.clone(), id);
        self.logs.insert(id, log);
        if changed {
            self.dirty.insert(id);
            self.want_write(id);
        }
        for entry in entries {
            if let Entry::Append { block, .. } = &entry {
                if block.header.base_offset < known_end {
                    continue;
                }
                recovered.tail.push(super::recover_log::summary(block));
            }
            self.apply(entry);
        }
        if let Some(log) = self.logs.get(&id)
            && !offline
        {
            recovered.log_start = log.log_start;
            recovered.log_end = log.log_end;
            self.events.push_back(StoreEvent::LogRecovered(alloc::boxed::Box::new(recovered)));
        }
        Ok(())
    }
}

impl Recovery {
    fn read_root(&mut self) -> Result<(), Stop> {
        self.names = self.script.run(|script| {
            script.ask(FileOp::CreateFolder { folder: FilePath::from("") })?;
            script.list("")
        })?;
        self.step = Step::Checkpoint(0);
        Ok(())
    }

    /// Reads one of the checkpoint files; of those that are whole the newer one counts.
    fn read_checkpoint(&mut self, file: usize, chunk: u32) -> Result<(), Stop> {
        let name = files::CHECKPOINTS[file];
        if self.names.iter().any(|there| there == name) {
            let path = FilePath::from(name);
            let position = self.checkpoint_bytes.len() as u64;
            let part = self.script.run(|script| script.read(&path, position, chunk))?;
            self.checkpoint_bytes.extend_from_slice(&part);
            if part.len() as u64 == u64::from(chunk) {
                return Ok(());
            }
        }
        let bytes = core::mem::take(&mut self.checkpoint_bytes).freeze();
        let image = Image::decode(&bytes);
        let is_copy = file > 0;
        if let Some(image) = image {
            let newer = |known: &Image| image.sequence > known.sequence;
            if self.checkpoint.as_ref().is_none_or(newer) {
                if is_copy {
                    mark!(RecoveryCheckpointCopy);
                }
                (self.checkpoint, self.checkpoint_file) = (Some(image), file);
            }
        }
        if is_copy && self.checkpoint.is_none() {
            mark!(RecoveryNoCheckpoint);
        }
        self.step = if !is_copy {
            self.first_checkpoint = bytes;
            Step::Checkpoint(1)
        } else if core::mem::take(&mut self.first_checkpoint) == bytes || self.checkpoint.is_none()
        {
            Step::Journal(0)
        } else {
            Step::OtherCheckpoint
        };
        Ok(())
    }

    /// Removes the checkpoint file that does not count, before anything is done that only the other
    /// knows of: a cleaning put in place takes files away that an older one speaks of (seed 518006:
    /// that was left when the newer one was lost). The checkpoint that ends recovery writes both;
    /// to write it here would take space that a full disk does not have (seed 31451).
    fn remove_other_checkpoint(&mut self) -> Result<(), Stop> {
        let path = FilePath::from(files::CHECKPOINTS[1 - self.checkpoint_file]);
        self.script.run(|script| {
            script.ask(FileOp::Remove { path })?;
            script.ask(FileOp::SyncFolder { folder: FilePath::from("") })
        })?;
        self.step = Step::Journal(0);
        Ok(())
    }

    fn read_journal(&mut self, file: usize, chunk: u32) -> Result<(), Stop> {
        let path = FilePath::from(files::JOURNAL[file]);
        let position = self.scanned;
        let part = self.script.run(|script| script.read(&path, position, chunk))?;
        let bytes = part.len() as u64;
        self.scanned += bytes;
        self.scan.push(part);
        loop {
            match self.scan.next() {
                Scanned::Frame(frame) => self.frames[file].push(frame),
                Scanned::More if bytes == u64::from(chunk) => return Ok(()),
                Scanned::More | Scanned::End => break,
            }
        }
        if self.scan.is_torn() {
            mark!(JournalTornTail);
        }
        self.scan = Scan::default();
        self.scanned = 0;
        self.step = if file == 0 { Step::Journal(1) } else { Step::Frames };
        Ok(())
    }

    /// Takes the turns after the checkpoint out of the journal's files, in order, and notes the
    /// last one that counts.
    fn take_tail(&mut self, durability: Durability) -> Result<(), Stop> {
        let covered = self.checkpoint.as_ref().map_or(0, |image| image.sequence);
        let generation = self.checkpoint.as_ref().map_or(0, |image| image.generation);
        let places = || self.frames.iter().flatten().map(|frame| frame.place);
        self.generation = places().map(|place| place.generation).fold(generation, u64::max);
        let highest = places().map(|place| place.sequence).fold(covered, u64::max);
        self.next_turn = highest.saturating_add(1);
        let [mut older, mut newer] = core::mem::take(&mut self.frames);
        let generation = |frames: &[Frame]| frames.first().map_or(0, |f| f.place.generation);
        if generation(&older) > generation(&newer) {
            core::mem::swap(&mut older, &mut newer);
        }
        let mut last = covered;
        if let Some(first) = newer.first().map(|frame| frame.place) {
            // Leftovers of a failed write behind the last frame that counts.
            older.retain(|frame| frame.place.sequence <= first.previous);
        }
        let mut tail = Vec::new();
        let fresh = self.checkpoint.is_none();
        for frame in older.into_iter().chain(newer) {
            let Frame { place, .. } = frame;
            if place.sequence <= last {
                continue;
            }
            let follows = match tail.last() {
                None => fresh || place.previous <= last,
                Some(_) => place.previous == last,
            };
            if !follows && fresh {
                // Room is used again when a checkpoint covers what is in it. So the one that was
                // lost covered all turns before this one, or those in between could be read.
                mark!(RecoveryOlderTurnsCovered);
                tail.clear();
            } else if !follows && durability == Durability::Os {
                break;
            } else if !follows {
                return Err(Stop::Damaged(format!(
                    "the journal lacks turns {} to {}",
                    last.saturating_add(1),
                    place.previous
                )));
            }
            last = place.sequence;
            tail.push(frame);
        }
        (self.tail, self.last) = (tail, last);
        Ok(())
    }

    /// Looks at the next place that the tail names, and notes the last turn that is whole.
    fn check_placed(&mut self, durability: Durability) -> Result<(), Stop> {
        let checkpoint = self.checkpoint.as_ref();
        if self.placed.step(&mut self.script, &mut self.tail, checkpoint, durability)? {
            let covered = checkpoint.map_or(0, |image| image.sequence);
            self.last = self.tail.last().map_or(covered, |frame| frame.place.sequence);
            self.step = Step::Folders;
        }
        Ok(())
    }

    /// Finds the folders of logs that neither the checkpoint knows nor the journal creates.
    fn find_unknown(&mut self) {
        let logs = self.checkpoint.iter().flat_map(|image| &image.logs);
        let known = logs
            .map(|log| files::folder(&TopicPartition::new(log.topic.clone(), log.id.partition)));
        let mut known: BTreeSet<String> = known.collect();
        if self.checkpoint.is_some() {
            // Without a checkpoint the last turns of the journal may be missing, and a log that
            // they created may have more in its folder.
            known.extend(created_folders(&self.tail));
        }
        self.unknown = self
            .names
            .iter()
            .filter(|name| !known.contains(*name))
            .filter_map(|name| files::parse_folder(name))
            .filter(|topic| !files::JOURNAL.contains(&topic.to_string().as_str()))
            .collect();
        self.step = Step::Unknown;
    }

    /// Reads whose folder the next unknown one is.
    fn read_unknown(&mut self) -> Result<(), Stop> {
        let Some(topic) = self.unknown.front().cloned() else {
            self.step = Step::Plan;
            return Ok(());
        };
        let path = files::in_folder(&topic.to_string(), files::PARTITION_METADATA);
        let text = self.script.run(|script| script.read(&path, 0, METADATA_BYTES_MAX))?;
        if let Some(id) = files::parse_partition_metadata(&text) {
            self.found.push((topic, id));
        }
        self.unknown.pop_front();
        Ok(())
    }

    /// Finds out which logs there are and what the journal holds for each. Returns the folders to
    /// be removed.
    fn plan(&mut self) -> Vec<Removal> {
        let image = self.checkpoint.take().unwrap_or_default();
        let mut plans: BTreeMap<PartitionId, LogPlan> = BTreeMap::new();
        for log in image.logs {
            plans.insert(log.id, LogPlan::checkpointed(log));
        }
        let mut known: BTreeMap<String, TopicId> =
            plans.values().map(|plan| (files::folder(&plan.topic), plan.id.topic_id)).collect();
        let mut gone: BTreeMap<String, BTreeSet<TopicId>> = BTreeMap::new();
        for (topic_id, folder) in image.removed {
            gone.entry(folder).or_default().insert(topic_id);
        }
        for (topic, topic_id) in core::mem::take(&mut self.found) {
            let id = PartitionId { topic_id, partition: topic.partition };
            let removed = gone.get(&files::folder(&topic));
            if !removed.is_some_and(|ids| ids.contains(&topic_id)) {
                known.insert(files::folder(&topic), topic_id);
                plans.insert(id, LogPlan::found(id, topic));
            }
        }
        if !self.tail.is_empty() {
            mark!(RecoveryReplayed);
        }
        for entry in core::mem::take(&mut self.tail).into_iter().flat_map(|frame| frame.entries) {
            let id = entry.id();
            match entry {
                Entry::Create { topic, segment_bytes, .. } => {
                    let topic = TopicPartition::new(topic, id.partition);
                    // Recreated under the same name: what the folder holds is wiped either way, and
                    // the older log is gone, also when the turn that was to delete it failed.
                    let folder = files::folder(&topic);
                    gone.remove(&folder);
                    if let Some(older) = known.insert(folder, id.topic_id)
                        && older != id.topic_id
                    {
                        plans.remove(&PartitionId { topic_id: older, partition: id.partition });
                    }
                    plans.entry(id).or_insert_with(|| LogPlan::created(id, topic, segment_bytes));
                }
                Entry::Delete { .. } => {
                    if let Some(plan) = plans.remove(&id) {
                        let folder = files::folder(&plan.topic);
                        gone.entry(folder).or_default().insert(id.topic_id);
                    }
                }
                entry => {
                    if let Some(plan) = plans.get_mut(&id) {
                        plan.entries.push(entry);
                    }
                }
            }
        }
        let mut logs: Vec<LogPlan> = plans.into_values().collect();
        for plan in &mut logs {
            plan.placed = self.placed.take(plan.id);
        }
        logs.sort_by_key(|plan| (rank(&plan.topic), plan.topic.clone(), plan.id));
        self.logs = logs.into();
        let removals = gone.into_iter().flat_map(|(folder, ids)| {
            ids.into_iter().map(move |id| Removal::folder(id, folder.clone()))
        });
        removals.collect()
    }

    fn next_log(&mut self) {
        self.step = match self.logs.pop_front() {
            Some(plan) => Step::Log(alloc::boxed::Box::new(RecoverLog::new(plan))),
            None => Step::Allocate,
        };
    }
}

/// The folders of logs that are created in these turns. Each is wiped for its log, whatever an
/// earlier one of that name has left.
fn created_folders(frames: &[Frame]) -> impl Iterator<Item = String> {
    frames.iter().flat_map(|frame| &frame.entries).filter_map(|entry| match entry {
        Entry::Create { id, topic, .. } => {
            Some(files::folder(&TopicPartition::new(topic.clone(), id.partition)))
        }
        _ => None,
    })
}

/// The metadata log first, then the coordinators' logs.
fn rank(topic: &TopicPartition) -> u8 {
    match topic.topic.as_str() {
        METADATA_TOPIC => 0,
        TRANSACTION_STATE_TOPIC => 1,
        CONSUMER_OFFSETS_TOPIC => 2,
        _ => 3,
    }
}

/// Gives both journal files their size. Their contents stay: they are needed until the checkpoint
/// that ends recovery.
fn allocate(script: &mut Script, bytes: u64) -> Result<(), Stop> {
    for name in files::JOURNAL {
        let path = FilePath::from(name);
        if script.length(&path)?.is_none_or(|length| length < bytes) {
            script.ask(FileOp::Allocate { path: path.clone(), length: bytes })?;
            script.ask(FileOp::Sync { path })?;
        }
    }
    script.ask(FileOp::SyncFolder { folder: FilePath::from("") })?;
    Ok(())
}

/// Kinds of file a segment has.
pub(super) const SEGMENT_KINDS: [Kind; 4] =
    [Kind::Log, Kind::Index, Kind::TimeIndex, Kind::TxnIndex];
