//! One transactional id as its coordinator may have it, and what each request makes of it: the
//! tables of spec 3.3 (InitProducerId), 4.2.1 (adding), 4.4.1 and 4.4.2 (EndTxn), 3.4 (fencing).
//!
//! # Rules
//! * What the observer cannot know is not in here, or allowed both ways: the level of
//!   transaction.version, the epoch that a repeated InitProducerId is recognised by (forgotten at
//!   a restart), and whether an abort is remembered as the coordinator's own.
//! * A partition is `held` when an answer said so; that one is not held means nothing.

use super::few::Few;
use crate::history::TxnAsk;

/// No producer id.
pub(super) const NO_PID: i64 = -1;
/// A producer id that nobody was told yet.
pub(super) const UNTOLD_PID: i64 = -2;
/// From this epoch on a producer id is replaced.
const EXHAUSTED: i16 = i16::MAX - 1;

/// Where the transaction at hand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The id was never used.
    Unknown,
    Empty,
    Ongoing,
    /// The decision is written: commit, or else abort.
    Prepared(bool),
    Complete(bool),
}

/// Who ended the last transaction, which says how its end may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EndedBy {
    /// EndTxn v0 to v4: the epoch stays.
    Classic,
    /// EndTxn v5: the epoch goes up.
    Bumped,
    /// A fence or a timeout: the epoch goes up.
    Coordinator,
}

/// What a transaction holds: a partition of the clients' topic, or a group's offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Part(u16),
    Group(u16),
}

/// A possible state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) pid: i64,
    pub(super) epoch: i16,
    /// A bare repeat of the InitProducerId that raised this epoch may be answered as the first.
    last_epoch: i16,
    previous_pid: i64,
    /// The producer id that follows when the transaction is complete.
    next_pid: i64,
    ended_by: EndedBy,
    pub(super) held: Few<Target>,
    /// Requests still to be answered that have been done.
    pub(super) done: Few<usize>,
    /// How many of the InitProducerIds that are never answered have been done.
    pub(super) inits_done: usize,
}

/// The levels that transaction.version may have had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels {
    zero: bool,
    one: bool,
    two: bool,
}

impl Levels {
    /// These; any where none is said.
    pub(super) fn of(said: impl Iterator<Item = i16>) -> Self {
        let said: Vec<i16> = said.collect();
        let may_be = |level| said.is_empty() || said.contains(&level);
        Self { zero: may_be(0), one: may_be(1), two: may_be(2) }
    }

    const fn only_two(self) -> bool {
        !self.zero && !self.one
    }
}

/// What is answered: the error code, and where it is told the producer id and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: i16,
    pub(super) pid: i64,
    pub(super) epoch: i16,
}

/// A request, as far as the coordinator minds.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    pub(super) ask: TxnAsk,
    pub(super) pid: i64,
    pub(super) epoch: i16,
}

/// What may come of a request: the state after it if that is another one, and the answer.
pub(super) type Outcomes = Vec<(Option<State>, Reply)>;

const OK: i16 = 0;
const INVALID_PRODUCER_EPOCH: i16 = 47;
pub(super) const INVALID_TXN_STATE: i16 = 48;
const INVALID_PRODUCER_ID_MAPPING: i16 = 49;
const CONCURRENT_TRANSACTIONS: i16 = 51;
const PRODUCER_FENCED: i16 = 90;
const TRANSACTION_ABORTABLE: i16 = 120;
const UNKNOWN_SERVER_ERROR: i16 = -1;

const fn refused(code: i16) -> Reply {
    Reply { code, pid: NO_PID, epoch: -1 }
}

/// Nothing changes, and this is the answer.
fn refuse(code: i16) -> Outcomes {
    vec![(None, refused(code))]
}

impl State {
    /// An id that was never used.
    pub(super) fn unknown() -> Self {
        Self {
            phase: Phase::Unknown,
            pid: NO_PID,
            epoch: -1,
            last_epoch: -1,
            previous_pid: NO_PID,
            next_pid: NO_PID,
            ended_by: EndedBy::Classic,
            held: Few::new(),
            done: Few::new(),
            inits_done: 0,
        }
    }

    /// An id that was just given to a producer, who named itself so before.
    pub(super) fn initialized(
        (pid, epoch): (i64, i16),
        (previous_pid, last_epoch): (i64, i16),
    ) -> Self {
        Self { phase: Phase::Empty, pid, epoch, last_epoch, previous_pid, ..Self::unknown() }
    }

