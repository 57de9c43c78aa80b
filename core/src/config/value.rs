//! The types of settings, and how each is read from text.

use alloc::string::{String, ToString};

/// Why a text is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Not of the type.
    NotA(&'static str),
    /// A number outside its bounds.
    OutOfBounds { min: i64, max: i64 },
}

/// A type of settings.
pub(super) trait Value: Sized {
    const KIND: &'static str;
    fn parse(text: &str) -> Option<Self>;
    fn to_text(&self) -> String;
    /// What the bounds are compared with.
    fn number(&self) -> Option<i64> {
        None
    }
}

pub(super) fn parse_bounded<V: Value>(text: &str, min: i64, max: i64) -> Result<V, Refused> {
    let value = V::parse(text.trim()).ok_or(Refused::NotA(V::KIND))?;
    match value.number() {
        Some(number) if number < min || number > max => Err(Refused::OutOfBounds { min, max }),
        _ => Ok(value),
    }
}

macro_rules! numbers {
    ($($type:ty = $kind:literal,)*) => {$(
        impl Value for $type {
            const KIND: &'static str = $kind;
            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
            fn to_text(&self) -> String {
                self.to_string()
            }
            fn number(&self) -> Option<i64> {
                Some(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }
    )*};
}
numbers! { i16 = "short", i32 = "int", i64 = "long", u64 = "long", }

impl<V: Value> Value for Option<V> {
    const KIND: &'static str = V::KIND;

    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() { Some(None) } else { V::parse(text).map(Some) }
    }

    fn to_text(&self) -> String {
        self.as_ref().map(V::to_text).unwrap_or_default()
    }

    fn number(&self) -> Option<i64> {
        self.as_ref().and_then(V::number)
    }
}

impl Value for bool {
    const KIND: &'static str = "boolean";

    fn parse(text: &str) -> Option<Self> {
        match text {
            _ if text.eq_ignore_ascii_case("true") => Some(true),
            _ if text.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        }
    }

    fn to_text(&self) -> String {
        self.to_string()
    }
}

macro_rules! choices {
    ($($(#[$doc:meta])* $type:ident ($kind:literal) {
        $($(#[$choice_doc:meta])* $choice:ident = $text:literal,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type { $($(#[$choice_doc])* $choice,)* }

        impl Value for $type {
            const KIND: &'static str = $kind;
            fn parse(text: &str) -> Option<Self> {
                match text {
                    $(_ if text.eq_ignore_ascii_case($text) => Some(Self::$choice),)*
                    _ => None,
                }
            }
            fn to_text(&self) -> String {
                match self { $(Self::$choice => String::from($text),)* }
            }
        }
    )*};
}

choices! {
    /// What an acknowledgement promises.
    Durability ("one of fsync, os") {
        /// The records are on disk.
        Fsync = "fsync",
        /// The records are in the operating system's page cache.
        Os = "os",
    }
    /// Whose timestamps the log keeps.
    MessageTimestampType ("one of CreateTime, LogAppendTime") {
        /// The producer's.
        CreateTime = "CreateTime",
        /// The broker's, when it appends.
        LogAppendTime = "LogAppendTime",
    }
    /// The codec of what is stored.
    CompressionType ("one of uncompressed, zstd, lz4, snappy, gzip, producer") {
        /// None.
        Uncompressed = "uncompressed",
        /// Zstandard.
        Zstd = "zstd",
        /// LZ4 frames.
        Lz4 = "lz4",
        /// snappy.
        Snappy = "snappy",
        /// gzip.
        Gzip = "gzip",
        /// Whatever the producer chose.
        Producer = "producer",
    }
    /// Which way a group may move between the protocols (KIP-848).
    MigrationPolicy ("one of disabled, downgrade, upgrade, bidirectional") {
        /// Neither way.
        Disabled = "disabled",
        /// From the consumer protocol to the classic one.
        Downgrade = "downgrade",
        /// From the classic protocol to the consumer one.
        Upgrade = "upgrade",
        /// Both ways.
        Bidirectional = "bidirectional",
    }
}

/// What happens to old records: deleted, compacted, or both. Neither is allowed and keeps all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CleanupPolicy {
    /// Segments beyond retention are deleted.
    pub delete: bool,
    /// Only the last record of each key is kept.
    pub compact: bool,
}

impl CleanupPolicy {
    /// Kafka's default.
    pub const DELETE: Self = Self { delete: true, compact: false };
}

impl Value for CleanupPolicy {
    const KIND: &'static str = "list of compact, delete";

    fn parse(text: &str) -> Option<Self> {
        let mut policy = Self { delete: false, compact: false };
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "delete" => policy.delete = true,
                "compact" => policy.compact = true,
                _ => return None,
            }
        }
        Some(policy)
    }

    fn to_text(&self) -> String {
        let text = match (self.delete, self.compact) {
            (true, true) => "compact,delete",
            (true, false) => "delete",
            (false, true) => "compact",
            (false, false) => "",
        };
        String::from(text)
    }
}

/// A decimal from 0 to 1, without floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    /// Millionths.
    pub ppm: u32,
}

impl Value for Ratio {
    const KIND: &'static str = "double between 0 and 1";

    fn parse(text: &str) -> Option<Self> {
        crate::codec::parts_per_million(text).map(|ppm| Self { ppm })
    }

    fn to_text(&self) -> String {
        match (self.ppm / 1_000_000, self.ppm % 1_000_000) {
            (whole, 0) => alloc::format!("{whole}.0"),
            (whole, part) => {
                let digits = alloc::format!("{part:06}");
                alloc::format!("{whole}.{}", digits.trim_end_matches('0'))
            }
        }
    }
}
