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
    // group
    /// A marker found a commit in the log that is newer than the transaction's offset.
    GroupPendingOlderThanCommitted = "group.marker.older_than_committed",
    /// Every partition of a commit was refused, so nothing is written.
    GroupCommitNothingLeft = "group.commit.nothing_left",
    /// A stable fetch met an offset that is appended and not yet persisted.
    GroupFetchSeesUnpersistedStage = "group.fetch.unpersisted_stage",
    /// A committed offset belongs to a deleted namesake of the topic.
    GroupFetchOtherTopicId = "group.fetch.other_topic_id",
    /// A partition of the offsets topic holds a record that cannot be read.
    GroupLoadFailed = "group.load.failed",
    /// The partition was resigned while a commit was being written.
    GroupResignedWhileWriting = "group.resign.while_writing",
    /// The log refused a commit.
    GroupAppendFailed = "group.append.failed",
    /// Offsets expired that nobody committed for too long.
    GroupOffsetsExpired = "group.offsets.expired",
    // meta
    /// A topic's creation could not be written.
    MetaCreationFailed = "meta.create.failed",
    /// A topic's deletion could not be written.
    MetaDeletionFailed = "meta.delete.failed",
    // node
}

impl Mark {
    /// The mark of a name, as scenarios write it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mark| mark.name() == name)
    }
}
