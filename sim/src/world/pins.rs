//! Faults that a scenario pins to named points: all other choices stay dull.

use verdict_core::marks::Mark;

use crate::history::ClientId;

/// Where a pinned fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// Right after the core passed a mark.
    Mark(Mark),
    /// When a client sends a request of this kind.
    Request {
        /// The request's name, such as `EndTxn`.
        api: String,
        /// Only of this client.
        client: Option<ClientId>,
    },
    /// When a node answers a request of this kind.
    Response {
        /// The request's name, such as `EndTxn`.
        api: String,
        /// Only to this client.
        client: Option<ClientId>,
    },
    /// When a node asks for a file operation of this kind.
    Disk {
        /// The operation's name, such as `WriteSync`.
        op: String,
        /// Only on paths that begin so.
        path: String,
    },
    /// When a node is ready again for the nth time.
    Ready,
    /// At a point of the world's time, in microseconds.
    Time(u64),
}

/// What a pinned fault does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The node dies and comes back after so many microseconds.
    Crash(u64),
    /// Of a write to the journal only the first so many frames (turns) become durable, and the
    /// node dies; it comes back after so many microseconds.
    Tear(u64, u64),
    /// The message is lost and its connection cut.
    Drop,
    /// The message takes so many microseconds longer.
    Delay(u64),
    /// The file operation fails.
    DiskIo,
    /// The file operation finds no space.
    DiskNoSpace,
    /// The client stops for so many microseconds.
    PauseClient(ClientId, u64),
    /// The wall clock jumps by so many milliseconds.
    ClockJump(i64),
    /// A partition gets another leader: the topic, the partition, the broker, and after how many
    /// microseconds the others hear of it.
    Move(MovedTopic, i32, usize, u64),
}

/// A topic whose partitions a scenario moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovedTopic {
    /// The one topic of the clients.
    Records,
    /// `__transaction_state`.
    Transactions,
    /// `__consumer_offsets`.
    Offsets,
}

impl MovedTopic {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Records => crate::clients::TOPIC,
            Self::Transactions => verdict_core::types::TRANSACTION_STATE_TOPIC,
            Self::Offsets => verdict_core::types::CONSUMER_OFFSETS_TOPIC,
        }
    }
}

/// A pinned fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Where.
    pub at: At,
    /// On which occurrence, from 1 on.
    pub nth: u64,
    /// What.
    pub act: Act,
    /// Counts only what comes after this mark was hit.
    after: Option<Mark>,
    seen: u64,
    fired: bool,
}

impl Pin {
    /// A fault at the nth occurrence of something.
    #[must_use]
    pub const fn new(at: At, nth: u64, act: Act) -> Self {
        Self { at, nth, act, after: None, seen: 0, fired: false }
    }

    /// The same, counting only from the first hit of a mark on.
    #[must_use]
    pub const fn after(mut self, mark: Option<Mark>) -> Self {
        self.after = mark;
        self
    }
}

/// The pinned faults of a world.
#[derive(Clone, Debug, Default)]
pub struct Pins(Vec<Pin>);

impl Pins {
    /// These faults.
    #[must_use]
    pub const fn new(pins: Vec<Pin>) -> Self {
        Self(pins)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The faults that never struck, in words.
    pub fn unused(&self) -> impl Iterator<Item = &At> {
        self.0.iter().filter(|pin| !pin.fired).map(|pin| &pin.at)
    }

    /// The pins at points of time.
    pub(super) fn times(&self) -> impl Iterator<Item = (u64, Act)> {
        self.0.iter().filter_map(|pin| match pin.at {
            At::Time(at) => Some((at, pin.act)),
            _ => None,
        })
    }

    fn hit(&mut self, fits: impl Fn(&At) -> bool) -> Option<Act> {
        let mut found = None;
        for pin in &mut self.0 {
            let waits = pin.after.is_some_and(|mark| crate::marks::count(mark) == 0);
            if pin.fired || waits || !fits(&pin.at) {
                continue;
            }
            pin.seen += 1;
            if pin.seen == pin.nth && found.is_none() {
                pin.fired = true;
                found = Some(pin.act);
            }
        }
        found
    }

    pub(super) fn request(&mut self, api: &str, client: ClientId) -> Option<Act> {
        self.hit(|at| {
            matches!(at, At::Request { api: name, client: of }
                if name == api && of.is_none_or(|of| of == client))
        })
    }

    pub(super) fn response(&mut self, api: &str, client: ClientId) -> Option<Act> {
        self.hit(|at| {
            matches!(at, At::Response { api: name, client: of }
                if name == api && of.is_none_or(|of| of == client))
        })
    }

    pub(super) fn disk(&mut self, op: &str, path: &str) -> Option<Act> {
        self.hit(|at| {
            matches!(at, At::Disk { op: name, path: prefix }
                if name == op && path.starts_with(prefix.as_str()))
        })
    }

    pub(super) fn ready(&mut self) -> Option<Act> {
        self.hit(|at| matches!(at, At::Ready))
    }

    pub(super) fn time(&mut self, now_us: u64) {
        for pin in &mut self.0 {
            pin.fired |= matches!(pin.at, At::Time(at) if at <= now_us);
        }
    }

    /// Marks were hit: `count` tells how often in all.
    pub(super) fn marks(&mut self, count: impl Fn(Mark) -> u64) -> Option<Act> {
        let pin = self
            .0
            .iter_mut()
            .find(|pin| matches!(pin.at, At::Mark(mark) if !pin.fired && count(mark) >= pin.nth))?;
        pin.fired = true;
        Some(pin.act)
    }
}
