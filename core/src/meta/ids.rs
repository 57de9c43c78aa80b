//! Where topic ids come from: a counter hashed with the driver's entropy, so that the core draws
//! no random number and no two lives of a node draw the same ids.

use crate::types::TopicId;

/// Draws 128 bit ids that look like Kafka's: version 4 UUIDs, never reserved, and never with a
/// `-` at the front of their base64 form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdSource {
    entropy: u128,
    drawn: u64,
}

impl IdSource {
    /// A source of the given entropy, which differs in each life of a node.
    #[must_use]
    pub const fn new(entropy: u128) -> Self {
        Self { entropy, drawn: 0 }
    }

    /// The next id. A version 4 UUID is never one of the reserved ids (0 and 1).
    pub fn next_id(&mut self) -> TopicId {
        loop {
            let id = self.draw();
            // 62, the digit `-` of URL safe base64: tools would take the id for an option.
            if id >> 122 != 62 {
                return TopicId(id);
            }
        }
    }

    fn draw(&mut self) -> u128 {
        self.drawn = self.drawn.wrapping_add(1);
        let (left, right) = ((self.entropy >> 64) as u64, self.entropy as u64);
        let high = splitmix64(splitmix64(left ^ self.drawn).wrapping_add(right));
        let low = splitmix64(splitmix64(right.wrapping_add(self.drawn)) ^ high);
        let bits = (u128::from(high) << 64) | u128::from(low);
        let version_4 = (bits & !(0xf << 76)) | (0x4 << 76);
        (version_4 & !(0b11 << 62)) | (0b10 << 62)
    }
}

const fn splitmix64(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn ids_are_distinct_version_4_uuids_that_no_tool_takes_for_an_option() {
        let mut seen = BTreeSet::new();
        for entropy in 0..20 {
            let mut ids = IdSource::new(entropy);
            for _ in 0..500 {
                let id = ids.next_id();
                assert!(seen.insert(id));
                assert_eq!(id.0 >> 76 & 0xf, 4);
                assert_eq!(id.0 >> 62 & 0b11, 0b10);
                assert!(!id.to_kafka().to_string().starts_with('-'));
            }
        }
    }
}
