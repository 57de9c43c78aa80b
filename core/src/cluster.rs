//! What a node of a cluster and the world around it tell each other (docs/decisions/0015).
//!
//! A *member* ([`Node::member`](crate::node::Node::member)) leads what it is told to lead. Who leads
//! what, and the records that are committed, are kept outside: by a store that takes an append only
//! from the newest leader. A node that is no member knows nothing of this; it leads everything.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::batch::StoredBatch;
use crate::types::{Offset, PartitionId, ProducerId, TopicId, TopicName};
use crate::wire::Response;

/// `node.id` of a member.
pub type NodeId = i32;

/// Where clients and other members find a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Its `node.id`.
    pub id: NodeId,
    /// Its advertised host.
    pub host: String,
    /// Its advertised port.
    pub port: i32,
}

/// Who leads a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leader {
    /// The leader.
    pub node: NodeId,
    /// Its epoch; every change of leader, also to the same node, has a higher one. For a partition
    /// of `__transaction_state` it is the coordinator epoch.
    pub epoch: i32,
}

/// A topic, and who leads its partitions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlacedTopic {
    /// Its name.
    pub name: TopicName,
    /// Its id.
    pub id: TopicId,
    /// Its own settings.
    pub configs: Vec<(String, String)>,
    /// The leaders of partitions `0..`.
    pub leaders: Vec<Leader>,
}

/// Who is there and who leads what, as of some time. Older news of a partition (by its epoch) are
/// ignored, so these may arrive in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Placement {
    /// All members.
    pub members: Vec<Member>,
    /// All topics.
    pub topics: Vec<PlacedTopic>,
}

/// A partition that this node leads from now on, with everything that was committed of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lead {
    /// The partition.
    pub partition: PartitionId,
    /// The epoch of this leadership.
    pub epoch: i32,
    /// First readable offset.
    pub log_start: Offset,
    /// Every committed batch, in order.
    pub batches: Vec<StoredBatch>,
}

/// A change of a partition that is on this node's disk and wants to be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedChange {
    /// The partition.
    pub partition: PartitionId,
    /// The epoch of the leadership that made the change.
    pub epoch: i32,
    /// What changed.
    pub what: Change,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A batch was appended.
    Append(StoredBatch),
    /// The first readable offset moved up.
    LogStart(Offset),
}

/// The changes of one turn, numbered by the node, ascending; answered in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfirmId(pub u64);

/// A request to another member, numbered by the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerRequestId(pub u64);

/// Why a request to another member has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum PeerError {
    /// The connection was lost, or `request.timeout.ms` passed. The request may have been
    /// applied, or may still arrive.
    #[error("no answer")]
    Disconnected,
    /// The member does not know this version of the request; nothing was applied.
    #[error("the version is not supported")]
    UnsupportedVersion,
}

/// What only a member is told.
#[derive(Clone, Debug)]
pub enum ClusterInput {
    /// Who leads what.
    Placement(Arc<Placement>),
    /// This node leads a partition.
    Lead(Lead),
    /// What [`ClusterOutput::Confirm`] asked for is committed, but for the changes of these
    /// partitions: somebody else leads them now.
    Confirmed {
        /// What was asked for.
        id: ConfirmId,
        /// Partitions whose changes were refused.
        fenced: Vec<PartitionId>,
    },
    /// The end of a [`ClusterOutput::Request`]; exactly one for each.
    Answer {
        /// The request.
        id: PeerRequestId,
        /// Its answer.
        result: Result<Response, PeerError>,
    },
    /// Producer ids for this node alone.
    ProducerIds {
        /// The first.
        first: ProducerId,
        /// How many; 0 when there are none to be had now.
        count: i64,
    },
}

/// What only a member asks for.
#[derive(Clone, Debug)]
pub enum ClusterOutput {
    /// Commit what one turn changed; [`ClusterInput::Confirmed`] answers. Nothing that depends on
    /// it leaves the node before.
    Confirm {
        /// Comes back with the answer.
        id: ConfirmId,
        /// The changes, in order; of one partition always at one epoch.
        changes: Vec<SharedChange>,
    },
    /// Send a request to another member; [`ClusterInput::Answer`] ends it.
    Request {
        /// Comes back with the answer.
        id: PeerRequestId,
        /// Whom to.
        to: NodeId,
        /// The request's version.
        version: i16,
        /// The request.
        request: alloc::boxed::Box<crate::wire::Request>,
    },
    /// The node cannot lead a partition any more (its disk takes no changes until a restart):
    /// somebody, maybe this node again, is to lead it at a higher epoch.
    Resigned {
        /// The partition.
        partition: PartitionId,
        /// The epoch of the leadership that ends.
        epoch: i32,
    },
    /// A block of producer ids is wanted; [`ClusterInput::ProducerIds`] answers.
    WantProducerIds,
}
