//! The newest offset of every key in the dirty part of a log. Exact: keys are kept whole, so two
//! keys are never taken for one another (Kafka keeps their MD5).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use crate::types::Offset;

/// What a key costs beside its own bytes, roughly.
const ENTRY_BYTES: usize = 48;

/// Keys and offsets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Keys {
    offsets: BTreeMap<Box<[u8]>, Offset>,
    bytes: usize,
    bytes_max: usize,
    /// Offset of the last record that was looked at.
    latest: Offset,
    full: bool,
}

impl Keys {
    /// No keys yet. What lies below `first_dirty` was looked at in an earlier cleaning.
    pub(super) const fn new(bytes_max: usize, first_dirty: Offset) -> Self {
        let latest = first_dirty.saturating_sub(1);
        Self { offsets: BTreeMap::new(), bytes: 0, bytes_max, latest, full: false }
    }

    pub(super) const fn is_full(&self) -> bool {
        self.full
    }

    /// Records above this offset were not looked at.
    pub(super) const fn latest(&self) -> Offset {
        self.latest
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<Offset> {
        self.offsets.get(key).copied()
    }

    /// A record with this key; `false` when there is no room. One key always has room.
    pub(super) fn put(&mut self, key: &[u8], offset: Offset) -> bool {
        if self.full {
            return false;
        }
        if let Some(known) = self.offsets.get_mut(key) {
            *known = offset;
        } else {
            let bytes = self.bytes.saturating_add(key.len()).saturating_add(ENTRY_BYTES);
            if bytes > self.bytes_max && !self.offsets.is_empty() {
                self.full = true;
                return false;
            }
            self.bytes = bytes;
            self.offsets.insert(key.into(), offset);
        }
        self.latest = self.latest.max(offset);
        true
    }

    /// Everything up to this offset was looked at.
    pub(super) fn passed(&mut self, offset: Offset) {
        if !self.full {
            self.latest = self.latest.max(offset);
        }
    }
}
