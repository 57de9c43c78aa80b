//! The protocol with a machine that only counts.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::*;

const ABORTED: i32 = 6;
/// Far more than anything here takes: an input that is not handled by then never will be.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a pusher sends: who it is, the how manieth it is, and where it waits.
struct Ping {
    from: usize,
    count: u32,
    pong: mpsc::Sender<u32>,
}

/// Urgent inputs are names; an urgent "over" ends it.
#[derive(Default)]
struct Counter {
    /// What it was given, in order.
    log: Arc<Mutex<Vec<String>>>,
    own: VecDeque<&'static str>,
    timeout: Option<u64>,
    is_due: bool,
    is_over: bool,
    /// Pushed from outside while the first input is handled.
    meanwhile: Option<(Arc<Driven<Counter>>, u32)>,
    last: Vec<u32>,
    is_driven: Arc<AtomicBool>,
}

impl Machine for Counter {
    type Urgent = &'static str;
    type Event = Ping;

    fn handle(&mut self, input: Next<&'static str, Ping>) {
        assert!(!self.is_driven.swap(true, Ordering::SeqCst), "two drive at once");
        match input {
            Next::Urgent("panic") => panic!("a broken invariant"),
            Next::Urgent(name) => {
                self.is_over = name == "over";
                self.note(name);
            }
            Next::Event(Ping { from, count, pong }) => {
                self.last.resize(self.last.len().max(from + 1), 0);
                assert_eq!(count, self.last[from] + 1, "in the order of its pusher, once each");
                self.last[from] = count;
                self.note(&format!("{from}:{count}"));
                pong.send(count).unwrap_or(());
            }
        }
        if let Some((node, count)) = self.meanwhile.take() {
            for _ in 0..count {
                node.urge("meanwhile", 100).expect("it is open");
            }
        }
        self.is_driven.store(false, Ordering::SeqCst);
    }

    fn own(&mut self) -> Option<&'static str> {
        self.own.pop_front()
    }

    fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    fn tick_when_due(&mut self) -> bool {
        let due = std::mem::take(&mut self.is_due);
        if due {
            self.note("tick");
        }
        due
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        self.timeout.map(Timestamp)
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

impl Counter {
    fn note(&self, what: &str) {
        self.log.lock().expect("no test panics here").push(what.to_owned());
    }
}

type Log = Arc<Mutex<Vec<String>>>;

/// A machine that nobody drives.
fn at_rest(room: usize, change: impl FnOnce(&mut Counter, &Arc<Driven<Counter>>)) -> Idle {
    let node = Arc::new(Driven::new(room));
    let mut counter = Counter::default();
    let log = Arc::clone(&counter.log);
    change(&mut counter, &node);
    node.begin(counter);
    assert!(!node.drive_as_owner(), "it lives");
    Idle { node, log }
}

struct Idle {
    node: Arc<Driven<Counter>>,
    log: Log,
}

impl Idle {
    fn log(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().expect("no test panics here"))
    }

    /// Whether the owner was woken since this was asked last.
    fn woke_owner(&self) -> bool {
        is_ready(self.node.woken())
    }
}

fn is_ready(future: impl Future) -> bool {
    matches!(pin!(future).poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(_))
}

fn ping(from: usize, count: u32) -> Ping {
    Ping { from, count, pong: mpsc::channel().0 }
}

#[test]
fn who_pushes_drives_when_nobody_does_and_wakes_nobody() {
    let idle = at_rest(1, |_, _| {});
    assert!(is_ready(idle.node.tell(ping(0, 1), 1)));
    assert_eq!(idle.log(), ["0:1"]);
    assert!(!idle.woke_owner(), "a budget that just sufficed is no reason");
}

#[test]
fn what_is_pushed_while_somebody_drives_is_driven_by_that_one() {
    let idle = at_rest(1, |counter, node| counter.meanwhile = Some((Arc::clone(node), 3)));
    idle.node.urge("first", 100).expect("it is open");
    assert_eq!(idle.log(), ["first", "meanwhile", "meanwhile", "meanwhile"]);
    assert!(!idle.woke_owner());
}

