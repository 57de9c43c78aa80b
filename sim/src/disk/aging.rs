//! Producer epochs near their end, as many owners of a transactional id one after the other would
//! have left them: no run is long enough to get there.

use std::collections::BTreeMap;

use super::{SimDisk, doctor};
use crate::choices::{Choices, Label, Source};

/// By transactional id: the producer id and the epoch of its newest record, where that was moved.
pub(crate) type AgedEpochs = BTreeMap<String, Option<(i64, i16)>>;

/// Moves the epoch of a record of the transaction log to near its end, when the transaction is
/// over; whether it is.
fn age(record: doctor::Record<'_>, aged: &mut AgedEpochs, choices: &mut Source) -> bool {
    // Version and length of the id before it.
    let id = String::from_utf8_lossy(record.key.get(4..).unwrap_or_default()).into_owned();
    let value = record.value;
    // Version, producer id, producer epoch, timeout, state: Empty or Complete*.
    let ended = matches!(value.get(16), Some(0 | 4 | 5));
    let mut now = None;
    if ended {
        let epoch = i16::MAX - 4 + choices.below(Label::Damage, 4) as i16;
        value[10..12].copy_from_slice(&epoch.to_be_bytes());
        let pid = value[2..10].try_into().map_or(-1, i64::from_be_bytes);
        now = Some((pid, epoch));
    }
    aged.insert(id, now);
    ended
}

/// The same for every record of a batch; whether one was moved.
pub(crate) fn age_epochs_of(batch: &mut [u8], aged: &mut AgedEpochs, choices: &mut Source) -> bool {
    let mut moved = false;
    doctor::edit_records(batch, |record| {
        let now = age(record, aged, choices);
        moved |= now;
        now
    });
    moved
}

impl SimDisk {
    /// While the node is down the epochs of all ended transactions are moved to near their end.
    /// Only after an orderly stop of a life whose journal took every write: no record of the journal
    /// may bring the old ones back.
    pub(crate) fn age_epochs(&mut self, choices: &mut Source) -> AgedEpochs {
        let mut aged = AgedEpochs::new();
        self.edit("__transaction_state-", |record| age(record, &mut aged, choices));
        aged
    }
}
