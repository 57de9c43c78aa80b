//! The journal: turns become durable here, in order, many with one write.
//!
//! Rules: one write in flight; turns that end meanwhile go into the next. Two files used in turn;
//! a file is used again only after a checkpoint that covers all of it. After a failed write every
//! turn that is not persisted fails, and the next one is written to the same place (see
//! [`super::frame`] for why what is left of the failed one is harmless). After a failed sync
//! nothing is written any more: what the sync was to make durable may be lost although a later
//! one succeeds.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use bytes::Bytes;

use super::frame::{self, Entry, Place};
use super::placing::Placing;
use super::{StorageError, TurnId};

/// One of the two files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct JournalFile {
    generation: u64,
    /// Where the next frame goes.
    end: u64,
    /// The last persisted turn in it; 0 when there is none.
    last: u64,
    /// Whether it holds turns that no checkpoint covers.
    needed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Turn {
    sequence: u64,
    entries: Vec<Entry>,
    bytes: u64,
}

/// A write to be emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JournalWrite {
    /// 0 or 1.
    pub(super) file: usize,
    pub(super) position: u64,
    pub(super) data: Vec<Bytes>,
    /// Whether this is the first write after the other file was left.
    pub(super) switched: bool,
}

/// The journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Journal {
    file_bytes: u64,
    files: [JournalFile; 2],
    active: usize,
    generation: u64,
    /// Recovery's checkpoint is durable and both files may be written over.
    ready: bool,
    next_turn: u64,
    persisted: u64,
    open: Vec<Entry>,
    open_bytes: u64,
    waiting: VecDeque<Turn>,
    waiting_bytes: u64,
    writing: Option<Vec<Turn>>,
    writing_end: u64,
    /// Turns from this one on fail as soon as those before it have ended.
    doomed: Option<(u64, StorageError)>,
    /// The node is being told of the doomed turns. Until it has taken that in, what it appends
    /// builds on them, and fails with them.
    told: bool,
    /// Whether its frames may name places in segments.
    names_places: bool,
    /// A write has failed since the last good one, and may have left whole frames. They may name
    /// places, so a frame without entries, of this sequence, goes over them before anything goes to
    /// those places.
    cover: Option<u64>,
    faulted: Option<StorageError>,
}

impl Journal {
    /// A journal that is not to be written yet.
    pub(super) fn new(file_bytes: u64, names_places: bool) -> Self {
        Self {
            file_bytes,
            names_places,
            files: [JournalFile::default(); 2],
            active: 1,
            generation: 0,
            ready: false,
            next_turn: 1,
            persisted: 0,
            open: Vec::new(),
            open_bytes: frame::HEADER_BYTES,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            writing: None,
            writing_end: 0,
            doomed: None,
            told: false,
            cover: None,
            faulted: None,
        }
    }

    /// Goes on after what recovery found. Both files are needed until a checkpoint says otherwise.
    pub(super) fn recovered(&mut self, generation: u64, persisted: u64, next_turn: u64) {
        self.generation = generation;
        self.persisted = persisted;
        self.next_turn = next_turn.max(persisted.saturating_add(1));
        for file in &mut self.files {
            *file = JournalFile { generation, end: self.file_bytes, last: persisted, needed: true };
        }
    }

    /// Bytes a turn may have in the journal.
    pub(super) const fn max_turn_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Bytes the open turn takes so far.
    pub(super) const fn turn_bytes(&self) -> u64 {
        self.open_bytes
    }

    /// The last persisted turn; 0 when there is none.
    pub(super) const fn persisted(&self) -> u64 {
        self.persisted
    }

    /// Highest generation given to a file.
    pub(super) const fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether a turn is not persisted yet.
    pub(super) fn is_busy(&self) -> bool {
        self.writing.is_some() || !self.waiting.is_empty()
    }

    /// Adds to the open turn.
    pub(super) fn push(&mut self, entry: Entry) {
        self.open_bytes = self.open_bytes.saturating_add(entry.size());
        self.open.push(entry);
    }

