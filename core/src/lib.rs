//! The state machines of Verdict, and everything they decide.
//!
//! A [`node::Node`] is a broker without clocks, threads, sockets or files. Its driver owns those,
//! and runs this loop:
//!
//! 1. wait for something to happen: a request, a finished file operation, a timer;
//! 2. `node.handle(now, input)`;
//! 3. `while let Some(output) = node.poll_output(now) { … }`: send answers, queue file operations;
//! 4. sleep at most until `node.next_timeout()`, then go to 1 (with [`io::Input::Tick`] when the
//!    timer was what happened).
//!
//! # The laws
//!
//! * **Drained before the next input.** Calling `handle` while outputs are pending is a bug of the
//!   driver, and panics in debug builds.
//! * **Pure.** The same inputs at the same times give the same outputs. Nothing in here reads a
//!   clock, draws a random number, starts a thread, or iterates in an order that an address or a
//!   hash seed decides.
//! * **Nothing is true before it is durable.** A fact is a record in a partition's log; an answer
//!   leaves when what it promises is persisted; a failed write takes back what was not.
//! * **A turn is atomic.** The appends of one turn (one input, or one message between machines)
//!   are one frame of the journal: after a crash the durable state is a prefix of turns.
//! * **Nothing from outside can panic it.** Bad input is an error with a Kafka code or a closed
//!   connection. A panic is a broken invariant and names its rule.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod api;
pub mod batch;
pub mod clean;
pub mod cluster;
pub mod codec;
pub mod config;
pub mod error;
pub mod group;
pub mod io;
pub mod marks;
pub mod memory;
pub mod meta;
pub mod node;
pub mod partition;
mod pattern;
pub mod store;
#[cfg(test)]
mod testing;
pub mod time;
pub mod txn;
pub mod types;
pub mod wire;
