//! What a client may touch of the world: time, choices, its connections, the history.

use std::collections::BTreeMap;

use verdict_core::io::ConnId;
use verdict_core::wire::{ProduceRequest, Request, Response};

use super::asked::Asked;
use super::broker::is_protected;
use super::cluster::Cluster;
use super::names::api_name;
use super::pins::{Act, Pins};
use super::queue::{Happening, Queue};
use crate::choices::{Choices, Fault, Label, Profile, Source};
use crate::clients::Outside;
use crate::history::{ClientId, Event, History, Part, Txn};
use crate::trace::{Trace, What, mix};

/// A connection as the network sees it.
#[derive(Clone, Debug)]
struct Link {
    client: ClientId,
    /// Nothing on the way to the broker arrives before this.
    to_broker_us: u64,
    /// Nothing on the way to the client arrives before this.
    to_client_us: u64,
    client_open: bool,
    /// The broker at the other end.
    broker: usize,
    /// What is still on the way to the broker is thrown away on arrival.
    reset: bool,
}

/// The part of the world that is neither a node nor a client.
#[derive(Clone, Debug)]
pub struct Env {
    /// The world's time.
    pub now_us: u64,
    /// Where decisions come from.
    pub choices: Source,
    /// Which faults there are.
    pub profile: Profile,
    /// What clients saw.
    pub history: History,
    /// What happened.
    pub trace: Trace,
    pub(super) queue: Queue,
    pub(super) pins: Pins,
    /// What is around the members of a cluster; none in a world of one node.
    pub(super) cluster: Option<Cluster>,
    /// The broker whose answer is being handed to a client.
    pub(super) answering: usize,
    /// That broker did not lead what the answer rests on, and had not heard of it.
    pub(super) answered_by_old: bool,
    pub(super) paused: BTreeMap<ClientId, u64>,
    pub(super) topic_is_there: bool,
    /// Whether producers are forgotten within a run. A batch that comes after that is a new one
    /// (KAFKA-7190 kind), so no Produce may arrive after its sender gave up on it.
    pub(super) forgets_producers: bool,
    forgets_ids: bool,
    /// Clients look for a group's coordinator: the topic of the offsets is not there before.
    finds_groups: bool,
    pub(super) asked: Asked,
    /// At the next orderly stop producer epochs are moved to near their end.
    pub(super) epochs_to_age: bool,
    /// How often, in 10,000, the checkpoint is gone too when a crash leaves a hole in a log.
    /// Clients have deleted records: a partition's snapshot may know of producers what its log does
    /// not know any more.
    pub(super) records_deleted: bool,
    pub(super) holes_rot: u32,
    /// The databases of two-phase commit, which no fault reaches.
    pub outside: Outside,
    /// They were.
    pub(super) has_aged_epochs: bool,
    /// The wall clock of a member of a cluster has jumped.
    pub(super) clocks_differ: bool,
    /// Private partitions, and the producer id that wrote to each first.
    pioneers: BTreeMap<Part, i64>,
    links: BTreeMap<ConnId, Link>,
    next_conn: u64,
    next_txn: Txn,
    next_app: u64,
    next_offset: i64,
    operations: u64,
    /// How many times longer than in a large world clients rest that nobody waits for.
    leisure: u64,
    /// Partitions of the topic.
    pub(super) parts: Part,
}

/// The wall clock's time at the beginning of every world, in ms.
pub(super) const EPOCH_MS: i64 = 1_700_000_000_000;

impl Env {
    pub(super) fn new(choices: Source, profile: Profile, trace: Trace, pins: Pins) -> Self {
        Self {
            now_us: 0,
            choices,
            profile,
            history: History::default(),
            trace,
            queue: Queue::default(),
            pins,
            cluster: None,
            answering: 0,
            answered_by_old: false,
            clocks_differ: false,
            paused: BTreeMap::new(),
            topic_is_there: false,
            forgets_producers: false,
            forgets_ids: false,
            finds_groups: false,
            asked: Asked::default(),
            epochs_to_age: false,
            records_deleted: false,
            holes_rot: 0,
            outside: Outside::default(),
            has_aged_epochs: false,
            pioneers: BTreeMap::new(),
            links: BTreeMap::new(),
            next_conn: 1,
            next_txn: 1,
            next_app: 1,
            next_offset: 1,
            operations: 0,
            leisure: 1,
            parts: 0,
        }
    }

    pub(super) fn with_forgetting(mut self, forgets: bool) -> Self {
        self.forgets_producers = forgets;
        self
    }

    pub(super) fn with_old_epochs(mut self, age: bool) -> Self {
        self.epochs_to_age = age;
        self
    }

    pub(super) const fn with_rot_beside_holes(mut self, rate: u32) -> Self {
        self.holes_rot = rate;
        self
    }

