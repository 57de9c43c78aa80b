//! What will happen, in the order of time; at one time in the order it was planned.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use verdict_core::io::{ConnId, Lane};
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
    /// An answer reaches a client.
    Answer { client: ClientId, conn: ConnId, corr: u32, api: &'static str, response: Box<Response> },
    /// A client learns that a connection is gone.
    Cut { client: ClientId, conn: ConnId },
    /// A node's timer.
    Tick { broker: usize, life: u32 },
    /// A file operation ends.
    FileDone { broker: usize, life: u32, lane: Lane },
    /// A node comes back.
    Restart { broker: usize, life: u32 },
    /// A node that is at fault is killed by whoever runs it.
    Kill { broker: usize, life: u32 },
    /// A pinned fault's time has come.
    Pinned { act: Act },
}

#[derive(Clone, Debug)]
struct Planned {
    at_us: u64,
    ordinal: u64,
    happening: Happening,
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        (self.at_us, self.ordinal) == (other.at_us, other.ordinal)
    }
}

impl Eq for Planned {}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Planned {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_us, other.ordinal).cmp(&(self.at_us, self.ordinal))
    }
}

/// The plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Planned>,
    next_ordinal: u64,
}

impl Queue {
    pub(super) fn push(&mut self, at_us: u64, happening: Happening) {
        let ordinal = self.next_ordinal;
        self.next_ordinal += 1;
        self.heap.push(Planned { at_us, ordinal, happening });
    }

    pub(super) fn pop(&mut self) -> Option<(u64, Happening)> {
        self.heap.pop().map(|planned| (planned.at_us, planned.happening))
    }
}