    /// Whether a request names the producer in force.
    pub(super) const fn is_current(&self, asking: &Asking) -> bool {
        self.pid == asking.pid && self.epoch == asking.epoch
    }

    fn step(&self, phase: Phase) -> Self {
        Self { phase, previous_pid: self.pid, ..self.clone() }
    }

    /// All markers are written.
    pub(super) fn completed(&self) -> Option<Self> {
        let Phase::Prepared(commit) = self.phase else { return None };
        let mut next = self.step(Phase::Complete(commit));
        if self.next_pid != NO_PID {
            (next.pid, next.epoch) = (self.next_pid, 0);
        }
        next.next_pid = NO_PID;
        next.held.clear();
        Some(next)
    }

    /// With the epoch moved, if the transaction is over and this is the producer id.
    pub(super) fn aged(mut self, pid: i64, epoch: i16) -> Option<Self> {
        let is_over = matches!(self.phase, Phase::Empty | Phase::Complete(_));
        let is_it = is_over && (self.pid == pid || self.pid == UNTOLD_PID);
        (self.pid, self.epoch) = (pid, epoch);
        is_it.then_some(self)
    }

    /// The coordinator aborts the open transaction on its own account. With transaction.version 2
    /// the producer id is replaced at the end of its epochs, below it is not.
    pub(super) fn fenced(&self, levels: Levels) -> Vec<Self> {
        let mut next = self.step(Phase::Prepared(false));
        next.epoch = self.epoch.saturating_add(1);
        next.last_epoch = self.epoch;
        next.ended_by = EndedBy::Coordinator;
        next.next_pid = NO_PID;
        let exhausted = self.epoch >= EXHAUSTED;
        let mut all = Vec::with_capacity(1);
        if !exhausted || !levels.only_two() {
            all.push(next.clone());
        }
        if exhausted && levels.two {
            next.next_pid = UNTOLD_PID;
            all.push(next);
        }
        all
    }

    /// Everything that may come of a request. `pending` says that another transition may be under
    /// way, which most requests are not to meet.
    pub(super) fn outcomes(&self, asking: &Asking, pending: bool, levels: Levels) -> Outcomes {
        let mut all = match &asking.ask {
            TxnAsk::Init { .. } => self.init(asking, levels),
            TxnAsk::AddPartitions { parts } => {
                self.add(asking, parts.iter().map(|&part| Target::Part(part)))
            }
            &TxnAsk::AddOffsets { group } => self.add(asking, [Target::Group(group)]),
            &TxnAsk::End { commit, bumps: false } => self.end_classic(asking, commit),
            &TxnAsk::End { commit, bumps: true } => self.end_bumped(asking, commit, levels),
            TxnAsk::Produce { .. } | TxnAsk::CommitOffsets { .. } => self.verify(asking),
        };
        let meets_pending = match asking.ask {
            TxnAsk::End { bumps: false, .. } => self.is_current(asking),
            TxnAsk::Produce { adds, .. } | TxnAsk::CommitOffsets { adds, .. } => adds,
            _ => true,
        };
        if pending && meets_pending {
            all.push((None, refused(CONCURRENT_TRANSACTIONS)));
        }
        all
    }

    /// Spec 3.3.
    fn init(&self, asking: &Asking, levels: Levels) -> Outcomes {
        let expected = (asking.pid >= 0).then_some((asking.pid, asking.epoch));
        if self.phase == Phase::Unknown {
            let next = Self { phase: Phase::Empty, pid: UNTOLD_PID, epoch: 0, ..self.clone() };
            return vec![(Some(next), Reply { code: OK, pid: UNTOLD_PID, epoch: 0 })];
        }
        let may_resume =
            |(pid, epoch)| pid == self.pid || (pid == self.previous_pid && epoch >= EXHAUSTED);
        if expected.is_some_and(|producer| !may_resume(producer)) {
            return refuse(PRODUCER_FENCED);
        }
        match self.phase {
            Phase::Prepared(_) => refuse(CONCURRENT_TRANSACTIONS),
            Phase::Ongoing => {
                let fenced = self.fenced(levels).into_iter();
                fenced.map(|next| (Some(next), refused(CONCURRENT_TRANSACTIONS))).collect()
            }
            _ => self.renewed(expected.map(|(_, epoch)| epoch), levels),
        }
    }

