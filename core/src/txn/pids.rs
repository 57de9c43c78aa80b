//! Producer ids, handed out from blocks that the metadata log reserved.
//!
//! Kafka's `RPCProducerIdManager`, spec 3.5 and report P32: a block is persisted before the first
//! id of it is given, so that no id is given twice; what is left of a block at a restart is lost.
//! The next block is asked for when 90 % of the current one are used. Without a block the answer
//! is COORDINATOR_LOAD_IN_PROGRESS, never a made-up id.

use super::TxnError;
use crate::types::ProducerId;

/// A run of ids not given yet: `next..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Block {
    next: ProducerId,
    end: ProducerId,
    /// Ids left when the next block is to be asked for.
    low_water: i64,
}

impl Block {
    const fn left(&self) -> i64 {
        self.end - self.next
    }
}

/// The ids at hand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ProducerIds {
    current: Block,
    following: Option<Block>,
    asked: bool,
}

impl ProducerIds {
    /// The next id, never given before.
    pub(crate) fn take(&mut self) -> Result<ProducerId, TxnError> {
        if self.current.left() == 0 {
            self.current = self.following.take().ok_or(TxnError::ProducerIdsNotAvailable)?;
        }
        let id = self.current.next;
        self.current.next += 1;
        Ok(id)
    }

    /// Whether a block is to be asked for now; says so once until the answer.
    pub(crate) fn wants_block(&mut self) -> bool {
        let wants = !self.asked
            && self.following.is_none()
            && self.current.left() <= self.current.low_water;
        self.asked |= wants;
        wants
    }

    /// A block was reserved. One that holds no valid id counts as a failed attempt.
    pub(crate) fn add_block(&mut self, first: ProducerId, count: i64) {
        self.asked = false;
        let Some(end) = first.checked_add(count).filter(|_| first >= 0 && count > 0) else {
            return;
        };
        let block = Block { next: first, end, low_water: count / 10 };
        if self.current.left() == 0 {
            self.current = block;
        } else {
            self.following = Some(block);
        }
    }

    /// The block was not reserved: the next id that is wanted asks again.
    pub(crate) fn block_failed(&mut self) {
        self.asked = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_block_no_id_is_made_up() {
        let mut ids = ProducerIds::default();
        assert_eq!(ids.take(), Err(TxnError::ProducerIdsNotAvailable));
        assert!(ids.wants_block());
        assert!(!ids.wants_block(), "asked once");
        ids.block_failed();
        assert!(ids.wants_block(), "asked again after a failure");
        ids.add_block(-5, 10);
        ids.add_block(i64::MAX, 10);
        assert_eq!(ids.take(), Err(TxnError::ProducerIdsNotAvailable));
    }

    #[test]
    fn the_next_block_is_asked_for_at_ninety_percent() {
        let mut ids = ProducerIds::default();
        ids.add_block(1000, 1000);
        for id in 1000..1899 {
            assert_eq!(ids.take(), Ok(id));
            assert!(!ids.wants_block(), "at {id}");
        }
        assert_eq!(ids.take(), Ok(1899));
        assert!(ids.wants_block());
        ids.add_block(5000, 1000);
        for id in 1900..2000 {
            assert_eq!(ids.take(), Ok(id));
        }
        assert_eq!(ids.take(), Ok(5000));
    }
}
