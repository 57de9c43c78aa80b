//! Requests that nobody should send, from a seed: for tests, fuzzing and `verdict hostile`.
//!
//! [`Hostile::sound`] makes a request of any API and version from its schema whose fields name
//! what the broker under test really has ([`Known`]), so that it gets past the first check.
//! [`Hostile::broken`] then does what the network, a bug or an attacker does to it: cuts,
//! lengths and counts that lie, nulls, tags, versions, bits, record batches that are none. The
//! same seed gives the same bytes.

mod breaks;
mod records;
mod words;

use alloc::string::String;
use alloc::vec::Vec;

use bytes::BufMut;

use self::breaks::Breaker;
use self::words::Words;
use super::apis::{ApiRange, is_flexible};
use super::shape::generate::{self, Random, Spot};

/// What the broker under test has: what requests are to name.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Topics.
    pub topics: Vec<String>,
    /// Topic ids.
    pub topic_ids: Vec<[u8; 16]>,
    /// Groups.
    pub groups: Vec<String>,
    /// Members of groups.
    pub members: Vec<String>,
    /// Transactional ids.
    pub transactional_ids: Vec<String>,
    /// Producer ids.
    pub producer_ids: Vec<i64>,
    /// Around which time records are written and offsets are asked for, in ms.
    pub now_ms: i64,
}

/// Makes requests, each one different from the one before.
#[derive(Clone, Debug)]
pub struct Hostile {
    random: Random,
    known: Known,
}

impl Hostile {
    /// The requests of this seed.
    #[must_use]
    pub const fn new(seed: u64, known: Known) -> Self {
        Self { random: Random(seed), known }
    }

    /// A well-formed frame, without its size, in one of the API's versions. What it asks for may
    /// be nonsense.
    #[must_use]
    pub fn sound(&mut self, api: &ApiRange) -> Vec<u8> {
        self.frame(api).0
    }

    /// A frame, without its size, that is most likely not as its schema says.
    #[must_use]
    pub fn broken(&mut self, api: &ApiRange) -> Vec<u8> {
        let (frame, spots) = self.frame(api);
        Breaker { random: &mut self.random, frame, spots }.run()
    }

    /// One of a slice.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[must_use]
    pub fn one_of<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.random.index(of.len())]
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn frame(&mut self, api: &ApiRange) -> (Vec<u8>, Vec<Spot>) {
        let versions = u64::from((api.max - api.min).unsigned_abs()) + 1;
        let version = api.min + self.random.below(versions) as i16;
        let mut frame = Vec::new();
        frame.put_i16(api.key);
        frame.put_i16(version);
        frame.put_i32(self.random.next() as i32);
        frame.put_i16(7);
        frame.put_slice(b"hostile");
        if is_flexible(api.key, version) {
            frame.put_u8(0);
        }
        let mut words = Words { random: &mut self.random, known: &self.known };
        let (body, spots) = generate::request(api.key, version, &mut words);
        let start = frame.len();
        frame.extend_from_slice(&body);
        (frame, spots.into_iter().map(|spot| Spot { at: spot.at + start, ..spot }).collect())
    }
}
