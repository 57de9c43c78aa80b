//! What a world is made of: settings of the broker, clients and their steps, faults.

use verdict_core::config::BrokerConfig;

use crate::choices::{Choices, Label, Profile, Source};
use crate::clients::{Client, OffsetKeeper, Producer, ProducerKind, Reader};
use crate::clients::{draw_sends, draw_transactions};
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
    /// How long a transaction may stay open before the sweep aborts it, in ms.
    pub timeout_ms: i32,
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
            "sim.segment.bytes" => config.log_segment_bytes = number()? as _,
            _ => config.set(key, value).map_err(|error| format!("{key}={value}: {error}"))?,
        }
    }
    Ok(config)
}

impl Plan {
    /// Draws a standard world: some 300 client operations under a random subset of faults.
    #[must_use]
    pub fn draw(choices: &mut Source) -> Self {
        let profile = Profile::draw(choices);
        let parts = 1 + choices.below(Label::Size, 4) as Part;
        let groups = choices.below(Label::Size, 3) as u16;
        let timeout_ms = 1_500 + choices.below(Label::Size, 4_000) as i32;
        let mut properties = base_properties();
        let mut set = |key: &str, value: String| properties.push((key.to_owned(), value));
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
        let clients = draw_clients(choices, parts, groups, timeout_ms);
        Self { properties, parts, groups, clients, profile, work_us: 25_000_000, timeout_ms }
    }
}

fn draw_clients(choices: &mut Source, parts: Part, groups: u16, timeout_ms: i32) -> Vec<Client> {
    let mut clients = Vec::new();
    let producers = 2 + choices.below(Label::Size, 3);
    let mut ids = 0_u32;
    for _ in 0..producers {
        let client = clients.len() as ClientId + 1;
        let kind = match choices.below(Label::ClientKind, 5) {
            0 | 1 => ProducerKind::V2,
            2 | 3 => ProducerKind::Classic,
            _ => ProducerKind::Idempotent,
        };
        if kind == ProducerKind::Idempotent {
            let count = 10 + u64::from(choices.below(Label::Count, 30));
            let ops = draw_sends(choices, parts, count);
            let producer = Producer::new(client, kind, None, timeout_ms, ops);
            clients.push(Client::Producer(Box::new(producer)));
            continue;
        }
        // One in four shares its id with the transactional producer before it.
        let shared = ids > 0 && choices.below(Label::ClientKind, 4) == 3;
        ids += u32::from(!shared);
        let id = (format!("id-{ids}"), ids);
        let count = 6 + u64::from(choices.below(Label::Count, 14));
        let ops = draw_transactions(choices, parts, groups, count);
        let producer = Producer::new(client, kind, Some(id), timeout_ms, ops);
        clients.push(Client::Producer(Box::new(producer)));
    }
    for committed in [true, false] {
        let client = clients.len() as ClientId + 1;
        let pace_ms = 20 + u64::from(choices.below(Label::Size, 200));
        clients.push(Client::Reader(Reader::new(client, committed, parts, pace_ms)));
    }
    for group in 0..groups {
        let client = clients.len() as ClientId + 1;
        let commits = choices.below(Label::ClientKind, 2) == 1;
        clients.push(Client::Offsets(OffsetKeeper::new(client, group, commits, parts)));
    }
    clients
}
