//! One member of a classic group.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::io::RequestId;
use crate::time::Timestamp;

/// One way of assigning that a member supports, and what it says for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Protocol {
    /// Its name; for consumers the assignor's.
    pub name: Arc<str>,
    /// What the leader is to know; for consumers the subscription.
    pub metadata: Bytes,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) struct Member {
    pub(in crate::group) instance: Option<Arc<str>>,
    pub(in crate::group) client_id: Arc<str>,
    pub(in crate::group) client_host: Arc<str>,
    pub(in crate::group) rebalance_timeout_ms: i32,
    pub(in crate::group) session_timeout_ms: i32,
    /// Each name once, in the order of preference.
    pub(in crate::group) protocols: Vec<Protocol>,
    pub(in crate::group) assignment: Bytes,
    /// The Join that waits, if any.
    pub(in crate::group) join: Option<RequestId>,
    /// The Sync that waits, if any.
    pub(in crate::group) sync: Option<RequestId>,
    /// It has not been through a rebalance yet.
    pub(in crate::group) is_new: bool,
    /// When its session ends; none when the end came while it was waiting for an answer.
    pub(in crate::group) session_at: Option<Timestamp>,
}

impl Member {
    /// What it said for a protocol; nothing when it does not support it.
    pub(in crate::group) fn metadata(&self, protocol: Option<&str>) -> Bytes {
        let found = self.protocols.iter().find(|one| Some(&*one.name) == protocol);
        found.map(|one| one.metadata.clone()).unwrap_or_default()
    }

    /// Whether the end of its session takes it out of the group. One that waits for an answer is
    /// not silent, except that a new one may be gone without anybody knowing.
    pub(in crate::group) const fn is_gone_at_session_end(&self) -> bool {
        self.is_new || (self.join.is_none() && self.sync.is_none())
    }
}
