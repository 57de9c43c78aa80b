//! The network between the members of a cluster. All of it does nothing in a world of one node.

use verdict_core::cluster::{ClusterInput, PeerError, PeerRequestId};
use verdict_core::io::ConnId;
use verdict_core::wire::{Request, Response};

use super::{PEER_TIMEOUT_US, Peer};
use crate::choices::{Choices, Fault, Label};
use crate::history::ClientId;
use crate::world::env::Env;
use crate::world::names::api_name;
use crate::world::pins;
use crate::world::queue::Happening;

impl Env {
    /// A member sends another a request. The network decides what becomes of it.
    pub(in crate::world) fn send_to_peer(
        &mut self,
        (from, life): (usize, u32),
        id: PeerRequestId,
        to: i32,
        version: i16,
        request: Box<Request>,
    ) {
        let to = to as usize - 1;
        let travel = self.choices.between(Label::Latency, 50, 1_000);
        let markers = matches!(&*request, Request::WriteTxnMarkers(_));
        if markers && version >= 2 && self.cluster_mut().of_old.contains(&to) {
            let result = Err(PeerError::UnsupportedVersion);
            let input = Box::new(ClusterInput::Answer { id, result });
            return self
                .queue
                .push(self.now_us + travel, Happening::News { broker: from, life, input });
        }
        let cluster = self.cluster_mut();
        let conn = ConnId(cluster.next_conn);
        cluster.next_conn += 1;
        cluster.peers.insert(conn, Peer { from, life, id, to, given_up: false });
        self.queue.push(self.now_us + PEER_TIMEOUT_US, Happening::PeerTimeout { conn });
        self.maybe_cut(from, to);
        let api = api_name(&request);
        let pinned = self.pins.request(&format!("peer {api}"), from as ClientId);
        let mut delay = if let Some(pins::Act::Delay(us)) = pinned { us } else { 0 };
        if pinned == Some(pins::Act::Drop) || self.is_cut(from, to) {
            return;
        }
        if self.choices.chance(Label::PeerDelayed, self.profile.rate(Fault::PeerDelayed)) {
            delay += self.choices.between(Label::PeerFate, 100_000, 4_000_000);
        }
        let at = self.now_us + travel + delay;
        let corr = 0;
        self.queue.push(at, Happening::Arrive { conn, corr, version, request });
    }

    /// Now and then the network between two members is cut for a while, one way or both.
    fn maybe_cut(&mut self, from: usize, to: usize) {
        if !self.choices.chance(Label::PeersCut, self.profile.rate(Fault::PeersCut)) {
            return;
        }
        let until = self.now_us + self.choices.between(Label::PeerFate, 100_000, 5_000_000);
        let ways: &[_] = match self.choices.below(Label::PeerFate, 3) {
            0 => &[(from, to)],
            1 => &[(to, from)],
            _ => &[(from, to), (to, from)],
        };
        for way in ways {
            self.cluster_mut().cuts.insert(*way, until);
        }
    }

    fn is_cut(&mut self, from: usize, to: usize) -> bool {
        let now_us = self.now_us;
        let until = self.cluster_mut().cuts.get(&(from, to)).copied();
        until.is_some_and(|until| until > now_us)
            || self.choices.chance(Label::PeerLost, self.profile.rate(Fault::PeerLost))
    }

    /// Both ends have forgotten a connection between members.
    pub(in crate::world) fn forget_peer(&mut self, conn: ConnId) {
        if let Some(cluster) = &mut self.cluster {
            cluster.peers.remove(&conn);
        }
    }

    /// The member a connection between members leads to.
    pub(in crate::world) fn peer_broker(&self, conn: ConnId) -> Option<usize> {
        self.cluster.as_ref()?.peers.get(&conn).map(|peer| peer.to)
    }

    /// Whether the sender of a request between members waits no longer; `None` for a client's.
    pub(in crate::world) fn peer_gave_up(&self, conn: ConnId) -> Option<bool> {
        self.cluster.as_ref()?.peers.get(&conn).map(|peer| peer.given_up)
    }

    /// A member answers another; `false` when the connection is a client's.
    pub(in crate::world) fn respond_to_peer(
        &mut self,
        conn: ConnId,
        api: &str,
        response: &Response,
    ) -> bool {
        let Some(cluster) = &self.cluster else { return false };
        let Some(peer) = cluster.peers.get(&conn).cloned() else { return false };
        let pinned = self.pins.response(&format!("peer {api}"), peer.from as ClientId);
        let lost = pinned == Some(pins::Act::Drop) || self.is_cut(peer.to, peer.from);
        if !lost {
            self.end_peer(conn, &Ok(response.clone()));
            self.queue.push(self.now_us + 1, Happening::ConnClosed { conn });
        }
        // Of a lost one the sender learns when it has waited long enough.
        true
    }

    /// A request between members ends without an answer; `false` when there is none.
    pub(in crate::world) fn break_peer(&mut self, conn: ConnId) -> bool {
        let is_peer = self.peer_broker(conn).is_some();
        if is_peer {
            self.end_peer(conn, &Err(PeerError::Disconnected));
        }
        is_peer
    }

    fn end_peer(&mut self, conn: ConnId, result: &Result<Response, PeerError>) {
        let Some(peer) = self.cluster_mut().peers.get_mut(&conn) else { return };
        if std::mem::replace(&mut peer.given_up, true) {
            return;
        }
        let (broker, life, id) = (peer.from, peer.life, peer.id);
        let mut at = self.now_us + self.choices.between(Label::Latency, 50, 1_000);
        if self.choices.chance(Label::PeerSlow, self.profile.rate(Fault::PeerSlow)) {
            at += self.choices.between(Label::PeerFate, 1_000, 80_000);
        }
        let input = Box::new(ClusterInput::Answer { id, result: result.clone() });
        self.queue.push(at, Happening::News { broker, life, input });
    }
}
