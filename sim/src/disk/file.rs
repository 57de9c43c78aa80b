//! One simulated file: what the page cache shows, what the platter holds, and the sectors between.

use bytes::Bytes;

use crate::choices::{Choices, Label};

/// The unit that a crash keeps, drops or tears.
pub(super) const SECTOR: usize = 512;

/// A file's contents.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    /// What reads see.
    cached: Vec<u8>,
    /// What a crash cannot take.
    durable: Vec<u8>,
    /// Sectors that were written since the last sync. The others are on the platter as they are
    /// in the cache, or else it [may differ](Self::may_differ).
    dirty: Sectors,
    /// A sync has failed, or one that was overtaken by another length has ended: sectors that look
    /// clean may differ from the platter.
    may_differ: bool,
    /// How often all of it was made durable at once.
    synced: u64,
}

/// A set of sectors, a bit each.
#[derive(Clone, Debug, Default)]
struct Sectors(Vec<u64>);

impl Sectors {
    fn insert(&mut self, from: usize, to: usize) {
        if self.0.len() <= to / 64 {
            self.0.resize(to / 64 + 1, 0);
        }
        for sector in from..=to {
            self.0[sector / 64] |= 1 << (sector % 64);
        }
    }

    fn contains(&self, sector: usize) -> bool {
        self.0.get(sector / 64).is_some_and(|word| word & (1 << (sector % 64)) != 0)
    }

    fn remove(&mut self, sector: usize) {
        if let Some(word) = self.0.get_mut(sector / 64) {
            *word &= !(1 << (sector % 64));
        }
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Ascending.
    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let mut left = word;
            core::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit)
            })
        })
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// The sectors that a sync is to write, as they were when it was asked for.
#[derive(Clone, Debug)]
pub(super) struct Unsynced {
    /// Its new length, when that is not durable.
    length: Option<usize>,
    sectors: Vec<(usize, Vec<u8>)>,
    /// [`Contents::synced`] then.
    synced: u64,
}

impl Contents {
    pub(super) fn len(&self) -> usize {
        self.cached.len()
    }

    pub(super) fn durable(&self) -> &[u8] {
        &self.durable
    }

    pub(super) fn read(&self, position: usize, length: usize) -> &[u8] {
        let end = position.saturating_add(length).min(self.cached.len());
        self.cached.get(position..end).unwrap_or(&[])
    }

    fn write(&mut self, position: usize, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        let end = position + data.len();
        let gap_from = self.cached.len().min(position);
        if self.cached.len() < end {
            self.cached.resize(end, 0);
        }
        self.cached[position..end].copy_from_slice(data);
        self.touch(gap_from, end);
    }

    /// Writes parts one behind the other, up to so many bytes.
    pub(super) fn write_all(&mut self, mut position: usize, data: &[Bytes], mut most: usize) {
        for part in data {
            let taken = part.len().min(most);
            self.write(position, &part[..taken]);
            position += taken;
            most -= taken;
        }
    }

    pub(super) fn set_len(&mut self, length: usize) {
        let from = self.cached.len().min(length);
        let to = self.cached.len().max(length);
        self.cached.resize(length, 0);
        self.touch(from, to);
    }

    fn touch(&mut self, from: usize, to: usize) {
        if from < to {
            self.dirty.insert(from / SECTOR, (to - 1) / SECTOR);
        }
    }

    /// Makes everything durable.
    pub(super) fn sync(&mut self) {
        self.durable.resize(self.cached.len(), 0);
        for sector in self.dirty.iter() {
            let from = (sector * SECTOR).min(self.cached.len());
            let to = (from + SECTOR).min(self.cached.len());
            self.durable[from..to].copy_from_slice(&self.cached[from..to]);
        }
        self.dirty.clear();
        self.synced += 1;
    }

    /// What a sync would write now.
    pub(super) fn unsynced(&self) -> Unsynced {
        let sectors = self.dirty.iter().map(|sector| (sector, self.sector(sector).to_vec()));
        let length = self.cached.len();
        let length = (length != self.durable.len()).then_some(length);
        Unsynced { length, sectors: sectors.collect(), synced: self.synced }
    }