    pub(super) fn with_cluster(mut self, cluster: Option<Cluster>) -> Self {
        self.cluster = cluster;
        self
    }

    pub(super) const fn with_parts(mut self, parts: Part) -> Self {
        self.parts = parts;
        self
    }

    pub(super) const fn with_leisure(mut self, leisure: u64) -> Self {
        self.leisure = leisure;
        self
    }

    /// How long to rest, where nobody waits for what comes next.
    #[must_use]
    pub const fn rest(&self, us: u64) -> u64 {
        us * self.leisure
    }

    /// How long to wait before the next try after so many in vain: in a large world always the
    /// same, in others twice as long each time, as clients of today do (KIP-580).
    #[must_use]
    pub fn more_and_more(&self, us: u64, in_vain: u32) -> u64 {
        if self.leisure > 1 { us << in_vain.min(4) } else { us }
    }

    /// The same, in a world that forgets transactional ids.
    pub fn with_forgotten_ids(mut self, forgets: bool) -> Self {
        self.forgets_ids = forgets;
        self
    }

    /// The same, in a world where clients look for the coordinators of groups.
    pub(super) fn with_groups_to_find(mut self, finds: bool) -> Self {
        self.finds_groups = finds;
        self
    }

    /// Whether clients look for a group's coordinator before they ask it something.
    pub const fn finds_groups(&self) -> bool {
        self.finds_groups
    }

    /// Whether transactional ids are forgotten within the run.
    pub const fn forgets_ids(&self) -> bool {
        self.forgets_ids
    }

    /// Whether producers are forgotten within the run.
    pub const fn forgets_producers(&self) -> bool {
        self.forgets_producers
    }

    /// Wakes a client at a point of time.
    pub fn wake(&mut self, client: ClientId, at_us: u64) {
        self.queue.push(at_us.max(self.now_us), Happening::Wake { client });
    }

    /// Stops a client until a point of time; what happens to it meanwhile, happens then.
    pub fn pause(&mut self, client: ClientId, until_us: u64) {
        self.paused.insert(client, until_us);
    }

    /// Opens a connection.
    pub fn connect(&mut self, client: ClientId, broker: usize) -> ConnId {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        let link = Link {
            client,
            to_broker_us: 0,
            to_client_us: 0,
            client_open: true,
            broker,
            reset: false,
        };
        self.links.insert(conn, link);
        conn
    }

    /// A client closes its connection. What it has sent before still arrives.
    pub fn close(&mut self, conn: ConnId) {
        let Some(link) = self.links.get_mut(&conn) else { return };
        link.client_open = false;
        let at = link.to_broker_us.max(self.now_us) + 1;
        self.queue.push(at, Happening::ConnClosed { conn });
    }

    /// What a client sent over a connection, and has not arrived, never will.
    pub fn reset(&mut self, conn: ConnId) {
        if let Some(link) = self.links.get_mut(&conn) {
            link.reset = true;
        }
    }

    /// The broker that a connection leads to.
    pub(super) fn broker_of(&self, conn: ConnId) -> usize {
        let of_client = self.links.get(&conn).map(|link| link.broker);
        of_client.or_else(|| self.peer_broker(conn)).unwrap_or(0)
    }

    /// Whether there are several brokers.
    #[must_use]
    pub const fn is_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// Whether the answer at hand is one of a broker that is replaced and has not heard of it.
    #[must_use]
    pub const fn is_answered_by_old(&self) -> bool {
        self.answered_by_old
    }

    pub(super) fn was_reset(&self, conn: ConnId) -> bool {
        if let Some(gave_up) = self.peer_gave_up(conn) {
            return gave_up;
        }
        // One that is forgotten was closed before: what comes of it was held up by a pause.
        self.links.get(&conn).is_none_or(|link| link.reset)
    }

    /// Whether a fault strikes a client, or what it sent or is sent.
    fn strikes(&mut self, client: ClientId, label: Label, fault: Fault) -> bool {
        self.choices.of(client).chance(label, self.profile.rate(fault))
    }

    /// Pauses a client, if that strikes; whether it dies.
    pub fn client_faults(&mut self, client: ClientId) -> bool {
        if self.strikes(client, Label::ClientPaused, Fault::ClientPaused) {
            let ms = self.choices.of(client).between(Label::ClientPause, 100, 8_000);
            self.say(client, || format!("is paused for {ms} ms"));
            self.pause(client, self.now_us + ms * 1_000);
        }
        self.strikes(client, Label::ClientDies, Fault::ClientDies)
    }

