//! What a world is made of: settings of the broker, clients and their steps, faults.

use verdict_core::config::BrokerConfig;

use super::cluster::Cluster;
use super::plan_group::Group;
use super::plan_two_phase::{draw_levels, draw_two_phase};
use super::size::{Scale, Size, within};
use crate::choices::{Choices, Fault, Label, Profile, Source};
use crate::clients::{Admin, Client, Follower, OffsetKeeper, Op, Producer, ProducerKind, Reader};
use crate::clients::{Workload, draw_sends, draw_transactions, put_sleep};
use crate::history::{ClientId, Part};

/// Everything that is fixed before a world begins.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Properties of the broker, under Kafka's names.
    pub properties: Vec<(String, String)>,
    /// Partitions of the topic.
    pub parts: Part,
    /// Groups whose offsets are committed.
    pub groups: u16,
    /// The clients; number 0 is the auditor and not among them.
    pub clients: Vec<Client>,
    /// The faults.
    pub profile: Profile,
    /// When faults end at the latest, in microseconds.
    pub work_us: u64,
    /// How many times longer than in a large world clients rest that nobody waits for.
    pub leisure: u64,
    /// How many times more often than `profile` says faults strike while there is work.
    pub intensity: u32,
    /// Whether producers are forgotten within the run.
    pub forgets_producers: bool,
    /// Whether producer epochs are near their end after the first orderly stop.
    pub ages_epochs: bool,
    /// How often, in 10,000, the checkpoint is gone when a crash leaves a hole in a log. After that
    /// not much is judged, so large worlds, where holes are frequent, do without.
    pub holes_rot: u32,
    /// Whether the clients' topic is compacted, and then whether tombstones go within the run.
    pub compacts: Option<bool>,
    /// Whether the last group has members that consume, transform and produce.
    pub pipeline: bool,
    /// Whether the topic of the groups' offsets is created by whoever needs it first.
    pub late_groups: bool,
    /// How long a transaction may stay open before the sweep aborts it, in ms.
    pub timeout_ms: i32,
    /// `group.max.size` from the second life of a node on: somebody changed it meanwhile.
    pub later_group_size: Option<i32>,
    /// The disk acknowledges syncs that it does not do: the canary, which has to be found.
    pub lying_disk: bool,
    /// The brokers.
    pub brokers: Brokers,
}

/// How many brokers there are.
#[derive(Clone, Debug, Default)]
pub struct Brokers {
    /// One is a sole node, more are members of a cluster.
    pub count: usize,
    /// Those that do not know WriteTxnMarkers v2 (KIP-1228).
    pub of_old: Vec<usize>,
    /// Who leads the first partition of `__transaction_state`; the others follow in turn.
    pub first_leader: usize,
    /// Whether clients ask the brokers who leads; else the world tells them.
    pub asked: bool,
}

impl Brokers {
    /// Mostly one; a cluster in one seed of eight.
    fn draw(choices: &mut Source, profile: &mut Profile) -> Self {
        let count = match choices.below(Label::Brokers, 16) {
            14 => 2,
            15 => 3,
            _ => return Self { count: 1, ..Self::default() },
        };
        let of_old =
            (0..count as usize).filter(|_| choices.below(Label::Brokers, 6) == 5).collect();
        let first_leader = choices.below(Label::Brokers, count) as usize;
        profile.draw_between_brokers(choices);
        // A member reads no logs but those it has written since it began to lead.
        for fault in [Fault::NewerRecord, Fault::CheckpointLost] {
            profile.set(fault, 0);
        }
        let asked = choices.below(Label::Brokers, 4) > 0;
        Self { count: count as usize, of_old, first_leader, asked }
    }
}

/// Milliseconds between sweeps for transactions that timed out, in every world.
pub const SWEEP_MS: u64 = 200;

