//! The names of the decisions a world makes, each with the stream of randomness it draws from.
//!
//! A stream per concern keeps them apart: one more draw for the network leaves the disk's draws
//! of the same seed where they were.

/// A concern with its own stream of randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Stream {
    /// What the seed's world looks like.
    Config,
    /// What the clients do.
    Workload,
    /// When things happen that nobody made faulty.
    Schedule,
    /// Connections.
    Net,
    /// Files.
    Disk,
    /// Wall clocks and pauses.
    Clock,
    /// When nodes die.
    Crash,
    /// Members of a cluster: who leads, what they tell each other.
    Cluster,
}

impl Stream {
    /// How many streams there are.
    pub const COUNT: usize = 8;
}

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident: $stream:ident = $text:literal,)*) => {
        /// A kind of decision.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Label { $($(#[$doc])* $name,)* }

        impl Label {
            /// All labels, in the order of their discriminants.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in recorded choices.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Where a seeded engine draws it from.
            #[must_use]
            pub const fn stream(self) -> Stream {
                match self { $(Self::$name => Stream::$stream,)* }
            }
        }
    };
}

labels! {
    /// Whether a kind of fault exists in this seed.
    FaultOn: Config = "config.fault.on",
    /// How often a fault strikes when it exists.
    FaultRate: Config = "config.fault.rate",
    /// Number of partitions, clients, operations.
    Size: Config = "config.size",
    /// A property of the broker.
    Property: Config = "config.property",
    /// Entropy that the driver of a node hands it.
    Entropy: Config = "config.entropy",
    /// Which kind of client.
    ClientKind: Workload = "client.kind",
    /// Which operation a client does next.
    Operation: Workload = "client.operation",
    /// To which partition, group or topic.
    Target: Workload = "client.target",
    /// How many records.
    Count: Workload = "client.count",
    /// Commit or abort.
    Decision: Workload = "client.decision",
    /// How long a client thinks.
    Think: Workload = "client.think",
    /// How long a client stays away once it died.
    Away: Workload = "client.away",
    /// How long a message travels.
    Latency: Schedule = "net.latency",
    /// How long a file operation takes.
    DiskLatency: Schedule = "disk.latency",
    /// How long a node is down.
    RestartDelay: Schedule = "node.restart.delay",
    /// What happens to a request.
    RequestFate: Net = "net.request.fate",
    /// What happens to an answer.
    ResponseFate: Net = "net.response.fate",
    /// How long a delayed message travels.
    LongDelay: Net = "net.delay",
    /// Whether a read, write or sync fails.
    DiskFault: Disk = "disk.fault",
    /// How long a stalled disk takes.
    DiskStall: Disk = "disk.stall",
    /// How long a full disk stays full.
    DiskFull: Disk = "disk.full",
    /// How much of a failed write arrived.
    PartialWrite: Disk = "disk.write.partial",
    /// What a crash leaves of a file's unsynced length.
    CrashLength: Disk = "disk.crash.length",
    /// What a crash leaves of an unsynced sector.
    CrashSector: Disk = "disk.crash.sector",
    /// What a crash leaves of an unsynced name.
    CrashName: Disk = "disk.crash.name",
    /// Which file is damaged while nobody uses it, and how.
    Damage: Disk = "disk.damage",
    /// Whether and how far the wall clock jumps.
    ClockJump: Clock = "clock.jump",
    /// Who is paused, and for how long.
    Pause: Clock = "clock.pause",
    /// After how many inputs a node dies.
    CrashInputs: Crash = "crash.inputs",
    /// After which output of that input.
    CrashOutput: Crash = "crash.output",
    /// Whether the node is stopped in order.
    Stop: Crash = "node.stop",
    /// Whether the next life is a short one.
    CrashAgain: Crash = "crash.again",
    /// How many brokers there are, and how old they are.
    Brokers: Cluster = "cluster.brokers",
    /// Whether a fault between brokers exists in this seed, and how often it strikes.
    ClusterFault: Cluster = "cluster.fault",
    /// Which partition gets another leader, and which.
    Move: Cluster = "cluster.move",
    /// When a member hears who leads what.
    News: Cluster = "cluster.news",
    /// What happens to a message between members.
    PeerFate: Cluster = "cluster.peer.fate",
    /// What happens to a commit on its way to the store.
    ConfirmFate: Cluster = "cluster.confirm.fate",
}

impl Label {
    /// The label of a name in recorded choices.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|label| label.name() == name)
    }
}