    /// Sends a request. The network decides what becomes of it; over a connection that is broken
    /// nothing arrives any more. Whether it will arrive again over another connection.
    pub fn send(&mut self, conn: ConnId, corr: u32, version: i16, request: Request) -> bool {
        let Some(link) = self.links.get(&conn) else { return false };
        let client = link.client;
        self.operations += 1;
        if !link.client_open {
            return false;
        }
        let api = api_name(&request);
        self.say(client, || format!("> {api} v{version}"));
        let pinned = self.pins.request(api, client);
        if pinned == Some(Act::Drop) || self.strikes(client, Label::RequestLost, Fault::RequestLost)
        {
            self.say(client, || format!("  {api} is lost"));
            self.break_link(conn);
            return false;
        }
        let mut travel = self.choices.of(client).between(Label::Latency, 50, 1_000);
        match pinned {
            Some(Act::Delay(us)) => travel += us,
            Some(act) => self.queue.push(self.now_us, Happening::Pinned { act }),
            None => {}
        }
        if self.strikes(client, Label::RequestDelayed, Fault::RequestDelayed) {
            travel += self.choices.of(client).between(Label::LongDelay, 500_000, 9_000_000);
            self.say(client, || format!("  {api} is delayed by {travel} us"));
        }
        self.note_request((client, conn, corr), version, &request, false);
        let repeated = self.maybe_repeat(client, version, &request, travel);
        let now_us = self.now_us;
        let Some(link) = self.links.get_mut(&conn) else { return repeated };
        let at = (now_us + travel).max(link.to_broker_us + 1);
        link.to_broker_us = at;
        let request = Box::new(request);
        self.queue.push(at, Happening::Arrive { conn, corr, version, request });
        repeated
    }

    /// A request arrives a second time, over another connection and maybe before the first: as
    /// when a sender gave up on a connection that still delivers. Only what the protocol protects.
    fn maybe_repeat(
        &mut self,
        client: ClientId,
        version: i16,
        request: &Request,
        travel: u64,
    ) -> bool {
        let repeats = match request {
            Request::Produce(produce) => !self.forgets_producers && !self.is_private(produce),
            Request::EndTxn(_) | Request::TxnOffsetCommit(_) => is_protected(request, version),
            _ => false,
        };
        if !repeats || !self.strikes(client, Label::RequestRepeated, Fault::RequestRepeated) {
            return false;
        }
        let delay_us = travel + self.choices.of(client).between(Label::LongDelay, 1, 2_000_000);
        let api = api_name(request);
        self.say(client, || format!("  {api} will arrive again in {delay_us} us"));
        let broker = self.route_now(client, request);
        let conn = self.connect(client, broker);
        self.note_request((client, conn, 0), version, request, true);
        let request = Box::new(request.clone());
        let again = Happening::Arrive { conn, corr: 0, version, request };
        self.queue.push(self.now_us + delay_us, again);
        true
    }

    /// Sends a request over a connection of its own, on which nobody waits for the answer, after
    /// a delay: as a message that somebody else has still under way.
    pub fn send_aside(&mut self, client: ClientId, version: i16, request: Request, delay_us: u64) {
        let broker = self.route_now(client, &request);
        let conn = self.connect(client, broker);
        if let Some(link) = self.links.get_mut(&conn) {
            link.to_broker_us = self.now_us + delay_us;
        }
        self.send(conn, 0, version, request);
    }

    /// Whether this producer is the first that ever writes to a partition that only its client
    /// writes to: a log that never held a record lets no batch overtake another (KAFKA-15591).
    pub fn is_pioneer(&mut self, part: Part, pid: i64) -> bool {
        *self.pioneers.entry(part).or_insert(pid) == pid
    }

    /// Whether a Produce goes to a partition that one client has for itself. When its sender has
    /// begun anew, a late one is the first that the log hears of its producer, and taken.
    pub(super) fn is_private(&self, request: &ProduceRequest) -> bool {
        let parts = request.topics.iter().flat_map(|topic| &topic.partitions);
        parts.into_iter().any(|(part, _)| self.pioneers.contains_key(&(*part as Part)))
    }

