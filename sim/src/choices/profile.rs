//! Which faults a seed's world has, and how often they strike.
//!
//! Swarm: every seed turns a random subset of the faults on, with random weights. A fault that
//! is on everywhere hides what only shows without it.

use super::{Choices, Label};

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal, most $most:literal;)*) => {
        /// A kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Fault { $($(#[$doc])* $name,)* }

        impl Fault {
            /// All faults, in the order of their discriminants.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The highest rate a seed may draw, in 10,000.
            const fn most(self) -> u32 {
                match self { $(Self::$name => $most,)* }
            }
        }
    };
}

faults! {
    /// A request is lost and its connection cut.
    RequestLost = "request lost", most 400;
    /// A request arrives, its connection is cut before the answer.
    ResponseLost = "response lost", most 500;
    /// A request takes longer than its sender waits.
    RequestDelayed = "request delayed", most 300;
    /// A request that the protocol protects from it arrives twice, the second time over another
    /// connection.
    RequestRepeated = "request repeated", most 200;
    /// An answer takes longer than its receiver waits.
    ResponseDelayed = "response delayed", most 200;
    /// A node dies between two outputs; the rate is of inputs.
    Crash = "crash", most 120;
    /// A node dies again while it recovers.
    CrashAgain = "crash in recovery", most 5_000;
    /// A node is stopped in order and started again; the rate is of inputs.
    Stopped = "node stopped", most 8;
    /// A node comes back with the highest level of transaction.version; the rate is of restarts.
    Upgraded = "upgraded", most 8_000;
    /// A node stops for a while and goes on.
    NodePaused = "node paused", most 20;
    /// A client dies in the middle of what it does.
    ClientDies = "client dies", most 300;
    /// A client stops, maybe past its transaction's timeout, and goes on with what it had.
    ClientPaused = "client paused", most 300;
    /// The wall clock jumps.
    ClockJump = "clock jump", most 30;
    /// A write fails, maybe having been done in part.
    WriteFails = "write fails", most 60;
    /// A sync fails: the data is gone, the page looks clean.
    SyncFails = "sync fails", most 25;
    /// A read fails.
    ReadFails = "read fails", most 40;
    /// The disk is full for a while.
    DiskFull = "disk full", most 40;
    /// A file operation takes very long.
    DiskStalls = "disk stalls", most 100;
    /// A snapshot or an index is damaged while the node is down; the rate is of restarts.
    DerivedDamaged = "derived file damaged", most 5_000;
    /// A record of the transaction log that is superseded becomes one of a version to come; the
    /// rate is of restarts.
    NewerRecord = "newer record", most 1_000;
    /// A bit of the records turns while the node is down, once: the only copy is destroyed, which
    /// has to be found; the rate is of restarts.
    Rot = "bit rot", most 10_000;
    /// The checkpoint file is gone, or its copy, or both; the rate is of restarts.
    CheckpointLost = "checkpoint lost", most 4_000;
    /// No fault: a second node recovers from what is durable, beside the one that lives; the rate
    /// is of inputs.
    Shadow = "shadow recovery", most 30;
    /// A partition gets another leader; the rate is of inputs.
    LeaderMoves = "leader moves", most 60;
    /// A member hears late who leads what, the old leader too; the rate is of news.
    NewsLate = "news late", most 8_000;
    /// A request or answer between members is lost.
    PeerLost = "peer message lost", most 1_000;
    /// A request between members takes longer than its sender waits.
    PeerDelayed = "peer message delayed", most 1_000;
    /// The network between two members is cut for a while, one way or both.
    PeersCut = "peers cut", most 400;
    /// A commit takes long to reach the store.
    ConfirmDelayed = "confirm delayed", most 200;
    /// The answer of another member takes a while, less than its receiver waits.
    PeerSlow = "peer answer slow", most 6_000;
}

impl Fault {
    /// Whether it needs several brokers.
    const fn is_between_brokers(self) -> bool {
        matches!(
            self,
            Self::LeaderMoves
                | Self::NewsLate
                | Self::PeerLost
                | Self::PeerDelayed
                | Self::PeersCut
                | Self::ConfirmDelayed
                | Self::PeerSlow
        )
    }

    /// How often it may strike at most when it strikes more often than drawn. A node that dies all
    /// the time does nothing else.
    const fn most_intense(self) -> u32 {
        match self {
            Self::Crash => 200,
            _ => 4 * self.most(),
        }
    }

    /// Whether its rate is of inputs, requests, operations of clients or of the disk: of what
    /// there is less in a smaller world.
    const fn is_by_the_way(self) -> bool {
        !matches!(
            self,
            Self::CrashAgain
                | Self::Upgraded
                | Self::DerivedDamaged
                | Self::NewerRecord
                | Self::Rot
                | Self::CheckpointLost
                | Self::NewsLate
        )
    }

    /// One seed in how many has it: what destroys the only copy also ends most of the run.
    const fn rarity(self) -> u32 {
        match self {
            Self::Rot => 40,
            Self::CheckpointLost => 8,
            Self::Shadow => 4,
            _ => 2,
        }
    }
}

/// The rates of one seed, in 10,000; 0 is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    rates: [u32; Fault::ALL.len()],
}

impl Profile {
    /// No faults.
    #[must_use]
    pub const fn dull() -> Self {
        Self { rates: [0; Fault::ALL.len()] }
    }

    /// Draws a subset of faults and a rate for each.
    pub fn draw(choices: &mut impl Choices) -> Self {
        let mut profile = Self::dull();
        for &fault in Fault::ALL.iter().filter(|fault| !fault.is_between_brokers()) {
            if choices.below(Label::FaultOn, fault.rarity()) == 1 {
                let rate = 1 + choices.below(Label::FaultRate, fault.most());
                profile.set(fault, rate);
            }
        }
        profile
    }

    /// Draws a subset of the faults between brokers too.
    pub fn draw_between_brokers(&mut self, choices: &mut impl Choices) {
        for &fault in Fault::ALL.iter().filter(|fault| fault.is_between_brokers()) {
            // Without moves a cluster is hardly one.
            let seldom = if fault == Fault::LeaderMoves { 4 } else { 2 };
            if choices.below(Label::ClusterFault, seldom) > 0 {
                self.set(fault, 1 + choices.below(Label::ClusterFault, fault.most()));
            }
        }
    }

    /// How often a fault strikes, in 10,000.
    #[must_use]
    pub const fn rate(&self, fault: Fault) -> u32 {
        self.rates[fault as usize]
    }

    /// Sets how often a fault strikes, in 10,000.
    pub const fn set(&mut self, fault: Fault, rate: u32) {
        self.rates[fault as usize] = rate;
    }

    /// Faults strike so many times more often, where there is less that they may strike.
    pub fn intensify(&mut self, times: u32) {
        for &fault in Fault::ALL.iter().filter(|fault| fault.is_by_the_way()) {
            let rate = self.rate(fault);
            self.set(fault, rate.max((rate * times).min(fault.most_intense())));
        }
    }

    /// The faults that are on.
    pub fn on(&self) -> impl Iterator<Item = (Fault, u32)> + '_ {
        Fault::ALL.iter().map(|&fault| (fault, self.rate(fault))).filter(|&(_, rate)| rate > 0)
    }
}
