//! What Apache Kafka answers, as text files, and whether Verdict answers the same.
//!
//! A [`Recording`] is a conversation: requests of a few named connections, each with the answer
//! that Apache Kafka 4.4.0 gave. [`run()`] holds it with a [`peer::Peer`], which is a bare node in
//! virtual time or anything that listens on a socket. Rules that hold here:
//!
//! * a line says what goes over the wire, and nothing else does but what [`run()`] names: finding
//!   coordinators, waiting for topics and for ends of transactions, asking again while busy;
//! * what differs from run to run has a name ([`names`]) or is left out: ids, times, hosts,
//!   coordinator epochs, texts;
//! * answers are compared as text, so that what a file says is what is compared.
//!
//! `docs/manual/recordings.md` tells how a file is read and written.

pub mod args;
pub mod format;
pub mod names;
pub mod peer;
pub mod run;
pub mod settings;
pub mod verbs;

pub use self::format::Recording;
pub use self::run::run;
