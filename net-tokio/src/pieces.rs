//! An answer in several buffers, for one vectored write.

use std::io::IoSlice;

use bytes::{Buf, Bytes};

/// Buffers that go out one after the other; none that is left is empty.
pub(crate) struct Pieces {
    left: std::vec::IntoIter<Bytes>,
    first: Bytes,
}

impl Pieces {
    pub(crate) fn new(pieces: Vec<Bytes>) -> Self {
        let mut pieces = Self { left: pieces.into_iter(), first: Bytes::new() };
        pieces.skip_empty();
        pieces
    }

    fn skip_empty(&mut self) {
        while self.first.is_empty() {
            match self.left.next() {
                Some(next) => self.first = next,
                None => return,
            }
        }
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.first.len() + self.left.as_slice().iter().map(Bytes::len).sum::<usize>()
    }

    fn chunk(&self) -> &[u8] {
        &self.first
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let step = count.min(self.first.len());
            assert!(step > 0, "advanced beyond the end of an answer");
            self.first.advance(step);
            count -= step;
            self.skip_empty();
        }
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let rest = self.left.as_slice().iter();
        let all = std::iter::once(&self.first).chain(rest).filter(|piece| !piece.is_empty());
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(all) {
            *slice = IoSlice::new(piece);
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_one_stream_however_it_is_taken() {
        let pieces = || Pieces::new(["", "ab", "", "c", "defg", ""].map(Bytes::from).to_vec());
        for step in 1..=7 {
            let (mut pieces, mut seen) = (pieces(), Vec::new());
            while pieces.has_remaining() {
                let mut slices = [IoSlice::new(&[]); 2];
                let filled = pieces.chunks_vectored(&mut slices);
                let offered: Vec<u8> =
                    slices[..filled].iter().flat_map(|slice| slice.iter().copied()).collect();
                let taken = step.min(offered.len());
                seen.extend_from_slice(&offered[..taken]);
                pieces.advance(taken);
            }
            assert_eq!(seen, b"abcdefg", "{step} at a time");
        }
    }
}
