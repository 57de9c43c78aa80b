//! Classic groups: a coordinator, its clock, its log, and whoever asks it.

mod offsets;
mod properties;
mod scenarios;
mod statics;
mod table;

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec;

use bytes::Bytes;

use super::*;
use crate::batch::BatchHeader;
use crate::error::ErrorCode;
use crate::group::{AppendId, GroupState, LoadedBatch};
use crate::types::Offset;

const SESSION_MS: i32 = 10_000;
const REBALANCE_MS: i32 = 30_000;

/// What a member joins with, in tests.
#[derive(Clone, Debug)]
struct As {
    member: MemberId,
    instance: Option<&'static str>,
    protocols: &'static [(&'static str, &'static str)],
    new_client: bool,
}

/// A dynamic member of a client that knows everything.
fn member(id: &str) -> As {
    As {
        member: Arc::from(id),
        instance: None,
        protocols: &[("range", "m"), ("sticky", "m")],
        new_client: true,
    }
}

fn static_member(id: &str, instance: &'static str) -> As {
    As { instance: Some(instance), ..member(id) }
}

/// A record of the offsets log; without a value a tombstone.
type KeyValue = (Bytes, Option<Bytes>);

#[derive(Clone, Debug)]
struct World {
    groups: GroupCoordinator,
    now: Now,
    /// What is persisted.
    log: Vec<KeyValue>,
    /// What is not persisted yet.
    waiting: Vec<(AppendId, Vec<KeyValue>)>,
    answers: BTreeMap<RequestId, GroupReply>,
    asked: u64,
    persists: bool,
    /// Of those that join.
    protocol_type: &'static str,
    /// What they join, and the client's name for itself.
    group: GroupId,
    client_id: Arc<str>,
}

