//! Which answers of members rest on what is so: a member that is replaced and has not heard of it
//! answers as of then, as long as it need not write. Clients cannot tell, and oracles that judge
//! what only a leader knows must.

use std::collections::BTreeMap;

use verdict_core::io::ConnId;
use verdict_core::types::PartitionId;
use verdict_core::wire::Request;

use super::{Cluster, TRANSACTIONAL_ID};
use crate::world::env::Env;

/// What an answer rests on.
#[derive(Clone, Copy, Debug)]
struct Grounds {
    broker: usize,
    /// The partition that the broker has to lead.
    led: Option<PartitionId>,
    /// The partition whose leader it asks.
    asked: Option<PartitionId>,
}

/// The epochs of both.
type Epochs = [Option<i32>; 2];

/// What members are about to answer.
#[derive(Clone, Debug)]
pub(super) struct Answering {
    /// By member: the epochs of what it has heard that it leads, in this life.
    heard: Vec<BTreeMap<PartitionId, i32>>,
    /// The grounds of requests that were begun with, as they were then; `None` were not so.
    begun: BTreeMap<(ConnId, u32), (Grounds, Option<Epochs>)>,
}

impl Answering {
    pub(super) fn new(size: usize) -> Self {
        Self { heard: vec![BTreeMap::new(); size], begun: BTreeMap::new() }
    }

    /// A member begins anew.
    pub(super) fn forget(&mut self, broker: usize) {
        self.heard[broker].clear();
    }
}

/// The transactional id that a leader, or a group's coordinator, asks the coordinator about.
fn asks_about(request: &Request) -> Option<&str> {
    match request {
        Request::Produce(produce) => {
            produce.transactional_id.as_ref().map(kacrab_protocol::KafkaString::as_str)
        }
        Request::TxnOffsetCommit(commit) => Some(commit.transactional_id.as_str()),
        _ => None,
    }
}

impl Cluster {
    /// A member has heard that it leads a partition.
    pub(in crate::world) fn heard(&mut self, broker: usize, id: PartitionId, epoch: i32) {
        let known = self.answering.heard[broker].entry(id).or_insert(epoch);
        *known = epoch.max(*known);
    }

    /// At which epoch a member leads a partition in truth, and knows.
    fn leads(&self, broker: usize, id: PartitionId) -> Option<i32> {
        let leader = self.leader(id)?;
        let heard = self.answering.heard[broker].get(&id) == Some(&leader.epoch);
        (heard && leader.node == broker as i32 + 1).then_some(leader.epoch)
    }

    /// The same of the member that another one takes for the leader.
    fn knows_who_leads(&self, broker: usize, id: PartitionId) -> Option<i32> {
        let leader = self.leader(id)?;
        let knows = self.told[broker].get(&id) == Some(&leader);
        self.leads(leader.node as usize - 1, id).filter(|_| knows)
    }

    fn epochs(&self, grounds: Grounds) -> Option<Epochs> {
        let led = match grounds.led {
            Some(id) => Some(self.leads(grounds.broker, id)?),
            None => None,
        };
        let asked = match grounds.asked {
            Some(id) => Some(self.knows_who_leads(grounds.broker, id)?),
            None => None,
        };
        Some([led, asked])
    }
}

impl Env {
    /// A member begins with a request of a client. Gives back the partition of the transactional
    /// id that it coordinates, if it is asked as its coordinator.
    pub(in crate::world) fn begins_with(
        &mut self,
        broker: usize,
        (conn, corr): (ConnId, u32),
        request: &Request,
    ) -> Option<PartitionId> {
        let cluster = self.cluster.as_mut()?;
        let about = asks_about(request);
        let asked = about.and_then(|id| cluster.coordinated_by(TRANSACTIONAL_ID, id));
        let led = cluster.target(request);
        let grounds = Grounds { broker, led, asked };
        let epochs = cluster.epochs(grounds);
        cluster.answering.begun.insert((conn, corr), (grounds, epochs));
        led.filter(|_| asked.is_none())
    }

    /// Whether what is being answered does not rest on what is so, and was so all the time.
    pub(in crate::world) fn answers_of_old(&mut self, conn: ConnId, corr: u32) -> bool {
        let Some(cluster) = &mut self.cluster else { return false };
        let Some((grounds, epochs)) = cluster.answering.begun.remove(&(conn, corr)) else {
            return true;
        };
        epochs.is_none() || cluster.epochs(grounds) != epochs
    }

    /// Nothing is answered over a connection any more.
    pub(in crate::world) fn answers_nothing(&mut self, conn: ConnId) {
        if let Some(cluster) = &mut self.cluster {
            let begun = &mut cluster.answering.begun;
            let of_it = begun.range((conn, 0)..=(conn, u32::MAX)).map(|(key, _)| *key);
            for key in of_it.collect::<Vec<_>>() {
                begun.remove(&key);
            }
        }
    }
}
