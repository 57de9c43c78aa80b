//! The start of one log: what the checkpoint says of it, or all of its bytes.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::StoreConfig;
use super::block::{Block, Unreadable};
use super::checkpoint_file::{LogImage, SegmentImage};
use super::files::{self, Kind};
use super::found_log::{Found, Holes, InJournal, epochs_that_fit};
use super::frame::Entry;
use super::log::{Folder, Log};
use super::placed::{Placed, Stretch};
use super::recovered::{BatchSummary, RecoveredLog};
use super::recovery::SEGMENT_KINDS;
use super::script::{Script, Stop};
use super::segment::{IndexFile, Segment};
use crate::batch::BatchHeader;
use crate::io::{FileOp, FilePath};
use crate::mark;
use crate::types::{Offset, PartitionId, TopicPartition};

/// Segment size of a log that was found without a checkpoint, as Apache Kafka's default.
const FOUND_SEGMENT_BYTES: u32 = 1 << 30;

const PLACED_DAMAGED: &str = "a batch is not where the journal says";

/// A log to be recovered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LogPlan {
    pub(super) id: PartitionId,
    pub(super) topic: TopicPartition,
    /// What the checkpoint says.
    image: Option<LogImage>,
    /// Created since the checkpoint: all of it is in the journal.
    created: Option<u32>,
    /// The journal's tail of it.
    pub(super) entries: Vec<Entry>,
    /// Where that names places.
    pub(super) placed: Placed,
}

impl LogPlan {
    /// A log that the checkpoint knows.
    pub(super) fn checkpointed(image: LogImage) -> Self {
        let image_id = image.id;
        let topic = TopicPartition::new(image.topic.clone(), image_id.partition);
        Self { image: Some(image), ..Self::found(image_id, topic) }
    }

    /// A folder that the checkpoint does not know.
    pub(super) fn found(id: PartitionId, topic: TopicPartition) -> Self {
        let placed = Placed::default();
        Self { id, topic, image: None, created: None, entries: Vec::new(), placed }
    }

    /// A log created since the checkpoint.
    pub(super) fn created(id: PartitionId, topic: TopicPartition, segment_bytes: u32) -> Self {
        Self { created: Some(segment_bytes), ..Self::found(id, topic) }
    }
}

/// A log that was read.
#[derive(Clone, Debug)]
pub(super) struct LogEnd {
    /// The log, before the journal's tail; `None` when it cannot be used at all.
    pub(super) log: Option<Log>,
    /// What the node is told, before the journal's tail.
    pub(super) recovered: RecoveredLog,
    pub(super) entries: Vec<Entry>,
    /// Why it is not served.
    pub(super) damage: Option<String>,
    /// Whether the next checkpoint has to write its files.
    pub(super) changed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    Open,
    Segment(usize),
    /// What the journal holds in front of placed batches is written to its place.
    Stretch,
    Snapshot,
    Scan {
        segment: usize,
        position: u64,
        need: u64,
    },
    Cut {
        segment: usize,
        position: u64,
    },
    End,
}

/// One log's recovery as far as it has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RecoverLog {
    plan: LogPlan,
    folder: String,
    step: Step,
    log: Log,
    /// The segments' sizes that must be readable; the files' lengths when there is no image.
    sizes: Vec<u64>,
    /// Whether snapshot and transaction indexes can be believed.
    trusted: bool,
    scan_wanted: bool,
    snapshot: Option<(Offset, Bytes)>,
    tail: Vec<BatchSummary>,
    damage: Option<String>,
    /// Where the batches that the journal holds of it begin and end.
    journal: Option<(Offset, Offset)>,
    /// A scan met what a failed turn left, and more behind it: nothing is to be cut.
    unsure: bool,
    /// The journal's batches of a log without checkpoint.
    appended: InJournal,
    /// What is in the files behind what the checkpoint says.
    stretch: Stretch,
    /// Where the checkpoint's records end.
    image_end: Offset,
    /// The names in its folder.
    names: BTreeSet<String>,
}

