//! The history, indexed once for all oracles.

use std::collections::BTreeMap;

use super::cleaning::Newest;
use crate::history::{
    Batch, BatchKind, Event, Fetch, History, Outcome, Part, Txn, deliver, is_tombstone, key_of,
};

/// What is known of a record.
#[derive(Clone, Debug)]
pub(super) struct App {
    pub(super) part: Part,
    pub(super) txn: Option<Txn>,
    pub(super) pid: i64,
    pub(super) epoch: i16,
    pub(super) sent_us: u64,
    pub(super) outcome: Outcome,
    pub(super) offset: Option<i64>,
}

/// What is known of a transaction.
#[derive(Clone, Debug, Default)]
pub(super) struct TxnFacts {
    pub(super) id: Option<u32>,
    /// Whether a commit was ever asked for, and when.
    pub(super) commit_asked_us: Option<u64>,
    /// How its end was answered: commit or abort, and the outcome.
    pub(super) ended: Option<(bool, Outcome)>,
    pub(super) apps: Vec<u64>,
}

/// A transaction as one partition's log shows it.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) pid: i64,
    pub(super) first: i64,
    /// The marker's offset and whether it is a commit.
    pub(super) marker: Option<(i64, bool)>,
    /// Indexes into the log's batches.
    pub(super) batches: Vec<usize>,
}

/// One partition's log at the end.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// When its end was read.
    pub(super) read_us: u64,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) batches: Vec<Batch>,
    /// Transactions, by first offset.
    pub(super) spans: Vec<Span>,
    /// What read_committed shows of it: offset and application id.
    pub(super) visible: Vec<(i64, u64)>,
}

impl Log {
    /// The batch that begins at an offset.
    pub(super) fn batch_at(&self, base: i64) -> Option<&Batch> {
        let found = self.batches.binary_search_by_key(&base, |known| known.base);
        found.ok().and_then(|at| self.batches.get(at))
    }
}

/// The history and its indexes.
#[derive(Debug)]
pub struct Facts<'h> {
    pub(super) history: &'h History,
    pub(super) apps: BTreeMap<u64, App>,
    pub(super) txns: BTreeMap<Txn, TxnFacts>,
    pub(super) logs: BTreeMap<Part, Log>,
    /// When each partition was known to end where, by acknowledgements.
    acknowledged: BTreeMap<Part, Vec<(u64, i64)>>,
    first_sequences: BTreeMap<(i64, i16, Part), i32>,
    /// Durable bytes were destroyed: the broker may only be silent about them.
    pub(super) damaged: bool,
    records_rot: bool,
    checkpoints_lost: bool,
    /// More than one broker answers.
    pub(super) several_brokers: bool,
    /// The topic is compacted.
    pub(super) compacted: bool,
    /// Tombstones of a compacted topic go within a world.
    pub(super) tombstones_expire: bool,
    /// Tombstones that were sent, by partition and key.
    pub(super) tombstones: BTreeMap<(Part, u64), Vec<u64>>,
    /// What read_committed shows of every key at the end.
    pub(super) newest: Newest,
}

impl<'h> Facts<'h> {
    /// Indexes a history.
    #[must_use]
    pub fn of(history: &'h History) -> Self {
        let mut facts = Self {
            history,
            apps: BTreeMap::new(),
            txns: BTreeMap::new(),
            logs: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            first_sequences: BTreeMap::new(),
            damaged: false,
            records_rot: false,
            checkpoints_lost: false,
            several_brokers: false,
            compacted: false,
            tombstones_expire: false,
            tombstones: BTreeMap::new(),
            newest: Newest::default(),
        };
        for entry in &history.entries {
            facts.learn(entry.at_us, &entry.event);
        }
        if facts.damaged {
            // What was read at the end may end where the damage is: nothing is to be learnt of it.
            facts.logs.clear();
        }
        for (&part, log) in &mut facts.logs {
            log.spans = spans(&log.batches);
            for &(offset, app) in &log.visible {
                facts.newest.add(part, offset, app);
            }
        }
        facts
    }

    /// The fetches, each with the time of its answer.
    pub(super) fn fetches(&self) -> impl Iterator<Item = (u64, &'h Fetch)> {
        self.history.entries.iter().filter_map(|entry| match &entry.event {
            Event::Fetched(fetch) => Some((entry.at_us, &**fetch)),
            _ => None,
        })
    }

    /// Where a partition ended at least, by what was acknowledged before a point of time.
    pub(super) fn ends_acknowledged(&self, part: Part, before_us: u64) -> i64 {
        let ends = self.acknowledged.get(&part).map_or(&[][..], Vec::as_slice);
        let at = ends.partition_point(|&(at_us, _)| at_us < before_us);
        at.checked_sub(1).map_or(0, |at| ends[at].1)
    }

