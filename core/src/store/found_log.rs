//! A log's files, read for what they say without a checkpoint: it was lost, or the folder was put
//! there by somebody else.

use alloc::vec::Vec;

use super::block::Block;
use super::files::{self, Kind};
use super::frame::Entry;
use super::recovery::SEGMENT_KINDS;
use super::script::{Script, Stop};
use crate::io::FileOp;
use crate::mark;
use crate::types::Offset;

/// Bytes of a small text file that are read at most.
const SMALL_FILE_BYTES_MAX: u32 = 256 << 20;

/// What the folder of a log says that no checkpoint knows.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Base offsets and lengths, ascending.
    pub(super) segments: Vec<(Offset, u64)>,
    /// Where the first of them begins. Without any, where the log goes on.
    pub(super) begin: Offset,
    pub(super) leader_epochs: Vec<(i32, Offset)>,
    pub(super) cleaned_to: Offset,
    /// 0 when no file says it.
    pub(super) log_start: Offset,
}

impl Found {
    /// Reads what there is. `bases` are those of the segment files, ascending; the journal moves
    /// the log's start to `start`, and its first batch of the log begins at `journal`.
    pub(super) fn read(
        script: &mut Script,
        folder: &str,
        mut bases: Vec<Offset>,
        start: Offset,
        journal: Option<Offset>,
    ) -> Result<Self, Stop> {
        let mut read =
            |name: &str| script.read_all(&files::in_folder(folder, name), SMALL_FILE_BYTES_MAX);
        let epochs = read(files::LEADER_EPOCHS)?;
        let mut offset = |name: &str| -> Result<Offset, Stop> {
            Ok(read(name)?.and_then(|text| files::parse_one_offset(&text)).unwrap_or(0).max(0))
        };
        let (cleaned_to, log_start) = (offset(files::CLEANED_TO)?, offset(files::LOG_START)?);
        // Below the start, and maybe with holes: removals too are lost in any order.
        let start = start.max(log_start);
        let below = bases.windows(2).take_while(|pair| pair[1] <= start).count();
        let mut gone: Vec<Offset> = bases.drain(..below).collect();
        let mut begin = bases.first().copied().unwrap_or_else(|| {
            mark!(RecoveryStartFromFile);
            log_start
        });
        if let Some(journal) = journal.filter(|journal| start < begin && *journal < begin) {
            // Files that were not synced are lost in any order: the first ones may be gone and
            // those behind them there. No checkpoint came since, so the journal has all of it.
            mark!(RecoveryHoleRefilled);
            begin = journal;
            gone.append(&mut bases);
        }
        // From the end, so that a crash leaves no hole that was not there.
        for base in gone.into_iter().rev() {
            for kind in SEGMENT_KINDS {
                script.ask(FileOp::Remove { path: kind.path(folder, base) })?;
            }
        }
        let mut segments = Vec::new();
        for base in bases {
            segments.push((base, script.length(&Kind::Log.path(folder, base))?.unwrap_or(0)));
        }
        Ok(Self {
            segments,
            begin,
            leader_epochs: epochs.and_then(|t| files::parse_leader_epochs(&t)).unwrap_or_default(),
            cleaned_to,
            log_start,
        })
    }
}

/// The leader epochs of a log whose batches say `batches`: the epoch, base offset and the offset
/// behind the last record of each, ascending. Of what the file says only that is believed which
/// fits them: where an epoch began whose first records a cleaning took, and what went before the
/// batches. A file cannot tell that it is damaged when its numbers still read well.
pub(super) fn epochs_that_fit(
    file: &[(i32, Offset)],
    batches: impl Iterator<Item = (i32, Offset, Offset)>,
) -> Vec<(i32, Offset)> {
    let mut epochs: Vec<(i32, Offset)> = Vec::new();
    let mut end = None;
    for (epoch, base, behind) in batches {
        let newest = epochs.last().map(|(newest, _)| *newest);
        if end.is_none() {
            let before = file.iter().take_while(|(known, at)| *known < epoch && *at <= base);
            epochs.extend(before);
        }
        if newest.is_none_or(|newest| newest < epoch) && epoch >= 0 {
            let fits = |at: &Offset| end.unwrap_or(Offset::MIN) <= *at && *at <= base;
            let said = file.iter().find(|(known, at)| *known == epoch && fits(at));
            epochs.push((epoch, said.map_or(base, |(_, at)| *at)));
        }
        end = Some(behind);
    }
    if end.is_none() { file.to_vec() } else { epochs }
}

/// The batches of a log that the journal speaks of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct InJournal {
    /// Base offset, offset behind the last record, and CRC, ascending.
    batches: Vec<(Offset, Offset, u32)>,
    /// Whether it only names the places of some.
    pub(super) names_places: bool,
}

impl InJournal {
    /// Of these entries.
    pub(super) fn of(entries: &[Entry]) -> Self {
        let appended = entries.iter().filter_map(|entry| match entry {
            Entry::Append { block, .. } => {
                Some((block.header.base_offset, block.end(), block.header.crc))
            }
            Entry::Placed { at, .. } => Some((at.base_offset, at.end, at.crc)),
            _ => None,
        });
        let names_places = entries.iter().any(|entry| matches!(entry, Entry::Placed { .. }));
        Self { batches: appended.collect(), names_places }
    }

