//! What tests of several modules need.

use std::vec::Vec;

/// Calls `body` with pseudo random inputs of 0 to 300 bytes, the same ones in each run. Every
/// second one has mostly small bytes, which pass more often for counts, lengths and versions.
pub(crate) fn noise(inputs: u64, mut body: impl FnMut(&[u8])) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for input in 0..inputs {
        let length = next() % 301;
        let small = input % 2 == 0;
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                let bits = next();
                if small && bits & 0x300 != 0 { (bits & 3) as u8 } else { bits as u8 }
            })
            .collect();
        body(&bytes);
    }
}