impl RecoverLog {
    pub(super) fn new(mut plan: LogPlan) -> Self {
        let segment_bytes = plan.created.unwrap_or(FOUND_SEGMENT_BYTES);
        let mut log = Log::new(plan.id, plan.topic.clone(), segment_bytes);
        let (mut stretch, mut image_end) = (Stretch::default(), 0);
        if let Some(image) = &mut plan.image {
            image_end = image.log_end;
            log.durable_end = image_end;
            log.durable_base = image.segments.last().map(|segment| segment.base);
            match Stretch::of(image, &plan.entries, core::mem::take(&mut plan.placed.blocks)) {
                Some(found) => stretch = found,
                None => plan.placed.damaged = true,
            }
            if let Some(end) = stretch.end() {
                mark!(RecoveryPlaced);
                stretch.extend(&mut image.segments);
                image.log_end = end;
                log.placed_to = end;
            }
            log.segment_bytes = image.segment_bytes;
            log.log_start = image.log_start;
            log.log_end = image.log_end;
            log.clean_end = image.clean_end;
            log.cleaned_to = image.cleaned_to;
            log.leader_epochs.clone_from(&image.leader_epochs);
        }
        Self {
            folder: files::folder(&plan.topic),
            step: Step::Open,
            log,
            sizes: Vec::new(),
            trusted: plan.image.as_ref().is_some_and(|image| !image.offline),
            scan_wanted: false,
            snapshot: None,
            tail: Vec::new(),
            damage: plan.placed.damaged.then(|| String::from(PLACED_DAMAGED)),
            journal: in_journal(&plan.entries),
            names: BTreeSet::new(),
            unsure: false,
            appended: InJournal::of(&plan.entries),
            stretch,
            image_end,
            plan,
        }
    }

    /// Runs one step; the log when it was the last.
    pub(super) fn step(
        &mut self,
        script: &mut Script,
        config: &StoreConfig,
    ) -> Result<Option<LogEnd>, Stop> {
        match self.step {
            Step::Open if self.plan.created.is_some() => {
                let folder = FilePath::from(self.folder.as_str());
                script.run(|script| script.ask(FileOp::RemoveFolder { folder }))?;
                self.step = Step::End;
            }
            Step::Open => self.open(script)?,
            Step::Segment(at) => self.load_segment(script, at)?,
            Step::Stretch => self.write_stretch(script)?,
            Step::Snapshot => self.load_snapshot(script, config.index_interval_bytes)?,
            Step::Scan { segment, position, need } => {
                self.scan(script, config, segment, position, need)?;
            }
            Step::Cut { segment, position } => {
                self.cut(script, segment, position)?;
            }
            Step::End => return Ok(Some(self.end())),
        }
        Ok(None)
    }

    /// Lists the folder, removes what the checkpoint does not know, and finds the segments.
    fn open(&mut self, script: &mut Script) -> Result<(), Stop> {
        let start = self.start_offset();
        let images = self.plan.image.as_ref().map(|image| live_segments(image, start));
        let end = self.plan.image.as_ref().map_or(Offset::MAX, |_| self.image_end);
        let folder = self.folder.as_str();
        let without_image = images.is_none();
        let journal = self.journal_begins();
        let (names, snapshots, found) = script.run(|script| {
            let mut bases = Vec::new();
            let mut snapshots = Vec::new();
            let names = end_cleaning(script, folder, images.as_deref().unwrap_or_default())?;
            for name in &names {
                let Some((kind, offset)) = Kind::parse(name) else { continue };
                let stray = match (&images, kind) {
                    (_, Kind::Snapshot) => offset > end,
                    (Some(images), _) => images.iter().all(|image| image.base != offset),
                    (None, _) => false,
                };
                if stray {
                    script.ask(FileOp::Remove { path: kind.path(folder, offset) })?;
                } else if kind == Kind::Snapshot {
                    snapshots.push(offset);
                } else if kind == Kind::Log {
                    bases.push(offset);
                }
            }
            let found = without_image
                .then(|| Found::read(script, folder, bases, start, journal))
                .transpose()?;
            Ok((names, snapshots, found))
        })?;
        self.names = names;
        self.log.snapshots = snapshots;
        self.log.snapshots.sort_unstable();
        self.log.folder = Folder::Present { durable: true };
        if self.names.contains(files::LOG_START) {
            self.log.start_in_file = self.log.log_start;
        }
        if let Some(images) = images {
            let stretch = &self.stretch;
            self.sizes =
                images.iter().map(|image| stretch.size_of(image.base, image.size)).collect();
            self.log.segments = Vec::new();
            if let Some(image) = &mut self.plan.image {
                image.segments = images;
            }
            self.step = Step::Segment(0);
        }
        if let Some(found) = found {
            self.take_found(found);
        }
        Ok(())
    }

