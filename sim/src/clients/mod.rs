//! The simulated clients: state machines that speak typed requests over their own connections,
//! retry as real clients do, and write down what they saw.

mod admin;
mod auditor;
pub(crate) mod codes;
mod fetching;
mod follower;
mod leader_epochs;
mod member;
mod offsets;
mod ops;
mod outside;
mod producer;
mod reader;
mod records;
mod requests;
mod session;
mod two_phase;

use verdict_core::io::ConnId;
use verdict_core::wire::Response;

pub use self::admin::Admin;
pub(crate) use self::admin::{SIDE_PARTS, list_offsets};
pub use self::auditor::Auditor;
pub(crate) use self::fetching::{fetch, read_fetch};
pub use self::follower::Follower;
pub use self::member::{Member, MemberPlan, Script, Timeouts};
pub use self::offsets::OffsetKeeper;
pub use self::ops::{Op, OpError, parse_op};
pub(crate) use self::ops::{Workload, draw_sends, draw_transactions, put_sleep};
pub use self::outside::Outside;
pub use self::producer::{Producer, ProducerKind};
pub use self::reader::Reader;
pub(crate) use self::requests::{code_of, find_coordinator, listed_offset, metadata};
pub use self::two_phase::TwoPhase;
use crate::world::Env;

/// The one topic of a world's clients.
pub const TOPIC: &str = "t";
/// A topic that comes and goes, and that no oracle knows.
pub const SIDE_TOPIC: &str = "u";

/// A client.
#[derive(Clone, Debug)]
pub enum Client {
    /// Idempotent or transactional.
    Producer(Box<Producer>),
    /// Of either isolation.
    Reader(Reader),
    /// Of either isolation, in a fetch session.
    Follower(Box<Follower>),
    /// Commits and fetches group offsets.
    Offsets(OffsetKeeper),
    /// Of a group: consumes, transforms, produces.
    Member(Box<Member>),
    /// Commits together with a database.
    TwoPhase(Box<TwoPhase>),
    /// Does what is beside the oracles' records.
    Admin(Admin),
    /// Creates the topic first, reads everything last.
    Auditor(Auditor),
    /// Nobody: shrinking took the client away and left its number.
    Gone,
}

impl Client {
    /// The world begins.
    pub fn start(&mut self, env: &mut Env) {
        self.wake(env);
    }

    /// A point of time that was asked for has come.
    pub fn wake(&mut self, env: &mut Env) {
        match self {
            Self::Producer(client) => client.wake(env),
            Self::Reader(client) => client.wake(env),
            Self::Follower(client) => client.wake(env),
            Self::Offsets(client) => client.wake(env),
            Self::Auditor(client) => client.wake(env),
            Self::Admin(client) => client.wake(env),
            Self::Member(client) => client.wake(env),
            Self::TwoPhase(client) => client.wake(env),
            Self::Gone => {}
        }
    }

    /// An answer came.
    pub fn answer(&mut self, env: &mut Env, conn: ConnId, corr: u32, response: Response) {
        match self {
            Self::Producer(client) => client.answer(env, conn, corr, response),
            Self::Reader(client) => client.answer(env, conn, corr, response),
            Self::Follower(client) => client.answer(env, conn, corr, response),
            Self::Offsets(client) => client.answer(env, conn, corr, response),
            Self::Auditor(client) => client.answer(env, conn, corr, response),
            Self::Admin(client) => client.answer(env, conn, corr, response),
            Self::Member(client) => client.answer(env, conn, corr, response),
            Self::TwoPhase(client) => client.answer(env, conn, corr, response),
            Self::Gone => {}
        }
    }

    /// A connection is gone.
    pub fn cut(&mut self, env: &mut Env, conn: ConnId) {
        match self {
            Self::Producer(client) => client.cut(env, conn),
            Self::Reader(client) => client.cut(env, conn),
            Self::Follower(client) => client.cut(env, conn),
            Self::Offsets(client) => client.cut(env, conn),
            Self::Auditor(client) => client.cut(env, conn),
            Self::Admin(client) => client.cut(env, conn),
            Self::Member(client) => client.cut(env, conn),
            Self::TwoPhase(client) => client.cut(env, conn),
            Self::Gone => {}
        }
    }

    /// Whether it has nothing more to do.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match self {
            Self::Producer(client) => client.is_done(),
            Self::Reader(client) => client.is_done(),
            Self::Follower(client) => client.is_done(),
            Self::Offsets(client) => client.is_done(),
            Self::Auditor(client) => client.is_done(),
            Self::Admin(client) => client.is_done(),
            Self::Member(client) => client.is_done(),
            Self::TwoPhase(client) => client.is_done(),
            Self::Gone => true,
        }
    }

    /// The transactional id it uses, and the id's number in the history.
    #[must_use]
    pub fn transactional_id(&self) -> Option<(String, u32)> {
        match self {
            Self::Producer(client) => client.transactional_id(),
            Self::Member(client) => Some(client.transactional_id()),
            _ => None,
        }
    }

    /// Faults are over: finish what was begun.
    pub fn heal(&mut self, env: &mut Env) {
        match self {
            Self::Producer(client) => client.heal(env),
            Self::Reader(client) => client.heal(),
            Self::Offsets(client) => client.heal(),
            Self::Admin(client) => client.heal(env),
            Self::Member(client) => client.heal(env),
            Self::TwoPhase(client) => client.heal(env),
            Self::Follower(_) | Self::Auditor(_) | Self::Gone => {}
        }
    }

    /// Why it is not done, in words.
    #[must_use]
    pub fn waits_for(&self) -> String {
        match self {
            Self::Producer(client) => client.waits_for(),
            Self::Follower(client) => client.waits_for(),
            Self::Reader(_) => "its last fetch".to_owned(),
            Self::Offsets(_) => "its last offset".to_owned(),
            Self::Admin(client) => client.waits_for(),
            Self::Auditor(client) => client.waits_for(),
            Self::Member(client) => client.waits_for(),
            Self::TwoPhase(client) => client.waits_for(),
            Self::Gone => "nothing".to_owned(),
        }
    }
}
