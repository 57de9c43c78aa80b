//! A machine that whoever has work for it drives.
//!
//! A request that had to wait for a thread of the machine's own would pay two wake-ups, there and
//! back, which take longer than most requests do. So who has an input queues it and, if nobody
//! drives the machine, drives it: handles what is queued, one input at a time, until nothing is
//! left. Who finds somebody driving goes on, that one will see the input ([`crate::inbox`]).
//!
//! * Urgent inputs go before events, what the machine has for itself before both. Events of one
//!   sender stay in order. At most `room` of them are queued; then senders wait.
//! * A guest has a budget, so that it gets back to what it is for; beyond it the machine goes to
//!   its owner, which has none and keeps it as long as there is something to do.
//! * Ticks are given by whoever drives, and by the owner when nobody does.
//! * A panic of the machine ends the process, whoever drove it.

use std::sync::{Mutex, MutexGuard};

use tokio::sync::{Notify, Semaphore};
use verdict_core::time::Timestamp;

use crate::inbox::{Inbox, Left, Next, Pushed};
use crate::rt;

/// What can be driven.
pub(crate) trait Machine {
    /// What goes first.
    type Urgent;
    /// What is bounded, and goes last.
    type Event;

    /// Handles one input to its end, and gives itself a tick if one is due then.
    fn handle(&mut self, input: Next<Self::Urgent, Self::Event>);
    /// Takes what it has for itself.
    fn own(&mut self) -> Option<Self::Urgent>;
    /// Whether it has something for itself.
    fn has_own(&self) -> bool;
    /// Gives itself a tick if one is due; whether it did.
    fn tick_when_due(&mut self) -> bool;
    /// When it wants its next tick.
    fn next_timeout(&self) -> Option<Timestamp>;
    /// Whether its life is over, so that it must not be given anything any more.
    fn is_over(&self) -> bool;
}

/// The machine is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// A machine, the inputs that wait for it, and who drives it.
pub(crate) struct Driven<M: Machine> {
    inbox: Mutex<Inbox<M::Urgent, M::Event>>,
    /// Locked by who drives, which the inbox says; nobody ever waits for it, but who closes.
    machine: Mutex<Option<M>>,
    room: Semaphore,
    owner: Notify,
}

impl<M: Machine> Driven<M> {
    /// A machine to come, with room for that many events. Inputs wait until its owner begins.
    pub(crate) fn new(room: usize) -> Self {
        Self {
            inbox: Mutex::new(Inbox::new()),
            machine: Mutex::new(None),
            room: Semaphore::new(room.min(Semaphore::MAX_PERMITS)),
            owner: Notify::new(),
        }
    }

    /// Brings an event, when there is room for it, and drives for at most `budget` inputs.
    pub(crate) async fn tell(&self, event: M::Event, budget: u32) -> Result<(), Gone> {
        // Its room is given back when it is taken.
        self.room.acquire().await.map_err(|_| Gone)?.forget();
        let pushed = self.inbox().push(Next::Event(event));
        self.after(pushed, budget)
    }

    /// Brings an urgent input, and drives for at most `budget` inputs.
    pub(crate) fn urge(&self, input: M::Urgent, budget: u32) -> Result<(), Gone> {
        let pushed = self.inbox().push(Next::Urgent(input));
        self.after(pushed, budget)
    }

    /// Brings an urgent input for the owner to handle, or for who drives already.
    pub(crate) fn urge_owner(&self, input: M::Urgent) -> Result<(), Gone> {
        let pushed = self.inbox().push_for_owner(Next::Urgent(input));
        self.after(pushed, 0)
    }

    fn after(&self, pushed: Pushed, budget: u32) -> Result<(), Gone> {
        match pushed {
            Pushed::Seen => {}
            Pushed::Drive => {
                let left = rt::unforgiving(|| self.drive(Some(budget)));
                // Not while the machine is locked: the owner would wait for it.
                if matches!(left, Left::WakeOwner | Left::Over) {
                    self.owner.notify_one();
                }
            }
            Pushed::WakeOwner => self.owner.notify_one(),
            Pushed::Closed => return Err(Gone),
        }
        Ok(())
    }

    /// The owner's: puts the machine in its place, before the first [`drive_as_owner`].
    ///
    /// [`drive_as_owner`]: Self::drive_as_owner
    pub(crate) fn begin(&self, machine: M) {
        *self.machine() = Some(machine);
    }

    /// The owner's: drives until nothing is left, unless a guest drives. Whether the machine's life
    /// is over.
    pub(crate) fn drive_as_owner(&self) -> bool {
        self.inbox().enter() && rt::unforgiving(|| self.drive(None)) == Left::Over
    }

    /// The owner's: until when it may sleep.
    pub(crate) fn alarm(&self) -> Option<Timestamp> {
        self.inbox().alarm()
    }

    /// The owner's: it slept until the alarm.
    pub(crate) fn rang(&self) {
        self.inbox().rang();
    }

    /// The owner's: returns when it is to drive, or its alarm is earlier.
    pub(crate) async fn woken(&self) {
        self.owner.notified().await;
    }

    /// Ends it: the machine is dropped as soon as who drives has handled its input, and all that
    /// waits with it.
    pub(crate) fn close(&self) {
        let dropped = self.inbox().close();
        self.room.close();
        drop(dropped);
        let machine = self.machine().take();
        drop(machine);
    }

    /// Drives until nothing is left, or the budget is spent and the machine the owner's.
    fn drive(&self, budget: Option<u32>) -> Left {
        let mut machine = self.machine();
        // None: closed in the meantime.
        let Some(machine) = machine.as_mut() else { return Left::Over };
        let mut handled = 0;
        loop {
            if machine.is_over() {
                self.inbox().keep_for_owner();
                return Left::Over;
            }
            if budget.is_some_and(|budget| handled >= budget)
                && self.inbox().hand_over(machine.has_own())
            {
                return Left::WakeOwner;
            }
            if let Some(input) = self.next(machine) {
                machine.handle(input);
                handled += 1;
            } else if !machine.tick_when_due() {
                let left = self.inbox().leave(machine.next_timeout());
                if left != Left::Not {
                    return left;
                }
            }
        }
    }

    fn next(&self, machine: &mut M) -> Option<Next<M::Urgent, M::Event>> {
        let next = machine.own().map(Next::Urgent).or_else(|| self.inbox().next());
        if matches!(next, Some(Next::Event(_))) {
            self.room.add_permits(1);
        }
        next
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox<M::Urgent, M::Event>> {
        self.inbox.lock().expect("nothing under this lock panics")
    }

    fn machine(&self) -> MutexGuard<'_, Option<M>> {
        self.machine.lock().expect("a panic of the machine ended the process")
    }
}

#[cfg(all(test, not(madsim)))]
mod tests;