    /// Ends the open turn. Turns that cannot be held are failed, after those before them.
    pub(super) fn end_turn(&mut self) -> Option<TurnId> {
        if self.open.is_empty() {
            return None;
        }
        let sequence = self.next_turn;
        self.next_turn += 1;
        let bytes = core::mem::replace(&mut self.open_bytes, frame::HEADER_BYTES);
        let entries = core::mem::take(&mut self.open);
        if self.doomed.is_none() {
            if let Some(error) = self.faulted {
                self.doomed = Some((sequence, error));
            } else if bytes > self.max_turn_bytes() {
                self.doomed = Some((sequence, StorageError::TurnTooLarge));
            } else if self.waiting_bytes.saturating_add(bytes) > self.held_bytes_max() {
                self.doomed = Some((sequence, StorageError::JournalFull));
            }
        }
        if self.doomed.is_none() {
            self.waiting_bytes += bytes;
            self.waiting.push_back(Turn { sequence, entries, bytes });
        }
        Some(TurnId(sequence))
    }

    /// Bytes of turns that may wait: as much as one file.
    const fn held_bytes_max(&self) -> u64 {
        self.file_bytes
    }

    /// The next write, when none is in flight and there is room. What `placing` places goes to its
    /// segment before.
    pub(super) fn next_write(
        &mut self,
        max_bytes: u64,
        placing: &mut Placing<'_>,
    ) -> Option<JournalWrite> {
        if !self.ready || self.writing.is_some() || self.faulted.is_some() {
            return None;
        }
        let first = self.waiting.front()?.bytes;
        let switched = self.make_room(first)?;
        let (active, mut previous) = (self.files[self.active], self.persisted);
        let mut turns = match self.cover {
            Some(sequence) => alloc::vec![Turn { sequence, entries: Vec::new(), bytes: 0 }],
            None => self.next_group(active.end, max_bytes),
        };
        for turn in &turns {
            placing.look(&turn.entries);
        }
        let (mut data, mut end) = (Vec::new(), active.end);
        for turn in &mut turns {
            placing.place(&mut turn.entries);
            let generation = active.generation;
            let place = Place { generation, sequence: turn.sequence, previous };
            frame::encode(place, &turn.entries, &mut data);
            previous = turn.sequence;
            let bytes: u64 = turn.entries.iter().map(Entry::size).sum();
            end = end.saturating_add(frame::HEADER_BYTES + bytes);
        }
        self.writing = Some(turns);
        self.writing_end = end;
        Some(JournalWrite { file: self.active, position: active.end, data, switched })
    }

    /// Takes out the turns that go into one write, as if nothing of them were placed.
    fn next_group(&mut self, begin: u64, max_bytes: u64) -> Vec<Turn> {
        let (mut turns, mut end) = (Vec::new(), begin);
        while let Some(turn) = self.waiting.front() {
            let next = end.saturating_add(turn.bytes);
            let grouped = next - begin > max_bytes && !turns.is_empty();
            if next > self.file_bytes || grouped {
                break;
            }
            let turn = self.waiting.pop_front().expect("front() was Some");
            self.waiting_bytes -= turn.bytes;
            turns.push(turn);
            end = next;
        }
        turns
    }

    /// Makes the active file one that has room for a frame; `None` when neither has.
    fn make_room(&mut self, bytes: u64) -> Option<bool> {
        let active = self.files[self.active];
        let fits = active.end.saturating_add(bytes) <= self.file_bytes;
        // A covered file is left even if it has room: a checkpoint begins a new use.
        if fits && (active.needed || active.end == 0) && active.generation > 0 {
            return Some(false);
        }
        let other = 1 - self.active;
        if self.files[other].needed {
            return None;
        }
        self.generation += 1;
        self.files[other] =
            JournalFile { generation: self.generation, end: 0, last: 0, needed: false };
        self.active = other;
        Some(true)
    }

