//! What members are answered.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::{LeavingMember, MemberId};
use crate::group::GroupError;

/// The answer to a Join.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JoinReply {
    /// Whether it is a member.
    pub result: Result<(), GroupError>,
    /// The generation, -1 when refused.
    pub generation: i32,
    /// The kind of group.
    pub protocol_type: Option<Arc<str>>,
    /// The protocol that was voted for.
    pub protocol: Option<Arc<str>>,
    /// Who computes the assignment, "" when refused.
    pub leader: MemberId,
    /// The leader is to keep the assignment there is.
    pub skip_assignment: bool,
    /// Who it is.
    pub member: MemberId,
    /// For the leader: everybody.
    pub members: Vec<JoinedMember>,
}

impl JoinReply {
    /// An answer that says no.
    #[must_use]
    pub fn refused(member: MemberId, error: GroupError) -> Self {
        Self {
            result: Err(error),
            generation: -1,
            protocol_type: None,
            protocol: None,
            leader: Arc::from(""),
            skip_assignment: false,
            member,
            members: Vec::new(),
        }
    }
}

/// A member, as its leader is to know it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JoinedMember {
    /// Its id.
    pub id: MemberId,
    /// Its instance id, if it is a static one.
    pub instance: Option<Arc<str>>,
    /// What it said for the chosen protocol.
    pub metadata: Bytes,
}

/// What a Sync gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Synced {
    /// The kind of group.
    pub protocol_type: Option<Arc<str>>,
    /// The protocol.
    pub protocol: Option<Arc<str>>,
    /// The member's assignment, in the protocol's own bytes.
    pub assignment: Bytes,
}

/// The answer to a Leave.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaveReply {
    /// Whether it was looked at.
    pub result: Result<(), GroupError>,
    /// How it went for each, in the order of the request.
    pub members: Vec<(LeavingMember, Result<(), GroupError>)>,
}
