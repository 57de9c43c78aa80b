//! What will happen, in the order of time; at one time in the order it was planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use verdict_core::clean::JobDone;
use verdict_core::cluster::{ClusterInput, ConfirmId, SharedChange};
use verdict_core::io::{ConnId, Lane, Ticket};
use verdict_core::wire::{Request, Response};

use super::pins::Act;
use crate::history::ClientId;

/// Something that will happen.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    /// A client asked to be woken.
    Wake { client: ClientId },
    /// A request reaches a broker.
    Arrive { conn: ConnId, corr: u32, version: i16, request: Box<Request> },
    /// A broker learns that a connection is closed.
    ConnClosed { conn: ConnId },
    /// An answer reaches a client; `of_old` if it is of a broker that is replaced and has not heard.
    Answer {
        client: ClientId,
        conn: ConnId,
        corr: u32,
        api: &'static str,
        of_old: bool,
        response: Box<Response>,
    },
    /// A client learns that a connection is gone.
    Cut { client: ClientId, conn: ConnId },
    /// A node's timer.
    Tick { broker: usize, life: u32 },
    /// A file operation ends.
    FileDone { broker: usize, life: u32, lane: Lane },
    /// A job of a node ends.
    JobDone { broker: usize, life: u32, ticket: Ticket, done: Box<JobDone> },
    /// A node comes back.
    Restart { broker: usize, life: u32 },
    /// A node that is at fault is killed by whoever runs it.
    Kill { broker: usize, life: u32 },
    /// News for a member of a cluster.
    News { broker: usize, life: u32, input: Box<ClusterInput> },
    /// What a member wants committed reaches the store.
    Confirm { broker: usize, life: u32, id: ConfirmId, changes: Vec<SharedChange> },
    /// A member hears who leads what.
    Tell { broker: usize },
    /// The sender of a request between members waits no longer.
    PeerTimeout { conn: ConnId },
    /// A pinned fault's time has come.
    Pinned { act: Act },
}

/// When something happens, in which order at that time, and where it is kept: 64, 32 and 32 bits of
/// one number, because a heap compares and moves its elements all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Planned(u128);

impl Planned {
    fn new(at_us: u64, ordinal: u32, slot: u32) -> Self {
        Self(u128::from(at_us) << 64 | u128::from(ordinal) << 32 | u128::from(slot))
    }

    const fn at_us(self) -> u64 {
        (self.0 >> 64) as u64
    }

    const fn slot(self) -> usize {
        (self.0 & u32::MAX as u128) as usize
    }
}

/// The plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<Planned>>,
    slots: Vec<Option<Happening>>,
    free: Vec<u32>,
    next_ordinal: u32,
}

impl Queue {
    pub(super) fn push(&mut self, at_us: u64, happening: Happening) {
        let ordinal = self.next_ordinal;
        self.next_ordinal += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = Some(happening);
        self.heap.push(Reverse(Planned::new(at_us, ordinal, slot)));
    }

    pub(super) fn pop(&mut self) -> Option<(u64, Happening)> {
        let Reverse(planned) = self.heap.pop()?;
        self.free.push(planned.slot() as u32);
        let happening = self.slots[planned.slot()].take();
        Some((planned.at_us(), happening.expect("a slot is filled until its happening comes")))
    }
}
