//! DescribeGroups and ListGroups.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::MemberId;
use super::state::Classic;
use crate::group::consumer::CONSUMER;
use crate::group::offsets::Group;
use crate::group::{GroupCoordinator, GroupError, GroupId, GroupState, Phase};

/// The kind of classic groups.
const CLASSIC: &str = "classic";

/// A group as it is described.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribedGroup {
    /// Its state.
    pub state: GroupState,
    /// Its kind, "" for a simple one.
    pub protocol_type: Arc<str>,
    /// The protocol, while it is Stable.
    pub protocol: Arc<str>,
    /// Its members.
    pub members: Vec<DescribedMember>,
}

/// A member as it is described. Metadata and assignment are told of Stable groups only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribedMember {
    /// Its id.
    pub id: MemberId,
    /// Its instance id, if it is a static one.
    pub instance: Option<Arc<str>>,
    /// The client's name for itself.
    pub client_id: Arc<str>,
    /// Where it is connected from.
    pub client_host: Arc<str>,
    /// What it said for the chosen protocol.
    pub metadata: Bytes,
    /// What it was assigned.
    pub assignment: Bytes,
}

/// A group as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListedGroup {
    /// Its id.
    pub id: GroupId,
    /// Its state's name.
    pub state: &'static str,
    /// Its kind, "" for a simple one.
    pub protocol_type: Arc<str>,
    /// Which protocol it follows: `classic` or `consumer`.
    pub kind: &'static str,
}

impl GroupCoordinator {
    /// Describes a group.
    ///
    /// # Errors
    /// [`GroupError::GroupIdNotFound`], and where its partition is.
    pub fn describe(&self, group: &str) -> Result<DescribedGroup, GroupError> {
        let partition = self.coordinator_for(group)?;
        let Some(Phase::Active(shard)) = self.shards.get(&partition) else {
            return Err(GroupError::NotCoordinator);
        };
        let found = shard
            .group(group)
            .filter(|found| found.persisted_consumer().is_none() && !found.is_unborn());
        let found = found.ok_or(GroupError::GroupIdNotFound)?;
        let state = self.state_of(group, found);
        Ok(found.classic.describe(state))
    }

    /// Every group of this node.
    ///
    /// # Errors
    /// [`GroupError::Loading`] while a partition is, for then there may be more.
    pub fn list(&self) -> Result<Vec<ListedGroup>, GroupError> {
        let mut listed = Vec::new();
        for phase in self.shards.values() {
            match phase {
                Phase::Loading(_) => return Err(GroupError::Loading),
                Phase::Failed => {}
                Phase::Active(shard) => {
                    listed.extend(
                        shard
                            .groups()
                            .filter(|(_, found)| !found.is_unborn())
                            .map(|(id, found)| self.listed(id, found)),
                    );
                }
            }
        }
        Ok(listed)
    }

    fn listed(&self, id: &GroupId, found: &Group) -> ListedGroup {
        let id = id.clone();
        match found.persisted_consumer() {
            Some(consumer) => ListedGroup {
                id,
                state: consumer.state().name(),
                protocol_type: Arc::from(CONSUMER),
                kind: CONSUMER,
            },
            None => ListedGroup {
                state: self.state_of(&id, found).name(),
                id,
                protocol_type: found.classic.protocol_type_text(),
                kind: CLASSIC,
            },
        }
    }
}

impl Classic {
    fn protocol_type_text(&self) -> Arc<str> {
        self.protocol_type.clone().unwrap_or_else(|| Arc::from(""))
    }

    fn describe(&self, state: GroupState) -> DescribedGroup {
        let protocol = self.protocol.clone().filter(|_| state == GroupState::Stable);
        let members = self.members.iter().map(|(id, member)| DescribedMember {
            id: id.clone(),
            instance: member.instance.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            metadata: match &protocol {
                Some(protocol) => member.metadata(Some(protocol)),
                None => Bytes::new(),
            },
            assignment: match &protocol {
                Some(_) => member.assignment.clone(),
                None => Bytes::new(),
            },
        });
        DescribedGroup {
            state,
            protocol_type: self.protocol_type_text(),
            members: members.collect(),
            protocol: protocol.clone().unwrap_or_else(|| Arc::from("")),
        }
    }
}
