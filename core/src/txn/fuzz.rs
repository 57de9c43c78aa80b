//! Body of a fuzz target (`fuzz/`), compiled with every build and run by a test.

use bytes::Bytes;

use super::records::{decode_key, decode_value, encode_key, encode_value};

/// Reads a key and a value of `__transaction_state`. What was read is the same when it is written
/// and read again.
pub fn read_any_record(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    if let Ok(id) = decode_key(&bytes) {
        assert_eq!(decode_key(&encode_key(&id)), Ok(id), "a key changes when it is written again");
    }
    if let Ok(metadata) = decode_value(&bytes) {
        let version = i16::from(data[1]);
        let again = decode_value(&encode_value(&metadata, version));
        assert_eq!(again, Ok(metadata), "a value changes when it is written again");
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::noise;

    #[test]
    fn thousands_of_random_inputs_pass() {
        noise(4_000, super::read_any_record);
    }
}
