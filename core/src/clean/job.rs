//! A piece of cleaning, to be run off the core's thread.

use alloc::boxed::Box;
use alloc::vec::Vec;

use bytes::Bytes;

use super::{Cleaner, Unreadable, next_batch};
use crate::batch::{BatchHeader, CheckedBatch};

/// What is to be done with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    Collect,
    Filter,
}

/// A pure function that an output describes; its result is an input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    cleaner: Box<Cleaner>,
    work: Work,
    bytes: Bytes,
}

/// What a job leaves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobDone {
    /// What the cleaner has seen by now.
    pub cleaner: Box<Cleaner>,
    /// What became of the bytes.
    pub piece: Result<Piece, Unreadable>,
}

/// What became of a piece of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Bytes of whole batches that were read.
    pub consumed: u64,
    /// Bytes that the batch behind them needs, 0 when that is not known.
    pub needed: u64,
    /// The batches that stay; none of a job that collects.
    pub kept: Vec<CheckedBatch>,
}

impl Job {
    /// Learns the keys of the batches at the front of `bytes`.
    #[must_use]
    pub const fn collect(cleaner: Box<Cleaner>, bytes: Bytes) -> Self {
        Self { cleaner, work: Work::Collect, bytes }
    }

    /// Cleans the batches at the front of `bytes`.
    #[must_use]
    pub const fn filter(cleaner: Box<Cleaner>, bytes: Bytes) -> Self {
        Self { cleaner, work: Work::Filter, bytes }
    }

    /// Does it. Takes milliseconds for a megabyte; never blocks.
    #[must_use]
    pub fn run(self) -> JobDone {
        let Self { mut cleaner, work, mut bytes } = self;
        let piece = read(&mut cleaner, work, &mut bytes);
        JobDone { cleaner, piece }
    }
}

fn read(cleaner: &mut Cleaner, work: Work, bytes: &mut Bytes) -> Result<Piece, Unreadable> {
    let whole = bytes.len();
    let mut kept = Vec::new();
    while let Some(batch) = next_batch(bytes)? {
        match work {
            Work::Collect => {
                cleaner.collect(&batch)?;
                if cleaner.is_full() {
                    break;
                }
            }
            Work::Filter => kept.extend(cleaner.filter(batch)?),
        }
    }
    let needed = BatchHeader::decode(bytes).map_or(0, |header| header.size() as u64);
    Ok(Piece { consumed: (whole - bytes.len()) as u64, needed, kept })
}
