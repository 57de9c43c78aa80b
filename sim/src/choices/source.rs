//! The engines that answer choices: seeded, recorded, and the dull one.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{Choices, Label, Stream};

/// One decision that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// What was decided.
    pub label: Label,
    /// Between how many possibilities.
    pub n: u32,
    /// Which one was picked, below `n`.
    pub picked: u32,
}

#[derive(Clone, Debug)]
enum Engine {
    Seeded(Box<[ChaCha8Rng; Stream::COUNT]>),
    Recorded { choices: Vec<Choice>, next: usize, strayed: u64 },
    Dull,
}

/// Where a world's decisions come from, and, when asked for, a record of them.
#[derive(Clone, Debug)]
pub struct Source {
    engine: Engine,
    recording: Option<Vec<Choice>>,
    drawn: u64,
}

impl Source {
    /// Draws from a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let streams = core::array::from_fn(|stream| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(stream as u64);
            rng
        });
        Self::of(Engine::Seeded(Box::new(streams)))
    }

    /// Repeats recorded choices; answers 0 past their end, and where the label asked for is not
    /// the one recorded.
    #[must_use]
    pub fn recorded(choices: Vec<Choice>) -> Self {
        Self::of(Engine::Recorded { choices, next: 0, strayed: 0 })
    }

    /// Answers 0 to everything: a world without faults.
    #[must_use]
    pub fn dull() -> Self {
        Self::of(Engine::Dull)
    }

    fn of(engine: Engine) -> Self {
        Self { engine, recording: None, drawn: 0 }
    }

    /// Keeps a record of every choice from here on.
    pub fn record(&mut self) {
        self.recording = Some(Vec::new());
    }

    /// The choices recorded so far.
    #[must_use]
    pub fn recording(&self) -> Option<&[Choice]> {
        self.recording.as_deref()
    }

    /// How many choices were made.
    #[must_use]
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// How many recorded choices did not fit the question they were to answer.
    #[must_use]
    pub fn strayed(&self) -> u64 {
        if let Engine::Recorded { strayed, .. } = &self.engine { *strayed } else { 0 }
    }
}

impl Choices for Source {
    fn below(&mut self, label: Label, n: u32) -> u32 {
        self.drawn += 1;
        let picked = match &mut self.engine {
            _ if n <= 1 => 0,
            Engine::Seeded(streams) => bounded(&mut streams[label.stream() as usize], n),
            Engine::Recorded { choices, next, strayed } => match choices.get(*next) {
                Some(choice) => {
                    *next += 1;
                    if choice.label == label {
                        choice.picked.min(n - 1)
                    } else {
                        *strayed += 1;
                        0
                    }
                }
                None => 0,
            },
            Engine::Dull => 0,
        };
        if let Some(recording) = &mut self.recording {
            recording.push(Choice { label, n, picked });
        }
        picked
    }
}

/// A number below `n` by multiplication: the same on every machine, and without a loop, so that
/// each choice costs one draw. The bias is below n / 2^32.
fn bounded(rng: &mut ChaCha8Rng, n: u32) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(n)) >> 32) as u32
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
    fn a_draw_in_one_stream_leaves_the_others_alone() {
        let (mut a, mut b) = (Source::seeded(7), Source::seeded(7));
        b.below(Label::DiskFault, 10);
        assert_eq!(a.below(Label::Think, u32::MAX), b.below(Label::Think, u32::MAX));
    }

    #[test]
    fn a_recording_replays_and_is_dull_past_its_end() {
        let mut seeded = Source::seeded(9);
        seeded.record();
        let drawn: Vec<u32> = (0..10).map(|_| seeded.below(Label::Count, 100)).collect();
        let mut replay = Source::recorded(seeded.recording().expect("recording is on").to_vec());
        let replayed: Vec<u32> = (0..10).map(|_| replay.below(Label::Count, 100)).collect();
        assert_eq!(drawn, replayed);
        assert_eq!(replay.below(Label::Count, 100), 0);
        assert_eq!(replay.strayed(), 0);
    }

    #[test]
    fn a_recorded_choice_of_another_label_counts_as_strayed_and_is_dull() {
        let choice = Choice { label: Label::Count, n: 9, picked: 5 };
        let mut replay = Source::recorded(vec![choice]);
        assert_eq!(replay.below(Label::Target, 9), 0);
        assert_eq!(replay.strayed(), 1);
    }
}
