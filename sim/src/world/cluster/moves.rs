//! Who leads what, and how the members hear of it: the old leader, and the others, in their own
//! time.

use verdict_core::cluster::Leader;
use verdict_core::types::{PartitionId, TRANSACTION_STATE_TOPIC};

use crate::choices::{Choices, Fault, Label};
use crate::world::env::Env;
use crate::world::queue::Happening;

impl Env {
    /// A partition gets a new leader; the old one, and the others, hear of it in their own time.
    pub(in crate::world) fn move_leader(&mut self, id: PartitionId, to: usize) {
        let Some(leader) = self.cluster_mut().leader_mut(id) else { return };
        let old = leader.node as usize - 1;
        *leader = Leader { node: to as i32 + 1, epoch: leader.epoch + 1 };
        let epoch = leader.epoch;
        let now_us = self.now_us;
        if self.trace.wants_lines() {
            let text = format!("{id:?} moves from b{old} to b{to} at epoch {epoch}");
            self.trace.line(now_us, "world", &text);
        }
        self.maybe_age(id);
        self.note_moved(id);
        self.tell(to);
        for other in (0..self.cluster_mut().size).filter(|other| *other != to) {
            if self.choices.chance(Label::NewsLate, self.profile.rate(Fault::NewsLate)) {
                let until = now_us + self.choices.between(Label::News, 100_000, 6_000_000);
                self.cluster_mut().hidden.insert((other, id), until);
                self.queue.push(until, Happening::Tell { broker: other });
            } else {
                self.tell(other);
            }
        }
    }

    /// Whether the leader of a partition is the coordinator of transactional ids.
    pub(in crate::world) fn coordinates_ids(&self, id: PartitionId) -> bool {
        let cluster = self.cluster.as_ref();
        cluster.is_some_and(|cluster| cluster.topic_of(id) == TRANSACTION_STATE_TOPIC)
    }

    /// A member will hear who leads what.
    fn tell(&mut self, broker: usize) {
        let at = self.now_us + self.choices.between(Label::News, 100, 10_000);
        let planned = &mut self.cluster_mut().next_tell_us[broker];
        if planned.is_none_or(|planned| planned > at) {
            *planned = Some(at);
            self.queue.push(at, Happening::Tell { broker });
        }
    }

    /// Nothing is kept from anybody any more.
    pub(in crate::world) fn heal_cluster(&mut self) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.hidden.clear();
        cluster.cuts.clear();
        for broker in 0..cluster.size {
            cluster.next_tell_us[broker] = None;
            self.queue.push(self.now_us, Happening::Tell { broker });
        }
    }

    /// A random partition moves to a random member.
    pub(in crate::world) fn move_something(&mut self) {
        let led = self.cluster_mut().led();
        let size = self.cluster_mut().size as u32;
        // Coordinators' partitions come up as often as all others together.
        let internal = self.choices.below(Label::Move, 2) == 0;
        let (_, transactions) = self.cluster_mut().internal_partitions;
        let among = if internal { &led[..transactions as usize] } else { &led[..] };
        let (id, _) = among[self.choices.below(Label::Move, among.len() as u32) as usize];
        let to = self.choices.below(Label::Move, size) as usize;
        self.move_leader(id, to);
    }

    /// A named partition moves; the other members hear of it so much later.
    pub(in crate::world) fn move_named(
        &mut self,
        topic: &str,
        partition: i32,
        to: usize,
        late_us: u64,
    ) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(id) = cluster.partition_named(topic, partition) else { return };
        let until = self.now_us + late_us;
        for other in (0..cluster.size).filter(|other| late_us > 0 && *other != to) {
            cluster.hidden.insert((other, id), until);
            self.queue.push(until, Happening::Tell { broker: other });
        }
        self.move_leader(id, to);
    }

    /// A member is there again: what it led, it leads at a new epoch.
    pub(in crate::world) fn member_is_ready(&mut self, broker: usize) {
        if self.cluster.is_none() {
            return;
        }
        self.cluster_mut().given[broker].clear();
        self.cluster_mut().told[broker].clear();
        self.cluster_mut().answering.forget(broker);
        self.cluster_mut().next_tell_us[broker] = None;
        let moves =
            self.choices.chance(Label::LeaderMoves, self.profile.rate(Fault::LeaderMoves) * 20);
        for (id, leader) in self.cluster_mut().led() {
            if leader.node == broker as i32 + 1 {
                let size = self.cluster_mut().size as u32;
                let to =
                    if moves { self.choices.below(Label::Move, size) as usize } else { broker };
                self.move_leader(id, to);
            }
        }
        self.tell(broker);
    }

    /// A member gives a partition up.
    pub(in crate::world) fn resigned(&mut self, broker: usize, id: PartitionId, epoch: i32) {
        let led = self.cluster_mut().leader_mut(id).copied();
        if led == Some(Leader { node: broker as i32 + 1, epoch }) {
            let size = self.cluster_mut().size as u32;
            let to = self.choices.below(Label::Move, size) as usize;
            self.move_leader(id, to);
        }
    }
}
