//! What waits for a machine, and who drives it: one lock over both.
//!
//! Because both are under one lock, no input can be forgotten: whoever stops driving has seen both
//! queues empty in the same critical section in which it gives the machine up, and whoever pushes
//! learns in the section of its push whether somebody drives. Exactly one drives at a time.
//!
//! ```text
//!            push                     budget spent, or over
//!   Nobody ─────────► Guest ──────────────────────────────────► Owner
//!     │ ▲ nothing left  │                                        ▲ │ nothing left
//!     │ └───────────────┘                                        │ └─────► Nobody
//!     └──────────────────────────────────────────────────────────┘
//!        push_for_owner, the owner wakes
//! ```
//!
//! The owner is who sleeps when nothing is to do, until its `alarm`. It is woken when the machine
//! is handed over to it, and when a guest leaves the machine with an earlier timeout than that.

use std::collections::VecDeque;

use verdict_core::time::Timestamp;

/// Who drives the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    /// The queues are empty, and the next who pushes drives.
    Nobody,
    /// Who pushed an input when nobody drove.
    Guest,
    /// The owner: it drives, or was told to and will.
    Owner,
}

/// What a push obliges to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// Whoever drives will see it.
    Seen,
    /// Who pushed drives.
    Drive,
    /// The owner is to be woken.
    WakeOwner,
    /// The machine is gone; the input was dropped.
    Closed,
}

/// What leaving the machine obliges to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing: somebody else drives, or there is nothing to do until the alarm.
    Quietly,
    /// The owner is to be woken.
    WakeOwner,
    /// There is more to do: who wanted to leave still drives.
    Not,
    /// The machine's life is over, which the owner is to be told.
    Over,
}

/// The queues before a machine: `U` goes before `E`.
pub(crate) struct Inbox<U, E> {
    urgent: VecDeque<U>,
    events: VecDeque<E>,
    driver: Driver,
    /// Until when the owner sleeps at most; nothing if only a wake-up ends its sleep.
    alarm: Option<Timestamp>,
    closed: bool,
}

/// One input.
pub(crate) enum Next<U, E> {
    Urgent(U),
    Event(E),
}

impl<U, E> Inbox<U, E> {
    /// Empty, and the owner drives.
    pub(crate) fn new() -> Self {
        Self {
            urgent: VecDeque::new(),
            events: VecDeque::new(),
            driver: Driver::Owner,
            alarm: None,
            closed: false,
        }
    }

    /// Queues an input.
    pub(crate) fn push(&mut self, input: Next<U, E>) -> Pushed {
        if self.closed {
            return Pushed::Closed;
        }
        match input {
            Next::Urgent(input) => self.urgent.push_back(input),
            Next::Event(input) => self.events.push_back(input),
        }
        match self.driver {
            Driver::Nobody => {
                self.driver = Driver::Guest;
                Pushed::Drive
            }
            Driver::Guest | Driver::Owner => Pushed::Seen,
        }
    }

    /// Queues an input that the owner is to drive, unless somebody drives already.
    pub(crate) fn push_for_owner(&mut self, input: Next<U, E>) -> Pushed {
        match self.push(input) {
            Pushed::Drive => {
                self.driver = Driver::Owner;
                Pushed::WakeOwner
            }
            other => other,
        }
    }

    /// The next input for who drives.
    pub(crate) fn next(&mut self) -> Option<Next<U, E>> {
        let urgent = self.urgent.pop_front().map(Next::Urgent);
        urgent.or_else(|| self.events.pop_front().map(Next::Event))
    }

    /// Gives the machine up if nothing waits for it; `timeout` is when it wants its next tick.
    pub(crate) fn leave(&mut self, timeout: Option<Timestamp>) -> Left {
        if self.is_waited_for() {
            return Left::Not;
        }
        let was_owner = self.driver == Driver::Owner;
        self.driver = Driver::Nobody;
        if was_owner {
            // It reads its alarm next.
            self.alarm = timeout;
            return Left::Quietly;
        }
        let is_earlier = timeout.is_some_and(|at| self.alarm.is_none_or(|alarm| at < alarm));
        if is_earlier {
            self.alarm = timeout;
            return Left::WakeOwner;
        }
        Left::Quietly
    }

    /// Gives the machine to the owner if anything waits for it; whether it did. `has_own` is
    /// whether the machine has something to do beside what is queued.
    pub(crate) fn hand_over(&mut self, has_own: bool) -> bool {
        let has_work = has_own || self.is_waited_for();
        if has_work {
            self.driver = Driver::Owner;
        }
        has_work
    }

    /// Gives the machine, whose life is over, to the owner.
    pub(crate) fn keep_for_owner(&mut self) {
        self.driver = Driver::Owner;
    }

    /// Makes the owner the driver, unless a guest is: then that guest's leaving looks at the alarm.
    pub(crate) fn enter(&mut self) -> bool {
        match self.driver {
            Driver::Nobody | Driver::Owner => {
                self.driver = Driver::Owner;
                true
            }
            Driver::Guest => false,
        }
    }

    /// Until when the owner may sleep.
    pub(crate) fn alarm(&self) -> Option<Timestamp> {
        self.alarm
    }

    /// The alarm rang: the next who leaves is to set it anew.
    pub(crate) fn rang(&mut self) {
        self.alarm = None;
    }

    /// Refuses all further inputs; returns those that nobody will handle.
    pub(crate) fn close(&mut self) -> (VecDeque<U>, VecDeque<E>) {
        self.closed = true;
        (std::mem::take(&mut self.urgent), std::mem::take(&mut self.events))
    }

    fn is_waited_for(&self) -> bool {
        !self.urgent.is_empty() || !self.events.is_empty()
    }
}