    /// Goes by the files alone.
    fn take_found(&mut self, found: Found) {
        let Found { segments, begin, leader_epochs, cleaned_to, log_start } = found;
        self.log.leader_epochs = leader_epochs;
        self.log.cleaned_to = cleaned_to;
        self.log.start_in_file = log_start;
        (self.log.log_start, self.log.log_end) = (begin, begin);
        self.log.segments = segments.iter().map(|(base, _)| Segment::new(*base)).collect();
        self.sizes = segments.into_iter().map(|(_, size)| size).collect();
        if self.sizes.is_empty() {
            self.log.segments.push(Segment::new(begin));
            self.sizes.push(0);
        }
        self.begin_scan();
    }

    /// Where the first batch begins that the journal holds of the log. From there on it holds all
    /// that a crash may have taken out of the segments.
    fn journal_begins(&self) -> Option<Offset> {
        self.journal.map(|(begin, _)| begin)
    }

    /// Where there may be holes between the log's batches.
    const fn holes(&self) -> Holes {
        let known = self.plan.image.is_some();
        Holes { known, cleaned_to: self.log.cleaned_to, journal: self.journal }
    }

    /// Where the log ends that the journal goes on with at `offset`.
    fn journal_ends(&self, offset: Offset) -> Offset {
        self.journal
            .filter(|(begin, _)| *begin <= offset)
            .map_or(offset, |(_, end)| end.max(offset))
    }

    /// Where the log will begin once the journal's tail is in.
    fn start_offset(&self) -> Offset {
        let moves = self.plan.entries.iter().filter_map(|entry| match entry {
            Entry::LogStart { offset, .. } => Some(*offset),
            _ => None,
        });
        moves.chain(self.plan.image.as_ref().map(|image| image.log_start)).max().unwrap_or(0)
    }

    fn load_segment(&mut self, script: &mut Script, at: usize) -> Result<(), Stop> {
        let Some(image) = self.plan.image.as_ref().and_then(|i| i.segments.get(at)).copied() else {
            self.step = Step::Stretch;
            return Ok(());
        };
        let folder = self.folder.as_str();
        let (names, kept) = (&self.names, self.sizes[at]);
        let loaded = script.run(|script| load_segment(script, folder, names, &image, kept))?;
        if loaded.length < image.size {
            self.damage.get_or_insert_with(|| {
                format!(
                    "segment {} has {} of {} durable bytes",
                    image.base, loaded.length, image.size
                )
            });
        }
        self.scan_wanted |= !loaded.indexed;
        self.trusted &= loaded.txn_good;
        self.log.segments.push(loaded.segment);
        self.step = Step::Segment(at + 1);
        Ok(())
    }

    fn write_stretch(&mut self, script: &mut Script) -> Result<(), Stop> {
        if let Some(image) = &self.plan.image
            && self.damage.is_none()
        {
            let (folder, stretch) = (self.folder.as_str(), &self.stretch);
            script.run(|script| stretch.write(script, folder, &image.segments))?;
        }
        self.step = Step::Snapshot;
        Ok(())
    }

    /// Takes in what lies behind what the checkpoint says. When all is scanned anyway that finds it.
    fn take_stretch(&mut self, interval: u32) {
        let count = self.log.segments.len();
        for (at, segment) in self.log.segments.iter_mut().enumerate() {
            for (size, found) in self.stretch.in_segment(segment.base) {
                match found {
                    Ok(summary) => {
                        segment.add(&summary.header, size, interval);
                        self.tail.push(summary.clone());
                    }
                    Err(reason) => self.damage = Some(reason),
                }
            }
            segment.written = segment.size;
            if at + 1 < count && self.sizes[at] > segment.durable {
                segment.index_time();
            }
        }
    }