    /// The sequence of the first batch that was sent as a producer to a partition.
    pub(super) fn first_sequence(&self, pid: i64, epoch: i16, part: Part) -> i32 {
        self.first_sequences.get(&(pid, epoch, part)).copied().unwrap_or(0)
    }

    /// Whether a log may have been cut before its end: without a checkpoint, and without a snapshot
    /// that says otherwise, rot in its last segment looks like a torn end (known-limits; seed 910238).
    pub(super) const fn may_be_cut(&self) -> bool {
        self.records_rot && self.checkpoints_lost
    }

    /// Whether the log at the end of every partition was read.
    pub(super) fn has_logs(&self) -> bool {
        !self.logs.is_empty()
    }

    fn learn(&mut self, at_us: u64, event: &Event) {
        match event {
            &Event::Sent { app, part, txn, pid, epoch, sequence } => {
                self.first_sequences.entry((pid, epoch, part)).or_insert(sequence);
                let outcome = Outcome::Maybe;
                let known = App { part, txn, pid, epoch, sent_us: at_us, outcome, offset: None };
                self.apps.insert(app, known);
                if is_tombstone(app) {
                    self.tombstones.entry((part, key_of(app))).or_default().push(app);
                }
                if let Some(txn) = txn {
                    self.txns.entry(txn).or_default().apps.push(app);
                }
            }
            &Event::SendEnded { app, outcome, offset } => {
                if let Some(known) = self.apps.get_mut(&app) {
                    (known.outcome, known.offset) = (outcome, offset);
                    if let (Outcome::Ok, Some(offset)) = (outcome, offset) {
                        let ends = self.acknowledged.entry(known.part).or_default();
                        let before = ends.last().map_or(0, |&(_, end)| end);
                        ends.push((at_us, before.max(offset + 1)));
                    }
                }
            }
            &Event::Begun { txn, id } => self.txns.entry(txn).or_default().id = Some(id),
            &Event::EndAsked { txn, commit: true } => {
                self.txns.entry(txn).or_default().commit_asked_us = Some(at_us);
            }
            &Event::Ended { txn, commit, outcome } => {
                self.txns.entry(txn).or_default().ended = Some((commit, outcome));
            }
            &Event::Damaged { records } => {
                self.damaged = true;
                let lost = if records { &mut self.records_rot } else { &mut self.checkpoints_lost };
                *lost = true;
            }
            &Event::Compacts { tombstones_expire } => {
                (self.compacted, self.tombstones_expire) = (true, tombstones_expire);
            }
            Event::Fetched(fetch) => {
                self.several_brokers |= fetch.broker > 0;
                if fetch.is_final {
                    self.learn_log(at_us, fetch);
                }
            }
            _ => {}
        }
    }

    fn learn_log(&mut self, at_us: u64, fetch: &Fetch) {
        let log = self.logs.entry(fetch.part).or_default();
        log.read_us = log.read_us.max(at_us);
        if fetch.committed {
            log.visible.extend(deliver(fetch).iter().map(|seen| (seen.offset, seen.app)));
        } else {
            log.start = fetch.log_start;
            log.end = log.end.max(fetch.high_watermark);
            if log.batches.last().is_some_and(|known| known.last + 1 < fetch.from) {
                // Deleted under the reader, who began again where the log begins now.
                log.batches.clear();
            }
            let known = log.batches.last().map_or(i64::MIN, |batch| batch.last);
            log.batches.extend(fetch.batches.iter().filter(|batch| batch.base > known).cloned());
        }
    }
}

/// The transactions of a log: from a producer's first transactional batch to its next marker.
fn spans(batches: &[Batch]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut open: BTreeMap<i64, usize> = BTreeMap::new();
    for (index, batch) in batches.iter().enumerate() {
        match batch.kind {
            BatchKind::Plain => {}
            // Emptied by cleaning: it may be of an aborted transaction whose marker is gone.
            BatchKind::Transactional if batch.apps.is_empty() => {}
            BatchKind::Transactional => {
                let at = *open.entry(batch.pid).or_insert_with(|| {
                    let (pid, first) = (batch.pid, batch.base);
                    spans.push(Span { pid, first, marker: None, batches: Vec::new() });
                    spans.len() - 1
                });
                spans[at].batches.push(index);
            }
            BatchKind::CommitMarker | BatchKind::AbortMarker => {
                if let Some(at) = open.remove(&batch.pid) {
                    spans[at].marker = Some((batch.base, batch.kind == BatchKind::CommitMarker));
                }
            }
        }
    }
    spans
}
