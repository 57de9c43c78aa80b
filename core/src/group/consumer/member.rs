//! One member of a consumer group, as its two records keep it (`ConsumerGroupMemberMetadata`,
//! `ConsumerGroupCurrentMemberAssignment`).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::group::Protocol;
use crate::types::{TopicId, TopicName};

/// Partitions by topic. A topic without partitions is not in it.
pub type Partitions = BTreeMap<TopicId, BTreeSet<i32>>;

/// Partitions by topic, each with the epoch in which its member was given it.
pub(in crate::group) type Epochs = BTreeMap<TopicId, BTreeMap<i32, i32>>;

/// Epoch of a member that is not in the group.
pub(super) const LEFT: i32 = -1;
/// Epoch of a static member that has left and means to come back.
pub(super) const LEFT_TO_RETURN: i32 = -2;

/// Where a member is on its way to its target assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) enum MemberState {
    /// It has what its epoch gives it.
    Stable,
    /// It is to say that it has let go of partitions.
    Unrevoked,
    /// It waits for partitions that another member still holds.
    Unreleased,
    /// A state of a later release.
    Unknown,
}

impl MemberState {
    pub(super) const fn code(self) -> i8 {
        match self {
            Self::Stable => 0,
            Self::Unrevoked => 1,
            Self::Unreleased => 2,
            Self::Unknown => 127,
        }
    }

    pub(super) const fn from_code(code: i8) -> Self {
        match code {
            0 => Self::Stable,
            1 => Self::Unrevoked,
            2 => Self::Unreleased,
            _ => Self::Unknown,
        }
    }
}

/// What a member that speaks the classic protocol said when it joined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) struct ClassicMember {
    pub(in crate::group) session_timeout_ms: i32,
    /// By preference.
    pub(in crate::group) protocols: Vec<Protocol>,
}

/// What a member says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) struct About {
    pub(in crate::group) instance: Option<Arc<str>>,
    pub(in crate::group) rack: Option<Arc<str>>,
    pub(in crate::group) client_id: Arc<str>,
    pub(in crate::group) client_host: Arc<str>,
    pub(in crate::group) topics: BTreeSet<TopicName>,
    /// "" for none, as Kafka writes it.
    pub(in crate::group) regex: Option<Arc<str>>,
    /// How long it may take to let go of partitions, in ms.
    pub(in crate::group) rebalance_timeout_ms: i32,
    pub(in crate::group) assignor: Option<Arc<str>>,
    /// Set while it speaks the classic protocol.
    pub(in crate::group) classic: Option<ClassicMember>,
}

impl Default for About {
    fn default() -> Self {
        Self {
            instance: None,
            rack: None,
            client_id: Arc::from(""),
            client_host: Arc::from(""),
            topics: BTreeSet::new(),
            regex: Some(Arc::from("")),
            rebalance_timeout_ms: -1,
            assignor: None,
            classic: None,
        }
    }
}

impl About {
    /// The regular expression it subscribes by, if it does.
    pub(in crate::group) fn regex(&self) -> Option<&Arc<str>> {
        self.regex.as_ref().filter(|regex| !regex.is_empty())
    }
}

/// What a member has, and is to let go of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::group) struct Holding {
    pub(in crate::group) epoch: i32,
    /// The epoch before, which it goes on with when the answer with the new one was lost.
    pub(in crate::group) previous_epoch: i32,
    pub(in crate::group) state: MemberState,
    pub(in crate::group) assigned: Epochs,
    pub(in crate::group) revoking: Epochs,
}

impl Default for Holding {
    fn default() -> Self {
        Self {
            epoch: 0,
            previous_epoch: LEFT,
            state: MemberState::Stable,
            assigned: Epochs::new(),
            revoking: Epochs::new(),
        }
    }
}

impl Holding {
    /// Every partition that nobody else may have.
    pub(in crate::group) fn held(&self) -> impl Iterator<Item = (TopicId, i32)> {
        let both = self.assigned.iter().chain(&self.revoking);
        both.flat_map(|(topic, partitions)| partitions.keys().map(|partition| (*topic, *partition)))
    }

    /// Since which epoch it has the partition, also when it is to let go of it.
    pub(in crate::group) fn since(&self, topic: TopicId, partition: i32) -> Option<i32> {
        let of = |all: &Epochs| all.get(&topic).and_then(|one| one.get(&partition)).copied();
        of(&self.assigned).or_else(|| of(&self.revoking))
    }

    /// Whether it has arrived at this epoch.
    pub(in crate::group) fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.state == MemberState::Stable && self.epoch == epoch
    }

    /// Whether these are all assigned to it. What is not said is not.
    pub(super) fn covers(&self, owned: Option<&[(TopicId, Vec<i32>)]>) -> bool {
        owned.is_some_and(|owned| {
            owned.iter().all(|(topic, partitions)| {
                let assigned = self.assigned.get(topic);
                assigned.is_some_and(|one| partitions.iter().all(|at| one.contains_key(at)))
            })
        })
    }
}

/// A member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::group) struct Member {
    pub(in crate::group) about: About,
    pub(in crate::group) holding: Holding,
}

impl Member {
    pub(in crate::group) const fn is_classic(&self) -> bool {
        self.about.classic.is_some()
    }
}

/// The partitions alone.
pub(super) fn without_epochs(epochs: &Epochs) -> Partitions {
    epochs.iter().map(|(topic, one)| (*topic, one.keys().copied().collect())).collect()
}

/// All partitions given in one epoch.
pub(super) fn with_epoch(partitions: &Partitions, epoch: i32) -> Epochs {
    let topic = |(topic, one): (&TopicId, &BTreeSet<i32>)| {
        (*topic, one.iter().map(|partition| (*partition, epoch)).collect())
    };
    partitions.iter().map(topic).collect()
}
