//! The settings of topics: Kafka 4.4.0's names, types, bounds, defaults and broker synonyms
//! (`LogConfig`, `ServerTopicConfigSynonyms`).

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::MetaError;
use crate::codec::parts_per_million;

/// The type and bounds of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfigKind {
    /// `true` or `false`.
    Bool,
    /// A whole number between two bounds, both included.
    Int(i64, i64),
    /// One of some words.
    Word(&'static [&'static str]),
    /// Some of some words, separated by commas; may be empty.
    Words(&'static [&'static str]),
    /// A decimal between 0 and 1.
    Ratio,
    /// Pairs of numbers (`0:1,2:3`), `*`, or nothing.
    Throttle,
}

/// A setting of topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopicConfig {
    /// Its name.
    pub name: &'static str,
    /// Its type and bounds.
    pub kind: ConfigKind,
    /// Its default.
    pub default: &'static str,
    /// The broker setting that a topic without a value of its own takes.
    pub broker_synonym: Option<&'static str>,
    /// What it is for.
    pub doc: &'static str,
}

const INT_MAX: i64 = i32::MAX as i64;
const LONG_MAX: i64 = i64::MAX;
const FOREVER: &str = "9223372036854775807";
const WEEK_MS: &str = "604800000";
const POLICIES: &[&str] = &["compact", "delete"];
const CODECS: &[&str] = &["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"];
const TIMESTAMPS: &[&str] = &["CreateTime", "LogAppendTime"];

use ConfigKind::{Bool, Int, Ratio, Throttle, Word, Words};

const fn row(
    name: &'static str,
    kind: ConfigKind,
    default: &'static str,
    synonym: &'static str,
    doc: &'static str,
) -> TopicConfig {
    let broker_synonym = if synonym.is_empty() { None } else { Some(synonym) };
    TopicConfig { name, kind, default, broker_synonym, doc }
}