    /// Whether turns wait for a checkpoint to free a file.
    pub(super) fn is_stalled(&self) -> bool {
        let Some(first) = self.waiting.front() else { return false };
        let active = self.files[self.active];
        self.ready
            && self.writing.is_none()
            && self.faulted.is_none()
            && active.end.saturating_add(first.bytes) > self.file_bytes
            && self.files[1 - self.active].needed
    }

    /// Whether more than half of it is not covered by a checkpoint.
    pub(super) fn is_half_full(&self) -> bool {
        let needed = |file: &JournalFile| if file.needed { file.end } else { 0 };
        needed(&self.files[0]).saturating_add(needed(&self.files[1])) > self.file_bytes
    }

    /// The write in flight is done: its entries, in order.
    pub(super) fn write_done(&mut self) -> Vec<Entry> {
        let turns = self.writing.take().unwrap_or_default();
        self.cover = None;
        let file = &mut self.files[self.active];
        file.end = self.writing_end;
        if let Some(last) = turns.last() {
            self.persisted = last.sequence;
            file.last = last.sequence;
            file.needed = true;
        }
        if let Some(error) = self.faulted {
            self.fail(error);
        }
        turns.into_iter().flat_map(|turn| turn.entries).collect()
    }

    /// The write in flight failed, or what waits has no room: everything not persisted fails.
    pub(super) fn fail(&mut self, error: StorageError) {
        if self.told {
            // Nothing was taken in since.
            return;
        }
        let first = self.persisted.saturating_add(1);
        let any = self.writing.is_some() || !self.waiting.is_empty() || self.doomed.is_some();
        self.writing = None;
        self.waiting.clear();
        self.waiting_bytes = 0;
        if any {
            // The turns in the write have numbers from `first` on or above it; none lies below.
            self.doomed = Some((first, error));
        }
    }

    /// Nothing is written any more.
    pub(super) fn fault(&mut self, error: StorageError) {
        self.faulted = Some(error);
        if self.writing.is_none() {
            self.fail(error);
        }
    }

    /// The turns that fail now, because everything before them has ended.
    pub(super) fn take_failed(&mut self) -> Option<(TurnId, StorageError)> {
        if self.is_busy() || self.told {
            return None;
        }
        let (from, error) = self.doomed?;
        self.told = true;
        Some((TurnId(from), error))
    }

    /// The node knows of the turns that [`Journal::take_failed`] named: the next one counts again.
    pub(super) fn failure_taken_in(&mut self) {
        self.doomed = None;
        self.told = false;
        if self.names_places {
            self.cover = Some(self.next_turn);
            self.next_turn += 1;
        }
    }

    /// Forgets what the open turn was to hold.
    pub(super) fn discard_open_turn(&mut self) {
        self.open.clear();
        self.open_bytes = frame::HEADER_BYTES;
    }

