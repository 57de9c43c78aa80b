//! Deadlines of waiting requests.

use alloc::collections::BTreeSet;

use super::Node;
use crate::api;
use crate::io::RequestId;
use crate::time::Timestamp;
use crate::types::PartitionId;

/// What a waiting request wants to be woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    /// The request's answer may wait no longer.
    Deadline(RequestId),
    /// A Produce asks the transaction coordinator again (spec 7.5).
    VerifyAgain(RequestId),
    /// Logs whose creation failed are tried again.
    CreateLogs,
    /// The log of a partition to lead could not be written and is tried again.
    Import(PartitionId),
    /// Records of topics that a placement named are tried again.
    PlacedTopics,
    /// The boot's record could not be written and is tried again.
    Boot,
    /// Producer ids that were not used for long are dropped (`producer.id.expiration.ms`).
    ExpireProducers,
    /// Offsets that nobody committed for long are dropped (`offsets.retention.minutes`).
    ExpireOffsets,
    /// A log to clean is looked for (`log.cleaner.backoff.ms`).
    Clean,
    /// Retention looks at the logs behind this one.
    Retention(Option<PartitionId>),
}

/// All deadlines, ordered by time. Costs what is due, not what exists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Timers {
    due: BTreeSet<(Timestamp, Timer)>,
}

impl Timers {
    pub(crate) fn set(&mut self, at: Timestamp, timer: Timer) {
        self.due.insert((at, timer));
    }

    pub(crate) fn cancel(&mut self, at: Timestamp, timer: Timer) {
        self.due.remove(&(at, timer));
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes one timer that is due at `now`.
    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<Timer> {
        if self.next()? > now {
            return None;
        }
        self.due.pop_first().map(|(_, timer)| timer)
    }
}

impl Node {
    pub(super) fn tick(&mut self) {
        while let Some(timer) = self.timers.pop(self.now.at) {
            match timer {
                Timer::Deadline(request) => api::deadline(self, request),
                Timer::VerifyAgain(request) => api::produce::verify_again(self, request),
                Timer::CreateLogs => self.create_missing_logs(),
                Timer::Import(partition) => self.import_again(partition),
                Timer::PlacedTopics => self.write_placed_topics(),
                Timer::Boot => self.write_boot_record(),
                Timer::ExpireProducers => self.expire_producers(),
                Timer::ExpireOffsets => self.expire_offsets(),
                Timer::Clean => self.clean_next(),
                Timer::Retention(after) => self.retain(after),
            }
        }
        self.txn.tick(self.now);
        self.group.tick(self.now);
        self.store.tick(self.now);
    }

    /// Begins the sweeps that drop idle producers, offsets and old segments.
    pub(super) fn start_expiry(&mut self) {
        self.plan_producer_expiry();
        self.plan_offset_expiry();
        self.plan_retention();
    }

    fn plan_producer_expiry(&mut self) {
        let interval = self.config.producer_id_expiration_check_interval_ms;
        let interval = u64::try_from(interval).unwrap_or(1);
        self.timers.set(self.now.at.after_ms(interval), Timer::ExpireProducers);
    }

    fn plan_offset_expiry(&mut self) {
        let interval = self.config.offsets_retention_check_interval_ms;
        let interval = u64::try_from(interval).unwrap_or(1);
        self.timers.set(self.now.at.after_ms(interval), Timer::ExpireOffsets);
    }

    fn expire_offsets(&mut self) {
        self.group.expire_offsets(self.now);
        self.plan_offset_expiry();
    }

    fn expire_producers(&mut self) {
        let now_ms = self.now.wall_ms;
        for partition in self.partitions.values_mut() {
            partition.expire_producers(now_ms);
        }
        self.plan_producer_expiry();
    }
}