#[test]
fn a_spent_budget_gives_the_rest_to_the_owner_and_to_nobody_else() {
    let idle = at_rest(9, |counter, node| counter.meanwhile = Some((Arc::clone(node), 2)));
    idle.node.urge("first", 2).expect("it is open");
    assert_eq!(idle.log(), ["first", "meanwhile"]);
    assert!(idle.woke_owner());
    assert!(is_ready(idle.node.tell(ping(0, 1), 100)));
    assert_eq!(idle.log(), [""; 0], "the owner was told already");
    assert!(!idle.woke_owner(), "and is not told twice");
    assert!(!idle.node.drive_as_owner());
    assert_eq!(idle.log(), ["meanwhile", "0:1"]);
    assert!(is_ready(idle.node.tell(ping(0, 2), 1)));
    assert_eq!(idle.log(), ["0:2"], "and then it is anybody's again");
}

#[test]
fn its_own_goes_first_then_what_is_urgent_and_a_due_tick_last() {
    let node = Driven::new(9);
    let counter = Counter { own: ["own"].into(), is_due: true, ..Counter::default() };
    let log = Arc::clone(&counter.log);
    assert!(is_ready(node.tell(ping(0, 1), 100)));
    node.urge("urgent", 100).expect("it is open");
    node.begin(counter);
    assert!(!node.drive_as_owner());
    assert_eq!(*log.lock().expect("nobody panicked"), ["own", "urgent", "0:1", "tick"]);
}

#[test]
fn the_owner_is_woken_for_an_earlier_timeout_only() {
    let idle = at_rest(9, |counter, _| counter.timeout = Some(100));
    assert_eq!(idle.node.alarm(), Some(Timestamp(100)));
    let set = |timeout| {
        idle.node.machine().as_mut().expect("it lives").timeout = timeout;
        idle.node.urge("other timeout", 1).expect("it is open");
        idle.woke_owner()
    };
    assert!(!set(Some(100)));
    assert!(!set(Some(200)), "it finds out when it wakes");
    assert!(!set(None));
    assert!(set(Some(50)));
    assert_eq!(idle.node.alarm(), Some(Timestamp(50)));
    idle.node.rang();
    assert!(set(Some(300)), "it sleeps with no alarm");
}

#[test]
fn an_owner_whose_alarm_rings_while_a_guest_drives_is_told_the_next_one() {
    let mut inbox: Inbox<(), ()> = Inbox::new();
    assert_eq!(inbox.leave(Some(Timestamp(100))), Left::Quietly);
    assert_eq!(inbox.push(Next::Event(())), Pushed::Drive);
    inbox.rang();
    assert!(!inbox.enter(), "a guest drives");
    assert!(inbox.next().is_some());
    assert_eq!(inbox.leave(Some(Timestamp(100))), Left::WakeOwner);
    assert!(inbox.enter());
}

#[test]
fn what_comes_in_the_moment_of_leaving_keeps_the_driver() {
    let mut inbox: Inbox<(), ()> = Inbox::new();
    assert_eq!(inbox.leave(None), Left::Quietly);
    assert_eq!(inbox.push(Next::Event(())), Pushed::Drive);
    assert!(inbox.next().is_some());
    assert!(inbox.next().is_none(), "it is about to leave");
    assert_eq!(inbox.push(Next::Event(())), Pushed::Seen);
    assert_eq!(inbox.leave(None), Left::Not);
    assert!(inbox.next().is_some());
    assert_eq!(inbox.leave(None), Left::Quietly);
    assert_eq!(inbox.push_for_owner(Next::Urgent(())), Pushed::WakeOwner);
    assert_eq!(inbox.push(Next::Event(())), Pushed::Seen, "the owner is on its way");
}