/// Every setting of topics, by name.
#[rustfmt::skip] // a table
pub const TOPIC_CONFIGS: &[TopicConfig] = &[
    row("cleanup.policy", Words(POLICIES), "delete", "log.cleanup.policy", "What happens to old records: delete, compact, both, or neither."),
    row("compression.gzip.level", Int(-1, 9), "-1", "compression.gzip.level", "Level of gzip when compression.type is gzip."),
    row("compression.lz4.level", Int(1, 17), "9", "compression.lz4.level", "Level of lz4 when compression.type is lz4."),
    row("compression.type", Word(CODECS), "producer", "compression.type", "How batches are stored: as the producer sent them, or in one codec."),
    row("compression.zstd.level", Int(-131_072, 22), "3", "compression.zstd.level", "Level of zstd when compression.type is zstd."),
    row("delete.retention.ms", Int(0, LONG_MAX), "86400000", "log.cleaner.delete.retention.ms", "How long a compacted topic keeps its tombstones, in ms."),
    row("errors.deadletterqueue.group.enable", Bool, "false", "", "Whether share groups may put undeliverable records here."),
    row("file.delete.delay.ms", Int(0, LONG_MAX), "60000", "log.segment.delete.delay.ms", "How long the files of a removed segment stay, in ms."),
    row("flush.messages", Int(1, LONG_MAX), FOREVER, "log.flush.interval.messages", "Records between forced syncs of the log."),
    row("flush.ms", Int(0, LONG_MAX), FOREVER, "log.flush.interval.ms", "Time between forced syncs of the log, in ms."),
    row("follower.replication.throttled.replicas", Throttle, "", "", "Replicas whose followers are throttled."),
    row("index.interval.bytes", Int(0, INT_MAX), "4096", "log.index.interval.bytes", "Bytes of records between two entries of an index."),
    row("leader.replication.throttled.replicas", Throttle, "", "", "Replicas whose leaders are throttled."),
    row("local.retention.bytes", Int(-2, LONG_MAX), "-2", "log.local.retention.bytes", "Bytes of a tiered log that stay local; -2 for retention.bytes."),
    row("local.retention.ms", Int(-2, LONG_MAX), "-2", "log.local.retention.ms", "Age up to which a tiered log stays local, in ms; -2 for retention.ms."),
    row("max.compaction.lag.ms", Int(1, LONG_MAX), FOREVER, "log.cleaner.max.compaction.lag.ms", "How long a record may wait for compaction, in ms."),
    row("max.decompressed.message.bytes", Int(1, 2_147_483_639), "2147483639", "max.decompressed.message.bytes", "Largest record of a compressed batch, in bytes once decompressed."),
    row("max.message.bytes", Int(0, INT_MAX), "1048588", "message.max.bytes", "Largest record batch, in bytes."),
    row("message.timestamp.after.max.ms", Int(0, LONG_MAX), "3600000", "log.message.timestamp.after.max.ms", "How far a record's timestamp may lie after the broker's clock, in ms."),
    row("message.timestamp.before.max.ms", Int(0, LONG_MAX), FOREVER, "log.message.timestamp.before.max.ms", "How far a record's timestamp may lie before the broker's clock, in ms."),
    row("message.timestamp.type", Word(TIMESTAMPS), "CreateTime", "log.message.timestamp.type", "Whose timestamps the log keeps: the producer's or the broker's."),
    row("min.cleanable.dirty.ratio", Ratio, "0.5", "log.cleaner.min.cleanable.ratio", "Share of a log that is not compacted before it is compacted again."),
    row("min.compaction.lag.ms", Int(0, LONG_MAX), "0", "log.cleaner.min.compaction.lag.ms", "How long a record is safe from compaction, in ms."),
    row("min.insync.replicas", Int(1, INT_MAX), "1", "min.insync.replicas", "Replicas that must have a record before acks=all is answered."),
    row("preallocate", Bool, "false", "log.preallocate", "Whether segment files are created at their full size."),
    row("remote.copy.lag.bytes", Int(-1, LONG_MAX), "-1", "", "Newer bytes behind which a segment may be copied to the remote tier."),
    row("remote.copy.lag.ms", Int(-1, LONG_MAX), "0", "", "Age at which a segment may be copied to the remote tier, in ms."),
    row("remote.log.copy.disable", Bool, "false", "", "Whether nothing more is copied to the remote tier."),
    row("remote.log.delete.on.disable", Bool, "false", "", "Whether the remote tier is emptied when it is switched off."),
    row("remote.storage.enable", Bool, "false", "", "Whether old segments go to a remote tier."),
    row("retention.bytes", Int(i64::MIN, LONG_MAX), "-1", "log.retention.bytes", "Size above which the oldest segments may be deleted, in bytes; -1 for none."),
    row("retention.ms", Int(-1, LONG_MAX), WEEK_MS, "log.retention.ms", "Age at which records may be deleted, in ms; -1 keeps them."),
    row("segment.bytes", Int(1_048_576, INT_MAX), "1073741824", "log.segment.bytes", "Size at which a segment is closed, in bytes."),
    row("segment.index.bytes", Int(4, INT_MAX), "10485760", "log.index.size.max.bytes", "Size at which an index is full and its segment is closed, in bytes."),
    row("segment.jitter.ms", Int(0, LONG_MAX), "0", "log.roll.jitter.ms", "Spread of the age at which segments are closed, in ms."),
    row("segment.ms", Int(1, LONG_MAX), WEEK_MS, "log.roll.ms", "Age at which a segment is closed, in ms."),
    row("unclean.leader.election.enable", Bool, "false", "unclean.leader.election.enable", "Whether a replica that lacks acknowledged records may lead."),
];

/// Settings that are kept, told and checked, and that nothing acts upon: what they are for is not
/// built, or does not exist on one node. Sorted.
pub const TOPIC_PENDING: &[&str] = &[
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "errors.deadletterqueue.group.enable",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "follower.replication.throttled.replicas",
    "index.interval.bytes",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "max.decompressed.message.bytes",
    "min.insync.replicas",
    "preallocate",
    "remote.copy.lag.bytes",
    "remote.copy.lag.ms",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "segment.index.bytes",
    "segment.jitter.ms",
    "unclean.leader.election.enable",
];

/// The setting of a name.
#[must_use]
pub fn topic_config(name: &str) -> Option<&'static TopicConfig> {
    TOPIC_CONFIGS.binary_search_by_key(&name, |config| config.name).ok().map(|i| &TOPIC_CONFIGS[i])
}

/// The setting of a name that is in the table, found when this is compiled.
const fn known(name: &str) -> &'static TopicConfig {
    let mut at = 0;
    while at < TOPIC_CONFIGS.len() {
        if is_same(TOPIC_CONFIGS[at].name.as_bytes(), name.as_bytes()) {
            return &TOPIC_CONFIGS[at];
        }
        at += 1;
    }
    panic!("the name is not in the table")
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

impl TopicConfig {
    /// Whether its value is a list, to which words can be added.
    #[must_use]
    pub const fn is_list(&self) -> bool {
        matches!(self.kind, Words(_) | Throttle)
    }

    /// The values it may have, for people.
    #[must_use]
    pub fn values(&self) -> String {
        match self.kind {
            Bool => String::from("true, false"),
            Int(min, LONG_MAX) if min == i64::MIN => String::from("a number"),
            Int(min, LONG_MAX) => format!("at least {min}"),
            Int(min, max) => format!("{min} to {max}"),
            Word(words) => words.join(", "),
            Words(words) => format!("list of {}", words.join(", ")),
            Ratio => String::from("0 to 1"),
            Throttle => String::from("list of partition:node, or *"),
        }
    }

