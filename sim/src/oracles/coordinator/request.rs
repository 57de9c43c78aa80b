//! A request about a transaction, and what its answer says of it.

use super::state::{Asking, Reply};
use crate::history::{ClientId, TxnAsk};

/// A request and what became of it.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) asking: Asking,
    pub(super) client: ClientId,
    pub(super) asked_us: u64,
    pub(super) answered: Option<(u64, Reply)>,
    /// What somebody told who was replaced: so it was, if this was done.
    pub(super) rumour: Option<Reply>,
    /// When its sender went on over another connection.
    pub(super) given_up_us: u64,
    /// It never reached the broker.
    pub(super) lost: bool,
}

/// What an answer says about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// It was done, or refused, once before the answer.
    Decided,
    /// It may have been done, or may yet be.
    Open,
    /// It changed nothing, for a reason that is not judged.
    Nothing,
}

impl Request {
    pub(super) fn means(&self) -> Means {
        if self.lost {
            return Means::Nothing;
        }
        let data = matches!(self.asking.ask, TxnAsk::Produce { .. } | TxnAsk::CommitOffsets { .. });
        match self.answered.map_or(7, |(_, reply)| reply.code) {
            // Data that was taken, or refused for reasons of its own, may have added its partition.
            0 if data => Means::Open,
            0 | 47..=49 | 51 | 90 => Means::Decided,
            120 if data => Means::Decided,
            // Unknown partitions beside known ones, and a version that the cluster does not have.
            3 | 35 | 55 if !data => Means::Nothing,
            7 | 13..=16 | 19 | 20 | 56 => Means::Open,
            _ if data => Means::Open,
            _ => Means::Decided,
        }
    }

    /// Whether it may still arrive when its sender went on elsewhere.
    pub(super) const fn is_protected(&self) -> bool {
        match self.asking.ask {
            TxnAsk::Init { .. } | TxnAsk::Produce { .. } => true,
            TxnAsk::End { bumps, .. } => bumps,
            TxnAsk::CommitOffsets { adds, .. } => adds,
            TxnAsk::AddPartitions { .. } | TxnAsk::AddOffsets { .. } => false,
        }
    }

    pub(super) const fn adds_by_itself(&self) -> bool {
        matches!(
            self.asking.ask,
            TxnAsk::Produce { adds: true, .. } | TxnAsk::CommitOffsets { adds: true, .. }
        )
    }

    pub(super) const fn is_data(&self) -> bool {
        matches!(self.asking.ask, TxnAsk::Produce { .. } | TxnAsk::CommitOffsets { .. })
    }

    /// An InitProducerId that names no producer: each one raises the epoch.
    pub(super) const fn is_bare_init(&self) -> bool {
        matches!(self.asking.ask, TxnAsk::Init { .. }) && self.asking.pid < 0
    }
}
