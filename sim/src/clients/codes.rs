//! What a client does about an error code: the table of spec 12, as the Java producer has it.

use crate::world::Env;

/// Kafka's number of "no error".
pub(crate) const NONE: i16 = 0;
/// OFFSET_OUT_OF_RANGE.
pub(super) const OFFSET_OUT_OF_RANGE: i16 = 1;
/// OUT_OF_ORDER_SEQUENCE_NUMBER.
pub(super) const OUT_OF_ORDER_SEQUENCE_NUMBER: i16 = 45;
/// DUPLICATE_SEQUENCE_NUMBER.
pub(super) const DUPLICATE_SEQUENCE_NUMBER: i16 = 46;
/// NOT_CONTROLLER: in a cluster the topics are there from the start.
pub(super) const NOT_CONTROLLER: i16 = 41;
/// TOPIC_ALREADY_EXISTS.
pub(super) const TOPIC_ALREADY_EXISTS: i16 = 36;
/// FETCH_SESSION_ID_NOT_FOUND.
pub(super) const FETCH_SESSION_ID_NOT_FOUND: i16 = 70;
/// INVALID_FETCH_SESSION_EPOCH.
pub(super) const INVALID_FETCH_SESSION_EPOCH: i16 = 71;
/// UNSTABLE_OFFSET_COMMIT.
pub(super) const UNSTABLE_OFFSET_COMMIT: i16 = 88;

/// STALE_MEMBER_EPOCH.
pub(super) const STALE_MEMBER_EPOCH: i16 = 113;

/// Whether a code that is retried leaves open what became of the request: REQUEST_TIMED_OUT,
/// NETWORK_EXCEPTION, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, the two of NOT_ENOUGH_REPLICAS,
/// KAFKA_STORAGE_ERROR. What was written before a sync failed may turn up after a restart.
/// In a cluster NOT_LEADER_OR_FOLLOWER too: the store may have taken what its old leader was not
/// told any more.
pub(super) const fn leaves_open(env: &Env, code: i16) -> bool {
    (env.is_cluster() && code == 6) || matches!(code, 7 | 13 | 15 | 16 | 19 | 20 | 56)
}

/// Which request the code answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Produce,
    InitProducerId,
    AddToTxn,
    EndTxn,
    TxnOffsetCommit,
    Other,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    Done,
    Retry,
    /// The transaction is to be aborted; the producer goes on.
    Abort,
    /// The producer has to begin anew.
    Fatal,
}

/// The reaction to a code.
pub(super) fn react(asked: Asked, code: i16) -> Reaction {
    match code {
        NONE => Reaction::Done,
        // CORRUPT_MESSAGE, UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER,
        // REQUEST_TIMED_OUT, NETWORK_EXCEPTION, the coordinator's three, NOT_ENOUGH_REPLICAS and
        // its brother, CONCURRENT_TRANSACTIONS, KAFKA_STORAGE_ERROR, UNSTABLE_OFFSET_COMMIT,
        // UNKNOWN_TOPIC_ID.
        2
        | 3
        | 5
        | 6
        | 7
        | 13
        | 14
        | 15
        | 16
        | 19
        | 20
        | 51
        | 56
        | UNSTABLE_OFFSET_COMMIT
        | 100 => Reaction::Retry,
        // TRANSACTION_ABORTABLE.
        120 => Reaction::Abort,
        // INVALID_PRODUCER_ID_MAPPING and PRODUCER_FENCED end every producer.
        49 | 90 => Reaction::Fatal,
        _ if asked == Asked::Produce => Reaction::Abort,
        // OPERATION_NOT_ATTEMPTED and UNKNOWN_PRODUCER_ID.
        55 | 59 if asked == Asked::AddToTxn => Reaction::Abort,
        // ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, GROUP_ID_NOT_FOUND, STALE_MEMBER_EPOCH.
        22 | 25 | 69 | 113 if asked == Asked::TxnOffsetCommit => Reaction::Abort,
        _ => Reaction::Fatal,
    }
}
