//! Verdict over real sockets and files: everything around [`verdict_core::node::Node`] that the
//! node itself must not know about.
//!
//! ```text
//!   conn (a task each)      node_loop (who has work)     lanes (a thread each)
//!   frame → decode ───────► handle ─► poll_output ─────► FileOp ─► files
//!   encode ◄─ answer ◄────────────────┘    ▲                          │
//!                                          └──────── FileDone ◄───────┘
//! ```
//!
//! Rules that hold here:
//!
//! * whoever has work for the node drives it, one at a time ([`driven`]);
//! * one request of a connection is in the node at a time, so answers leave in request order;
//! * memory follows what has arrived: frames grow as their bytes come, and all bytes in flight
//!   are drawn from one budget, so that a broker under pressure stops reading, not working;
//! * a panic in the node, whoever drives it, or on a lane ends the process: a broken invariant is never
//!   served over;
//! * the same [`serve::serve`] runs on tokio and, under `--cfg madsim`, in a simulated network
//!   ([`rt`] is the only file that tells them apart).

#[cfg(not(madsim))]
pub mod bench;
mod budget;
#[cfg(not(madsim))]
pub mod cli;
pub mod client;
pub mod clock;
mod conn;
mod driven;
pub mod files;
mod frame;
mod inbox;
mod lanes;
pub mod listeners;
mod node_loop;
mod outgoing;
mod pace;
mod pieces;
mod places;
pub mod recorder;
mod routes;
pub mod rt;
pub mod serve;
pub mod settings;
#[cfg(not(madsim))]
pub mod test_broker;
#[cfg(not(madsim))]
pub mod torture;
pub mod workload;