    /// Whether the journal speaks of another batch where a file has this one. Then this one's turn
    /// failed after it had been placed, and it is not the log's. Below `cleaned_to` a cleaning may have
    /// written it anew.
    pub(super) fn replace(&self, block: &Block, cleaned_to: Offset) -> bool {
        let header = &block.header;
        let at = self.batches.partition_point(|(_, end, _)| *end <= header.base_offset);
        header.base_offset >= cleaned_to
            && self.batches.get(at).is_some_and(|(base, _, crc)| {
                *base < block.end() && (*base, *crc) != (header.base_offset, header.crc)
            })
    }
}

/// Where there may be holes between a log's batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holes {
    /// A checkpoint says which segments there are: what is missing between them was cleaned.
    pub(super) known: bool,
    /// Below, a cleaning may have left holes.
    pub(super) cleaned_to: Offset,
    /// What the journal has all of, from the first batch up to the end.
    pub(super) journal: Option<(Offset, Offset)>,
}

impl Holes {
    /// Whether a batch at `base` may be the next one where `expected` is. Without a checkpoint
    /// nobody knows which segments there were: a hole that no cleaning left is what is missing of
    /// them. Nor does anybody know who left one below `cleaned_to`: that is noted before the
    /// cleaning counts, and also there segments that were not synced, or whose removal was not,
    /// are lost in any order. What the journal can fill is filled (seed 467335): at worst that
    /// undoes a part of a cleaning.
    pub(super) fn admit(self, base: Offset, expected: Offset) -> bool {
        base == expected || (base > expected && (self.known || self.cleaned(base, expected)))
    }

    /// The same of a segment without batches, which may begin where the cleaning ended.
    pub(super) fn admit_empty(self, base: Offset, expected: Offset) -> bool {
        Self { cleaned_to: self.cleaned_to.saturating_add(1), ..self }.admit(base, expected)
    }

    fn cleaned(self, base: Offset, expected: Offset) -> bool {
        let filled = self.journal.is_some_and(|(begin, end)| begin <= expected && base <= end);
        base < self.cleaned_to && !filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Epoch 1 in 0 to 9, epoch 4 in 12 to 19: the records of 10 and 11 were cleaned.
    const BATCHES: [(i32, Offset, Offset); 3] = [(1, 0, 5), (1, 5, 10), (4, 12, 20)];

    fn told(file: &[(i32, Offset)]) -> Vec<(i32, Offset)> {
        epochs_that_fit(file, BATCHES.into_iter())
    }

    #[test]
    fn an_epoch_begins_where_the_file_says_when_its_first_records_were_cleaned() {
        assert_eq!(told(&[(1, 0), (4, 10)]), [(1, 0), (4, 10)]);
        assert_eq!(told(&[(1, 0), (4, 12)]), [(1, 0), (4, 12)]);
    }

    #[test]
    fn epochs_of_a_damaged_file_are_not_those_of_the_batches() {
        for file in [&[][..], &[(9, 0)], &[(1, 3), (4, 13)], &[(1, 0), (4, 9)], &[(2, 0), (4, 30)]]
        {
            assert_eq!(told(file), [(1, 0), (4, 12)], "{file:?}");
        }
    }

    #[test]
    fn what_went_before_the_batches_is_known_from_the_file_alone() {
        assert_eq!(epochs_that_fit(&[(0, 3), (2, 8)], [].into_iter()), [(0, 3), (2, 8)]);
        let behind = [(3, 20, 25)];
        assert_eq!(
            epochs_that_fit(&[(0, 3), (2, 8), (3, 15)], behind.into_iter()),
            [(0, 3), (2, 8), (3, 15)]
        );
    }

    #[test]
    fn a_hole_is_one_that_a_cleaning_left_and_nothing_can_fill() {
        const NONE: Option<(Offset, Offset)> = None;
        // Known, cleaned to, the journal's, next batch, where it should be; of a batch, of an
        // empty segment.
        for (known, cleaned_to, journal, base, expected, batch, empty) in [
            (false, 0, NONE, 5, 5, true, true),
            (true, 0, NONE, 5, 5, true, true),
            (true, 0, NONE, 6, 5, true, true),
            (true, 9, NONE, 4, 5, false, false),
            (false, 9, NONE, 4, 5, false, false),
            (false, 0, NONE, 6, 5, false, false),
            (false, 9, NONE, 6, 5, true, true),
            (false, 9, NONE, 8, 5, true, true),
            (false, 9, NONE, 9, 5, false, true),
            (false, 9, NONE, 10, 5, false, false),
            (false, 9, Some((5, 8)), 8, 5, false, false),
            (false, 9, Some((5, 7)), 8, 5, true, true),
            (false, 9, Some((6, 8)), 8, 5, true, true),
            (false, 9, Some((0, 20)), 8, 5, false, false),
            (true, 9, Some((0, 20)), 8, 5, true, true),
        ] {
            let holes = Holes { known, cleaned_to, journal };
            let case = (holes, base, expected);
            assert_eq!(holes.admit(base, expected), batch, "{case:?}");
            assert_eq!(holes.admit_empty(base, expected), empty, "{case:?}");
        }
    }
}