    fn load_snapshot(&mut self, script: &mut Script, interval: u32) -> Result<(), Stop> {
        let image = self.plan.image.as_ref().and_then(|image| image.snapshot);
        if let Some(image) = image {
            let path = Kind::Snapshot.path(&self.folder, image.offset);
            // A byte more, to see whether there is one.
            let length = image.file.length.saturating_add(1);
            let bytes = script.run(|script| script.read(&path, 0, length))?;
            let whole = bytes.len() == image.file.length as usize;
            match image.file.matching(&bytes).filter(|_| whole) {
                Some(_) if image.offset == self.image_end => {
                    self.log.snapshot = Some(image);
                    self.snapshot = Some((image.offset, bytes));
                }
                _ => mark!(RecoverySnapshotIgnored),
            }
        }
        let empty = self.sizes.iter().all(|size| *size == 0);
        self.trusted &= self.snapshot.is_some() || empty;
        if self.damage.is_some() {
            self.step = Step::End;
        } else if self.trusted && !self.scan_wanted {
            self.take_stretch(interval);
            self.step = Step::End;
        } else {
            self.begin_scan();
        }
        Ok(())
    }

    fn begin_scan(&mut self) {
        mark!(RecoveryFullScan);
        if !self.trusted {
            self.snapshot = None;
            self.log.snapshot = None;
        }
        for segment in &mut self.log.segments {
            let txn = core::mem::take(&mut segment.txn);
            *segment = Segment::new(segment.base);
            if self.trusted {
                segment.txn = txn;
            }
        }
        if self.plan.image.is_none() {
            self.log.log_end = self.log.segments.first().map_or(0, |segment| segment.base);
        }
        self.step = Step::Scan { segment: 0, position: 0, need: 0 };
    }

    /// Reads and checks the next bytes of a segment, and rebuilds its indexes.
    fn scan(
        &mut self,
        script: &mut Script,
        config: &StoreConfig,
        at: usize,
        position: u64,
        need: u64,
    ) -> Result<(), Stop> {
        let (holes, appended) = (self.holes(), &self.appended);
        let next_base = self.log.segments.get(at + 1).map(|next| next.base);
        let Some(segment) = self.log.segments.get_mut(at) else {
            self.step = Step::End;
            return Ok(());
        };
        let left = self.sizes[at].saturating_sub(position);
        let path = Kind::Log.path(&self.folder, segment.base);
        let known = holes.known;
        let first = if known { segment.base } else { self.log.log_end };
        let mut lowest = end_of(&self.tail).unwrap_or(first);
        // An empty one, so no batch of it says so.
        if position == 0 && left == 0 && !holes.admit_empty(segment.base, lowest) {
            self.bad_batch(at, 0);
            return Ok(());
        }
        if left == 0 {
            segment.written = segment.size;
            segment.durable = match &self.plan.image {
                Some(image) => image.segments.get(at).map_or(0, |image| image.size),
                None => 0,
            };
            if at + 1 < self.sizes.len() {
                segment.index_time();
            }
            self.step = Step::Scan { segment: at + 1, position: 0, need: 0 };
            return Ok(());
        }
        let length = need.max(u64::from(config.scan_chunk_bytes)).min(left);
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let mut bytes = script.run(|script| script.read(&path, position, length))?;
        let whole = bytes.len() as u64 >= u64::from(length);
        let mut next = position;
        let stop = loop {
            match Block::split_from(&mut bytes) {
                Ok(block)
                    if !holes.known
                        && holes.admit(block.header.base_offset, lowest)
                        && (appended.replace(&block, holes.cleaned_to)
                            || next_base.is_some_and(|next| block.end() > next)) =>
                {
                    // What a failed turn left. Which files are the log's nobody can tell for sure
                    // where the journal, or another file, goes on in its place.
                    self.unsure = next_base.is_some() || appended.names_places;
                    break Unreadable::Damaged;
                }
                Ok(block) if holes.admit(block.header.base_offset, lowest) => {
                    lowest = block.end();
                    segment.add(&block.header, block.size(), config.index_interval_bytes);
                    self.tail.push(summary(&block));
                    next += block.size();
                }
                Ok(_) => break Unreadable::Damaged,
                Err(stop) => break stop,
            }
        };
        let end = position.saturating_add(u64::from(length));
        let need = match stop {
            Unreadable::Short(size) => size.unwrap_or(BatchHeader::LENGTH) as u64,
            Unreadable::Damaged => u64::MAX,
        };
        let more = next == end || need <= self.sizes[at] - next;
        if whole && more && need != u64::MAX {
            self.step = Step::Scan { segment: at, position: next, need };
            return Ok(());
        }
        if next == self.sizes[at] {
            self.step = Step::Scan { segment: at, position: next, need: 0 };
            return Ok(());
        }
        self.bad_batch(at, next);
        Ok(())
    }

