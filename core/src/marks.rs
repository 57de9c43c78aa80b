//! Coverage marks: names for the rare lines of the core.
//!
//! A mark says that a line ran. It is a `tracing` event of target [`TARGET`], so the core keeps
//! no global state: the simulator counts marks through a subscriber, a scenario names the mark it
//! must hit, and everybody else pays one disabled call site. A mark that no run hits is an alarm.

/// The `tracing` target of every mark.
pub const TARGET: &str = "verdict::mark";

/// Says that the line of this [`Mark`](crate::marks::Mark) ran.
#[macro_export]
macro_rules! mark {
    ($name:ident) => {
        tracing::event!(
            target: $crate::marks::TARGET,
            tracing::Level::TRACE,
            mark = $crate::marks::Mark::$name as u64
        )
    };
}

macro_rules! marks {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Every mark of the core. The discriminant is the index into [`Mark::ALL`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Mark { $($(#[$doc])* $name,)* }

        impl Mark {
            /// All marks, in the order of their discriminants.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name that scenarios and reports use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

marks! {
    // partition
    /// A batch was answered from the window of remembered batches.
    DedupHit = "partition.dedup.hit",
    /// A batch was refused for its sequence.
    SequenceOutOfOrder = "partition.sequence.out_of_order",
    /// On a log that never held a record, a first batch did not begin at 0 (KAFKA-15591).
    SequenceOvertookOnNewLog = "partition.sequence.overtook_on_new_log",
    /// A version 2 producer without remembered batches did not begin at 0.
    SequenceUnknownTv2 = "partition.sequence.unknown_tv2",
    /// A batch came before the lower sequence that is still being verified.
    SequenceAboveVerified = "partition.sequence.above_verified",
    /// A batch of a fenced producer was refused.
    ProducerEpochBelow = "partition.producer.epoch_below",
    /// Idle producers were forgotten.
    ProducerExpired = "partition.producer.expired",
    /// A batch outside the open transaction of its producer was refused.
    PlainBatchInTransaction = "partition.txn.plain_batch",
    /// A transactional batch came without a valid verification.
    GuardRefused = "partition.guard.refused",
    /// A second request joined a verification under way.
    VerificationJoined = "partition.guard.joined",
    /// A marker ended a verification under way.
    VerificationEndedByMarker = "partition.guard.ended_by_marker",
    /// A marker left alone the verification of the next transaction.
    VerificationKeptByMarker = "partition.guard.kept_by_marker",
    /// A marker with an epoch below the producer's was refused.
    MarkerEpochBelow = "partition.marker.epoch_below",
    /// A late marker was kept from ending the next transaction (KIP-1228).
    MarkerLateForNextTransaction = "partition.marker.late",
    /// A repeated marker was accepted (KAFKA-19999).
    MarkerRepeated = "partition.marker.repeated",
    /// A marker of a replaced coordinator was refused.
    MarkerCoordinatorFenced = "partition.marker.coordinator_fenced",
    /// A marker ended nothing.
    MarkerWithoutTransaction = "partition.marker.without_transaction",
    /// Records were refused for their key or timestamp.
    RecordsRefused = "partition.records.refused",
    /// Appends were taken back.
    PartitionRolledBack = "partition.rolled_back",
    /// A snapshot was taken around appends in flight.
    SnapshotWithAppendsInFlight = "partition.snapshot.in_flight",
    /// A snapshot could not be read.
    SnapshotUnreadable = "partition.snapshot.unreadable",
    /// Records of an open transaction were deleted.
    OpenTransactionDeleted = "partition.txn.deleted_open",
    // txn
    // store
    // group
    // node
}

impl Mark {
    /// The mark of a name, as scenarios write it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mark| mark.name() == name)
    }
}
