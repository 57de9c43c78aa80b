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
    // txn
    // store
    /// A journal file's last frame was torn, stale or foreign: the scan ended before the file did.
    JournalTornTail = "store.journal.torn_tail",
    /// The journal went on in its other file.
    JournalSwitched = "store.journal.switched",
    /// Both journal files are full; turns wait for a checkpoint.
    JournalStalled = "store.journal.stalled",
    /// A journal write failed; its turns failed with it.
    StoreWriteFailed = "store.write.failed",
    /// A sync failed; the store serves no appends any more.
    StoreSyncFailed = "store.sync.failed",
    /// A log went on in a new segment.
    SegmentRolled = "store.segment.rolled",
    /// A segment write failed and is to be tried again.
    SegmentWriteRetried = "store.segment.write_retried",
    /// A checkpoint became durable.
    CheckpointDone = "store.checkpoint.done",
    /// A checkpoint was given up and is to be tried again.
    CheckpointRetried = "store.checkpoint.retried",
    /// There was no good checkpoint file.
    RecoveryNoCheckpoint = "store.recovery.no_checkpoint",
    /// Turns were replayed from the journal.
    RecoveryReplayed = "store.recovery.replayed",
    /// A log's segments were read from the start.
    RecoveryFullScan = "store.recovery.full_scan",
    /// A snapshot was missing, short or damaged.
    RecoverySnapshotIgnored = "store.recovery.snapshot_ignored",
    /// A segment was cut at its first bad batch, above what a checkpoint covers.
    RecoverySegmentCut = "store.recovery.segment_cut",
    /// Durable bytes are damaged: the log, or the node, is not served.
    RecoveryDamageFound = "store.recovery.damage_found",
    /// A read was answered from a segment file.
    ReadFromFile = "store.read.from_file",
    /// A batch from a segment file was damaged and not served.
    ReadCorrupt = "store.read.corrupt",
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
