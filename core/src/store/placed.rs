//! Placed batches at a start: each place that the journal names is read and checked, and a log's
//! files are taken for what they are up to the last of them. How batches come there:
//! [`super::placing`].
//!
//! Rules:
//! * A place that does not hold its batch ends the journal with `durability=os`: that turn was not
//!   whole when the machine stopped. With `fsync` it is damage, and its log is not served.
//! * What a later turn deleted may be gone.
//! * Nothing is cut below the last placed batch, and what lies before the first one in the
//!   checkpoint's last segment is written there again from the journal: both give the same again
//!   after a crash in the middle.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::Durability;
use super::block::Block;
use super::checkpoint_file::{Image, LogImage, SegmentImage};
use super::files::{self, Kind};
use super::frame::{Entry, Frame, PlacedAt};
use super::placing::Home;
use super::recover_log::summary;
use super::recovered::BatchSummary;
use super::script::{Script, Stop};
use crate::io::{FileOp, FilePath, Lane};
use crate::types::{Offset, PartitionId, TopicId, TopicPartition};

/// A place that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PlacedBlock {
    pub(super) at: PlacedAt,
    /// The batch that is there; `None` when it need not be.
    found: Option<BatchSummary>,
}

/// The places that the journal's tail names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PlacedCheck {
    /// Those to be looked at, and the frame of each; `None` before that is known.
    to_check: Option<VecDeque<(usize, PartitionId, PlacedAt)>>,
    found: BTreeMap<PartitionId, Vec<PlacedBlock>>,
    /// Logs with a place that holds another thing.
    damaged: BTreeSet<PartitionId>,
}

/// What a log's plan is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Placed {
    pub(super) blocks: Vec<PlacedBlock>,
    pub(super) damaged: bool,
}

impl PlacedCheck {
    /// Looks at the next place, and shortens the tail to the turns that are whole. `true` when
    /// there is none left.
    pub(super) fn step(
        &mut self,
        script: &mut Script,
        tail: &mut Vec<Frame>,
        checkpoint: Option<&Image>,
        durability: Durability,
    ) -> Result<bool, Stop> {
        let to_check = self.to_check.get_or_insert_with(|| places(tail, checkpoint));
        let Some((frame, id, at)) = to_check.front().cloned() else { return Ok(true) };
        let folder = files::folder(&TopicPartition::new(at.topic.clone(), id.partition));
        let path = Kind::Log.path(&folder, at.home.segment);
        let length = u32::try_from(at.size).unwrap_or(u32::MAX);
        let bytes = script.run(|script| script.read(&path, at.home.position, length))?;
        let found = batch_at(bytes, &at);
        if found.is_none() && at.end > start_of(id, tail, checkpoint) {
            if durability == Durability::Os {
                tail.truncate(frame);
                *self = Self::default();
                return Ok(false);
            }
            self.damaged.insert(id);
        }
        to_check.pop_front();
        self.found.entry(id).or_default().push(PlacedBlock { at, found });
        Ok(false)
    }

    /// What was found of a log.
    pub(super) fn take(&mut self, id: PartitionId) -> Placed {
        let blocks = self.found.remove(&id).unwrap_or_default();
        Placed { blocks, damaged: self.damaged.contains(&id) }
    }
}

/// The places of logs that are still there at the tail's end, above what the checkpoint knows.
fn places(tail: &[Frame], checkpoint: Option<&Image>) -> VecDeque<(usize, PartitionId, PlacedAt)> {
    let mut ends: BTreeMap<PartitionId, Offset> = BTreeMap::new();
    for log in checkpoint.iter().flat_map(|image| &image.logs) {
        ends.insert(log.id, log.log_end);
    }
    let entries = || {
        let frames = tail.iter().enumerate();
        frames.flat_map(|(frame, turn)| turn.entries.iter().map(move |entry| (frame, entry)))
    };
    let mut gone: BTreeSet<PartitionId> = BTreeSet::new();
    let mut owners: BTreeMap<TopicPartition, TopicId> = BTreeMap::new();
    for (_, entry) in entries() {
        match entry {
            Entry::Delete { id } => {
                gone.insert(*id);
            }
            Entry::Create { id, topic, .. } => {
                owners.insert(TopicPartition::new(topic.clone(), id.partition), id.topic_id);
            }
            _ => {}
        }
    }
    let is_there = |id: &PartitionId, at: &PlacedAt| {
        let topic = TopicPartition::new(at.topic.clone(), id.partition);
        let known = match (ends.get(id), checkpoint) {
            (Some(end), _) => at.base_offset >= *end,
            (None, Some(_)) => false,
            (None, None) => true,
        };
        known && !gone.contains(id) && owners.get(&topic).is_none_or(|owner| *owner == id.topic_id)
    };
    entries()
        .filter_map(|(frame, entry)| match entry {
            Entry::Placed { id, at, .. } if is_there(id, at) => Some((frame, *id, at.clone())),
            _ => None,
        })
        .collect()
}

