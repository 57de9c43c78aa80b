//! Body of a fuzz target (`fuzz/`), compiled with every build and run by a test.

use alloc::vec;

use super::snapshot::{decode, encode};

/// Reads a producer snapshot: the bytes as they are, and behind a version and a CRC that fit.
/// What was read is the same when it is written and read again.
pub fn read_any_snapshot(data: &[u8]) {
    let _ = decode(data);
    let mut fitting = vec![0, 1];
    fitting.extend_from_slice(&crc32c::crc32c(data).to_be_bytes());
    fitting.extend_from_slice(data);
    let Ok(entries) = decode(&fitting) else { return };
    let written = encode(entries.iter().map(|(id, entry)| (*id, entry)));
    assert_eq!(decode(&written), Ok(entries), "a snapshot changes when it is written again");
}

#[cfg(test)]
mod tests {
    use crate::testing::noise;

    #[test]
    fn thousands_of_random_inputs_pass() {
        noise(4_000, super::read_any_snapshot);
    }
}
