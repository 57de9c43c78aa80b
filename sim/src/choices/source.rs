//! The engines that answer choices: seeded, recorded, and the dull one.
//!
//! Every question (a label) of every owner (a client, a node; 0 is the world) is a *lane* with a
//! stream of randomness of its own. One more draw in a lane leaves all others of the same seed
//! where they were, and a recording is cut in one lane without the others slipping.

use std::collections::BTreeMap;

use super::{Choices, Label, Recording};
use crate::trace::mix;

/// Owners that have lanes of their own; more share them.
const OWNERS: usize = 16;

/// One decision that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// Between how many possibilities.
    pub n: u32,
    /// Which one was picked, below `n`.
    pub picked: u32,
}

/// A question and whose it is.
pub type Lane = (Label, u16);

#[derive(Clone, Debug)]
enum Engine {
    /// A state of splitmix64 for every lane.
    Seeded(Box<[u64]>),
    /// The picks of every lane, and which is next.
    Recorded(BTreeMap<Lane, (Vec<u32>, usize)>),
    Dull,
}

/// Where a world's decisions come from, and, when asked for, a record of them.
#[derive(Clone, Debug)]
pub struct Source {
    engine: Engine,
    recording: Option<Recording>,
    clamped: u64,
}

fn index(label: Label, owner: u16) -> usize {
    label as usize * OWNERS + usize::from(owner) % OWNERS
}

impl Source {
    /// Draws from a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let lanes = Label::ALL.len() * OWNERS;
        let states = (0..lanes as u64).map(|lane| mix(mix(seed, lane + 1), seed)).collect();
        Self::of_engine(Engine::Seeded(states))
    }

    /// Repeats recorded choices; past the end of a lane it is dull.
    #[must_use]
    pub fn recorded(recording: &Recording) -> Self {
        let picks = |choices: &Vec<Choice>| choices.iter().map(|choice| choice.picked).collect();
        let lanes = recording.lanes().map(|(lane, choices)| (lane, (picks(choices), 0))).collect();
        Self::of_engine(Engine::Recorded(lanes))
    }

    /// Answers 0 to everything: a world without faults.
    #[must_use]
    pub fn dull() -> Self {
        Self::of_engine(Engine::Dull)
    }

    fn of_engine(engine: Engine) -> Self {
        Self { engine, recording: None, clamped: 0 }
    }

    /// Keeps a record of every choice from here on.
    pub fn record(&mut self) {
        self.recording = Some(Recording::default());
    }

    /// The choices recorded so far.
    #[must_use]
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// Takes the choices recorded so far; nothing is recorded any more.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.recording.take()
    }

    /// How many recorded choices were too high for the question they answered: the world is not
    /// the one of the recording.
    #[must_use]
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// The same source for the questions of one owner.
    pub fn of(&mut self, owner: u16) -> Owned<'_> {
        Owned { source: self, owner }
    }

    fn draw(&mut self, lane: Lane, n: u32) -> u32 {
        match &mut self.engine {
            Engine::Seeded(states) => bounded(&mut states[index(lane.0, lane.1)], n),
            Engine::Recorded(lanes) => {
                let Some((picks, next)) = lanes.get_mut(&lane) else { return 0 };
                let Some(&picked) = picks.get(*next) else { return 0 };
                *next += 1;
                self.clamped += u64::from(picked >= n);
                picked.min(n - 1)
            }
            Engine::Dull => 0,
        }
    }

    /// Decides what would be drawn, and keeps that as the pick of the world's lane.
    pub fn decide(&mut self, label: Label, n: u32, picked: u32) -> u32 {
        self.keep((label, 0), n, picked)
    }

    fn keep(&mut self, lane: Lane, n: u32, picked: u32) -> u32 {
        if let Some(recording) = &mut self.recording {
            recording.push(lane, Choice { n, picked });
        }
        picked
    }

    fn pick(&mut self, lane: Lane, n: u32) -> u32 {
        if n <= 1 {
            return 0;
        }
        let picked = self.draw(lane, n);
        self.keep(lane, n, picked)
    }

    /// Kept as a choice between no and yes, so that a recording says where a fault struck.
    fn strikes(&mut self, lane: Lane, rate: u32) -> bool {
        if rate == 0 {
            return false;
        }
        let struck = if matches!(self.engine, Engine::Seeded(_)) {
            self.draw(lane, 10_000) >= 10_000 - rate.min(10_000)
        } else {
            self.draw(lane, 2) == 1
        };
        self.keep(lane, 2, struck.into()) == 1
    }
}