    /// Cuts a log without checkpoint where the journal goes on, or in its last segment; anything
    /// else is damage.
    fn bad_batch(&mut self, at: usize, position: u64) {
        let base = self.log.segments[at].base;
        let end = end_of(&self.tail).unwrap_or(base);
        // Segments that were not synced are lost in any order, and what was written behind them is
        // there. The journal has all of it, but for what lies below the log's start.
        let needed = end.max(self.log.start_in_file).max(self.start_offset());
        let continued = self.journal_begins().is_some_and(|offset| offset <= needed);
        let is_last = at + 1 == self.log.segments.len() && (position > 0 || base == end);
        if self.plan.image.is_some() || self.unsure || !(continued || is_last) {
            self.damage = Some(format!("segment {base} is damaged at byte {position}"));
            self.step = Step::End;
        } else {
            if !is_last {
                mark!(RecoveryHoleRefilled);
            }
            self.step = Step::Cut { segment: at, position };
        }
    }

    /// Shortens a log to what was read of it.
    fn cut(&mut self, script: &mut Script, at: usize, position: u64) -> Result<(), Stop> {
        let keeps = at == 0 || position > 0;
        let kept = at + usize::from(keeps);
        let (folder, segments) = (self.folder.as_str(), &self.log.segments);
        script.run(|script| {
            // From the end, so that a crash leaves no hole that was not there.
            for segment in segments[kept..].iter().rev() {
                for kind in SEGMENT_KINDS {
                    script.ask(FileOp::Remove { path: kind.path(folder, segment.base) })?;
                }
            }
            if keeps {
                let path = Kind::Log.path(folder, segments[at].base);
                script.ask(FileOp::Truncate { path, length: position })?;
            }
            Ok(())
        })?;
        mark!(RecoverySegmentCut);
        self.log.segments.truncate(kept);
        self.sizes.truncate(kept);
        if let Some(size) = self.sizes.get_mut(at) {
            *size = position;
        }
        self.step = Step::Scan { segment: at, position, need: 0 };
        Ok(())
    }

    /// Where the segments of a log without checkpoint end instead, when what is left of them leaves
    /// a hole before the log's start or before the journal's batches.
    fn end_by_journal(&self, log_end: Offset, start: Offset) -> Option<Offset> {
        let begins = self.journal_begins();
        // Only the file with the log's start said where it ends.
        let before = |from: &Offset| *from < log_end && self.journal_ends(*from) >= log_end;
        if self.tail.is_empty() && begins.as_ref().is_some_and(before) {
            return begins;
        }
        if start <= log_end || begins.is_some_and(|from| from <= log_end) {
            return None;
        }
        // What is left is older than the start, and what was behind it went before it, or is in
        // the journal: maybe a batch that the start lies in.
        let holds = |from: &Offset| *from <= start && self.journal_ends(*from) > start;
        Some(begins.filter(holds).unwrap_or(start))
    }