    /// An id without an open transaction is given to a producer.
    fn renewed(&self, expected: Option<i16>, levels: Levels) -> Outcomes {
        let given = |pid, epoch, last_epoch| {
            let next = Self { pid, epoch, last_epoch, held: Few::new(), ..self.step(Phase::Empty) };
            (Some(next), Reply { code: OK, pid, epoch })
        };
        let exhausted = self.epoch >= EXHAUSTED;
        match expected {
            None if exhausted => vec![given(UNTOLD_PID, 0, -1)],
            Some(epoch) if exhausted && epoch == self.epoch => vec![given(UNTOLD_PID, 0, epoch)],
            Some(_) if exhausted => refuse(UNKNOWN_SERVER_ERROR),
            None => vec![given(self.pid, self.epoch + 1, -1)],
            Some(epoch) if epoch == self.epoch => {
                vec![given(self.pid, self.epoch + 1, self.epoch)]
            }
            // A repeat changes nothing. At level 0 a restart forgets the last epoch.
            Some(epoch) if epoch == self.last_epoch => {
                let previous_pid = self.previous_pid;
                let (again, reply) = given(self.pid, self.epoch, epoch);
                let again = again.map(|state| Self { previous_pid, ..state });
                let mut all = vec![(again, reply)];
                if levels.zero {
                    all.push((None, refused(PRODUCER_FENCED)));
                }
                all
            }
            Some(_) => refuse(PRODUCER_FENCED),
        }
    }

    /// Spec 4.2.1.
    fn add(&self, asking: &Asking, targets: impl IntoIterator<Item = Target>) -> Outcomes {
        if self.phase == Phase::Unknown || self.pid != asking.pid {
            return refuse(INVALID_PRODUCER_ID_MAPPING);
        }
        if self.epoch != asking.epoch {
            return refuse(PRODUCER_FENCED);
        }
        if matches!(self.phase, Phase::Prepared(_)) {
            return refuse(CONCURRENT_TRANSACTIONS);
        }
        let mut next = self.step(Phase::Ongoing);
        next.held.extend(targets);
        vec![(Some(next), refused(OK))]
    }

    fn decided(&self, commit: bool, ended_by: EndedBy) -> Self {
        Self { ended_by, next_pid: NO_PID, ..self.step(Phase::Prepared(commit)) }
    }

    /// Spec 4.4.1.
    fn end_classic(&self, asking: &Asking, commit: bool) -> Outcomes {
        if self.phase == Phase::Unknown || self.pid != asking.pid {
            return refuse(INVALID_PRODUCER_ID_MAPPING);
        }
        if self.epoch != asking.epoch {
            return refuse(PRODUCER_FENCED);
        }
        match self.phase {
            Phase::Ongoing => vec![(Some(self.decided(commit, EndedBy::Classic)), refused(OK))],
            Phase::Complete(done) if done == commit => refuse(OK),
            Phase::Prepared(done) if done == commit => refuse(CONCURRENT_TRANSACTIONS),
            _ => refuse(INVALID_TXN_STATE),
        }
    }

    /// Spec 4.4.2.
    fn end_bumped(&self, asking: &Asking, commit: bool, levels: Levels) -> Outcomes {
        let overflowed =
            self.previous_pid == asking.pid && asking.epoch == EXHAUSTED && self.epoch == 0;
        if self.phase == Phase::Unknown || (self.pid != asking.pid && !overflowed) {
            return refuse(INVALID_PRODUCER_ID_MAPPING);
        }
        let same = self.epoch == asking.epoch && self.pid == asking.pid;
        let raised = i32::from(self.epoch) == i32::from(asking.epoch) + 1;
        let repeats = (raised && self.ended_by != EndedBy::Classic) || overflowed;
        let mut all = match self.phase {
            Phase::Ongoing if same => self.ends(commit, levels),
            Phase::Empty | Phase::Complete(_) if same && !commit => self.ends(false, levels),
            Phase::Complete(done) if repeats && done == commit => {
                vec![(None, Reply { code: OK, pid: self.pid, epoch: self.epoch })]
            }
            Phase::Prepared(done) if repeats && done == commit => refuse(CONCURRENT_TRANSACTIONS),
            Phase::Empty if same => refuse(INVALID_TXN_STATE),
            Phase::Prepared(_) if repeats => refuse(INVALID_TXN_STATE),
            Phase::Complete(_) if repeats || same => refuse(INVALID_TXN_STATE),
            _ => refuse(PRODUCER_FENCED),
        };
        if levels.zero && overflowed {
            // Records have no room for it there: a restart forgets it (KAFKA-20357, known-limits).
            all.extend(refuse(INVALID_PRODUCER_ID_MAPPING));
        }
        let by_itself = self.ended_by == EndedBy::Coordinator;
        if by_itself && repeats && matches!(self.phase, Phase::Prepared(_) | Phase::Complete(_)) {
            if !levels.only_two() {
                // It is no repeat there, and who gave up is forgotten at a restart.
                all.extend(refuse(PRODUCER_FENCED));
            } else if commit && raised {
                all = refuse(PRODUCER_FENCED);
            }
        }
        all
    }

