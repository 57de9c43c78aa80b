//! Verification of a transaction before its first write to a partition (KIP-890, spec 7.2, 7.6).
//!
//! A leader that knows of no open transaction asks the coordinator before it appends. The answer
//! is good only while nothing else happened to the producer in between: the guard says so. An
//! abort marker that lands in between removes the guard, so a late write cannot open a
//! transaction that nobody will ever end (P06).

use alloc::collections::BTreeMap;

use crate::mark;
use crate::types::{ProducerEpoch, ProducerId};

/// The identity of one verification. Never reused in one life of a partition's leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guard(pub u64);

/// Whether the coordinator must be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verification {
    /// The transaction is open here already, or nothing is verified at all.
    NotNeeded,
    /// Ask, and append with this guard.
    Needed(Guard),
}

/// A verification under way (`VerificationStateEntry`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct VerificationState {
    /// What the append must show.
    pub(super) guard: Guard,
    /// When it began, in ms.
    pub(super) created_ms: i64,
    /// The lowest base sequence of the requests that wait for it.
    pub(super) lowest_sequence: i32,
    /// The epoch of those requests.
    pub(super) producer_epoch: ProducerEpoch,
    /// Whether all of them came from transaction version 2 clients.
    pub(super) supports_epoch_bump: bool,
}

/// The verifications under way, one per producer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Verifications {
    states: BTreeMap<ProducerId, VerificationState>,
    next_guard: u64,
}

impl Verifications {
    /// None yet. Guards of different leader epochs differ.
    pub(super) const fn new(leader_epoch: i32) -> Self {
        Self { states: BTreeMap::new(), next_guard: (leader_epoch.cast_unsigned() as u64) << 32 }
    }

    pub(super) fn get(&self, producer_id: ProducerId) -> Option<&VerificationState> {
        self.states.get(&producer_id)
    }

    pub(super) fn remove(&mut self, producer_id: ProducerId) -> Option<VerificationState> {
        self.states.remove(&producer_id)
    }

    /// Puts back what an append that failed had removed, unless a newer one began since.
    pub(super) fn put_back(&mut self, producer_id: ProducerId, state: VerificationState) {
        self.states.entry(producer_id).or_insert(state);
    }

    /// Begins a verification, or joins the one under way. Which clients it is for goes with the
    /// epoch: an owner of old that joined one of a version 2 owner before it was taken for the
    /// next version 2 transaction by its own abort marker, and its late write was appended behind
    /// that (verdict-sim seed 50188; Apache Kafka 4.4.0 keeps what the first one said).
    pub(super) fn begin(
        &mut self,
        now_ms: i64,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        base_sequence: i32,
        supports_epoch_bump: bool,
    ) -> Guard {
        if let Some(state) = self.states.get_mut(&producer_id) {
            mark!(VerificationJoined);
            if producer_epoch > state.producer_epoch {
                state.producer_epoch = producer_epoch;
                state.lowest_sequence = base_sequence;
                state.supports_epoch_bump = supports_epoch_bump;
            } else if producer_epoch == state.producer_epoch {
                state.lowest_sequence = state.lowest_sequence.min(base_sequence);
                state.supports_epoch_bump &= supports_epoch_bump;
            }
            return state.guard;
        }
        let guard = Guard(self.next_guard);
        self.next_guard = self.next_guard.wrapping_add(1);
        let state = VerificationState {
            guard,
            created_ms: now_ms,
            lowest_sequence: base_sequence,
            producer_epoch,
            supports_epoch_bump,
        };
        self.states.insert(producer_id, state);
        guard
    }

    /// A marker ends a verification, unless it is that of the next transaction: the marker of a
    /// version 2 transaction carries the epoch that the next one is written with (spec 6.4).
    pub(super) fn remove_for_marker(
        &mut self,
        producer_id: ProducerId,
        marker_epoch: ProducerEpoch,
    ) -> Option<VerificationState> {
        let state = self.states.get(&producer_id)?;
        if state.supports_epoch_bump && state.producer_epoch == marker_epoch {
            mark!(VerificationKeptByMarker);
            return None;
        }
        mark!(VerificationEndedByMarker);
        self.states.remove(&producer_id)
    }

    /// Forgets verifications that began too long ago.
    pub(super) fn expire(&mut self, now_ms: i64, expiration_ms: i64) {
        self.states.retain(|_, state| now_ms.saturating_sub(state.created_ms) < expiration_ms);
    }
}