    /// The leader epochs as the batches of a log without checkpoint have them, the journal's too.
    fn epochs_of_batches(&self, file: &[(i32, Offset)]) -> Vec<(i32, Offset)> {
        let appended = self.plan.entries.iter().filter_map(|entry| match entry {
            Entry::Append { block, .. } => Some(&block.header),
            _ => None,
        });
        let headers = self.tail.iter().map(|batch| &batch.header).chain(appended);
        let batch = |header: &BatchHeader| {
            let behind = header.last_offset().saturating_add(1);
            (header.partition_leader_epoch, header.base_offset, behind)
        };
        epochs_that_fit(file, headers.map(batch))
    }

    fn end(&mut self) -> LogEnd {
        let mut log = self.log.clone();
        let found = self.plan.image.is_none();
        if let Some(image) = &self.plan.image {
            let end = self.tail.last().map(|last| last.header.last_offset().saturating_add(1));
            if self.damage.is_none() && end.is_some_and(|end| end != image.log_end) {
                self.damage = Some(String::from("the last batch is not the checkpoint's"));
            }
            if self.damage.is_some() {
                restore(&mut log, image, &self.sizes);
            }
        } else {
            log.log_end = end_of(&self.tail).unwrap_or(log.log_end);
            log.leader_epochs = self.epochs_of_batches(&log.leader_epochs);
            let start = log.start_in_file.max(self.start_offset());
            if let Some(end) = self.end_by_journal(log.log_end, start) {
                log.log_end = end;
                log.segments = alloc::vec![Segment::new(log.log_end)];
            }
            log.log_start = start.max(log.log_start).min(log.log_end);
            if start > log.log_start {
                // It moves there when the journal's batches are in.
                self.plan.entries.push(Entry::LogStart { id: self.plan.id, offset: start });
            }
            let placed = self.plan.placed.blocks.last().map(|block| block.at.end);
            if placed.is_some_and(|placed| placed > log.log_end) {
                self.damage.get_or_insert_with(|| String::from(PLACED_DAMAGED));
            }
            let end = log.log_end.max(self.journal_ends(log.log_end));
            if let Some(taken) = log.snapshots.last().filter(|taken| **taken > end) {
                let reason = || format!("ends at {end}, and there is a snapshot of {taken}");
                self.damage.get_or_insert_with(reason);
            }
        }
        log.offline = self.damage.is_some();
        let aborted = log.segments.iter().flat_map(Segment::aborted).collect();
        let recovered = RecoveredLog {
            id: self.plan.id,
            topic: self.plan.topic.clone(),
            log_start: log.log_start,
            log_end: log.log_end,
            snapshot: self.snapshot.take(),
            tail: {
                let mut tail = core::mem::take(&mut self.tail);
                tail.retain(|batch| !self.trusted || batch.header.base_offset >= self.image_end);
                tail
            },
            aborted,
            leader_epochs: log.leader_epochs.clone(),
        };
        let usable = !(found && self.damage.is_some());
        LogEnd {
            changed: !self.trusted || self.scan_wanted || !self.stretch.is_empty(),
            log: usable.then_some(log),
            recovered,
            entries: core::mem::take(&mut self.plan.entries),
            damage: self.damage.take(),
        }
    }
}

/// Where the batches in the journal's tail of a log begin and end.
fn in_journal(entries: &[Entry]) -> Option<(Offset, Offset)> {
    let blocks = entries.iter().filter_map(|entry| match entry {
        Entry::Append { block, .. } => Some(block),
        _ => None,
    });
    blocks.fold(None, |known, block| match known {
        None => Some((block.header.base_offset, block.end())),
        Some((begin, end)) if block.header.base_offset <= end => {
            Some((begin, block.end().max(end)))
        }
        // What does not follow is not there for this.
        Some(_) => known,
    })
}

/// Where the batches that were read end.
fn end_of(tail: &[BatchSummary]) -> Option<Offset> {
    tail.last().map(|last| last.header.last_offset().saturating_add(1))
}

/// The segments of a checkpoint that are not wholly below the log's start; the files of the others
/// may be gone already. When all are, an empty one where the checkpoint's records end.
fn live_segments(image: &LogImage, start: Offset) -> Vec<SegmentImage> {
    let segments = &image.segments;
    if start >= image.log_end && segments.iter().any(|segment| segment.size > 0) {
        return alloc::vec![SegmentImage::empty(image.log_end)];
    }
    let below = segments.windows(2).take_while(|pair| pair[1].base <= start).count();
    segments[below..].to_vec()
}