    /// An EndTxn v5 that is carried out.
    fn ends(&self, commit: bool, levels: Levels) -> Outcomes {
        if !levels.two {
            return Vec::new();
        }
        if self.epoch == i16::MAX && commit {
            return refuse(UNKNOWN_SERVER_ERROR);
        }
        let mut next = self.decided(commit, EndedBy::Bumped);
        next.epoch = self.epoch.saturating_add(1);
        next.last_epoch = self.epoch;
        let mut reply = Reply { code: OK, pid: self.pid, epoch: next.epoch };
        if self.epoch >= EXHAUSTED {
            next.next_pid = UNTOLD_PID;
            reply = Reply { code: OK, pid: UNTOLD_PID, epoch: 0 };
        }
        vec![(Some(next), reply)]
    }

    /// A coordinator that may have been replaced does not promise anything from memory while another
    /// transition is pending.
    pub(super) const fn unconfirmed() -> (Option<Self>, Reply) {
        (None, refused(CONCURRENT_TRANSACTIONS))
    }

    /// Why a batch or an offset of a transaction may be refused.
    fn verify(&self, asking: &Asking) -> Outcomes {
        let target = match asking.ask {
            TxnAsk::Produce { part, .. } => part.map(Target::Part),
            TxnAsk::CommitOffsets { group, .. } => Some(Target::Group(group)),
            _ => None,
        };
        let current = self.is_current(asking);
        let open = current && self.phase == Phase::Ongoing;
        let has = open && target.is_none_or(|target| self.held.contains(&target));
        let why = [
            (INVALID_PRODUCER_EPOCH, !current),
            (PRODUCER_FENCED, !current),
            (INVALID_PRODUCER_ID_MAPPING, self.pid != asking.pid),
            (INVALID_TXN_STATE, !has),
            (TRANSACTION_ABORTABLE, !has),
            (CONCURRENT_TRANSACTIONS, matches!(self.phase, Phase::Prepared(_))),
        ];
        why.into_iter().filter(|(_, may)| *may).flat_map(|(code, _)| refuse(code)).collect()
    }

    /// A leader has the coordinator add a partition.
    pub(super) fn opened_for(&self, asking: &Asking) -> Option<Self> {
        let opens = matches!(self.phase, Phase::Empty | Phase::Complete(_));
        (opens && self.is_current(asking)).then(|| self.step(Phase::Ongoing))
    }

    /// Whether a batch or offset that adds its partition can have been taken; with the partition
    /// held if so.
    pub(super) fn after_taking(mut self, asking: &Asking) -> Option<Self> {
        let target = match asking.ask {
            TxnAsk::Produce { part, .. } => part.map(Target::Part),
            TxnAsk::CommitOffsets { group, .. } => Some(Target::Group(group)),
            _ => None,
        };
        if self.is_current(asking) {
            if matches!(self.phase, Phase::Empty | Phase::Complete(_)) {
                return None;
            }
            if self.phase == Phase::Ongoing {
                self.held.extend(target);
            }
        }
        Some(self)
    }

    /// The state after a request (this one, when it changed nothing), if `reply` is what was
    /// answered: that may tell what the producer id is.
    pub(super) fn told(&self, after: Option<Self>, reply: Reply, told: Reply) -> Option<Self> {
        let tells = reply.pid == UNTOLD_PID;
        let fits =
            if tells { told.pid >= 0 && told.pid != self.pid } else { reply.pid == told.pid };
        if reply.code != told.code || reply.epoch != told.epoch || !fits {
            return None;
        }
        let mut after = after.unwrap_or_else(|| self.clone());
        if tells {
            let unknown =
                if after.next_pid == UNTOLD_PID { &mut after.next_pid } else { &mut after.pid };
            *unknown = told.pid;
        }
        Some(after)
    }
}