    /// A checkpoint of everything up to `sequence` is durable.
    pub(super) fn checkpointed(&mut self, sequence: u64) {
        self.ready = true;
        let busy = self.writing.is_some().then_some(self.active);
        for (i, file) in self.files.iter_mut().enumerate() {
            if file.last <= sequence && busy != Some(i) {
                file.needed = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::PartitionId;

    /// A turn of 65 bytes.
    fn turn(journal: &mut Journal) -> Option<TurnId> {
        journal.push(Entry::LogStart { id: PartitionId::METADATA, offset: 0 });
        journal.end_turn()
    }

    fn ready(file_bytes: u64) -> Journal {
        let mut journal = Journal::new(file_bytes, false);
        journal.checkpointed(0);
        journal
    }

    fn write(journal: &mut Journal) -> Option<(usize, u64)> {
        let logs = alloc::collections::BTreeMap::new();
        let mut placing = Placing::new(&logs, u64::MAX);
        journal.next_write(1 << 20, &mut placing).map(|write| (write.file, write.position))
    }

    #[test]
    fn turns_that_end_during_a_write_go_into_the_next_one() {
        let mut journal = ready(1000);
        assert_eq!(journal.end_turn(), None, "a turn without changes is none");
        assert_eq!(turn(&mut journal), Some(TurnId(1)));
        assert_eq!(write(&mut journal), Some((0, 0)));
        turn(&mut journal);
        turn(&mut journal);
        assert_eq!(write(&mut journal), None);
        assert_eq!(journal.write_done().len(), 1);
        assert_eq!(write(&mut journal), Some((0, 65)));
        assert_eq!(journal.write_done().len(), 2);
        assert_eq!(journal.persisted(), 3);
    }

    #[test]
    fn files_alternate_and_a_full_journal_waits_for_a_checkpoint() {
        let mut journal = ready(100);
        for (file, position) in [(0, 0), (1, 0)] {
            turn(&mut journal);
            assert_eq!(write(&mut journal), Some((file, position)));
            journal.write_done();
        }
        assert!(journal.is_half_full());
        turn(&mut journal);
        assert_eq!(write(&mut journal), None);
        assert!(journal.is_stalled());
        journal.checkpointed(1);
        assert_eq!(write(&mut journal), Some((0, 0)), "turn 1 was covered, turn 2 is not");
        assert_eq!(journal.generation(), 3);
    }

    #[test]
    fn a_turn_that_ends_before_the_node_knows_of_a_failure_fails_with_it() {
        let mut journal = ready(1000);
        turn(&mut journal);
        write(&mut journal);
        journal.fail(StorageError::NoSpace);
        assert_eq!(journal.take_failed(), Some((TurnId(1), StorageError::NoSpace)));
        assert_eq!(turn(&mut journal), Some(TurnId(2)), "made on top of turn 1");
        assert_eq!(write(&mut journal), None);
        assert_eq!(journal.take_failed(), None, "the node will take back turn 2 with turn 1");
        journal.failure_taken_in();
        turn(&mut journal);
        assert_eq!(write(&mut journal), Some((0, 0)));
        journal.write_done();
        assert_eq!(journal.persisted(), 3);
    }

    #[test]
    fn a_failed_write_fails_all_that_is_not_persisted_and_the_place_is_used_again() {
        let mut journal = ready(1000);
        turn(&mut journal);
        write(&mut journal);
        journal.write_done();
        turn(&mut journal);
        write(&mut journal);
        turn(&mut journal);
        journal.fail(StorageError::NoSpace);
        assert_eq!(journal.take_failed(), Some((TurnId(2), StorageError::NoSpace)));
        journal.failure_taken_in();
        assert_eq!(turn(&mut journal), Some(TurnId(4)));
        assert_eq!(write(&mut journal), Some((0, 65)));
    }

    #[test]
    fn a_turn_that_cannot_be_held_fails_after_those_before_it() {
        let mut journal = ready(70);
        turn(&mut journal);
        write(&mut journal);
        turn(&mut journal);
        assert_eq!(turn(&mut journal), Some(TurnId(3)), "one file's worth waits already");
        assert_eq!(journal.take_failed(), None);
        journal.write_done();
        write(&mut journal);
        assert_eq!(turn(&mut journal), Some(TurnId(4)), "fails with the one before it");
        assert_eq!(journal.take_failed(), None);
        journal.write_done();
        assert_eq!(journal.take_failed(), Some((TurnId(3), StorageError::JournalFull)));
    }

    #[test]
    fn after_a_fault_every_turn_fails() {
        let mut journal = ready(1000);
        turn(&mut journal);
        write(&mut journal);
        journal.fail(StorageError::Io);
        journal.fault(StorageError::Faulted);
        assert_eq!(journal.take_failed(), Some((TurnId(1), StorageError::Faulted)));
        journal.failure_taken_in();
        turn(&mut journal);
        assert_eq!(write(&mut journal), None);
        assert_eq!(journal.take_failed(), Some((TurnId(2), StorageError::Faulted)));
    }
}
