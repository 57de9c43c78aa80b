//! What clients saw, as plain events: the input of the oracles.
//!
//! Nothing in here or in [`crate::oracles`] knows the simulated world. Whoever drives a broker
//! (this simulator, the server on madsim, a torture run over sockets, even Apache Kafka) can
//! write a history and have it judged. The rules for writing one:
//!
//! * Every record carries an **application id** of its own, as the first eight bytes (big endian)
//!   of its value, or, of a tombstone, of its first header. On a compacted topic the id says the
//!   key too ([`key_of`]), and whether it is a tombstone ([`is_tombstone`]). Ids of one client to one partition ascend in the order of sending.
//! * Every transaction has a number of its own, whatever transactional id it ran under.
//! * An operation is [`Event::Sent`]-like when it is begun and ends with an [`Outcome`]: `Ok` and
//!   `Failed` are promises, `Maybe` is what a lost answer leaves. An operation that never ended
//!   counts as `Maybe`. `Failed` may be said only when the broker has refused the operation *and*
//!   no earlier attempt of it can have been applied.
//! * `at_us` is the time of the observer, one clock for the whole history, and events are in its
//!   order. A [`Fetch`] also says when it was asked.
//! * At the end, with no client active and no transaction open, a reader fetches every partition
//!   from its start to its end in both isolations, and those fetches are marked as final.

mod batches;
mod filter;
mod json;
mod keys;

pub use self::batches::{Batch, BatchKind, parse_batches};
pub use self::filter::{Delivered, deliver};
pub use self::json::BadLine;
pub use self::keys::{is_tombstone, key_of};

use serde::{Deserialize, Serialize};

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done, and the client was told so.
    Ok,
    /// It was not done and never will be.
    Failed,
    /// It may have been done, or may yet be.
    Maybe,
}

/// How a member of a group speaks to the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupProtocol {
    /// JoinGroup, SyncGroup, Heartbeat, LeaveGroup.
    Classic,
    /// ConsumerGroupHeartbeat (KIP-848).
    Consumer,
}

/// A partition, numbered by the writer of the history.
pub type Part = u16;
/// The number of a transaction.
pub type Txn = u32;
/// A client, numbered by the writer of the history.
pub type ClientId = u16;

