//! One simulated file: what the page cache shows, what the platter holds, and the sectors between.

use std::collections::{BTreeMap, BTreeSet};

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
    /// Sectors that were written since the last sync.
    dirty: BTreeSet<u32>,
}

/// The sectors that a sync is to write, as they were when it was asked for.
#[derive(Clone, Debug)]
pub(super) struct Unsynced {
    /// Its new length, when that is not durable.
    length: Option<usize>,
    sectors: BTreeMap<u32, Vec<u8>>,
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

    pub(super) fn write(&mut self, position: usize, data: &[u8]) {
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

    pub(super) fn set_len(&mut self, length: usize) {
        let from = self.cached.len().min(length);
        let to = self.cached.len().max(length);
        self.cached.resize(length, 0);
        self.touch(from, to);
    }

    fn touch(&mut self, from: usize, to: usize) {
        if from < to {
            self.dirty.extend((from / SECTOR) as u32..=((to - 1) / SECTOR) as u32);
        }
    }

    /// Makes everything durable.
    pub(super) fn sync(&mut self) {
        self.durable.resize(self.cached.len(), 0);
        for &sector in &self.dirty {
            let from = (sector as usize * SECTOR).min(self.cached.len());
            let to = (from + SECTOR).min(self.cached.len());
            self.durable[from..to].copy_from_slice(&self.cached[from..to]);
        }
        self.dirty.clear();
    }

    /// What a sync would write now.
    pub(super) fn unsynced(&self) -> Unsynced {
        let sectors = self.dirty.iter().map(|&sector| (sector, self.sector(sector).to_vec()));
        let length = self.cached.len();
        let length = (length != self.durable.len()).then_some(length);
        Unsynced { length, sectors: sectors.collect() }
    }

    fn sector(&self, sector: u32) -> &[u8] {
        let from = (sector as usize * SECTOR).min(self.cached.len());
        &self.cached[from..(from + SECTOR).min(self.cached.len())]
    }

    /// Makes durable what was unsynced at a moment; what changed since stays to be synced.
    pub(super) fn sync_as_of(&mut self, then: &Unsynced) {
        if let Some(length) = then.length {
            self.durable.resize(length, 0);
        }
        for (&sector, bytes) in &then.sectors {
            if !self.dirty.contains(&sector) {
                continue;
            }
            let from = sector as usize * SECTOR;
            if let Some(place) = self.durable.get_mut(from..from + bytes.len()) {
                place.copy_from_slice(bytes);
            }
            if self.sector(sector) == bytes {
                self.dirty.remove(&sector);
            }
        }
    }

    /// A failed sync: nothing became durable, and the pages look clean, so that no later sync
    /// will write them again.
    pub(super) fn fail_sync(&mut self) {
        self.dirty.clear();
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
        if self.dirty.is_empty() && self.durable.len() == self.cached.len() {
            // A failed sync leaves clean pages that differ from the platter.
            self.cached.clone_from(&self.durable);
            return;
        }
        let length = match choices.below(Label::CrashLength, 3) {
            0 => self.durable.len(),
            1 => self.cached.len(),
            _ => (self.durable.len() + self.cached.len()) / 2,
        };
        let mut left = core::mem::take(&mut self.durable);
        left.resize(length, 0);
        for &sector in &self.dirty {
            let from = sector as usize * SECTOR;
            let to = (from + SECTOR).min(self.cached.len()).min(length);
            if from >= to {
                continue;
            }
            let kept = match choices.below(Label::CrashSector, 4) {
                0 => 0,
                1 | 2 => to - from,
                _ => (to - from) / 2,
            };
            left[from..from + kept].copy_from_slice(&self.cached[from..from + kept]);
        }
        self.dirty.clear();
        self.cached.clone_from(&left);
        self.durable = left;
    }
}