    /// Kafka's number of its type (`ConfigDef.Type` as DescribeConfigs tells it).
    #[must_use]
    pub const fn type_id(&self) -> i8 {
        match self.kind {
            Bool => 1,
            Word(_) => 2,
            Int(_, max) if max <= INT_MAX => 3,
            Int(..) => 5,
            Ratio => 6,
            Words(_) | Throttle => 7,
        }
    }

    /// Checks a value as Kafka does: surrounding blanks do not count.
    ///
    /// # Errors
    /// [`MetaError::InvalidConfig`] when it is not of the setting's type or out of bounds.
    pub fn check(&self, value: &str) -> Result<(), MetaError> {
        let value = value.trim();
        let Some(wrong) = self.fault(value) else { return Ok(()) };
        let message = format!("Invalid value {value} for configuration {}: {wrong}", self.name);
        Err(MetaError::Config(message.into()))
    }

    /// What is wrong with a value, in Kafka's words.
    fn fault(&self, value: &str) -> Option<String> {
        let wrong = |fits: bool, why: &str| (!fits).then(|| String::from(why));
        match self.kind {
            Bool => {
                let fits =
                    value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false");
                wrong(fits, "Expected value to be either true or false")
            }
            Int(min, max) => match value.parse::<i64>() {
                Err(_) if max <= INT_MAX => wrong(false, "Not a number of type INT"),
                Err(_) => wrong(false, "Not a number of type LONG"),
                // 0 is no level of gzip, the only number with a hole in its bounds.
                Ok(0) if self.name == "compression.gzip.level" => {
                    wrong(false, "Value must be between 1 and 9 or equal to -1")
                }
                Ok(number) if number < min => Some(format!("Value must be at least {min}")),
                Ok(number) if number > max => Some(format!("Value must be no more than {max}")),
                Ok(_) => None,
            },
            Word(words) => (!words.contains(&value)).then(|| one_of(words)),
            Words(words) => {
                (!value.is_empty() && !words_are_in(value, words)).then(|| one_of(words))
            }
            Ratio => wrong(parts_per_million(value).is_some(), "Value must be between 0 and 1"),
            Throttle => {
                let fits = value.is_empty() || value == "*" || value.split(',').all(is_pair);
                wrong(
                    fits,
                    "must be the literal '*' or a list of replicas in the form \
                             [partitionId]:[brokerId],[partitionId]:[brokerId],...",
                )
            }
        }
    }
}

fn one_of(words: &[&str]) -> String {
    format!("String must be one of: {}", words.join(", "))
}

/// Words that are there twice count once.
fn words_are_in(value: &str, words: &[&str]) -> bool {
    value.split(',').all(|word| words.contains(&word.trim()))
}

fn is_pair(text: &str) -> bool {
    let numbers = |part: &str| part.trim().parse::<u32>().is_ok();
    text.split_once(':').is_some_and(|(left, right)| numbers(left) && numbers(right))
}

pub(super) fn invalid(name: &str, reason: &'static str) -> MetaError {
    MetaError::InvalidConfig { name: Arc::from(name), reason }
}

/// A topic's settings, typed. Times are in ms, sizes in bytes; -1 stands for no bound where
/// Kafka has it so.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicSettings {
    /// `cleanup.policy` names compact.
    pub compact: bool,
    /// `cleanup.policy` names delete.
    pub delete: bool,
    /// `compression.type`.
    pub compression_type: Arc<str>,
    /// `retention.ms`.
    pub retention_ms: i64,
    /// `retention.bytes`.
    pub retention_bytes: i64,
    /// `segment.bytes`.
    pub segment_bytes: i32,
    /// `segment.ms`.
    pub segment_ms: i64,
    /// `max.message.bytes`.
    pub max_message_bytes: i32,
    /// `max.decompressed.message.bytes`.
    pub max_decompressed_message_bytes: i32,
    /// `message.timestamp.type` is LogAppendTime.
    pub log_append_time: bool,
    /// `message.timestamp.before.max.ms`.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`.
    pub timestamp_after_max_ms: i64,
    /// `min.insync.replicas`.
    pub min_insync_replicas: i32,
    /// `delete.retention.ms`.
    pub delete_retention_ms: i64,
    /// `min.compaction.lag.ms`.
    pub min_compaction_lag_ms: i64,
    /// `max.compaction.lag.ms`.
    pub max_compaction_lag_ms: i64,
    /// `file.delete.delay.ms`.
    pub file_delete_delay_ms: i64,
    /// `index.interval.bytes`.
    pub index_interval_bytes: i32,
    /// `min.cleanable.dirty.ratio` in millionths.
    pub min_cleanable_dirty_ppm: u32,
}