/// Something that happened, when, and to which client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When, in microseconds.
    pub at_us: u64,
    /// To whom.
    pub client: ClientId,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// What a request asks of a transaction's coordinator, or of a leader that asks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TxnAsk {
    /// InitProducerId.
    Init {
        /// After how many ms an open transaction may be aborted.
        timeout_ms: i32,
    },
    /// AddPartitionsToTxn up to v3, of partitions of the clients' topic.
    AddPartitions {
        /// The partitions.
        parts: Vec<Part>,
    },
    /// AddOffsetsToTxn.
    AddOffsets {
        /// The group's number.
        group: u16,
    },
    /// EndTxn.
    End {
        /// Commit, or else abort.
        commit: bool,
        /// Whether it raises the epoch, as from v5 on.
        bumps: bool,
    },
    /// A transactional Produce.
    Produce {
        /// The partition; none when it is of another topic.
        part: Option<Part>,
        /// Whether it adds its partition, as from v12 on.
        adds: bool,
    },
    /// TxnOffsetCommit.
    CommitOffsets {
        /// The group's number.
        group: u16,
        /// Whether it adds the group's partition, as from v5 on.
        adds: bool,
    },
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A record was handed to the network for the first time.
    Sent {
        /// The record's application id.
        app: u64,
        /// Its partition.
        part: Part,
        /// Its transaction, if any.
        txn: Option<Txn>,
        /// The producer id, or -1.
        pid: i64,
        /// The producer epoch, or -1.
        epoch: i16,
        /// The record's own sequence, or -1.
        sequence: i32,
    },
    /// What became of a record.
    SendEnded {
        /// The record.
        app: u64,
        /// How.
        outcome: Outcome,
        /// Its offset when the outcome is Ok, and the answer said it.
        offset: Option<i64>,
    },
    /// A producer was refused for what its identity or its sequences are. Not to be said where the
    /// broker was told to forget the producer or its transactional id.
    Refused {
        /// The error code: 45, 46 and 59 are about sequences, 49 is about the identity.
        code: i16,
        /// The transactional id's number, if it has one.
        id: Option<u32>,
        /// The producer id.
        pid: i64,
        /// The producer epoch.
        epoch: i16,
        /// The first record of the batch and its partition, where it was one that was refused with
        /// nothing of the same producer still under way before it.
        batch: Option<(u64, Part)>,
    },
    /// Where a partition ends was asked for and answered (ListOffsets, latest).
    Listed {
        /// The partition.
        part: Part,
        /// Whether read_committed was asked for.
        committed: bool,
        /// The answer.
        offset: i64,
        /// When it was asked.
        asked_us: u64,
    },
    /// An operator tells a partition to end what a producer has in it (WriteTxnMarkers), from now on
    /// or whenever that arrives.
    MarkerAsked {
        /// The partition.
        part: Part,
        /// The producer id.
        pid: i64,
    },
    /// Where the records of a leader epoch end was asked for and answered (OffsetForLeaderEpoch).
    LeaderEpochEnded {
        /// The partition.
        part: Part,
        /// The epoch that was asked for.
        asked: i32,
        /// The answer: the newest epoch not above it.
        epoch: i32,
        /// The answer: the offset behind that epoch's last record.
        end: i64,
        /// Where the log began, asked for after that.
        log_start: i64,
    },
    /// A producer was given its identity: owners with an older epoch are fenced from here on.
    Initialized {
        /// The transactional id's number.
        id: u32,
        /// The producer id.
        pid: i64,
        /// The producer epoch.
        epoch: i16,
    },
    /// A transaction was begun at the client.
    Begun {
        /// The transaction.
        txn: Txn,
        /// The transactional id's number.
        id: u32,
    },
    /// The end of a transaction was asked for, for the first time.
    EndAsked {
        /// The transaction.
        txn: Txn,
        /// Commit, or else abort.
        commit: bool,
    },
    /// The end of a transaction was answered, or given up on.
    Ended {
        /// The transaction.
        txn: Txn,
        /// Commit, or else abort.
        commit: bool,
        /// How.
        outcome: Outcome,
    },
    /// The database outside decided a transaction of two phases (KIP-939), durably.
    Decided {
        /// The transaction.
        txn: Txn,
        /// Commit, or else abort.
        commit: bool,
    },
    /// An instance was told that it keeps a transaction that another one left open.
    Kept {
        /// The transactional id's number.
        id: u32,
        /// The producer id that the transaction was begun as.
        pid: i64,
        /// The producer epoch that it was begun as.
        epoch: i16,
        /// The transaction that was begun so; `None` if none was.
        txn: Option<Txn>,
        /// When it asked.
        asked_us: u64,
    },
    /// A group's offset was committed, or put into a transaction. A client that asks for the same
    /// offset again has ended the first one.
    OffsetAsked {
        /// The group's number.
        group: u16,
        /// The partition the offset is of.
        part: Part,
        /// The offset.
        offset: i64,
        /// Its transaction, if any.
        txn: Option<Txn>,
        /// As which member it was committed, numbered as in [`Event::Held`], if as one.
        #[serde(default)]
        owner: Option<u32>,
    },
    /// What became of an offset.
    OffsetEnded {
        /// The group's number.
        group: u16,
        /// The partition.
        part: Part,
        /// The offset.
        offset: i64,
        /// How; of an offset in a transaction: whether the broker took it.
        outcome: Outcome,
    },
    /// A group's offset was read.
    OffsetSeen {
        /// The group's number.
        group: u16,
        /// The partition.
        part: Part,
        /// The offset, -1 for none.
        offset: i64,
        /// When it was asked for.
        asked_us: u64,
        /// Whether it was read at the end.
        is_final: bool,
    },
    /// A member of a group was given its partitions.
    Assigned {
        /// The group's number.
        group: u16,
        /// The generation.
        generation: i32,
        /// A number of the member id, or of the instance id of a static member.
        owner: u32,
        /// The partitions.
        parts: Vec<Part>,
        /// When the assignment was asked for.
        asked_us: u64,
    },
    /// A coordinator's answer says that a member has these partitions. They are its own until it
    /// lets go of them, at least as long as its timeouts allow.
    Held {
        /// The group's number.
        group: u16,
        /// A number of the member id, or of the instance id of a static member; never 0.
        owner: u32,
        /// The member epoch, or the generation.
        epoch: i32,
        /// All its partitions, with those that it is to let go of and has not yet.
        parts: Vec<Part>,
        /// When the answer was asked for.
        asked_us: u64,
        /// When the coordinator may give up on it at the earliest, if it hears no more of it.
        until_us: u64,
    },
    /// A member is about to tell the coordinator that it has no other partitions than these: with
    /// a heartbeat, a join or a leave, which may arrive or not.
    LetGo {
        /// The group's number.
        group: u16,
        /// The member's number; 0 when it has none yet.
        owner: u32,
        /// What it still has.
        kept: Vec<Part>,
        /// Which protocol it speaks.
        protocol: GroupProtocol,
    },
    /// A record about to be sent is made from another one that the group consumed, in one
    /// transaction with the group's offset behind that one.
    Derived {
        /// The record.
        app: u64,
        /// The group's number.
        group: u16,
        /// The record that was consumed.
        from: u64,
    },
    /// A partition was read.
    Fetched(Box<Fetch>),
    /// A node that had only what was durable at that moment was started beside the one that
    /// lives, and this is all it serves of a partition.
    Recovered {
        /// The partition.
        part: Part,
        /// Where its log begins.
        log_start: i64,
        /// Its batches.
        batches: Vec<Batch>,
    },
    /// Such a node could not be started, or did not serve a partition.
    Unrecovered {
        /// Why, in words.
        reason: String,
    },
    /// An answer named a file that does not hold what it said.
    Misnamed {
        /// Which, in words.
        what: String,
    },
    /// A request about a transaction was sent; each attempt is one.
    TxnAsked {
        /// The number of the attempt.
        request: u64,
        /// The connection; 0 for one beside those that the client knows. A client has one at a
        /// time, and has given up on what it sent before when it uses another.
        conn: u64,
        /// The transactional id's number. It was never used before the history begins.
        id: u32,
        /// The producer id that was sent, or -1.
        pid: i64,
        /// The producer epoch that was sent, or -1.
        epoch: i16,
        /// What is asked.
        ask: TxnAsk,
    },
    /// The answer came.
    TxnAnswered {
        /// The number of the attempt.
        request: u64,
        /// The error code, 0 for none.
        code: i16,
        /// The producer id that InitProducerId, and EndTxn from v5 on, tell; else -1.
        pid: i64,
        /// The producer epoch that they tell; else -1.
        epoch: i16,
        /// It is of a coordinator, or rests on one, that was replaced and had not heard of it: it
        /// answers as of then, or not at all.
        #[serde(default)]
        of_old: bool,
    },
    /// An attempt that was not answered, or with a code that leaves open what became of it, has no
    /// effect any more from here on. Who cannot know that never says so.
    TxnSettled {
        /// The number of the attempt.
        request: u64,
        /// Whether it reached the broker at all.
        arrived: bool,
    },
    /// The broker's wall clock jumped.
    ClockJumped,
    /// The epoch of a transactional id whose transaction was over was moved while nobody
    /// coordinated it.
    EpochMoved {
        /// The transactional id's number.
        id: u32,
        /// Its producer id.
        pid: i64,
        /// The epoch from now on.
        epoch: i16,
    },
    /// The finalized level of transaction.version may be this one from now on. Where no level is
    /// said it may be any.
    Level {
        /// The level.
        level: i16,
    },
    /// The broker is several: a coordinator of them may be replaced and not know, and has confirmed what
    /// it says from memory (`core/src/txn/confirm.rs`).
    Members,
    /// A node died.
    Crashed,
    /// Durable bytes were destroyed: what is lost may be missed, and never be made up for.
    Damaged {
        /// Of records; else both checkpoint files.
        records: bool,
    },
    /// The clients' topic is compacted.
    Compacts {
        /// Whether tombstones may go before the world ends.
        tombstones_expire: bool,
    },
    /// A node serves.
    Served,
    /// Faults ended; what is open has to end.
    Healed,
    /// After the faults ended something did not.
    Stuck {
        /// What, in words.
        reason: String,
    },
}

/// One answer to a fetch of one partition, without error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetch {
    /// The partition.
    pub part: Part,
    /// Whether read_committed was asked for.
    pub committed: bool,
    /// Where reading was to begin.
    pub from: i64,
    /// When it was asked.
    pub asked_us: u64,
    /// The answer's high watermark.
    pub high_watermark: i64,
    /// The answer's last stable offset.
    pub last_stable: i64,
    /// The answer's log start offset.
    pub log_start: i64,
    /// The aborted transactions: producer id and first offset.
    pub aborted: Vec<(i64, i64)>,
    /// The batches.
    pub batches: Vec<Batch>,
    /// Whether it belongs to the reading at the end.
    pub is_final: bool,
    /// The broker that answered. One that leads no more may answer what was, never go back.
    pub broker: usize,
}

/// Everything that happened, in order.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The entries.
    pub entries: Vec<Entry>,
}

impl History {
    /// Adds an entry.
    pub fn push(&mut self, at_us: u64, client: ClientId, event: Event) {
        self.entries.push(Entry { at_us, client, event });
    }
}