/// Puts a damaged log's segments to where the checkpoint says they end, so that the journal's tail
/// goes behind them and is kept.
fn restore(log: &mut Log, image: &LogImage, sizes: &[u64]) {
    log.segments = image
        .segments
        .iter()
        .zip(sizes)
        .map(|(image, size)| {
            let mut segment = Segment::new(image.base);
            segment.size = *size;
            segment.written = *size;
            segment.durable = image.size;
            segment.max_timestamp = image.max_timestamp;
            segment.max_timestamp_offset = image.max_timestamp_offset;
            segment.first_timestamp = image.first_timestamp;
            segment
        })
        .collect();
    log.snapshot = None;
}

/// The files that a cleaning wrote: one takes its place when the checkpoint knows of it, else it
/// goes. Returns the names that are there then.
fn end_cleaning(
    script: &mut Script,
    folder: &str,
    images: &[SegmentImage],
) -> Result<BTreeSet<String>, Stop> {
    let names = script.list(folder)?;
    let (mut found, mut replaced) = (false, false);
    for (kind, offset) in names.iter().filter_map(|name| Kind::parse_cleaned(name)) {
        let source = kind.cleaned_path(folder, offset);
        let wanted = images.iter().any(|image| image.cleaned && image.base == offset);
        (found, replaced) = (true, replaced | wanted);
        script.ask(if wanted {
            FileOp::Rename { source, target: kind.path(folder, offset) }
        } else {
            FileOp::Remove { path: source }
        })?;
    }
    if replaced {
        mark!(RecoveryCleaningEnded);
        script.ask(FileOp::SyncFolder { folder: FilePath::from(folder) })?;
    }
    let names = if found { script.list(folder)? } else { names };
    Ok(names.into_iter().collect())
}

struct LoadedSegment {
    segment: Segment,
    /// Length of the file before it was cut.
    length: u64,
    indexed: bool,
    txn_good: bool,
}

/// Reads one segment's indexes and cuts its files: these to what the checkpoint says, the batches to
/// `kept` bytes.
fn load_segment(
    script: &mut Script,
    folder: &str,
    names: &BTreeSet<String>,
    image: &SegmentImage,
    kept: u64,
) -> Result<LoadedSegment, Stop> {
    let path = Kind::Log.path(folder, image.base);
    let length = script.length(&path)?.unwrap_or(0);
    if length > kept {
        script.ask(FileOp::Truncate { path, length: kept })?;
    }
    let mut indexes = Vec::new();
    for (kind, file) in SEGMENT_KINDS[1..].iter().zip([image.index, image.time, image.txn]) {
        let path = kind.path(folder, image.base);
        let mut bytes = Bytes::new();
        if names.contains(path.name()) {
            // A byte more, to see whether there is one.
            bytes = script.read(&path, 0, file.length.saturating_add(1))?;
        }
        let good = file.matching(&bytes).map(IndexFile::read);
        if good.is_some() && bytes.len() > file.length as usize {
            script.ask(FileOp::Truncate { path, length: u64::from(file.length) })?;
        }
        indexes.push(good);
    }
    let mut indexes = indexes.into_iter();
    let mut next = || indexes.next().flatten();
    let (index, time, txn) = (next(), next(), next());
    let (indexed, txn_good) = (index.is_some() && time.is_some(), txn.is_some());
    let segment = Segment {
        base: image.base,
        size: image.size,
        written: image.size,
        durable: image.size,
        max_timestamp: image.max_timestamp,
        max_timestamp_offset: image.max_timestamp_offset,
        first_timestamp: image.first_timestamp,
        cleaned: false,
        aside: false,
        index: index.unwrap_or_default(),
        time: time.unwrap_or_default(),
        txn: txn.unwrap_or_default(),
    };
    Ok(LoadedSegment { segment, length, indexed, txn_good })
}

/// What the node is told of a batch.
pub(super) fn summary(block: &Block) -> BatchSummary {
    BatchSummary { header: block.header, marker: block.marker() }
}
