//! News of who leads what.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::Node;
use super::super::timers::Timer;
use crate::cluster::Placement;
use crate::mark;
use crate::types::PartitionId;

/// How long after a failure the records of a placed topic are written again, in ms.
const TOPICS_RETRY_MS: u64 = 100;

impl Node {
    /// Who is there and who leads what. Of each partition only what is newer counts.
    pub(super) fn placed(&mut self, placement: Arc<Placement>) {
        let mut lost = Vec::new();
        let node = self.config.node_id;
        let Some(cluster) = &mut self.cluster else { return };
        for topic in &placement.topics {
            for (partition, leader) in (0..).zip(&topic.leaders) {
                let id = PartitionId { topic_id: topic.id, partition };
                let known = cluster.leaders.get(&id);
                if known.is_some_and(|known| known.epoch >= leader.epoch) {
                    continue;
                }
                cluster.leaders.insert(id, *leader);
                cluster.imports.remove(&id);
                if self.partitions.contains_key(&id) {
                    if leader.node != node {
                        mark!(LeadershipMovedAway);
                    }
                    lost.push(id);
                }
            }
        }
        cluster.placement = placement;
        for id in lost {
            self.lose(id);
        }
        self.write_placed_topics();
    }

    /// Topics that the metadata log does not have yet.
    pub(in crate::node) fn write_placed_topics(&mut self) {
        let Some(cluster) = &self.cluster else { return };
        if !self.is_booted() {
            return;
        }
        let placement = cluster.placement.clone();
        for topic in &placement.topics {
            let Ok(partitions) = i32::try_from(topic.leaders.len()) else { continue };
            let Some(plan) =
                self.meta.plan_placed(&topic.name, topic.id, partitions, &topic.configs)
            else {
                continue;
            };
            if self.append_metadata(plan.records).is_err() {
                self.placed_topics_failed();
            }
        }
    }

    /// They could not be written; a timer tries again.
    pub(in crate::node) fn placed_topics_failed(&mut self) {
        if self.cluster.is_some() {
            self.timers.set(self.now.at.after_ms(TOPICS_RETRY_MS), Timer::PlacedTopics);
        }
    }
}
