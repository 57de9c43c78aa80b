//! Batches that lie in several buffers, one after the other, as the store hands them out: a
//! header's buffer and its records', or a piece of a file with many of both.

use bytes::{Bytes, BytesMut};

use super::BatchHeader;

/// The buffers as one; a single one is shared, not copied.
#[must_use]
pub fn join(parts: &[Bytes]) -> Bytes {
    match parts {
        [] => Bytes::new(),
        [one] => one.clone(),
        _ => {
            let mut all = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
            for part in parts {
                all.extend_from_slice(part);
            }
            all.freeze()
        }
    }
}

/// Walks the headers of the batches in the buffers, without looking at the records. A header
/// never lies across two buffers. Ends at the first that cannot be read.
#[must_use]
pub const fn headers(parts: &[Bytes]) -> Headers<'_> {
    Headers { parts, skip: 0 }
}

/// See [`headers`].
#[derive(Clone, Debug)]
pub struct Headers<'a> {
    parts: &'a [Bytes],
    /// Bytes until the next header.
    skip: usize,
}

impl Iterator for Headers<'_> {
    type Item = BatchHeader;

    fn next(&mut self) -> Option<BatchHeader> {
        loop {
            let (first, rest) = self.parts.split_first()?;
            if self.skip < first.len() {
                let header = BatchHeader::decode(first.get(self.skip..)?)?;
                if header.size() < BatchHeader::LENGTH {
                    self.parts = &[];
                    return None;
                }
                self.skip += header.size();
                return Some(header);
            }
            self.skip -= first.len();
            self.parts = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{BatchBuilder, CheckedBatch};

    fn batch(records: usize) -> CheckedBatch {
        let mut batch = BatchBuilder::new(1);
        for _ in 0..records {
            batch.push(None, Some(b"v"), &[]);
        }
        batch.build()
    }

    #[test]
    fn headers_are_found_in_split_and_in_whole_buffers() {
        let [one, two, three] = [batch(1), batch(2), batch(3)];
        let split = one.clone().store_at(0, 0, None).parts();
        let whole = join(&[two.bytes().clone(), three.bytes().clone()]);
        let parts = [split[0].clone(), split[1].clone(), whole];
        let counts: alloc::vec::Vec<_> = headers(&parts).map(|h| h.record_count).collect();
        assert_eq!(counts, [1, 2, 3]);
    }

    #[test]
    fn a_cut_header_ends_the_walk() {
        let bytes = batch(1).bytes().slice(..30);
        assert_eq!(headers(&[bytes]).count(), 0);
    }
}
