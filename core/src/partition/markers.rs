//! Which transaction markers a leader takes (spec 6.4; KIP-98, KIP-1228; reports P07, P08).

use crate::types::{Marker, ProducerEpoch};

use super::error::AppendError;
use super::producers::ProducerEntry;

/// From this transaction version on a marker's epoch must lie above its transaction's.
const STRICT_TRANSACTION_VERSION: i8 = 2;

/// Judges a marker against the producer's entry, the table of spec 6.4 from top to bottom. Before
/// that it has to be somebody's: Kafka answers UNKNOWN_SERVER_ERROR and writes nothing.
pub(super) fn judge(marker: &Marker, entry: &ProducerEntry) -> Result<(), AppendError> {
    if marker.producer_id < 0 || marker.producer_epoch < 0 {
        return Err(AppendError::MarkerOfNobody {
            producer_id: marker.producer_id,
            producer_epoch: marker.producer_epoch,
        });
    }
    let stale = AppendError::InvalidProducerEpoch {
        producer_id: marker.producer_id,
        producer_epoch: marker.producer_epoch,
        current: entry.producer_epoch,
    };
    // Rows 1 to 3.
    if marker.producer_epoch < entry.producer_epoch {
        crate::mark!(MarkerEpochBelow);
        return Err(stale);
    }
    // Rows 4 and 5: a marker of the transaction's own epoch is a late one of the transaction
    // before, unless nothing is open (a repeat) or the epoch could not be raised any more.
    if marker.transaction_version >= STRICT_TRANSACTION_VERSION
        && marker.producer_epoch == entry.producer_epoch
    {
        let repeat = entry.current_txn_first_offset.is_none();
        if !repeat && marker.producer_epoch != ProducerEpoch::MAX {
            crate::mark!(MarkerLateForNextTransaction);
            return Err(stale);
        }
        crate::mark!(MarkerRepeated);
    }
    // Row 6.
    if marker.coordinator_epoch < entry.coordinator_epoch {
        crate::mark!(MarkerCoordinatorFenced);
        return Err(AppendError::CoordinatorFenced {
            coordinator_epoch: marker.coordinator_epoch,
            current: entry.coordinator_epoch,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Decision;

    /// What the table of spec 6.4 answers, written as the table is.
    fn by_the_table(
        version: i8,
        epoch: i16,
        coordinator: i32,
        entry: &ProducerEntry,
    ) -> Option<&'static str> {
        if epoch < 0 {
            return Some("nobody");
        }
        let open = entry.current_txn_first_offset.is_some();
        let open_of_this_epoch = open && entry.producer_epoch == epoch;
        if !open_of_this_epoch && epoch < entry.producer_epoch {
            return Some("epoch");
        }
        if version < 2 && epoch < entry.producer_epoch {
            return Some("epoch");
        }
        if version >= 2 && epoch < entry.producer_epoch {
            return Some("epoch");
        }
        if version >= 2 && epoch == entry.producer_epoch && (!open || epoch == 32767) {
            return (coordinator < entry.coordinator_epoch).then_some("coordinator");
        }
        if version >= 2 && epoch == entry.producer_epoch && open {
            return Some("epoch");
        }
        (coordinator < entry.coordinator_epoch).then_some("coordinator")
    }

    #[test]
    fn every_row_of_the_marker_table_is_followed() {
        let epochs = [-1, 0, 1, 2, 32766, 32767];
        let coordinators = [-1, 0, 1, 2];
        let mut judged = 0;
        for entry_epoch in epochs {
            for entry_coordinator in coordinators {
                for open in [None, Some(4)] {
                    let entry = ProducerEntry {
                        producer_epoch: entry_epoch,
                        coordinator_epoch: entry_coordinator,
                        current_txn_first_offset: open,
                        ..ProducerEntry::UNKNOWN
                    };
                    for epoch in epochs {
                        for coordinator in coordinators {
                            for version in [0, 1, 2, 3] {
                                let marker = Marker {
                                    producer_id: 7,
                                    producer_epoch: epoch,
                                    decision: Decision::Commit,
                                    coordinator_epoch: coordinator,
                                    transaction_version: version,
                                };
                                let got = judge(&marker, &entry).err().map(|error| match error {
                                    AppendError::InvalidProducerEpoch { .. } => "epoch",
                                    AppendError::MarkerOfNobody { .. } => "nobody",
                                    _ => "coordinator",
                                });
                                let want = by_the_table(version, epoch, coordinator, &entry);
                                assert_eq!(got, want, "{marker:?} on {entry:?}");
                                judged += 1;
                            }
                        }
                    }
                }
            }
        }
        assert_eq!(judged, 6 * 4 * 2 * 6 * 4 * 4);
    }
}
