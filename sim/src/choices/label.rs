//! The names of the decisions a world makes. Every fault has its own.

/// What a label is about.
enum Kind {
    /// What the seed's world looks like.
    Config,
    /// What clients do.
    Workload,
    /// When things happen that nobody made faulty.
    Schedule,
    /// Whether a fault strikes; its first choice says yes or no.
    Fault,
    /// How hard a fault that struck is.
    Detail,
}

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident: $kind:ident = $text:literal,)*) => {
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

            /// Whether it decides that a fault strikes.
            #[must_use]
            pub const fn is_fault(self) -> bool {
                matches!(match self { $(Self::$name => Kind::$kind,)* }, Kind::Fault)
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
    Entropy: Schedule = "config.entropy",
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
    /// A client dies.
    ClientDies: Fault = "client.dies",
    /// How long a client stays away once it died.
    Away: Detail = "client.away",
    /// A client is paused.
    ClientPaused: Fault = "client.paused",
    /// For how long a client is paused.
    ClientPause: Detail = "client.pause",
    /// How long a message travels.
    Latency: Schedule = "net.latency",
    /// How long a file operation takes.
    DiskLatency: Schedule = "disk.latency",
    /// How long a node is down.
    RestartDelay: Schedule = "node.restart.delay",
    /// A request is lost.
    RequestLost: Fault = "net.request.lost",
    /// A request is late.
    RequestDelayed: Fault = "net.request.delayed",
    /// A request arrives twice.
    RequestRepeated: Fault = "net.request.repeated",
    /// An answer is lost.
    ResponseLost: Fault = "net.response.lost",
    /// An answer is late.
    ResponseDelayed: Fault = "net.response.delayed",
    /// How long a delayed message travels.
    LongDelay: Detail = "net.delay",
    /// A write fails.
    WriteFails: Fault = "disk.write.fails",
    /// A sync fails.
    SyncFails: Fault = "disk.sync.fails",
    /// A read fails.
    ReadFails: Fault = "disk.read.fails",
    /// An operation stalls.
    DiskStalls: Fault = "disk.stalls",
    /// How long a stalled disk takes.
    DiskStall: Detail = "disk.stall",
    /// The disk is full.
    DiskFull: Fault = "disk.full",
    /// Whether a full disk has no room for what is written over, either.
    FullCopies: Detail = "disk.full.copies",
    /// How long a full disk stays full.
    FullFor: Detail = "disk.full.for",
    /// How much of a failed write arrived.
    PartialWrite: Detail = "disk.write.partial",
    /// What a crash leaves of a file's unsynced length.
    CrashLength: Detail = "disk.crash.length",
    /// What a crash leaves of an unsynced sector.
    CrashSector: Detail = "disk.crash.sector",
    /// What a crash leaves of an unsynced name.
    CrashName: Detail = "disk.crash.name",
    /// A derived file is damaged while the node is down.
    DerivedDamaged: Fault = "disk.derived.damaged",
    /// A record becomes one of a version to come.
    NewerRecord: Fault = "disk.newer.record",
    /// Bits of records turn.
    Rot: Fault = "disk.rot",
    /// A checkpoint file goes while the node is down.
    CheckpointLost: Fault = "disk.checkpoint.lost",
    /// Which file is damaged, and how.
    Damage: Detail = "disk.damage",
    /// The wall clock jumps.
    ClockJumps: Fault = "clock.jumps",
    /// How far the wall clock jumps.
    ClockJump: Detail = "clock.jump",
    /// A node is paused.
    NodePaused: Fault = "node.paused",
    /// For how long a node is paused.
    NodePause: Detail = "node.pause",
    /// A node dies in this input.
    Crash: Fault = "crash",
    /// After which output of that input.
    CrashOutput: Detail = "crash.output",
    /// The next life is a short one.
    CrashAgain: Fault = "crash.again",
    /// How many inputs it lives.
    CrashInputs: Detail = "crash.inputs",
    /// The node is stopped in order.
    Stop: Fault = "node.stop",
    /// The node comes back with a higher level of a feature.
    Upgrade: Fault = "node.upgrade",
    /// Whether a second node recovers beside the one that lives.
    Shadow: Detail = "shadow",
    /// How many brokers there are, and how old they are.
    Brokers: Config = "cluster.brokers",
    /// Whether a fault between brokers exists in this seed, and how often it strikes.
    ClusterFault: Config = "cluster.fault",
    /// A partition gets another leader.
    LeaderMoves: Fault = "cluster.leader.moves",
    /// Which partition, and which leader.
    Move: Detail = "cluster.move",
    /// When a member hears who leads what.
    News: Schedule = "cluster.news",
    /// A member hears late who leads what.
    NewsLate: Fault = "cluster.news.late",
    /// A message between members is lost.
    PeerLost: Fault = "cluster.peer.lost",
    /// A message between members is late.
    PeerDelayed: Fault = "cluster.peer.delayed",
    /// The network between two members is cut.
    PeersCut: Fault = "cluster.peers.cut",
    /// How late a message between members is, how long and which way the network is cut.
    PeerFate: Detail = "cluster.peer.fate",
    /// A commit takes long to reach the store.
    ConfirmDelayed: Fault = "cluster.confirm.delayed",
    /// The answer of another member takes a while.
    PeerSlow: Fault = "cluster.peer.slow",
    /// How long.
    ConfirmFate: Detail = "cluster.confirm.fate",
    /// Which files of a failed sync of many were synced.
    PartialSync: Detail = "disk.sync.partial",
    /// How large the world is, and how much harder faults strike in a smaller one.
    WorldSize: Config = "config.world.size",
    /// Whom a client asks who leads.
    Asked: Workload = "cluster.asked",
    /// From which size on batches go to their segments before the journal names the place.
    Placing: Config = "config.placing",
}

impl Label {
    /// The label of a name in recorded choices.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|label| label.name() == name)
    }
}
