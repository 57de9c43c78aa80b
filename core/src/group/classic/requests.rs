//! What members ask, whatever version they asked in.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::{MemberId, Protocol};
use crate::group::GroupId;

/// To be a member of the next generation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JoinGroup {
    /// The group.
    pub group: GroupId,
    /// The member, "" for one that has no id yet.
    pub member: MemberId,
    /// The instance id of a static member (KIP-345).
    pub instance: Option<Arc<str>>,
    /// The client's name for itself.
    pub client_id: Arc<str>,
    /// Where it is connected from, as Kafka writes it.
    pub client_host: Arc<str>,
    /// How long it may be silent, in ms.
    pub session_timeout_ms: i32,
    /// How long it may take to join again, in ms.
    pub rebalance_timeout_ms: i32,
    /// What kind of group it means.
    pub protocol_type: Arc<str>,
    /// What it supports, by preference.
    pub protocols: Vec<Protocol>,
    /// Whether it can be given an id and asked to come again with it (KIP-394, v4+).
    pub knows_member_id_required: bool,
    /// Whether it can be told to keep the assignment (KIP-814, v9+).
    pub knows_skip_assignment: bool,
}

/// To be given the assignment; the leader brings it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SyncGroup {
    /// The group.
    pub group: GroupId,
    /// The generation that the member joined.
    pub generation: i32,
    /// The member.
    pub member: MemberId,
    /// Its instance id, if it is a static one.
    pub instance: Option<Arc<str>>,
    /// v5+: the kind of group it takes this for.
    pub protocol_type: Option<Arc<str>>,
    /// v5+: the protocol it takes for the chosen one.
    pub protocol: Option<Arc<str>>,
    /// Of the leader: what each member is to have.
    pub assignments: BTreeMap<MemberId, Bytes>,
}

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Heartbeat {
    /// The group.
    pub group: GroupId,
    /// The generation the member takes itself for a member of.
    pub generation: i32,
    /// The member.
    pub member: MemberId,
    /// Its instance id, if it is a static one.
    pub instance: Option<Arc<str>>,
}