impl Choices for Source {
    fn below(&mut self, label: Label, n: u32) -> u32 {
        self.pick((label, 0), n)
    }

    fn chance(&mut self, label: Label, rate: u32) -> bool {
        self.strikes((label, 0), rate)
    }
}

/// The questions of one owner.
#[derive(Debug)]
pub struct Owned<'s> {
    source: &'s mut Source,
    owner: u16,
}

impl Choices for Owned<'_> {
    fn below(&mut self, label: Label, n: u32) -> u32 {
        self.source.pick((label, self.owner), n)
    }

    fn chance(&mut self, label: Label, rate: u32) -> bool {
        self.source.strikes((label, self.owner), rate)
    }
}

/// A number below `n` by multiplication: the same on every machine, and without a loop, so that
/// each choice costs one draw. The bias is below n / 2^32.
fn bounded(state: &mut u64, n: u32) -> u32 {
    (((splitmix(state) >> 32) * u64::from(n)) >> 32) as u32
}

/// The next number of a stream (Steele, Lea and Flood 2014).
const fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_the_same_choices_twice() {
        let (mut a, mut b) = (Source::seeded(7), Source::seeded(7));
        for _ in 0..1_000 {
            assert_eq!(a.below(Label::Latency, 1_000), b.below(Label::Latency, 1_000));
        }
    }

    #[test]
    fn a_draw_in_one_lane_leaves_the_others_alone() {
        let (mut a, mut b) = (Source::seeded(7), Source::seeded(7));
        b.below(Label::WriteFails, 10);
        b.of(1).below(Label::Think, 10);
        assert_eq!(a.below(Label::Think, u32::MAX), b.below(Label::Think, u32::MAX));
        assert_eq!(a.of(2).below(Label::Think, 9_999), b.of(2).below(Label::Think, 9_999));
    }

    #[test]
    fn picks_of_a_seed_are_spread_over_all_possibilities() {
        let mut source = Source::seeded(3);
        let mut hits = [0_u32; 10];
        for _ in 0..10_000 {
            hits[source.below(Label::Count, 10) as usize] += 1;
        }
        assert!(hits.iter().all(|&count| (850..1_150).contains(&count)), "{hits:?}");
    }

    #[test]
    fn a_recording_replays_and_is_dull_past_its_end() {
        let mut seeded = Source::seeded(9);
        seeded.record();
        let drawn: Vec<u32> = (0..10).map(|_| seeded.below(Label::Count, 100)).collect();
        let mut replay = Source::recorded(seeded.recording().expect("recording is on"));
        let replayed: Vec<u32> = (0..10).map(|_| replay.below(Label::Count, 100)).collect();
        assert_eq!(drawn, replayed);
        assert_eq!(replay.below(Label::Count, 100), 0);
        assert_eq!(replay.clamped(), 0);
    }

    #[test]
    fn a_recording_says_of_a_fault_whether_it_struck() {
        let mut seeded = Source::seeded(1);
        seeded.record();
        let struck: Vec<bool> = (0..200).map(|_| seeded.chance(Label::WriteFails, 3_000)).collect();
        assert!(struck.contains(&true) && struck.contains(&false));
        let mut replay = Source::recorded(seeded.recording().expect("recording is on"));
        let again: Vec<bool> = (0..200).map(|_| replay.chance(Label::WriteFails, 1)).collect();
        assert_eq!(struck, again);
    }

    #[test]
    fn a_recorded_pick_that_is_too_high_is_the_highest_and_counted() {
        let mut recording = Recording::default();
        recording.push((Label::Count, 0), Choice { n: 9, picked: 5 });
        let mut replay = Source::recorded(&recording);
        assert_eq!(replay.below(Label::Count, 3), 2);
        assert_eq!(replay.clamped(), 1);
    }
}