/// Where a log begins once the tail is in: what lies below may be gone.
fn start_of(id: PartitionId, tail: &[Frame], checkpoint: Option<&Image>) -> Offset {
    let moves = tail.iter().flat_map(|frame| &frame.entries).filter_map(|entry| match entry {
        Entry::LogStart { id: other, offset } if *other == id => Some(*offset),
        _ => None,
    });
    let logs = checkpoint.iter().flat_map(|image| &image.logs);
    let known = logs.filter(|log| log.id == id).map(|log| log.log_start);
    moves.chain(known).max().unwrap_or(0)
}

/// The batch that is to be there, if it is.
fn batch_at(mut bytes: Bytes, at: &PlacedAt) -> Option<BatchSummary> {
    let block = Block::split_from(&mut bytes).ok()?;
    let is_it = block.header.base_offset == at.base_offset
        && block.size() == at.size
        && block.header.crc == at.crc;
    is_it.then(|| summary(&block))
}

/// One batch behind what the checkpoint says of a log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Behind {
    home: Home,
    size: u64,
    end: Offset,
    summary: Option<BatchSummary>,
    /// To be written there again; the bytes of one that is placed are there.
    bytes: Vec<Bytes>,
}

/// What lies in a log's files behind what the checkpoint says, up to the last placed batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Stretch {
    blocks: Vec<Behind>,
}

impl Stretch {
    /// Of a log that the checkpoint knows; `None` when the batches do not follow one another.
    pub(super) fn of(
        image: &LogImage,
        entries: &[Entry],
        placed: Vec<PlacedBlock>,
    ) -> Option<Self> {
        let (Some(first), Some(last)) = (placed.first(), image.segments.last()) else {
            return Some(Self::default());
        };
        let begin = first.at.base_offset;
        let mut home = Home { segment: last.base, position: last.size };
        let mut blocks = Vec::new();
        let mut expected = image.log_end;
        for entry in entries {
            let Entry::Append { block, .. } = entry else { continue };
            let base = block.header.base_offset;
            if base < image.log_end || base >= begin {
                continue;
            }
            if base != expected {
                return None;
            }
            let (size, bytes) = (block.size(), block.bytes().cloned().collect());
            let summary = Some(summary(block));
            blocks.push(Behind { home, size, end: block.end(), summary, bytes });
            home.position = home.position.saturating_add(size);
            expected = block.end();
        }
        for PlacedBlock { at, found } in placed {
            let new = at.home == Home { segment: at.base_offset, position: 0 };
            if at.base_offset != expected || !(at.home == home || new) {
                return None;
            }
            let (size, bytes) = (at.size, Vec::new());
            blocks.push(Behind { home: at.home, size, end: at.end, summary: found, bytes });
            home = Home { position: at.home.position.saturating_add(size), ..at.home };
            expected = at.end;
        }
        Some(Self { blocks })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Offset behind the last batch.
    pub(super) fn end(&self) -> Option<Offset> {
        self.blocks.last().map(|block| block.end)
    }

    /// Adds the segments that the checkpoint does not know.
    pub(super) fn extend(&self, segments: &mut Vec<SegmentImage>) {
        for block in &self.blocks {
            if segments.last().is_none_or(|last| last.base < block.home.segment) {
                segments.push(SegmentImage::empty(block.home.segment));
            }
        }
    }

    /// Bytes of a segment, of which the checkpoint knows `known`.
    pub(super) fn size_of(&self, segment: Offset, known: u64) -> u64 {
        let ends = self.blocks.iter().filter(|block| block.home.segment == segment);
        ends.map(|block| block.home.position.saturating_add(block.size)).max().unwrap_or(known)
    }

    /// Writes again what the journal holds of it.
    pub(super) fn write(
        &self,
        script: &mut Script,
        folder: &str,
        segments: &[SegmentImage],
    ) -> Result<(), Stop> {
        for block in self.blocks.iter().filter(|block| !block.bytes.is_empty()) {
            if segments.iter().all(|segment| segment.base != block.home.segment) {
                continue;
            }
            let path: FilePath = Kind::Log.path(folder, block.home.segment);
            script.ask(FileOp::Write {
                path,
                position: block.home.position,
                data: block.bytes.clone(),
                sync: false,
                lane: Lane::Data,
            })?;
        }
        Ok(())
    }

    /// The batches of a segment, in order.
    pub(super) fn in_segment(
        &self,
        segment: Offset,
    ) -> impl Iterator<Item = (u64, Result<&BatchSummary, String>)> {
        self.blocks.iter().filter(move |block| block.home.segment == segment).map(|block| {
            let lost = || format!("the batch before {} is not where the journal says", block.end);
            (block.size, block.summary.as_ref().ok_or_else(lost))
        })
    }
}