    /// A node's answer leaves. The network decides what becomes of it.
    pub(super) fn respond(
        &mut self,
        conn: ConnId,
        corr: u32,
        api: &'static str,
        response: Response,
    ) {
        if self.respond_to_peer(conn, api, &response) {
            return;
        }
        let of_old = self.answers_of_old(conn, corr);
        let Some(link) = self.links.get(&conn) else { return };
        let client = link.client;
        if !link.client_open {
            return;
        }
        let pinned = self.pins.response(api, client);
        if pinned == Some(Act::Drop)
            || self.strikes(client, Label::ResponseLost, Fault::ResponseLost)
        {
            self.say(client, || format!("  the answer to {api} is lost"));
            return self.break_link(conn);
        }
        let mut travel = self.choices.of(client).between(Label::Latency, 50, 1_000);
        match pinned {
            Some(Act::Delay(us)) => travel += us,
            Some(act) => self.queue.push(self.now_us, Happening::Pinned { act }),
            None => {}
        }
        if self.strikes(client, Label::ResponseDelayed, Fault::ResponseDelayed) {
            travel += self.choices.of(client).between(Label::LongDelay, 500_000, 9_000_000);
        }
        let now_us = self.now_us;
        let Some(link) = self.links.get_mut(&conn) else { return };
        let at = (now_us + travel).max(link.to_client_us + 1);
        link.to_client_us = at;
        let response = Box::new(response);
        self.queue.push(at, Happening::Answer { client, conn, corr, api, of_old, response });
    }

    /// Both ends learn that a connection is gone.
    pub(super) fn break_link(&mut self, conn: ConnId) {
        if self.break_peer(conn) {
            return;
        }
        let Some(link) = self.links.get_mut(&conn) else { return };
        if !link.client_open {
            return;
        }
        link.client_open = false;
        let client = link.client;
        let closed = link.to_broker_us.max(self.now_us) + 1;
        self.queue.push(closed, Happening::ConnClosed { conn });
        let noticed = self.now_us + self.choices.of(client).between(Label::Latency, 50, 1_000);
        self.queue.push(noticed, Happening::Cut { client, conn });
    }

    pub(super) fn forget_link(&mut self, conn: ConnId) {
        self.links.remove(&conn);
        self.answers_nothing(conn);
        self.forget_peer(conn);
    }

    /// Writes an entry into the history.
    pub fn note(&mut self, client: ClientId, mut event: Event) {
        match &mut event {
            Event::Fetched(fetch) => fetch.broker = self.answering,
            // What somebody says who is replaced binds nobody.
            Event::Assigned { .. } | Event::Held { .. } if self.answered_by_old => return,
            _ => {}
        }
        let numbers = match &event {
            &Event::Sent { app, epoch, sequence, .. } => {
                [1, app, epoch.cast_unsigned().into(), sequence.cast_unsigned().into()]
            }
            &Event::SendEnded { app, outcome, offset } => {
                [2, app, outcome as u64, offset.unwrap_or(-1).cast_unsigned()]
            }
            &Event::Initialized { pid, epoch, .. } => {
                [3, pid.cast_unsigned(), epoch.cast_unsigned().into(), 0]
            }
            &Event::Ended { txn, commit, outcome } => {
                [4, txn.into(), commit.into(), outcome as u64]
            }
            Event::Fetched(fetch) => [
                5,
                fetch.high_watermark.cast_unsigned(),
                fetch.last_stable.cast_unsigned(),
                fetch.batches.len() as u64,
            ],
            &Event::OffsetSeen { offset, .. } => [6, offset.cast_unsigned(), 0, 0],
            &Event::Assigned { generation, owner, .. } => {
                [8, generation.cast_unsigned().into(), owner.into(), 0]
            }
            &Event::Held { epoch, owner, .. } => [9, epoch.cast_unsigned().into(), owner.into(), 0],
            _ => [7, 0, 0, 0],
        };
        self.trace.event(
            self.now_us,
            What::Client,
            [client.into(), mix(numbers[0], numbers[1]), numbers[2], numbers[3]],
        );
        if self.trace.wants_lines() {
            let text = super::names::event_text(&event);
            self.trace.line(self.now_us, &format!("c{client}"), &text);
        }
        self.history.push(self.now_us, client, event);
    }

    /// Adds a line about a client to the trace, when somebody reads it.
    pub fn say(&mut self, client: ClientId, text: impl FnOnce() -> String) {
        if self.trace.wants_lines() {
            self.trace.line(self.now_us, &format!("c{client}"), &text());
        }
    }

    /// A number for a new transaction.
    pub fn next_txn(&mut self) -> Txn {
        self.next_txn += 1;
        self.next_txn - 1
    }

    /// An id for a new record.
    pub fn next_app(&mut self) -> u64 {
        self.next_app += 1;
        self.next_app - 1
    }

    /// A group offset that no one has committed yet.
    pub fn next_offset(&mut self) -> i64 {
        self.next_offset += 1;
        self.next_offset - 1
    }

    /// How many requests clients sent.
    #[must_use]
    pub const fn operations(&self) -> u64 {
        self.operations
    }

    /// The clients' wall clock, in ms.
    #[must_use]
    pub const fn wall_ms(&self) -> i64 {
        EPOCH_MS + (self.now_us / 1_000) as i64
    }

    /// The topic was created: the other clients may begin.
    pub fn topic_is_there(&mut self) {
        self.topic_is_there = true;
    }
}
