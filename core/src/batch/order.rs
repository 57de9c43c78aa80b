//! Batches of a log follow each other.
//!
//! A batch's base offset lies before the range of its CRC, as the leader gives it after the
//! producer has computed the CRC: rot there shows only in the batch's place among the others.

use super::BatchHeader;
use crate::types::Offset;

/// Where the next batch of a file may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Order {
    next: Offset,
    is_exact: bool,
    holes_end: Offset,
    end: Offset,
}

impl Order {
    /// Batches from `first` on, all below `end`; the first one may begin later when that is not
    /// known to be `exact`. Cleanings have left holes below `holes_end` only.
    pub(crate) const fn new(first: Offset, exact: bool, holes_end: Offset, end: Offset) -> Self {
        Self { next: first, is_exact: exact, holes_end, end }
    }

    /// Whether this batch may be the next one.
    pub(crate) fn admits(&mut self, batch: &BatchHeader) -> bool {
        let is_next = batch.base_offset == self.next;
        let may_be_later = !self.is_exact || self.next < self.holes_end;
        let fits = (is_next || (may_be_later && batch.base_offset > self.next))
            && batch.last_offset() >= batch.base_offset
            && batch.last_offset() < self.end;
        (self.next, self.is_exact) = (batch.last_offset().saturating_add(1), true);
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(base_offset: Offset, records: i32) -> BatchHeader {
        let empty = BatchHeader::decode(&[0; BatchHeader::LENGTH]).unwrap();
        BatchHeader { base_offset, last_offset_delta: records - 1, ..empty }
    }

    #[test]
    fn batches_follow_each_other_without_holes_and_below_the_end() {
        let order = Order::new(5, true, 0, 10);
        let admits = |batches: &[BatchHeader]| {
            let mut order = order;
            batches.iter().map(|batch| order.admits(batch)).collect::<alloc::vec::Vec<_>>()
        };
        assert_eq!(admits(&[batch(5, 2), batch(7, 3)]), [true, true]);
        assert_eq!(admits(&[batch(5, 2), batch(8, 1)]), [true, false], "a hole");
        assert_eq!(admits(&[batch(5, 2), batch(6, 1)]), [true, false], "over the last one");
        assert_eq!(admits(&[batch(5, 6)]), [false], "beyond the end");
        assert_eq!(admits(&[batch(6, 1)]), [false], "not where the file begins");
        assert_eq!(admits(&[batch(i64::MAX, 2)]), [false]);
    }

    #[test]
    fn a_cleaning_leaves_holes_and_a_position_in_a_file_is_not_an_offset() {
        let mut order = Order::new(0, true, 6, 10);
        assert!(order.admits(&batch(2, 1)), "a hole");
        assert!(order.admits(&batch(5, 2)), "another");
        assert!(!order.admits(&batch(8, 1)), "behind all that was cleaned");
        let mut order = Order::new(0, false, 0, 10);
        assert!(order.admits(&batch(4, 1)), "somewhere in the file");
        assert!(!order.admits(&batch(6, 1)));
    }
}