impl TopicSettings {
    /// Reads the settings through `value_of`, which gives a setting's checked text or nothing.
    pub(super) fn read<'a>(value_of: impl Fn(&TopicConfig) -> Option<&'a str>) -> Self {
        let text = |config: &'static TopicConfig| -> &'a str {
            let given = value_of(config).filter(|value| config.check(value).is_ok());
            given.unwrap_or(config.default).trim()
        };
        // Bounds were checked where a value was given: a broker's own setting may lie below what a
        // topic may ask for.
        let long = |config: &'static TopicConfig| -> i64 {
            let given = value_of(config).and_then(|value| value.trim().parse().ok());
            given.or_else(|| config.default.parse().ok()).unwrap_or_default()
        };
        // In bounds by the table, so nothing is cut off.
        let int = |config| i32::try_from(long(config)).unwrap_or(i32::MAX);
        let policies = text(const { known("cleanup.policy") });
        let has_policy = |name: &str| policies.split(',').any(|policy| policy.trim() == name);
        Self {
            compact: has_policy("compact"),
            delete: has_policy("delete"),
            compression_type: Arc::from(text(const { known("compression.type") })),
            retention_ms: long(const { known("retention.ms") }),
            retention_bytes: long(const { known("retention.bytes") }),
            segment_bytes: int(const { known("segment.bytes") }),
            segment_ms: long(const { known("segment.ms") }),
            max_message_bytes: int(const { known("max.message.bytes") }),
            max_decompressed_message_bytes: int(const { known("max.decompressed.message.bytes") }),
            log_append_time: text(const { known("message.timestamp.type") }) == "LogAppendTime",
            timestamp_before_max_ms: long(const { known("message.timestamp.before.max.ms") }),
            timestamp_after_max_ms: long(const { known("message.timestamp.after.max.ms") }),
            min_insync_replicas: int(const { known("min.insync.replicas") }),
            delete_retention_ms: long(const { known("delete.retention.ms") }),
            min_compaction_lag_ms: long(const { known("min.compaction.lag.ms") }),
            max_compaction_lag_ms: long(const { known("max.compaction.lag.ms") }),
            file_delete_delay_ms: long(const { known("file.delete.delay.ms") }),
            index_interval_bytes: int(const { known("index.interval.bytes") }),
            min_cleanable_dirty_ppm: parts_per_million(text(
                const { known("min.cleanable.dirty.ratio") },
            ))
            .unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_every_default_is_valid() {
        assert!(TOPIC_CONFIGS.windows(2).all(|pair| pair[0].name < pair[1].name));
        for config in TOPIC_CONFIGS {
            assert_eq!(config.check(config.default), Ok(()), "{}", config.name);
        }
    }

    #[test]
    fn values_are_checked_as_kafka_does() {
        let table = [
            ("retention.ms", "-1", true),
            ("retention.ms", "-2", false),
            ("retention.ms", " 5 ", true),
            ("retention.ms", "1.5", false),
            ("segment.bytes", "1048575", false),
            ("segment.bytes", "2147483648", false),
            ("max.message.bytes", "0", true),
            ("cleanup.policy", "compact,delete", true),
            ("cleanup.policy", "compact, delete", true),
            ("cleanup.policy", "", true),
            ("cleanup.policy", "compact,compact", true),
            ("cleanup.policy", "compact,", false),
            ("cleanup.policy", "keep", false),
            ("compression.type", "zstd", true),
            ("compression.type", "none", false),
            ("compression.gzip.level", "0", false),
            ("message.timestamp.type", "LogAppendTime", true),
            ("message.timestamp.type", "logappendtime", false),
            ("preallocate", "TRUE", true),
            ("preallocate", "yes", false),
            ("min.cleanable.dirty.ratio", "0.25", true),
            ("min.cleanable.dirty.ratio", "1", true),
            ("min.cleanable.dirty.ratio", "1.0000001", false),
            ("min.cleanable.dirty.ratio", ".", false),
            ("min.cleanable.dirty.ratio", "-0.1", false),
            ("leader.replication.throttled.replicas", "0:1,2:3", true),
            ("leader.replication.throttled.replicas", "0", false),
        ];
        for (name, value, valid) in table {
            let config = topic_config(name).unwrap();
            assert_eq!(config.check(value).is_ok(), valid, "{name}={value}");
        }
    }

    #[test]
    fn an_unknown_setting_is_unknown() {
        assert_eq!(topic_config("retention.weeks"), None);
    }
}