impl World {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut GroupConfig)) -> Self {
        let mut config = GroupConfig { partitions: 1, entropy: 7, ..Default::default() };
        change(&mut config);
        let mut groups = GroupCoordinator::new(config);
        let now = Now { at: Timestamp(1), wall_ms: 1_000 };
        groups.load(0);
        groups.loaded(now, 0);
        Self {
            groups,
            now,
            log: vec![],
            waiting: vec![],
            answers: BTreeMap::new(),
            asked: 0,
            persists: true,
            protocol_type: "consumer",
            group: "g".into(),
            client_id: "c".into(),
        }
    }

    /// A coordinator that reads what the last one persisted.
    fn crash(self) -> Self {
        let mut next = Self::with(|config| {
            *config = self.groups.config;
            config.entropy += 1;
        });
        next.groups.load(0);
        let mut header = BatchHeader::decode(&[0; BatchHeader::LENGTH]).unwrap();
        header.producer_id = -1;
        for (offset, (key, value)) in (0..).zip(&self.log) {
            let records = [(offset, Some(key.clone()), value.clone())];
            next.groups.load_batch(0, &header, LoadedBatch::Records(&records)).unwrap();
        }
        next.now = self.now;
        next.groups.loaded(next.now, 0);
        next.log = self.log;
        next
    }

    fn settle(&mut self) {
        loop {
            while let Some(effect) = self.groups.poll_effect() {
                match effect {
                    GroupEffect::Append { id, records, .. } => self.waiting.push((id, records)),
                    GroupEffect::Reply { to, reply } => {
                        let before = self.answers.insert(to, reply);
                        assert_eq!(before, None, "a request is answered once");
                    }
                }
            }
            if !self.persists || self.waiting.is_empty() {
                return;
            }
            self.persist();
        }
    }

    /// The oldest append is persisted.
    fn persist(&mut self) {
        let (id, records) = self.waiting.remove(0);
        let base = self.log.len() as Offset;
        self.log.extend(records);
        self.groups.appended(self.now, id, Ok(base));
    }

    /// The oldest append fails.
    fn fail(&mut self) {
        let (id, _) = self.waiting.remove(0);
        self.groups.appended(self.now, id, Err(ErrorCode::KafkaStorageError));
        self.settle();
    }

    fn pass_ms(&mut self, ms: u64) {
        let end = self.now.at.after_ms(ms);
        while let Some(at) = self.groups.next_timeout().filter(|at| *at <= end) {
            self.now.wall_ms += i64::try_from(at.ms_since(self.now.at)).unwrap();
            self.now.at = at;
            self.groups.tick(self.now);
            self.settle();
        }
        self.now.wall_ms += i64::try_from(end.ms_since(self.now.at)).unwrap();
        self.now.at = end;
    }

    fn ask(&mut self) -> RequestId {
        self.asked += 1;
        RequestId(self.asked)
    }

    fn join(&mut self, who: &As) -> RequestId {
        let to = self.ask();
        let protocols = who.protocols.iter().map(|(name, metadata)| Protocol {
            name: Arc::from(*name),
            metadata: Bytes::from(metadata.to_string()),
        });
        let join = JoinGroup {
            group: self.group.clone(),
            member: who.member.clone(),
            instance: who.instance.map(Arc::from),
            client_id: self.client_id.clone(),
            client_host: Arc::from("/h"),
            session_timeout_ms: SESSION_MS,
            rebalance_timeout_ms: REBALANCE_MS,
            protocol_type: Arc::from(self.protocol_type),
            protocols: protocols.collect(),
            knows_member_id_required: who.new_client,
            knows_skip_assignment: who.new_client,
        };
        self.groups.join(self.now, to, join);
        self.settle();
        to
    }

    fn sync(
        &mut self,
        who: &As,
        generation: i32,
        given: &[(&MemberId, &'static str)],
    ) -> RequestId {
        let to = self.ask();
        let given =
            given.iter().map(|(id, bytes)| ((*id).clone(), Bytes::from_static(bytes.as_bytes())));
        let sync = SyncGroup {
            group: Arc::from("g"),
            generation,
            member: who.member.clone(),
            instance: who.instance.map(Arc::from),
            protocol_type: None,
            protocol: None,
            assignments: given.collect(),
        };
        self.groups.sync(self.now, to, sync);
        self.settle();
        to
    }

    fn beat(&mut self, who: &As, generation: i32) -> Result<(), GroupError> {
        let beat = Heartbeat {
            group: Arc::from("g"),
            generation,
            member: who.member.clone(),
            instance: who.instance.map(Arc::from),
        };
        let result = self.groups.heartbeat(self.now, &beat);
        self.settle();
        result
    }

    fn leave(&mut self, who: &As) -> RequestId {
        let to = self.ask();
        let leaving =
            LeavingMember { id: who.member.clone(), instance: who.instance.map(Arc::from) };
        self.groups.leave(self.now, to, &Arc::from("g"), vec![leaving]);
        self.settle();
        to
    }

    fn joined(&mut self, to: RequestId) -> JoinReply {
        match self.answers.remove(&to) {
            Some(GroupReply::Join(reply)) => *reply,
            other => panic!("the answer to a Join was expected, not {other:?}"),
        }
    }

    fn synced(&mut self, to: RequestId) -> Result<Bytes, GroupError> {
        match self.answers.remove(&to) {
            Some(GroupReply::Sync(result)) => result.map(|synced| synced.assignment),
            other => panic!("the answer to a Sync was expected, not {other:?}"),
        }
    }

    fn left(&mut self, to: RequestId) -> Result<(), GroupError> {
        match self.answers.remove(&to) {
            Some(GroupReply::Leave(reply)) => reply.result.and(reply.members[0].1),
            other => panic!("the answer to a Leave was expected, not {other:?}"),
        }
    }

    fn waits(&self, to: RequestId) -> bool {
        !self.answers.contains_key(&to)
    }

    fn state(&self) -> Option<GroupState> {
        self.groups.state("g")
    }

    /// A new member as far as its Join waits: given an id, and come again with it.
    fn enter(&mut self, who: &As) -> (As, RequestId) {
        let to = self.join(who);
        if who.instance.is_some() || !who.new_client {
            return (who.clone(), to);
        }
        let reply = self.joined(to);
        assert_eq!(reply.result, Err(GroupError::MemberIdRequired));
        let who = As { member: reply.member, ..who.clone() };
        let to = self.join(&who);
        (who, to)
    }

    /// A Stable group of two in generation 1: its leader and the other.
    fn two(&mut self) -> (As, As) {
        let (a, join_a) = self.enter(&member(""));
        let (b, join_b) = self.enter(&member(""));
        self.pass_ms(6_000);
        let (reply_a, reply_b) = (self.joined(join_a), self.joined(join_b));
        assert_eq!((reply_a.result, reply_b.result), (Ok(()), Ok(())));
        let leads = reply_a.leader == a.member;
        let (leader, other) = if leads { (a, b) } else { (b, a) };
        let waiting = self.sync(&other, 1, &[]);
        assert!(self.waits(waiting));
        let given = [(&leader.member, "L"), (&other.member, "O")];
        let led = self.sync(&leader, 1, &given);
        assert_eq!(self.synced(led), Ok(Bytes::from_static(b"L")));
        assert_eq!(self.synced(waiting), Ok(Bytes::from_static(b"O")));
        assert_eq!(self.state(), Some(GroupState::Stable));
        (leader, other)
    }
}
