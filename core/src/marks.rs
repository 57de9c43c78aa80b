//! Coverage marks: names for the rare lines of the core.
//!
//! A mark says that a line ran. It is a `tracing` event of target [`TARGET`], so the core keeps
//! no global state: the simulator counts marks through a subscriber, a scenario names the mark it
//! must hit, and everybody else pays one disabled call site. A mark that no run hits is an alarm.

/// The `tracing` target of every mark.
pub const TARGET: &str = "verdict::mark";

/// Says that the line of this [`Mark`] ran.
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
    /// A batch was put into its topic's codec.
    BatchRecompressed = "partition.batch.recompressed",
    /// A producer's epoch came from a marker that cleaning had emptied.
    CleanedMarkerReplayed = "partition.producer.cleaned_marker",
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
    /// The newest appends were taken back, and older ones were still in flight.
    PartitionRolledBackInPart = "partition.rolled_back.in_part",
    /// A snapshot was taken around appends in flight.
    SnapshotWithAppendsInFlight = "partition.snapshot.in_flight",
    /// Records of an open transaction were deleted.
    OpenTransactionDeleted = "partition.txn.deleted_open",
    // txn
    /// The decision of a transaction was persisted.
    TxnPreparePersisted = "txn.prepare.persisted",
    /// Every marker of a commit is written, and so is CompleteCommit.
    TxnCompletedCommit = "txn.complete.commit",
    /// Every marker of an abort is written, and so is CompleteAbort.
    TxnCompletedAbort = "txn.complete.abort",
    /// Writing Complete* failed and is to be tried again.
    TxnCompleteRetry = "txn.complete.retry",
    /// A load found a decided commit and went on with its markers.
    TxnRecoveryPrepareCommit = "txn.recovery.prepare_commit",
    /// A load found a decided abort and went on with its markers.
    TxnRecoveryPrepareAbort = "txn.recovery.prepare_abort",
    /// A load skipped a record of a kind that is still to come.
    TxnLoadRecordSkipped = "txn.load.record_skipped",
    /// The timeout sweep's abort was persisted.
    TxnTimeoutAbort = "txn.timeout.abort",
    /// A member had an answer from its coordinator's memory confirmed.
    TxnAnswerConfirmed = "txn.answer.confirmed",
    /// A repeated EndTxn was answered as the first.
    TxnEndRetryAnswered = "txn.end.retry_answered",
    /// EndTxn v5 aborted a transaction that never began.
    TxnEndEmptyAbort = "txn.end.empty_abort",
    /// A commit came after the coordinator itself had aborted the transaction.
    TxnEndCommitAfterTimeout = "txn.end.commit_after_timeout",
    /// InitProducerId found an open transaction and aborts it.
    TxnInitFencesOpen = "txn.init.fences_open",
    /// InitProducerId kept an open transaction for another owner (KIP-939).
    TxnInitKeepsOpen = "txn.init.keeps_open",
    /// A repeated InitProducerId was answered with the epoch of the first.
    TxnInitRetryAnswered = "txn.init.retry_answered",
    /// An exhausted epoch made a transactional id change its producer id.
    TxnPidRotated = "txn.pid.rotated",
    /// A marker was not written and is to be tried again.
    TxnMarkerRetry = "txn.marker.retry",
    /// An append to the transaction log failed, and its transition was taken back.
    TxnAppendFailedPendingCleared = "txn.append.failed_pending_cleared",
    /// The outcome of an append came after its partition had moved.
    TxnAppendOverlookedAfterMove = "txn.append.overlooked_after_move",
    /// A TV2 request came to a cluster whose transaction.version is below 2.
    TxnVersionNotEnabled = "txn.version.not_enabled",
    /// A topic was deleted while a transaction had its partitions (P24).
    TxnPartitionGone = "txn.partition.gone",
    /// The same, and the transactions were still being loaded.
    TxnPartitionGoneWhileLoading = "txn.partition.gone_while_loading",
    /// A transactional id expired.
    TxnIdExpired = "txn.expiry.id_removed",
    /// An expiry sweep needed more than one batch of tombstones.
    TxnExpirySeveralBatches = "txn.expiry.several_batches",
    // store
    /// A journal file's last frame was torn, stale or foreign: the scan ended before the file did.
    JournalTornTail = "store.journal.torn_tail",
    /// The journal went on in its other file.
    JournalSwitched = "store.journal.switched",
    /// Both journal files are full; turns wait for a checkpoint.
    JournalStalled = "store.journal.stalled",
    /// A journal write failed; its turns failed with it.
    StoreWriteFailed = "store.write.failed",
    /// Large batches went to their segments before their turns went to the journal.
    BatchesPlaced = "store.placed",
    /// Such a write failed; the turns failed with it.
    PlacingFailed = "store.placed.failed",
    /// A large batch went into the journal, and a checkpoint was asked for that ends that.
    PlacingAsksForCheckpoint = "store.placed.asks_for_checkpoint",
    /// A start found placed batches where the journal says.
    RecoveryPlaced = "store.recovery.placed",
    /// A sync failed; the store serves no appends any more.
    StoreSyncFailed = "store.sync.failed",
    /// A log went on in a new segment.
    SegmentRolled = "store.segment.rolled",
    /// A fetch session made room for another.
    FetchSessionEvicted = "api.fetch.session.evicted",
    /// A fetch of another epoch than its session's was refused.
    FetchSessionEpochRefused = "api.fetch.session.epoch",
    /// A segment was closed because its records lie far apart in time.
    SegmentRolledByTime = "store.segment.rolled.by.time",
    /// Retention moved a log's start.
    RetentionMovedLogStart = "node.retention.moved.log.start",
    /// A segment write failed and is to be tried again.
    SegmentWriteRetried = "store.segment.write_retried",
    /// A checkpoint became durable.
    CheckpointDone = "store.checkpoint.done",
    /// A checkpoint was given up and is to be tried again.
    CheckpointRetried = "store.checkpoint.retried",
    /// A log changed without a record: its snapshot stays.
    SnapshotKept = "store.checkpoint.snapshot_kept",
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
    /// Without a checkpoint a log had a hole or damage before its last batch, and the journal had
    /// all from there on.
    RecoveryHoleRefilled = "store.recovery.hole_refilled",
    /// The copy of the checkpoint counted: the file itself was damaged, or older.
    RecoveryCheckpointCopy = "store.recovery.checkpoint_copy",
    /// Without a checkpoint a log had no segment: it begins and ends where its own file says.
    RecoveryStartFromFile = "store.recovery.start_from_file",
    /// Without a checkpoint the journal's files did not follow each other: the older one was passed
    /// over.
    RecoveryOlderTurnsCovered = "store.recovery.older_turns_covered",
    /// Durable bytes are damaged: the log, or the node, is not served.
    RecoveryDamageFound = "store.recovery.damage_found",
    /// A read of a segment file went on with what was not written to it yet.
    ReadOnInMemory = "store.read.on_in_memory",
    /// What was read lies in a file of that place, too, and the answer says so.
    ReadNamesItsFile = "store.read.names_its_file",
    /// A read of records whose deletion is under way.
    ReadBelowLogStart = "store.read.below_log_start",
    /// A read was answered from a segment file.
    ReadFromFile = "store.read.from_file",
    /// A log was created in the folder of an older one whose deletion had failed.
    NamesakeDeleted = "store.namesake_deleted",
    /// A log's segments began to be cleaned.
    CleaningBegun = "store.cleaning.begun",
    /// Cleaning took a marker's record and left its batch, for its producer's epoch.
    CleanedMarkerStays = "store.cleaning.marker_emptied",
    /// Cleaned segments were taken into use.
    CleaningInstalled = "store.cleaning.installed",
    /// Cleaned segments have their names for good.
    CleaningDone = "store.cleaning.done",
    /// A cleaning was given up; nothing of it was used.
    CleaningAbandoned = "store.cleaning.abandoned",
    /// The log's first segments went while they were being cleaned.
    CleaningOvertaken = "store.cleaning.overtaken",
    /// A cleaning met a batch that it cannot read.
    CleaningFoundDamage = "store.cleaning.damage",
    /// A cleaned segment did not get its name at once.
    CleaningRenameRetried = "store.cleaning.rename_retried",
    /// A start put cleaned segments in their places.
    RecoveryCleaningEnded = "store.recovery.cleaning_ended",
    /// A read met a file that was replaced meanwhile.
    ReadBegunAgain = "store.read.begun_again",
    /// A batch from a segment file was damaged and not served.
    ReadCorrupt = "store.read.corrupt",
    // group
    /// A marker found a commit in the log that is newer than the transaction's offset.
    GroupPendingOlderThanCommitted = "group.marker.older_than_committed",
    /// A member that is none any more, or of another generation, was not let into the transaction.
    GroupTxnCommitOfZombie = "group.txn_commit.zombie",
    /// Every partition of a commit was refused, so nothing is written.
    GroupCommitNothingLeft = "group.commit.nothing_left",
    /// A stable fetch met an offset that is appended and not yet persisted.
    GroupFetchSeesUnpersistedStage = "group.fetch.unpersisted_stage",
    /// A committed offset belongs to a deleted namesake of the topic.
    GroupFetchOtherTopicId = "group.fetch.other_topic_id",
    /// A partition of the offsets topic holds a record that cannot be read.
    GroupLoadFailed = "group.load.failed",
    /// The log refused a commit.
    GroupAppendFailed = "group.append.failed",
    /// Offsets expired that nobody committed for too long.
    GroupOffsetsExpired = "group.offsets.expired",
    /// A member was refused because its group has `group.max.size` members.
    GroupFull = "group.join.full",
    /// A member joined again and was told of the generation there is.
    GroupJoinAnsweredAgain = "group.join.answered_again",
    /// A second Join of a member arrived while the first was waiting.
    GroupJoinTwice = "group.join.twice",
    /// A static member came back and kept its assignment.
    GroupStaticReturned = "group.join.static_returned",
    /// The return of a static member was not written, and is undone.
    GroupStaticReturnUndone = "group.join.static_undone",
    /// The group moved on while the return of a static member was written.
    GroupMovedOnBeforeStaticReturn = "group.join.static_too_late",
    /// A second Sync of a member arrived while the first was waiting.
    GroupSyncTwice = "group.sync.twice",
    /// The group moved on while its assignment was written.
    GroupMovedOnBeforeAssignment = "group.sync.moved_on",
    /// An assignment could not be written: the members join again.
    GroupAssignmentNotWritten = "group.sync.not_written",
    /// Members kept coming during the first rebalance.
    GroupFirstRebalanceExtended = "group.rebalance.extended",
    /// A member did not join again in time.
    GroupMemberDidNotRejoin = "group.rebalance.absent",
    /// No member joined again in time, and only static ones are left.
    GroupNobodyRejoined = "group.rebalance.nobody",
    /// The leader did not join again and another member leads.
    GroupLeaderReplaced = "group.rebalance.leader_replaced",
    /// An id that was given out was not joined with.
    GroupPendingMemberExpired = "group.expiry.pending",
    /// A member was silent for its session.
    GroupMemberExpired = "group.expiry.member",
    /// Members did not ask for their assignment in time.
    GroupMembersDidNotSync = "group.expiry.sync",
    /// A loaded group has more members than `group.max.size`.
    GroupLoadedTooLarge = "group.load.too_large",
    /// A group that was told to rebalance when its coordinator went is told again.
    GroupLoadedToRebalance = "group.load.to_rebalance",
    /// A member waits for partitions that another one still holds.
    ConsumerWaitsForRelease = "group.consumer.reconcile.waits",
    /// A consumer group's assignment was computed too short a time ago for another one.
    ConsumerAssignmentPutOff = "group.consumer.assign.put_off",
    /// A consumer group had a record of its topics from Kafka before 4.1.
    ConsumerTopicsRecordDropped = "group.consumer.topics_record",
    /// An answer builds on a decision that is still being written.
    ConsumerAnswerWaitsForOthers = "group.consumer.answer.waits",
    /// A decision about a consumer group could not be written.
    ConsumerDecisionTakenBack = "group.consumer.taken_back",
    /// A member of a consumer group was silent for its session.
    ConsumerSessionOver = "group.consumer.expiry.session",
    /// A member of a consumer group did not let go of partitions in time.
    ConsumerRebalanceOver = "group.consumer.expiry.rebalance",
    /// A member that speaks the classic protocol did not join or sync in time.
    ConsumerClassicMemberLate = "group.consumer.expiry.classic",
    /// A member was refused because its group has `group.consumer.max.size` members.
    ConsumerGroupFull = "group.consumer.full",
    /// A static member of a consumer group came back.
    ConsumerStaticReturned = "group.consumer.static_returned",
    /// A member goes on in its former epoch, having lost the answer with the new one.
    ConsumerEpochAnswerLost = "group.consumer.epoch_answer_lost",
    /// A classic group became a consumer group.
    ConsumerUpgraded = "group.consumer.upgraded",
    /// A classic group could not become a consumer group.
    ConsumerUpgradeRefused = "group.consumer.upgrade_refused",
    /// A consumer group became a classic group.
    ConsumerDowngraded = "group.consumer.downgraded",
    /// A member that speaks the classic protocol was told to join again.
    ConsumerClassicMemberToJoin = "group.consumer.classic_to_join",
    /// A commit came in an epoch before its partitions were given to its member.
    ConsumerCommitOfZombie = "group.consumer.commit.zombie",
    // meta
    /// A topic's creation could not be written.
    MetaCreationFailed = "meta.create.failed",
    /// A topic's deletion could not be written.
    MetaDeletionFailed = "meta.delete.failed",
    // node, as a member of a cluster
    /// A member whose disk takes no changes any more gave up the partition.
    LeadershipGivenUp = "cluster.leadership.given_up",
    /// A member learned that somebody else leads what it led.
    LeadershipMovedAway = "cluster.leadership.moved_away",
    /// A change was refused by the store outside: somebody else leads the partition.
    ConfirmFenced = "cluster.confirm.fenced",
    /// A log that is to be led here was written and opened.
    LogImported = "cluster.import.done",
    /// A log that is to be led here could not be written and is tried again.
    ImportRetried = "cluster.import.retried",
    /// A leadership was told of that is over, or known.
    LeadOutdated = "cluster.lead.outdated",
    /// Messages for one member shared a request.
    PeerRequestBatched = "cluster.peer.batched",
    /// A member does not know WriteTxnMarkers v2 and got v1 (KIP-1228).
    MarkersFellBack = "cluster.markers.fell_back",
    /// A WriteTxnMarkers got no answer.
    MarkersUnanswered = "cluster.markers.unanswered",
    /// A verification got no answer from the coordinator.
    VerifyUnanswered = "cluster.verify.unanswered",
    /// A leader refused a marker of a coordinator that had been replaced.
    MarkerFencedByCoordinatorEpoch = "cluster.markers.coordinator_fenced",
    // node
    /// A turn that failed took along what the open one had appended after it.
    OpenTurnDiscarded = "node.open_turn_discarded",
    /// Turns that did not become durable were taken back.
    TurnsFailed = "node.turns_failed",
    /// A turn was about to outgrow a frame of the journal and was split.
    LargeTurnSplit = "node.large_turn_split",
    /// An abort marker is on disk.
    AbortMarkerPersisted = "node.abort_marker_persisted",
    /// A marker went to a topic that is gone for good.
    MarkerToDeletedTopic = "node.marker_to_deleted_topic",
    /// A marker went to a partition whose log is not open yet (P09, P18).
    MarkerToUnopenedLog = "node.marker_to_unopened_log",
    /// Files of a topic whose deletion was persisted were found at a start.
    StrayLogDropped = "node.boot.stray_log_dropped",
    /// A topic whose creation was persisted had no log at a start.
    MissingLogCreated = "node.boot.missing_log_created",
    /// The boot's own record could not be written and is to be tried again.
    BootRecordRetried = "node.boot.record_retried",
    /// The creation of a log could not be written.
    LogCreationFailed = "node.log_creation_failed",
    /// A coordinator's log could not be read.
    LoadFailed = "node.load_failed",
    /// A CreateTopics met the creation of the same topic still being written.
    CreationMetAnother = "api.topics.creation_met_another",
    /// A Produce waited longer than its timeout.
    ProduceTimedOut = "api.produce.timed_out",
    /// A Produce with acks=0 failed, so its connection was closed.
    UnacknowledgedProduceFailed = "api.produce.unacknowledged_failed",
    /// The coordinator does not know the transaction of a Produce.
    ProduceNotAdded = "api.produce.not_added",
    /// A Produce met its last transaction still ending, and asks again.
    VerifyRetried = "api.produce.verify_retried",
    /// One bad partition spoiled an AddPartitionsToTxn (P31).
    AddPartitionsNotAttempted = "api.add_partitions.not_attempted",
    /// A Fetch was answered from a file.
    FetchReadsFile = "api.fetch.reads_file",
    /// A partition moved, and a waiting Fetch could tell from it alone to go on waiting.
    FetchWokenInVain = "api.fetch.woken_in_vain",
    /// Records were deleted while a Fetch read them from a file.
    FetchLostItsRecords = "api.fetch.lost_its_records",
    /// A ListOffsets by timestamp read a file.
    ListOffsetsReadsFile = "api.list_offsets.reads_file",
}

impl Mark {
    /// The mark of a name, as scenarios write it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mark| mark.name() == name)
    }
}
