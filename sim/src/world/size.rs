//! How large a world is: drawn first, from a lane of its own.
//!
//! Most worlds are small, for the more worlds there are, the more of them are unlike each other;
//! few are large, for some bugs need a long life. In a smaller world everything that goes on
//! beside the work is rarer, and faults strike more often: there is less time for them.

use crate::choices::{Choices, Label, Source};

/// How large a world is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Some 150 client operations.
    Small,
    /// Some 600.
    Medium,
    /// Some 2,400.
    Large,
}

/// A seed, and the size of its world when that is not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The number.
    pub number: u64,
    /// The size; `None` draws it.
    pub size: Option<Size>,
}

impl From<u64> for Seed {
    fn from(number: u64) -> Self {
        Self { number, size: None }
    }
}

impl core::fmt::Display for Seed {
    /// As the command line takes it.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "--seed {}", self.number)?;
        self.size.map_or(Ok(()), |size| write!(f, " --size {}", size.name()))
    }
}

/// At least so many, and fewer than so many more.
type Range = (u32, u32);

/// What a size means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Common partitions.
    pub(super) parts: Range,
    /// Groups whose offsets are committed.
    pub(super) groups: Range,
    /// Timeouts of transactions, in ms.
    pub(super) timeout_ms: Range,
    /// Producers.
    pub(super) producers: Range,
    /// Transactions of a producer.
    pub(super) transactions: Range,
    /// After one transaction in how many a late marker is sent.
    pub(super) late_markers: u32,
    /// Which one in how many producers has the transactional id of the one before.
    pub(super) shared_ids: u32,
    /// Sizes of the journal, in bytes.
    pub(super) journal_bytes: [u32; 4],
    /// Batches of a producer without transactions.
    pub(super) sends: Range,
    /// Batches of a long transaction.
    pub(super) long: Range,
    /// How long a reader rests at most, in ms.
    pub(super) pace_ms: Range,
    /// How long there is work and are faults at most, in ms.
    pub(super) work_ms: Range,
    /// How many times longer than in a large world clients rest that nobody waits for.
    pub(super) leisure: u64,
}

impl Size {
    /// All sizes.
    pub const ALL: [Self; 3] = [Self::Small, Self::Medium, Self::Large];

    /// The name, as files and the command line have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    /// The size of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|size| size.name() == name)
    }

    /// Draws a size, unless it is given. A recording keeps either.
    pub(super) fn draw(choices: &mut Source, given: Option<Self>) -> Self {
        let picked = match given {
            None => choices.below(Label::WorldSize, 32),
            Some(Self::Small) => choices.decide(Label::WorldSize, 32, 0),
            Some(Self::Medium) => choices.decide(Label::WorldSize, 32, 25),
            Some(Self::Large) => choices.decide(Label::WorldSize, 32, 31),
        };
        match picked {
            0..=24 => Self::Small,
            25..=30 => Self::Medium,
            _ => Self::Large,
        }
    }

    pub(super) const fn scale(self) -> Scale {
        match self {
            Self::Small => Scale {
                parts: (1, 3),
                groups: (0, 2),
                timeout_ms: (1_000, 2_000),
                producers: (2, 2),
                transactions: (1, 5),
                late_markers: 3,
                shared_ids: 3,
                journal_bytes: [32_768, 16_384, 16_384, 65_536],
                sends: (3, 8),
                long: (20, 40),
                pace_ms: (50, 400),
                work_ms: (2_000, 4_000),
                leisure: 3,
            },
            Self::Medium => Scale {
                parts: (1, 4),
                groups: (0, 3),
                timeout_ms: (1_000, 4_000),
                producers: (2, 3),
                transactions: (3, 8),
                late_markers: 4,
                shared_ids: 3,
                journal_bytes: [32_768, 16_384, 16_384, 65_536],
                sends: (5, 16),
                long: (100, 200),
                pace_ms: (20, 300),
                work_ms: (6_000, 8_000),
                leisure: 2,
            },
            Self::Large => Scale {
                parts: (1, 4),
                groups: (0, 3),
                timeout_ms: (1_500, 4_000),
                producers: (2, 3),
                transactions: (6, 14),
                late_markers: 6,
                shared_ids: 4,
                journal_bytes: [65_536, 65_536, 32_768, 16_384],
                sends: (10, 30),
                long: (1_000, 1_000),
                pace_ms: (20, 200),
                work_ms: (25_000, 1),
                leisure: 1,
            },
        }
    }

    /// How many times more often faults strike while there is work, for there is less of it.
    pub(super) fn draw_intensity(self, choices: &mut Source) -> u32 {
        let most = match self {
            Self::Small => 4,
            Self::Medium => 2,
            Self::Large => 1,
        };
        1 + choices.below(Label::WorldSize, most)
    }
}

/// Draws of a range.
pub(super) fn within(choices: &mut impl Choices, label: Label, (least, span): Range) -> u32 {
    least + choices.below(label, span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::config_hash;
    use crate::world::Plan;

    fn size_of(seed: u64) -> Size {
        Size::draw(&mut Source::seeded(seed), None)
    }

    #[test]
    fn most_worlds_are_small_and_some_are_large() {
        let count = |size| (0..3_200).filter(|&seed| size_of(seed) == size).count();
        let [small, medium, large] = Size::ALL.map(count);
        assert!(small > 2_300 && (450..750).contains(&medium) && (60..140).contains(&large));
    }

    #[test]
    fn a_size_that_is_given_draws_the_world_that_it_would_draw() {
        for seed in 0..50 {
            let plan = |size| config_hash(&Plan::draw(&mut Source::seeded(seed), size));
            if size_of(seed) == Size::Large {
                assert_eq!(plan(None), plan(Some(Size::Large)), "seed {seed}");
            } else {
                assert_ne!(plan(None), plan(Some(Size::Large)), "seed {seed}");
            }
        }
    }

    #[test]
    fn a_recording_keeps_a_size_that_was_given() {
        for size in Size::ALL {
            let mut source = Source::seeded(1);
            source.record();
            assert_eq!(Size::draw(&mut source, Some(size)), size);
            let recording = source.take_recording().expect("recording is on");
            assert_eq!(Size::draw(&mut Source::recorded(&recording), None), size);
        }
    }

    #[test]
    fn a_size_is_known_by_its_name() {
        for size in Size::ALL {
            assert_eq!(Size::from_name(size.name()), Some(size));
        }
        assert_eq!(Size::from_name("huge"), None);
    }
}