    fn sector(&self, sector: usize) -> &[u8] {
        let from = (sector * SECTOR).min(self.cached.len());
        &self.cached[from..(from + SECTOR).min(self.cached.len())]
    }

    /// Makes durable what was unsynced at a moment; what changed since stays to be synced.
    pub(super) fn sync_as_of(&mut self, then: &Unsynced) {
        if then.synced != self.synced {
            // A later sync has ended before it, with all that it covers: that is not undone.
            return;
        }
        if let Some(length) = then.length {
            self.durable.resize(length, 0);
            self.may_differ |= length != self.cached.len();
        }
        for (sector, bytes) in &then.sectors {
            let sector = *sector;
            if !self.dirty.contains(sector) {
                continue;
            }
            let from = sector * SECTOR;
            if let Some(place) = self.durable.get_mut(from..from + bytes.len()) {
                place.copy_from_slice(bytes);
            } else {
                self.may_differ = true;
            }
            if self.sector(sector) == bytes {
                self.dirty.remove(sector);
            }
        }
    }

    /// A failed sync: nothing became durable, and the pages look clean, so that no later sync
    /// will write them again.
    pub(super) fn fail_sync(&mut self) {
        self.dirty.clear();
        self.may_differ = true;
    }

    /// Changes the durable bytes.
    pub(super) fn change(&mut self, edit: impl FnOnce(&mut [u8])) {
        edit(&mut self.durable);
        self.cached.clone_from(&self.durable);
    }

    pub(super) fn turn_a_bit(&mut self, choices: &mut impl Choices) {
        let at = choices.below(Label::Damage, self.durable.len() as u32) as usize;
        let bit = choices.below(Label::Damage, 8);
        self.change(|bytes| {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
        });
    }

    /// Cuts the file or turns a bit of it.
    pub(super) fn damage(&mut self, choices: &mut impl Choices) {
        let length = self.durable.len() as u32;
        let at = choices.below(Label::Damage, length) as usize;
        if choices.below(Label::Damage, 2) == 1 {
            self.durable.truncate(at);
            self.cached.clone_from(&self.durable);
        } else {
            self.turn_a_bit(choices);
        }
    }

    /// A crash: of the unsynced length and of every unsynced sector, keeps, drops or tears.
    pub(super) fn crash(&mut self, choices: &mut impl Choices) {
        let dirty = core::mem::take(&mut self.dirty);
        if !dirty.is_empty() || self.durable.len() != self.cached.len() {
            let length = match choices.below(Label::CrashLength, 3) {
                0 => self.durable.len(),
                1 => self.cached.len(),
                _ => (self.durable.len() + self.cached.len()) / 2,
            };
            self.durable.resize(length, 0);
            for sector in dirty.iter() {
                self.crash_sector(sector, choices);
            }
            self.cached.resize(length, 0);
        }
        if core::mem::take(&mut self.may_differ) {
            self.cached.clone_from(&self.durable);
        } else {
            for sector in dirty.iter() {
                let from = (sector * SECTOR).min(self.durable.len());
                let to = (from + SECTOR).min(self.durable.len());
                self.cached[from..to].copy_from_slice(&self.durable[from..to]);
            }
        }
    }

    /// What a crash leaves of an unsynced sector.
    fn crash_sector(&mut self, sector: usize, choices: &mut impl Choices) {
        let from = sector * SECTOR;
        let to = (from + SECTOR).min(self.cached.len()).min(self.durable.len());
        if from >= to {
            return;
        }
        let kept = match choices.below(Label::CrashSector, 4) {
            0 => 0,
            1 | 2 => to - from,
            _ => (to - from) / 2,
        };
        self.durable[from..from + kept].copy_from_slice(&self.cached[from..from + kept]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_come_back_in_their_order() {
        let mut sectors = Sectors::default();
        assert!(sectors.is_empty());
        for (from, to) in [(130, 130), (0, 1), (63, 64), (1, 2)] {
            sectors.insert(from, to);
        }
        assert_eq!(sectors.iter().collect::<Vec<_>>(), [0, 1, 2, 63, 64, 130]);
        sectors.remove(63);
        assert!(sectors.contains(64) && !sectors.contains(63) && !sectors.contains(9_999));
        sectors.clear();
        assert!(sectors.is_empty());
    }
}