#[test]
fn beyond_its_room_events_wait_until_one_is_taken() {
    let node = Driven::new(1);
    assert!(is_ready(node.tell(ping(0, 1), 100)));
    let mut second = pin!(node.tell(ping(0, 2), 100));
    assert!(!is_ready(second.as_mut()));
    let counter = Counter::default();
    let log = Arc::clone(&counter.log);
    node.begin(counter);
    assert!(!node.drive_as_owner());
    assert_eq!(*log.lock().expect("nobody panicked"), ["0:1"]);
    assert!(is_ready(second), "there is room again");
    assert_eq!(*log.lock().expect("nobody panicked"), ["0:1", "0:2"]);
}

#[test]
fn the_end_is_the_owners_and_what_waits_goes_with_it() {
    let idle = at_rest(1, |counter, node| counter.meanwhile = Some((Arc::clone(node), 1)));
    idle.node.urge("over", 100).expect("it is open");
    assert_eq!(idle.log(), ["over"], "nothing is given to it any more");
    assert!(idle.woke_owner());
    let (pong, gone) = mpsc::channel();
    assert!(is_ready(idle.node.tell(Ping { from: 0, count: 1, pong }, 100)));
    let mut waits = pin!(idle.node.tell(ping(0, 2), 100));
    assert!(!is_ready(waits.as_mut()));
    assert!(idle.node.drive_as_owner(), "it is over");
    idle.node.close();
    assert_eq!(gone.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    assert!(is_ready(waits));
    assert_eq!(idle.node.urge("late", 100), Err(Gone));
    assert_eq!(idle.log(), [""; 0]);
}

/// Many push at once and wait for each answer, so that drivers leave and enter all the time; none
/// may be forgotten, handled twice, or overtaken, with any budget.
#[test]
fn under_many_threads_each_input_is_handled_once_and_in_order() {
    const PUSHERS: usize = 4;
    const PINGS: u32 = 20_000;
    for (budget, window) in [(1, 1), (3, 4), (32, 16)] {
        let node = Arc::new(Driven::new(8));
        let owner = {
            let node = Arc::clone(&node);
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build();
                runtime.expect("a runtime").block_on(async {
                    node.begin(Counter::default());
                    while !node.drive_as_owner() {
                        node.woken().await;
                    }
                    let last = node.machine().as_ref().map(|counter| counter.last.clone());
                    node.close();
                    last.expect("the owner closes it")
                })
            })
        };
        let pushers: Vec<_> = (0..PUSHERS)
            .map(|from| {
                let node = Arc::clone(&node);
                std::thread::spawn(move || push_and_wait(&node, from, PINGS, window, budget))
            })
            .collect();
        for pusher in pushers {
            pusher.join().expect("every ping is answered");
        }
        node.urge_owner("over").expect("it is open");
        assert_eq!(owner.join().expect("the owner"), [PINGS; PUSHERS]);
    }
}

/// Sends pings, at most `window` of them unanswered.
fn push_and_wait(node: &Driven<Counter>, from: usize, pings: u32, window: u32, budget: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (pong, pongs) = mpsc::channel();
    for count in 1..=pings + window {
        if count > window {
            assert_eq!(pongs.recv_timeout(PATIENCE), Ok(count - window), "none is lost");
        }
        if count <= pings {
            let ping = Ping { from, count, pong: pong.clone() };
            runtime.block_on(node.tell(ping, budget)).expect("it is open");
        }
    }
}

#[test]
#[ignore = "ends its process; run by the test below in one of its own"]
fn a_guest_whose_machine_panics() {
    let idle = at_rest(1, |_, _| {});
    // As tokio does with a task.
    let panicked = std::panic::catch_unwind(|| idle.node.urge("panic", 1));
    assert!(panicked.is_err(), "unreachable: the process is gone");
}

#[test]
fn a_panic_under_a_guest_ends_the_process() {
    let status = Command::new(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", "driven::tests::a_guest_whose_machine_panics"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("it runs");
    assert_eq!(status.signal(), Some(ABORTED), "{status}");
}