/// The properties every world begins with: few internal partitions, a small journal, fast sweeps.
#[must_use]
pub fn base_properties() -> Vec<(String, String)> {
    [
        ("offsets.topic.num.partitions", "2".to_owned()),
        ("transaction.state.log.num.partitions", "2".to_owned()),
        ("transaction.abort.timed.out.transaction.cleanup.interval.ms", SWEEP_MS.to_string()),
        ("num.partitions", "1".to_owned()),
        ("sim.journal.bytes", "65536".to_owned()),
        ("verdict.place.bytes", i64::MAX.to_string()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

/// A configuration with these properties.
///
/// # Errors
///
/// When the core does not take one of them.
pub fn broker_config(properties: &[(String, String)]) -> Result<BrokerConfig, String> {
    let mut config = BrokerConfig::default();
    for (key, value) in properties {
        let number = || value.parse().map_err(|error| format!("{key}={value}: {error}"));
        match key.as_str() {
            // Smaller than the properties may be: a world is short, and is to see the journal go
            // round and segments roll.
            "sim.journal.bytes" => config.verdict_journal_bytes = number()?,
            "sim.segment.bytes.max" => config.segment_bytes_max = number()? as _,
            "sim.segment.bytes" => config.log_segment_bytes = number()? as _,
            _ => config.set(key, value).map_err(|error| format!("{key}={value}: {error}"))?,
        }
    }
    Ok(config)
}

impl Plan {
    /// Draws a standard world, or one of a given size: clients, their steps, settings, and a
    /// random subset of faults.
    #[must_use]
    pub fn draw(choices: &mut Source, size: Option<Size>) -> Self {
        let size = Size::draw(choices, size);
        let scale = size.scale();
        let mut profile = Profile::draw(choices);
        let parts = within(choices, Label::Size, scale.parts) as Part;
        let groups = within(choices, Label::Size, scale.groups) as u16;
        let timeout_ms = within(choices, Label::Size, scale.timeout_ms) as i32;
        let mut properties = base_properties();
        let mut set = |key: &str, value: String| properties.push((key.to_owned(), value));
        draw_store(choices, &scale, &mut set);
        let version = [2, 2, 2, 2, 2, 2, 1, 0][choices.below(Label::Property, 8) as usize];
        set("verdict.feature.transaction.version", version.to_string());
        set("offsets.retention.check.interval.ms", "400".to_owned());
        let forgets = choices.below(Label::Property, 8) == 7;
        if forgets {
            // Longer than any batch may be under way, which the settings below see to.
            set("producer.id.expiration.ms", "16000".to_owned());
            set("producer.id.expiration.check.interval.ms", "300".to_owned());
            for fault in [Fault::RequestDelayed, Fault::ClockJump, Fault::ResponseDelayed] {
                profile.set(fault, 0);
            }
        }
        let expires = choices.below(Label::Property, 8) == 7;
        if expires {
            set("transactional.id.expiration.ms", "2500".to_owned());
            set("transaction.remove.expired.transaction.cleanup.interval.ms", "700".to_owned());
        }
        let ages_epochs = draw_aging(choices, &mut profile);
        let brokers = Brokers::draw(choices, &mut profile);
        let alone = brokers.count == 1;
        let grouped = choices.below(Label::Size, 3) == 2;
        let group = grouped.then(|| Group::draw(choices, &mut set));
        let later_group_size = group.as_ref().and_then(|group| group.later_size);
        let pipeline = group.is_some();
        draw_deletion(choices, !pipeline && alone, &mut set);
        let sleeps = forgets && size != Size::Large;
        let long_ids = expires;
        let drawn =
            Drawn { group, parts, groups, timeout_ms, version, long_ids, alone, scale, sleeps };
        let (mut clients, parts) = draw_clients(choices, &drawn);
        let compacts = draw_last(choices, &drawn, &mut properties, &mut clients);
        let intensity = size.draw_intensity(choices);
        let work_ms = within(choices, Label::WorldSize, scale.work_ms);
        let work_us = if forgets { 25_000_000 } else { u64::from(work_ms) * 1_000 };
        let late_groups = draw_late_groups(choices, alone && !pipeline);
        let holes_rot = if alone && size != Size::Large { 8_000 } else { 0 };
        Self {
            properties,
            parts,
            groups: groups + u16::from(pipeline),
            clients,
            profile,
            work_us,
            leisure: scale.leisure,
            intensity,
            forgets_producers: forgets,
            ages_epochs,
            holes_rot,
            compacts,
            pipeline,
            late_groups,
            timeout_ms,
            brokers,
            later_group_size,
            lying_disk: false,
        }
    }

    /// What is around the brokers, when they are several.
    pub(super) fn cluster(&self, config: &BrokerConfig) -> Option<Cluster> {
        let Brokers { count, of_old, first_leader, asked } = &self.brokers;
        let internal =
            (config.offsets_topic_num_partitions, config.transaction_state_log_num_partitions);
        (*count > 1)
            .then(|| Cluster::new(*count, of_old.clone(), self.parts, internal, *first_leader))
            .map(|cluster| cluster.asked_by_clients(*asked))
    }
}

/// What came to the worlds later, so that they are as they were but for it. Gives back what
/// [`draw_cleaning`] does.
fn draw_last(
    choices: &mut Source,
    drawn: &Drawn,
    properties: &mut Vec<(String, String)>,
    clients: &mut Vec<Client>,
) -> Option<bool> {
    let compacts = draw_cleaning(choices, properties);
    draw_two_phase(choices, drawn, properties, clients);
    draw_levels(choices, drawn, clients);
    compacts
}

/// In one world of three, logs are cleaned all the time: the internal ones, and every second time
/// the clients' topic too. Drawn last, so that the other worlds are as they were.
fn draw_cleaning(choices: &mut Source, properties: &mut Vec<(String, String)>) -> Option<bool> {
    if choices.below(Label::Property, 3) < 2 {
        return None;
    }
    let mut set = |key: &str, value: &str| properties.push((key.to_owned(), value.to_owned()));
    set("log.cleaner.backoff.ms", "150");
    set("log.cleaner.min.cleanable.ratio", "0");
    // A day is more than the clock jumps in a world.
    let (retention_ms, expire) = [("0", true), ("400", true), ("86400000", false)]
        [choices.below(Label::Property, 3) as usize];
    set("log.cleaner.delete.retention.ms", retention_ms);
    let segment_bytes = ["1500", "600", "4000"][choices.below(Label::Property, 3) as usize];
    set("sim.segment.bytes.max", segment_bytes);
    let keys = ["134217728", "300"][choices.below(Label::Property, 2) as usize];
    set("log.cleaner.dedupe.buffer.size", keys);
    let compacts = choices.below(Label::Property, 2) == 1;
    if compacts {
        let policy = ["compact", "compact,delete"][choices.below(Label::Property, 2) as usize];
        set("log.cleanup.policy", policy);
    }
    compacts.then_some(expire)
}

/// Whether producer epochs are near their end after the first orderly stop. They end once for each
/// id, and what matters is a crash just then.
fn draw_aging(choices: &mut impl Choices, profile: &mut Profile) -> bool {
    let ages_epochs = choices.below(Label::Property, 4) == 3;
    if ages_epochs {
        profile.set(Fault::Stopped, profile.rate(Fault::Stopped).max(24));
        profile.set(Fault::Crash, profile.rate(Fault::Crash).max(60));
    }
    ages_epochs
}

/// In one world of three where that is `possible` nobody has looked for a group's coordinator when
/// the work begins, so that `__consumer_offsets` is created in the midst of it.
fn draw_late_groups(choices: &mut impl Choices, possible: bool) -> bool {
    choices.below(Label::Property, 3) == 2 && possible
}

/// What was drawn of a world before its clients are.
pub(super) struct Drawn {
    /// The group that consumes, transforms and produces, if there is one.
    pub(super) group: Option<Group>,
    pub(super) parts: Part,
    pub(super) groups: u16,
    pub(super) timeout_ms: i32,
    /// The level of the feature transaction.version.
    pub(super) version: i16,
    /// Transactional ids so long that their tombstones do not fit into one batch.
    long_ids: bool,
    /// One broker, not several.
    pub(super) alone: bool,
    /// How much there is of everything.
    scale: Scale,
    /// A producer sleeps until it is forgotten, in a world that would end before.
    sleeps: bool,
}

impl Drawn {
    /// Lets the first producer sleep for longer than producers are remembered, where they are
    /// forgotten and the world would be over before.
    fn put_sleep(&self, choices: &mut impl Choices, client: ClientId, ops: &mut Vec<Op>) {
        if self.sleeps && client == 1 {
            put_sleep(choices, ops, 16_500);
        }
    }
}

/// The clients, and the number of partitions with those that one client has for itself.
fn draw_clients(choices: &mut Source, drawn: &Drawn) -> (Vec<Client>, Part) {
    let &Drawn { parts: common, groups, timeout_ms, version, long_ids, .. } = drawn;
    let mut parts = common;
    let mut clients = Vec::new();
    let scale = &drawn.scale;
    let producers = within(choices, Label::Size, scale.producers);
    let mut ids = 0_u32;
    for _ in 0..producers {
        let client = clients.len() as ClientId + 1;
        let choices = &mut choices.of(client);
        let kind = match choices.below(Label::ClientKind, 5) {
            // A client learns from ApiVersions that the cluster is of old, nearly always.
            0 | 1 if version == 2 || choices.below(Label::ClientKind, 8) == 7 => ProducerKind::V2,
            0..=3 => ProducerKind::Classic,
            _ => ProducerKind::Idempotent,
        };
        if kind == ProducerKind::Idempotent {
            let count = u64::from(within(choices, Label::Count, scale.sends));
            let own = (choices.below(Label::Target, 2) == 1).then_some(parts);
            parts += Part::from(own.is_some());
            let high = version < 2 || choices.below(Label::Size, 3) == 2;
            let mut ops = draw_sends(choices, common, own, count, high);
            drawn.put_sleep(choices, client, &mut ops);
            let producer = Producer::new(client, kind, None, timeout_ms, ops)
                .with_own_partition(own)
                .with_high_sequences(high)
                .with_back_off(draw_back_off(choices))
                .with_produce_timeout(draw_produce_timeout(choices));
            clients.push(Client::Producer(Box::new(producer)));
            continue;
        }
        // Some share their id with the transactional producer before it.
        let odds = scale.shared_ids;
        let shared = ids > 0 && choices.below(Label::ClientKind, odds) + 1 == odds;
        ids += u32::from(!shared);
        let length = if long_ids { 9_000 } else { 0 };
        let id = (format!("id-{ids}{}", "x".repeat(length)), ids);
        let count = u64::from(within(choices, Label::Count, scale.transactions));
        let own = (choices.below(Label::Target, 4) == 3).then_some(parts);
        parts += Part::from(own.is_some());
        let v2 = kind == ProducerKind::V2;
        let Scale { long, late_markers, .. } = *scale;
        let races = !drawn.alone;
        let workload =
            Workload { parts: common, groups, count, late_markers, races, long, v2, own };
        let mut ops = draw_transactions(choices, workload);
        drawn.put_sleep(choices, client, &mut ops);
        let producer = Producer::new(client, kind, Some(id), timeout_ms, ops)
            .with_own_partition(own)
            .with_delivery_timeout(draw_delivery_timeout(choices))
            .with_old_produce(choices.below(Label::ClientKind, 3) == 2)
            .with_misfit(version < 2 && kind == ProducerKind::V2)
            .with_produce_timeout(draw_produce_timeout(choices));
        clients.push(Client::Producer(Box::new(producer)));
    }
    if let Some(group) = &drawn.group {
        parts += group.draw_members(choices, drawn, parts, &mut clients);
    }
    draw_readers(choices, drawn, parts, &mut clients);
    for group in 0..groups {
        let client = clients.len() as ClientId + 1;
        let commits = choices.of(client).below(Label::ClientKind, 2) == 1;
        clients.push(Client::Offsets(OffsetKeeper::new(client, group, commits, common)));
    }
    if choices.below(Label::ClientKind, 2) == 1 {
        let client = clients.len() as ClientId + 1;
        let trims = choices.of(client).below(Label::ClientKind, 4) == 3;
        let often =
            trims && drawn.group.is_none() && choices.of(client).below(Label::ClientKind, 2) == 1;
        clients.push(Client::Admin(Admin::new(client, common, trims).with_frequent_trims(often)));
    }
    (clients, parts)
}

/// A reader of each isolation, in a session or without.
fn draw_readers(choices: &mut Source, drawn: &Drawn, parts: Part, clients: &mut Vec<Client>) {
    let scale = &drawn.scale;
    for committed in [true, false] {
        let client = clients.len() as ClientId + 1;
        let pace_ms = u64::from(within(&mut choices.of(client), Label::Size, scale.pace_ms));
        let follows = choices.of(client).below(Label::ClientKind, 3) == 2 && drawn.alone;
        clients.push(if follows {
            Client::Follower(Box::new(Follower::new(client, committed, parts, pace_ms)))
        } else {
            Client::Reader(Reader::new(client, committed, parts, pace_ms))
        });
    }
}

/// How often checkpoints are, and how large segments, cache and journal.
fn draw_store(choices: &mut Source, scale: &Scale, set: &mut impl FnMut(&str, String)) {
    set(
        "verdict.checkpoint.interval.ms",
        [60_000, 200, 1_000, 5_000][choices.below(Label::Property, 4) as usize].to_string(),
    );
    set(
        "sim.segment.bytes",
        [1 << 20, 2_000, 10_000][choices.below(Label::Property, 3) as usize].to_string(),
    );
    set(
        "verdict.cache.bytes",
        [1 << 20, 0, 4_000][choices.below(Label::Property, 3) as usize].to_string(),
    );
    set(
        "sim.journal.bytes",
        scale.journal_bytes[choices.below(Label::Property, 4) as usize].to_string(),
    );
    // Most worlds keep to the journal, where turns fail in more ways.
    if let Some(bytes) =
        (choices.below(Label::Placing, 8) as usize).checked_sub(5).map(|size| [0, 200, 1_000][size])
    {
        set("verdict.place.bytes", bytes.to_string());
    }
}

/// How soon segments are closed and deleted, and how many fetch sessions there may be.
/// Retention only where it is `allowed`: what members made of records is counted at the end.
fn draw_deletion(choices: &mut Source, allowed: bool, set: &mut impl FnMut(&str, String)) {
    let roll_ms = [300, 2_000];
    match choices.below(Label::Property, 8) {
        5 => set("log.roll.ms", roll_ms[choices.below(Label::Property, 2) as usize].to_string()),
        6 if allowed => {
            set("log.roll.ms", "300".to_owned());
            set(
                "log.retention.ms",
                [1_500, 5_000][choices.below(Label::Property, 2) as usize].to_string(),
            );
        }
        7 if allowed => set("log.retention.bytes", "6000".to_owned()),
        _ => {}
    }
    set("log.retention.check.interval.ms", "400".to_owned());
    if choices.below(Label::Property, 3) == 2 {
        set("max.incremental.fetch.session.cache.slots", "1".to_owned());
        set("verdict.fetch.session.eviction.ms", "500".to_owned());
    }
}

/// Short enough, now and then, for a batch to arrive when its transaction is over.
fn draw_delivery_timeout(choices: &mut impl Choices) -> u64 {
    [12_000_000, 1_100_000][choices.below(Label::Property, 2) as usize]
}

/// Long enough, now and then, for checkpoints, restarts and deletions before a batch is repeated.
fn draw_back_off(choices: &mut impl Choices) -> u64 {
    [30_000, 30_000, 700_000][choices.below(Label::Property, 3) as usize]
}

fn draw_produce_timeout(choices: &mut impl Choices) -> i32 {
    [5_000, 5_000, 5_000, 60][choices.below(Label::Property, 4) as usize]
}
