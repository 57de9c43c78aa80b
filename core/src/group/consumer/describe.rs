//! ConsumerGroupDescribe: what is persisted of a consumer group.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::member::{Member, Partitions, without_epochs};
use super::state::{Consumer, ConsumerState};
use crate::group::{GroupCoordinator, GroupError, MemberId, Phase};
use crate::types::{TopicId, TopicName};

/// A consumer group as it is described.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribedConsumerGroup {
    /// Its state.
    pub state: ConsumerState,
    /// Its epoch.
    pub epoch: i32,
    /// The epoch of its target assignment.
    pub target_epoch: i32,
    /// The assignor of its members' choice.
    pub assignor: Arc<str>,
    /// Its members.
    pub members: Vec<DescribedConsumer>,
}

/// A member as it is described. Partitions of topics that are gone are left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribedConsumer {
    /// Its id.
    pub id: MemberId,
    /// Its instance id, if it is a static one.
    pub instance: Option<Arc<str>>,
    /// Where it is.
    pub rack: Option<Arc<str>>,
    /// Its epoch.
    pub epoch: i32,
    /// The client's name for itself.
    pub client_id: Arc<str>,
    /// Where it is connected from.
    pub client_host: Arc<str>,
    /// The topics it subscribes to by name.
    pub topics: Vec<TopicName>,
    /// Its regular expression; "" for none.
    pub regex: Option<Arc<str>>,
    /// What it has, and what it is to let go of.
    pub assignment: Vec<(TopicId, TopicName, Vec<i32>)>,
    /// What it is to have.
    pub target: Vec<(TopicId, TopicName, Vec<i32>)>,
    /// Whether it speaks the classic protocol.
    pub is_classic: bool,
}

impl GroupCoordinator {
    /// Describes a consumer group.
    ///
    /// # Errors
    /// [`GroupError::GroupIdNotFound`], also when it is a classic one, and where its partition is.
    pub fn describe_consumer(&self, group: &str) -> Result<DescribedConsumerGroup, GroupError> {
        let found = self.persisted_consumer(group)?.ok_or(GroupError::GroupIdNotFound)?;
        let members = found.members.iter().map(|(id, member)| self.described(found, id, member));
        Ok(DescribedConsumerGroup {
            state: found.state(),
            epoch: found.epoch,
            target_epoch: found.target_epoch,
            assignor: Arc::from(found.assignor()),
            members: members.collect(),
        })
    }

    /// Whether there is a consumer group of that id here.
    #[must_use]
    pub fn has_consumer_group(&self, group: &str) -> bool {
        self.persisted_consumer(group).is_ok_and(|found| found.is_some())
    }

    fn persisted_consumer(&self, group: &str) -> Result<Option<&Arc<Consumer>>, GroupError> {
        let partition = self.coordinator_for(group)?;
        let Some(Phase::Active(shard)) = self.shards.get(&partition) else {
            return Err(GroupError::NotCoordinator);
        };
        Ok(shard.group(group).and_then(|found| found.persisted_consumer()))
    }

    fn described(&self, group: &Consumer, id: &MemberId, member: &Member) -> DescribedConsumer {
        let about = &member.about;
        let mut held = without_epochs(&member.holding.assigned);
        for (topic, partitions) in without_epochs(&member.holding.revoking) {
            held.entry(topic).or_default().extend(partitions);
        }
        DescribedConsumer {
            id: id.clone(),
            instance: about.instance.clone(),
            rack: about.rack.clone(),
            epoch: member.holding.epoch,
            client_id: about.client_id.clone(),
            client_host: about.client_host.clone(),
            topics: about.topics.iter().cloned().collect(),
            regex: about.regex.clone(),
            assignment: self.with_names(&held),
            target: self.with_names(&group.target(id)),
            is_classic: member.is_classic(),
        }
    }

    fn with_names(&self, partitions: &Partitions) -> Vec<(TopicId, TopicName, Vec<i32>)> {
        let named = partitions.iter().filter_map(|(topic, one)| {
            let name = self.topics.name(*topic)?.clone();
            Some((*topic, name, one.iter().copied().collect()))
        });
        named.collect()
    }
}
